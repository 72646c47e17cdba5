"""Reading the files of an evaluation and checking that they belong together."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.files.gold import have_types
from gecjury.corpus.files.reading import (
    read_corpus,
    read_gold,
    read_source,
    read_versions,
    system_name,
)
from gecjury.corpus.texts import corpus_of_texts

M2 = """\
S a b c
A 0 1|||T|||x|||REQUIRED|||-NONE-|||0
A 1 2|||T|||y|||REQUIRED|||-NONE-|||2

S d
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "source.txt").write_text("a b c\nd\n")
    (tmp_path / "mine.txt").write_text("x b c\nd\n")
    (tmp_path / "short.txt").write_text("x b c\n")
    (tmp_path / "gold.m2").write_text(M2)
    return tmp_path


def test_text_m2_and_json_lines_are_recognised_by_content(files: Path) -> None:
    (files / "odd-name").write_text(M2)
    first, second = read_versions(files / "odd-name")
    assert first.lines == ("x b c", "d")
    assert first.edits == ((Edit(0, 1, "x", "T"),), ())
    # annotator 2 has no line on the second sentence, which is left unchanged
    assert second.lines == ("a y c", "d")
    assert second.edits == ((Edit(1, 2, "y", "T"),), ())
    assert read_versions(files / "mine.txt") == (Version(("x b c", "d")),)


@pytest.mark.parametrize(
    "lines",
    [
        ['"a b"', '"c \\u00e9"'],
        ['{"text": "a b"}', '{"text": "c é", "other": 7}'],
        ['{"hypothesis": "a b"}', '"c é"'],
    ],
)
def test_json_lines(tmp_path: Path, lines: list[str]) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert read_versions(path) == (Version(("a b", "c é")),)


def test_sources_of_every_kind(files: Path) -> None:
    (files / "s.jsonl").write_text('{"source": "a b c", "text": "no"}\n{"text": "d"}\n')
    (files / "s.txt.gz").write_bytes(gzip.compress(b"a b c\nd\n", mtime=0))
    for name in ("source.txt", "gold.m2", "s.jsonl", "s.txt.gz"):
        assert read_source(files / name).lines == ("a b c", "d")


@pytest.mark.parametrize(
    "text",
    [
        '" Yes . "\nNo .\n',
        "{ a } b\nc\n",
        "[1, 2]\nd\n",
        '"quoted"\n',
        "S is a letter .\nA too .\n",
    ],
)
def test_sentences_that_look_like_another_format_stay_text(tmp_path: Path, text: str) -> None:
    path = tmp_path / "x.txt"
    path.write_text(text)
    (version,) = read_versions(path)
    assert version.lines == tuple(text.splitlines())


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (['{"text": "a"}', "{"], r"x\.jsonl, line 2: is not JSON"),
        (['{"text": "a"}', ""], r"x\.jsonl, line 2: is not JSON"),
        (['{"text": "a"}', "3"], r"x\.jsonl, line 2: expected a string or an object with the"),
        (['{"text": 3}'], r"x\.jsonl, line 1: expected a string"),
        (['{"other": "a"}'], r"line 1: expected a string or .* string field `reference`"),
        (['{"text": "a\\nb"}'], r"line 1: the text contains a line break"),
        (
            ['{"text": "a"}', '{"text": ' + "[" * 100_000],
            r"x\.jsonl, line 2: lists or objects are nested",
        ),
        (['{"text": "a"}', "1" * 5000], r"x\.jsonl, line 2: has an integer of thousands"),
    ],
)
def test_malformed_json_lines_are_named(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(lines) + "\n")
    with pytest.raises(InputError, match=message):
        read_versions(path)


