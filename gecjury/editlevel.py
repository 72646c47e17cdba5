"""Edit-level meta-evaluation: verdicts of a scorer on single edits against annotators'.

A scorer that can credit single edits has a method `edit_scores` (`EditScorer`); the annotators'
verdicts come with the benchmark (`gecjury.verdicts`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

import numpy as np

from gecjury.benchmarks import Benchmark
from gecjury.corpus import Corpus
from gecjury.edits import Edit
from gecjury.runtime import Runtime
from gecjury.scorer import Plan
from gecjury.scoretable import FloatArray, Statistics
from gecjury.signature import Signature

__all__ = ["EditAgreement", "EditCase", "EditScorer", "edit_agreement", "edit_cases"]


@dataclass(frozen=True)
class EditCase:
    """One edit that annotators judged.

    Attributes:
        row: the source's row in the benchmark's corpus; -1 where it is not in it.
        source: the source, tokens joined by single blanks.
        context: the sentences before and after it.
        edit: the edit.
        edits: all edits of the correction it belongs to, itself included.
        valid: the verdict, as the share of annotators who accepted the edit.
    """

    row: int
    source: str
    context: tuple[str, str]
    edit: Edit
    edits: tuple[Edit, ...]
    valid: float


@runtime_checkable
class EditScorer(Protocol):
    """A scorer that can credit single edits."""

    family: ClassVar[str]

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """As every scorer has it."""

    def plan_edits(self, cases: Sequence[EditCase], runtime: Runtime) -> Plan | None:
        """What `edit_scores` would send to a paid service; None if nothing."""

    def edit_scores(
        self, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        """A score for each case, higher for valid edits and NaN where there is none.

        The statistics' details and notes are taken over, its values are not.
        """


@dataclass(frozen=True)
class EditAgreement:
    """How far scores tell valid from invalid edits.

    Attributes:
        auc: probability that a valid edit scores above an invalid one, ties one half.
        accuracy: share of edits on the right side of 0.5.
        balanced: mean of the accuracies over valid and over invalid edits.
        kappa: Cohen's κ at 0.5.
        cases: edits compared.
        valid: how many of them the annotators accepted.
        missing: edits without a score, left out.
        split: edits on which annotators are evenly split, left out.
    """

    auc: float
    accuracy: float
    balanced: float
    kappa: float
    cases: int
    valid: int
    missing: int
    split: int


def edit_cases(benchmark: Benchmark) -> list[EditCase]:
    """The distinct edits that a benchmark's annotators judged.

    An edit of the same correction that several annotators judged is one case.

    Raises:
        DataError: the benchmark has no verdicts on edits.
    """
    verdicts, sources, _ = benchmark.verdicts()
    rows = {" ".join(s.split()): row for row, s in enumerate(benchmark.corpus.sources)}
    contexts = {source.sentence: (source.before, source.after) for source in sources}
    judged: dict[tuple[str, str], dict[Edit, list[bool]]] = {}
    for verdict in verdicts:
        edit = Edit(verdict.start, verdict.end, verdict.new)
        place = judged.setdefault((verdict.sentence, verdict.correction), {})
        place.setdefault(edit, []).append(verdict.valid)
    return [
        EditCase(
            rows.get(source, -1),
            source,
            contexts[source],
            edit,
            tuple(sorted(edits)),
            sum(votes) / len(votes),
        )
        for (source, _), edits in judged.items()
        for edit, votes in edits.items()
    ]


def edit_agreement(cases: Sequence[EditCase], scores: FloatArray) -> EditAgreement:
    """Hold scores against verdicts.

    Args:
        cases: N judged edits.
        scores: shape (N,), NaN where there is none.
    """
    from scipy.stats import rankdata

    votes = np.array([case.valid for case in cases])
    split = votes == 0.5
    missing = np.isnan(scores) & ~split
    kept = ~split & ~missing
    truth, score = votes[kept] > 0.5, scores[kept]
    positive, negative = int(truth.sum()), int((~truth).sum())
    nan = float("nan")
    auc = nan
    if positive and negative:
        ranks = rankdata(score)
        auc = (ranks[truth].sum() - positive * (positive + 1) / 2) / (positive * negative)
    # A score of exactly 0.5 says nothing: half right.
    right = np.where(score == 0.5, 0.5, (score > 0.5) == truth)
    accuracy = float(right.mean()) if len(right) else nan
    balanced = (
        float(right[truth].mean() + right[~truth].mean()) / 2 if positive and negative else nan
    )
    said = np.where(score == 0.5, 0.5, score > 0.5).mean() if len(score) else nan
    share = truth.mean() if len(truth) else nan
    chance = float(said * share + (1 - said) * (1 - share))
    kappa = (accuracy - chance) / (1 - chance) if chance < 1 else nan
    return EditAgreement(
        float(auc), accuracy, balanced, kappa, len(score), positive,
        int(missing.sum()), int(split.sum()),
    )  # fmt: skip
