"""A stand-in for gec-metrics: its calls, as far as the scripts make them, by our own metrics."""

from __future__ import annotations

import random
from itertools import combinations
from pathlib import Path
from typing import Any

import gecjury
from gecjury.stats.trueskill import Game, rate


class Metric:
    """A metric with the calls of gec-metrics; subclasses name ours."""

    name = ""

    class Config(dict):
        def __init__(self, **settings: Any) -> None:
            super().__init__(settings)

    def __init__(self, config: dict[str, Any]) -> None:
        self.scorer = gecjury.load(self.name, **self.options(config))

    def options(self, config: dict[str, Any]) -> dict[str, Any]:
        return {}

    def _table(self, sources: Any, hypotheses: Any, references: Any = ()) -> Any:
        return self.scorer.score(sources, {"x": hypotheses}, references)

    def score_sentence(self, *texts: Any) -> list[float]:
        return self._table(*texts).sentences[0].tolist()

    def score_corpus(self, *texts: Any) -> float:
        return float(self._table(*texts).totals[0])

    def rank_systems(self, sources: Any, systems: Any, references: Any) -> list[float]:
        return [self.score_corpus(sources, lines, references) for lines in systems]

    def make_pairwise_scores(self, scores: list[list[float]]) -> list[list[tuple[int, int, int]]]:
        pairs = list(combinations(range(len(scores)), 2))
        return [
            [(a, b, (column[a] > column[b]) - (column[a] < column[b])) for a, b in pairs]
            for column in zip(*scores, strict=True)
        ]

    def run_trueskill(self, outcomes: list[list[tuple[int, int, int]]]) -> list[float]:
        games = [game for sentence in outcomes for game in sentence]
        means, _ = rate(games, 1 + max(b for _, b, _ in games), Game())
        return [float(mean) for mean in means]


class GREEN(Metric):
    name = "green"


class ERRANT(Metric):
    name = "errant"


class GLEU(Metric):
    name = "gleu"

    def score_corpus(self, *texts: Any) -> float:
        score = super().score_corpus(*texts)
        for _ in range(9):  # the draws, whose spread a script records
            self.aggregate_score(random.gauss(score, 0.05))
        return score

    def aggregate_score(self, score: float) -> float:
        return score


class SOME(Metric):
    name = "some"

    def options(self, config: dict[str, Any]) -> dict[str, Any]:
        return {"model": str(Path(config["model_g"]).parent)}


class IMPARA(Metric):
    name = "impara"

    def options(self, config: dict[str, Any]) -> dict[str, Any]:
        return {"model": config["model_qe"], "encoder": config["model_se"]}


class Scribendi(Metric):
    name = "scribendi"

    def options(self, config: dict[str, Any]) -> dict[str, Any]:
        return {"model": config["model"]}


def get_metric(name: str) -> type[Metric]:
    """Return a metric by its name in gec-metrics."""
    return {kind.name: kind for kind in (GREEN, ERRANT, GLEU)}[name]
