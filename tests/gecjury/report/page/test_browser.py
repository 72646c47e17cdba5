"""The comparison page in a real browser: it renders, sorts and filters without network access."""

from __future__ import annotations

import contextlib
import importlib.resources
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.cli import main
from gecjury.report.page.listed import Details, result_html
from gecjury.report.result import Result
from gecjury.scoring.abilities import HeatMap
from gecjury.studies.explain import plan_table
from tests import chromium
from tests.gecjury.report.page.test_page import comparison_of, page_of

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(chromium.program() is None, reason="there is no chromium"),
]

CHOSEN = "[...document.querySelectorAll('#browser > details')]"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    argv = ["compare", "sample", "--human", "both", "--systems", "all", "--html", str(path)]
    argv += ["--resamples", "20"]
    for metric in ("green", "gleu", "green:unit=char"):
        argv += ["-m", metric]
    with contextlib.redirect_stdout(io.StringIO()):
        assert main(argv) == 0
    return path


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[chromium.Page]:
    with chromium.open_page(tmp_path_factory.mktemp("profile")) as page:
        yield page


def opened(tab: chromium.Page, path: Path, fragment: str = "", **more: Any) -> chromium.Page:
    tab.size(1280)
    tab.media("light")
    tab.open(path, fragment, **more)
    return tab


def column(tab: chromium.Page, place: int) -> list[str]:
    found: list[str] = tab.run(
        "[...document.querySelector('table.sortable').tBodies[0].rows]"
        f".map(row => row.cells[{place}].dataset.v ?? row.cells[{place}].textContent)"
    )
    return found


def test_the_page_renders_without_errors_and_without_network(
    tab: chromium.Page, report: Path
) -> None:
    opened(tab, report)
    assert tab.problems == []
    assert tab.requests == [report.resolve().as_uri()]
    assert tab.run("document.querySelectorAll('svg.plot').length") > 6
    assert tab.run("document.documentElement.scrollWidth") == 1280
    assert tab.run("getComputedStyle(document.body).maxWidth") != "none"


