"""Edit verdicts with their context, well-formed and malformed."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import pytest

from gecjury.benchmarks.edit_verdicts import read_edit_verdicts
from gecjury.core.errors import InputError

HEAD = "<Source with context>\nBefore .\n<t>He [go] to school .</t>\nAfter .\n\n<Correction>\n"


def write(folder: Path, body: str, name: str = "annotator1/0.txt") -> Path:
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(body, encoding="utf-8")
    return folder


def test_reads_verdicts_with_positions_and_context(tmp_path: Path) -> None:
    body = HEAD + "<s1>He [go→goes|True] to [→the|False] school [.→|True]</s1>\n"
    verdicts, sources, unread = read_edit_verdicts(write(tmp_path, body))
    assert unread == ()
    found = [(v.start, v.end, v.old, v.new, v.valid) for v in verdicts]
    assert found == [(1, 2, "go", "goes", True), (3, 3, "", "the", False), (4, 5, ".", "", True)]
    assert {v.sentence for v in verdicts} == {"He go to school ."}
    assert {v.correction for v in verdicts} == {"He goes to the school"}
    assert (sources[0].before, sources[0].after) == ("Before .", "After .")


def test_context_may_be_missing(tmp_path: Path) -> None:
    body = "<Source with context>\n<t>He go .</t>\n\n<Correction>\n<s1>He [go→goes|True] .</s1>\n"
    _, sources, _ = read_edit_verdicts(write(tmp_path, body))
    assert (sources[0].before, sources[0].after) == ("", "")


@pytest.mark.parametrize(
    ("mark", "new", "valid"),
    [
        ("[go→goes]|True", "goes", True),
        ("[go→goes] |False", "goes", False),
        ("[go|True→]", "", True),
        ("[go→goe|Trues]", "goes", True),
        ("[go→goes|False|True]", "goes", True),
        ("[go→goes|True", "goes", True),
    ],
)
def test_reads_malformed_marks_with_one_interpretation(
    tmp_path: Path, mark: str, new: str, valid: bool
) -> None:
    body = HEAD + f"<s1>He {mark} to [school→schools|False] .</s1>\n"
    verdicts, _, unread = read_edit_verdicts(write(tmp_path, body))
    assert (verdicts[0].old, verdicts[0].new, verdicts[0].valid) == ("go", new, valid)
    assert (verdicts[1].start, unread) == (3, ())


@pytest.mark.parametrize(
    "line",
    [
        "<s1>He [go→goes] to school .</s1>",  # no verdict
        "<s1>He [go to school .</s1>",
        "<s1>He [go→goes→going|True] to school .</s1>",
        "<s1>He [go→goes|True] to school .",
        "<s1>She never [go→goes|True] to school .</s1>",  # another source
    ],
)
def test_reports_marks_without_a_single_interpretation(tmp_path: Path, line: str) -> None:
    body = HEAD + line + "\n<s2>He [go→goes|True] to school .</s2>\n"
    verdicts, _, unread = read_edit_verdicts(write(tmp_path, body))
    assert [v.correction for v in verdicts] == ["He goes to school ."]
    assert [item for item, _ in unread] == ["annotator1/0"]


def test_items_come_in_numeric_order(tmp_path: Path) -> None:
    body = HEAD + "<s1>He [go→goes|True] to school .</s1>\n"
    for number in ("10", "9"):
        write(tmp_path, body, f"annotator1/{number}.txt")
    assert [s.item for s in read_edit_verdicts(tmp_path)[1]] == ["annotator1/9", "annotator1/10"]


def test_names_unusable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no edit verdicts"):
        read_edit_verdicts(tmp_path)
    write(tmp_path, "<Correction>\n")
    with pytest.raises(InputError, match="no source"):
        read_edit_verdicts(tmp_path)
    (tmp_path / "annotator1/0.txt").write_bytes(b"one\ntwo \xff\n")
    with pytest.raises(InputError, match="line 2: byte 0xff at offset 8 is not UTF-8"):
        read_edit_verdicts(tmp_path)


def test_seeda_has_the_known_verdicts(data_dir: Path) -> None:
    verdicts, sources, unread = read_edit_verdicts(data_dir / "SEEDA/data/EditEval_Step1")
    assert len(sources) == 600  # 200 items per annotator
    # Counted in the files: 5,864 brackets end in |True], 600 in |False]; one of the former,
    # [in→|False|True], has two verdicts. 15 other malformed marks are readable, 14 of them with
    # True; 17 marks lack a verdict.
    said = [verdict.valid for verdict in verdicts]
    assert (said.count(True), said.count(False)) == (5864 + 14, 600 + 1)
    assert [reason for _, reason in unread] == ["no verdict: left out"] * 17


def test_seeda_corrections_are_outputs_of_systems(data_dir: Path) -> None:
    """Every correction that was read, including repaired ones, is the output of some system."""
    lines = {
        path.stem: [" ".join(line.split()) for line in path.read_text("utf-8").split("\n")]
        for path in sorted((data_dir / "SEEDA/outputs/all").glob("*.txt"))
    }
    written: dict[str, set[str]] = defaultdict(set)
    for texts in lines.values():
        for source, text in zip(lines["INPUT"], texts, strict=True):
            written[source].add(text)
    verdicts, sources, _ = read_edit_verdicts(data_dir / "SEEDA/data/EditEval_Step1")
    assert all(source.sentence in written for source in sources)
    assert all(verdict.correction in written[verdict.sentence] for verdict in verdicts)
