from __future__ import annotations

import time
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

errant = pytest.importorskip("errant")
pytest.importorskip("spacy")

from gecjury.core.errors import InputError, MissingExtraError, OptionError  # noqa: E402
from gecjury.core.runtime import Runtime  # noqa: E402
from gecjury.core.textfiles import read_lines  # noqa: E402
from gecjury.corpus.edits import Edit, ExtractedEdits, apply_edits  # noqa: E402
from gecjury.corpus.m2 import read_m2  # noqa: E402
from gecjury.extraction import extract as extraction  # noqa: E402
from gecjury.extraction import parsing  # noqa: E402
from gecjury.extraction.extract import extract  # noqa: E402
from gecjury.extraction.parsing import Parser  # noqa: E402
from gecjury.extraction.pipeline import Extractor  # noqa: E402
from gecjury.extraction.tagger import load_tagger  # noqa: E402
from gecjury.extraction.tagger.fast import Embedded  # noqa: E402
from gecjury.extraction.taggers import extraction_signature  # noqa: E402

FRESH = Runtime(use_cache=False)

TRICKY = [
    ("This are a sentence .", "This is a sentence ."),
    ("I like also it .", "I also like it ."),
    ("the the cat sat on on mat", "the cat sat on the the mat"),
    ("the cat sat . we left", "The cat sat . We left"),
    ("we left , they stayed", "we left . They stayed"),
    ("a sub - way and an other ball park", "a subway and another ballpark"),
    ("the friends house 's roof", "the friend 's house ' s roof"),
    ("it is n't my mothers'", "it ca n't be my mother 's"),
    ("he go to eat , yesterday", "he went eating yesterday !"),
    ("Ich möchte 日本 naïve café", "Ich möchte Japan naive Café"),
    ("ß İ ı Ǆ", "SS i̇ I ǆ"),
    ("I have an apple , such as you", "I had apples such as yours"),
    ("more free and most big", "freer and biggest"),
    ("c d a b", "a b c d"),
    ("hello", ""),
    ("", "hello there"),
    ("a", "b c d e f g"),
    (". . . . .", ". , . , ."),
    ("a a a a b a a a", "a a b a a a a b"),
    ("He look at to the the picture", "He watches the picture"),
]


@pytest.fixture(scope="module")
def nlp() -> Any:
    return load_tagger()


def errant_edits(nlp: Any, source: str, corrected: str) -> tuple[Edit, ...]:
    annotator = errant.load("en", nlp)
    edits = annotator.annotate(annotator.parse(source), annotator.parse(corrected))
    return tuple(
        Edit(e.o_start, e.o_end, " ".join(t.text for t in e.c_toks), e.type) for e in edits
    )


def test_tricky_pairs_have_the_edits_of_errant(nlp: Any) -> None:
    both = TRICKY + [(b, a) for a, b in TRICKY]
    sources, lines = [a for a, _ in both], [b for _, b in both]
    found = extract(sources, [lines], runtime=FRESH).edits
    for (source, corrected), edits in zip(both, found[0], strict=True):
        assert edits == errant_edits(nlp, source, corrected)
        assert apply_edits(source.split(), edits) == corrected.split()


@pytest.mark.slow
def test_real_pairs_have_the_edits_of_errant(nlp: Any, data_dir: Path) -> None:
    blocks = read_m2(data_dir / "conll14" / "official-2014.combined.m2", overlaps="keep")
    rows = range(0, 1312, 40)
    sources = [blocks[i].source for i in rows]
    versions = {
        name: [read_lines(data_dir / "SEEDA" / "outputs" / "all" / f"{name}.txt")[i] for i in rows]
        for name in ("BART", "GPT-3.5", "REF-F")
    }
    versions["reference"] = [blocks[i].text(1) for i in rows]
    found = extract(sources, versions, runtime=FRESH).edits
    changed = 0
    for lines, edits in zip(versions.values(), found, strict=True):
        for source, line, ours in zip(sources, lines, edits, strict=True):
            assert ours == errant_edits(nlp, source, " ".join(line.split()))
            changed += bool(ours)
    assert changed > 80


def test_fast_parse_equals_that_of_the_pipeline(nlp: Any, data_dir: Path) -> None:
    lines = read_lines(data_dir / "SEEDA" / "outputs" / "all" / "REF-F.txt")[::9]
    sentences = [*dict.fromkeys(" ".join(line.split()) for line in lines), "such as such as", ""]
    fast, plain = Parser(Embedded()), Parser(nlp)
    plain._keys = fast._keys  # keys from the same table
    assert fast.parse(sentences) == plain.parse(sentences)


