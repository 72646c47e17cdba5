"""AQUA and PEVData: corrections in running text, judged as a whole or edit by edit.

AQUA (Shpagin): edits marked in the text, `They{ have to=> must:::FP3} deal`, each with the labels
that annotators gave it, and a label of the whole correction. In the words of the annotation: `TP` a
good edit, `FP1` hallucination or change of meaning, `FP2` incorrect grammar, `FP3` an optional
edit; of an unchanged text `TN`, and `FN` where an error was missed. The voted label takes the worse
one of a tie.

PEVData (JELV): pairs of a sentence and the same with one edit, which is valid (1) or not (0).

Neither has references or names of systems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from gecjury.benchmarks.benchmark import Benchmark, CorrectionLabels, LoadRequest
from gecjury.benchmarks.edit_verdicts import HumanVerdict, JudgedSource, VerdictProblem
from gecjury.benchmarks.marked_edits import Mark, token_edits
from gecjury.benchmarks.places import Layout, lay_out, placed_benchmark, placed_corpus
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.rows import read_table
from gecjury.textfiles import read_json

_AQUA = {"aqua-en": "AQUA/data/eval/gold_en.csv", "aqua-uk": "AQUA/data/eval/gold_ua.csv"}
_TRUE = "TP"
_FALSE = {"FP1": "meaning changed or made up", "FP2": "incorrect grammar", "FP3": "needless"}
_OTHERS = {"TN": "unchanged, nothing to correct", "FN": "an error was missed"}
_MARK = re.compile(r"\{(?P<old>[^{}]*?)=>(?P<new>[^{}]*?)(?P<labels>(?::::\w*)*)\}")

_PEV = "JELV/data/benchmark/PEVData.json"
# `[14, 16]: of the) -> [13, 14]: of`, `['M:DET'] - [13, 14]: of -> ...`, `many -> [2, 4]: so much`.
_SPAN = re.compile(r"^\s*(?:\[[^\]]*\]\s*-\s*)?(?:\[\d+, \d+\]:)?")


@dataclass(frozen=True)
class _Edit:
    """A marked edit: the voted label, and the votes by annotator; both may be missing."""

    mark: Mark
    label: str
    votes: tuple[str, ...]


@dataclass(frozen=True)
class _Row:
    """A row of AQUA and its number in the file."""

    line: int
    source: str
    correction: str
    label: str
    edits: tuple[_Edit, ...]


@dataclass(frozen=True)
class _Pair:
    """An entry of PEVData."""

    source: str
    correction: str
    named: str
    valid: bool


def load_aqua(request: LoadRequest) -> Benchmark:
    """Load AQUA in one language for `gecjury.benchmarks.load.load_benchmark`."""
    name = _AQUA[request.info.name]
    path = request.folder.paths([name], wanted_by=request.info.name)[name]
    rows = _read_aqua(path)
    layout = lay_out([row.source for row in rows])
    corpus = placed_corpus(request, layout, [row.correction for row in rows])
    verdicts: list[HumanVerdict] = []
    problems: list[VerdictProblem] = []
    for row, (place, number) in zip(rows, layout.cells, strict=True):
        source, correction = _texts(corpus, place, number)
        edits = token_edits(source, correction, [edit.mark for edit in row.edits])
        if edits is None:
            reason = "the marks do not turn the source into the correction: left out"
            problems.append(VerdictProblem(path.name, row.line, row.source, reason, read=False))
            continue
        used = set()
        for made in edits:
            used |= set(made.marks)
            marked = [row.edits[mark] for mark in made.marks]
            judged = partial(
                HumanVerdict,
                item=str(row.line),
                sentence=source,
                correction=correction,
                target=place + 1,
                start=made.edit.start,
                end=made.edit.end,
                old=" ".join(source.split()[made.edit.start : made.edit.end]),
                new=made.edit.correction,
                row=number,
            )
            # Votes on several marks are not known to be in one order of annotators.
            votes = marked[0].votes if len(marked) == 1 else ()
            if votes:
                verdicts += [
                    judged(annotator=f"vote {vote}", valid=label == _TRUE)
                    for vote, label in enumerate(votes, 1)
                ]
            elif all(edit.label for edit in marked):
                valid = all(edit.label == _TRUE for edit in marked)
                verdicts.append(judged(annotator="voted", valid=valid))
            else:
                reason = "an edit without a label: left out"
                problems.append(
                    VerdictProblem(path.name, row.line, made.edit.correction, reason, read=False)
                )
        problems += [
            VerdictProblem(
                path.name,
                row.line,
                f"{{{row.edits[mark].mark.old}=>{row.edits[mark].mark.new}}}",
                "changes blanks that part no tokens: no edit of tokens, left out",
                read=False,
            )
            for mark in range(len(row.edits))
            if mark not in used
        ]
    labels = CorrectionLabels(
        values=layout.words([row.label for row in rows]), true=_TRUE, false=_FALSE, others=_OTHERS
    )
    counts = Counter(row.label for row in rows)
    by_label = ", ".join(f"{label} {counts[label]}" for label in (_TRUE, *_FALSE, *_OTHERS))
    marks = [edit for row in rows for edit in row.edits]
    voted = Counter(edit.label or "none" for edit in marks)
    notes = (
        f"{len(rows)} corrections of {len(layout.sources)} sources by label: {by_label}",
        f"{len(marks)} marked edits by voted label: "
        + ", ".join(f"{label} {voted[label]}" for label in (_TRUE, *_FALSE, "none"))
        + "; at the edit level an edit is valid where most of its votes are TP",
    )
    return _benchmark(request, corpus, layout, verdicts, problems, notes, labels)


def _read_aqua(path: Path) -> list[_Row]:
    """Return the rows of a file."""
    return [
        _Row(
            row.line,
            row["src"],
            row["tgt"],
            row["label"],
            _marked(row["alignment_labels"], row["alignment_labels_detailed"]),
        )
        for row in read_table(path, texts=True).rows
    ]


def _marked(voted: str, detailed: str) -> tuple[_Edit, ...]:
    """Return the marked edits of a text; both cells mark the same ones."""
    edits: list[_Edit] = []
    start = done = 0
    for match, votes in zip(_MARK.finditer(voted), _MARK.finditer(detailed), strict=True):
        start += len("".join(voted[done : match.start()].split()))
        mark = Mark(start, match["old"], match["new"])
        start += len("".join(mark.old.split()))
        done = match.end()
        labels = votes["labels"].split(":::")
        cast = tuple(label for label in labels if label in (_TRUE, *_FALSE))
        edits.append(_Edit(mark, match["labels"].removeprefix(":::"), cast))
    return tuple(edits)


def load_pevdata(request: LoadRequest) -> Benchmark:
    """Load PEVData for `gecjury.benchmarks.load.load_benchmark`.

    The numbers of the `Edit` field count tokens of an unnamed tokeniser, and the field is written
    in several ways. The edit therefore is the difference between the two sentences.
    """
    path = request.folder.paths([_PEV], wanted_by="pevdata")[_PEV]
    rows = _read_pevdata(path)
    keys = dict.fromkeys((row.source, row.correction) for row in rows)
    layout = lay_out([source for source, _ in keys])
    corpus = placed_corpus(request, layout, [correction for _, correction in keys])
    cell_of = dict(zip(keys, layout.cells, strict=True))
    verdicts: dict[tuple[str, str], dict[str, bool]] = {}
    problems: list[VerdictProblem] = []
    judged: list[HumanVerdict] = []
    otherwise = 0
    for number, row in enumerate(rows, 1):
        place, line = cell_of[row.source, row.correction]
        source, correction = _texts(corpus, place, line)
        before, after = source.split(), correction.split()
        first = _alike(before, after)
        last = _alike(before[first:][::-1], after[first:][::-1])
        old, new = before[first : len(before) - last], after[first : len(after) - last]
        if not old and not new:
            reason = "the sentences differ in blanks alone: no edit of tokens, left out"
            problems.append(VerdictProblem(path.name, number, row.named, reason, read=False))
            continue
        otherwise += not _names(row.named, old, new)
        # The same pair stands in the file again, always with the same verdict.
        valid = row.valid
        seen = verdicts.setdefault((source, correction), {})
        if valid in seen.values():
            continue
        seen[str(number)] = valid
        judged.append(
            HumanVerdict(
                annotator="JELV",
                item=str(number),
                sentence=source,
                correction=correction,
                target=place + 1,
                start=first,
                end=len(before) - last,
                old=" ".join(old),
                new=" ".join(new),
                valid=valid,
                row=line,
            )
        )
    notes = (
        f"{len(rows)} pairs, {sum(row.valid for row in rows)} of them valid; "
        f"{len(rows) - len(judged) - len(problems)} repeat another with its verdict and count once",
        "an edit is what differs between the two sentences of a pair; the text that the data name "
        f"as the edit spells {otherwise} of them otherwise",
        "one verdict an edit: there is no agreement between annotators to compare with",
    )
    return _benchmark(request, corpus, layout, judged, problems, notes)


def _read_pevdata(path: Path) -> list[_Pair]:
    return [
        _Pair(row["S1-src"], row["S2-hyp"], row["Edit"], row["Human Judgment"] == 1)
        for row in read_json(path, "PEVData")
    ]


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many tokens the two share at their beginning."""
    count = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        count += 1
    return count


