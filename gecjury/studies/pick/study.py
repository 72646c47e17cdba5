"""Which of several corrections of every sentence is the best: `gecjury pick`.

The best one has the highest score of a metric, or is the most like the others.

Example:
    >>> from gecjury import corpus_of_texts, pick
    >>> corpus = corpus_of_texts(["He go ."], {"a": ["He goes ."], "b": ["She go home ."]})
    >>> pick(corpus, ["changes"]).rows()[0]["chosen"]
    {'a': 0, 'b': 1}
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

from gecjury.core.durable import write_text
from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import option
from gecjury.core.textfiles import lines_text
from gecjury.core.wording import as_note, number
from gecjury.report.result import Column, Result, Table
from gecjury.studies.inputs import Files, Inputs
from gecjury.studies.study import Study, Work, function_of

if TYPE_CHECKING:
    from gecjury.core.arrays import FloatArray
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import Plan


@dataclass(frozen=True, kw_only=True)
class Pick(Study):
    """The best of several corrections of every sentence.

    Attributes:
        mbr: choose by minimum Bayes risk: every output is scored against the others by a metric
            that uses references (errant, green, gleu).
        output: write the corrections to this file.
    """

    inputs: ClassVar[Inputs] = Files()
    metrics: ClassVar[str] = "choose by this metric's score (see `gecjury metrics`)"
    mbr: str | None = option(None, metavar="METRIC")
    output: str | None = option(None, "-o", "--output", metavar="FILE")

    def __post_init__(self) -> None:
        super().__post_init__()
        # `--mbr` scores one text with others as its references and has nothing else to read.
        utility = self._utility
        if utility is not None and (utility.needs != {"references"} or utility.joint):
            raise OptionError(
                f"`mbr={utility.name}`: expected a metric that compares one text with references "
                "and needs nothing else, such as errant, green or gleu"
            )

    @property
    def _utility(self) -> Scorer | None:
        from gecjury.scoring.registry import load

        return load(self.mbr) if self.mbr else None

    def plans(self, work: Work) -> list[Plan]:
        """Return the requests that the metric would send to services."""
        more = [] if self._utility is None else [self._utility]
        return super().plans(replace(work, scorers=(*work.scorers, *more)))

    def check(self, work: Work) -> None:
        """Refuse data that leave no choice, and anything but one way to choose."""
        corpus = work.corpus
        if len(work.scorers) + (self.mbr is not None) != 1:
            raise OptionError("expected one way to choose: a metric with -m, or `mbr=errant`")
        if len(corpus.systems) < 2:
            raise InputError(
                f"{len(corpus.systems)} output to choose among: give at least two files of "
                "corrections"
            )
        # Checked before the general check, whose message does not suggest --mbr.
        for scorer in work.scorers:
            if "references" in scorer.needs and not corpus.references:
                raise InputError(
                    f"{scorer.name} needs references: use a metric that reads none, choose by "
                    f"agreement of the candidates (`mbr={scorer.name}`), or give references with "
                    "-r FILE"
                )
        super().check(work)

    def run(self, work: Work) -> Result:
        """Choose one correction per sentence.

        Table `rows` has one record on the way of choosing: for how many sentences each system was
        `chosen`, and how many have `tied` scores or are `unscored`. Table `lines` has one record
        per sentence: the system `chosen`, its `text`, and the `scores` of all systems.
        """
        from gecjury.corpus.remarks import remarks_on
        from gecjury.stats.figure import figures_by
        from gecjury.studies.pick.candidates import agreement, choose_best, metric_scores

        corpus, start, scorer = work.corpus, time.perf_counter(), self._utility
        if scorer is None:
            scorer = work.scorer
            label, signature, scores, remarks = metric_scores(scorer, corpus, work.runtime)
        else:
            label, signature, scores, remarks = agreement(scorer, corpus, work.runtime)
            remarks += remarks_on(corpus, ())
        indices, tied, unscored = choose_best(scores, corpus)
        best, names = indices.tolist(), corpus.names
        # Corrections are written as they were given, not as they were read.
        texts = [v.lines if v.text is None else v.text for v in corpus.systems.values()]
        lines = [texts[system][row] for row, system in enumerate(best)]
        if unscored:
            remarks.append(
                f"{label} scored none of the corrections of {number(unscored)} sentences; "
                f"{names[0]} was used for them"
            )
        if self.output:
            write_text(self.output, lines_text(lines), follow=True)
        counts = {name: best.count(row) for row, name in enumerate(names)}
        method = {"method": label, "signature": signature, "chosen": counts, "tied": tied}
        method |= {"unscored": unscored, "seconds": (seconds := time.perf_counter() - start)}
        chosen = {name: {"chosen": count} for name, count in counts.items()}
        about, notes = {"metric": label, "family": scorer.family}, tuple(dict.fromkeys(remarks))
        often = ", ".join(f"{name} {number(count)}" for name, count in counts.items())
        said = (
            f"{label}: {number(len(lines))} sentences in {seconds:.1f} s; chosen: {often} (among "
            f"equals, the first file named; {number(tied)} ties of different texts)"
        )
        return Result(
            (Table((), [method], name="rows"), _lines_table(best, names, lines, scores)),
            {"sentences": len(corpus)},
            notes,
            int(unscored > 0),
            (*map(as_note, notes), said),
            # Programs read the corrections line by line, so nothing else is printed among them.
            text="" if self.output else lines_text(lines),
            numbers=tuple(figures_by("system", chosen, level="pick", n=len(lines), **about)),
        )


def _lines_table(
    best: Sequence[int], names: Sequence[str], lines: Sequence[str], scores: FloatArray
) -> Table:
    records = [
        {
            "line": row + 1,
            "chosen": names[system],
            "text": lines[row],
            "scores": dict(zip(names, scores[:, row].tolist(), strict=True)),
        }
        for row, system in enumerate(best)
    ]
    return Table([*map(Column, ("line", "chosen", "text"))], records, name="lines")


pick = function_of(Pick)
