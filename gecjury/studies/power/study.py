"""How many sentences, systems or judgments are needed to detect a difference: `gecjury power`.

The study answers four questions from the data at hand; `gecjury.stats.sizes` has the statistics
behind the answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.settings import option
from gecjury.report.result import Column, Record, Result, Table
from gecjury.scoring.given_scores import GivenScores
from gecjury.scoring.scores import Plan
from gecjury.stats.resampling import Resampling
from gecjury.stats.sizes import (
    FEWEST,
    Quantity,
    jackknife_deviation,
    middle_pair,
    needed,
    needed_for_width,
    share_told,
    spread,
)
from gecjury.studies.power.questions import Asked, Question, answerable, of_scores_alone
from gecjury.studies.study import Study, Takes, Work, function_of

_FROM = (50, 100, 200)  # sizes of the subsamples whose forecasts are tested
_TRIES = 60  # subsamples of each size
_OF_GLEU = (
    "gleu: its length penalty is one-sided, so that scores of samples are biased where outputs are "
    "about as long as their references; the power may then be another than the one asked for"
)
_USUAL: dict[Question, tuple[float, ...]] = {
    "scores": (0.01, 0.02, 0.05),
    "judgments": (0.02, 0.05, 0.1),
    "accuracy": (0.01, 0.02, 0.05),
    "pearson": (0.02, 0.05, 0.1),
}


@dataclass(frozen=True, kw_only=True)
class Power(Study):
    """How many sentences, systems or judgments are needed to detect a difference.

    Attributes:
        pair: one of the two systems that are compared; give two (default: the median over all
            pairs).
        questions: what is compared: systems by scores or by judgments, metrics by accuracy or by
            pearson; repeat for more (default: all that the data allow).
        differences: the difference to detect; repeat for more (default: three usual ones).
        widths: the width that an interval should reach; repeat for more.
        power: the probability of detecting the difference.
        resampling: the resamples at every size, and the level of the two-sided test.
        tried: also test the method: forecasts from 50, 100 and 200 sentences next to the result of
            all.
        seed: seed of the resamples.
    """

    takes: ClassVar[Takes] = "either"
    scores_alone: ClassVar[bool] = True
    data_name: ClassVar[str] = "BENCHMARK|SCORES|SOURCE HYP"
    data: ClassVar[str] = (
        "a benchmark; files of sentence scores (.json, .csv, .tsv); or a source file and at least "
        "two outputs"
    )
    metrics: ClassVar[str] = (
        "metric whose scores are compared (see `gecjury metrics`); two or more are also compared "
        "by their agreement with people"
    )
    pair: tuple[str, ...] = option((), "--system", metavar="NAME")
    questions: tuple[Question, ...] = option((), "--what")
    differences: tuple[float, ...] = option((), "-d", "--difference", metavar="D", above=0)
    widths: tuple[float, ...] = option((), "--width", metavar="W", above=0)
    power: float = option(0.8, metavar="P", within=(0, 1))
    resampling: Resampling = option(
        Resampling(over="sentences", resamples=300), offers=("level", "resamples")
    )
    tried: bool = option(False, "--try")
    seed: int = option(0, least=0)

    def __post_init__(self) -> None:
        super().__post_init__()
        level, resamples = self.resampling.level, self.resampling.resamples
        if self.power <= level:
            raise OptionError(f"--power {self.power}: expected more than --level {level}")
        if not 20 <= resamples <= 100_000:
            raise OptionError(f"--resamples {resamples}: expected 20 to 100000")
        if len(self.pair) not in (0, 2) or len(set(self.pair)) < len(self.pair):
            named = ", ".join(self.pair)
            raise OptionError(f"--system: {named} named; expected two systems, or none for all")

    def plans(self, work: Work) -> list[Plan]:
        """Return the requests that the metrics would send to services; none for scores alone."""
        return [] if work.data is None else super().plans(work)

    def check(self, work: Work) -> None:
        """Refuse data without two systems, and questions that scores alone cannot answer."""
        if work.data is None and all(isinstance(one, GivenScores) for one in work.scorers):
            for question in self.questions:
                if question != "scores":
                    raise OptionError(
                        f"--what {question}: expected a benchmark with people's judgments"
                    )
            return
        corpus = work.corpus
        if len(corpus.systems) < 2:
            raise InputError(f"{len(corpus.systems)} system: a difference needs two")
        for name in self.pair:
            if name not in corpus.systems:
                raise OptionError(f"--system {name}: {nearest(name, corpus.names)}")
        super().check(work)

    def run(self, work: Work) -> Result:
        """Measure how differences vary, and compute how much data detects them.

        Table `rows` has one record per question, metric and target: the number of `pairs` of
        systems or metrics whose medians it contains; the `target` (`difference` or `width`) and its
        `value`; the `unit` that is counted, how many are `at_hand` and `needed` (`between`: 90% by
        resampling the influences of one pair, or from the 10th to the 90th percentile of pairs);
        the `observed` difference without sign, its standard `error`, and c of error = c / √n by the
        fit (`deviation`) and by the jackknife (`analytic`); `told`: the share of resamples of the
        needed size in which the test detects the difference, None if so much cannot be drawn;
        `slope`: the exponent by which the error falls, which is assumed to be −0.5.

        Table `forecasts` has one record per question and size of subsamples (`start`): the `error`
        that they forecast at the `size` of all, the error `observed` there, the number `needed` to
        detect the difference `value`, and `needed_all`, the number from all data.

        Raises:
            OptionError: the data cannot answer a question, or answer none at all.
            InputError: there are too few data, or nothing differs.
        """
        notes: tuple[str, ...] = ()
        # With scores computed elsewhere, there are neither texts nor people's judgments.
        if work.data is None:
            scores = [one for one in work.scorers if isinstance(one, GivenScores)]
            asked = [of_scores_alone(one, self.pair) for one in scores]
        else:
            tables = list(zip(work.scorers, work.scores(), strict=True))
            remarks = (note for _, table in tables for note in table.statistics.notes)
            notes = tuple(dict.fromkeys(remarks))
            asked = answerable(tables, work.benchmark, self.questions, self.pair)
            if any(one.question == "scores" and one.label.startswith("gleu") for one in asked):
                notes += (_OF_GLEU,)
        if not asked:
            raise OptionError(
                "these data answer no question: give a metric with -m, or a benchmark with "
                "people's judgments"
            )
        for one in asked:
            _check_varies(one)
        needs = [need for one in asked for need in self._needs(one)]
        shown = [self._need_table(needs, notes, work.named)]
        if self.tried:
            shown.append(_forecast_table([row for one in asked for row in self._forecasts(one)]))
        facts = {
            "inputs": work.inputs,
            "power": self.power,
            "level": self.resampling.level,
            "resamples": self.resampling.resamples,
            "seed": self.seed,
            "forecasts": (),
        }
        return Result(tuple(shown), facts, notes)

    def _needs(self, asked: Asked) -> Iterator[dict[str, Any]]:
        """Yield how much data every target of one question needs."""
        quantity = asked.quantity
        deviation, slope = self._fit(quantity)
        # Measured twice, by resampling and by the jackknife, so that each checks the other.
        influences = quantity.influences()
        analytic = jackknife_deviation(influences, quantity.size)
        # Converted to units: a sentence may have several judged pairs.
        c = deviation * np.sqrt(asked.rate)
        middle = float(np.nanmedian(c)) if np.isfinite(c).any() else math.nan
        at_hand = float(np.median(quantity.size * np.asarray(asked.rate)))
        # For one pair the influences are resampled; several pairs show how c varies.
        if len(quantity.observed) == 1:
            rng = np.random.default_rng([self.seed, 2])
            rows = rng.integers(len(influences), size=(2000, len(influences)))
            ratios = spread(influences[rows, 0].T) / spread(influences)[0]
            low, high = (middle * np.quantile(ratios, [0.05, 0.95])).tolist()
        else:
            low, high = np.nanquantile(c, [0.1, 0.9]).tolist()
        for_width = partial(needed_for_width, level=self.resampling.level)
        usual = () if self.widths else _USUAL[asked.question]
        targets: list[tuple[Literal["difference", "width"], float]] = [
            *(("difference", value) for value in self.differences or usual),
            *(("width", value) for value in self.widths),
        ]
        for target, value in targets:
            count = self._needed if target == "difference" else for_width
            # Only the middle pair is tried, since trying all pairs would take too long.
            share, pair = None, middle_pair(c)
            if target == "difference" and pair is not None:
                rate = float(np.broadcast_to(asked.rate, c.shape)[pair])
                parts = round(count(float(c[pair]), value) / rate)
                share = self._share_told(quantity, pair, parts, deviation, value)
            yield {
                "question": asked.question,
                "label": asked.label,
                "pairs": len(quantity.observed),
                "target": target,
                "value": value,
                "unit": asked.unit,
                "at_hand": round(at_hand),
                "observed": float(np.nanmedian(np.abs(quantity.observed))),
                "deviation": middle,
                "analytic": float(np.nanmedian(analytic * np.sqrt(asked.rate))),
                "error": middle / math.sqrt(at_hand),
                "needed": count(middle, value),
                "between": (count(low, value), count(high, value)),
                "told": share,
                "slope": slope,
            }

    def _fit(self, quantity: Quantity) -> tuple[FloatArray, float]:
        return quantity.fit(self.resampling.resamples, np.random.default_rng([self.seed, 1]))

    def _needed(self, c: float, value: float) -> int:
        return needed(c, value, self.power, self.resampling.level)

    def _share_told(
        self, quantity: Quantity, pair: int, parts: int, deviation: FloatArray, value: float
    ) -> float | None:
        return share_told(
            quantity,
            pair,
            parts,
            deviation=float(deviation[pair]),
            value=value,
            level=self.resampling.level,
            resamples=self.resampling.resamples,
            rng=np.random.default_rng([self.seed, 3]),
        )

    def _forecasts(self, asked: Asked) -> Iterator[dict[str, Any]]:
        """Yield forecasts from subsamples, with the results of all data."""
        quantity = asked.quantity
        # A separate random stream, so that --try does not change the figures of the other table.
        rng = np.random.default_rng([self.seed, 4])
        value = (self.differences or _USUAL[asked.question])[0]
        deviation, _ = self._fit(quantity)
        # Forecasts are compared with this error, so it uses more resamples than they do.
        observed = quantity.errors(quantity.size, 4 * self.resampling.resamples, rng)
        pair = middle_pair(deviation)
        for start in _FROM:
            if start >= quantity.size:
                continue
            # Each subsample shows what a user with so few sentences would forecast.
            tries = []
            for _ in range(_TRIES):
                rows = np.sort(rng.choice(quantity.size, start, replace=False))
                tries.append(np.nanmedian(jackknife_deviation(quantity.influences(rows), start)))
            low, middle, high = np.nanquantile(np.array(tries), [0.05, 0.5, 0.95]).tolist()
            root, count = math.sqrt(quantity.size), self._needed(middle, value)
            yield {
                "question": asked.question,
                "label": asked.label,
                "start": start,
                "size": quantity.size,
                "unit": asked.parts,
                "error": middle / root,
                "between": (low / root, high / root),
                "observed": float(np.nanmedian(observed)),
                "value": value,
                "needed": count,
                "needed_between": (self._needed(low, value), self._needed(high, value)),
                "needed_all": self._needed(float(np.nanmedian(deviation)), value),
                "told": None
                if pair is None
                else self._share_told(quantity, pair, count, deviation, value),
            }

    def _need_table(self, rows: Sequence[Record], notes: Sequence[str], named: str) -> Table:
        columns = [
            Column("question"),
            Column("label", "of"),
            Column("target"),
            Column("value", digits=4),
            Column("needed"),
            Column("range", "between", value=lambda row: "{}-{}".format(*row["between"])),
            Column("unit"),
            Column("at_hand", "at hand"),
            Column("error", "error there", 4),
            Column("observed", digits=4),
            Column("told", "power tried", 2),
        ]
        slopes = [row["slope"] for row in rows]
        several = max(row["pairs"] for row in rows)
        about = [
            f"needed: to detect a difference with {self.power:.0%} power at "
            f"{self.resampling.level:g} (two-sided), or for an interval of the width; between: 90% "
            "interval for one pair, 10th to 90th percentile of pairs for several (here up to "
            f"{several})",
            "error there: standard error of the difference with what is at hand; observed: the "
            "difference at hand; power tried: share of resamples of the needed size that detect it",
            f"assumed: errors fall with the square root of the size; measured exponents "
            f"{min(slopes):.2f} to {max(slopes):.2f} (-0.50 expected)",
            *notes,
        ]
        return Table(columns, rows, f"How much data a difference needs{named}", about, "rows")


def _forecast_table(rows: Sequence[Record]) -> Table:
    columns = [
        Column("question"),
        Column("label", "of"),
        Column("start", "from"),
        Column("error", "forecast error", 4, "between"),
        Column("observed", "observed error", 4),
        Column("value", "difference", 4),
        Column("needed", "forecast needed"),
        Column("range", "between", value=lambda row: "{}-{}".format(*row["needed_between"])),
        Column("needed_all", "by all"),
        Column("told", "power tried", 2),
    ]
    note = (
        "forecast error: at the size of all sentences, from subsamples of so many, median [5%, "
        "95%]; observed error: by resampling all; power tried: share of resamples of all, of the "
        "forecast size, in which the difference is detected"
    )
    return Table(columns, rows, "Forecasts from few sentences", [note], "forecasts")


def _check_varies(asked: Asked) -> None:
    """Refuse data that are too few to resample, or that never differ.

    Raises:
        InputError: there are too few data, or no differences.
    """
    size = asked.quantity.size
    if size < FEWEST:
        raise InputError(f"{size} {asked.parts}: a standard error needs at least {FEWEST}")
    # A few resamples show whether anything varies at all.
    if not (asked.quantity.errors(size, 30, np.random.default_rng(0)) > 0).any():
        raise InputError(
            f"{asked.label}: the systems do not differ in any sentence, so no number of sentences "
            "detects a difference"
        )


power = function_of(Power)
