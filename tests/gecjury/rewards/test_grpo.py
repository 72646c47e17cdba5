"""A tiny policy trained with rewards: the cheats that it learns, and those that guards prevent."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.rewards import reward

pytestmark = pytest.mark.slow


def test_guards_keep_a_policy_from_the_cheapest_cheats() -> None:
    pytest.importorskip("transformers")
    from tests.gecjury.rewards.policy import Policy

    honest = ("right", "copied", "other")
    guarded = {}
    for guards in ("none", "all"):
        policy = Policy.made(steps=200)
        policy.learn(reward("changes", scale=(0, 2), guards=guards), 40)
        habits = policy.habits(2)
        guarded[guards] = sum(share for name, share in habits.items() if name not in honest)
    # The number of changed tokens is not quality, so neither policy learns to correct. With guards,
    # empty lines and repeated words no longer earn the reward.
    assert guarded["none"] > 0.9
    assert guarded["all"] < 0.5


@pytest.mark.filterwarnings("ignore")
def test_trl_trains_by_a_reward(tmp_path: Path) -> None:
    trl = pytest.importorskip("trl")
    datasets = pytest.importorskip("datasets")
    from tests.gecjury.rewards.policy import pairs
    from tests.tiny import language_model

    folder = language_model(tmp_path / "policy")
    rows = [{"prompt": s, "source": s, "references": [r]} for s, r in pairs()[:8]]
    green = reward("green", scale=(0, 1))
    settings = trl.GRPOConfig(
        output_dir=str(tmp_path / "out"), max_steps=1, per_device_train_batch_size=4,
        num_generations=4, max_completion_length=8, report_to=[], use_cpu=True, logging_steps=1,
        save_strategy="no", bf16=False,
    )  # fmt: skip
    trainer = trl.GRPOTrainer(
        model=str(folder), reward_funcs=green, args=settings,
        train_dataset=datasets.Dataset.from_list(rows),
    )  # fmt: skip
    trainer.train()
    logged = {key for entry in trainer.state.log_history for key in entry}
    assert "rewards/gecjury_green/mean" in logged
    assert "guards/unrelated" in logged
