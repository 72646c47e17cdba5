"""The optimiser loop: losses, order, stopping, and resuming an interrupted run."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from gecjury.core.errors import DataError, OptionError, OutputError
from gecjury.core.runtime import Runtime
from gecjury.refless.nets.regressor import load_model, load_tokenizer, padded, tokenise
from gecjury.refless.training.recipe import TrainSettings
from gecjury.refless.training.trainer import (
    Answers,
    EpochOrder,
    LearningTask,
    Objective,
    fit,
    losses,
)
from gecjury.refless.training.watching import HISTORY_FILE, Watch
from tests import tiny
from tests.judges.tinymodel import make_tiny_model
from tests.refless.training.jobs import watched

RUNTIME = Runtime(device="cpu")
SETTINGS = TrainSettings(train_batch=4, epochs=3, learning_rate=1e-3, patience=0)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.encoder(tmp_path_factory.mktemp("models") / "encoder"))


def rated(tokenizer: Any, count: int = 22) -> list[dict[str, Any]]:
    """Sentences whose first rating is their length; every third lacks the second."""
    encoded = tokenizer(tiny.sentences(count))
    return [
        {
            **{key: encoded[key][row] for key in encoded},
            "labels": [len(encoded["input_ids"][row]) / 5, float("nan") if row % 3 else 1.0],
        }
        for row in range(count)
    ]


def weights(model: Any) -> dict[str, torch.Tensor]:
    return {name: value.clone() for name, value in model.state_dict().items()}


def run(
    start: str,
    folder: Path,
    evaluate: Any,
    settings: TrainSettings = SETTINGS,
    runtime: Runtime = RUNTIME,
) -> Any:
    tokenizer = load_tokenizer(start)
    torch.manual_seed(0)
    model = load_model(start, ("length", "other"))
    task = LearningTask(
        name="x", model=model, tokenizer=tokenizer, examples=rated(tokenizer), evaluate=evaluate
    )
    return fit(task, settings, folder, runtime, Watch(folder / HISTORY_FILE))


def rows_fit(model: Any, rows: int) -> list[int]:
    """Let a model run out of memory at more than some rows, and record how many it read."""
    read: list[int] = []

    def look(module: Any, args: tuple[Any, ...], named: dict[str, Any]) -> None:
        read.append(len(named["input_ids"]))
        if read[-1] > rows:
            raise torch.OutOfMemoryError

    model.register_forward_pre_hook(look, with_kwargs=True)
    return read


def learning_task(objective: Objective, folder: Path) -> LearningTask:
    """A task without dropout, whose result therefore depends only on its batches."""
    answers = None
    if objective == "answers":
        language = make_tiny_model(folder / "judge", dtype="float32")
        tokenizer = load_tokenizer(str(language))
        model = transformers.AutoModelForCausalLM.from_pretrained(language)
        answers = Answers(pieces=(5, 6), place=0, values=(0.0, 1.0), within=1.0)
        examples = [
            {"input_ids": [*range(7, 9 + row), 5, 2], "answer": 2, "shares": [row / 9, 1 - row / 9],
             "group": row // 3, "points": row / 9}
            for row in range(9)
        ]  # fmt: skip
    else:
        start = str(tiny.encoder(folder / "encoder", dropout=0.0))
        tokenizer = load_tokenizer(start)
        model = load_model(start, ("x", "y") if objective == "regression" else ("x",))
        examples = rated(tokenizer, 14)
        if objective == "ranking":
            texts = [{"input_ids": one["input_ids"]} for one in examples]
            examples = [{"better": better, "worse": worse} for better, worse in pairwise(texts)]
    return LearningTask(
        name="x", model=model, tokenizer=tokenizer, examples=examples, objective=objective,
        evaluate=lambda model: {"score": 0.0}, answers=answers,
    )  # fmt: skip


@pytest.mark.parametrize("recomputed", [False, True])
@pytest.mark.parametrize("objective", ["regression", "ranking", "answers"])
def test_a_batch_too_large_for_memory_is_cut_and_has_the_same_gradients(
    objective: Objective, recomputed: bool, tmp_path: Path
) -> None:
    """Ratings are missing, pairs and groups lie across the cuts: parts are no batches."""
    settings = replace(SETTINGS, train_batch=7, epochs=1, gradient_checkpointing=recomputed)
    gradients: list[list[torch.Tensor]] = []
    for rows in (100, 3):
        torch.manual_seed(0)
        task = learning_task(objective, tmp_path / str(rows))
        read = rows_fit(task.model, rows)
        gradients.append([])
        for weight in task.model.parameters():
            weight.register_hook(gradients[-1].append)
        fit(task, settings, tmp_path / f"run {rows}", RUNTIME, Watch(tmp_path / HISTORY_FILE))
    # The size that fits is found in the first step, and kept for the second.
    assert [count > 3 for count in read].index(False) == sum(count > 3 for count in read) > 0
    assert len(gradients[0]) > len(list(task.model.parameters()))
    for whole, parts in zip(*gradients, strict=True):
        torch.testing.assert_close(parts, whole, atol=1e-6, rtol=1e-4)


def test_too_little_memory_for_one_example_is_told_in_one_line(tmp_path: Path) -> None:
    task = learning_task("regression", tmp_path)
    rows_fit(task.model, 0)
    with pytest.raises(OptionError, match="`gradient_checkpointing=`") as told:
        fit(task, SETTINGS, tmp_path / "run", RUNTIME, Watch(tmp_path / HISTORY_FILE))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_is_that_of_the_tokenizer(start: str, side: str) -> None:
    tokenizer = load_tokenizer(start)
    tokenizer.padding_side = side
    rows = tokenise(tokenizer, ["a cat", "he goes to school"], ["the cat", "he went"], 32)
    for key, values in tokenizer.pad(rows, return_tensors="pt").items():
        assert torch.equal(padded(tokenizer, rows)[key], values)


def test_losses_by_hand() -> None:
    found = losses()
    nan = float("nan")
    logits = torch.tensor([[1.0, 2.0], [3.0, 9.0]])
    # (1−0)², (3−1)² and (2−4)² over three rated cells: 9/3.
    assert found["regression"](logits, torch.tensor([[0.0, 4.0], [1.0, nan]])).item() == 3.0
    assert found["regression"](logits, torch.full((2, 2), nan)).item() == 0.0
    # Better 2 and 0, worse 0 and 2: mean of sigmoid(−2) and sigmoid(2) is ½.
    logits = torch.tensor([[2.0], [0.0], [0.0], [2.0]])
    labels = torch.tensor([1.0, 1.0, -1.0, -1.0])
    assert found["ranking"](logits, labels).item() == pytest.approx(0.5)


def test_order_depends_only_on_seed_and_epoch() -> None:
    lengths = np.random.default_rng(0).integers(3, 30, 103).tolist()
    order = EpochOrder(lengths, 8, seed=1)
    order.set_epoch(2)
    first = list(order)
    again = EpochOrder(lengths, 8, seed=1)
    again.set_epoch(2)
    assert list(again) == first
    assert sorted(first) == list(range(103))
    order.set_epoch(3)
    assert list(order) != first
    spread = [np.ptp([lengths[row] for row in first[i : i + 8]]) for i in range(0, 96, 8)]
    assert np.mean(spread) < 8  # in random order they would spread over about 22


def test_training_learns_and_keeps_the_best_epoch(start: str, tmp_path: Path) -> None:
    seen: list[float] = []

    def evaluate(model: Any) -> dict[str, float]:
        # The second epoch is declared the best.
        seen.append(float(model.classifier.bias[0].detach()))
        return {"score": [0.1, 0.9, 0.5][len(seen) - 1]}

    result = run(start, tmp_path, evaluate)
    assert [entry["score"] for entry in result.history] == [0.1, 0.9, 0.5]
    assert result.best["score"] == 0.9
    assert float(result.model.classifier.bias[0].detach()) == seen[1]
    assert seen[0] != seen[1] != seen[2]


def test_early_stopping_counts_epochs_without_improvement(start: str, tmp_path: Path) -> None:
    scores = iter([0.5, 0.4, 0.3, 0.9])
    settings = TrainSettings(train_batch=8, epochs=9, patience=2)
    result = run(start, tmp_path, lambda _: {"score": next(scores)}, settings)
    assert len(result.history) == 3


def test_an_interrupted_run_resumes_to_the_same_weights(start: str, tmp_path: Path) -> None:
    def score(model: Any) -> dict[str, float]:
        return {"score": float(model.classifier.bias.detach().sum())}

    def curve(folder: Path) -> list[tuple[int, float]]:
        (last,) = folder.glob("checkpoint-18")  # 22 rows in batches of 4, three times
        log = json.loads((last / "trainer_state.json").read_text())["log_history"]
        return [(entry["step"], entry["loss"]) for entry in log if "loss" in entry]

    whole = weights(run(start, tmp_path / "whole", score).model)
    # Every tenth step, and the end of every epoch, from where a run may resume.
    assert [step for step, _ in curve(tmp_path / "whole")] == [6, 10, 12, 18]
    folder, calls = tmp_path / "broken", 0

    def fails(model: Any) -> dict[str, float]:
        nonlocal calls
        calls += 1
        if calls == 2:
            raise RuntimeError("killed")
        return score(model)

    with pytest.raises(RuntimeError, match="killed"):
        run(start, folder, fails)
    # A checkpoint that was being written when the process died is skipped.
    torn = folder / "checkpoint-999"
    torn.mkdir()
    (torn / "trainer_state.json").write_text('{"epoch": ')
    resumed = weights(run(start, folder, score).model)
    assert all(torch.equal(resumed[name], whole[name]) for name in whole)
    assert curve(folder) == curve(tmp_path / "whole")


def test_a_resumed_run_has_the_patience_of_an_unbroken_one(start: str, tmp_path: Path) -> None:
    """Killed when its n-th checkpoint is written; from the first on, the score only falls."""
    scores = [0.5, 0.4, 0.3, 0.9]
    settings = TrainSettings(train_batch=8, epochs=4, patience=2)
    seen: list[float] = []

    def score(model: Any) -> dict[str, float]:
        seen.append(scores[len(seen)])
        return {"score": seen[-1]}

    def kill(history: object) -> None:
        if len(seen) == killed:
            raise RuntimeError("killed")

    whole = run(start, tmp_path / "whole", score, settings)
    assert [entry["score"] for entry in whole.history] == scores[:3]
    for killed in (1, 2, 3):
        seen.clear()
        folder = tmp_path / f"broken {killed}"
        with watched(kill), pytest.raises(RuntimeError, match="killed"):
            run(start, folder, score, settings)
        resumed = run(start, folder, score, settings)
        assert resumed.history == whole.history
        assert resumed.best == whole.best
        for name, value in weights(whole.model).items():
            assert torch.equal(weights(resumed.model)[name], value)


def test_an_interrupt_before_the_first_checkpoint_says_so(start: str, tmp_path: Path) -> None:
    def stop(model: Any) -> dict[str, float]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="has no checkpoint yet, since its first epoch"):
        run(start, tmp_path, stop)


def test_checkpoints_of_another_run_are_refused(start: str, tmp_path: Path) -> None:
    settings = TrainSettings(train_batch=8, epochs=1)
    run(start, tmp_path, lambda _: {"score": 1.0}, settings)
    other = TrainSettings(train_batch=8, epochs=1, learning_rate=2e-5)
    with pytest.raises(OptionError, match="other settings or data"):
        run(start, tmp_path, lambda _: {"score": 1.0}, other)


@pytest.mark.slow
def test_a_nan_loss_stops_training_and_keeps_the_last_good_state(
    start: str, tmp_path: Path
) -> None:
    calls = 0

    def spoils(model: Any) -> dict[str, float]:
        nonlocal calls
        calls += 1
        if calls == 2:
            with torch.no_grad():
                model.classifier.weight.fill_(float("nan"))
        return {"score": 1.0}

    with pytest.raises(DataError, match=r"loss is no longer a number.*Lower the learning rate"):
        run(start, tmp_path, spoils)
    kept = sorted(tmp_path.glob("checkpoint-*"))
    assert kept
    with pytest.raises(DataError, match="no longer a number"):
        run(start, tmp_path / "b", lambda _: {"score": float("nan")})


def test_a_full_disk_is_reported(
    start: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import Trainer

    def full(*_: object, **__: object) -> None:
        raise RuntimeError("PytorchStreamWriter failed writing file data/0: file write failed")

    monkeypatch.setattr(Trainer, "_save_checkpoint", full)
    with pytest.raises(OutputError, match="no space left on the disk"):
        run(start, tmp_path, lambda _: {"score": 1.0})
