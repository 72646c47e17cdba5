"""Agreement on the overview page, compared with values computed separately from the file."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.annotators import annotator_agreement, annotator_kappa, cohen_kappa
from gecjury.benchmarks.judgments import judged_entries
from gecjury.benchmarks.own.judgments import read_judgments
from gecjury.core.wording import number
from gecjury.web.annotate import agreement
from tests.gecjury.web.conftest import Browser

Open = Callable[..., Browser]


def judged(browser: Open, task: str) -> Browser:
    """Return a browser of a study in which two annotators agree on some of the shared items."""
    page = browser(task=task, order="random")
    rng = np.random.default_rng(1)
    count = len(page.study.items)
    for name, most in (("anna", count), ("ben", count - 1)):
        person = Browser(page.study, name, name)
        for _ in range(most):
            item = page.study.by_name[person.item()]
            person.answer(*(int(value) for value in rng.integers(1, 3, item.values)))
    return page


def shown(page: Browser) -> dict[str, list[str]]:
    """Return the figures of the overview by question: shared, same, (without ties,) kappa."""
    text = page.client.get("/overview").text
    names = re.findall(r'<tr data-what="(\w+)">.*?</tr>', text, re.DOTALL)
    rows = re.findall(r'<tr data-what="\w+">.*?</tr>', text, re.DOTALL)
    return {
        name: re.findall(r'<td class="n">([^<]*)</td>', row)
        for name, row in zip(names, rows, strict=True)
    }


def test_rankings(browser: Open, folder: Path) -> None:
    page = judged(browser, "rank")
    items = read_judgments(folder / "j.csv", page.study.corpus).items
    pairs = annotator_agreement(judged_entries(items, page.study.corpus.names))
    kappa = annotator_kappa(items)
    assert pairs.pairs > 10
    expected = [pairs.pairs, pairs.with_ties, pairs.accuracy, kappa.mean]
    assert shown(page) == {"ranking": [number(value) for value in expected]}


def test_ratings(browser: Open, folder: Path) -> None:
    page = judged(browser, "rate")
    raters = read_judgments(folder / "j.csv", page.study.corpus).raters
    figures = shown(page)
    assert list(figures) == list(raters)
    for aspect, (one, two) in raters.items():
        seen = set()
        values = []
        for sentence in range(len(page.study.corpus)):
            for place, name in enumerate(page.study.corpus.names):
                key = sentence, page.study.corpus.systems[name].lines[sentence]
                if key not in seen and not np.isnan(one[place, sentence] + two[place, sentence]):
                    seen.add(key)
                    values.append((one[place, sentence], two[place, sentence]))
        a, b = np.array(values).T
        expected = [len(values), float((a == b).mean()), cohen_kappa(a, b)]
        assert figures[aspect] == [number(value) for value in expected]


def test_verdicts(browser: Open) -> None:
    pytest.importorskip("errant")
    page = browser(task="edits", order="file")
    for name, value in (("anna", 1), ("ben", 0)):
        person = Browser(page.study, name, name)
        person.answer(1)
        person.answer(value)
    (result,) = agreement("edits", page.study.journal.answers(), page.study.corpus.names)
    assert (result.what, result.count, result.same) == ("verdicts", 2, 0.5)
    assert result.kappa == cohen_kappa(np.array([1, 1]), np.array([1, 0]))


def test_without_shared_items_there_is_no_agreement(browser: Open) -> None:
    page = browser()
    page.answer()
    assert agreement("rank", page.study.journal.answers(), page.study.corpus.names) == []
    assert "Nothing has been judged by two annotators yet" in page.client.get("/overview").text
