"""The result of one scorer on one corpus: systems × sentences, totals, and its signature."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from gecjury.core.arrays import FloatArray, IntArray, NumberArray, draw_weights, settled
from gecjury.core.textfiles import JsonValue
from gecjury.core.wording import duration, html_table, number, visible
from gecjury.scoring.signature import Signature


@dataclass(frozen=True)
class Statistics:
    """The statistics of one pass over a corpus, sufficient for every score and for resampling.

    Attributes:
        values: systems × sentences × ..., the scorer's own layout; a sentence that was not scored
            is NaN (integer statistics are for scorers that always score).
        items: systems × groups, the score of each hypothesis in each `Corpus.groups` entry, for
            scorers that judge side by side; NaN where a system is not in the group.
        details: other information from the scorer (counts, audits), as JSON values.
        notes: sentences for the user, e.g. how many texts were cut.
        sentence_types: for a system and a sentence (by number), TP (0), FP (1) and FN (2) of each
            error type under the reference that the corpus score used; only for metrics that count
            types, and only right after scoring, since it is not stored in files.
    """

    values: NDArray[Any]
    items: FloatArray | None = None
    details: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    sentence_types: Callable[[int, int], Mapping[tuple[str, int], float]] | None = field(
        default=None, repr=False, compare=False
    )

    @classmethod
    def joined(cls, rows: Sequence[Statistics]) -> Statistics:
        """Return the statistics of systems that were scored one by one.

        Details that are tables by system are joined; of others, those of the last system are kept.
        """
        items = [row.items for row in rows if row.items is not None]
        details: dict[str, Any] = {}
        for row in rows:
            for key, value in row.details.items():
                old = details.get(key)
                if isinstance(old, Mapping) and isinstance(value, Mapping):
                    value = {**old, **value}
                details[key] = value
        types = [row.sentence_types for row in rows]

        def types_of(system: int, row: int) -> Mapping[tuple[str, int], float]:
            of_one = types[system]
            return of_one(0, row) if of_one else {}

        return cls(
            np.concatenate([row.values for row in rows]),
            np.concatenate(items) if len(items) == len(rows) else None,
            details,
            tuple(dict.fromkeys(note for row in rows for note in row.notes)),
            types_of if any(types) else None,
        )


@dataclass(frozen=True)
class StoredAudit:
    """The audit of its models that a judge stored with its scores.

    Attributes:
        members: one audit for each model.
        rows: the audits as cells: `model`, `what`, `value`.
        panel: agreement of a panel's models: Krippendorff's α, `ordinal` and `interval`, and the
            number of `corrections` it is computed from; None for a single model.
    """

    members: Sequence[Mapping[str, JsonValue]]
    rows: Sequence[Mapping[str, JsonValue]]
    panel: Mapping[str, float | None] | None = None


@dataclass(frozen=True)
class Scores:
    """Scores, with precision and recall if the metric has them; all of one shape."""

    score: FloatArray
    precision: FloatArray | None = None
    recall: FloatArray | None = None

    @classmethod
    def joined(cls, parts: Iterable[Scores], count: int) -> Scores:
        """Return the scores of a corpus from those of its parts.

        Args:
            parts: systems × sentences each, in order; at least one.
            count: number of sentences of the corpus.
        """
        whole: list[FloatArray | None] = []
        start = 0
        for part in parts:
            values = (part.score, part.precision, part.recall)
            # Allocated once and filled in, since joining the parts would need twice the memory.
            whole = whole or [None if v is None else np.empty((len(v), count)) for v in values]
            stop = start + part.score.shape[1]
            for array, more in zip(whole, values, strict=True):
                if array is not None and more is not None:
                    array[:, start:stop] = more
            start = stop
        return cls(*whole)  # type: ignore[arg-type]  # the score is never None

    def take(self, rows: Sequence[int] | IntArray) -> Scores:
        """Return some rows of the first axis."""
        return self._each(lambda part: part[rows])

    def mean(self, draws: IntArray | None = None) -> Scores:
        """Return means over sentences (systems × sentences → systems), ignoring NaN.

        Args:
            draws: B × M sentence indices of resampled corpora; the result is then B × systems.
        """
        return self._each(lambda part: _mean(part, draws))

    def _each(self, function: Callable[[FloatArray], FloatArray]) -> Scores:
        parts = (self.score, self.precision, self.recall)
        return Scores(*(None if part is None else function(part) for part in parts))  # type: ignore[arg-type]  # the score is never None


def _mean(values: FloatArray, draws: IntArray | None) -> FloatArray:
    # A draw is a row of counts, so that all resampled means are one matrix product.
    scored = ~np.isnan(values)
    weights = draw_weights(draws, values.shape[1])
    # Sums of the largest numbers are infinite, and +∞ − ∞ is not defined; infinite scores are
    # refused before they are written.
    with np.errstate(over="ignore", invalid="ignore"):
        sums = weights @ np.where(scored, values, 0.0).T
    counts = weights @ scored.T.astype(np.float64)
    means: FloatArray = sums / np.where(counts > 0, counts, np.nan)
    return means[0] if draws is None else means


class SystemScores(Sequence[float]):
    """Scores of systems, accessible by position or by name."""

    def __init__(self, systems: Sequence[str], values: FloatArray) -> None:
        self._systems = tuple(systems)
        self._values = values

    @overload
    def __getitem__(self, key: str | int) -> float: ...
    @overload
    def __getitem__(self, key: slice) -> list[float]: ...
    def __getitem__(self, key: str | int | slice) -> float | list[float]:
        """Return the score of a system, by name or position; a slice gives several."""
        if isinstance(key, str):
            if key not in self._systems:
                raise KeyError(f"{key!r} is not among the systems {', '.join(self._systems)}")
            return float(self._values[self._systems.index(key)])
        if isinstance(key, slice):
            return [float(value) for value in self._values[key]]
        return float(self._values[key])

    def __len__(self) -> int:
        return len(self._systems)

    def __iter__(self) -> Iterator[float]:
        return iter(self._values.tolist())

    def items(self) -> Iterator[tuple[str, float]]:
        """Return systems with their scores, as `dict.items` does."""
        return zip(self._systems, self._values.tolist(), strict=True)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NumberArray:
        return np.array(self._values, dtype=dtype)

    def __repr__(self) -> str:
        return repr(dict(zip(self._systems, self._values.tolist(), strict=True)))


@dataclass(frozen=True, repr=False)
class ScoreTable:
    """Scores of several systems on the same sentences by one scorer.

    Attributes:
        systems: S names, in the order of the rows.
        signature: signature of the scores.
        by_sentence: S × N scores; NaN = not scored, which is neither zero nor a tie.
        by_system: S corpus scores.
        statistics: statistics from which the scores are computed.
        prints: fingerprint of each system's hypotheses.
        seconds: time that scoring took (0 if everything was read from a file).
        by_aspect: S × N scores of single aspects that people rated, if they were scored separately.
    """

    systems: tuple[str, ...]
    signature: Signature
    by_sentence: Scores
    by_system: Scores
    statistics: Statistics
    prints: Mapping[str, str]
    seconds: float = 0.0
    by_aspect: Mapping[str, FloatArray] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return a summary with the totals; the arrays are in the attributes."""
        totals = ", ".join(f"{name} {score:.4f}" for name, score in self.totals.items())
        shape = f"{len(self.systems)} systems × {self.sentences.shape[1]} sentences"
        return f"<ScoreTable {self.signature.label}: {shape}; {totals or 'no system'}>"

    def rows(self) -> list[dict[str, Any]]:
        """Return a record for each system, with its corpus score.

        The keys are `system`, `metric`, `family`, `signature` and `score`, and `precision` and
        `recall` if the metric has both.
        """
        about = {
            "metric": self.signature.label,
            "family": self.signature.family,
            "signature": str(self.signature),
        }
        measures = {"score": self.totals}
        precision, recall = self.precision, self.recall
        if precision is not None and recall is not None:
            measures |= {"precision": precision, "recall": recall}
        return [
            {"system": name, **about, **{key: values[row] for key, values in measures.items()}}
            for row, name in enumerate(self.systems)
        ]

    def _repr_html_(self) -> str:
        """Return the corpus scores for a notebook, with the signature above them."""
        rows = self.rows()
        measures = [key for key in ("score", "precision", "recall") if rows and key in rows[0]]
        cells = [[visible(row["system"]), *(number(row[k], 4) for k in measures)] for row in rows]
        return html_table(visible(str(self.signature)), ["system", *measures], cells)

    @property
    def sentences(self) -> FloatArray:
        """Sentence scores, systems × sentences; NaN = not scored."""
        return self.by_sentence.score

    def settled(self) -> ScoreTable:
        """Return the table with its scores made comparable by `gecjury.core.arrays.settled`."""
        items = self.statistics.items
        return replace(
            self,
            by_sentence=replace(self.by_sentence, score=settled(self.by_sentence.score)),
            by_system=replace(self.by_system, score=settled(self.by_system.score)),
            statistics=self.statistics
            if items is None
            else replace(self.statistics, items=settled(items)),
        )

    @property
    def totals(self) -> SystemScores:
        """Corpus scores, by position or system name."""
        return SystemScores(self.systems, self.by_system.score)

    @property
    def precision(self) -> SystemScores | None:
        """Corpus precision, if the metric has one."""
        return self._by_system(self.by_system.precision)

    @property
    def recall(self) -> SystemScores | None:
        """Corpus recall, if the metric has one."""
        return self._by_system(self.by_system.recall)

    def _by_system(self, values: FloatArray | None) -> SystemScores | None:
        return None if values is None else SystemScores(self.systems, values)

    @property
    def audit(self) -> StoredAudit | None:
        """The audit that was stored with the scores; None except for judges."""
        audit = self.statistics.details.get("audit")
        return audit and StoredAudit(audit["members"], audit["rows"], audit.get("panel"))

    @property
    def unanswered(self) -> int:
        """Number of scores that were requested and not received.

        Cells that a side-by-side scorer did not judge because no human saw them count as missing,
        but not as unanswered.
        """
        return int(self.statistics.details.get("unanswered", self.missing))

    @property
    def missing(self) -> int:
        """Number of (system, sentence) cells that were not scored."""
        return int(np.isnan(self.by_sentence.score).sum())


