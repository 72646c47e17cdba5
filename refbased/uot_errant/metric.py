"""UOT-ERRANT: edits are credited with the mass that unbalanced optimal transport can match."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits, counted_edits, edit_label
from gecjury.models.encoder import EncoderSpec, Pooling, load_encoder
from gecjury.models.precision import DType
from gecjury.refbased.edit_metric import (
    BestReference,
    ScoreLevel,
    TypedCounts,
    TypedEditMetric,
    distinct_corrections,
    words,
)
from gecjury.refbased.references import RunningRule, best_f, wordless
from gecjury.refbased.uot_errant.transport import (
    Penalties,
    Problem,
    abandoned_plan,
    balanced_plan,
    pot_plan,
    solve,
)
from gecjury.refbased.uot_errant.vectors import (
    Alignment,
    Cost,
    EditPlace,
    EditSet,
    EditSets,
    Mass,
    Tally,
    Vectorise,
    costs,
    edit_vectors,
    masses,
)
from gecjury.scoring.abilities import EditCase, EditCounts, Explanation, HeatMap
from gecjury.scoring.scores import Scores, Statistics
from gecjury.stats.counts import precision_recall_f

# Sentences whose vectors are kept at once; bounds memory on large corpora.
_WINDOW = 1500


def _finite(plan: FloatArray) -> FloatArray | None:
    return plan if np.isfinite(plan).all() else None


@dataclass(frozen=True)
class UOTERRANT(BestReference, TypedEditMetric):
    """F-score over transported edit vectors (Goto et al. 2026).

    0 is worst. TP is the transported mass, FP and FN are the rest of the hypothesis' and of the
    reference's mass. More may be transported than one side has: FP or FN are then negative and
    precision, recall and F above 1, as in the published procedure (see `clip`). An output without
    words has no transported mass. With several references, the sentence score is the best one; the
    corpus score is accumulated as in ERRANT.

    Attributes:
        encoder: `embedded`, a folder or a hub name; the paper's is ELECTRA-base.
        pooling: `mean` of the word pieces or the first one (`cls`).
        layer: layer whose hidden states are used (0: embeddings, −1: last); None for the last.
        revision: commit, tag or branch of a hub model.
        vectorise: `remove` an edit from the whole correction, or `add` it to the source alone.
        mass: mass of an edit: its vector's `norm`, or `uniform`.
        cost: `euclidean` distance of vectors, or `cosine` (1 − cosine).
        transport: `unbalanced`, or `balanced` (exact, totals scaled to the smaller one).
        epsilon: weight of the entropic term (unbalanced).
        lambda1: weight of the hypothesis' unsent mass (unbalanced).
        lambda2: weight of the reference's unreceived mass (unbalanced).
        beta: weight of recall.
        solver: `published` uses the true optimum, but POT's plan where a reference edit has no
            mass: POT stops at iteration 0 there, and published scores are based on the plan that
            it returns. If POT has multiplied a scaling above 1e5 into that plan, which may then
            contain a million times the available mass, the optimum is used after all. `optimum`
            uses the true optimum everywhere, `pot` always uses POT's plan, even where POT does
            not converge (unbalanced).
        clip: count negative FP and FN as 0, so that no score exceeds 1.
        max_length: number of word pieces of a sentence that the encoder reads.
        dtype: precision in which the encoder computes: `bfloat16` is several times as fast on
            processors that support it but less exact, `float16` is for GPUs,
            `float32-onednn` differs only in the last bits and is faster on AMD processors.
    """

    name: ClassVar[str] = "uot-errant"
    version: ClassVar[int] = 2
    summary: ClassVar[str] = "F0.5 over edit vectors matched by unbalanced optimal transport"
    paper: ClassVar[str] = "Goto et al. 2026"
    packages: ClassVar[tuple[str, ...]] = ("torch", "transformers")
    tuning: ClassVar[Mapping[str, str]] = {
        "lambda1": "0.02:1:0.02",
        "lambda2": "lambda1",
        "folds": "1",
        "aggregate": "trueskill",
    }

    encoder: str = "google/electra-base-discriminator"
    pooling: Pooling = "mean"
    layer: int | None = None
    revision: str | None = None
    vectorise: Vectorise = "remove"
    mass: Mass = "norm"
    cost: Cost = "euclidean"
    transport: Literal["unbalanced", "balanced"] = "unbalanced"
    epsilon: float = option(0.1, above=0)
    lambda1: float = option(0.1, above=0)
    lambda2: float = option(0.1, above=0)
    beta: float = option(0.5, least=0, most=1e100)
    solver: Literal["published", "optimum", "pot"] = "published"
    clip: bool = False
    max_length: int = option(128, least=3)
    dtype: DType = "float32"

    @property
    def penalties(self) -> Penalties:
        """The weights of the transport problem."""
        return Penalties(self.epsilon, self.lambda1, self.lambda2)

    @property
    def encoder_spec(self) -> EncoderSpec:
        """The settings that decide the vectors."""
        return EncoderSpec(
            self.encoder, self.pooling, self.layer, self.revision, self.max_length, self.dtype
        )

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The encoder."""
        return (self.encoder,)

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the facts that decide edits, and the encoder's files."""
        identity = self.encoder_spec.checkpoint().identity
        return {**super().extra_signature(runtime), "encoder": identity}

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Compute TP, FP, FN: systems × sentences × references × 3; details have them by type."""
        tally = self.tally(corpus, runtime)
        for start in range(0, len(corpus), _WINDOW):
            rows = range(start, min(start + _WINDOW, len(corpus)))
            places, vectors = tally.collect(rows)
            tally.add(places, self.transported(list(places), vectors))
        solver = {"pairs": tally.pairs, "unsolved": tally.unsolved}
        types, notes = tally.types, self._notes(tally)
        # The function refers to the types only: the tally would keep the edits and corpus alive.
        counts = TypedCounts(
            tally.values,
            lambda *place: types[place],
            tally.edits,
            notes,
            details=lambda chosen: {"solver": solver},
        )
        return next(self.typed_statistics([counts.without_hits(wordless(corpus))]))

    def tally(self, corpus: Corpus, runtime: Runtime) -> Tally:
        """Return an empty tally of the corpus."""
        edits = self.edits(corpus, runtime)
        return Tally(corpus, edits, self.encoder_spec, self.vectorise, runtime)

    def _notes(self, tally: Tally) -> list[str]:
        """Return notes for the user on cut texts, edits without mass and unsolved problems."""
        notes = []
        if tally.truncated:
            notes.append(
                f"{self.name}: {tally.truncated} distinct texts are longer than the encoder reads "
                f"and were cut at {self.max_length} word pieces or the model's own limit"
            )
        if tally.massless:
            notes.append(
                f"{self.name}: {tally.massless} of {tally.vectors} distinct edits do not change "
                "the encoder's vector (e.g. case, for a lower-casing encoder) and have no mass"
                + (
                    "; a reference with such an edit is scored by POT's plan, as published, unless "
                    "that plan is out of proportion to the masses (solver=pot: always by POT's "
                    "plan; solver=optimum: they count neither for nor against)"
                    if self.solver == "published"
                    else ": they count neither for nor against"
                )
            )
        if tally.unsolved:
            notes.append(
                f"{self.name}: {tally.unsolved} of {tally.pairs} transport problems could not be "
                "solved (numbers are not finite, or penalties far above epsilon) and are not "
                "scored"
            )
        return notes

    def align(self, pairs: Sequence[EditSets], runtime: Runtime | None = None) -> list[Alignment]:
        """Transport mass between the edits of hypothesis and reference for each pair."""
        encoder = load_encoder(self.encoder_spec, runtime)
        sets = list(dict.fromkeys(edit_set for pair in pairs for edit_set in pair))
        vectors, _ = edit_vectors(sets, self.vectorise, encoder)
        return self.transported(pairs, dict(zip(sets, vectors, strict=True)))

    def transported(
        self, pairs: Sequence[EditSets], vectors: Mapping[EditSet, FloatArray]
    ) -> list[Alignment]:
        """Align pairs of edit sets whose vectors are given; see `align`."""
        problems = self.problems(pairs, vectors)
        return [
            Alignment(problem.a, problem.b, problem.cost, first.edits, second.edits, plan)
            for (first, second), problem, plan in zip(
                pairs, problems, self.plans(problems), strict=True
            )
        ]

    def problems(
        self, pairs: Sequence[EditSets], vectors: Mapping[EditSet, FloatArray]
    ) -> list[Problem]:
        """Return the transport problem of each pair of edit sets."""
        weights = {
            edit_set: masses(set_vectors, self.mass) for edit_set, set_vectors in vectors.items()
        }
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
        """Return the plan of each problem, shaped like its costs; None if no optimum was found."""
        # Nothing moves if one side has no edits; the solvers would not accept such a problem.
        live = [place for place, problem in enumerate(problems) if problem.cost.size]
        live_problems = [problems[place] for place in live]
        solved: Sequence[FloatArray | None]
        if self.transport == "balanced":
            solved = [balanced_plan(problem) for problem in live_problems]
        elif self.solver == "pot":
            solved = [_finite(pot_plan(problem, self.penalties)[0]) for problem in live_problems]
        else:
            solved = solve(live_problems, self.penalties)
            if self.solver == "published":
                solved = [
                    plan if problem.b.all() else self._published(problem, plan)
                    for problem, plan in zip(live_problems, solved, strict=True)
                ]
        plans: list[FloatArray | None] = [np.zeros_like(problem.cost) for problem in problems]
        for place, plan in zip(live, solved, strict=True):
            plans[place] = plan
        return plans

    def _published(self, problem: Problem, optimum: FloatArray | None) -> FloatArray | None:
        """Return the published plan for a reference edit without mass, or the optimum.

        The published figures are not followed where POT has multiplied a scaling above its
        threshold into the plan: they may then be thousands and say nothing about the correction.
        """
        plan, sound = abandoned_plan(problem, self.penalties)
        return _finite(plan) if sound else optimum

    @property
    def rule(self) -> RunningRule:
        """The rule that chooses by F, then more TP, fewer FP, fewer FN, as in ERRANT."""
        return best_f(self.beta, clip=self.clip)

    def scores_of(self, counts: FloatArray, level: ScoreLevel) -> Scores:
        """Return F, precision and recall of the mass transported and left; NaN without a plan."""
        return super().scores_of(np.maximum(counts, 0.0) if self.clip else counts, level)

    def sweep(
        self, points: Sequence[Mapping[str, Any]], corpus: Corpus, runtime: Runtime
    ) -> Iterator[FloatArray] | None:
        """Return sentence scores for several λ1 and λ2; the edits are encoded once."""
        if any(point.keys() - {"lambda1", "lambda2"} for point in points):
            return None
        places, vectors = self.tally(corpus, runtime).collect(range(len(corpus)))
        problems, cells = self.problems(list(places), vectors), list(places.values())
        return (best_scores(replace(self, **point), corpus, problems, cells) for point in points)

    def vectors_of(
        self, corpus: Corpus, runtime: Runtime
    ) -> tuple[list[tuple[str, int, Edit]], FloatArray]:
        """Return all edits of all systems with their system and line, and their vectors.

        Raises:
            InputError: there is no edit.
        """
        edits = self.edits(replace(corpus, references=()), runtime)
        sets, placed = [], []
        for name, rows in edits.systems.items():
            for row, proposed in enumerate(rows):
                if real := counted_edits(proposed):
                    sets.append(EditSet(" ".join(corpus.sources[row].split()), real))
                    placed += [(name, row, edit) for edit in real]
        if not sets:
            raise InputError("no hypothesis changes its source: there is no edit to look at")
        encoder = load_encoder(self.encoder_spec, runtime)
        vectors, _ = edit_vectors(sets, self.vectorise, encoder)
        return placed, np.concatenate(vectors)

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return the share of an edit's mass that is transported; 0 for an edit without mass."""
        references = self.reference_edits(corpus, runtime)
        corrections, place = distinct_corrections(cases)
        texts = [" ".join(source.split()) for source in corpus.sources]
        pairs = [
            (EditSet(texts[row], edits), EditSet(texts[row], counted_edits(lines[row])))
            for row, edits in corrections
            for lines in references
        ]
        aligned = self.align(pairs, runtime)
        counts = np.array([alignment.counts for alignment in aligned])
        counts = counts.reshape(len(corrections), len(references), 3)
        credit = np.full((len(cases), len(references)), np.nan)
        massless = 0
        for number, case in enumerate(cases):
            at = case.edits.index(case.edit)
            first = int(place[number]) * len(references)
            massless += aligned[first].a[at] == 0
            for index, alignment in enumerate(aligned[first : first + len(references)]):
                if alignment.plan is not None:
                    sent, mass = float(alignment.plan[at].sum()), float(alignment.a[at])
                    credit[number, index] = sent / mass if mass > 0 else 0.0
        note = f"{self.name}: {massless} judged edits have no mass and so no credit"
        return self.credited(credit, counts, place, (note,) if massless else ())

    def explain(
        self, source: str, hypothesis: Edits, reference: Edits, runtime: Runtime
    ) -> Explanation:
        """Show the transport plan: each edit's mass, where it went, and what was left."""
        text = " ".join(source.split())
        pair = (EditSet(text, counted_edits(hypothesis)), EditSet(text, counted_edits(reference)))
        (alignment,) = self.align([pair], runtime)
        plan = np.full(alignment.cost.shape, np.nan) if alignment.plan is None else alignment.plan
        tp, fp, fn = alignment.counts
        # The whole plan is shown, even if `clip` would bound its counts.
        counts = (np.array(count) for count in alignment.counts)
        p, r, f = (float(x) for x in precision_recall_f(*counts, beta=self.beta))
        scores = {"score": f, "precision": p, "recall": r, "tp": tp, "fp": fp, "fn": fn}
        proposed, gold = alignment.hypothesis, alignment.reference
        rows = [
            *_side(source, "hypothesis", proposed, alignment.a, plan, gold, "sent"),
            *_side(source, "reference", gold, alignment.b, plan.T, proposed, "received"),
        ]
        notes: tuple[str, ...] = ()
        if alignment.plan is None:
            notes = ("no optimum was found: not scored",)
        elif fp < 0 or fn < 0:
            notes = ("more mass was moved than one side has: its rest is negative, as published",)
        heat_map = HeatMap(
            "Transport plan: mass moved from hypothesis edits (rows) to reference edits (columns)",
            tuple(f"{edit_label(e)} ({m:.3f})" for e, m in zip(proposed, alignment.a, strict=True)),
            tuple(f"{edit_label(e)} ({m:.3f})" for e, m in zip(gold, alignment.b, strict=True)),
            plan,
        )
        return Explanation(
            scores,
            ("side", "edit", "from", "type", "mass", "moved", "left", "partner", "partner_mass"),
            rows,
            heat_map,
            notes,
        )


