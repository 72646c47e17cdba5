"""Rewards: the calls of loops and of trainers, and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gecjury import load, reward
from gecjury.core.errors import InputError, OptionError

SOURCE = ["He go home now .", "This are a sentence ."]
GOOD = ["He goes home now .", "This is a sentence ."]


def test_plain_lists_give_the_metrics_sentence_scores() -> None:
    texts = [GOOD[0], SOURCE[1]]
    table = load("green").score(SOURCE, {"x": texts}, [GOOD])
    assert reward("green")(SOURCE, texts, GOOD) == table.sentences[0].tolist()
    assert reward("changes")(SOURCE, texts) == [1.0, 0.0]
    assert reward("green")([], [], []) == []


def test_the_call_that_trainers_make() -> None:
    score = reward("green")
    rewards = score(
        prompts=["Correct: a", "Correct: b", "Correct: c"],
        completions=[
            [{"role": "assistant", "content": GOOD[0]}],
            [{"role": "assistant", "content": [{"type": "text", "text": SOURCE[0]}]}],
            [{"role": "assistant", "content": None}],
        ],
        completion_ids=[[1], [2], [3]],
        source=[SOURCE[0]] * 3,
        references=[[GOOD[0]], [GOOD[0]], GOOD[0]],
        trainer_state=object(),
    )
    assert rewards == [*score([SOURCE[0]] * 2, [GOOD[0], SOURCE[0]], [GOOD[0]] * 2), None]
    assert score.__name__ == "gecjury_green"


@pytest.mark.security
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\x0b", "\x85", "\u2028"])
def test_a_line_break_in_a_completion_is_a_blank(line_break: str) -> None:
    texts = [line_break.join(GOOD[0].split()), f"{line_break}{GOOD[1]}{line_break}"]
    score = reward("green")
    assert score(SOURCE, texts, GOOD) == score(SOURCE, GOOD, GOOD)


def test_rows_may_have_different_numbers_of_references() -> None:
    score = reward("gleu")
    mixed = score(SOURCE, GOOD, [[GOOD[0], SOURCE[0]], GOOD[1]])
    assert mixed == [
        *score(SOURCE[:1], GOOD[:1], [[GOOD[0], SOURCE[0]]]),
        *score(SOURCE[1:], GOOD[1:], GOOD[1:]),
    ]
    assert mixed[0] != mixed[1]
    written = score(SOURCE, GOOD, [str([GOOD[0], SOURCE[0]]), GOOD[1]])
    assert written == mixed


def test_rows_without_a_reference_have_no_reward() -> None:
    references = [[GOOD[0], None], [None]]
    assert reward("green")(SOURCE, GOOD, references) == [1.0, None]


@pytest.mark.parametrize("metric", ["gotoscorer", "m2", "nonsense"])
def test_metrics_that_cannot_score_rows_are_refused(metric: str) -> None:
    with pytest.raises(OptionError):
        reward(metric)


@pytest.mark.parametrize(
    ("call", "facts"),
    [
        ({}, "no texts"),
        ({"completions": GOOD}, "a column `source`"),
        ({"sources": SOURCE, "hypotheses": GOOD[:1], "references": GOOD}, "2 sources, 1 texts"),
        ({"sources": SOURCE, "hypotheses": [1, 2], "references": GOOD}, "1 is not a text"),
        ({"sources": SOURCE, "hypotheses": [[{"content": [3]}]] * 2}, "3 is not a text"),
        ({"sources": SOURCE, "hypotheses": GOOD, "references": [5, 6]}, "5 is not a reference"),
        ({"sources": SOURCE, "hypotheses": GOOD, "references": [{"ref": "x"}] * 2}, "not a refe"),
        ({"sources": "abc", "hypotheses": "abd", "references": "abd"}, "expected lists"),
        ({"sources": SOURCE, "hypotheses": GOOD}, "needs references"),
    ],
)
def test_wrong_calls_are_refused(call: dict[str, Any], facts: str) -> None:
    with pytest.raises(InputError, match=facts):
        reward("green")(**call)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_trl_trains_by_a_reward(tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    from tests.tiny import language_model

    folder = language_model(tmp_path / "policy")
    rows = [
        {"prompt": source, "source": source, "references": [text]}
        for source, text in zip(SOURCE, GOOD, strict=True)
    ]
    settings = trl.GRPOConfig(
        output_dir=str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=4,
        num_generations=4, max_completion_length=8, report_to=[], use_cpu=True, logging_steps=1,
        save_strategy="no", bf16=False,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=str(folder), reward_funcs=reward("green"), args=settings,
        train_dataset=datasets.Dataset.from_list(rows * 4),
    )  # fmt: skip
    trainer.train()
    assert any("rewards/gecjury_green/mean" in entry for entry in trainer.state.log_history)
