"""Audits of verdicts, computed by hand."""

from __future__ import annotations

import pytest

from gecjury.judges.asking.ask import Question
from gecjury.judges.audit import (
    ScoredQuestion,
    merge_audits,
    order_flips,
    panel_agreement,
    position_means,
    repeat_agreement,
)
from gecjury.judges.exchange import Request


def scored(
    texts: tuple[int, ...], scores: tuple[float, ...], order: int = 0, repeat: int = 0
) -> ScoredQuestion:
    request = Request(
        backend="vllm", model="m", base_url="", messages=(), schema=None, sampling={}, repeat=repeat
    )
    return Question(request, lambda reply: list(scores), 0, texts, order), scores


def test_flips_are_counted_by_pair() -> None:
    # texts 0, 1, 2: order 0 gives 5 4 4, order 1 gives (2, 1, 0) → 4 5 4
    # pair 0-1: + then −: flipped; 0-2: + then 0: changed; 1-2: 0 then +: changed
    ballots = [scored((0, 1, 2), (5, 4, 4)), scored((2, 1, 0), (4, 5, 4), order=1)]
    # 4 of the 6 preferences are decided: two such preferences differ by chance in (2/3)² / 2
    assert order_flips(ballots) == {
        "compared": 3, "flipped": 1 / 3, "changed": 1.0, "chance": pytest.approx(2 / 9)
    }  # fmt: skip
    assert order_flips(ballots[:1]) is None


def test_a_repeated_permutation_is_not_another_order() -> None:
    ballots = [scored((0, 1), (5, 4)), scored((0, 1), (5, 4), order=2)]
    assert order_flips(ballots) is None
    ballots.append(scored((1, 0), (5, 4), order=1))
    assert order_flips(ballots) == {"compared": 1, "flipped": 1.0, "changed": 1.0, "chance": 0.5}


def test_repeats_and_positions() -> None:
    ballots = [scored((0, 1), (5, 3)), scored((0, 1), (5, 1), repeat=1)]
    assert repeat_agreement(ballots) == {"compared": 2, "equal": 0.5}
    assert position_means(ballots) == [
        {"position": 1, "count": 2, "mean": 5.0, "distance": 1.5},  # (5−4 + 5−3) / 2
        {"position": 2, "count": 2, "mean": 2.0, "distance": -1.5},
    ]


def test_the_agreement_of_a_panel() -> None:
    # Two models, sets of two corrections and of one: units (1, 2), (4, 4) and (3, none); α as in
    # tests/gecjury/benchmarks/test_annotators.py.
    panel = [[[1, 4], [3]], [[2, 4], [float("nan")]]]
    assert panel_agreement(panel) == {
        "ordinal": pytest.approx(1 - 0.5 / 3),
        "interval": pytest.approx(1 - 0.5 / 4.5),
        "corrections": 2,
    }
    entry, notes = merge_audits([], panel)
    assert entry["rows"] == [
        {
            "model": "panel",
            "what": "Krippendorff's α",
            "value": "ordinal 0.833, interval 0.889 over 2 corrections",
        }
    ]
    assert (entry["panel"]["corrections"], notes) == (2, ())
    # α is undefined if all scores are equal, and one model is not a panel.
    assert panel_agreement([[[3, 3]], [[3, 3]]]) == {
        "ordinal": None, "interval": None, "corrections": 2,
    }  # fmt: skip
    assert panel_agreement(panel[:1]) is None
    assert "panel" not in merge_audits([], panel[:1])[0]
