"""Analyses of edit vectors and of UOT-ERRANT's settings (`gecjury analyse`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol, runtime_checkable

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, MissingExtraError, OptionError, install_hint
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.models.encoder import Pooling
from gecjury.report.figures import bars, lines, points
from gecjury.report.result import Column, Result, Table
from gecjury.stats.correlation import pearson, spearman
from gecjury.stats.ranking import aggregate_scores
from gecjury.studies.analyses import Analysis, JudgedAnalysis
from gecjury.studies.study import Work

Layout = Literal["pca", "tsne"]
"""A method of laying out vectors in the plane."""

PlacedEdit = tuple[str, int, Edit]
"""A system, the index of a sentence, and an edit that the system made in it."""

_POOLINGS: tuple[Pooling, ...] = ("mean", "cls")
_COLUMNS = (Column("pearson", "r"), Column("spearman", "ρ"))


@runtime_checkable
class VectorMetric(Protocol):
    """A metric over edit vectors: `uot-errant`."""

    def vectors_of(
        self, corpus: Corpus, runtime: Runtime
    ) -> tuple[Sequence[PlacedEdit], FloatArray]:
        """Return all edits of all systems, and their vectors: edits × d."""

    def scores_by_lambda(
        self, values: Sequence[float], corpus: Corpus, runtime: Runtime
    ) -> FloatArray:
        """Return sentence scores for each λ = λ1 = λ2: λ × systems × sentences."""

    def scores_by_layer(
        self, corpus: Corpus, poolings: Sequence[Pooling], runtime: Runtime
    ) -> FloatArray:
        """Return sentence scores: poolings × layers × systems × sentences."""

    def compare_with_pot(
        self, corpus: Corpus, runtime: Runtime
    ) -> tuple[Mapping[str, Any], FloatArray]:
        """Return figures that compare POT's plans with ours, and differences of mass moved."""


def _metric(analysis: Analysis, work: Work) -> VectorMetric:
    """Return the metric whose edit vectors are analysed.

    Raises:
        OptionError: another metric was named.
    """
    if not isinstance(work.scorer, VectorMetric):
        raise OptionError(
            f"analyse {analysis.kind} needs edit vectors: expected -m uot-errant[:options], not "
            f"{work.scorer.name}"
        )
    return work.scorer


@dataclass(frozen=True, kw_only=True)
class Norms(Analysis):
    """Mean norm of edit vectors by error type.

    Attributes:
        min_count: leave out error types with fewer than N edits.
    """

    min_count: int = option(50, metavar="N")

    def run(self, work: Work) -> Result:
        """Measure the edit vectors (the paper's table 3), the smallest mean first."""
        corpus = self.corpus(work)
        edits, vectors = _metric(self, work).vectors_of(corpus, work.runtime)
        rows = type_norms([short_type(edit.type) for _, _, edit in edits], vectors, self.min_count)
        columns = [Column("type"), Column("edits"), Column("mean"), Column("stdev")]
        note = f"{len(edits)} edits of {len(corpus.systems)} systems; types with "
        note += f"{self.min_count} or more"
        return self.result(
            work,
            [Table(columns, rows, "Norms of edit vectors", [note], "rows")],
            partial(
                bars,
                [row["type"] for row in rows],
                [row["mean"] for row in rows],
                label="L2 norm of edit vectors (mean and standard deviation)",
                errors=[row["stdev"] for row in rows],
            ),
            edits=len(edits),
        )


def type_norms(types: Sequence[str], vectors: FloatArray, least: int) -> list[dict[str, Any]]:
    """Return one record per error type: the number of edits, mean and deviation of their norms.

    Args:
        types: types of the edits.
        vectors: edits × d.
        least: types that occur less often are left out.

    Raises:
        InputError: no type occurs that often.
    """
    norms = np.linalg.norm(vectors, axis=1)
    rows = []
    for kind in _common(types, least):
        lengths = norms[np.array(types) == kind]
        mean, stdev = float(lengths.mean()), float(lengths.std())
        rows.append({"type": kind, "edits": len(lengths), "mean": mean, "stdev": stdev})
    return sorted(rows, key=lambda row: row["mean"])


