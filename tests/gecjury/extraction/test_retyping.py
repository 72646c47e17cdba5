"""Gold edits retyped or re-extracted: by hand, and equal to the output of `errant_m2`."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

errant = pytest.importorskip("errant")
pytest.importorskip("spacy")

from gecjury.core.runtime import Runtime  # noqa: E402
from gecjury.corpus.corpus import Corpus, Version  # noqa: E402
from gecjury.corpus.edits import Edit, Edits  # noqa: E402
from gecjury.corpus.m2 import M2Sentence, format_m2, parse_m2, read_m2  # noqa: E402
from gecjury.extraction.parsing import Parser  # noqa: E402
from gecjury.extraction.retyping import (  # noqa: E402
    GoldTypes,
    is_retyped,
    reextracted_blocks,
    retype,
    retyped_blocks,
    typed_corpus_edits,
)
from gecjury.extraction.tagger import load_tagger  # noqa: E402

FRESH = Runtime(use_cache=False)


def retyped_edits(source: str, *edits: Edit) -> Edits:
    (found,) = retype([(source, edits)], "embedded", FRESH)
    return found


def test_edits_are_typed_by_errants_rules_without_their_unchanged_words() -> None:
    source = "This are a sentence on the house ."
    assert retyped_edits(source, Edit(1, 2, "is", "SVA")) == (Edit(1, 2, "is", "R:VERB:SVA"),)
    # [This are a -> This is a]: the first and the last word are trimmed.
    assert retyped_edits(source, Edit(0, 3, "This is a", "Wci")) == (
        Edit(1, 2, "is", "R:VERB:SVA"),
    )
    # [the house -> house] deletes one word; [house -> big house] adds one before the house.
    assert retyped_edits(source, Edit(5, 7, "house", "ArtOrDet")) == (Edit(5, 6, "", "U:DET"),)
    assert retyped_edits(source, Edit(6, 7, "big house", "Others")) == (Edit(6, 6, "big", "M:ADJ"),)


def test_edits_without_a_change_and_errors_without_a_correction() -> None:
    source = "This are a sentence ."
    # [a -> a] becomes an empty edit after the word; an error without a correction keeps its span,
    # is not part of the corrected sentence, and does not shift the edits after it.
    assert retyped_edits(source, Edit(2, 3, "a", "Others")) == (Edit(3, 3, "", "UNK"),)
    unclear = Edit(0, 1, "what is meant", "Um")
    assert retyped_edits(source, Edit(1, 2, "is", "SVA"), unclear) == (
        Edit(0, 1, "what is meant", "UNK"),
        Edit(1, 2, "is", "R:VERB:SVA"),
    )
    assert retyped_edits(source) == ()


HARD = """\
S This are a a sentence on the house .
A 1 2|||SVA|||is|||REQUIRED|||-NONE-|||0
A 0 2|||Wci|||This is|||REQUIRED|||-NONE-|||10
A 3 4|||Um|||what is  meant ?|||REQUIRED|||-NONE-|||10
A 3 4|||ArtOrDet||||||REQUIRED|||-NONE-|||2
A 2 2|||UNK|||-NONE-|||REQUIRED|||-NONE-|||2
A 6 8|||Mec|||the house|||REQUIRED|||-NONE-|||3

S he go to\u00a0school and she stay .
A 2 4|||Wci|||at school|||REQUIRED|||-NONE-|||0
A 0 6|||Others|||He goes to school , and she|||REQUIRED|||-NONE-|||0
A 1 2|||SVA|||goes|||REQUIRED|||-NONE-|||0
A 1 2|||SVA|||went|||REQUIRED|||-NONE-|||0
A 0 7|||Others||||||REQUIRED|||-NONE-|||1
A 2 3|||Prep|||in|||REQUIRED|||-NONE-|||1

S Nothing is wrong .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S Nobody looked .

S

