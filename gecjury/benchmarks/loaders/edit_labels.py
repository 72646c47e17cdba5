"""AQUA and PEVData: corrections in running text, judged as a whole or edit by edit.

AQUA (Shpagin): edits marked in the text, `They{ have to=> must:::FP3} deal`, each with the labels
that annotators gave it, and a label of the whole correction. In the words of the annotation, `TP`
is a good edit, `FP1` hallucination or change of meaning, `FP2` incorrect grammar, `FP3` an optional
edit; an unchanged text is `TN`, or `FN` where an error was missed. In a tie the voted label is the
worse one.

PEVData (JELV): pairs of a sentence and a version with one edit, which is valid (1) or not (0).

Neither has references or names of systems.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from gecjury.benchmarks.benchmark import Benchmark, CorrectionLabels, LoadRequest
from gecjury.benchmarks.edit_verdicts import HumanVerdict, JudgedSource
from gecjury.benchmarks.marked_edits import EditMark, token_edits
from gecjury.benchmarks.places import PlacedCorrections, lay_out, placed_benchmark, placed_corpus
from gecjury.core.textfiles import read_json
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.corpus.files.rows import read_table

_AQUA = {"aqua-en": "AQUA/data/eval/gold_en.csv", "aqua-uk": "AQUA/data/eval/gold_ua.csv"}
AQUA_COLUMNS = ("src", "tgt", "label", "alignment_labels", "alignment_labels_detailed")
"""Columns of AQUA's files in every language."""

_TRUE = "TP"
_FALSE = {"FP1": "meaning changed or made up", "FP2": "incorrect grammar", "FP3": "needless"}
_OTHERS = {"TN": "unchanged, nothing to correct", "FN": "an error was missed"}
_MARK = re.compile(r"\{(?P<old>[^{}]*?)=>(?P<new>[^{}]*?)(?P<labels>(?::::\w*)*)\}")

_PEV = "JELV/data/benchmark/PEVData.json"


@dataclass(frozen=True)
class _LabelledEdit:
    """A marked edit: the voted label, and the votes by annotator; both may be missing."""

    mark: EditMark
    label: str
    votes: tuple[str, ...]


def load_aqua(request: LoadRequest) -> Benchmark:
    """Load AQUA in one language, or a user's file with its columns, for `load_benchmark`."""
    if (path := request.info.path) is None:
        name = _AQUA[request.info.name]
        path = request.folder.paths([name], wanted_by=request.info.name)[name]
    table = read_table(path, texts=True)
    rows = table.rows
    layout = lay_out([row["src"] for row in rows])
    corpus = placed_corpus(request, layout, [row["tgt"] for row in rows])
    verdicts: list[HumanVerdict] = []
    unread: list[tuple[str, str]] = []
    every: list[_LabelledEdit] = []
    for row, cell in zip(rows, layout.cells, strict=True):
        marked = _marked(row["alignment_labels"], row["alignment_labels_detailed"])
        every += marked
        read, reasons = _voted(corpus, cell, marked)
        verdicts += read
        unread += [(f"line {row.line}", reason) for reason in reasons]
    # The label of the whole correction is a separate judgment, in addition to those of its edits.
    values = layout.words([row["label"] for row in rows])
    labels = CorrectionLabels(values=values, true=_TRUE, false=_FALSE, others=_OTHERS)
    counts = Counter(row["label"] for row in rows)
    by_label = ", ".join(f"{label} {counts[label]}" for label in (_TRUE, *_FALSE, *_OTHERS))
    voted = Counter(edit.label or "none" for edit in every)
    notes = (
        f"{len(rows)} corrections of {len(layout.sources)} sources by label: {by_label}",
        f"{len(every)} marked edits by voted label: "
        + ", ".join(f"{label} {voted[label]}" for label in (_TRUE, *_FALSE, "none"))
        + "; at the edit level an edit is valid where most of its votes are TP",
        *table.notes,
    )
    return _benchmark(request, corpus, layout, verdicts, unread, notes, labels)


def _marked(voted: str, detailed: str) -> tuple[_LabelledEdit, ...]:
    """Return the marked edits of a text; both cells mark the same ones."""
    edits: list[_LabelledEdit] = []
    start = done = 0
    for match, votes in zip(_MARK.finditer(voted), _MARK.finditer(detailed), strict=True):
        start += len("".join(voted[done : match.start()].split()))
        mark = EditMark(start, match["old"], match["new"])
        start += len("".join(mark.old.split()))
        done = match.end()
        labels = votes["labels"].split(":::")
        cast = tuple(label for label in labels if label in (_TRUE, *_FALSE))
        edits.append(_LabelledEdit(mark, match["labels"].removeprefix(":::"), cast))
    return tuple(edits)


