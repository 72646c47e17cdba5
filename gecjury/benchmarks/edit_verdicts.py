"""Verdicts of annotators on single edits: SEEDA's step 1 of the edit-based evaluation.

A file holds one item: the source in `<t>` with the sentence before and after it, then each
correction with its edits in brackets, `[old→new|True]` for a valid edit and `[old→new|False]` for
an invalid one (Kobayashi et al. 2024, section 3.2).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gecjury.core.errors import InputError
from gecjury.core.textfiles import read_text
from gecjury.core.wording import single_spaced
from gecjury.corpus.edits import Edit, apply_edits

_MARK = re.compile(
    r"\[(?P<inner>[^\[\]]*)\](?:\s?\|(?P<outside>True|False))?"
    # An unclosed bracket: it ends after its verdict if the next bracket is an opening one.
    r"|\[(?P<open>[^\[\]]*\|(?:True|False))(?=[^\[\]]*(?:\[|$))"
)
_WORD = "(?P<verdict>True|False)"
_OLD, _NEW = "(?P<old>[^→|]*)", "(?P<new>[^→|]*)"
# The correct form comes first; each of the others repairs one known mistake. No text matches two.
_READINGS = (
    rf"{_OLD}→{_NEW}\|{_WORD}",
    # The verdict is outside the bracket, or missing.
    rf"{_OLD}→{_NEW}",
    # The verdict is before the arrow.
    rf"{_OLD}\|{_WORD}→{_NEW}",
    # The verdict is inside the new text.
    rf"{_OLD}→{_NEW}\|{_WORD}(?P<rest>[^→|\s]{{1,3}})",
    # Two verdicts: the last one is used.
    rf"{_OLD}→{_NEW}\|(?:True|False)\|{_WORD}",
)

_TARGET = re.compile(r"<s(\d{1,9})>(.*)</s\1>\s*")
_SOURCE = re.compile(r"<t>(.*)</t>\s*")


@dataclass(frozen=True, slots=True)
class HumanVerdict:
    """The verdict of one annotator on one edit of one correction.

    Attributes:
        sentence: source text, tokens joined by single spaces.
        correction: text of the whole correction that the edit belongs to.
        start: index of the first source token replaced (0-based).
        end: index after the last source token replaced.
        new: tokens that replace them; empty for a deletion.
        valid: True where the annotator accepted the edit.
        row: row of the source in the benchmark's corpus; -1 where the files give only its text.
    """

    annotator: str
    sentence: str
    correction: str
    start: int
    end: int
    new: str
    valid: bool
    row: int = -1

    @property
    def old(self) -> str:
        """Return the source tokens replaced; empty for an insertion."""
        return " ".join(self.sentence.split()[self.start : self.end])


@dataclass(frozen=True, slots=True)
class JudgedSource:
    """A source whose corrections were judged together, with the sentences around it.

    Attributes:
        sentence: source text, tokens joined by single spaces.
        before: the sentence before it; empty at the start of a document.
        after: the sentence after it; empty at the end of a document.
        row: as in `HumanVerdict`.
        item: annotator and number of its file; empty where a file has several sources.
    """

    sentence: str
    before: str = ""
    after: str = ""
    row: int = -1
    item: str = ""


ReadVerdicts = tuple[
    tuple[HumanVerdict, ...], tuple[JudgedSource, ...], tuple[tuple[str, str], ...]
]
"""Verdicts, their sources, and what could not be read: item and reason."""


def read_edit_verdicts(folder: Path) -> ReadVerdicts:
    """Read `annotator*/N.txt` below a folder such as SEEDA's `data/EditEval_Step1`.

    A malformed mark is read where only one reading is possible: the verdict is outside its bracket
    or before the arrow, the bracket is not closed, the verdict was typed into the middle of the
    new text (`[→wit|Trueh]`), or two verdicts follow each other (the last one counts). A mark
    without any verdict gives none and is reported. The source is read from what the corrections
    leave unchanged and what their edits replace, since some `<t>` lines have lost characters to the
    annotator's own marks.

    Args:
        folder: folder with one subfolder per annotator.

    Returns:
        The verdicts, the sources with context, and what could not be read, each in the order of
        annotator, item number, line.

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
    verdicts: list[HumanVerdict] = []
    sources: list[JudgedSource] = []
    unread: list[tuple[str, str]] = []
    for path in files:
        source, judged, reasons = _read_item(path)
        sources.append(source)
        verdicts += judged
        unread += [(source.item, reason) for reason in reasons]
    return tuple(verdicts), tuple(sources), tuple(unread)


