"""Gold edits: the scheme of their types, and annotators of several files joined."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.corpus.corpus import Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.files.gold import has_type_of, join_annotators, named_types, other_types
from gecjury.corpus.files.reading import read_versions
from gecjury.corpus.m2 import M2Annotation, M2Sentence
from gecjury.corpus.references import gold_versions


@pytest.mark.parametrize("kind", ["R:VERB:TENSE", "M:DET", "U:PUNCT", "R:WO", "R:NOUN:POSS", "UNK"])
def test_errants_own_types(kind: str) -> None:
    assert has_type_of("errant", kind)


@pytest.mark.parametrize(
    "kind", ["ArtOrDet", "", "R:", "R", "DET", "X:DET", "R:DIACR", "R:ORTH:CASING", "r:det", "Um"]
)
def test_types_of_other_schemes(kind: str) -> None:
    assert not has_type_of("errant", kind)


def test_every_type_in_files_of_errant_is_an_errant_type(data_dir: Path) -> None:
    for path in sorted((data_dir / "conll14-errant").glob("*.errant")):
        assert not other_types(read_versions(path, overlaps="keep")), path


def test_other_types_are_counted_and_the_most_frequent_named() -> None:
    def typed(*kinds: str) -> Version:
        return Version(("x",), (tuple(Edit(0, 1, "x", kind) for kind in kinds),))

    versions = [typed("Nn", "R:DET", "noop", "Vt"), typed("Nn", "", "UNK", "Um"), Version(("x",))]
    found = other_types(versions)
    assert found == {"Nn": 2, "Vt": 1, "": 1, "Um": 1}
    assert named_types(found) == "Nn, no type, Um, Vt"
    more = other_types([typed("d", "c", "b", "a", "a", "\x1be")])
    assert named_types(more) == "a, \\x1be, b and 2 more"
    assert len(named_types(other_types([typed("x" * 10**6)]))) < 100


def test_annotators_of_several_files_are_numbered_consecutively() -> None:
    def line(annotator: int, kind: str = "T") -> M2Annotation:
        return M2Annotation(0, 1, kind, "x", annotator=annotator)

    # The annotator of the second file has no line on sentence 2. Alone, the block would be read as
    # unchanged; joined with the lines of the first file, it needs an explicit noop.
    first = [M2Sentence("a", (line(0), line(2))), M2Sentence("b", (line(2),)), M2Sentence("c")]
    second = [M2Sentence("a", (line(1),)), M2Sentence("b"), M2Sentence("c")]
    joined = join_annotators([first, second])
    assert [block.annotators for block in joined] == [(0, 2, 4), (2, 4), (0, 4)]
    assert joined[1].annotations[-1].is_noop
    assert [block.edits(4) for block in joined] == [(Edit(0, 1, "x", "T"),), (), ()]
    assert join_annotators([first]) == tuple(first)


@pytest.mark.parametrize("silent", [True, False])
def test_an_annotator_who_did_not_see_a_sentence_stays_one(silent: bool) -> None:
    def line(annotator: int) -> M2Annotation:
        return M2Annotation(0, 1, "T", "x", annotator=annotator)

    # Annotator 1 of the first file did not see sentence 2. Annotator 1 of the second, annotator 3
    # of both, left it unchanged.
    first = [M2Sentence("a", (line(0), line(1)), True), M2Sentence("b", (line(0),), True)]
    second = [M2Sentence("a", (line(0), line(1))), M2Sentence("b", (line(0),))]
    joined = join_annotators([first, second], silent=silent)
    assert [block.ragged for block in joined] == [True, True]
    assert [block.annotators for block in joined] == [(0, 1, 2, 3), (0, 2, 3)]
    assert joined[1].annotations[-1].is_noop
    assert [v.lines for v in gold_versions(joined)] == [
        ("x", "x"), ("x", "x"), ("x", "x"), ("x", "b"),
    ]  # fmt: skip