def test_each_distinct_sentence_is_parsed_once_and_unchanged_ones_never(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []
    parse = Parser.parse

    def counting(self: Parser, sentences: Any) -> Any:
        parsed.extend(sentences)
        return parse(self, sentences)

    monkeypatch.setattr(Parser, "parse", counting)
    monkeypatch.setattr("gecjury.extraction.pipeline._WINDOW", 2)
    sources = ["a b .", "c d .", "e f .", "a  b ."]
    versions = [["a c .", "c d .", "a b .", "a c ."], ["a d .", " c d . ", "e f .", "a b ."]]
    edits = extract(sources, versions, runtime=FRESH)
    assert sorted(parsed) == ["a b .", "a c .", "a d .", "e f ."]
    assert edits.pairs == 3
    assert edits.edits[0][0] == edits.edits[0][3]
    assert edits.edits[1][1:] == [(), (), ()]


def test_edits_come_from_disk_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime(cache=tmp_path)
    sources, lines = [a for a, _ in TRICKY], [b for _, b in TRICKY]
    first = extract(sources, [lines], runtime=runtime)
    assert first.cached == 0
    monkeypatch.setattr(Extractor, "extract", None)
    second = extract(sources, {"again": lines}, runtime=runtime)
    assert second.cached == second.pairs == len(TRICKY)
    assert second.edits == first.edits


def test_coarse_results_stay_marked_in_json_and_are_noted() -> None:
    found = ExtractedEdits((Edit(0, 1, "a", "X"),), True)
    assert ExtractedEdits.from_json(found.to_json()) == found
    assert ExtractedEdits.from_json(ExtractedEdits(()).to_json()) == ExtractedEdits(())
    assert extraction.Extraction([], 2, 0, 1).notes[0].startswith("1 of 2 sentence pairs")
    assert extraction.Extraction([], 2).notes == ()


def test_overlong_lines_are_parsed_in_pieces_and_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Limits that a test can exceed: 8 tokens whole, pieces of 5, 30 tokens at once.
    for name, value in (("LONGEST_WHOLE", 8), ("_PIECE", 5), ("_MOST_TOKENS", 30)):
        monkeypatch.setattr(parsing, name, value)
    monkeypatch.setattr("gecjury.extraction.pipeline.LONGEST_WHOLE", 8)
    source = "He go to school and she like apples and cats ."
    corrected = "He goes to school and she likes apples and cats ."
    parsed = Parser(load_tagger()).parse([source, "He go .", corrected])
    whole = parsed[source]
    assert whole.texts == source.split()
    assert len(whole) == len(whole.heads) == len(whole.keys) == 11
    assert all(5 <= head < 10 for head in whole.heads[5:10])  # heads stay within their piece
    found = extract(["A ok .", source], [["A ok .", corrected]], runtime=Runtime(use_cache=False))
    assert apply_edits(source.split(), found.edits[0][1]) == corrected.split()
    assert found.lines == (2,)
    assert "were aligned in pieces (line 2): split such lines" in found.notes[0]


def test_damaged_cache_entries_are_ignored(tmp_path: Path) -> None:
    from gecjury.core.caches import DiskCache, text_key

    runtime = Runtime(cache=tmp_path)
    wanted = extract(["He go ."], [["He goes ."]], runtime=runtime).edits
    parts = extraction.cache_parts("embedded")
    cache = DiskCache(tmp_path / "edits/edits.sqlite", parts)
    for text in ("[" * 100_000, "3", "[[1]]", '[[0, "1", "a", "b"]]', "{"):
        cache.put({text_key("He go .", "He goes ."): text})
        assert extract(["He go ."], [["He goes ."]], runtime=runtime).edits == wanted


def test_versions_must_have_as_many_lines_as_the_sources() -> None:
    with pytest.raises(InputError, match="mine has 1 lines, but there are 2 sources"):
        extract(["a", "b"], {"mine": ["a"]}, runtime=FRESH)


@pytest.mark.usefixtures("uncached_versions")
@pytest.mark.parametrize("version", ["2.3.3", "3.1.0", "4.0"])
def test_untested_errant_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.metadata.version", lambda name: version)
    with pytest.raises(OptionError, match=rf"errant {version} .*'errant==3.0.\*'"):
        extract(["a"], [["b"]], runtime=FRESH)


@pytest.mark.usefixtures("uncached_versions")
def test_missing_errant_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr("importlib.metadata.version", missing)
    with pytest.raises(MissingExtraError, match=r"\[edits\]"):
        extract(["a"], [["b"]], runtime=FRESH)


def test_signature_names_tagger_and_errant() -> None:
    signature = extraction_signature("embedded")
    assert signature["tagger"].startswith("embedded-")
    assert signature["tagger"].endswith("/spacy2")
    assert signature["errant"].startswith("3.0")


def test_the_spelling_of_giant_tokens_is_not_compared() -> None:
    # Computing the distance of two spellings takes time proportional to the product of their
    # lengths: minutes for these.
    begin = time.perf_counter()
    source, target = "x" * 300_000, "x" * 299_999 + "y"
    found = extract(
        [f"He see {source} .", f"a {source}"],
        [[f"He sees {target} .", f"a {source} !"], [f"He see {source} .", f"{target} {source}"]],
        runtime=FRESH,
    ).edits
    assert [[[(e.start, e.end, e.correction) for e in edits] for edits in version]
            for version in found] == [
        [[(1, 2, "sees"), (2, 3, target)], [(2, 2, "!")]],
        [[], [(0, 1, target)]],
    ]  # fmt: skip
    assert time.perf_counter() - begin < 10
