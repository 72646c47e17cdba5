"""Analyses of edit vectors over a corpus: norms by type, maps, λ, layers, our solver and POT."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, counted_edits
from gecjury.errors import InputError, MissingExtraError, OptionError, install_hint
from gecjury.models.encoder import Pooling, load_encoder
from gecjury.refbased.uot_errant.metric import UOTERRANT, best_scores, problems_of
from gecjury.refbased.uot_errant.tally import Tally
from gecjury.refbased.uot_errant.transport import objective, pot_plan
from gecjury.refbased.uot_errant.vectors import (
    EditSet,
    all_texts,
    differences,
    edit_vectors,
    masses,
)
from gecjury.runtime import Runtime

Layout = Literal["pca", "tsne"]
"""How vectors are laid out in the plane."""


@dataclass(frozen=True)
class EditTable:
    """A table of all edits of some systems with their vectors.

    Attributes:
        systems: system of each edit.
        lines: index of its sentence.
        edits: the edits.
        vectors: edits × d.
    """

    systems: tuple[str, ...]
    lines: tuple[int, ...]
    edits: tuple[Edit, ...]
    vectors: FloatArray

    @property
    def types(self) -> tuple[str, ...]:
        """Types without operation: `VERB:TENSE` of `R:VERB:TENSE` (the paper's table 3)."""
        return tuple(short_type(edit.type) for edit in self.edits)

    @property
    def norms(self) -> FloatArray:
        """L2 norms of the vectors, shape (edits,)."""
        return masses(self.vectors, "norm")


def short_type(kind: str) -> str:
    """Return an ERRANT type without its operation letter."""
    return kind[2:] if kind[:2] in ("M:", "R:", "U:") else kind


def edit_table(scorer: UOTERRANT, corpus: Corpus, runtime: Runtime) -> EditTable:
    """Return the vectors of all edits of all systems, as the scorer makes them.

    Raises:
        InputError: there is no edit.
    """
    edits = scorer.edits(replace(corpus, references=()), runtime)
    sets, systems, lines = [], [], []
    for name, rows in edits.systems.items():
        for row, proposed in enumerate(rows):
            real = counted_edits(proposed)
            if real:
                sets.append(EditSet(" ".join(corpus.sources[row].split()), real))
                systems += [name] * len(real)
                lines += [row] * len(real)
    if not sets:
        raise InputError("no hypothesis changes its source: there is no edit to look at")
    encoder = load_encoder(scorer.encoder_spec, runtime)
    vectors, _ = edit_vectors(sets, scorer.vectorise, encoder)
    flat = tuple(edit for edit_set in sets for edit in edit_set.edits)
    return EditTable(tuple(systems), tuple(lines), flat, np.concatenate(vectors))


@dataclass(frozen=True)
class TypeNorm:
    """The norms of the vectors of one error type.

    Attributes:
        type: without its operation letter.
        edits: number of edits.
        mean: mean norm.
        stdev: standard deviation of the norms.
    """

    type: str
    edits: int
    mean: float
    stdev: float


def type_norms(table: EditTable, least: int) -> tuple[TypeNorm, ...]:
    """Return norms of edit vectors by error type, the smallest mean first (the paper's table 3).

    Args:
        table: from `edit_table`.
        least: types that occur less often are left out.

    Raises:
        InputError: no type occurs so often.
    """
    types, sizes = np.array(table.types), table.norms
    norms = []
    for kind in _common(table.types, least):
        lengths = sizes[types == kind]
        norms.append(TypeNorm(kind, len(lengths), float(lengths.mean()), float(lengths.std())))
    return tuple(sorted(norms, key=lambda norm: norm.mean))


@dataclass(frozen=True)
class MapPoint:
    """An edit's place in the plane.

    Attributes:
        system: system that made the edit.
        line: index of its sentence.
        edit: the edit.
        type: its type without operation letter.
        x: coordinate to the right; `y`: upwards.
    """

    system: str
    line: int
    edit: Edit
    type: str
    x: float
    y: float


def edit_map(table: EditTable, least: int, method: Layout, seed: int) -> tuple[MapPoint, ...]:
    """Place edit vectors in the plane (the paper's figure 5).

    Args:
        table: from `edit_table`.
        least: types that occur less often are left out.
        method: a method of `layout`.
        seed: of t-SNE.

    Raises:
        InputError: no type occurs so often.
        MissingExtraError: t-SNE without scikit-learn.
        OptionError: too few vectors.
    """
    common = _common(table.types, least)
    kept = [place for place, kind in enumerate(table.types) if kind in common]
    positions = layout(table.vectors[kept], method, seed).tolist()
    return tuple(
        MapPoint(table.systems[i], table.lines[i], table.edits[i], table.types[i], x, y)
        for i, (x, y) in zip(kept, positions, strict=True)
    )


def _common(types: Sequence[str], least: int) -> list[str]:
    """Return the types that occur often enough, by name."""
    counts = Counter(types)
    common = sorted(kind for kind, count in counts.items() if count >= least)
    if not common:
        raise InputError(
            f"no error type occurs {least} times among {len(types)} edits; lower --min-count"
        )
    return common


def layout(vectors: FloatArray, method: Layout, seed: int) -> FloatArray:
    """Return positions in the plane, n × 2: `pca` (exact, no seed) or `tsne`.

    Raises:
        MissingExtraError: t-SNE without scikit-learn.
        OptionError: too few vectors.
    """
    if len(vectors) < 3:
        raise OptionError(f"{len(vectors)} edits are too few for a map; expected 3 or more")
    centred = vectors - vectors.mean(axis=0)
    if method == "pca":
        _, _, axes = np.linalg.svd(centred, full_matrices=False)
        # Signs of axes are arbitrary: fixed so that the largest coordinate is positive.
        signs = np.sign(axes[np.arange(2), np.abs(axes[:2]).argmax(axis=1)])
        positions: FloatArray = centred @ (axes[:2] * signs[:, None]).T
        return positions
    try:
        from sklearn.manifold import TSNE
    except ImportError:
        raise MissingExtraError(
            f"t-SNE needs scikit-learn, which is not installed: {install_hint('report')}, or "
            "take --method pca"
        ) from None
    tsne = TSNE(
        n_components=2,
        init="pca",
        perplexity=min(30.0, (len(vectors) - 1) / 3),
        random_state=seed,
    )
    embedded: FloatArray = np.asarray(tsne.fit_transform(vectors), dtype=np.float64)
    return embedded


def sentence_scores_by_layer(
    scorer: UOTERRANT, corpus: Corpus, poolings: Sequence[Pooling], runtime: Runtime
) -> FloatArray:
    """Return sentence scores of each layer: poolings × layers × systems × sentences.

    Every text is encoded once. The first layer is the one above the embeddings.

    Raises:
        OptionError: the scorer names a layer.
    """
    if scorer.layer is not None:
        raise OptionError(f"layer={scorer.layer}: all layers are tried; leave it out")
    places = Tally(scorer, corpus, scorer.edits(corpus, runtime), runtime).pairs(range(len(corpus)))
    sets = list(dict.fromkeys(edit_set for pair in places for edit_set in pair))
    texts, distinct = all_texts(sets, scorer.vectorise)
    tables = load_encoder(scorer.encoder_spec, runtime).layer_vectors(distinct, poolings)[:, 1:]
    result = np.empty((*tables.shape[:2], len(corpus.systems), len(corpus)))
    cells = list(np.ndindex(tables.shape[:2]))
    for cell in runtime.track(cells, "trying layers", len(cells)):
        vectors = differences(texts, distinct, tables[cell], scorer.vectorise)
        problems = scorer.problems(list(places), dict(zip(sets, vectors, strict=True)))
        result[cell] = best_scores(scorer, corpus, problems, list(places.values()))
    return result


@dataclass(frozen=True)
class SolverReport:
    """Our optimum against POT's plan over many problems.

    Attributes:
        problems: number of problems with edits on both sides.
        converged: of them, those where POT ended without a warning.
        worse: problems where our objective is above POT's by more than 1e-9.
        largest_gap: of the objectives where POT converged.
        differing: problems whose transported mass differs by more than 1e-4.
        largest_difference: of the transported mass, over all problems.
    """

    problems: int
    converged: int
    worse: int
    largest_gap: float
    differing: int
    largest_difference: float


def compare_with_pot(
    scorer: UOTERRANT, corpus: Corpus, runtime: Runtime
) -> tuple[SolverReport, FloatArray]:
    """Solve every problem by POT as well.

    Returns:
        The report, and of shape (problems,) POT's transported mass minus ours (NaN where POT's
        plan is not finite).
    """
    problems = [p for p in problems_of(scorer, corpus, runtime)[0] if p.cost.size]
    converged = worse = 0
    gap = 0.0
    differences = np.full(len(problems), np.nan)
    tasks = runtime.track(problems, "POT", len(problems))
    for number, (problem, plan) in enumerate(zip(tasks, scorer.plans(problems), strict=True)):
        theirs, fine = pot_plan(problem, scorer.penalties)
        if plan is None or not np.isfinite(theirs).all():
            continue
        excess = objective(plan, problem, scorer.penalties) - objective(
            theirs, problem, scorer.penalties
        )
        worse += excess > 1e-9
        converged += fine
        if fine:
            gap = max(gap, abs(excess))
        differences[number] = theirs.sum() - plan.sum()
    far = np.abs(np.nan_to_num(differences, nan=np.inf))
    finite = far[np.isfinite(far)]
    report = SolverReport(
        len(problems),
        converged,
        worse,
        gap,
        int((far > 1e-4).sum()),
        float(finite.max()) if finite.size else 0.0,
    )
    return report, differences