def _spelled(marked: str, corrected: Iterable[Sequence[str]]) -> str:
    """Return the source as marked, or as the corrections spell it: their edits refer to that."""
    sentence = single_spaced(re.sub(r"\[([^\[\]]*)\]", r"\1", marked))
    spellings = Counter(map(" ".join, corrected))
    known = sentence in spellings or not spellings
    return sentence if known else spellings.most_common(1)[0][0]


def _read_item(path: Path) -> tuple[JudgedSource, list[HumanVerdict], list[str]]:
    """Read one item file; return its source, the verdicts, and reasons for what is left out."""
    lines = read_text(path).splitlines()
    at = next((i for i, line in enumerate(lines) if _SOURCE.fullmatch(line)), None)
    if at is None:
        raise InputError(f"{path}: no source: expected a line <t>...</t> with the source sentence")
    marked = lines[at][3:].rpartition("</t>")[0]
    targets = [_read_target(line) for line in lines[at + 1 :] if line.startswith("<s")]
    sentence = _spelled(marked, [words for words, _ in filter(None, targets)])
    tokens = sentence.split()
    verdicts: list[HumanVerdict] = []
    reasons: list[str] = []
    for target in targets:
        if target is None:
            reasons.append("expected <sN>text with edits as [old→new|True]</sN>: left out")
            continue
        words, marks = target
        edits = [edit for edit, _ in marks]
        # A typing error in the unchanged words must not lose verdicts whose edits fit the source.
        if len(words) != len(tokens) or any(
            words[edit.start : edit.end] != tokens[edit.start : edit.end] for edit in edits
        ):
            reasons.append("the words around its edits are not those of the source: left out")
            continue
        text = " ".join(apply_edits(tokens, edits))
        for edit, valid in marks:
            if valid is None:
                reasons.append("no verdict: left out")
                continue
            span = edit.start, edit.end, edit.correction
            verdicts.append(HumanVerdict(path.parent.name, sentence, text, *span, valid))
    # A line of markup next to the source means that the document begins or ends here.
    before, after = (
        "" if line.startswith("<") else single_spaced(line)
        for line in (["", *lines][at], [*lines, ""][at + 1])
    )
    item = f"{path.parent.name}/{path.stem}"
    return JudgedSource(sentence, before, after, item=item), verdicts, reasons


def _read_target(line: str) -> tuple[list[str], list[tuple[Edit, bool | None]]] | None:
    """Return the source tokens of a correction line, and its edits with their verdicts.

    A verdict is None where the mark has none. None is returned if the line cannot be read.
    """
    parts = _TARGET.fullmatch(line)
    if parts is None:
        return None
    body = parts[2]
    source: list[str] = []
    marks: list[tuple[Edit, bool | None]] = []
    done = 0
    # Source and correction share the words between the brackets, and differ within them.
    for match in _MARK.finditer(body):
        source += body[done : match.start()].split()
        inner: str = match["inner"] if match["open"] is None else match["open"]
        readings = (re.fullmatch(pattern, inner) for pattern in _READINGS)
        reading = next((found for found in readings if found), None)
        if reading is None:
            return None
        fields = reading.groupdict()
        verdict = fields.get("verdict", match["outside"])
        old, new = fields["old"].split(), single_spaced(fields["new"] + fields.get("rest", ""))
        valid = None if verdict is None else verdict == "True"
        marks.append((Edit(len(source), len(source) + len(old), new), valid))
        source += old
        done = match.end()
    # A sign of markup outside the brackets means that one of them was not understood.
    rest = body[done:]
    return None if any(sign in rest for sign in "[]→") else ([*source, *rest.split()], marks)
