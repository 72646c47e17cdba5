"""The best of several corrections of every sentence: `gecjury pick`."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import option
from gecjury.core.textfiles import lines_text, write_text
from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.rows import check_system_name
from gecjury.report.result import Column, Result, Table
from gecjury.scoring.registry import Metric, load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan
from gecjury.stats.resampling import Resampling
from gecjury.studies.pick.choices import (
    Choice,
    Votes,
    check_score,
    check_utility,
    choose_by_risk,
    choose_by_score,
)
from gecjury.studies.pick.gains import MEASURES, Gains, gains_of
from gecjury.studies.study import Study, Takes, Work, function_of


@dataclass(frozen=True, kw_only=True)
class Pick(Study):
    """The best of several corrections of every sentence, and what choosing gains.

    Attributes:
        mbr: choose by minimum Bayes risk: every output is scored against the others by a metric
            that uses references (errant, green, gleu).
        votes: with --mbr, count every other file, or every other distinct text once.
        measured: show what choosing gains, by the references, instead of the corrections.
        resampling: the bootstrap over sentences, for the gain's intervals.
        seed: seed of the resamples and random picks.
        output: write the corrections to this file.
        scores: write every output's score, one line per sentence, separated by tabs; - for stdout.
    """

    takes: ClassVar[Takes] = "either"
    data: ClassVar[str] = (
        "a source file and at least two outputs to choose among, or a benchmark, whose references "
        "show what choosing gains"
    )
    metrics: ClassVar[str] = (
        "choose by this metric's score (see `gecjury metrics`); repeat with --try"
    )
    use_of_references: ClassVar[str] = ", to choose by or to --try"
    mbr: tuple[Metric, ...] = option((), metavar="METRIC")
    votes: Votes = "files"
    measured: bool = option(False, "--try")
    resampling: Resampling = option(Resampling(over="sentences"), offers=("resamples",))
    seed: int = option(0, least=0)
    output: str | None = option(None, "-o", "--output", metavar="FILE")
    scores: str | None = option(None, metavar="FILE")

    def __post_init__(self) -> None:
        super().__post_init__()
        for utility in self._utilities:
            check_utility(utility)

    @property
    def _utilities(self) -> list[Scorer]:
        return list(map(load, self.mbr))

    def plans(self, work: Work) -> list[Plan]:
        """Return the requests that the metrics of both kinds would send to services."""
        return super().plans(replace(work, scorers=(*work.scorers, *self._utilities)))

    def check(self, work: Work) -> None:
        """Refuse data that leave no choice, and incompatible ways to choose."""
        corpus, ways = work.corpus, len(work.scorers) + len(self.mbr)
        measured = self._is_measured(work)
        if not ways:
            raise OptionError("no way to choose: give a metric with -m, or --mbr errant")
        # Only one output can be written, so only one way to choose is allowed.
        if ways > 1 and (self.output or self.scores or not measured):
            raise OptionError(
                "several ways to choose give several outputs: name one of -m and --mbr, or --try "
                "them"
            )
        if len(corpus.systems) < 2:
            raise InputError(
                f"{len(corpus.systems)} output to choose among: give at least two files of "
                "corrections"
            )
        # Checked before the general check, whose message does not suggest --mbr.
        for scorer in work.scorers:
            check_score(scorer, corpus)
        super().check(work)
        for name in corpus.names if self.scores else ():
            check_system_name(name)
        if measured and not corpus.references:
            raise InputError("measuring the gain needs references: give them with -r FILE")

    def _is_measured(self, work: Work) -> bool:
        return self.measured or work.benchmark is not None

    def run(self, work: Work) -> Result:
        """Choose one correction per sentence, and measure what that gains if requested.

        Table `rows` has one record per method. If the gain is measured, it has one per output, with
        its corpus scores and its gains over the best single system (`ci95` has their bounds).
        Otherwise, table `lines` has one record per sentence: the system `chosen`, its `text`, and
        the `scores` of all systems.
        """
        corpus, runtime = work.corpus, work.runtime
        choices = [choose_by_score(scorer, corpus, runtime) for scorer in work.scorers]
        choices += [choose_by_risk(one, corpus, runtime, self.votes) for one in self._utilities]
        # Notes on the candidates come first, then notes on the ways to choose.
        alike = _alike(corpus)
        remarks = [*_remarks(corpus, alike), *(note for one in choices for note in one.notes)]
        notes = tuple(dict.fromkeys(remarks))
        first, methods = (
            choices[0],
            [
                {
                    "method": choice.label,
                    "signature": choice.signature,
                    "chosen": choice.shares,
                    "tied": choice.tied,
                    "unscored": choice.unscored,
                    "seconds": choice.seconds,
                }
                for choice in choices
            ],
        )
        # `check` lets output be written for one way only; several ways are only measured.
        if self.output:
            write_text(self.output, _text(first), follow=True)
        if self.scores and self.scores != "-":
            write_text(self.scores, score_lines(first), follow=True)
        facts: dict[str, Any] = {
            "inputs": work.inputs,
            "sentences": len(corpus),
            "alike": alike,
            "methods": methods,
            "best": {},
            "votes": self.votes,
            "resamples": self.resampling.resamples,
            "seed": self.seed,
            "measures": (),
        }
        status = int(any(choice.unscored for choice in choices))
        if self._is_measured(work):
            gains = gains_of(corpus, choices, self.resampling.resamples, self.seed, runtime)
            facts |= {"best": gains.best, "measures": gains.signatures}
            shown = self._gain_table(gains, choices, notes, work)
            return Result((Table((), gains.rows, name="rows"), shown), facts, notes, status)
        columns = [Column("line"), Column("chosen"), Column("text")]
        # Programs read the corrections line by line, so nothing else may be printed among them.
        text = "" if self.output else _text(first)
        return Result(
            (Table((), methods, name="rows"), Table(columns, _lines(first), name="lines")),
            facts,
            notes,
            status,
            (*(f"note: {note}" for note in notes), _said(first)),
            text=score_lines(first) if self.scores == "-" else text,
        )

    def _gain_table(
        self, gains: Gains, choices: Sequence[Choice], notes: Sequence[str], work: Work
    ) -> Table:
        columns = [Column("output"), Column("kind")]
        for name in MEASURES:
            columns += [
                Column(name, digits=4),
                Column(f"{name}_gain", f"{name} - best system", 4, f"{name}_ci95"),
            ]
        columns.append(Column("seconds", digits=1))
        rows = [
            {**row, **{f"{name}_ci95": row["ci95"][name] for name in MEASURES}}
            for row in gains.rows
        ]
        best = "; ".join(f"{name}: {system}" for name, system in gains.best.items())
        about = [
            "best system: chosen for each half of the sentences by the references of the other "
            f"half, ten pairs of halves, again in every resample; by all sentences {best}",
            f"[low, high]: 95% paired bootstrap over sentences, {self.resampling.resamples} "
            f"resamples, seed {self.seed}; random pick: the mean of ten; oracle: for every "
            "sentence, the text with the highest sentence score of the measure",
            *notes,
            *(choice.signature for choice in choices),
            *gains.signatures,
        ]
        title = f"What choosing gains, {number(len(work.corpus))} sentences{work.named}"
        return Table(columns, rows, title, about)


def score_lines(choice: Choice) -> str:
    """Return a tab-separated table: the line, the system chosen, every system's score."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter="\t", lineterminator="\n")
    writer.writerow(["line", "chosen", *choice.systems])
    for row, system in enumerate(choice.chosen):
        cells = ["" if math.isnan(value) else float(value) for value in choice.scores[:, row]]
        writer.writerow([row + 1, choice.systems[system], *cells])
    return out.getvalue()