def _names(field: str, old: Sequence[str], new: Sequence[str]) -> bool:
    """Return True if the edit that the data name holds the difference."""
    sides = field.split(" ->", 1)
    if len(sides) != 2:
        return False
    texts = ["".join(_SPAN.sub("", side).split()) for side in sides]
    return "".join(old) in texts[0] and "".join(new) in texts[1]


# ---- both


def _texts(corpus: Corpus, place: int, row: int) -> tuple[str, str]:
    """Return source and correction, tokens joined by single blanks."""
    correction = corpus.systems[corpus.names[place]].lines[row]
    return " ".join(corpus.sources[row].split()), " ".join(correction.split())


def _benchmark(
    request: LoadRequest,
    corpus: Corpus,
    layout: Layout,
    verdicts: Sequence[HumanVerdict],
    problems: Sequence[VerdictProblem],
    notes: Sequence[str],
    labels: CorrectionLabels | None = None,
) -> Benchmark:
    texts: dict[tuple[int, str], dict[str, None]] = {}
    for verdict in verdicts:
        texts.setdefault((verdict.row, verdict.sentence), {})[verdict.correction] = None
    sources = tuple(
        JudgedSource("all", str(number), sentence, "", "", tuple(corrections), row)
        for number, ((row, sentence), corrections) in enumerate(texts.items())
    )
    read = tuple(verdicts), sources, tuple(problems)
    return replace(
        placed_benchmark(request, corpus, layout, notes),
        labels=labels,
        _verdicts=lambda: read,
    )
