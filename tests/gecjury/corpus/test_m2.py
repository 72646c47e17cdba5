"""M2: parsing, writing, errors for malformed lines, overlapping edits."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.durable import write_text
from gecjury.core.errors import InputError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.edits import Edit, marked_edits, overlapping_edits
from gecjury.corpus.files.forms import looks_like_m2
from gecjury.corpus.m2 import (
    M2Annotation,
    M2Sentence,
    format_m2,
    m2_annotations,
    parse_m2,
    read_m2,
)
from gecjury.corpus.references import gold_versions

SAMPLE = """\
S This are a sentence .
A 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0
A 3 3|||M:ADJ|||short||brief|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1
A 2 3|||U:DET|||-NONE-|||REQUIRED|||why not|||3

S Fine .

S\x20

"""


def block(*annotations: str, source: str = "a b c d") -> list[str]:
    return [f"S {source}", *(f"A {line}" for line in annotations), ""]


def a(start: int, end: int, correction: str = "x", annotator: int = 0, kind: str = "T") -> str:
    return f"{start} {end}|||{kind}|||{correction}|||REQUIRED|||-NONE-|||{annotator}"


def test_errors_that_were_not_corrected_are_never_applied() -> None:
    lines = block(
        a(0, 1, "", kind="Um"), a(1, 2, "B"), a(2, 3, "new", kind="UNK"), a(0, 4, "", 1, "Um")
    )
    (one,) = parse_m2(lines, overlaps="keep")
    assert one.text(0) == "a B c d"
    assert one.text(0, detected=True) == "B new d"
    first, second = gold_versions([one])
    assert (first.lines, second.lines) == (("a B c d",), ("a b c d",))
    # They are still there for detection, and in the file that is written.
    assert [edit.type for edit in one.edits(0)] == ["Um", "T", "UNK"]
    assert format_m2([one]) == "\n".join(lines) + "\n"
    # One over another edit is no overlap of two corrections.
    (over,) = parse_m2(block(a(0, 3, "", kind="Um"), a(1, 2, "B")), overlaps="keep")
    assert over.text(0) == "a B c d"
    assert overlapping_edits(over.edits(0)) == ()
    assert marked_edits(over.source.split(), over.edits(0)) == "a [b→B] c d"


def test_parse() -> None:
    first, second, third = parse_m2(SAMPLE.split("\n"))
    assert first.source == "This are a sentence ."
    assert first.annotators == (0, 1, 3)
    # the first of several alternatives counts
    assert first.edits(0) == (Edit(1, 2, "is", "R:VERB:SVA"), Edit(3, 3, "short", "M:ADJ"))
    assert first.text(0) == "This is a short sentence ."
    # an annotator who found no error has a noop; an absent one has no line at all
    assert first.edits(1) == ()
    assert first.text(1) == first.text(2) == first.source
    assert first.edits(3) == (Edit(2, 3, "", "U:DET"),)
    assert first.text(3) == "This are sentence ."
    assert second == M2Sentence("Fine .")
    assert second.annotators == ()
    assert third.source == ""


def test_every_field_is_written_back() -> None:
    assert format_m2(parse_m2(SAMPLE.split("\n"))) == SAMPLE


def test_blocks_need_no_blank_line_between_them() -> None:
    lines = ["S a b", "A " + a(0, 1), "S c", "S d e"]
    assert [one.source for one in parse_m2(lines)] == ["a b", "c", "d e"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["A " + a(0, 1)], r"gold, line 1: an A line without an S line"),
        (["S a", "", "A " + a(0, 1)], r"gold, line 3: an A line without an S line"),
        (block("0 1|||T|||x|||REQUIRED|||0"), r"gold, line 2: 5 fields .* expected 6"),
        (block(a(0, 1) + "|||7"), r"gold, line 2: 7 fields .* expected 6"),
        (block("0|||T|||x|||REQUIRED|||-NONE-|||0"), r"gold, line 2: span '0' is not two whole"),
        (block("0 one|||T|||x|||REQUIRED|||-NONE-|||0"), r"line 2: span '0 one'"),
        (block("0 1|||T|||x|||REQUIRED|||-NONE-|||me"), r"line 2: annotator 'me' is not a whole"),
        (block("0 1|||T|||x|||REQUIRED|||-NONE-|||-1"), r"line 2: annotator '-1'"),
        (block("0 1|||T|||x|||REQUIRED|||-NONE-|||0\x1e"), r"line 2: annotator '0\\x1e' is not"),
        (block(a(0, 1), a(3, 5)), r"gold, line 3: the edit 3 5 lies outside .* <= 4, the number"),
        (block(a(3, 2)), r"gold, line 2: the edit 3 2 ends before it starts"),
        (block(a(-1, 2)), r"gold, line 2: the edit -1 2 lies outside"),
        (block(a(-3, -1)), r"gold, line 2: the edit -3 -1 lies outside"),
        (["S a", "B c"], r"gold, line 2: 'B c' is neither an S line, an A line nor blank"),
        (["", " "], r"gold: no S line found"),
    ],
)
def test_malformed_lines_are_named(lines: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_m2(lines, "gold")


@pytest.mark.parametrize(
    ("first", "second", "fault"),
    [
        ((0, 3), (1, 2), "overlaps the edit 0 3"),
        ((0, 2), (0, 2), "overlaps the edit 0 2"),
        ((2, 3), (0, 1), "is listed after the edit 2 3"),
        ((1, 3), (2, 2), "overlaps the edit 1 3"),
    ],
)
def test_overlaps_are_refused_with_their_line_or_kept(
    first: tuple[int, int], second: tuple[int, int], fault: str
) -> None:
    lines = [*block(a(0, 4)), *block(a(*first), a(0, 4, annotator=1), a(*second, "y"))]
    with pytest.raises(InputError, match=rf"gold, line 7: .* of annotator 0 {fault} above it"):
        parse_m2(lines, "gold")
    kept = parse_m2(lines, "gold", overlaps="keep")
    assert [(edit.start, edit.end) for edit in kept[1].edits(0)] == [first, second]


def test_adjacent_edits_do_not_overlap() -> None:
    lines = block(a(0, 0), a(0, 1, "y"), a(1, 1, "z"), a(1, 1, "w"), a(1, 3, ""))
    assert parse_m2(lines)[0].text(0) == "x y z w d"


def test_overlapping_edits_are_applied_in_turn() -> None:
    (one,) = parse_m2(block(a(1, 2, "x y"), a(1, 2, "z")), overlaps="keep")
    # "a x y c d" with an offset of +1: the second edit replaces [2,3), "y"
    assert one.text(0) == "a x z c d"


def test_an_annotator_may_be_missing_from_a_block() -> None:
    sentences = parse_m2([*block(a(0, 1, annotator=0)), *block(a(0, 1, annotator=1))])
    assert [s.annotators for s in sentences] == [(0,), (1,)]
    assert [s.text(0) for s in sentences] == ["x b c d", "a b c d"]


ANNOTATORS = st.integers(0, 3)
# With every separator of the format.
FIELD = st.one_of(
    st.sampled_from(["|||", "a||b", "x|", "|x", "-NONE-", "noop", "\nb", "a\rb", "\x85", "S x"]),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)


@st.composite
def blocks(draw: st.DrawFn) -> M2Sentence:
    source = draw(st.one_of(FIELD, st.lists(FIELD, max_size=6).map(" ".join)))
    length = len(source.split())
    annotations = []
    for annotator in sorted(draw(st.sets(ANNOTATORS))):
        if draw(st.booleans()):
            annotations.append(M2Annotation(-1, -1, "noop", "-NONE-", annotator=annotator))
            continue
        cuts = sorted(draw(st.sets(st.integers(0, length))))
        for start, end in itertools.pairwise(cuts):
            fields = [draw(FIELD) for _ in range(4)]
            annotations.append(M2Annotation(start, end, *fields, annotator=annotator))
    return M2Sentence(source, tuple(annotations), ragged=draw(st.booleans()))


@given(st.lists(blocks(), min_size=1, max_size=4))
def test_written_m2_is_read_back_or_not_written(
    tmp_path_factory: pytest.TempPathFactory, sentences: list[M2Sentence]
) -> None:
    try:
        text = format_m2(sentences)
    except InputError:
        values = [sentence.source for sentence in sentences]
        for one in (annotation for sentence in sentences for annotation in sentence.annotations):
            values += [one.type, one.correction, one.required, one.comment]
        assert any(re.search(r"\n|\|\|\||\|\Z|\r\Z", value) for value in values)
        return
    path = tmp_path_factory.getbasetemp() / "written.m2"
    write_text(path, text)
    assert looks_like_m2(read_lines(path))
    assert read_m2(path) == tuple(sentences)
    assert format_m2(read_m2(path)) == text


@given(st.lists(FIELD, min_size=1, max_size=3))
def test_edits_are_read_back_or_not_written(corrections: list[str]) -> None:
    edits = tuple(Edit(n, n + 1, " ".join(c.split()), "R") for n, c in enumerate(corrections))
    try:
        text = format_m2([M2Sentence("a b c", m2_annotations(edits, 0, "out.txt, line 1"))])
    except InputError:
        assert any("|" in edit.correction or edit.correction == "-NONE-" for edit in edits)
        return
    assert parse_m2(text.split("\n"))[0].edits(0) == edits


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (SAMPLE.split("\n"), True),
        (["S a b", "", "S c", ""], True),
        (["S a b", "A 0 1|||T|||x|||REQUIRED|||-NONE-|||0"], True),
        (["S", ""], True),
        # a broken M2 file still counts as M2, so that the error names its line
        (["S a b", "A 0 1|||T|||x|||0"], True),
        (["S a b", "A 0 1|||T|||x|||REQUIRED|||-NONE-|||0", "rubbish", ""], True),
        # text
        ([], False),
        (["This is .", ""], False),
        (["S and A are letters ."], False),
        (["S is a letter .", "A is one too ."], False),
        (["S is a letter .", "", "So is B ."], False),
        (["Some text", "S a b", "A 0 1|||T|||x|||REQUIRED|||-NONE-|||0"], False),
    ],
)
def test_m2_is_recognised_by_content(lines: list[str], expected: bool) -> None:
    assert looks_like_m2(lines) is expected


def real_files(data_dir: Path) -> list[Path]:
    files = sorted((data_dir / "conll14").rglob("*.m2"))
    files += sorted((data_dir / "conll14-errant").glob("*.errant"))
    assert len(files) == 16
    return files


def test_real_files_are_written_back_byte_for_byte(data_dir: Path) -> None:
    ended = 0
    for path in real_files(data_dir):
        text = path.read_text(encoding="utf-8")
        sentences = read_m2(path, overlaps="keep")
        assert len(sentences) == 1312, path.name
        written = format_m2(sentences)
        assert parse_m2(written.split("\n"), overlaps="keep") == sentences
        # Some files lack the last blank line, which is not part of the content of a block.
        assert written.rstrip("\n") == text.rstrip("\n"), path.name
        if text.endswith("\n\n") and not text.endswith("\n\n\n"):
            ended += 1
            assert written == text, path.name
    assert ended >= 10


def test_real_annotations(data_dir: Path) -> None:
    official = read_m2(data_dir / "conll14" / "official-2014.combined.m2")
    assert {annotator for one in official for annotator in one.annotators} == {0, 1}
    # 88 sentences where annotator 1 has neither a line nor a noop, but annotator 0 has lines
    assert sum(one.annotators == (0,) for one in official) == 88
    ten = sorted((data_dir / "conll14" / "10gec_annotations").glob("*.m2"))
    with pytest.raises(InputError, match=r"A10\.m2, line \d+: the edit"):
        read_m2(ten[1])
    faults = 0
    for path in ten:
        for one in read_m2(path, overlaps="keep"):
            edits = one.edits(0)
            faults += sum(new.start < old.end for old, new in itertools.pairwise(edits))
    # Lines that overlap the previous edit or are out of order.
    assert faults == 37