@dataclass(frozen=True)
class Plan:
    """The requests that scoring would send to a paid service; see `Scorer.plan`.

    Attributes:
        requests: still to be sent.
        tokens: `input` and `output`, and for reasoning models `reasoning_least` and
            `reasoning_most`, the range of hidden tokens.
        cost: `amount` (None if a price is unknown), `currency`, `prices` (their date), and for
            reasoning models `least` and `most`, the range with hidden tokens.
        seconds: how long the requests take; None if that is unknown, since only stored replies of
            the same judge show how fast its server is.
        details: other information, as JSON values.
    """

    requests: int
    tokens: Mapping[str, int]
    cost: Mapping[str, float | str | None]
    seconds: float | None = None
    details: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def total(cls, plans: Sequence[Plan]) -> Plan:
        """Return the sum of plans, without details; its cost is unknown if one of theirs is."""
        cost = {**plans[0].cost} if plans else {}
        ranges = [name for name in ("least", "most") if any(name in plan.cost for plan in plans)]
        for name in ("amount", *ranges):
            # A plan without a range counts with its amount. A sum that skipped unknown prices would
            # look complete.
            amounts = [plan.cost.get(name, plan.cost["amount"]) for plan in plans]
            priced = [float(amount) for amount in amounts if amount is not None]
            cost[name] = sum(priced) if len(priced) == len(amounts) else None
        kinds = dict.fromkeys(("input", "output", *(key for plan in plans for key in plan.tokens)))
        tokens = {key: sum(plan.tokens.get(key, 0) for plan in plans) for key in kinds}
        times = [plan.seconds for plan in plans if plan.requests]
        measured = [time for time in times if time is not None]
        seconds = sum(measured) if len(measured) == len(times) else None
        return cls(sum(plan.requests for plan in plans), tokens, cost, seconds)

    def record(self) -> dict[str, object]:
        """Return the plan for JSON, without details."""
        return {
            "requests": self.requests,
            "tokens": dict(self.tokens),
            "cost": dict(self.cost),
            "seconds": self.seconds,
        }

    def in_words(self) -> str:
        """Return what would be sent: requests, tokens, cost and, if known, time."""
        if not self.requests:
            return "no requests, since all replies are stored"
        tokens = f"{number(self.tokens['input'])} input and {number(self.tokens['output'])} output"
        if thoughts := self.tokens.get("reasoning_most"):
            least = number(self.tokens["reasoning_least"])
            tokens += f" tokens, and {least} to {number(thoughts)} of reasoning"
        else:
            tokens += " tokens"
        ends = [self.cost.get(name, self.cost["amount"]) for name in ("least", "most")]
        amounts = dict.fromkeys(_money(float(end)) for end in ends if end is not None)
        price = "at an unknown price"
        if amounts:
            price = f"for {self.cost['currency']} {' to '.join(amounts)}"
        time = "" if self.seconds is None else f", in about {duration(self.seconds)}"
        what = f"{number(self.requests)} request{'s' * (self.requests != 1)}"
        return f"{what} ({tokens}) {price}{time}"


def _money(amount: float) -> str:
    """Return an amount of money with at least two significant digits."""
    return f"{amount:.2f}" if amount >= 1 else f"{amount:.2g}"
