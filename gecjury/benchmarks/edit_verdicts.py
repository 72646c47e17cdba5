"""Verdicts of annotators on single edits: SEEDA's step 1 of the edit-based evaluation.

A file holds one item: the source in `<t>` with the sentence before and after it, then each
correction with its edits in brackets, `[old→new|True]` for a valid edit and `[old→new|False]` for
an invalid one (Kobayashi et al. 2024, section 3.2).
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

from gecjury.core.errors import InputError
from gecjury.core.textfiles import read_text
from gecjury.corpus.edits import Edit, apply_edits

_MARK = re.compile(
    r"\[(?P<inner>[^\[\]]*)\](?:\s?\|(?P<outside>True|False))?"
    # An unclosed bracket: it ends after its verdict if the next bracket is an opening one.
    r"|\[(?P<open>[^\[\]]*\|(?:True|False))(?=[^\[\]]*(?:\[|$))"
)
_WORD = "(?P<verdict>True|False)"
_OLD, _NEW = "(?P<old>[^→|]*)", "(?P<new>[^→|]*)"
_READINGS = {
    rf"{_OLD}→{_NEW}\|{_WORD}": "",
    rf"{_OLD}→{_NEW}": "the verdict is outside the bracket",
    rf"{_OLD}\|{_WORD}→{_NEW}": "the verdict is before the arrow",
    rf"{_OLD}→{_NEW}\|{_WORD}(?P<rest>[^→|\s]{{1,3}})": "the verdict is inside the new text",
    rf"{_OLD}→{_NEW}\|(?:True|False)\|{_WORD}": "two verdicts: the last one is used",
}
"""The patterns of brackets, each with its fault; no text matches two of them."""

_TARGET = re.compile(r"<s(\d{1,9})>(.*)</s\1>\s*")
_SOURCE = re.compile(r"<t>(.*)</t>\s*")


@dataclass(frozen=True, slots=True)
class HumanVerdict:
    """The verdict of one annotator on one edit of one correction.

    Attributes:
        annotator: name of the annotator's folder.
        item: file name without its suffix; unrelated to the order of the ranking items.
        sentence: source text, tokens joined by single spaces.
        correction: text of the whole correction that the edit belongs to.
        target: number of the correction in the file (1-based, as in `<s1>`).
        start: index of the first source token replaced (0-based).
        end: index after the last source token replaced.
        old: source tokens replaced; empty for an insertion.
        new: tokens that replace them; empty for a deletion.
        valid: True where the annotator accepted the edit.
        repaired: True where the mark was malformed and read by the rule named in its problem.
        row: row of the source in the benchmark's corpus; -1 where the files give only its text.
    """

    annotator: str
    item: str
    sentence: str
    correction: str
    target: int
    start: int
    end: int
    old: str
    new: str
    valid: bool
    repaired: bool = False
    row: int = -1


@dataclass(frozen=True, slots=True)
class JudgedSource:
    """A source whose corrections were judged together, with the sentences around it.

    Attributes:
        annotator: name of the annotator's folder.
        item: file name without its suffix.
        sentence: source text, tokens joined by single spaces.
        before: the sentence before it; empty at the start of a document.
        after: the sentence after it; empty at the end of a document.
        corrections: texts of the corrections in file order, without those that cannot be read. By
            the annotation's design there are none without edits.
        row: as in `HumanVerdict`.
    """

    annotator: str
    item: str
    sentence: str
    before: str
    after: str
    corrections: tuple[str, ...]
    row: int = -1


@dataclass(frozen=True, slots=True)
class VerdictProblem:
    """A departure from the format in a verdict file.

    Attributes:
        file: annotator folder and file name.
        line: line number (1-based).
        text: the words in question.
        reason: the fault, and how it was read if it was.
        read: True where a verdict was read nevertheless.
    """

    file: str
    line: int
    text: str
    reason: str
    read: bool


@dataclass(frozen=True, slots=True)
class _Mark:
    """A bracket: the edit, and its verdict if it has a readable one."""

    start: int
    old: str
    new: str
    valid: bool | None
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class _Target:
    """A correction line as read."""

    number: int
    line: int
    source: str
    text: str
    marks: tuple[_Mark, ...]


def read_edit_verdicts(
    folder: Path,
) -> tuple[tuple[HumanVerdict, ...], tuple[JudgedSource, ...], tuple[VerdictProblem, ...]]:
    """Read `annotator*/N.txt` below a folder such as SEEDA's `data/EditEval_Step1`.

    A malformed mark is read where only one reading is possible: the verdict is outside its bracket
    or before the arrow, the bracket is not closed, the verdict was typed into the middle of the
    new text (`[→wit|Trueh]`), or two verdicts follow each other (the last one counts). Such a
    verdict has `repaired` set. A mark without any verdict gives none. Both kinds are reported.
    The source is read from what the corrections leave unchanged and what their edits replace, since
    some `<t>` lines have lost characters to the annotator's own marks; a difference is reported.

    Args:
        folder: folder with one subfolder per annotator.

    Returns:
        The verdicts, the sources with context, and the problems, each in the order of annotator,
        item number, line.

    Raises:
        InputError: no item files below the folder, a file that cannot be read or is not UTF-8, or
            one without a `<t>` line.
    """
    files = sorted(
        (path for path in folder.glob("annotator*/*.txt") if path.stem.isdecimal()),
        key=lambda path: (path.parent.name, int(path.stem)),
    )
    if not files:
        raise InputError(
            f"{folder}: no edit verdicts: expected files annotator1/0.txt and so on; "
            "name SEEDA's folder data/EditEval_Step1"
        )
    # Problems do not stop the reading: the published files have some, and a report lists them all.
    verdicts: list[HumanVerdict] = []
    sources: list[JudgedSource] = []
    problems: list[VerdictProblem] = []
    for path in files:
        source, judged, wrong = _read_item(path)
        sources.append(source)
        verdicts += judged
        problems += wrong
    return tuple(verdicts), tuple(sources), tuple(problems)


def _read_item(path: Path) -> tuple[JudgedSource, list[HumanVerdict], list[VerdictProblem]]:
    """Read one item file."""
    lines = read_text(path).splitlines()
    name = f"{path.parent.name}/{path.name}"
    at = next((i for i, line in enumerate(lines) if _SOURCE.fullmatch(line)), None)
    if at is None:
        raise InputError(f"{path}: no source: expected a line <t>...</t> with the source sentence")
    marked = lines[at][3:].rpartition("</t>")[0]
    problems: list[VerdictProblem] = []
    targets: list[_Target] = []
    for number, line in enumerate(lines[at + 1 :], start=at + 2):
        if not line.startswith("<s"):
            continue
        target = _read_target(line, number)
        if target is None:
            reason = "expected <sN>text with edits as [old→new|True]</sN>: the line is left out"
            problems.append(VerdictProblem(name, number, line, reason, read=False))
        else:
            targets.append(target)
    # If no correction spells the source as marked, their own spelling is used: edits refer to it.
    unmarked = _tidy(re.sub(r"\[([^\[\]]*)\]", r"\1", marked))
    spelled = Counter(target.source for target in targets)
    agreed = not spelled or unmarked in spelled
    sentence = unmarked if agreed else spelled.most_common(1)[0][0]
    if sentence != unmarked:
        reason = "the corrections spell the source differently, and their spelling is used"
        problems.append(VerdictProblem(name, at + 1, marked, reason, read=True))
    verdicts: list[HumanVerdict] = []
    texts: list[str] = []
    # A typing error in the unchanged words must not lose verdicts whose edits still fit the source.
    for original in targets:
        target = original
        if target.source != sentence:
            moved = _moved(target, sentence)
            reason = "the words around its edits are not those of the source: " + (
                "left out" if moved is None else "the edits are read as edits of the source"
            )
            kept = moved is not None
            problems.append(VerdictProblem(name, target.line, target.source, reason, read=kept))
            if moved is None:
                continue
            target = moved
        texts.append(target.text)
        verdicts += _verdicts(path, sentence, target)
        problems += [
            VerdictProblem(name, target.line, mark.text, mark.reason, mark.valid is not None)
            for mark in target.marks
            if mark.reason
        ]
    # A line of markup next to the source means that the document begins or ends here.
    before, after = (
        "" if line.startswith("<") else _tidy(line)
        for line in (["", *lines][at], [*lines, ""][at + 1])
    )
    source = JudgedSource(path.parent.name, path.stem, sentence, before, after, tuple(texts))
    return source, verdicts, sorted(problems, key=lambda problem: problem.line)


def _moved(target: _Target, sentence: str) -> _Target | None:
    """Return the edits applied to the source; None if they do not fit it."""
    tokens = sentence.split()
    edits = [Edit(m.start, m.start + len(m.old.split()), m.new) for m in target.marks]
    replaced = [" ".join(tokens[edit.start : edit.end]) for edit in edits]
    if len(tokens) != len(target.source.split()) or replaced != [m.old for m in target.marks]:
        return None
    return replace(target, source=sentence, text=" ".join(apply_edits(tokens, edits)))


def _verdicts(path: Path, sentence: str, target: _Target) -> list[HumanVerdict]:
    """Return the verdicts of one correction."""
    return [
        HumanVerdict(
            annotator=path.parent.name,
            item=path.stem,
            sentence=sentence,
            correction=target.text,
            target=target.number,
            start=mark.start,
            end=mark.start + len(mark.old.split()),
            old=mark.old,
            new=mark.new,
            valid=mark.valid,
            repaired=bool(mark.reason),
        )
        for mark in target.marks
        if mark.valid is not None
    ]


def _tidy(text: str) -> str:
    """Return tokens joined by single spaces."""
    return " ".join(text.split())


def _read_target(line: str, number: int) -> _Target | None:
    """Read one correction line; None if it cannot be read."""
    parts = _TARGET.fullmatch(line)
    if parts is None:
        return None
    body = parts[2]
    source: list[str] = []
    corrected: list[str] = []
    marks: list[_Mark] = []
    done = 0
    # Source and correction share the words between the brackets, and differ within them.
    for match in _MARK.finditer(body):
        plain = body[done : match.start()].split()
        source += plain
        corrected += plain
        mark = _read_mark(match, len(source))
        if mark is None:
            return None
        marks.append(mark)
        source += mark.old.split()
        corrected += mark.new.split()
        done = match.end()
    # A sign of markup outside the brackets means that one of them was not understood.
    rest = body[done:].split()
    if any(character in body_part for body_part in rest for character in "[]→"):
        return None
    return _Target(
        int(parts[1]), number, " ".join(source + rest), " ".join(corrected + rest), tuple(marks)
    )


def _read_mark(match: re.Match[str], start: int) -> _Mark | None:
    """Read one bracket; None if not even its edit is clear."""
    inner: str = match["inner"] if match["open"] is None else match["open"]
    readings = ((re.fullmatch(pattern, inner), fault) for pattern, fault in _READINGS.items())
    # The correct form comes first; each of the others repairs one known mistake.
    fields, reason = next((reading for reading in readings if reading[0]), (None, ""))
    if fields is None:
        return None
    parts = fields.groupdict()
    verdict = parts.get("verdict", match["outside"])
    if verdict is None:
        reason = "no verdict: left out"
    elif match["open"] is not None and not reason:
        reason = "the bracket is not closed: read as ending after its verdict"
    new = parts["new"] + parts.get("rest", "")
    valid = None if verdict is None else verdict == "True"
    return _Mark(start, _tidy(parts["old"]), _tidy(new), valid, reason, match[0])
