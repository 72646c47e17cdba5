"""Score another tool's rows, either individually or all together as a corpus."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import corpus_of_texts
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
        """Return the scorer of a metric by its name with options, such as `errant:beta=1`.

        Raises:
            OptionError: there is no such metric or option, or the metric cannot score rows.
        """
        scorer = load(metric)
        why = ""
        if "rivals" in scorer.needs:
            why = "it weighs systems against each other, and rows are of one system"
        elif "gold" in scorer.needs or scorer.fixed:
            why = scorer.needs_all(1)
        if why:
            raise OptionError(f"{scorer.name}: {why}; use a metric that scores sentences")
        return cls(scorer, Runtime(device=device))

    def score(
        self, sources: Sequence[str], texts: Sequence[str], references: Sequence[Sequence[str]]
    ) -> ScoreTable:
        """Score all rows as one corpus of one system.

        Args:
            sources: N sentences.
            texts: N corrections.
            references: references, equally many for each row; ignored if the metric needs none.

        Raises:
            InputError: lengths differ, references are missing, or rows differ in their number.
        """
        if "references" not in self.scorer.needs:
            references = [()] * len(texts)
        if not len(sources) == len(texts) == len(references):
            raise InputError(
                f"{len(sources)} sources, {len(texts)} corrections and {len(references)} rows of "
                "references: expected the same number of each"
            )
        # Scorers read references as whole versions of the corpus, so rows need equally many.
        counts = {len(row) for row in references}
        if len(counts) > 1:
            raise InputError(
                f"rows have from {min(counts)} to {max(counts)} references: expected the same "
                "number for each row; repeat a reference in rows with fewer"
            )
        versions = list(zip(*references, strict=True))
        corpus = corpus_of_texts(list(sources), {"corrections": list(texts)}, versions)
        return self.scorer.score_corpus(corpus, self.runtime)

    def one(self, source: str, text: str, references: Sequence[str]) -> float | None:
        """Return the score of a single row; None if it has none."""
        value = float(self.score([source], [text], [references]).sentences[0, 0])
        return None if math.isnan(value) else value
