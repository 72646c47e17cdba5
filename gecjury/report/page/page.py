"""The comparison as one self-contained HTML page that can be shared and read anywhere.

This module collects the content from the result as plain values; all tags are in `templates/`.
Everything can be read without a script; the script sorts, filters and copies.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from markupsafe import Markup, escape

from gecjury.benchmarks.table import BENCHMARKS, View
from gecjury.core.runtime import __version__
from gecjury.core.wording import number, shortened
from gecjury.metaeval.cautions import Caution
from gecjury.metaeval.disagreement import Consensus, camps, consensus, sentence_views
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.study import Study
from gecjury.report.comparison import aggregation, drawn
from gecjury.report.comparison import document as document_of
from gecjury.report.escaping import clean
from gecjury.report.figure import Figure, figures_of
from gecjury.report.page.browser import sentence_browser
from gecjury.report.page.glossary import TERMS, metric_names
from gecjury.report.page.markup import render, render_page
from gecjury.report.page.plots import overviews, pairs, scatters
from gecjury.report.page.sections import audit_section, level_sections
from gecjury.report.page.tables import extents_of, family_table, significance_table
from gecjury.report.tables import plain
from gecjury.report.words import (
    BESIDE,
    CAN_WAIT,
    FAMILY_NAMES,
    VIEWS,
    Document,
    Statement,
    edit_statement,
    family_contrast,
    is_compared,
    significance_level,
    summarise,
    views_of,
)
from gecjury.scoring.options import short_names
from gecjury.scoring.registry import paper_of
from gecjury.scoring.scores import ScoreTable

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


def comparison_page(comparison: Comparison) -> str:
    """Return a comparison as one page to read and share."""
    return report_page(document_of(comparison), comparison)


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


def report_page(document: Document, comparison: Comparison) -> str:
    """Return the whole page as text.

    Args:
        document: the comparison as in its JSON output.
        comparison: the same as typed values.
    """
    record: Document = plain(document)
    name = record["benchmark"]
    numbers = render("numbers", numbers=record)
    return render_page(
        "page",
        kicker="metric comparison",
        title=f"Metrics on {_unwieldy(record, comparison).get(name, name)}",
        scripted=True,
        **header(record, comparison),
        sections=sections(record, comparison, _BYTES - len(numbers.encode())),
        footer=_footer(comparison.study),
        numbers=numbers,
    )


def sections(document: Document, comparison: Comparison, budget: int) -> list[Section]:
    """Return the sections of a comparison that have content.

    Args:
        document: the comparison as plain JSON values.
        comparison: the same as typed values.
        budget: most bytes of the sections together.
    """
    views = views_of(document)
    names = _unwieldy(document, comparison)
    figures = figures_of(document)
    study, tables = comparison.study, comparison.tables
    content: dict[str, Markup | None] = {
        "summary": _summary(document, figures, views, comparison, names),
        "metrics": _metrics(document, figures, views),
        "significance": _significance(document, views),
        **level_sections(figures),
        "audit": audit_section(document),
        "scatter": scatters(document, views, names),
        "pairs": pairs(study, tables, views),
        "settings": _settings(document, study, tables),
    }
    # Names are shortened in the finished HTML, which covers all parts of the page.
    content = {key: part and _with_short_names(part, names) for key, part in content.items()}
    # Sentences fill the space that the other sections leave.
    rest = sum(len(part.encode()) for part in content.values() if part)
    browsed = _sentences(study, tables, views, budget - rest)
    content["sentences"] = browsed and _with_short_names(browsed, names)
    return [
        Section(key, *words, part)
        for key, words in _SECTIONS.items()
        if (part := content.get(key)) is not None
    ]


def _unwieldy(document: Document, comparison: Comparison) -> dict[str, str]:
    """Return how names are shown that would break the page by their length or text direction.

    Metrics are called by their shortest distinct names.
    """
    about = comparison.study.benchmark
    names = [*document["systems"], document["benchmark"], document.get("references")]
    names += [about.systems, about.citation]
    shown = {str(name): str(name) for name in names}
    shown |= short_names(str(row["metric"]) for row in document["rows"])
    shown = {name: shortened(clean(short)) for name, short in shown.items()}
    return {name: short for name, short in shown.items() if short != clean(name)}


def _with_short_names(part: Markup, names: Mapping[str, str]) -> Markup:
    """Return a part of the page with its unwieldy names shortened, whichever way they were escaped.

    The longest are replaced first, since one name may contain another.
    """
    text = str(part)
    for name in sorted(names, key=len, reverse=True):
        for escaped in (escape, html.escape, partial(html.escape, quote=False)):
            text = text.replace(str(escaped(clean(name))), str(escape(names[name])))
    return Markup(text)


def header(document: Document, comparison: Comparison) -> dict[str, Any]:
    """Return the values for the part above the table of contents.

    Args:
        document: the comparison as plain JSON values.
        comparison: the same as typed values.
    """
    views, names = views_of(document), _unwieldy(document, comparison)
    metrics = len({row["metric"] for row in document["rows"]})
    name = str(document["benchmark"])
    name = names.get(name, name)
    references = str(document.get("references"))
    benchmark = name.upper() if name in BENCHMARKS else name
    return {
        "heading": f"{metrics} metric{'s' * (metrics != 1)} against people on {benchmark}",
        "sentences": [_with_short_names(escape(c), names) for c in family_contrast(document)],
        "facts": [
            f"{len(document['systems'])} systems",
            f"{number(document['sentences'])} sentences",
            f"references: {names.get(references, references)}",
            " and ".join(VIEWS[view] for view in views).replace(" judgments and", " and"),
        ],
        "sample": bool(document.get("sample")),
    }


def card(heading: str, items: Sequence[Statement], careful: bool = False) -> dict[str, Any]:
    """Return a card of statements by topic, some of them folded; a careful card is a warning."""
    topics: dict[bool, dict[str, list[str]]] = {False: {}, True: {}}
    for item in items:
        topics[item.folded].setdefault(item.topic, []).append(item.text)
    shown = {"statements": topics[False], "folded": topics[True]}
    return {"heading": heading, **shown, "careful": careful}


def _summary(
    document: Document,
    figures: Sequence[Figure],
    views: Sequence[View],
    comparison: Comparison,
    names: Mapping[str, str],
) -> Markup:
    cards = []
    edits = edit_statement(document)
    # Verdicts on edits belong with the edit-based judgments.
    place = "edit" if "edit" in views else next(iter(views), "")
    for view in views:
        items = summarise(document, view, _consensus(comparison, view))
        items += [edits] if edits and view == place else []
        if items:
            cards.append(card(VIEWS[view].capitalize(), items))
    careful = _careful(document, comparison.cautions)
    if careful:
        cards.append(card("Read with care", careful, careful=True))
    plots = overviews(document, figures, views, names)
    terms = {key: TERMS[key] for key in _FIRST} if plots else {}
    return render("summary", overviews=plots, terms=terms, cards=cards, glossary=TERMS)


def _consensus(comparison: Comparison, view: View) -> Consensus | None:
    """Return how far the families agree on the judged pairs of a view, if there are any."""
    if not comparison.tables:
        return None
    tables, study = comparison.tables, comparison.study
    judged = bool(study.benchmark.rankings.get(view))
    return consensus(tables, study.parts(view), camps(tables)) if judged else None


def _careful(document: Document, cautions: Sequence[Caution]) -> list[Statement]:
    """Return the cautions; under `Notes` those of the benchmark come first."""
    topics: dict[str, list[str]] = {}
    for caution in cautions:
        topics.setdefault(caution.heading, []).append(caution.text)
    remarks = () if document["sample"] else document.get("notes") or ()
    topics["Notes"] = [*map(str, remarks), *topics.pop("Notes", [])]
    return [
        Statement(heading, f"{text.rstrip('.')}.", folded=heading in CAN_WAIT)
        for heading, texts in topics.items()
        for text in texts
    ]


# Terms of the first plots are explained next to them, the others next to the table.
_FIRST = ("r", "spa", "accuracy", "interval", "people")


def _metrics(document: Document, figures: Sequence[Figure], views: Sequence[str]) -> Markup | None:
    """Return the tables of all metrics by view; None if only single edits were compared."""
    if not any(map(is_compared, document["rows"])):
        return None
    present = {row["family"] for row in document["rows"]} | {*BESIDE}
    tables = {view: family_table(document, figures, view) for view in views}
    words = {text for table in tables.values() for text, _ in table.headings}
    return render(
        "metrics",
        legend=[family for family in FAMILY_NAMES if family in present],
        views=[
            (VIEWS[view].capitalize() if len(views) > 1 else "", table)
            for view, table in tables.items()
        ],
        terms={k: term for k, term in TERMS.items() if term[0] in words or k == "interval"},
        names=metric_names(document["rows"]),
    )


def _significance(document: Document, views: Sequence[View]) -> Markup | None:
    tests = [test for test in document.get("significance") or () if len(test["metrics"]) > 1]
    tests = [test for view in views for test in tests if test["human"] == view]
    level, tables = significance_level(document), []
    headings = {view: VIEWS[view].capitalize() for view in views}
    for test in tests:
        # The heading of a view is above the first of its tables.
        tables.append(significance_table(test, headings.pop(test["human"], ""), level))
    note = " ".join(extents_of(tests))
    folded = "All p-values"
    return render("tabled", note=note, terms={}, listed=tables, folded=folded) if tests else None


def _sentences(
    study: Study, tables: Sequence[ScoreTable], views: Sequence[str], budget: int
) -> Markup | None:
    if not tables:
        return None
    # Only the compared views may decide on which sentences people and metrics disagree.
    sentences = sentence_views(
        study.benchmark.corpus,
        tables,
        {view: items for view, items in study.benchmark.rankings.items() if view in views},
    )
    metrics = [table.signature.label for table in tables]
    language = study.benchmark.corpus.language
    blocks = sentence_browser(sentences, metrics, views, budget, language)
    if not blocks:
        return None
    families = {table.signature.family for table in tables}
    return render(
        "sentences",
        who="families" if len(families) > 1 else "metrics",
        shown=number(len(blocks)),
        candidates=number(len(sentences)),
        systems=study.benchmark.corpus.names,
        sides=[camp.name for camp in camps(tables)],
        blocks=blocks,
    )


def _settings(document: Document, study: Study, tables: Sequence[ScoreTable]) -> Markup:
    benchmark = study.benchmark
    facts = {
        "benchmark": f"{benchmark.name}, systems {benchmark.systems}",
        "references": document["references"],
        "system scores": aggregation(
            *(document[name] for name in ("aggregate", "opponents", "seed"))
        ),
        "human scores": ", ".join(f"{v}: {k}" for v, k in document["human_scores"].items()),
        "ties": document["ties"],
        "intervals": _uncertainty(document),
        "fingerprint": document["fingerprint"],
        "program": f"gecjury {__version__}",
    }
    # Tables may share a signature, such as those of one metric read from two files.
    signatures = dict.fromkeys(str(table.signature) for table in tables)
    return render(
        "settings",
        facts=[(name, fact) for name, fact in facts.items() if fact],
        # For other benchmarks the notes are in the summary, see `_careful`.
        notes=benchmark.notes if benchmark.sample else (),
        signatures=signed_papers(signatures),
        citation=benchmark.citation,
    )


def signed_papers(signatures: Iterable[str]) -> list[tuple[str, str]]:
    """Return signatures, each with the paper to cite."""
    return [(text, paper_of(text.partition("|")[0]) or "cite its own paper") for text in signatures]


def _uncertainty(document: Document) -> str:
    how = document.get("uncertainty")
    if not how:
        return ""
    return (
        f"{100 * how['confidence']:.0f}% bootstrap, {how['resamples']} resamples over "
        f"{drawn(how['over'])}, seed {how['seed']}"
    )


def _footer(study: Study) -> str:
    if study.benchmark.sample:
        return f"Made by gecjury {__version__} from its own sample."
    return (
        f"Made by gecjury {__version__}; the terms of use of {study.benchmark.name} apply to its "
        "sentences."
    )
