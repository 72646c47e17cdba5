"""The input doctor: silent on good files, and every fault reported by name."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.corpus.doctor import Finding, examine

SOURCE = [
    "This are the first sentence of a text .",
    "He do n't like cat .",
    "My friend 's house is more bigger than mine .",
    "Yesterday , we goes to school by the bus .",
    "I am agree with you , but not always .",
    "They was happy because it rained a lot .",
]
FIXED = [
    "This is the first sentence of a text .",
    "He does n't like cats .",
    "My friend 's house is bigger than mine .",
    "Yesterday , we went to school by bus .",
    "I agree with you , but not always .",
    "They were happy because it rained a lot .",
]


class Files:
    """Writes files and examines them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.source = self.write("source.txt", SOURCE)

    def write(self, name: str, lines: Sequence[str], end: str = "\n") -> Path:
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes("".join(line + end for line in lines).encode())
        return path

    def findings(self, lines: Sequence[str], end: str = "\n") -> list[Finding]:
        return examine(self.source, [self.write("mine.txt", lines, end)])[1]

    def one(self, lines: Sequence[str], end: str = "\n") -> tuple[str, str]:
        (finding,) = self.findings(lines, end)
        assert finding.file.endswith("mine.txt")
        return finding.level, finding.message


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_good_files_give_counts_and_no_findings(files: Files) -> None:
    lines = [*FIXED[:4], SOURCE[4], "  ".join(SOURCE[5].split())]
    reference = files.write("reference.txt", [*FIXED[:5], SOURCE[5]])
    reports, findings = examine(files.source, [files.write("mine.txt", FIXED)], [reference])
    assert findings == []
    assert [(report.role, report.name) for report in reports] == [
        ("source", "source"),
        ("hypothesis", "mine"),
        ("reference", "reference"),
    ]
    assert [len(report.lines) for report in reports] == [6, 6, 6]
    # 9 + 6 + 10 + 10 + 10 + 9 tokens; with the fixes 9 + 6 + 9 + 9 + 9 + 9
    assert [report.record()["tokens"] for report in reports[:2]] == [54, 51]
    assert [report.unchanged for report in reports] == [None, 0, 1]
    # blanks do not matter for unchanged lines
    assert examine(files.source, [files.write("a.txt", lines)])[0][1].unchanged == 2


def test_a_folder_has_references_of_each_system(files: Files, tmp_path: Path) -> None:
    mine, folder = files.write("mine.txt", FIXED), tmp_path / "own"
    folder.mkdir()
    with pytest.raises(InputError, match=r"no file of mine; expected mine\.txt, and the folder"):
        examine(files.source, [mine], [folder])
    (folder / "mine.txt").write_text("\n".join(FIXED[:4]) + "\n")
    reports, (finding, *_) = examine(files.source, [mine], [folder])
    assert [(report.role, report.name) for report in reports[1:]] == [
        ("hypothesis", "mine"),
        ("reference", "mine"),
    ]
    assert finding.level == "error"
    assert "4 lines" in finding.message


def test_a_different_number_of_lines(files: Files) -> None:
    findings = files.findings([*FIXED[:2], *FIXED[3:]])
    assert [finding.level for finding in findings] == ["error", "error"]
    assert (
        findings[0].message == "5 lines, but the source has 6; --fix FOLDER writes a repaired copy"
    )
    assert "line 3 of the source has no line here" in findings[1].message


def test_lines_shifted_by_one(files: Files) -> None:
    messages = [finding.message for finding in files.findings([*FIXED[1:], "Something new ."])]
    assert any("from line 1 on the output is one line earlier" in text for text in messages)
    messages = [finding.message for finding in files.findings(["A headline", *FIXED[:-1]])]
    assert any("line 1 is no correction ('A headline')" in text for text in messages)
    assert any("line 6 of the source has no line here" in text for text in messages)


def test_a_different_tokenisation(files: Files) -> None:
    glued = [line.replace(" .", ".").replace(" ,", ",").replace(" n't", "n't") for line in FIXED]
    level, message = files.one(glued)
    assert level == "note"
    assert message.startswith("83% of the lines are raw text (punctuation attached to words)")


@pytest.mark.parametrize(
    ("line", "end", "expected"),
    [
        (FIXED[0], "\r\n", ("note", "6 lines end in CRLF (read as LF)")),
        (FIXED[0] + "  ", "\n", ("note", "1 lines end in spaces (ignored)")),
        (FIXED[0].replace(" a", "  a"), "\n", ("note", "1 lines have doubled spaces")),
        (FIXED[0].replace(" a", "\u00a0a"), "\n", ("note", "1 no-break spaces")),
        (FIXED[0].replace("text", "te\u200bxt"), "\n", ("note", "1 invisible characters (ign")),
        (FIXED[0].replace("text", "te\u200dxt"), "\n", ("warning", "1 invisible characters")),
        (FIXED[0].replace("text", "te\u0007xt"), "\n", ("warning", "1 invisible characters")),
        (FIXED[0].replace("text", "te\ufffdxt"), "\n", ("warning", "1 replacement characters")),
        (FIXED[0].replace("text", "te\u0301xt"), "\n", ("note", "not in Unicode NFC (read as")),
        ("", "\n", ("warning", "1 empty lines where the source has a sentence (line 1)")),
        ("Cats purr at night", "\n", ("warning", "1 lines share almost no token with their")),
    ],
)
def test_odd_lines(files: Files, line: str, end: str, expected: tuple[str, str]) -> None:
    found = [(one.level, one.message) for one in files.findings([line, *FIXED[1:]], end)]
    assert any(level == expected[0] and text.startswith(expected[1]) for level, text in found)
    # an empty line, which also shares no token with its source, is only one finding
    assert len(found) == 1


