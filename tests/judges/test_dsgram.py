"""dsgram: grades and matrices in replies, and the scores that follow from them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.judges.asking.items import judged_items, review_of
from gecjury.judges.dsgram import DSGram, priorities
from gecjury.judges.exchange import Reply
from gecjury.judges.replies.forms import GRADED_WEIGHED
from gecjury.judges.replies.reply import Failure, has_form, read_grades
from gecjury.scoring.registry import load
from tests.judges.conftest import FakeModel, member

ONES = [[1, 1, 1]] * 3
# Weights .5, .3 and .2.
CONSISTENT = [[1, 5 / 3, 5 / 2], [3 / 5, 1, 3 / 2], [2 / 5, 2 / 3, 1]]


def reply(matrix: object, meaning: object = 10, edits: object = 5, fluency: object = 1) -> str:
    grades = {"meaning": meaning, "edit_level": edits, "fluency": fluency}
    return json.dumps({**grades, "importance": matrix})


@pytest.fixture
def model(runtime: Runtime) -> FakeModel:
    fake = FakeModel(runtime)
    fake.say = lambda attempt: Reply(reply(CONSISTENT))
    return fake


def test_a_consistent_matrix_has_its_weights() -> None:
    weights, ratio = priorities(np.array(CONSISTENT))
    assert weights == pytest.approx([0.5, 0.3, 0.2])
    assert ratio == pytest.approx(0, abs=1e-9)
    assert priorities(np.ones((3, 3)))[0] == pytest.approx([1 / 3] * 3)


def test_the_ratio_of_an_inconsistent_matrix() -> None:
    """For a, b and c above the diagonal, λ = 1 + x + 1/x with x = (b / (a·c)) ** (1/3).

    With a = b = c = 2: x = (1/2) ** (1/3) = .7937, λ = 3.0536 and the ratio .0536 / 2 / .58 = .046.
    With a = 2, b = 1/2, c = 2: x = (1/8) ** (1/3) = 1/2, λ = 3.5 and the ratio .25 / .58 = .431;
    the three are equally important, in a circle.
    """
    weights, ratio = priorities(np.array([[1, 2, 2], [1 / 2, 1, 2], [1 / 2, 1 / 2, 1]]))
    assert ratio == pytest.approx(0.0462, abs=1e-4)
    # The eigenvector is that of the geometric means of the rows: 4 ** (1/3), 1 and (1/4) ** (1/3).
    means = np.array([4 ** (1 / 3), 1, 0.25 ** (1 / 3)])
    assert weights == pytest.approx(means / means.sum())
    circle, ratio = priorities(np.array([[1, 2, 1 / 2], [1 / 2, 1, 2], [2, 1 / 2, 1]]))
    assert circle == pytest.approx([1 / 3] * 3)
    assert ratio == pytest.approx(0.25 / 0.58)


def test_grades_are_weighted(model: FakeModel, corpus: Corpus) -> None:
    table = model.score("dsgram", corpus)
    # 10 · .5 + 5 · .3 + 1 · .2
    assert table.sentences == pytest.approx(np.full((3, 3), 6.7))
    assert table.totals["a"] == pytest.approx(6.7)
    assert len(model.attempts) == 6
    metric = load("dsgram", model="m")
    assert isinstance(metric, DSGram)
    parts = metric.parts(table.statistics, table.by_sentence)
    assert {name: part[0, 0] for name, part in parts.items()} == {
        "meaning": 10, "edit_level": 5, "fluency": 1
    }  # fmt: skip
    assert not any("doubtful" in note for note in table.statistics.notes)


def test_fixed_weights_need_no_matrix(model: FakeModel, corpus: Corpus) -> None:
    plan = model.load("dsgram:weights=1+1+2").plan(corpus, model.runtime)
    assert plan is not None
    assert plan.requests == 6
    model.say = lambda attempt: Reply('{"meaning": 10, "edit_level": 5, "fluency": "1/10"}')
    table = model.score("dsgram:weights=1+1+2", corpus)
    assert "importance" not in model.prompts[0]
    assert table.sentences == pytest.approx(np.full((3, 3), 17 / 4))
    # Other weights use the stored replies.
    assert model.score("dsgram:weights=0+1+0", corpus).totals["b"] == 5
    assert len(model.attempts) == 6


def test_a_panel_averages_grades_and_weights(model: FakeModel, corpus: Corpus) -> None:
    model.say = lambda attempt: Reply(
        reply(CONSISTENT) if attempt.request.model == "m1" else reply(ONES, 4, 5, 3)
    )
    table = model.score("dsgram", corpus, model="m1+m2", base_url="http://j.example/v1")
    weights = np.array([0.5 + 1 / 3, 0.3 + 1 / 3, 0.2 + 1 / 3]) / 2
    assert table.sentences == pytest.approx(np.full((3, 3), weights @ [7, 5, 2]))
    # Three grades of each of six outputs.
    assert table.statistics.details["audit"]["panel"]["corrections"] == 18


@pytest.mark.parametrize("weights", ["", "1", "1+2", "1+2+3+4", "a+b+c", "nan+1+1", "-1+1+1",
                                     "0+0+0", "inf+1+1"])  # fmt: skip
def test_other_weights_are_refused(weights: str) -> None:
    with pytest.raises(OptionError, match=r"expected asked, or three numbers of 0 or more"):
        load("dsgram", weights=weights)


@pytest.mark.parametrize(
    "text",
    [
        "",
        '{"meaning": 3}',
        '{"meaning": 3, "edit_level": 3, "fluency": 3}',
        reply(ONES, 0),
        reply(ONES, 11),
        reply(ONES, "good"),
        reply(ONES, "4/5"),
        reply(ONES, True),
        reply("1"),
        reply([1] * 9),
        reply(ONES[:2]),
        reply([[1, 1]] * 3),
        reply([[1, 2, 1], [1, 1, 1], [1, 1, 1]]),  # 2 and 1 are not inverse
        reply([[2, 1, 1], [1, 1, 1], [1, 1, 1]]),  # the diagonal is not 1
        reply([[1, -2, 1], [-0.5, 1, 1], [1, 1, 1]]),
        reply([[1, 0, 1], [0, 1, 1], [1, 1, 1]]),
        reply([[1, 20, 1], [0.05, 1, 1], [1, 1, 1]]),
        reply([[1, float("nan"), 1], [1, 1, 1], [1, 1, 1]]),
        reply([[1, None, 1], [1, 1, 1], [1, 1, 1]]),
        reply([[1, "1/0", 1], [1, 1, 1], [1, 1, 1]]),
        reply([[1, True, 1], [1, 1, 1], [1, 1, 1]]),
        reply([[1, 10**400, 1], [1, 1, 1], [1, 1, 1]]),
        reply(ONES)[:-1] + ', "importance": [[1, 2, 3]]}',
        reply(ONES) + reply(CONSISTENT),
    ],
)
def test_what_cannot_be_read_is_a_failure(text: str) -> None:
    assert isinstance(read_grades(text, matrix=True), Failure)


def test_rounded_inverses_and_fractions_are_read() -> None:
    rounded = [[1, 7, "1/3"], [0.14, 1, 0.11], [3, 9, 1]]
    read = read_grades(reply(rounded), matrix=True)
    assert read == pytest.approx([10, 5, 1, 1, 7, 1 / 3, 0.14, 1, 0.11, 3, 9, 1])
    assert has_form(reply(ONES), GRADED_WEIGHED.schema)


def test_a_missing_matrix_is_a_missing_score(model: FakeModel) -> None:
    corpus = Corpus(("He go .",), {"a": Version(("He goes .",)), "b": Version(("He  goes .",))})
    model.say = lambda attempt: Reply(reply([[1, 2, 1], [1, 1, 1], [1, 1, 1]]))
    table = model.score("dsgram", corpus, tries=2)
    assert np.isnan(table.sentences).all()
    assert len(model.attempts) == 2  # both outputs are one
    assert member(table)["missing"][0]["detail"] == "importance has numbers that are not inverse"


def test_doubtful_weights_are_noted_and_replies_shown(model: FakeModel, corpus: Corpus) -> None:
    circle = [[1, 2, 0.5], [0.5, 1, 2], [2, 0.5, 1]]
    model.say = lambda attempt: Reply(reply(circle))
    notes = model.score("dsgram", corpus).statistics.notes
    assert any("weights of 6 of 6 outputs are doubtful" in note for note in notes)
    (store,) = model.runtime.cache_folder("judgments").glob("*.jsonl")
    review = review_of([store], 9)
    assert (review.count, review.failed, review.unread) == (6, 0, 0)
    assert not [*judged_items(store)]