def short_type(kind: str) -> str:
    """Return an ERRANT type without its operation: `VERB:TENSE` for `R:VERB:TENSE`."""
    return kind[2:] if kind[:2] in ("M:", "R:", "U:") else kind


def _common(types: Sequence[str], least: int) -> list[str]:
    """Return the types that occur often enough, sorted by name."""
    counts = Counter(types)
    common = sorted(kind for kind, count in counts.items() if count >= least)
    if not common:
        raise InputError(
            f"no error type occurs {least} times among {len(types)} edits; lower --min-count"
        )
    return common


@dataclass(frozen=True, kw_only=True)
class Map(Norms):
    """Edit vectors in the plane, coloured by error type.

    Attributes:
        method: how vectors are laid out.
        seed: seed of t-SNE.
    """

    method: Layout = "pca"
    seed: int = option(0, least=0, most=2**32 - 1)

    def run(self, work: Work) -> Result:
        """Lay out the edit vectors of common types (the paper's figure 5)."""
        edits, vectors = _metric(self, work).vectors_of(self.corpus(work), work.runtime)
        types = [short_type(edit.type) for _, _, edit in edits]
        common = _common(types, self.min_count)
        kept = [place for place, kind in enumerate(types) if kind in common]
        positions = layout(vectors[kept], self.method, self.seed)
        rows = []
        for place, (x, y) in zip(kept, positions.tolist(), strict=True):
            system, line, edit = edits[place]
            text = f"{edit.start} {edit.end} {edit.correction}"
            about = {"system": system, "line": line + 1, "edit": text, "type": types[place]}
            rows.append({**about, "x": x, "y": y})
        of_kept = np.array(types)[kept]
        groups = {kind: positions[of_kept == kind] for kind in common}
        columns = [Column(key) for key in rows[0]]
        return self.result(
            work,
            [Table(columns, rows, f"Edit vectors by {self.method}", name="rows")],
            partial(points, groups, labels=(f"{self.method} 1", f"{self.method} 2")),
        )


def layout(vectors: FloatArray, method: Layout, seed: int) -> FloatArray:
    """Return positions in the plane, n × 2, by `pca` (exact, without a seed) or `tsne`.

    Raises:
        MissingExtraError: t-SNE without scikit-learn.
        OptionError: too few vectors.
    """
    if len(vectors) < 3:
        raise OptionError(f"{len(vectors)} edits are too few for a map; expected 3 or more")
    centred = vectors - vectors.mean(axis=0)
    if method == "pca":
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        # The signs of axes are arbitrary; here the largest coordinate is positive.
        signs = np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(axis=1)])
        positions: FloatArray = centred @ (axes[:2] * signs[:, None]).T
        return positions
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError(
            f"t-SNE needs scikit-learn, which is not installed: {install_hint('report')}, or "
            "use --method pca"
        ) from None
    tsne = TSNE(
        n_components=2,
        init="pca",
        perplexity=min(30.0, (len(vectors) - 1) / 3),
        random_state=seed,
    )
    placed: FloatArray = np.asarray(tsne.fit_transform(vectors), dtype=np.float64)
    return placed


