"""The page of systems, which score, rank, diff and alarms share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from gecjury.report.result import Result, Table
from gecjury.report.table import Sentences
from gecjury.stats.catalogue import statistic
from gecjury.stats.choices import TypeLevel
from gecjury.stats.figure import Figure
from gecjury.studies.study import Study, Work

if TYPE_CHECKING:
    from gecjury.scoring.scores import ScoreTable
    from gecjury.studies.systems.ranking import Ranking

USUAL_LEVEL: TypeLevel = 2
"""How error types are distinguished on the page."""
USUAL_WORST = 5
"""Sentences of each system on the page."""
_MOST_NAMED = 4  # most systems that the title of the page lists by name


@dataclass(frozen=True, repr=False)
class Systems(Result):
    """Systems with their numbers, as tables, as figures and as a page.

    Attributes:
        rankings: the systems by each metric.
        work: the texts and metrics.
        scored: the scores of each metric.
        kicker: a word on what the page shows.
        types_on_page: tables of error types for the page, before those of costs.
        sentences_on_page: what the numbers of the sentences on the page mean, and a function that
            returns them; by default those that cost most.
    """

    rankings: tuple[Ranking, ...] = field(kw_only=True)
    work: Work = field(kw_only=True)
    kicker: str = field(kw_only=True)
    scored: tuple[ScoreTable, ...] = field(default=(), kw_only=True)
    types_on_page: Mapping[str, Table] = field(default_factory=dict, kw_only=True)
    sentences_on_page: tuple[str, Callable[[], Sentences]] | None = field(
        default=None, kw_only=True
    )

    def figures(self) -> list[Figure]:
        """Return the numbers of every system, then the others."""
        return [*(f for one in self.rankings for f in one.figures()), *self.numbers]


class SystemsStudy(Study):
    """A study whose result is written as the page of systems."""

    page: ClassVar[bool | str] = True

    def html(self, result: Result) -> str:
        """Return the result as one page, with the sentences that matter most."""
        assert isinstance(result, Systems)
        return page_of(result)


def opening_of(rankings: Sequence[Ranking]) -> tuple[str, ...]:
    """Return who leads by the first metric, and whether the others agree."""
    from gecjury.report.verdict import opening

    return opening({one.metric: one.lead for one in rankings})


def page_of(result: Systems, level: TypeLevel = USUAL_LEVEL, worst: int = USUAL_WORST) -> str:
    """Return a result as one page: who leads, then scores, error types, sentences and the rest.

    Args:
        level: how error types are distinguished.
        worst: number of the costliest sentences of each metric and system.
    """
    from gecjury.report.page.listed import Details, result_html
    from gecjury.studies.systems.costly import COST, judged_groups
    from gecjury.studies.systems.parts import by_type, cost_tables

    corpus, scored, rankings = result.work.corpus, result.scored, result.rankings
    about, sentences = result.sentences_on_page or (
        COST,
        partial(judged_groups, result.work, scored, worst),
    )
    if corpus.references:
        about += " The reference is the one that shares most edits with the correction."
    sizes = {
        "system": len(corpus.names),
        "sentence": len(corpus),
        "reference": len(corpus.references),
    }
    facts = [f"{n} {thing}{'s' * (n != 1)}" for thing, n in sizes.items() if n]
    title = result.title
    if len(corpus.names) > _MOST_NAMED:
        title = title.replace(", ".join(corpus.names), facts[0])
    # Metrics are drawn by the number that systems are ranked by.
    numbers = [
        figure
        for one in rankings
        for system in one.systems
        for figure in system.numbers[: 1 if one.metric else None]
    ]
    further = (figure for figure in result.numbers if not figure.part)
    differences = [figure for figure in further if figure.statistic == "difference"]
    costs = cost_tables([part for table in scored for part in by_type(table, level)])
    shown = replace(
        result,
        title=title,
        verdict=result.verdict or opening_of(rankings),
        # Error types and sentences have sections of their own.
        tables=tuple(t for t in result.tables if not t.title.startswith(_SECTIONS)),
    )
    return result_html(
        shown,
        Details(
            kicker=result.kicker,
            facts=facts,
            statements={one.metric: one.lead.verdict() for one in rankings if one.lead.values},
            figures=[*map(_named, differences)] or numbers,
            drawn=differences[0].system if differences else "",
            types={**result.types_on_page, **costs},
            sentences=sentences(),
            about_sentences=about,
        ),
    )


_SECTIONS = ("Sentences that cost most", "Sentences that moved most", "By error type")


def _named(difference: Figure) -> Figure:
    """Return a difference as a row of a plot: named by its metric, or its rate."""
    lower = statistic(difference.metric).better == "lower"
    return replace(difference, metric="", system=difference.metric + " ↓" * lower)
