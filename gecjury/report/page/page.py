"""The comparison as one self-contained HTML page that can be shared and read anywhere.

The page asks no network for anything, and its policy forbids it; only the one style and the one
script whose hashes the policy names take effect, so text of learners and systems cannot become
code. Without a script everything is readable; the script sorts, filters and copies.
"""

from __future__ import annotations

import base64
import hashlib
import importlib.resources
import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gecjury.benchmarks.table import BENCHMARKS, View
from gecjury.errors import OutputError
from gecjury.metaeval.disagreement import Consensus, camps, consensus, sentence_views
from gecjury.metaeval.study import Study
from gecjury.report.page.browser import sentence_browser
from gecjury.report.page.cautions import warnings
from gecjury.report.page.markup import Child, Markup, data_block, element, join, void
from gecjury.report.page.plots import overview, pairs, scatters, windows
from gecjury.report.page.sections import edit_section, rating_section, segment_section
from gecjury.report.page.tables import family_mark, family_table, judge_costs, significance_table
from gecjury.report.page.words import (
    FAMILIES,
    VIEWS,
    Statement,
    edit_statement,
    headline,
    is_compared,
    summarise,
)
from gecjury.report.tables import number, to_json
from gecjury.scoring.registry import paper_of
from gecjury.scoring.scores import ScoreTable
from gecjury.textfiles import write_text
from gecjury.version import __version__

__all__ = ["check_page", "report_page", "write_page"]

# The whole page stays below 3 MB; what tables and figures leave is for sentences.
_BYTES = 2_600_000

_DRAWN = ("windows", "pairwise")

_SECTIONS = {
    "summary": ("Summary", "In one minute"),
    "metrics": ("Metrics", "Metrics by family"),
    "significance": ("Significance", "Which differences are more than chance"),
    "edits": ("Edits", "Single edits"),
    "ratings": ("Ratings", "Ratings of single corrections"),
    "segments": ("Segments", "Segment level"),
    "scatter": ("Systems", "Systems: people against metrics"),
    "windows": ("Windows", "Systems of like quality"),
    "pairs": ("Pairs", "Which systems a metric confuses"),
    "sentences": ("Sentences", "Sentences on which they disagree"),
    "settings": ("Settings and signatures", "Settings, signatures, citation"),
}

Document = Mapping[str, Any]


def check_page(path: str | Path) -> None:
    """Try the place of the page before any work is done; what stands there is kept.

    Raises:
        OutputError: it is a folder, or its folder cannot be made or written.
    """
    target = Path(path)
    if target.is_dir():
        raise OutputError(f"{path}: is a folder; give the page a file name, such as report.html")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=target.parent).close()
    except OSError as error:
        raise OutputError(f"{path}: cannot be written ({error.strerror})") from None


def write_page(
    path: str | Path, document: Document, study: Study, tables: Sequence[ScoreTable]
) -> None:
    """Write the page; a failure leaves what stood there before.

    Args:
        path: the file.
        document: the result of `compare`.
        study: what it was compared with.
        tables: one a metric.

    Raises:
        OutputError: the file cannot be written.
    """
    write_text(path, report_page(document, study, tables))