def test_a_corpus_from_files(files: Path) -> None:
    corpus = read_corpus(
        files / "source.txt",
        [files / "mine.txt"],
        [files / "gold.m2", files / "mine.txt"],
        files / "gold.m2",
    )
    assert len(corpus) == 2
    assert corpus.names == ("mine",)
    assert [one.lines[0] for one in corpus.references] == ["x b c", "a y c", "x b c"]
    assert corpus.gold is not None
    assert corpus.gold[0].annotators == (0, 2)
    assert corpus.reference_name == "3 given"


def test_files_of_different_lengths_are_named_with_their_counts(files: Path) -> None:
    s, short = files / "source.txt", files / "short.txt"
    message = rf"^{short} has 1 lines, but {s} has 2"
    with pytest.raises(InputError, match=message):
        read_corpus(s, [files / "mine.txt", short])
    with pytest.raises(InputError, match=message):
        read_corpus(s, [files / "mine.txt"], [files / "gold.m2", short])
    with pytest.raises(InputError, match=rf"^{files / 'gold.m2'} has 2 blocks, but {short} has 1"):
        read_corpus(short, [], gold=files / "gold.m2")
    with pytest.raises(InputError, match=rf"^{files / 'gold.m2'} has 2 lines, but {short} has 1"):
        read_corpus(short, [], [files / "gold.m2"])


def test_one_gold_file_gives_references_and_gold_edits(files: Path) -> None:
    source, mine, gold = files / "source.txt", [files / "mine.txt"], files / "gold.m2"
    by_reference, by_gold = read_corpus(source, mine, [gold]), read_corpus(source, mine, gold=gold)
    assert by_reference.references == by_gold.references == read_versions(gold)
    assert by_reference.gold == by_gold.gold == read_gold(gold)
    # Annotator 2 has no line on the second sentence. As a reference it is left unchanged; in the
    # gold edits the annotator is absent from that sentence.
    assert by_gold.references[1].lines[1] == "d"
    assert by_gold.gold is not None
    assert by_gold.gold[1].annotators == (0,)
    # Text references add no gold edits, named sets stay separate, and explicit gold is used.
    mixed = read_corpus(source, mine, [files / "mine.txt", gold, f"more={gold}"])
    assert (len(mixed.references), mixed.gold) == (3, by_gold.gold)
    assert read_corpus(source, mine, [files / "mine.txt", f"more={gold}"]).gold is None
    both = read_corpus(source, mine, [files / "mine.txt"], gold)
    assert (len(both.references), both.gold) == (1, by_gold.gold)
    twice = read_corpus(source, mine, [gold, gold]).gold
    assert twice is not None
    assert [block.annotators for block in twice] == [(0, 2, 3, 5), (0, 3)]


def test_gold_from_python_gives_references(files: Path) -> None:
    blocks = read_gold(files / "gold.m2")
    corpus = corpus_of_texts(["a b c", "d"], {"mine": ["x b c", "d"]}, gold=blocks)
    assert corpus.references == read_versions(files / "gold.m2")
    plain = corpus_of_texts(["a b c", "d"], {"mine": ["x b c", "d"]}, ["a b c", "d"], blocks)
    assert plain.references == (Version(("a b c", "d")),)


def test_types_of_hypotheses_are_recognised() -> None:
    def ready(*types: str) -> Version:
        return Version(("x",), (tuple(Edit(0, 1, "x", kind) for kind in types),))

    texts, own, errant, plain = Version(("x",)), ready("Nn", "R:DET"), ready("R:DET"), ready("")

    def typed(*versions: Version) -> bool:
        return have_types(Corpus(("a",), {str(n): v for n, v in enumerate(versions)}).hypotheses)

    assert typed(texts)
    assert typed(errant)
    assert typed(plain)
    assert typed()
    assert not typed(own)
    assert not typed(own, plain)
    assert typed(own, errant)
    # The selection of systems to score does not change how the gold edits are read.
    corpus = Corpus(("a",), {"own": own, "text": texts})
    assert have_types(corpus.with_systems(["own"]).hypotheses)
    assert have_types(corpus.with_systems(["own"]).with_systems([]).hypotheses)


