"""Choice of the next item: fixed orders, disagreement of metrics, pairs that settle the ranking."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gecjury.core.errors import OptionError
from gecjury.metaeval.disagreement import sentence_views
from gecjury.scoring.registry import load
from gecjury.web.answers import ItemAnswer
from gecjury.web.choosing import Settling
from gecjury.web.study import AnnotationStudy
from gecjury.web.tasks import Item
from tests.gecjury.web.conftest import Browser

Open = Callable[..., Browser]


def asked(page: Browser) -> list[str]:
    items = []
    while item := page.item():
        items.append(item)
        page.answer()
    return items


def test_fixed_orders(browser: Open, begin: Callable[..., AnnotationStudy]) -> None:
    assert asked(browser(order="file")) == ["1.1", "2.1", "3.1", "4.1"]
    one = begin(order="random", seed=0)
    names = [one.chooser("x", set(one.by_name), {}) for _ in range(2)]
    assert names[0] == names[1]


def test_the_item_stays_until_it_is_answered(browser: Open) -> None:
    page = browser()
    item = page.item()
    assert [page.item() for _ in range(3)] == [item] * 3
    other = Browser(page.study, "ben")
    other.answer()
    assert page.item() == item


@pytest.mark.parametrize("task", ["rank", "rate"])
def test_items_on_which_metrics_disagree_come_first(browser: Open, folder: Path, task: str) -> None:
    (folder / "ref.txt").write_text((folder / "good.txt").read_text())
    page = browser(metrics=["changes", "gleu"], references=[str(folder / "ref.txt")], task=task)
    tables = [load(name).score_corpus(page.study.corpus) for name in ["changes", "gleu"]]
    views = sentence_views(page.study.corpus, tables, {})
    worth = {view.row: round(view.disagreement, 9) for view in views}
    order = [worth[page.study.by_name[name].row] for name in asked(page)]
    assert order == sorted(order, reverse=True)
    assert len(set(order)) > 1


def item(name: str, *systems: str) -> Item:
    return Item(
        name, int(name) - 1, tuple(f"text {s}" for s in systems), tuple((s,) for s in systems)
    )


def ranked(who: str, one: Item, *values: int) -> ItemAnswer:
    return ItemAnswer(f"{who} {one.id}", who, one.id, one.row + 1, one.systems, values)


def test_open_pairs_come_before_settled_pairs() -> None:
    items = [item("1", "a", "b"), item("2", "a", "b"), item("3", "b", "c"), item("4", "a", "c")]
    chooser = Settling(items, ["a", "b", "c"], 0)
    won = [ranked("x", each, 1, 2) for each in items[:1]]
    left = {"2", "3", "4"}
    assert chooser("x", left, {"x": won}) in ("3", "4")
    assert chooser("x", {"2"}, {"x": won}) == "2"


def test_a_close_pair_is_more_open_than_a_clear_pair() -> None:
    every = [item(str(n), "a", "b") for n in range(1, 5)]
    every += [item(str(n), "c", "d") for n in range(5, 9)]
    last = [item("9", "a", "b"), item("10", "c", "d")]
    chooser = Settling([*every, *last], ["a", "b", "c", "d"], 0)
    close = [ranked("x", each, 1 + n % 2, 2 - n % 2) for n, each in enumerate(every[:4])]
    clear = [ranked("x", each, 1, 2) for each in every[4:]]
    assert chooser("x", {"9", "10"}, {"x": close + clear}) == "9"


def test_a_set_is_valued_by_its_pairs_per_reading_effort() -> None:
    items = [item("1", "a", "b"), item("2", "a", "b", "c", "d")]
    assert Settling(items, ["a", "b", "c", "d"], 0)("x", {"1", "2"}, {}) == "2"
    # Three half-settled pairs from three texts are worth less than one open pair from two.
    items = [item("1", "a", "b"), *(item(str(n), "b", "c", "d") for n in range(2, 7))]
    tied = [ranked("x", each, 1, 1, 1) for each in items[1:5]]
    assert Settling(items, ["a", "b", "c", "d"], 0)("x", {"1", "6"}, {"x": tied}) == "1"


def test_every_fourth_item_has_an_answer_by_another_annotator() -> None:
    items = [item(str(n), "a", "b") for n in range(1, 30)]
    chooser = Settling(items, ["a", "b"], 0)
    theirs = [ranked("ben", each, 1, 2) for each in items[20:25]]
    mine: list[ItemAnswer] = []
    shared = []
    for _ in range(12):
        left = {each.id for each in items} - {answer.item for answer in mine}
        name = chooser("anna", left, {"anna": mine, "ben": theirs})
        mine.append(ranked("anna", items[int(name) - 1], 1, 2))
        shared.append(name in {answer.item for answer in theirs})
    assert [shared[at] for at in (3, 7, 11)] == [True] * 3


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metrics": ["green"]}, "one metric cannot disagree"),
        ({"metrics": ["green", "gleu"], "order": "file"}, "does not use metrics"),
        ({"task": "rate", "order": "informative"}, "it needs metrics that may disagree"),
        ({"metrics": ["gren", "gleu"]}, "did you mean green"),
    ],
)
def test_incompatible_options_are_refused(
    browser: Open, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError, match=message):
        browser(**options)


def test_an_undone_answer_no_longer_counts() -> None:
    items = [item("1", "a", "b"), item("2", "a", "b"), item("3", "b", "c")]
    chooser = Settling(items, ["a", "b", "c"], 0)
    fresh = Settling(items, ["a", "b", "c"], 0)("x", {"2", "3"}, {})
    given = [ranked("x", items[0], 1, 2)]
    assert chooser("x", {"2", "3"}, {"x": given}) == "3"
    assert chooser("x", {"2", "3"}, {"x": []}) == fresh
    other = [ranked("x", items[2], 1, 2)]
    assert chooser("x", {"1", "2", "3"}, {"x": other}) in ("1", "2")