def _voted(
    corpus: Corpus, cell: tuple[int, int], marked: Sequence[_LabelledEdit]
) -> tuple[list[HumanVerdict], list[str]]:
    """Return the verdicts on a correction's edits, and why others are left out."""
    made = token_edits(*_texts(corpus, cell), [edit.mark for edit in marked])
    if made is None:
        return [], ["the marks do not turn the source into the correction: left out"]
    verdicts: list[HumanVerdict] = []
    reasons: list[str] = []
    for token_edit, numbers in made:
        judged = partial(_verdict, corpus, cell, token_edit)
        parts = [marked[number] for number in numbers]
        # The votes on several marks may list the annotators in different orders.
        if len(parts) == 1 and parts[0].votes:
            verdicts += [
                judged(f"vote {vote}", label == _TRUE)
                for vote, label in enumerate(parts[0].votes, 1)
            ]
        elif all(part.label for part in parts):
            verdicts.append(judged("voted", all(part.label == _TRUE for part in parts)))
        else:
            reasons.append("an edit without a label: left out")
    # A mark between tokens, such as a second space, changes no token.
    used = sum(len(numbers) for _, numbers in made)
    reason = "changes only spaces between tokens: not an edit of tokens, left out"
    return verdicts, [*reasons, *[reason] * (len(marked) - used)]


def load_pevdata(request: LoadRequest) -> Benchmark:
    """Load PEVData for `gecjury.benchmarks.load.load_benchmark`.

    The numbers of the `Edit` field count tokens of an unnamed tokeniser, and the field is written
    in several ways. The difference between the two sentences is therefore used as the edit.
    """
    path = request.folder.paths([_PEV], wanted_by="pevdata")[_PEV]
    rows = read_json(path, "PEVData")
    keys = dict.fromkeys((row["S1-src"], row["S2-hyp"]) for row in rows)
    layout = lay_out([source for source, _ in keys])
    corpus = placed_corpus(request, layout, [correction for _, correction in keys])
    cell_of = dict(zip(keys, layout.cells, strict=True))
    verdicts: dict[tuple[str, str, bool], HumanVerdict] = {}
    unread: list[tuple[str, str]] = []
    for number, row in enumerate(rows, 1):
        cell = cell_of[row["S1-src"], row["S2-hyp"]]
        source, correction = _texts(corpus, cell)
        edit = _difference(source.split(), correction.split())
        if edit is None:
            reason = "the sentences differ only in spaces: not an edit of tokens, left out"
            unread.append((f"pair {number}", reason))
            continue
        # Some pairs are in the file several times, always with the same verdict.
        valid = row["Human Judgment"] == 1
        if (source, correction, valid) not in verdicts:
            made = _verdict(corpus, cell, edit, "JELV", valid)
            verdicts[source, correction, valid] = made
    valid_pairs = sum(row["Human Judgment"] == 1 for row in rows)
    repeated = len(rows) - len(verdicts) - len(unread)
    notes = (
        f"{len(rows)} pairs, {valid_pairs} of them valid; {repeated} repeat another with its "
        "verdict and count once",
        "an edit is the difference between the two sentences of a pair",
        "one verdict per edit: there is no agreement between annotators to compare with",
    )
    return _benchmark(request, corpus, layout, list(verdicts.values()), unread, notes)


def _difference(before: Sequence[str], after: Sequence[str]) -> Edit | None:
    """Return what lies between the tokens that two sentences share at either end, if anything."""
    start = _alike(before, after)
    end = len(before) - _alike(before[start:][::-1], after[start:][::-1])
    new = after[start : end + len(after) - len(before)]
    return Edit(start, end, " ".join(new)) if new or start < end else None


def _alike(one: Sequence[str], other: Sequence[str]) -> int:
    """Return how many tokens the two share at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


# ---- both


def _texts(corpus: Corpus, cell: tuple[int, int]) -> tuple[str, str]:
    """Return source and correction at a place, tokens joined by single spaces."""
    place, row = cell
    correction = corpus.systems[corpus.names[place]].lines[row]
    return " ".join(corpus.sources[row].split()), " ".join(correction.split())


def _verdict(
    corpus: Corpus, cell: tuple[int, int], edit: Edit, annotator: str, valid: bool
) -> HumanVerdict:
    source, correction = _texts(corpus, cell)
    return HumanVerdict(
        annotator=annotator,
        sentence=source,
        correction=correction,
        start=edit.start,
        end=edit.end,
        new=edit.correction,
        valid=valid,
        row=cell[1],
    )


def _benchmark(
    request: LoadRequest,
    corpus: Corpus,
    layout: PlacedCorrections,
    verdicts: Sequence[HumanVerdict],
    unread: Sequence[tuple[str, str]],
    notes: Sequence[str],
    labels: CorrectionLabels | None = None,
) -> Benchmark:
    judged = dict.fromkeys((verdict.row, verdict.sentence) for verdict in verdicts)
    sources = tuple(JudgedSource(sentence, row=row) for row, sentence in judged)
    read = tuple(verdicts), sources, tuple(unread)
    return placed_benchmark(request, corpus, layout, notes, labels=labels, _verdicts=lambda: read)
