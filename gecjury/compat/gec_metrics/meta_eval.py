"""The meta-evaluations of gec-metrics, SEEDA and GJG15, computed by this package.

As in gec-metrics, a pair that a metric ties counts as won by the second system, and correlations
are over corpus scores unless TrueSkill is requested. `gecjury compare` and `gecjury.compare` report
more.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, make_dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgmentPairs, judged_entries
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.table import View
from gecjury.compat.gec_metrics.base import MetricBase, inputs_handler
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import known_name
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.grouped import window_correlations


@dataclass
class Corr:
    """Agreement with people; values that were not requested are None."""

    pearson: float | None = None
    spearman: float | None = None
    accuracy: float | None = None
    kendall: float | None = None
    human_scores: list[float] | None = None
    metric_scores: list[float] | None = None


Windows = dict[tuple[int, int], Corr]
"""Correlations by the first and last human rank of a window, from 0."""

_Corr = Corr  # for use inside a class that has an attribute `Corr`


class MetaEvalBase(ABC):
    """A benchmark with the interface of gec-metrics."""

    Corr = _Corr
    MODELS: ClassVar[tuple[str, ...]] = ()
    SCORE_ID: ClassVar[Mapping[str, tuple[str, View]]] = {}
    VIEWS: ClassVar[Mapping[str, View]] = {}
    # Types of the results of the three analyses, with one argument per column of human scores or
    # per view.
    OUTPUTS: ClassVar[tuple[Callable[..., Any], Callable[..., Any], Callable[..., Any]]]

    @dataclass
    class Config:
        """`data`: folder with the benchmark's files; with None they are found as by `compare`."""

        data: str | Path | None = None

    @dataclass
    class Output:
        """The types of results."""

    def __init__(self, config: Any = None) -> None:
        self.config: Any = self.Config() if config is None else config
        self.benchmark = self._load()
        corpus = self.benchmark.corpus
        # In the order of gec-metrics, since callers use its indices.
        models = [name for name in self.MODELS if name in corpus.systems]
        texts = {
            "sources": list(corpus.sources),
            "hypotheses": [list(corpus.systems[name].lines) for name in models],
            "references": [list(version.lines) for version in corpus.references],
            "models": models,
        }
        place = [corpus.names.index(name) for name in models]
        human = {
            name: [float(s) for s in self.benchmark.human_scores(kind, view)[place]]
            for name, (kind, view) in self.SCORE_ID.items()
        }
        self.system_data: dict[str, Any] = {**texts, "human_score": human}
        self.sentence_data: dict[str, Any] = texts

    @abstractmethod
    def _load(self) -> Benchmark:
        """Return the benchmark of the settings."""

    def corr_system(self, metric: MetricBase, aggregation: str = "default") -> Any:
        """Return Pearson's r and Spearman's ρ over systems, for each column of human scores."""
        return self.OUTPUTS[0](*self._over_systems(metric, aggregation).values())

    def corr_sentence(self, metric: MetricBase) -> Any:
        """Return accuracy and Kendall's τ over judged pairs, for each view."""
        judged = self._judged(metric).values()
        return self.OUTPUTS[1](*(self._agreement(pairs, verdicts) for pairs, verdicts in judged))

    def window_analysis_system(
        self, metric: MetricBase, window: int = 4, aggregation: str = "default"
    ) -> Any:
        """Return correlations over every run of `window` systems adjacent in human ranking."""
        columns = self._over_systems(metric, aggregation).values()
        return self.OUTPUTS[2](*(self._windows(corr, window) for corr in columns))

    def pairwise_analysis(
        self, metric: MetricBase
    ) -> dict[str, list[tuple[tuple[int, int], float]]]:
        """Return by view the accuracy for pairs of ranks (as −rank, lower first), least first."""
        by_view = {}
        for name, (pairs, judged) in self._judged(metric).items():
            # `_judged` has made a metric's ties wins of the second system.
            right = judged == pairs.preference
            ranks = -np.sort(-np.stack([pairs.first_rank, pairs.second_rank], axis=1), axis=1)
            rows = []
            for pair in np.unique(ranks, axis=0):
                chosen = (ranks == pair).all(axis=1)
                rows.append(((-int(pair[0]), -int(pair[1])), float(right[chosen].mean())))
            by_view[name] = sorted(rows, key=lambda row: row[1])
        return by_view

    def window_analysis_plot(self, results: Windows) -> Any:
        """Return a matplotlib figure of one column of `window_analysis_system`."""
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.subplots()
        keys = sorted(results)
        starts = [key[0] + 1 for key in keys]
        for label in ("pearson", "spearman"):
            axes.plot(starts, [getattr(results[key], label) for key in keys], label=label.title())
        axes.set_xticks(starts)
        axes.grid(alpha=0.5)
        axes.legend()
        return figure

    def _over_systems(self, metric: MetricBase, aggregation: str) -> dict[str, _Corr]:
        data = self.system_data
        scores = metric.rank_systems(
            **inputs_handler(metric, data["sources"], data["hypotheses"], data["references"]),
            aggregation=aggregation,
        )
        return {
            name: _Corr(
                pearson(np.array(scores), np.array(human)),
                spearman(np.array(scores), np.array(human)),
                human_scores=human,
                metric_scores=scores,
            )
            for name, human in data["human_score"].items()
        }

    def _judged(self, metric: MetricBase) -> dict[str, tuple[JudgmentPairs, FloatArray]]:
        """Return the pairs that people decided by view, with the metric's preference on each."""
        data = self.sentence_data
        verdicts = metric.score_pairwise(
            **inputs_handler(metric, data["sources"], data["hypotheses"], data["references"])
        )
        table = np.array(verdicts, dtype=np.float64)  # None: not compared
        # A tie counts as won by the second system: gec-metrics checks if the first is greater.
        table[table == 0] = -1.0
        by_view = {}
        for name, view in self.VIEWS.items():
            pairs = judged_entries(self.benchmark.rankings[view], data["models"]).whole().decided
            by_view[name] = pairs, table[pairs.sentence, pairs.first, pairs.second]
        return by_view

    def _agreement(self, pairs: JudgmentPairs, judged: FloatArray) -> _Corr:
        right = int(np.count_nonzero(judged == pairs.preference))
        return _Corr(accuracy=right / len(pairs), kendall=(2 * right - len(pairs)) / len(pairs))

    def _windows(self, corr: _Corr, size: int) -> Windows:
        runs = window_correlations(np.array(corr.human_scores), np.array(corr.metric_scores), size)
        return {(start, start + size - 1): _Corr(r, rho) for start, (_, r, rho) in enumerate(runs)}