def report_page(document: Document, study: Study, tables: Sequence[ScoreTable]) -> str:
    """The page as text; see `write_page`."""
    plain: dict[str, Any] = json.loads(to_json(document))
    views: list[View] = [view for view in ("edit", "sentence") if view in plain["human_scores"]]
    human: dict[str, dict[str, float]] = {
        view: dict(zip(plain["systems"], study.human(view).tolist(), strict=True))
             for view in views}  # fmt: skip
    found: dict[str, Consensus | None] = {
        view: consensus(tables, study.pairs(view), camps(tables))
        if tables and study.benchmark.rankings.get(view)
        else None
        for view in views
    }
    style, script = (_read(f"report.{kind}") for kind in ("css", "js"))
    title = f"Metrics on {plain['benchmark']}"
    content: dict[str, Markup | None] = {
        "summary": _summary(plain, human, found),
        "metrics": _metrics(plain, views) if any(map(is_compared, plain["rows"])) else None,
        "significance": _significance(plain),
        "edits": edit_section(plain),
        "ratings": rating_section(plain),
        "segments": segment_section(plain),
        "scatter": scatters(plain, human),
        "windows": windows(plain, study, views),
        "pairs": pairs(study, tables, views),
        "settings": _settings(plain, study, tables),
    }
    # What the page draws is left to `compare --format json`.
    numbers = data_block("result", {k: v for k, v in plain.items() if k not in _DRAWN})
    rest = sum(len(part.encode()) for part in (*content.values(), numbers) if part)
    content["sentences"] = _sentences(study, tables, views, _BYTES - rest)
    shown = [(key, *words, content[key]) for key, words in _SECTIONS.items() if content[key]]
    body = element(
        "body",
        element("a", "Skip to the content", href="#summary", class_="skip"),
        _header(plain, views, {key: short for key, short, *_ in shown}),
        element("main", [
            element("section", element("h2", heading), part, id=key)
            for key, _, heading, part in shown
        ]),
        _footer(study),
        numbers,
        Markup(f"<script>{script}</script>"),
    )  # fmt: skip
    return f'<!DOCTYPE html>\n<html lang="en">{_head(title, style, script)}{body}</html>\n'


def _read(name: str) -> str:
    return (importlib.resources.files("gecjury.report.page") / name).read_text(encoding="utf-8")


def _head(title: str, style: str, script: str) -> Markup:
    def sha(text: str) -> str:
        return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()

    policy = (
        f"default-src 'none'; style-src '{sha(style)}'; script-src '{sha(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return element(
        "head",
        void("meta", charset="utf-8"),
        void("meta", http_equiv="Content-Security-Policy", content=policy),
        void("meta", name="viewport", content="width=device-width, initial-scale=1"),
        void("meta", name="color-scheme", content="light dark"),
        void("meta", name="referrer", content="no-referrer"),
        void("meta", name="generator", content=f"gecjury {__version__}"),
        element("title", title),
        Markup(f"<style>{style}</style>"),
    )


def _header(document: Document, views: Sequence[str], sections: Mapping[str, str]) -> Markup:
    facts = [
        f"{len(document['systems'])} systems",
        f"{number(document['sentences'])} sentences",
        f"references: {document['references']}",
        " and ".join(VIEWS[view] for view in views).replace(" judgments and", " and"),
    ]
    metrics = len({row["metric"] for row in document["rows"]})
    name = str(document["benchmark"])
    banner = None
    if document["sample"]:
        banner = element("p", "Sample data: shows how the program works, never evidence about a "
                         "metric.", class_="banner", role="note")  # fmt: skip
    links = [element("li", element("a", words, href=f"#{key}")) for key, words in sections.items()]
    return element(
        "header",
        element("p", "gecjury · metric comparison", class_="kicker"),
        element("h1", f"{metrics} metric{'s' * (metrics != 1)} against people on "
                f"{name.upper() if name in BENCHMARKS else name}"),
        element("p", words, class_="lead") if (words := headline(document, views)) else None,
        element("ul", [element("li", fact) for fact in facts], class_="facts-row"),
        banner,
        element("nav", element("ol", links), aria_label="Contents"),
    )  # fmt: skip


def _statements(items: Sequence[Statement]) -> Markup:
    by_topic: dict[str, list[Markup]] = {}
    for item in items:
        by_topic.setdefault(item.topic, []).append(element("dd", item.text))
    listed = [[element("dt", topic), texts] for topic, texts in by_topic.items()]
    return element("dl", listed, class_="statements")


