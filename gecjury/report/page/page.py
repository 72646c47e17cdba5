"""The comparison as one self-contained HTML page that can be shared and read anywhere.

This module collects the content from the result as plain values; all tags are in `templates/`.
Everything can be read without a script; the script sorts, filters and copies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from markupsafe import Markup

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.table import BENCHMARKS, View
from gecjury.core.runtime import __version__
from gecjury.core.wording import number, shortened
from gecjury.metaeval.disagreement import Consensus, camps, consensus, sentence_views
from gecjury.metaeval.result import Comparison
from gecjury.report.comparison import aggregation, drawn
from gecjury.report.page.browser import sentence_browser
from gecjury.report.page.glossary import TERMS, metric_names
from gecjury.report.page.markup import render, render_page
from gecjury.report.page.sections import (
    audit_section,
    level_sections,
    overviews,
    pairs,
    scatters,
    view_heading,
)
from gecjury.report.page.tables import (
    extents_of,
    family_html,
    family_table,
    significance_table,
    table_html,
)
from gecjury.report.tables import plain
from gecjury.report.words import BESIDE, CAN_WAIT, FAMILY_NAMES, VIEWS, ComparisonWords, Statement
from gecjury.scoring.registry import paper_of

# The whole page stays below 3 MB; sentences fill the space that tables and figures leave.
_BYTES = 2_600_000

_SECTIONS = {
    "summary": ("Summary", "In one minute"),
    "metrics": ("Metrics", "Metrics by family"),
    "significance": ("Significance", "Which differences are more than chance"),
    "edits": ("Edits", "Single edits"),
    "ratings": ("Ratings", "Ratings of single corrections"),
    "segments": ("Segments", "Segment level"),
    "labels": ("Labels", "Labels of whole corrections"),
    "audit": ("Audit", "Biases of judges"),
    "scatter": ("Systems", "Systems: people against metrics"),
    "pairs": ("Pairs", "Which systems a metric confuses"),
    "sentences": ("Sentences", "Sentences on which they disagree"),
    "settings": ("Settings", "Settings, signatures, citation"),
}


@dataclass(frozen=True)
class Section:
    """A section of the page.

    Attributes:
        key: its anchor.
        short: its name in the table of contents.
        heading: its heading.
        content: its HTML.
    """

    key: str
    short: str
    heading: str
    content: Markup


def comparison_page(answer: ComparisonWords, document: Mapping[str, object]) -> str:
    """Return a comparison as one page to read and share.

    Args:
        document: the comparison as in its JSON output, for programs that read the page.
    """
    numbers = render("numbers", numbers=plain(document))
    benchmark = answer.comparison.benchmark
    return render_page(
        kicker="metric comparison",
        title=f"Metrics on {answer.shown(benchmark.name)}",
        scripted=True,
        **_header(answer),
        sections=sections(answer, _BYTES - len(numbers.encode())),
        footer=_footer(benchmark),
        numbers=numbers,
    )


def sections(answer: ComparisonWords, budget: int) -> list[Section]:
    """Return the sections of a comparison that have content, in at most `budget` bytes."""
    content: dict[str, Markup | None] = {
        "summary": _summary(answer),
        "metrics": _metrics(answer),
        "significance": _significance(answer),
        **level_sections(answer.figures),
        "audit": audit_section(answer),
        "scatter": scatters(answer),
        "pairs": pairs(answer),
        "settings": _settings(answer),
    }
    # Sentences fill the space that the other sections leave.
    rest = sum(len(part.encode()) for part in content.values() if part)
    content |= {"sentences": _sentences(answer, budget - rest)}
    return [
        Section(key, *words, part)
        for key, words in _SECTIONS.items()
        if (part := content.get(key)) is not None
    ]


def _header(answer: ComparisonWords) -> dict[str, object]:
    """Return the values for the part above the table of contents."""
    benchmark = answer.comparison.benchmark
    name, references = answer.shown(benchmark.name), answer.shown(str(benchmark.references))
    compared = answer.comparison
    metrics = len({row.metric for row in compared.agreements if row.family not in BESIDE})
    judged = " and ".join(VIEWS[view] for view in answer.views)
    heading = f"{metrics} metric{'s' * (metrics != 1)} against people on "
    return {
        "heading": heading + (name.upper() if benchmark.name in BENCHMARKS else name),
        "sentences": answer.opening,
        "facts": [
            f"{len(compared.study.compared)} systems",
            f"{number(len(benchmark.corpus))} sentences",
            f"references: {references}",
            judged.replace(" judgments and", " and"),
        ],
        "sample": benchmark.sample,
    }


def card(heading: str, items: Sequence[Statement], careful: bool = False) -> dict[str, object]:
    """Return a card of statements by topic, some of them folded; a careful card is a warning."""
    topics: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    for item in items:
        topics[item.folded].setdefault(item.topic, []).append(item.text)
    shown = {"statements": topics[False], "folded": topics[True]}
    return {"heading": heading, **shown, "careful": careful}


def _summary(answer: ComparisonWords) -> Markup:
    cards, views = [], answer.views
    # Verdicts on edits belong with the edit-based judgments.
    place = "edit" if "edit" in views else next(iter(views), "")
    for view in views:
        items = answer.summary(view, _consensus(answer.comparison, view))
        rest = (answer.of_labels, answer.of_edits) if view == place else ()
        items += [statement for statement in rest if statement]
        if items:
            cards.append(card(VIEWS[view].capitalize(), items))
    if careful := _careful(answer):
        cards.append(card("Read with care", careful, careful=True))
    plots = overviews(answer)
    terms = {key: TERMS[key] for key in _FIRST} if plots else {}
    return render("summary", overviews=plots, terms=terms, cards=cards, glossary=TERMS)


def _consensus(comparison: Comparison, view: View) -> Consensus | None:
    """Return how far the families agree on the judged pairs of a view, if there are any."""
    tables, study = comparison.tables, comparison.study
    judged = bool(tables and study.benchmark.rankings.get(view))
    return consensus(tables, study.parts(view), camps(tables)) if judged else None


def _careful(answer: ComparisonWords) -> list[Statement]:
    """Return the cautions; under `Notes` those of the benchmark come first."""
    topics: dict[str, list[str]] = {}
    for caution in answer.cautions:
        topics.setdefault(caution.heading, []).append(caution.text)
    remarks = [] if answer.comparison.benchmark.sample else answer.notes
    topics["Notes"] = [*remarks, *topics.pop("Notes", [])]
    return [
        Statement(heading, answer.text(f"{text.rstrip('.')}."), folded=heading in CAN_WAIT)
        for heading, texts in topics.items()
        for text in texts
    ]


# Terms of the first plots are explained next to them, the others next to the table.
_FIRST = ("r", "spa", "accuracy", "interval", "people")


def _metrics(answer: ComparisonWords) -> Markup | None:
    """Return the tables of all metrics by view; None if only single edits were compared."""
    signatures = [table.signature for table in answer.comparison.tables]
    if not signatures:
        return None
    present = {signature.family for signature in signatures} | {*BESIDE}
    tables = {view: family_table(answer, view) for view in answer.views}
    words = {column.title for table in tables.values() for column in table.columns}
    return render(
        "metrics",
        legend=[family for family in FAMILY_NAMES if family in present],
        views=[(view_heading(v, answer.views), family_html(table)) for v, table in tables.items()],
        terms={k: term for k, term in TERMS.items() if term[0] in words or k == "interval"},
        names=metric_names(map(str, signatures)),
    )


def _significance(answer: ComparisonWords) -> Markup | None:
    uncertainty = answer.comparison.uncertainty
    tests, tables = uncertainty.tests if uncertainty else {}, []
    level = answer.comparison.settings.resampling.level
    for view in answer.views:
        heading = VIEWS[view].capitalize()
        for test in tests.get(view, ()):
            # The heading of a view is above the first of its tables.
            names = [answer.shown(name) for name in test.metrics]
            matrix = table_html(significance_table(test, names, level), "matrix")
            tables.append((heading, matrix))
            heading = ""
    if not tables:
        return None
    note = " ".join(extents_of(test for view in answer.views for test in tests.get(view, ())))
    return render("tabled", note=note, terms={}, listed=tables, folded="All p-values")


def _sentences(answer: ComparisonWords, budget: int) -> Markup | None:
    comparison = answer.comparison
    tables, benchmark = comparison.tables, comparison.benchmark
    if not tables:
        return None
    # Only the compared views may decide on which sentences people and metrics disagree.
    rankings: dict[str, Sequence[RankedItem]] = {
        view: items for view, items in benchmark.rankings.items() if view in answer.views
    }
    sentences = sentence_views(benchmark.corpus, tables, rankings)
    metrics = [answer.shown(table.signature.label) for table in tables]
    blocks = sentence_browser(sentences, metrics, answer, budget)
    if not blocks:
        return None
    families = {table.signature.family for table in tables}
    return render(
        "sentences",
        who="families" if len(families) > 1 else "metrics",
        shown=number(len(blocks)),
        candidates=number(len(sentences)),
        systems=[answer.shown(name) for name in benchmark.corpus.names],
        sides=[answer.shown(camp.name) for camp in camps(tables)],
        blocks=blocks,
    )


def _settings(answer: ComparisonWords) -> Markup:
    comparison = answer.comparison
    benchmark, settings = comparison.benchmark, comparison.settings
    how, names = settings.resampling, answer.names
    intervals = (
        f"{100 * how.confidence:.0f}% bootstrap, {how.resamples} resamples over "
        f"{drawn(how.over)}, seed {settings.seed}"
    )
    facts = {
        "benchmark": f"{names[benchmark.name]}, systems {answer.shown(benchmark.systems)}",
        "references": names[str(benchmark.references)],
        "system scores": aggregation(settings.aggregate, comparison.study.opponents, settings.seed),
        "human scores": ", ".join(f"{v}: {k}" for v, k in comparison.human_kinds.items()),
        "ties": settings.ties,
        "intervals": intervals if comparison.uncertainty else "",
        "fingerprint": benchmark.fingerprint,
        "program": f"gecjury {__version__}",
    }
    # Tables may share a signature, such as those of one metric read from two files.
    signatures = dict.fromkeys(str(table.signature) for table in comparison.tables)
    return render(
        "settings",
        facts=[(name, fact) for name, fact in facts.items() if fact],
        # For other benchmarks the notes are in the summary, see `_careful`.
        notes=answer.notes if benchmark.sample else (),
        signatures=[(answer.text(text), paper) for text, paper in signed_papers(signatures)],
        citation=answer.shown(benchmark.citation) if benchmark.citation else "",
    )


def signed_papers(signatures: Iterable[str]) -> list[tuple[str, str]]:
    """Return signatures, each with the paper to cite."""
    return [(text, paper_of(text.partition("|")[0]) or "cite its own paper") for text in signatures]


def _footer(benchmark: Benchmark) -> str:
    if benchmark.sample:
        return f"Made by gecjury {__version__} from its own sample."
    return (
        f"Made by gecjury {__version__}; the terms of use of {shortened(benchmark.name)} apply to "
        "its sentences."
    )