def _side(
    source: str,
    side: str,
    edits: Edits,
    weights: FloatArray,
    plan: FloatArray,
    others: Edits,
    verb: str,
) -> list[dict[str, str | float | None]]:
    """Return one row for each edit of a side: where its mass went to or came from."""
    rows = []
    for index, (edit, mass) in enumerate(zip(edits, weights, strict=True)):
        moved = float(plan[index].sum()) if len(others) else 0.0
        best = int(plan[index].argmax()) if len(others) else -1
        rows.append(
            {
                "side": f"{side} ({verb})",
                "edit": edit_label(edit),
                "from": words(source, edit),
                "type": edit.type,
                "mass": float(mass),
                "moved": moved,
                "left": float(mass) - moved,
                "partner": edit_label(others[best]) if best >= 0 else None,
                "partner_mass": float(plan[index, best]) if best >= 0 else None,
            }
        )
    return rows


def best_scores(
    scorer: UOTERRANT, corpus: Corpus, problems: list[Problem], places: list[list[EditPlace]]
) -> FloatArray:
    """Return sentence scores under the best reference: systems × sentences."""
    totals = np.array([[problem.a.sum(), problem.b.sum()] for problem in problems])
    cells = np.array([cell for where in places for cell in where]).T
    owner = np.repeat(np.arange(len(places)), [len(where) for where in places])
    moved = np.array([np.nan if plan is None else plan.sum() for plan in scorer.plans(problems)])
    counts = np.array([moved, totals[:, 0] - moved, totals[:, 1] - moved])
    tp, fp, fn = np.maximum(counts, 0.0) if scorer.clip else counts
    scores = np.empty((len(corpus.systems), len(corpus), len(corpus.references)))
    scores[tuple(cells)] = precision_recall_f(tp, fp, fn, beta=scorer.beta)[2][owner]
    scores[wordless(corpus)] = 0.0
    best: FloatArray = np.fmax.reduce(scores, axis=2)
    return best