def _summary(
    document: Document,
    human: Mapping[str, Mapping[str, float]],
    found: Mapping[str, Consensus | None],
) -> Markup:
    cards: list[Child] = []
    edits = edit_statement(document)
    # The verdicts on edits belong to the judgments by edits.
    place = "edit" if "edit" in human else next(iter(human), "")
    for view in human:
        items = summarise(document, {view: human[view]}, found)
        items += [edits] if edits and view == place else []
        if items:
            heading = VIEWS[view].capitalize()
            cards.append(element("div", element("h3", heading), _statements(items), class_="card"))
    careful = warnings(document)
    if careful:
        heading = element("h3", "Read with care")
        cards.append(element("div", heading, _statements(careful), class_="card warn"))
    return element("div", cards, class_="cards")


_MEANING = (
    ("r, ρ, τ", "Pearson, Spearman and Kendall correlation of system scores with those that people "
     "gave; −1 to 1, higher is better."),
    ("pair acc.", "share of pairs of systems in the order in which people put them; 0 to 1."),
    ("SPA", "soft pairwise accuracy: how near the metric's certainty about each pair of systems "
     "is to that of people; 0 to 1."),
    ("accuracy", "share of the pairs of corrections of one sentence that are in the order that "
     "a person gave; 0 to 1, a coin gives 0.5."),
    ("τ (sentence)", "right minus wrong over all these pairs; −1 to 1."),
    ("tied %", "share of these pairs to which the metric gave equal scores."),
    ("cluster", "no metric of a cluster is significantly worse than another of it; 1 is best."),
    ("[ , ]", "bootstrap interval; its confidence stands with the settings."),
    ("missing", "sentence scores that could not be had; left out, neither zero nor a tie. The "
     "column is there where a metric misses some."),
    ("seconds", "time of scoring in this run, 0 where scores were read from a file."),
)  # fmt: skip


def _metrics(document: Document, views: Sequence[str]) -> Markup:
    costs = judge_costs(document)
    parts: list[Child] = []
    for view in views:
        heading = element("h3", VIEWS[view].capitalize()) if len(views) > 1 else None
        figures = [
            element("figure", plot, class_="panel")
            for level in ("system", "sentence")
            if (plot := overview(document, view, level))
        ]
        parts += [heading, element("div", figures, class_="grid two")]
        parts.append(family_table(document, view, costs))
    meaning = element("dl", [[element("dt", a), element("dd", b)] for a, b in _MEANING])
    legend = element("p", [family_mark(f) for f in FAMILIES if f in _present(document)],
                     class_="legend")  # fmt: skip
    heading = element("summary", "What the columns mean")
    return join(legend, parts, element("details", heading, meaning, class_="explain"))


def _present(document: Document) -> set[str]:
    return {row["family"] for row in document["rows"]} | {"chance", "ceiling"}


def _significance(document: Document) -> Markup | None:
    tests = [test for test in document.get("significance") or () if len(test["metrics"]) > 1]
    if not tests:
        return None
    words = (
        "Bold: p below .05; ▲ the metric of the row is better than that of the column, ▼ worse. "
        "From the best down, a new cluster begins with the first metric significantly worse "
        "than one of the cluster before."
    )
    note = element("p", words, class_="note")
    parts: list[Child] = []
    for view in dict.fromkeys(str(test["human"]) for test in tests):
        parts.append(element("h3", VIEWS.get(view, view).capitalize()))
        parts += [[significance_table(test)] for test in tests if test["human"] == view]
    return join(note, parts)


def _sentences(
    study: Study, tables: Sequence[ScoreTable], views: Sequence[str], budget: int
) -> Markup | None:
    if not tables:
        return None
    found = sentence_views(study.benchmark.corpus, tables, {
        view: items for view, items in study.benchmark.rankings.items() if view in views
    })  # fmt: skip
    metrics = [table.signature.label for table in tables]
    blocks = sentence_browser(found, metrics, views, budget)
    if not blocks:
        return None
    who = "families" if len({t.signature.family for t in tables}) > 1 else "metrics"
    note = [
        f"The corrections of a sentence are ranked by each metric; the figure in front is the "
        f"variance between the {who}’ ranks, from 0 (all order them alike) to 1 (two order two "
        f"corrections in opposite ways). Shown: {number(len(blocks))} of {number(len(found))} "
        "sentences with different corrections, most disagreement first. ",
        element("del", "Deleted"), " and ", element("ins", "inserted"),
        " words are marked; “#1” is the rank among the corrections; “2 of 3” means preferred by "
        "people in 2 of 3 comparisons that they decided.",
    ]  # fmt: skip
    sides = [camp.name for camp in camps(tables)]
    return join(
        element("p", note, class_="note"),
        _controls(study.benchmark.corpus.names, sides),
        element("p", id="shown", class_="note", role="status"),
        element("div", blocks, id="browser"),
    )