"""


def by_errant(
    monkeypatch: pytest.MonkeyPatch, folder: Path, blocks: tuple[M2Sentence, ...], how: str
) -> str:
    """Return the output of errant's command for some blocks, with our tagger instead of spaCy's."""
    from errant.commands import m2_to_m2

    load, nlp = errant.load, load_tagger()
    (folder / "in.m2").write_text(format_m2(blocks), encoding="utf-8")
    argv = ["errant_m2", how, str(folder / "in.m2"), "-out", str(folder / "out.m2")]
    with monkeypatch.context() as patch:
        patch.setattr(errant, "load", lambda lang: load(lang, nlp))
        patch.setattr("sys.argv", argv)
        m2_to_m2.main()
    return (folder / "out.m2").read_text(encoding="utf-8")


def test_hard_cases_equal_the_output_of_errant_m2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    blocks = parse_m2(HARD.splitlines(), overlaps="keep")
    retyped = retyped_blocks(blocks, runtime=FRESH)
    reextracted = reextracted_blocks(blocks, runtime=FRESH)
    # We write the empty source as it was read; errant drops the blank after the S.
    for ours, how in ((retyped, "-gold"), (reextracted, "-auto")):
        theirs = by_errant(monkeypatch, tmp_path, blocks, how)
        assert format_m2(ours).replace("S \n", "S\n") == theirs
    # Annotators are sorted by their numbers as strings; one whose edits change nothing has no
    # line after re-extraction.
    assert [a.annotator for a in retyped[0].annotations] == [0, 10, 10, 2, 2, 3]
    assert reextracted[0].annotators == (0, 2, 10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["official-2014.combined.m2", "10gec_annotations/A8.m2"])
def test_real_files_equal_the_output_of_errant_m2(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, data_dir: Path, name: str
) -> None:
    blocks = read_m2(data_dir / "conll14" / name, overlaps="keep")[::60]
    assert format_m2(retyped_blocks(blocks, runtime=FRESH)) == by_errant(
        monkeypatch, tmp_path, blocks, "-gold"
    )
    assert format_m2(reextracted_blocks(blocks, runtime=FRESH)) == by_errant(
        monkeypatch, tmp_path, blocks, "-auto"
    )


SOURCE = "This are a sentence ."
NUCLE = (Edit(0, 2, "This is", "SVA"), Edit(2, 3, "the", "R:DET"), Edit(3, 4, "words", "UNK"))
ERRANT = (Edit(1, 2, "is", "R:VERB:SVA"), Edit(2, 3, "one", "R:OTHER"))


def gold_of(corpus: Corpus, types: GoldTypes) -> tuple[list[Edits], tuple[str, ...]]:
    found = typed_corpus_edits(corpus, types, "embedded", FRESH)
    assert bool(is_retyped(corpus, types)) == (
        [list(lines) for lines in found.references]
        != [list(version.edits or ()) for version in corpus.references]
    )
    return [lines[0] for lines in found.references], found.notes


def test_gold_edits_of_another_scheme_are_retyped_if_hypotheses_have_errant_types() -> None:
    gold = Version(("This is a sentence .",), (NUCLE,), (SOURCE,))
    texts = Corpus((SOURCE,), {"mine": Version(("This is a sentence .",))}, (gold,))
    made, notes = gold_of(texts, "auto")
    # An edit with an ERRANT type keeps it, including UNK.
    assert made == [(Edit(1, 2, "is", "R:VERB:SVA"), *NUCLE[1:])]
    assert len(notes) == 1
    assert notes[0].startswith("1 gold edits had types of another scheme (SVA) and were retyped")
    # Hypotheses with ready-made edits of ERRANT's types give the same result.
    ready = Version(("This is a sentence .",), ((Edit(1, 2, "is", "R:VERB:SVA"),),), (SOURCE,))
    assert gold_of(Corpus((SOURCE,), {"mine": ready}, (gold,)), "auto")[0] == made
    # If the hypotheses use the other scheme too, types are kept and nothing is noted.
    own = Version(("This is a sentence .",), ((Edit(0, 2, "This is", "SVA"),),), (SOURCE,))
    assert gold_of(Corpus((SOURCE,), {"mine": own}, (gold,)), "auto") == ([NUCLE], ())
    # All systems decide, even if one is scored alone because the others were scored before.
    both = Corpus((SOURCE,), {"own": own, "mine": ready}, (gold,))
    assert gold_of(both.with_systems(["own"]), "auto")[0] == made


def test_types_of_gold_edits_by_option() -> None:
    gold = Version(("This is a sentence .",), (NUCLE,), (SOURCE,))
    errants = Version(("This is one sentence .",), (ERRANT,), (SOURCE,))
    corpus = Corpus((SOURCE,), {"mine": Version((SOURCE,))}, (gold, errants))
    kept, (note,) = gold_of(corpus, "gold")
    assert kept == [NUCLE, ERRANT]
    assert "1 gold edits have types of another scheme than ERRANT's (SVA)" in note
    assert "types=errant" in note
    # All are retyped: an article is DET, whatever the type in the file.
    made, notes = gold_of(corpus, "errant")
    assert made == [
        (Edit(1, 2, "is", "R:VERB:SVA"), Edit(2, 3, "the", "R:DET"), Edit(3, 4, "words", "UNK")),
        (Edit(1, 2, "is", "R:VERB:SVA"), Edit(2, 3, "one", "R:DET")),
    ]
    assert notes == ()
    # Plain text has no gold edits, and files with ERRANT types need no retyping.
    plain = Corpus((SOURCE,), {"mine": Version((SOURCE,))}, (errants, Version((SOURCE,))))
    for types in ("auto", "gold"):
        assert not is_retyped(plain, types)  # type: ignore[arg-type]  # GoldTypes
        assert typed_corpus_edits(plain, types, "embedded", FRESH).notes == ()  # type: ignore[arg-type]


def test_types_are_cached_on_disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    lines = [(SOURCE, NUCLE), (SOURCE, ERRANT), (SOURCE, NUCLE)]
    runtime = Runtime(cache=tmp_path)
    first = retype(lines, "embedded", runtime)
    assert first == retype(lines, "embedded", FRESH)

    def parsing(self: Parser, sentences: Any) -> Any:
        raise AssertionError("parsed again")

    monkeypatch.setattr(Parser, "parse", parsing)
    assert retype(lines, "embedded", runtime) == first


@pytest.mark.parametrize("text", ["", "[[1", "[[1, 2]]", "[7]", '{"a": 1}', "[" * 5000])
def test_damaged_cache_entries_are_ignored(tmp_path: Path, text: str) -> None:
    runtime = Runtime(cache=tmp_path)
    first = retype([(SOURCE, NUCLE)], "embedded", runtime)
    with sqlite3.connect(tmp_path / "edits/edits.sqlite") as store:
        assert store.execute("UPDATE entries SET value = ?", (text.encode(),)).rowcount == 1
    assert retype([(SOURCE, NUCLE)], "embedded", runtime) == first