class _Variants(JudgedAnalysis):
    """Variants of one metric against human scores."""

    def compared(
        self,
        work: Work,
        settings: Sequence[dict[str, Any]],
        sentences: FloatArray,
        columns: Sequence[Column],
        named: str,
    ) -> Result:
        """Correlate every variant's scores, by TrueSkill, with human scores.

        Args:
            work: a benchmark.
            settings: settings of each variant.
            sentences: scores, variants × systems × sentences.
            columns: columns of the settings; the last is the axis of the figure, and the others
                distinguish the curves.
            named: template of the best variant's name, with its settings in braces.
        """
        kind, target = self.human(work)
        # TrueSkill uses sentence scores only, so no corpus score is needed.
        nothing = np.full(len(target), np.nan)
        rows: list[dict[str, Any]] = []
        curves: dict[str, tuple[list[float], list[float]]] = {}
        for setting, table in zip(settings, sentences, strict=True):
            scores = aggregate_scores("trueskill", table, nothing)
            figures = {"pearson": pearson(target, scores), "spearman": spearman(target, scores)}
            rows.append({**setting, **figures})
            for key, figure in figures.items():
                # One curve for each measure and each setting, except the one on the axis.
                name = " ".join([*(setting[column.key] for column in columns[:-1]), key])
                x, y = curves.setdefault(name, ([], []))
                x.append(setting[columns[-1].key])
                y.append(figure)
        best = best_variant(rows)
        note = f"best: {named.format(**best)} (r {best['pearson']:.3f}, ρ {best['spearman']:.3f})"
        title = f"{work.name}: UOT-ERRANT by TrueSkill against human {kind}"
        labels = (columns[-1].title, f"correlation with human {kind}")
        return self.result(
            work,
            [Table([*columns, *_COLUMNS], rows, title, [note], "rows")],
            partial(lines, curves, labels=labels),
            best=best,
        )


def best_variant(rows: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the record with the best Pearson; among equals (to three digits), the best Spearman.

    The paper chooses in the same way (Goto et al. 2026, section 4.1).
    """
    return max(rows, key=lambda row: (round(row["pearson"], 3), row["spearman"]))


@dataclass(frozen=True, kw_only=True)
class Lambda(_Variants):
    """UOT-ERRANT's λ tried in steps, without encoding again.

    Attributes:
        step: distance from one value to the next, and the first value.
        stop: upper bound of the values.
    """

    step: float = 0.02
    stop: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.values  # refuses invalid steps before anything is scored

    def run(self, work: Work) -> Result:
        """Correlate the scores of every λ = λ1 = λ2 with human scores."""
        values, corpus = self.values, self.corpus(work)
        sentences = _metric(self, work).scores_by_lambda(values, corpus, work.runtime)
        settings = [{"lambda": value} for value in values]
        columns = [Column("lambda", "λ1 = λ2", 2)]
        return self.compared(work, settings, sentences, columns, "λ = {lambda:g}")

    @property
    def values(self) -> list[float]:
        """The values step, 2 · step, ..., up to stop.

        Raises:
            OptionError: there are no values.
        """
        if not 0 < self.step <= self.stop:
            raise OptionError(f"--step {self.step} --stop {self.stop}: expected 0 < step <= stop")
        count = int(self.stop / self.step + 1e-9)
        return [round(self.step * k, 10) for k in range(1, count + 1)]


@dataclass(frozen=True, kw_only=True)
class Layers(_Variants):
    """UOT-ERRANT with each layer and pooling of the encoder, all from one pass."""

    def run(self, work: Work) -> Result:
        """Correlate the scores of every layer and pooling with human scores."""
        scores = _metric(self, work).scores_by_layer(self.corpus(work), _POOLINGS, work.runtime)
        settings = [
            {"pooling": pooling, "layer": layer}
            for pooling in _POOLINGS
            for layer in range(1, scores.shape[1] + 1)
        ]
        sentences = scores.reshape(-1, *scores.shape[2:])
        columns = [Column("pooling"), Column("layer")]
        return self.compared(work, settings, sentences, columns, "layer {layer}, {pooling}")


@dataclass(frozen=True, kw_only=True)
class Solver(Analysis):
    """Our optimum against POT's plan."""

    def run(self, work: Work) -> Result:
        """Solve every transport problem with POT as well."""
        scorer = _metric(self, work)
        row, differences = scorer.compare_with_pot(self.corpus(work), work.runtime)
        # Largest first: the curve shows how many problems POT misses, and by how much.
        far = np.sort(np.abs(differences[np.isfinite(differences)]))[::-1]
        curve = (range(1, len(far) + 1), far.tolist())
        columns = [Column(key, digits=9) for key in row]
        return self.result(
            work,
            [Table(columns, [row], "POT against the optimum", name="rows")],
            partial(lines, {"problems": curve}, labels=("problems", "difference of mass moved")),
        )
