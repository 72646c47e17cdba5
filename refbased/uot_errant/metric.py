"""UOT-ERRANT: credit for edits by how much of them unbalanced optimal transport can match."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

import numpy as np

from gecjury.arrays import FloatArray, IntArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.errors import OptionError
from gecjury.extraction.extract import CorpusEdits
from gecjury.models.encoder import DType, EncoderSpec, Pooling, load_encoder
from gecjury.refbased.counts import f_beta, ratio
from gecjury.refbased.edit_metric import EditScorer, check_beta
from gecjury.refbased.references import choose_best, choose_running
from gecjury.refbased.uot_errant.transport import (
    Penalties,
    Problem,
    abandoned_plan,
    balanced_plan,
    pot_plan,
    solve,
)
from gecjury.refbased.uot_errant.vectors import (
    Cost,
    EditSet,
    Mass,
    Vectorise,
    costs,
    edit_vectors,
    masses,
)
from gecjury.runtime import Runtime
from gecjury.scoring.scores import Scores, Statistics

__all__ = ["UOTERRANT", "Alignment", "Place", "Tally", "credit"]

Pair = tuple[EditSet, EditSet]
Place = tuple[int, int, int]  # system, sentence, reference
# Sentences whose vectors are held at once; bounds memory on large corpora.
_WINDOW = 1500


@dataclass(frozen=True)
class Alignment:
    """How the edits of a hypothesis were matched with those of a reference.

    Attributes:
        hypothesis: n edits.
        reference: m edits.
        a: masses of the hypothesis' edits.
        b: masses of the reference's edits.
        cost: n × m costs; empty where one side has no edits.
        plan: n × m transported mass; None if no optimum was found.
    """

    hypothesis: tuple[Edit, ...]
    reference: tuple[Edit, ...]
    a: FloatArray
    b: FloatArray
    cost: FloatArray
    plan: FloatArray | None

    @property
    def counts(self) -> tuple[float, float, float]:
        """TP, FP, FN: mass transported, not sent, not received; NaN without a plan."""
        if self.plan is None:
            return float("nan"), float("nan"), float("nan")
        moved = float(self.plan.sum())
        return moved, float(self.a.sum()) - moved, float(self.b.sum()) - moved


def credit(counts: FloatArray, beta: float) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Precision, recall and F of (TP, FP, FN) in the last axis.

    Precision is 1 when the hypothesis' edits have no mass, recall when the reference's have none.
    """
    tp, fp, fn = counts[..., 0], counts[..., 1], counts[..., 2]
    precision, recall = ratio(tp, tp + fp, 1.0), ratio(tp, tp + fn, 1.0)
    return precision, recall, f_beta(precision, recall, beta)


def _finite(plan: FloatArray) -> FloatArray | None:
    return plan if np.isfinite(plan).all() else None