@pytest.mark.parametrize("name", ["source", "gold", "reference 0"])
def test_a_system_may_have_any_name(files: Path, name: str) -> None:
    hypothesis = files / f"{name}.txt"
    hypothesis.write_text("x b c\nd\n")
    source = files / "input.txt"
    source.write_text("a b c\nd\ne\n")
    with pytest.raises(InputError, match=rf"^{hypothesis} has 2 lines, but {source} has 3"):
        read_corpus(source, [hypothesis])


def test_a_system_named_twice_is_refused(files: Path) -> None:
    (files / "other").mkdir()
    twin = files / "other" / "mine.m2"
    twin.write_text("x b c\nd\n")
    with pytest.raises(InputError, match=rf"system mine is named twice \(.*mine\.txt and {twin}\)"):
        read_corpus(files / "source.txt", [files / "mine.txt", twin])


def test_hypotheses_have_one_annotator(files: Path) -> None:
    with pytest.raises(InputError, match=r"gold\.m2: an M2 file of 2 annotators"):
        read_corpus(files / "source.txt", [files / "gold.m2"])


def test_gold_must_be_m2(files: Path) -> None:
    with pytest.raises(InputError, match=r"mine\.txt: not an M2 file .* given with -r"):
        read_gold(files / "mine.txt")
    (files / "bad.m2").write_text("S a\nA 0 1|||T|||x\n\n")
    for read in (read_gold, read_versions, read_source):
        with pytest.raises(InputError, match=r"bad\.m2, line 2: 3 fields"):
            read(files / "bad.m2")


def test_a_corpus_in_memory_is_checked_too() -> None:
    with pytest.raises(InputError, match="the source: no sentence is given, or options leave none"):
        Corpus((), {})
    with pytest.raises(InputError, match="system x has 2 lines, but the source has 1"):
        Corpus(("a",), {"x": Version(("a", "b"))})
    with pytest.raises(InputError, match="reference 2 has 0 lines, but the source has 1"):
        Corpus(("a",), {}, (Version(("a",)), Version(())))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("a/b/BART.txt", "BART"),
        ("BART", "BART"),
        ("GPT-3.5.txt", "GPT-3.5"),
        ("GPT-3.5", "GPT-3.5"),
        ("x.txt.gz", "x"),
        ("x.m2", "x"),
        ("x.jsonl", "x"),
    ],
)
def test_system_names(path: str, name: str) -> None:
    assert system_name(path) == name


def test_systems_are_selected_in_the_given_order() -> None:
    versions = {name: Version((name,)) for name in "abc"}
    corpus = Corpus(("s",), versions, reference_name="given").with_systems(["c", "a"])
    assert corpus.names == ("c", "a")
    assert corpus.systems["c"].lines == ("c",)
    assert corpus.reference_name == "given"


def test_rows_of_a_version_are_selected() -> None:
    edits = ((Edit(0, 1, "x"),), (), (Edit(1, 1, "y"),))
    version = Version(("a", "b", "c"), edits)
    assert version.take([2, 0]) == Version(("c", "a"), (edits[2], edits[0]))
    assert Version(("a", "b")).take([1]) == Version(("b",))


def test_edits_of_other_sentences_are_refused(tmp_path: Path) -> None:
    (tmp_path / "source.txt").write_text("a b\nc d\n")
    (tmp_path / "mine.txt").write_text("a b\nc d\n")
    gold = tmp_path / "gold.m2"
    gold.write_text("S a  b\n\nS c e\nA 0 1|||X|||C|||REQUIRED|||-NONE-|||0\n\n")
    files = (tmp_path / "source.txt", [tmp_path / "mine.txt"])
    for options in ({"gold": gold}, {"references": [gold]}):
        with pytest.raises(InputError, match=r"gold\.m2 has edits of other sentences.*sentence 2"):
            read_corpus(*files, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="sentence 2"):
        read_corpus(tmp_path / "source.txt", [gold])