def test_the_policy_blocks_requests_and_scripts(tab: chromium.Page, report: Path) -> None:
    opened(tab, report)
    failed = tab.run("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')")
    assert failed == "refused"
    assert any("Content Security Policy" in problem for problem in tab.problems)
    tab.run(
        "{ const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        "document.body.append(s); document.body.insertAdjacentHTML('beforeend',"
        "'<b onclick=\"window.hacked = 1\">x</b>'); document.body.lastChild.click(); }"
    )
    assert tab.run("typeof window.hacked") == "undefined"


HOSTILE = {
    "tags": "</title></style></script><script>window.hacked = 1</script><svg onload='hacked = 1'>",
    "attributes": '" onmouseover="window.hacked = 1" autofocus onfocus=\'hacked = 1\' x=`',
    "addresses": "javascript:window.hacked=1 <a href=javascript:hacked=1><img src=//127.0.0.1:9/x>",
    "comments": "<!--<script><![CDATA[ ]]> --!> {{ 7 * 7 }} {% raw %} ${7*7} &lt;script&gt;",
    "loaded": "<link rel=stylesheet href=//127.0.0.1:9/a.css><base href=//127.0.0.1:9/><iframe>",
    "style": "</style><style>@import '//127.0.0.1:9/b.css'; p { background: url(//127.0.0.1:9) }",
    "long": "<b>" + "n" * 100_000,
}


def plan_page(plan: HeatMap, *facts: str, language: str = "en") -> str:
    """Return the page of a transport plan, as `explain` writes it."""
    result = Result((plan_table(plan),), language=language, title=plan.title, verdict=facts)
    return result_html(result, Details(kicker="explanation"))


@pytest.mark.parametrize("kind", HOSTILE)
def test_names_and_sentences_have_no_effect_on_either_page(
    tab: chromium.Page, tmp_path: Path, kind: str
) -> None:
    evil = HOSTILE[kind]
    plan = HeatMap(evil, (evil, "b"), ("c", evil), np.array([[0.5, 0.1], [0.2, 0.0]]))
    pages = {
        "report": page_of(comparison_of(evil)),
        "plan": plan_page(plan, evil),
    }
    for name, text in pages.items():
        path = tmp_path / f"{name}.html"
        path.write_text(text, encoding="utf-8")
        opened(tab, path)
        policy = tab.run("document.querySelector('meta[http-equiv]').content")
        assert policy.startswith("default-src 'none'; ")
        assert tab.problems == []
        assert tab.requests == [path.resolve().as_uri()]
        assert tab.run("typeof window.hacked") == "undefined"
        forbidden = (
            "document.querySelectorAll('img, iframe, link, base, object, embed, a[href^=java]')"
        )
        assert tab.run(f"{forbidden}.length") == 0
        assert tab.run("document.scripts.length") == (2 if name == "report" else 0)
        assert tab.run("document.querySelectorAll('style').length") == 1
        handlers = "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some("
        assert tab.run(f"{handlers}a => a.name.startsWith('on'))).length") == 0
        first = "th" if name == "report" else "td"
        shown = tab.run(f"document.querySelector('tbody {first}').textContent")
        assert shown == (evil if len(evil) < 120 else shown)
        assert len(shown) <= 120 or name == "plan"
        refused = tab.run("fetch('http://127.0.0.1:9/').then(() => 'loaded', () => 'refused')")
        assert refused == "refused"
        assert any("Content Security Policy" in problem for problem in tab.problems)


def test_a_table_is_sorted_by_a_heading(tab: chromium.Page, report: Path) -> None:
    opened(tab, report)
    click = "document.querySelectorAll('table.sortable thead tr:last-child th')[{}]"
    tab.run(click.format(2) + ".querySelector('button').click()")
    values = [float(value) for value in column(tab, 2)]
    assert values == sorted(values, reverse=True)
    assert tab.run(click.format(2) + ".getAttribute('aria-sort')") == "descending"
    tab.run(click.format(2) + ".querySelector('button').click()")
    assert [float(value) for value in column(tab, 2)] == sorted(values)
    tab.run(click.format(0) + ".querySelector('button').click()")
    names = column(tab, 0)
    assert names == sorted(names)
    assert tab.run("document.querySelectorAll('table.sortable th[aria-sort]').length") == 1
    # The rows for chance and ceiling do not move.
    below = "document.querySelector('table.sortable').tBodies[1].rows"
    assert tab.run(f"[...{below}].at(-1).cells[0].textContent") == "two annotators"


def test_sentences_are_sorted_and_shown_in_parts(tab: chromium.Page, report: Path) -> None:
    opened(tab, report)
    assert tab.run(f"{CHOSEN}.length") == 10
    more = "document.querySelector('button.more')"
    while not tab.run(f"{more}.hidden"):
        tab.run(f"{more}.click()")
    values = [float(v) for v in tab.run(f"{CHOSEN}.map(s => s.dataset.d)")]
    assert values == sorted(values, reverse=True)
    assert len(values) > 40
    opened(tab, report, "sort=row")
    rows = [int(row) for row in tab.run(f"{CHOSEN}.map(s => s.dataset.row)")]
    assert rows == sorted(rows)


def test_filters_by_text_system_and_disagreeing_metric(tab: chromium.Page, report: Path) -> None:
    word = opened(tab, report).run(
        f"{CHOSEN}[0].querySelector('summary .text').textContent.split(' ')[1]"
    )
    opened(tab, report, f"q={word}")
    texts = tab.run(f"{CHOSEN}.map(s => s.textContent.toLowerCase())")
    assert texts
    assert all(word.lower() in text for text in texts)
    assert tab.run("document.getElementById('shown').textContent").startswith(str(len(texts)))

    opened(tab, report, "system=hasty")
    changed = "r.dataset.systems.split('\\t').includes('hasty') && !r.classList.contains('same')"
    rows = "[...s.querySelectorAll('tr.chosen')]"
    assert tab.run(f"{CHOSEN}.length") > 5
    assert tab.run(f"{CHOSEN}.every(s => {rows}.some(r => {changed}))")
    opened(tab, report, "apart=gleu")
    assert set(tab.run(f"{CHOSEN}.map(s => s.dataset.apart)")) == {"gleu"}
    opened(tab, report, "q=no-such-word-anywhere")
    assert tab.run(f"{CHOSEN}.length") == 0
    assert "No sentence" in tab.run("document.getElementById('shown').textContent")


def luminance(colour: str) -> float:
    parts = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def inks(tab: chromium.Page) -> list[tuple[str, str, str]]:
    """Return text and background colours of all visible text, after checking their contrast."""
    colours: list[tuple[str, str, str]] = tab.run(
        """[...document.querySelectorAll('body *')].filter(e => e.checkVisibility()
             && [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim())
             && !e.closest('svg, script'))
           .map(e => { let b = e;
             const bare = c => c === 'rgba(0, 0, 0, 0)' || c.startsWith('rgba(');
             while (b && bare(getComputedStyle(b).backgroundColor)) b = b.parentElement;
             return [getComputedStyle(e).color,
               getComputedStyle(b || document.body).backgroundColor, e.textContent]; })"""
    )
    for ink, paper, text in colours:
        low, high = sorted((luminance(ink), luminance(paper)))
        assert (high + 0.05) / (low + 0.05) >= 4.5, (ink, paper, text)
    return colours


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(tab: chromium.Page, report: Path, scheme: str) -> None:
    opened(tab, report)
    tab.media(scheme)
    tab.run(f"{CHOSEN}[0].open = true")
    colours = inks(tab)
    assert len(colours) > 300
    assert len({background for _, background, _ in colours}) > 2
    dark = tab.run("getComputedStyle(document.body).backgroundColor")
    assert (luminance(dark) < 0.1) == (scheme == "dark")


def test_without_a_script_all_contents_are_there(tab: chromium.Page, report: Path) -> None:
    opened(tab, report, script=False)
    assert tab.run("document.querySelectorAll('th button').length") == 0
    assert tab.run(f"{CHOSEN}.length") > 40
    assert tab.run("getComputedStyle(document.getElementById('controls')).display") == "none"
    tab.run("document.querySelector('#browser summary').click()")
    assert tab.run("document.querySelector('#browser table').checkVisibility()")


TEXTS = "source.txt outputs/hasty.txt outputs/careful.txt"
FOUND = "-r reference0.txt -m gleu -m green --resamples 20"
PAGES = {
    "score": f"score {TEXTS} -r reference0.txt -m gleu -m green",
    "rank": f"rank {TEXTS} {FOUND}",
    "diff": f"diff {TEXTS} {FOUND}",
    "alarms": "alarms reference0.txt outputs/hasty.txt outputs/careful.txt --resamples 20",
    "explain": "explain source.txt outputs/hasty.txt reference0.txt --worst 2 -m errant",
    "estimate": "estimate sample -m gleu -m green",
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("command", PAGES)
def test_a_page_can_be_read_on_a_phone(
    tab: chromium.Page, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, scheme: str
) -> None:
    path = tmp_path / "page.html"
    with importlib.resources.as_file(importlib.resources.files("gecjury.benchmarks")) as folder:
        monkeypatch.chdir(folder / "sample")
        with contextlib.redirect_stdout(io.StringIO()):
            assert main([*PAGES[command].split(), "--html", str(path)]) == 0
    opened(tab, path)
    tab.media(scheme)
    tab.size(390, 844, phone=True)
    assert tab.problems == []
    assert tab.requests == [path.resolve().as_uri()]
    assert tab.run("document.documentElement.scrollWidth") == 390
    assert len(inks(tab)) > 50
    # The answer comes before the cards, and the cards before the plots.
    top = "document.querySelector('{}')?.getBoundingClientRect().top ?? {}"
    answer, cards, plot = (
        tab.run(top.format(*place)) for place in ((".lead", -1), (".card", 0), ("svg.plot", -1))
    )
    assert 0 < answer < 844
    assert cards < plot
    # Tables that are too wide scroll in their box.
    wide = "[...document.querySelectorAll('table')].filter(t => t.offsetWidth > 390)"
    assert tab.run(f"{wide}.every(t => getComputedStyle(t.parentElement).overflowX === 'auto')")
    if command not in ("alarms", "estimate"):
        # Right and wrong edits differ in more than colour.
        marks = "[...document.querySelectorAll('article mark.{}')]"
        ends = f"{marks}.map(m => m.textContent.at(-1))"
        for kind, sign in (("right", "✓"), ("wrong", "✗"), ("missed", "○")):
            assert set(tab.run(ends.format(kind))) <= {sign}
        assert tab.run(f"{marks.format('wrong')}.length") > 0


def test_no_card_or_plot_is_alone_in_its_row(tab: chromium.Page, report: Path) -> None:
    """Of three cards all are in one row or each has a row; an odd last plot has the whole row."""
    opened(tab, report)
    for width in (1280, 1000, 800, 600):
        tab.size(width)
        for grid in ("cards", "two"):
            places = tab.run(
                f"[...document.querySelector('.{grid}').children].map(c => "
                "{ const box = c.getBoundingClientRect(); return [box.left, box.right]; })"
            )
            last = tab.run(f"document.querySelector('.{grid}').getBoundingClientRect().right")
            assert places[-1][1] == pytest.approx(last, abs=1)