@dataclass(frozen=True)
class UOTERRANT(EditScorer):
    """F-score over transported edit vectors (Goto et al. 2026).

    0 is worst. TP is the transported mass, FP and FN what is left of the hypothesis' and of the
    reference's mass. More may be transported than one side has: FP or FN are then negative and
    precision, recall and F above 1, as in the published procedure (see `clip`). Several
    references: the best sentence score; the corpus score accumulates like ERRANT's.

    Attributes:
        encoder: `embedded`, a folder or a hub name; the paper's is ELECTRA-base.
        pooling: `mean` of the word pieces or the first one (`cls`).
        layer: hidden states taken (0: embeddings, −1: last); None for the last.
        revision: commit, tag or branch of a hub model.
        vectorise: `remove` an edit from the whole correction, or `add` it to the source alone.
        mass: of an edit: its vector's `norm`, or `uniform`.
        cost: `euclidean` distance of vectors, or `cosine` (1 − cosine).
        transport: `unbalanced`, or `balanced` (exact, totals scaled to the smaller one).
        epsilon: weight of the entropic term (unbalanced).
        lambda1: weight of the hypothesis' unsent mass (unbalanced).
        lambda2: weight of the reference's unreceived mass (unbalanced).
        beta: weight of recall.
        solver: `published` takes the true optimum, but POT's plan where a reference edit has no
            mass: POT stops before its first step there, and published scores rest on what it
            leaves. `optimum` takes the true optimum there too, `pot` POT's plans as they come,
            even where it does not converge (unbalanced).
        clip: count negative FP and FN as 0, so that no score passes 1.
        max_length: word pieces of a sentence that the encoder reads.
        dtype: numbers the encoder computes with; bfloat16 is faster on GPUs and less exact.
    """

    name: ClassVar[str] = "uot-errant"
    summary: ClassVar[str] = "F0.5 over edit vectors matched by unbalanced optimal transport"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")

    encoder: str = "google/electra-base-discriminator"
    pooling: Pooling = "mean"
    layer: int | None = None
    revision: str | None = None
    vectorise: Vectorise = "remove"
    mass: Mass = "norm"
    cost: Cost = "euclidean"
    transport: Literal["unbalanced", "balanced"] = "unbalanced"
    epsilon: float = 0.1
    lambda1: float = 0.1
    lambda2: float = 0.1
    beta: float = 0.5
    solver: Literal["published", "optimum", "pot"] = "published"
    clip: bool = False
    max_length: int = 128
    dtype: DType = "float32"

    def __post_init__(self) -> None:
        check_beta(self.name, self.beta)
        if self.max_length < 3:
            raise OptionError(f"{self.name}: max_length={self.max_length}; expected 3 or more")
        _ = self.penalties

    @property
    def penalties(self) -> Penalties:
        """The weights of the transport problem."""
        return Penalties(self.epsilon, self.lambda1, self.lambda2)

    @property
    def encoder_spec(self) -> EncoderSpec:
        """What decides the vectors."""
        return EncoderSpec(
            self.encoder, self.pooling, self.layer, self.revision, self.max_length, self.dtype
        )

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """What decides edits, and the encoder's files."""
        identity = self.encoder_spec.checkpoint().identity
        return {**super().extra_signature(runtime), "encoder": identity}

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """TP, FP, FN: systems × sentences × references × 3; details hold them by error type."""
        edits = self.edits(corpus, runtime)
        tally = Tally(self, corpus, edits, runtime)
        for start in range(0, len(corpus), _WINDOW):
            tally.add(range(start, min(start + _WINDOW, len(corpus))))
        _, chosen = choose_running(tally.values, self.rule)
        details = {"by_type": tally.by_type(chosen), "solver": tally.report()}
        return Statistics(tally.values, details=details, notes=(*edits.notes, *tally.notes()))

    def align(self, pairs: Sequence[Pair], runtime: Runtime | None = None) -> list[Alignment]:
        """Transport between a hypothesis' and a reference's edits, for any number of pairs."""
        encoder = load_encoder(self.encoder_spec, runtime)
        sets = list(dict.fromkeys(some for pair in pairs for some in pair))
        vectors, _ = edit_vectors(sets, self.vectorise, encoder)
        return self.transported(pairs, dict(zip(sets, vectors, strict=True)))

    def transported(
        self, pairs: Sequence[Pair], vectors: Mapping[EditSet, FloatArray]
    ) -> list[Alignment]:
        """As `align`, with vectors at hand."""
        problems = self.problems(pairs, vectors)
        return [
            Alignment(first.edits, second.edits, problem.a, problem.b, problem.cost, plan)
            for (first, second), problem, plan in zip(
                pairs, problems, self.plans(problems), strict=True
            )
        ]

    def problems(
        self, pairs: Sequence[Pair], vectors: Mapping[EditSet, FloatArray]
    ) -> list[Problem]:
        """The transport problem of each pair of edit sets."""
        weights = {some: masses(found, self.mass) for some, found in vectors.items()}
        problems = []
        for first, second in pairs:
            # Without edits on one side there is nothing to compare, and maybe no vector at all.
            if first.edits and second.edits:
                cost = costs(vectors[first], vectors[second], self.cost)
            else:
                cost = np.zeros((len(first.edits), len(second.edits)))
            problems.append(Problem(weights[first], weights[second], cost))
        return problems

    def plans(self, problems: Sequence[Problem]) -> list[FloatArray | None]:
        """The plan of each problem; None where no optimum was found."""
        live = [place for place, problem in enumerate(problems) if problem.cost.size]
        some = [problems[place] for place in live]
        solved: Sequence[FloatArray | None]
        if self.transport == "balanced":
            solved = [balanced_plan(problem) for problem in some]
        elif self.solver == "pot":
            solved = [_finite(pot_plan(problem, self.penalties)[0]) for problem in some]
        else:
            solved = solve(some, self.penalties)
            if self.solver == "published":
                solved = [
                    plan if problem.b.all() else self._published(problem, plan)
                    for problem, plan in zip(some, solved, strict=True)
                ]
        plans: list[FloatArray | None] = [np.zeros_like(problem.cost) for problem in problems]
        for place, plan in zip(live, solved, strict=True):
            plans[place] = plan
        return plans

    def _published(self, problem: Problem, optimum: FloatArray | None) -> FloatArray | None:
        """The published plan at a reference edit without mass, unless it is out of proportion."""
        plan, sound = abandoned_plan(problem, self.penalties)
        return _finite(plan) if sound else optimum

    def rule(self, sums: FloatArray, own: FloatArray) -> Sequence[FloatArray]:
        """Keys by which a reference is chosen: F, then more TP, fewer FP, fewer FN."""
        score = np.round(credit(self._counts(sums), self.beta)[2], 12)
        return (score, own[..., 0], -own[..., 1], -own[..., 2])

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """The best reference's score of each sentence; NaN where no plan was found."""
        values = statistics.values
        usable = ~np.isnan(values[..., 0])
        filled = np.nan_to_num(values)
        best = choose_best(self.rule(filled, filled), usable)
        chosen = np.take_along_axis(values, best[..., None, None], axis=2)[:, :, 0]
        precision, recall, score = credit(self._counts(chosen), self.beta)
        return Scores(score, precision, recall)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Scores of the mass summed by the running choice of references."""
        totals, _ = choose_running(statistics.values, self.rule, draws)
        precision, recall, score = credit(self._counts(totals), self.beta)
        return Scores(score, precision, recall)

    def _counts(self, counts: FloatArray) -> FloatArray:
        return np.maximum(counts, 0.0) if self.clip else counts


_NO_EDITS = ("noop", "UNK")


@dataclass
class Tally:
    """Counts of a corpus, filled window by window; each distinct pair is solved once.

    Attributes:
        values: TP, FP, FN: systems × sentences × references × 3.
    """

    scorer: UOTERRANT
    corpus: Corpus
    edits: CorpusEdits
    runtime: Runtime
    values: FloatArray = field(init=False)
    _types: dict[Place, dict[tuple[str, int], float]] = field(default_factory=dict)
    _truncated: int = 0
    _edits: int = 0
    _massless: int = 0
    _pairs: int = 0
    _unsolved: int = 0

    def __post_init__(self) -> None:
        shape = len(self.corpus.systems), len(self.corpus), len(self.corpus.references), 3
        self.values = np.full(shape, np.nan)

    def add(self, rows: range) -> None:
        """Score some sentences of all systems against all references."""
        places, vectors = self.collect(rows)
        aligned = self.scorer.transported(list(places), vectors)
        self._pairs += sum(1 for alignment in aligned if alignment.cost.size)
        for alignment, where in zip(aligned, places.values(), strict=True):
            self._unsolved += alignment.plan is None
            types = _by_type(alignment)
            for place in where:
                self.values[place] = alignment.counts
                self._types[place] = types

    def collect(self, rows: range) -> tuple[dict[Pair, list[Place]], dict[EditSet, FloatArray]]:
        """The distinct pairs of edit sets, where each occurs, and the vectors of all sets."""
        places = self.pairs(rows)
        sets = list(dict.fromkeys(some for pair in places for some in pair))
        encoder = load_encoder(self.scorer.encoder_spec, self.runtime)
        found, report = edit_vectors(sets, self.scorer.vectorise, encoder)
        self._truncated += report.truncated
        self._edits += sum(map(len, found))
        self._massless += sum(int((masses(some, "norm") == 0).sum()) for some in found)
        return places, dict(zip(sets, found, strict=True))

    def pairs(self, rows: range) -> dict[Pair, list[Place]]:
        """The distinct pairs of edit sets and where each occurs."""
        systems = list(self.edits.systems.values())
        mine = [[self._set(row, lines[row]) for row in rows] for lines in systems]
        theirs = [[self._set(row, some[row]) for row in rows] for some in self.edits.references]
        places: dict[Pair, list[Place]] = {}
        for system, column in enumerate(mine):
            for index, other in enumerate(theirs):
                for row, first, second in zip(rows, column, other, strict=True):
                    places.setdefault((first, second), []).append((system, row, index))
        return places

    def _set(self, row: int, edits: Sequence[Edit]) -> EditSet:
        kept = tuple(edit for edit in edits if edit.type not in _NO_EDITS)
        return EditSet(" ".join(self.corpus.sources[row].split()), kept)

    def by_type(self, chosen: IntArray) -> dict[str, dict[str, list[float]]]:
        """TP, FP, FN by system and error type, over the references chosen (S × N)."""
        found: dict[str, dict[str, list[float]]] = {}
        for system, name in enumerate(self.edits.systems):
            table = found.setdefault(name, {})
            for row in range(len(self.corpus)):
                types = self._types[system, row, max(int(chosen[system, row]), 0)]
                for (kind, count), amount in types.items():
                    table.setdefault(kind, [0.0, 0.0, 0.0])[count] += amount
        return found

    def report(self) -> dict[str, int]:
        """How many distinct pairs had edits on both sides, and how many found no optimum."""
        return {"pairs": self._pairs, "unsolved": self._unsolved}

    def notes(self) -> list[str]:
        """What the user should know."""
        name, notes = self.scorer.name, []
        if self._truncated:
            notes.append(
                f"{name}: {self._truncated} distinct texts are longer than the encoder reads and "
                f"were cut at {self.scorer.max_length} word pieces or the model's own limit"
            )
        if self._massless:
            notes.append(
                f"{name}: {self._massless} of {self._edits} distinct edits do not move the "
                "encoder's vector (e.g. case, for a lower-casing one) and have no mass"
                + (
                    "; a reference with such an edit is scored by POT's plan, as published "
                    "(solver=optimum: they count neither for nor against)"
                    if self.scorer.solver == "published"
                    else ": they count neither for nor against"
                )
            )
        if self._unsolved:
            notes.append(
                f"{name}: {self._unsolved} of {self._pairs} transport problems have no optimum "
                "within reach (numbers not finite, or penalties far above epsilon): not scored"
            )
        return notes


def _by_type(alignment: Alignment) -> dict[tuple[str, int], float]:
    """TP (0), FP (1) by the hypothesis edit's type, FN (2) by the reference edit's."""
    types: defaultdict[tuple[str, int], float] = defaultdict(float)
    if alignment.plan is None:
        return types
    for edit, mass, sent in zip(
        alignment.hypothesis, alignment.a, alignment.plan.sum(axis=1), strict=True
    ):
        types[edit.type, 0] += float(sent)
        types[edit.type, 1] += float(mass - sent)
    for edit, mass, got in zip(
        alignment.reference, alignment.b, alignment.plan.sum(axis=0), strict=True
    ):
        types[edit.type, 2] += float(mass - got)
    return types
