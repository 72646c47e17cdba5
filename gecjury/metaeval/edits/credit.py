"""Credit of judged edits: from a metric's own counts if it has some, else by leaving the edit out.

A metric that counts edits has a method `credit`. For any other metric of sentences the credit of an
edit is the score of its correction minus the score of the correction without the edit. Metrics that
score hypotheses side by side are shown a correction together with its variants.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.scoring.abilities import CreditsEdits, EditCase, EditJudge, plan_of
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import GroupScorer, Scorer
from gecjury.scoring.scores import Plan

# Number of variants shown together to a scorer that defines no group size.
_TOGETHER = 5
_WHOLE = -1
"""The variant of a correction without any edit left out; the others have the place of the edit."""

_VariantCell = tuple[int, int]
"""System and row of a variant, or system and group."""


@dataclass(frozen=True)
class Credited:
    """Credits of judged edits.

    Attributes:
        values: shape (N,), higher for better edits, NaN where there is none.
        notes: remarks for the user.
        seconds: time taken.
    """

    values: FloatArray
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


def credit_kind(scorer: Scorer) -> str:
    """Return how a scorer's credits are computed: `verdicts`, `counts` or `leave-one-out`.

    Raises:
        OptionError: the scorer weighs systems against each other, and has no counts.
    """
    if isinstance(scorer, EditJudge):
        return "verdicts"
    if isinstance(scorer, CreditsEdits):
        return "counts"
    if "rivals" in scorer.needs:
        raise OptionError(
            f"{scorer.name} weighs systems against each other, and variants of one correction are "
            "not systems; leave it out, or use `level=system` or sentence"
        )
    return "leave-one-out"


def credit_edits(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    runtime: Runtime,
    folder: str | Path | None = None,
) -> Credited:
    """Credit every judged edit.

    Args:
        scorer: any metric.
        cases: N judged edits.
        corpus: the benchmark's corpus, with references, gold edits and contexts.
        runtime: device, workers and the like.
        folder: folder of the score files of corrections without an edit; None for no files.

    Raises:
        InputError: the corpus lacks what the metric needs, or a score file is damaged.
        OptionError: the scorer cannot credit edits.
        OutputError: a score file cannot be written.
    """
    credit_kind(scorer)
    start = time.perf_counter()
    if isinstance(scorer, EditJudge):
        values, report = scorer.edit_scores(cases, runtime)
        notes = report.notes
    elif isinstance(scorer, CreditsEdits):
        scorer.check(corpus)
        # For a source outside the corpus there are no references that could give credit.
        in_corpus = [number for number, case in enumerate(cases) if case.row >= 0]
        credited = scorer.credit([cases[number] for number in in_corpus], corpus, runtime)
        if np.shape(credited.own) != (len(in_corpus),):
            raise OptionError(
                f"{scorer.name} credits {len(in_corpus)} edits in the shape "
                f"{np.shape(credited.own)}; expected one number per edit"
            )
        values, notes = np.full(len(cases), np.nan), credited.notes
        values[in_corpus] = credited.own
    else:
        values, notes = leave_one_out(scorer, cases, corpus, runtime, folder)
    return Credited(values, notes, time.perf_counter() - start)


def plan_credit(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime
) -> Plan | None:
    """Return the requests that `credit_edits` would send to a paid service; None if none."""
    if isinstance(scorer, EditJudge):
        return scorer.plan_edits(cases, runtime)
    if isinstance(scorer, CreditsEdits):
        return None
    return plan_of(scorer, variant_corpus(scorer, cases, corpus)[0], runtime)


# ---- leaving one edit out


@dataclass(frozen=True)
class CreditedCorrection:
    """A correction whose edits were judged, and the places of its variants.

    Attributes:
        row: row of its source.
        edits: its edits from left to right.
        places: for each judged edit the case, and the edit's place among `edits`.
        cells: the cell of each variant, by the place of the edit left out; of the whole correction,
            if it is in several groups, the last.
        anchors: for each variant, the cell of the whole correction in its group; empty if every
            variant has only one score.
    """

    row: int
    edits: tuple[Edit, ...]
    places: tuple[tuple[int, int], ...]
    cells: dict[int, _VariantCell] = field(default_factory=dict)
    anchors: dict[int, _VariantCell] = field(default_factory=dict)

    @property
    def without(self) -> list[int]:
        """The edits to leave out, the last first."""
        return [*range(len(self.edits))][::-1]

    def variant(self, tokens: Sequence[str], left_out: int) -> tuple[str, tuple[Edit, ...]]:
        """Return the text with all edits but one applied, and these edits."""
        made = tuple(edit for place, edit in enumerate(self.edits) if place != left_out)
        return " ".join(apply_edits(tokens, made)), made


def leave_one_out(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    runtime: Runtime,
    folder: str | Path | None = None,
) -> tuple[FloatArray, tuple[str, ...]]:
    """Credit every case with the score that its correction loses without the edit.

    Returns:
        Credits, shape (cases,), higher for better edits and NaN where a score is missing, and notes
        for the user.
    """
    variants, corrections = variant_corpus(scorer, cases, corpus)
    table = score_with_files(scorer, variants, folder, runtime)
    items = table.statistics.items
    grid = table.sentences if items is None or not scorer.joint else items
    values = np.full(len(cases), np.nan)
    for correction in corrections:
        scores = {place: float(grid[cell]) for place, cell in correction.cells.items()}
        # Scores of different groups are not comparable, but differences within a group are.
        for place, anchor in correction.anchors.items():
            scores[place] -= float(grid[anchor])
        for case, place in correction.places:
            values[case] = scores[_WHOLE] - scores[place]
    return values, table.statistics.notes


def variant_corpus(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus
) -> tuple[Corpus, tuple[CreditedCorrection, ...]]:
    """Return the corpus of variants to score, and the corrections that they are variants of.

    Every distinct variant of a source is scored once, however many corrections share it.

    Args:
        scorer: the metric.
        cases: judged edits; those of sources outside the corpus are left out.
        corpus: the benchmark's corpus, with references, gold edits and contexts.

    Raises:
        OptionError: no case is in the corpus.
    """
    places_of: dict[tuple[int, tuple[Edit, ...]], list[tuple[int, int]]] = {}
    for number, case in enumerate(cases):
        if case.row >= 0:
            ordered = tuple(sorted(case.edits, key=lambda edit: (edit.start, edit.end)))
            place = (number, ordered.index(case.edit))
            places_of.setdefault((case.row, ordered), []).append(place)
    if not places_of:
        raise OptionError("none of the judged edits belongs to a source of the benchmark loaded")
    # Corrections of one source are next to each other.
    corrections = tuple(
        CreditedCorrection(row, edits, tuple(places))
        for (row, edits), places in sorted(places_of.items(), key=lambda item: item[0][0])
    )
    if scorer.joint:
        size = scorer.group_size if isinstance(scorer, GroupScorer) else _TOGETHER
        return _side_by_side(corpus, corrections, size), corrections
    return _one_by_one(corpus, corrections), corrections


def _one_by_one(corpus: Corpus, corrections: tuple[CreditedCorrection, ...]) -> Corpus:
    """Return a corpus of one system, with a row for each distinct variant; set their cells."""
    tokens = [source.split() for source in corpus.sources]
    rows: dict[tuple[int, str], int] = {}
    edits: list[tuple[Edit, ...]] = []
    for correction in corrections:
        for place in (*correction.without, _WHOLE):
            text, made = correction.variant(tokens[correction.row], place)
            # Different edits may give the same text, which is scored once.
            row = rows.setdefault((correction.row, text), len(rows))
            if row == len(edits):
                edits.append(made)
            correction.cells[place] = (0, row)
    version = Version(tuple(text for _, text in rows), tuple(edits))
    return corpus.take([row for row, _ in rows], {"variant": version})


def _side_by_side(corpus: Corpus, corrections: tuple[CreditedCorrection, ...], size: int) -> Corpus:
    """Return a corpus with a row for each group: a correction and up to size − 1 variants of it."""
    tokens = [source.split() for source in corpus.sources]
    rows: list[int] = []
    lines: list[list[tuple[str, tuple[Edit, ...]]]] = []
    for correction in corrections:
        for start in range(0, len(correction.edits), size - 1):
            together = [_WHOLE, *correction.without[start : start + size - 1]]
            for system, place in enumerate(together):
                correction.cells[place] = (system, len(rows))
                correction.anchors[place] = (0, len(rows))
            rows.append(correction.row)
            # Groups that are not full repeat the correction, whose copies then share its rank.
            made = [correction.variant(tokens[correction.row], place) for place in together]
            lines.append(made + made[:1] * (size - len(made)))
    systems = {}
    for system, column in enumerate(zip(*lines, strict=True), 1):
        texts, edits = zip(*column, strict=True)
        systems[f"variant {system}"] = Version(texts, edits)
    groups = []
    for number, line in enumerate(lines):
        shared: dict[str, list[str]] = {}
        for name, (text, _) in zip(systems, line, strict=True):
            shared.setdefault(text, []).append(name)
        groups.append(Group(f"variants {number + 1}", number, tuple(map(tuple, shared.values()))))
    return replace(corpus.take(rows, systems), groups=tuple(groups))