def test_identical_files(files: Files) -> None:
    copy, mine = files.write("copy.txt", SOURCE), files.write("mine.txt", FIXED)
    again = files.write("again.txt", FIXED)
    _, findings = examine(files.source, [copy, mine, again])
    assert findings == [
        Finding("warning", str(again), f"the same text as the hypothesis {mine}"),
        Finding("note", str(copy), f"the same text as the source {files.source}"),
    ]


def test_a_system_named_twice(files: Files) -> None:
    one = files.write("mine.txt", FIXED)
    two = files.write("other/mine.txt", [FIXED[0], *SOURCE[1:]])
    _, findings = examine(files.source, [one, two])
    assert findings == [
        Finding("error", str(two), f"system mine is named twice (also {one}); rename one")
    ]


def test_an_unreadable_file_does_not_hide_the_others(files: Files) -> None:
    bad = files.folder / "bad.txt"
    bad.write_bytes(b"caf\xe9\n")
    short = files.write("short.txt", FIXED[:2])
    reports, findings = examine(files.source, [bad, short], [files.folder / "gone.txt"])
    assert [report.name for report in reports] == ["source", "short"]
    assert [finding.level for finding in findings] == ["error"] * 3
    assert {Path(finding.file).name for finding in findings} == {"bad.txt", "short.txt", "gone.txt"}


def test_m2_references_give_one_report_per_annotator(files: Files) -> None:
    gold = files.folder / "gold.m2"
    gold.write_text(
        "".join(
            f"S {line}\nA 0 1|||R:DET|||X|||REQUIRED|||-NONE-|||0\n"
            f"A 1 2|||R:ADV|||Y|||REQUIRED|||-NONE-|||1\n\n"
            for line in SOURCE
        )
    )
    reports, findings = examine(files.source, [files.write("mine.txt", FIXED)], [gold])
    assert findings == []
    assert [report.role for report in reports] == ["source", "hypothesis", "reference", "reference"]
    # as a hypothesis it cannot be scored, and the name of the system is not the reason
    _, findings = examine(files.source, [gold])
    assert [finding.level for finding in findings] == ["error"]
    assert "2 annotators" in findings[0].message


def test_gold_edits_of_another_scheme_than_the_hypotheses(files: Files) -> None:
    def write(name: str, first: str, second: str) -> Path:
        path = files.folder / name
        path.write_text(
            "".join(
                f"S {line}\nA 0 1|||{first}|||{name}|||REQUIRED|||-NONE-|||0\n"
                f"A 1 2|||{second}|||Y|||REQUIRED|||-NONE-|||0\n\n"
                for line in SOURCE
            )
        )
        return path

    gold, mine = write("gold.m2", "Nn", "R:ADV"), files.write("mine.txt", FIXED)
    for references, edits in (([gold], None), ([], gold), ([gold], gold)):
        (finding,) = examine(files.source, [mine], references, edits)[1]
        assert (finding.level, finding.file) == ("note", str(gold))
        assert "6 of 12 gold edits have types of another scheme than ERRANT's (Nn)" in (
            finding.message
        )
    # No edits are extracted if the hypotheses have edits of the same scheme.
    own = write("own.m2", "Vt", "Nn")
    assert examine(files.source, [own], [gold])[1] == []


def test_reference_edits_that_overlap_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "source.txt").write_text("e f\n")
    lines = ["S e f", *(f"A {s} 2|||X|||x|||REQUIRED|||-NONE-|||0" for s in (0, 1)), "", ""]
    (tmp_path / "gold.m2").write_text("\n".join(lines))
    source, gold = tmp_path / "source.txt", tmp_path / "gold.m2"
    reports, findings = examine(source, [], [gold])
    assert [report.role for report in reports] == ["source", "reference"]
    assert [
        f.level for f in findings if "overlap another of the same annotator: 1" in f.message
    ] == ["warning"]
    # No system can have written a hypothesis with such edits.
    _, findings = examine(source, [gold])
    assert findings[0].level == "error"


def notes(tmp_path: Path, source: Sequence[str], mine: Sequence[str]) -> dict[str, list[str]]:
    files = Files(tmp_path)
    _, found = examine(files.write("s.txt", source), [files.write("m.txt", mine)])
    assert {finding.level for finding in found} <= {"note"}
    return {
        name: [f.message for f in found if f.file.endswith(name)] for name in ("s.txt", "m.txt")
    }


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("день " + "добрий " * 150, "1 lines of 1,000 characters or more (line 1)"),
        ("day " + "after " * 170, "1 lines of 1,000 characters or more (line 1)"),
    ],
)
def test_long_lines_are_noted(tmp_path: Path, line: str, expected: str) -> None:
    (message,) = notes(tmp_path, [line.strip()], [line + "!"])["s.txt"]
    assert message.startswith(expected)


def test_lines_in_another_form_than_their_source(tmp_path: Path) -> None:
    source = ["私 は ２０ 歳 です 。", "は 雨 です", "Это дом .", "It is caf\u00e9 ."]
    mine = ["私 は 20 歳 です 。", "It rains today .", "Это дома .", "It is a caf\u00e9 ."]
    (form,) = notes(tmp_path, source, mine)["m.txt"]
    assert form.startswith("1 lines differ from their source only in Unicode forms (line 1)")
    # Composed and decomposed letters are equal to every metric.
    assert not notes(tmp_path, ["It is cafe\u0301 ."], ["It is caf\u00e9 ."])["m.txt"]
