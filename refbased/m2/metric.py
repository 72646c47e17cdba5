"""M2: edits of a hypothesis, chosen so that as many as possible match gold edits (MaxMatch)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import DETECTED_TYPES, Edit, apply_edits
from gecjury.corpus.m2 import M2Sentence
from gecjury.refbased.edit_metric import BestReference, ScoreLevel, distinct_corrections
from gecjury.refbased.m2.maxmatch import MatchCounts, match
from gecjury.refbased.m2.paths import GoldEdit
from gecjury.refbased.references import RunningRule, f_rule
from gecjury.scoring.abilities import EditCase, EditCounts
from gecjury.scoring.scorer import SentenceMean, setting
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import f_of_counts, ratio


@dataclass(frozen=True)
class M2(BestReference):
    """F0.5 over the edits that agree best with gold M2 edits (Dahlmeier and Ng 2012).

    Range 0 to 1, higher is better; case-sensitive. Precision is 1 if no edits are proposed, recall
    1 if there are no gold edits. For the corpus score, each sentence uses the annotator with the
    best running F (ties: more correct, then smaller proposed + β²·gold); for the sentence score, it
    uses the annotator who is best for that sentence. A sentence without A lines has one empty gold
    set; an annotator without lines in a sentence that others annotated is not counted there.

    Counts equal those of the official scorer 3.2. Gold edits typed `UNK` or `Um` therefore count
    here, unlike in all other metrics; only `noop` does not. In one case they differ: an output
    without words has no correct edits.

    Attributes:
        beta: weight of recall.
        unchanged: most unchanged words inside an edit.
    """

    name: ClassVar[str] = "m2"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "F0.5 over edits matched as well as possible to gold M2 edits"
    paper: ClassVar[str] = "Dahlmeier and Ng 2012"
    needs: ClassVar[frozenset[str]] = frozenset({"gold"})

    beta: float = setting(0.5, scoring=True, least=0, most=1e100)
    unchanged: int = option(2, least=0, most=30)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Count correct, proposed, gold: systems × sentences × annotators × 3; NaN if absent."""
        assert corpus.gold is not None  # see `check`
        golds = [gold_edits(block) for block in corpus.gold]
        width = max(len(gold) for gold in golds)
        # NaN stays where an annotator has no line: absent, which does not mean "no edits needed".
        values = np.full((len(corpus.systems), len(corpus), width, 3), np.nan)
        lines = [version.lines for version in corpus.systems.values()]
        rows = runtime.track(range(len(corpus)), f"{self.name}: matching", len(corpus))
        for row in rows:
            block, gold = corpus.gold[row], golds[row]
            source = block.source.split()
            counts_of: dict[str, list[MatchCounts]] = {}
            for system, texts in enumerate(lines):
                text = texts[row]
                if text not in counts_of:
                    counts = match(source, text.split(), gold, self.unchanged)
                    counts_of[text] = counts if text.split() else without_hits(counts, block)
                values[system, row, : len(gold)] = counts_of[text]
        return Statistics(values)

    @property
    def rule(self) -> RunningRule:
        """The rule that chooses the annotator with the best running F."""
        return f_rule(self._keys, self.beta, (0.0, 1.0, self.beta * self.beta), rounded=False)

    def _keys(self, sums: FloatArray, counts: FloatArray) -> Sequence[FloatArray]:
        del counts  # the official scorer compares sums alone
        correct, proposed, gold = np.moveaxis(sums, -1, 0)
        weighted = proposed + self.beta * self.beta * gold
        return (f_of_counts(correct, proposed, gold, self.beta), correct, -weighted)

    def scores_of(self, counts: FloatArray, level: ScoreLevel) -> Scores:
        """Return F, precision and recall of correct, proposed and gold edits."""
        correct, proposed, gold = np.moveaxis(counts, -1, 0)
        return Scores(
            f_of_counts(correct, proposed, gold, self.beta),
            ratio(correct, proposed, 1.0),
            ratio(correct, gold, 1.0),
        )

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return 1 for an edit that is a gold edit, alone or with others of its correction.

        An edit that MaxMatch divides into several smaller ones gets the share of them that are gold
        edits.
        """
        golds = [gold_edits(block) for block in corpus.gold or ()]
        tokens = [source.split() for source in corpus.sources]
        width = max(map(len, golds))
        corrections, place = distinct_corrections(cases)
        counts = np.full((len(corrections), width, 3), np.nan)
        for number, (row, edits) in enumerate(corrections):
            made = apply_edits(tokens[row], edits)
            counts[number, : len(golds[row])] = match(tokens[row], made, golds[row], self.unchanged)
        alone: dict[tuple[int, Edit], FloatArray] = {}
        credit = np.full((len(cases), width), np.nan)
        for number, case in enumerate(cases):
            gold = golds[case.row]
            if (case.row, case.edit) not in alone:
                made = apply_edits(tokens[case.row], [case.edit])
                matches = match(tokens[case.row], made, gold, self.unchanged)
                shares = [c.correct / c.proposed if c.proposed else 0.0 for c in matches]
                alone[case.row, case.edit] = np.array(shares)
            # An edit may match less alone than with its neighbours, to which MaxMatch joins it.
            joint = [_joins(tokens[case.row], case, annotator) for annotator in gold]
            credit[number, : len(gold)] = np.maximum(alone[case.row, case.edit], joint)
        return self.credited(credit, counts, place)


@dataclass(frozen=True)
class SentenceM2(SentenceMean, M2):
    """Mean of the M2 scores of single sentences, 0 to 1, higher is better."""

    name: ClassVar[str] = "sentm2"
    summary: ClassVar[str] = "mean of M2's sentence scores"


def without_hits(counts: Sequence[MatchCounts], block: M2Sentence) -> list[MatchCounts]:
    """Return the counts of an output without words, of which nothing is correct.

    Annotators who delete the whole sentence agree with it: their counts stay.
    """
    return [
        own._replace(correct=0) if block.text(annotator).split() else own
        for own, annotator in zip(counts, block.annotators or (0,), strict=True)
    ]


def gold_edits(block: M2Sentence, *, detected: bool = True) -> list[list[GoldEdit]]:
    """Return the gold edits of every annotator with lines in the block, or one empty set.

    Args:
        block: a sentence with the lines of its annotators.
        detected: keep edits typed `UNK` or `Um`, as the official scorer does.
    """
    golds = [
        [
            GoldEdit(
                a.start,
                a.end,
                tuple("" if c == "-NONE-" else c.strip() for c in a.correction.split("||")),
            )
            for a in block.annotations
            if a.annotator == annotator
            and not a.is_noop
            and (detected or a.type not in DETECTED_TYPES)
        ]
        for annotator in block.annotators
    ]
    return golds or [[]]


def _joins(source: Sequence[str], case: EditCase, golds: Sequence[GoldEdit]) -> float:
    """Return 1 if the edit and others of its correction together form a gold edit, else 0."""
    edit = case.edit
    for gold in golds:
        if not gold.start <= edit.start <= edit.end <= gold.end:
            continue
        inside = [e for e in case.edits if gold.start <= e.start and e.end <= gold.end]
        # An insertion at an end of the gold edit may belong to it or be a separate edit.
        for first in (inside, [e for e in inside if (e.start, e.end) != (gold.start, gold.start)]):
            for chosen in (first, [e for e in first if (e.start, e.end) != (gold.end, gold.end)]):
                moved = [
                    Edit(e.start - gold.start, e.end - gold.start, e.correction) for e in chosen
                ]
                text = " ".join(apply_edits(source[gold.start : gold.end], moved))
                if edit in chosen and text in gold.corrections:
                    return 1.0
    return 0.0