def _text(choice: Choice) -> str:
    return lines_text(choice.texts)


def _said(choice: Choice) -> str:
    """Return a line on how often each system was chosen."""
    parts = ", ".join(f"{name} {number(count)}" for name, count in choice.shares.items())
    return (
        f"{choice.label}: {number(len(choice.lines))} sentences in {choice.seconds:.1f} s; chosen: "
        f"{parts} (among equals, the first file named; {number(choice.tied)} ties of different "
        "texts)"
    )


def _lines(choice: Choice) -> list[dict[str, Any]]:
    return [
        {
            "line": row + 1,
            "chosen": choice.systems[system],
            "text": text,
            "scores": dict(zip(choice.systems, choice.scores[:, row].tolist(), strict=True)),
        }
        for row, (system, text) in enumerate(zip(choice.chosen, choice.texts, strict=True))
    ]


def _alike(corpus: Corpus) -> int:
    """Return the number of sentences in which all candidates are equal."""
    versions = [version.lines for version in corpus.systems.values()]
    return sum(len(set(row)) == 1 for row in zip(*versions, strict=True))


def _remarks(corpus: Corpus, alike: int) -> list[str]:
    """Return notes on candidates that leave little to choose."""
    notes = []
    first: dict[tuple[str, ...], str] = {}
    for name, version in corpus.systems.items():
        other = first.setdefault(tuple(version.lines), name)
        if other != name:
            notes.append(f"{name} has the same lines as {other}: one file under two names?")
    if alike == len(corpus):
        notes.append("all candidates are equal in every sentence: there is nothing to choose")
    elif alike:
        notes.append(
            f"all candidates are equal in {number(alike)} of {number(len(corpus))} sentences"
        )
    return notes


pick = function_of(Pick)
