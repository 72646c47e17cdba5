"""The comparison page: self-contained, escaped, small enough, and never partly written."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.cli import main
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import ENGLISH, Language, language_of
from gecjury.metaeval.cautions import Caution
from gecjury.metaeval.comparison import compare as compare_metrics
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.uncertainty import Significance
from gecjury.report.citations import address_of
from gecjury.report.comparison import document
from gecjury.report.page.browser import WordRun, mark_edits
from gecjury.report.page.glossary import TERMS
from gecjury.report.page.markup import render
from gecjury.report.page.page import comparison_page
from gecjury.report.page.tables import extents_of, significance_table, table_html
from gecjury.report.table import Table
from gecjury.report.words import ComparisonWords
from gecjury.scoring.registry import METRICS
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Signature

ADDRESSES = {name: address_of(name) for name in METRICS}
JAPANESE = language_of("ja")
EVIL = '<script>alert("x")</script>'
SOURCE = "He go </script><img src=x onerror=alert(1)> & home \u202e\x00 ."


@pytest.mark.security
def test_data_cannot_end_its_script_block() -> None:
    given = {"</script>": "<!-- & \u2028", "b": 1, "a": 2}
    block = render("numbers", numbers=given)
    inner = block.removeprefix('<script type="application/json" id="result">')
    inner = inner.removesuffix("</script>")
    assert "<" not in inner
    assert list(json.loads(inner).items()) == list(given.items())
    with pytest.raises(ValueError, match="not JSON compliant"):
        render("numbers", numbers={"x": float("nan")})


def test_edits_are_marked() -> None:
    assert mark_edits("He go to the home .", "He goes home now .") == [
        WordRun("equal", "He"),
        WordRun("delete", "go to the"),
        WordRun("insert", "goes"),
        WordRun("equal", "home"),
        WordRun("insert", "now"),
        WordRun("equal", "."),
    ]
    assert mark_edits("", "") == []
    assert mark_edits("He", "") == [WordRun("delete", "He")]


def test_edits_are_marked_without_spaces_in_japanese() -> None:
    marked = mark_edits("私 は Windows 10 を 使う 。", "私 は Windows 11 を 使い ます 。", JAPANESE)
    assert marked == [
        WordRun("equal", "私はWindows"),
        WordRun("delete", "10"),
        WordRun("insert", "11", ""),
        WordRun("equal", "を", ""),
        WordRun("delete", "使う", ""),
        WordRun("insert", "使います", ""),
        WordRun("equal", "。"),
    ]


def test_texts_in_another_language_have_a_lang_attribute() -> None:
    assert ' lang="ja"' not in page_of(comparison_of("x"))
    page = page_of(comparison_of("x", JAPANESE))
    for tag in ('<span class="text"', "<bdi", "<span"):
        assert f'{tag} lang="ja"' in page
    assert '<span class="tag" lang="en">unchanged</span>' in page
    assert "<bdi>two</bdi>" in page


class Reader(HTMLParser):
    """A parser that checks nesting and collects tags, ids and addresses."""

    VOID = frozenset(("meta", "input", "br", "img", "link"))

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open
        assert self.open.pop() == tag

    def named(self, *names: str) -> Iterator[dict[str, str | None]]:
        return (attrs for tag, attrs in self.tags if tag in names)


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert reader.open == []
    return reader


def check_self_contained(page: str) -> None:
    reader = read(page)
    # A link causes no request; the only links are to the papers of the metrics.
    linked = page
    for address in filter(None, ADDRESSES.values()):
        linked = linked.replace(f'<a href="{address}" rel="noopener noreferrer">', "")
    assert not re.search(r"(?:https?:)?//[a-z0-9]", re.sub(r"<script>.*?</script>", "", linked))
    for _, attrs in reader.tags:
        assert "src" not in attrs
        assert "style" not in attrs
        assert not [key for key in attrs if key.startswith("on")]
        address = attrs.get("href") or "#"
        if not address.startswith("#"):
            assert address in ADDRESSES.values()
            assert attrs.get("rel") == "noopener noreferrer"
    assert not list(reader.named("link", "img", "iframe", "object", "embed", "base"))
    policy = next(a for a in reader.named("meta") if a.get("http-equiv"))["content"] or ""
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy


def check_accessible(page: str) -> None:
    reader = read(page)
    assert page.startswith('<!DOCTYPE html><html lang="en">')
    assert [a for a in reader.named("meta") if a.get("name") == "viewport"]
    assert all(a.get("scope") for a in reader.named("th"))
    ids = [attrs["id"] for _, attrs in reader.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    places = [a.get("href") or "" for a in reader.named("a")]
    assert {place[1:] for place in places if place.startswith("#")} <= set(ids)
    assert {a["popovertarget"] for a in reader.named("button")} <= set(ids)
    assert len(list(reader.named("h1"))) == 1
    for attrs in reader.named("svg"):
        assert attrs.get("role") == "img" or attrs.get("aria-hidden") == "true"


def comparison_of(name: str, language: Language = ENGLISH) -> Comparison:
    """Return a comparison of three systems; a system and a metric have this name."""
    lines = {name: (SOURCE, "b"), "two": ("He goes home .", "b"), "three": ("He go home .", "c")}
    corpus = Corpus((SOURCE, "b"), {key: Version(text) for key, text in lines.items()},
                    contexts=((EVIL, ""), ("", EVIL)), language=language)  # fmt: skip
    items = (RankedItem("1", 0, EVIL, ((name,), ("two",), ("three",)), (2, 1, 3)),)
    benchmark = Benchmark(
        name=EVIL,
        corpus=corpus,
        rankings={"edit": items},
        human={"edit": {"trueskill": {name: 1.0, "two": 2.0, "three": 0.0}}},
        view="edit",
        systems=EVIL,
        system_sets={},
        references=EVIL,
        sentence_ids=(0, 1),
        citation=EVIL,
        notes=(EVIL,),
    )
    scores = np.array([[0.1, 0.2], [0.3, 0.2], [0.2, float("nan")]])
    tables = [
        ScoreTable(corpus.names, Signature(label, EVIL, {"x": EVIL}), Scores(scores),
                   Scores(np.array([0.1, 0.3, 0.2])), Statistics(scores), corpus.system_prints)
        for label in (name, f"{EVIL}2")
    ]  # fmt: skip
    return compare_metrics(benchmark, tables, Settings(aggregate="mean"))


def page_of(comparison: Comparison) -> str:
    answer = ComparisonWords(comparison)
    return comparison_page(answer, document(answer))


def test_metrics_of_one_family_open_with_the_leaders() -> None:
    comparison = comparison_of("x")
    opening = ComparisonWords(comparison).opening
    assert opening[0].startswith("System level: ")
    page = html.unescape(page_of(comparison))
    assert f'<p class="lead">{opening[0]}</p><p>{opening[1]}</p>' in page


def test_the_page_and_the_terminal_open_alike() -> None:
    comparison = compare_metrics("sample", ["green", "changes"])
    answer = ComparisonWords(comparison)
    assert answer.families
    page = html.unescape(page_of(comparison))
    assert "<h1>2 metrics against people on SAMPLE</h1>" in page
    assert f'<p class="lead">{answer.opening[0]}</p><p>{answer.opening[1]}</p>' in page


@pytest.mark.security
def test_hostile_names_and_texts_stay_text() -> None:
    page = page_of(comparison_of(EVIL))
    check_self_contained(page)
    check_accessible(page)
    assert EVIL not in page
    assert "<img" not in page
    assert "\x00" not in page
    # Two scripts: the data and the script of the page.
    assert page.count("<script") == 2
    assert page.count("</script>") == 2
    assert "&lt;script&gt;alert" in page
    assert "</script><img" not in page


@pytest.mark.security
@pytest.mark.parametrize("name", ["N" * 30_000, "\"<&>'" * 3_000, "\u202e" * 6_000])
def test_long_names_are_shortened(name: str) -> None:
    page = page_of(comparison_of(name))
    check_self_contained(page)
    assert json.loads(re.findall(r'id="result">(.*?)</script>', page)[0])["systems"][0] == name
    seen = re.sub(r"<(script|style).*?</\1>", "", page, flags=re.DOTALL)
    assert max(map(len, re.findall(r"<[^>]*>|[^<]*", seen))) < 2_000
    assert "…" in seen


def test_cautions_are_visible_and_remarks_are_folded() -> None:
    cautions = (Caution("Notes", "a remark"), Caution("Few systems", "a caution"))
    comparison = comparison_of("x")
    page = page_of(replace(comparison, cautions=cautions))
    card = page.split("Read with care")[1].split("</div>")[0]
    shown, folded = card.split("<details>")
    assert "a caution." in shown
    assert "a remark." in folded
    card = page_of(replace(comparison, cautions=cautions[:1])).split("Read with care")[1]
    assert card.startswith("</h3><details>")


def test_a_significant_difference_says_who_is_better() -> None:
    names, nan = ("a", "b", "c"), float("nan")
    adjusted = np.array([[nan, 0.01, 0.2], [0.01, nan, nan], [0.2, nan, nan]])
    test = Significance(
        "system", "perm-both", "pearson", names, np.array([0.9, 0.5, nan]), adjusted, adjusted,
        (1, 2, None), 9999,
    )  # fmt: skip
    table = significance_table(test, names, 0.05)
    assert shown(table) == ["a: |0.010 ▲|0.200|1", "b: 0.010 ▼||–|2", "c: 0.200|–||–"]
    html = table_html(table, "matrix")
    assert re.findall(r'<td class="(.*?)"', html)[:3] == ["n sig", "n", "n cluster"]
    weak = np.array([[nan, 0.06, 0.4], [0.06, nan, nan], [0.4, nan, nan]])
    test = replace(test, adjusted=weak)
    first = significance_table(test, names, 0.05)
    assert "▲" not in "".join(shown(first))
    assert ">System level, Pearson r: PERM-BOTH; p, ▲ the row" in table_html(first, "matrix")
    assert extents_of([test, test]) == [
        "PERM-BOTH (Holm, 9\u202f999 resamples): significant differences extend to other sentences "
        "by these systems."
    ]
    wide = significance_table(test, names, 0.06)
    assert shown(wide)[0] == "a: |0.060 ▲|0.400|1"
    assert "(p ≤ 0.06)" in wide.legend


def shown(table: Table) -> list[str]:
    rows = [[column.cell(row) for column in table.columns] for row in table.rows]
    return [f"{name}: {'|'.join(cells)}" for name, *cells in rows]


def compare(page: Path, *more: str) -> int:
    argv = ["compare", "sample", "-m", "green", "-m", "gleu", "--resamples", "20"]
    return main([*argv, "--html", str(page), *more])


def test_the_command_writes_the_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "new" / "report.html"
    assert compare(path, "--human", "both", "--statistic", "spa", "--format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert [file.name for file in path.parent.iterdir()] == ["report.html"]
    page = path.read_text(encoding="utf-8")
    check_self_contained(page)
    check_accessible(page)
    block = re.search(r'<script type="application/json" id="result">(.*?)</script>', page)
    assert block
    assert json.loads(block[1]) == document
    assert "never evidence" in page
    for part in ("summary", "metrics", "scatter", "pairs", "sentences", "settings"):
        assert f'<section id="{part}">' in page
    assert "System level, soft pairwise accuracy: PERM-SYS" in page
    assert "significant differences extend to other systems as well." in page
    assert "significant differences extend to other sentences by these systems." in page
    # A plot comes before the text, and terms are explained where they first appear.
    assert page.index('class="plot"') < page.index('class="statements"')
    assert page.index('popovertarget="term-r"') < page.index('class="plot"')
    for key in ("r", "spa", "cluster", "accuracy", "interval"):
        assert page.index(f'popovertarget="term-{key}"') < page.index('class="sortable metrics"')
    assert page.count('class="explained"') == len(TERMS)


def test_an_unwritable_page_is_reported_before_scoring(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    scores = tmp_path / "scores"
    for bad in (tmp_path, tmp_path / "file" / "report.html"):
        assert compare(bad, "-o", str(scores)) == 2
        assert str(bad) in capsys.readouterr().err
        assert not scores.exists()
    assert compare(tmp_path / "page" / "report.html", "--human-scores", "mean") == 2
    assert not (tmp_path / "page").exists()


def test_a_failure_leaves_the_old_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.html"
    path.write_text("old")

    def fail(*_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("gecjury.report.page.page.render_page", fail)
    with pytest.raises((KeyboardInterrupt, SystemExit)):
        raise SystemExit(compare(path))
    assert path.read_text() == "old"
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


def test_a_dry_run_writes_nothing(tmp_path: Path) -> None:
    assert compare(tmp_path / "report.html", "--dry-run") == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_all_of_seeda_stays_below_three_megabytes(data_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "report.html"
    metrics = [f"green:n={n}" for n in (1, 2, 3, 4)] + ["gleu", *(f"gleu:n={n}" for n in (1, 2, 3))]
    argv = ["compare", "seeda", "--human", "both", "--systems", "all", "--html", str(path)]
    # A few draws suffice: the size of the page does not depend on their number.
    argv += ["--resamples", "10"]
    for metric in metrics:
        argv += ["-m", metric]
    assert main([*argv, "--data", str(data_dir)]) == 0
    page = path.read_text(encoding="utf-8")
    assert 1_000_000 < path.stat().st_size < 3_000_000
    check_self_contained(page)
    assert page.count('<details class="sentence"') > 100