def _output(name: str, doc: str, *columns: str) -> type[Any]:
    """Return a type of results with an optional field per column of human scores or per view."""
    fields = [(column, Any, None) for column in columns]
    return make_dataclass(name, fields, bases=(MetaEvalBase.Output,), namespace={"__doc__": doc})


class MetaEvalSEEDA(MetaEvalBase):
    """SEEDA, with the official references as gec-metrics distributes them."""

    MODELS: ClassVar[tuple[str, ...]] = (
        *("BART", "BERT-fuse", "GECToR-BERT", "GECToR-ens", "GPT-3.5", "INPUT", "LM-Critic"),
        *("PIE", "REF-F", "REF-M", "Riken-Tohoku", "T5", "TemplateGEC", "TransGEC", "UEDIN-MS"),
    )
    SCORE_ID: ClassVar[Mapping[str, tuple[str, View]]] = {
        "EW_edit": ("expected-wins", "edit"),
        "EW_sent": ("expected-wins", "sentence"),
        "TS_edit": ("trueskill", "edit"),
        "TS_sent": ("trueskill", "sentence"),
    }
    VIEWS: ClassVar[Mapping[str, View]] = {"edit": "edit", "sent": "sentence"}
    _SYSTEMS: ClassVar[Mapping[str, str]] = {
        "base": "base",
        "+INPUT": "input",
        "+REF-F_GPT-3.5": "fluency",
        "+fluency": "fluency",
        "all": "all",
    }

    @dataclass
    class Config:
        """`system`: base, +INPUT, +REF-F_GPT-3.5 (or +fluency), all. `data`: see `MetaEvalBase`."""

        system: str = "base"
        data: str | Path | None = None

    SEEDASystemCorrOutput = _output(
        "SEEDASystemCorrOutput",
        "A correlation for each column of human scores.",
        *map(str.lower, SCORE_ID),
    )
    SEEDAWindowAnalysisSystemCorrOutput = _output(
        "SEEDAWindowAnalysisSystemCorrOutput",
        "Windows for each column of human scores.",
        *map(str.lower, SCORE_ID),
    )
    SEEDASentenceCorrOutput = _output(
        "SEEDASentenceCorrOutput", "Agreement over pairs for each view.", "sent", "edit"
    )
    OUTPUTS = (
        SEEDASystemCorrOutput,
        lambda edit, sent: MetaEvalSEEDA.SEEDASentenceCorrOutput(sent=sent, edit=edit),
        SEEDAWindowAnalysisSystemCorrOutput,
    )

    def _load(self) -> Benchmark:
        known_name("system", self.config.system, tuple(self._SYSTEMS))
        return load_benchmark(
            "seeda",
            systems=self._SYSTEMS[self.config.system],
            references="official-as-published",
            data=self.config.data,
        )


class MetaEvalGJG(MetaEvalBase):
    """GJG15, with the official references as gec-metrics distributes them."""

    MODELS: ClassVar[tuple[str, ...]] = (
        *("AMU", "RAC", "CAMB", "CUUI", "POST", "UFC", "PKU", "UMC", "IITB", "SJTU", "INPUT"),
        *("NTHU", "IPN"),
    )
    SCORE_ID: ClassVar[Mapping[str, tuple[str, View]]] = {
        "ew": ("expected-wins", "sentence"),
        "ts": ("trueskill", "sentence"),
    }
    VIEWS: ClassVar[Mapping[str, View]] = {"sent": "sentence"}

    GJGSystemCorrOutput = _output(
        "GJGSystemCorrOutput", "A correlation for each column of human scores.", *SCORE_ID
    )
    GJGWindowAnalysisSystemCorrOutput = _output(
        "GJGWindowAnalysisSystemCorrOutput", "Windows for each column of human scores.", *SCORE_ID
    )
    GJGSentenceCorrOutput = _output("GJGSentenceCorrOutput", "Agreement over pairs.", "corr")
    OUTPUTS = (GJGSystemCorrOutput, GJGSentenceCorrOutput, GJGWindowAnalysisSystemCorrOutput)

    def _load(self) -> Benchmark:
        return load_benchmark(
            "gjg15", systems="all", references="official-as-published", data=self.config.data
        )


_CLASSES: Sequence[type[MetaEvalBase]] = (MetaEvalGJG, MetaEvalSEEDA)

META_EVALUATIONS: Mapping[str, type[MetaEvalBase]] = {
    kind.__name__.removeprefix("MetaEval").lower(): kind for kind in _CLASSES
}
"""Meta-evaluations by their names in gec-metrics."""
