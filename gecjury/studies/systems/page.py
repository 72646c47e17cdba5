"""The page of systems, which score, rank, diff and alarms share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gecjury.report.result import Result
from gecjury.report.verdict import opening
from gecjury.scoring.by_edit import TypeLevel
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.figure import Figure
from gecjury.studies.study import Study, Work
from gecjury.studies.systems.ranking import Ranking

Sentences = Mapping[str, Sequence[tuple[str, Sequence[tuple[str, str]]]]]
"""Sentences by group: a line on each, and its versions by name, with their edits marked."""
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
        differences: figures on the differences of two systems.
        sentences_on_page: sentences for the page; by default those that cost most.
    """

    rankings: tuple[Ranking, ...] = field(kw_only=True)
    work: Work = field(kw_only=True)
    kicker: str = field(kw_only=True)
    scored: tuple[ScoreTable, ...] = field(default=(), kw_only=True)
    differences: tuple[Figure, ...] = field(default=(), kw_only=True)
    sentences_on_page: Sentences | None = field(default=None, kw_only=True)

    def figures(self) -> list[Figure]:
        """Return the numbers of every system, then the differences."""
        return [*(f for one in self.rankings for f in one.figures()), *self.differences]


class SystemsStudy(Study):
    """A study whose result is written as the page of systems."""

    def html(self, result: Result) -> str:
        """Return the result as one page, with the sentences that matter most."""
        assert isinstance(result, Systems)
        return page_of(result)


def opening_of(rankings: Sequence[Ranking]) -> tuple[str, ...]:
    """Return who leads by the first metric, and whether the others agree."""
    return opening({one.metric: one.lead for one in rankings})


def page_of(result: Systems, level: TypeLevel = USUAL_LEVEL, worst: int = USUAL_WORST) -> str:
    """Return a result as one page: who leads, then scores, error types, sentences and the rest.

    Args:
        level: how error types are distinguished.
        worst: number of the costliest sentences of each metric and system.
    """
    # Imported here: most results are never written as a page.
    from gecjury.report.page.listed import SystemsPage, systems_html
    from gecjury.studies.systems.costly import judged_groups
    from gecjury.studies.systems.parts import by_type, cost_tables

    corpus, scored = result.work.corpus, result.scored
    main, *others = result.shown_to("verbose")
    sentences = result.sentences_on_page
    if sentences is None:
        sentences = judged_groups(result.work, scored, worst)
    # These have sections of their own.
    own = ("Sentences that cost most", "Sentences that moved most")
    others = [t for t in others if not t.title.startswith(own) and t.title != "By error type"]
    sizes = {
        "system": len(corpus.names),
        "sentence": len(corpus),
        "reference": len(corpus.references),
    }
    facts = [f"{n} {thing}{'s' * (n != 1)}" for thing, n in sizes.items() if n]
    title = result.title
    if len(corpus.names) > _MOST_NAMED:
        title = title.replace(", ".join(corpus.names), facts[0])
    return systems_html(
        SystemsPage(
            kicker=result.kicker,
            title=title,
            language=result.language,
            names=result.short_names(),
            verdict=result.verdict or opening_of(result.rankings),
            leads={one.metric: one.lead for one in result.rankings},
            figures=result.figures(),
            main=main,
            types=cost_tables([part for table in scored for part in by_type(table, level)]),
            sentences=sentences,
            tables=others,
            facts=facts,
            notes=result.notes,
            signatures=list(
                dict.fromkeys(one.signature for one in result.rankings if one.signature)
            ),
        )
    )
