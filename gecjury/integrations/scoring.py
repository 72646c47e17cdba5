"""Scores of another tool's rows: of sentences by themselves, and of all of them as a corpus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gecjury.corpus.corpus import corpus_of_texts
from gecjury.errors import InputError, OptionError
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable


@dataclass(frozen=True)
class RowScorer:
    """A metric for rows of source, correction and references.

    Attributes:
        scorer: the metric.
        runtime: device, caches and the like.
    """

    scorer: Scorer
    runtime: Runtime = field(default_factory=Runtime, repr=False)

    @classmethod
    def of(cls, metric: str, device: str = "auto") -> RowScorer:
        """Return the scorer of a metric by name with its options, `errant:beta=1`.

        Raises:
            OptionError: no such metric or option, or a metric that rows cannot serve.
        """
        scorer = load(metric)
        why = ""
        if "rivals" in scorer.needs:
            why = "it weighs systems against each other, and rows are of one"
        elif "gold" in scorer.needs or scorer.fixed:
            why = scorer.needs_all(1)
        if why:
            raise OptionError(f"{scorer.name}: {why}; take a metric of sentences")
        return cls(scorer, Runtime(device=device))

    def score(
        self, sources: Sequence[str], texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> ScoreTable:
        """Score all rows as one corpus of one system.

        Args:
            sources: N sentences.
            texts: N corrections.
            references: references, equally many for each row; none where the metric needs none.

        Raises:
            InputError: lengths differ, references are missing or of unequal number.
        """
        if "references" not in self.scorer.needs:
            references = [()] * len(texts)
        if not len(sources) == len(texts) == len(references):
            raise InputError(
                f"{len(sources)} sources, {len(texts)} corrections and {len(references)} rows of "
                "references: expected as many of each"
            )
        # Scorers read references as whole versions of the corpus, so rows need equally many.
        counts = {len(row) for row in references}
        if len(counts) > 1:
            raise InputError(
                f"rows have from {min(counts)} to {max(counts)} references: expected equally many; "
                "repeat one where there are fewer"
            )
        versions = list(zip(*references, strict=True))
        corpus = corpus_of_texts(list(sources), {"corrections": list(texts)}, versions)
        return self.scorer.score_corpus(corpus, self.runtime)

    def one(self, source: str, text: str, references: Sequence[str]) -> float | None:
        """Return the score of one row by itself; None where there is none."""
        value = float(self.score([source], [text], [references]).sentences[0, 0])
        return None if math.isnan(value) else value