def _controls(systems: Sequence[str], sides: Sequence[str]) -> Markup:
    def choice(key: str, label: str, options: Sequence[tuple[str, str]]) -> Markup:
        listed = [element("option", words, value=value) for value, words in options]
        return element("label", element("span", label), element("select", listed, name=key))

    search = void("input", type="search", name="q", autocomplete="off", spellcheck="false")
    return element(
        "form",
        element("label", element("span", "Text contains"), search),
        choice("system", "Changed by system", [("", "any"), *((n, n) for n in systems)]),
        choice("apart", "Stands apart", [("", "any"),
               *((side, FAMILIES.get(side, side)) for side in sides)]),
        choice("sort", "Sort by", [("d", "disagreement"), ("a", "contradicting people"),
               ("row", "order of the corpus")]),
        id="controls", hidden=True,
    )  # fmt: skip


def _settings(document: Document, study: Study, tables: Sequence[ScoreTable]) -> Markup:
    benchmark = study.benchmark
    shuffles = document["shuffles"]
    how = f"mean of {shuffles} shuffles, seed {document['seed']}" if shuffles else ""
    trueskill = document["aggregate"] == "trueskill"
    facts = {
        "benchmark": f"{benchmark.name}, systems {benchmark.systems}",
        "references": document["references"],
        "system scores": document["aggregate"]
        + (f" ({how or 'one pass in file order'})" if trueskill else ""),
        "human scores": ", ".join(f"{v}: {k}" for v, k in document["human_scores"].items()),
        "ties": document["ties"],
        "intervals": _uncertainty(document),
        "fingerprint": document["fingerprint"],
        "program": f"gecjury {__version__}",
    }
    listed = [[element("dt", k), element("dd", str(v))] for k, v in facts.items() if v]
    rows = []
    for signature in dict.fromkeys(str(table.signature) for table in tables):
        source = paper_of(signature.partition("|")[0])
        cite = f"{source}" if source else "cite its own paper"
        rows.append(element("li", element("code", signature, class_="copy"),
                            element("span", cite, class_="cite")))  # fmt: skip
    notes = [element("p", note, class_="note") for note in benchmark.notes]
    return join(
        element("dl", listed, class_="facts"),
        notes,
        element("h3", "Signatures"),
        element("p", "A score is comparable with another if the signatures are equal; quote it "
                "with the score, and cite the metric’s paper.", class_="note"),
        element("ol", rows, class_="signatures"),
        element("h3", "Citation"),
        element("p", benchmark.citation, class_="copy"),
    )  # fmt: skip


def _uncertainty(document: Document) -> str:
    found = document.get("uncertainty") or {}
    if not found:
        return ""
    over = {"both": "sentences and systems"}.get(found.get("over", ""), found.get("over", ""))
    return (
        f"{100 * found.get('confidence', 0.95):.0f}% bootstrap, {found.get('resamples', '?')} "
        f"resamples over {over}, seed {found.get('seed', '?')}"
    )


def _footer(study: Study) -> Markup:
    text = (
        f"Made by gecjury {__version__}. The page holds sentences of {study.benchmark.name}; its "
        "terms of use go with them."
    )
    if study.benchmark.sample:
        text = f"Made by gecjury {__version__} from its own sample."
    return element("footer", element("p", text))
