"""Train one model: examples in, the best checkpoint out; a killed run resumes where it stopped.

The module has, in this order, the task (`LearningTask`) and its result (`Fit`), the run and its
checkpoints, our additions to the Trainer of transformers, and the order, padding and losses of
batches.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Literal

import numpy as np

from gecjury.core.durable import write_text
from gecjury.core.errors import DataError, OptionError
from gecjury.core.runtime import Bar, Runtime
from gecjury.core.textfiles import read_text
from gecjury.models.batching import pick_device
from gecjury.models.checkpoints import quiet_transformers
from gecjury.models.foreign import Network, Tensor, Tokenizer, TrainerPart
from gecjury.refless.nets.regressor import EncoderInputs, output_errors, padded
from gecjury.refless.nets.trainable import freeze_lowest, keep_layers, recompute_layers
from gecjury.refless.training.recipe import TrainSettings
from gecjury.refless.training.watching import Watch, dev_figures

Objective = Literal["regression", "ranking", "detection", "answers"]

Loss = Callable[[Tensor, Tensor], Tensor]
"""A loss of logits and labels."""

Evaluate = Callable[[Network], Mapping[str, float]]
"""A function that returns dev figures of a model; the best checkpoint has the highest `score`."""


@dataclass(frozen=True, kw_only=True)
class Answers:
    """The answers that a language model chooses from, distinguished by one word piece.

    Attributes:
        pieces: the deciding word piece of each answer.
        place: its position in every answer.
        values: the value of each answer; the model's score is their mean, weighted by probability.
        within: weight of the order within a group, relative to the answers themselves.
    """

    pieces: tuple[int, ...]
    place: int
    values: tuple[float, ...]
    within: float = 0.0


@dataclass(frozen=True, kw_only=True)
class LearningTask:
    """A learning task.

    Attributes:
        name: the model's name in the history of the run.
        model: the model to train; its head's outputs suit the objective.
        tokenizer: pads batches.
        examples: `regression`: `input_ids`, ... and `labels`, one number per output, NaN = not
            rated. `ranking`: `better` and `worse`, each a tokenised text. `detection`:
            `input_ids`, ... and `labels`, one 0, 1 or −100 (not counted) per word piece. `answers`:
            `input_ids`, a question and its most probable answer; `answer`, the number of the
            answer's word pieces; `shares`, the target probability of each answer; `group`, equal
            for questions whose scores are compared by their `points`.
        evaluate: see `Evaluate`.
        objective: the loss.
        label: name for progress bars and messages.
        error_weight: for `detection`: weight of word pieces labelled 1 in the loss.
        answers: for `answers`: the answers, and the weight of their differences.
    """

    name: str
    model: Network
    tokenizer: Tokenizer
    examples: Sequence[EncoderInputs]
    evaluate: Evaluate
    objective: Objective = "regression"
    label: str = "training"
    error_weight: float = 1.0
    answers: Answers | None = None


@dataclass(frozen=True)
class Fit:
    """The outcome of a finished run.

    Attributes:
        model: the best checkpoint by dev score.
        best: its dev figures.
        history: dev figures by epoch.
    """

    model: Network
    best: Mapping[str, float]
    history: tuple[Mapping[str, float], ...]


def fit(
    task: LearningTask, settings: TrainSettings, folder: Path, runtime: Runtime, watch: Watch
) -> Fit:
    """Train a model, or resume a killed run where it stopped.

    Args:
        task: the model, its examples and its dev score.
        settings: see `TrainSettings`.
        folder: folder for checkpoints; a folder of a run with other settings or data is refused.

    Raises:
        KeyboardInterrupt: names the checkpoint that is kept.
        DataError: the loss is no longer a number; the last good checkpoint is kept.
        OutputError: a checkpoint cannot be written.
        OptionError: the folder contains checkpoints of another run; the encoder has fewer layers
            than are to be frozen; there are fewer GPUs than processes; or the GPU's memory is too
            small.
    """
    import torch

    quiet_transformers()
    keep_freed_memory()
    # Frozen before the optimiser is created, which collects the parameters with gradients.
    if settings.freeze_layers is not None:
        freeze_lowest(task.model, settings.freeze_layers)
    _claim(folder, settings, task)
    if settings.gradient_checkpointing:
        recompute_layers(task.model)
    last = _last_checkpoint(folder)
    if last:
        state = json.loads(read_text(Path(last) / "trainer_state.json"))
        if is_main_process():
            watch.told(f"{task.label} resumes after {_reached(last)}")
        if settings.patience and _waited(state["log_history"]) >= settings.patience:
            # It was killed after its last epoch: nothing is left but to read the best checkpoint.
            settings = replace(settings, epochs=round(state["epoch"]))
    with ExitStack() as open_until_trained:

        def open_bar(steps: int) -> Bar:
            return open_until_trained.enter_context(runtime.progress.task(task.label, steps))

        saved = partial(watch.note, task.name)
        trainer = _build_trainer(task, settings, folder, runtime, open_bar, saved)
        try:
            with output_errors(folder):
                trainer.train(resume_from_checkpoint=last)
        except KeyboardInterrupt:
            raise KeyboardInterrupt(_told_at_interrupt(task.label, folder)) from None
        except torch.OutOfMemoryError:
            raise OptionError(
                f"{task.label}: the GPU's memory is too small: run the same command again with "
                "`gradient_checkpointing=`, or start again with a smaller `train_batch=` or a "
                "larger `freeze_layers=`"
            ) from None
    # The returned model is saved and used like any other, so its layers are restored.
    if settings.gradient_checkpointing:
        keep_layers(task.model)
    history = dev_figures(trainer.state.log_history)
    best = max(history, key=lambda entry: entry["score"]) if history else {}
    return Fit(trainer.model, best, tuple(history))


def keep_freed_memory() -> None:
    """Let glibc keep freed memory: every step frees all gradients and needs the same memory again.

    Otherwise the system takes it back and clears it, a tenth to a fifth of a step on a processor.
    """
    import ctypes

    with suppress(AttributeError, OSError, TypeError):  # of other C libraries
        library = ctypes.CDLL(None)
        library.mallopt(-3, 2**25)  # M_MMAP_THRESHOLD: the largest value that is allowed
        library.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD


def _claim(folder: Path, settings: TrainSettings, task: LearningTask) -> None:
    """Mark the checkpoints' folder as this run's, or refuse another run's."""
    from gecjury.corpus.fingerprints import fingerprint

    record: dict[str, object] = {
        "settings": settings.deciding(),
        "objective": task.objective,
        "answers": task.answers and asdict(task.answers),
        "examples": len(task.examples),
        "data": fingerprint(json.dumps(dict(example), sort_keys=True) for example in task.examples),
    }
    text = json.dumps(record, sort_keys=True, indent=1)
    path = folder / "run.json"
    # A run without a checkpoint, such as one that ran out of memory, can be started differently.
    if path.exists() and read_text(path) != text and _last_checkpoint(folder):
        raise OptionError(
            f"{folder}: contains checkpoints of a run with other settings or data; give the "
            "settings of that run to resume it, or another output folder"
        )
    if is_main_process():
        write_text(path, text)


def _last_checkpoint(folder: Path) -> str | None:
    """Return the newest complete checkpoint, or None; incomplete ones are deleted."""
    numbered = {p.name.rpartition("-")[2]: p for p in folder.glob("checkpoint-*")}
    for number in sorted(filter(str.isdecimal, numbered), key=int, reverse=True):
        path = numbered[number]
        if _complete(path):
            return str(path)
        if is_main_process():
            shutil.rmtree(path, ignore_errors=True)
    return None


def _reached(checkpoint: str) -> str:
    """Return the progress of a checkpoint: `step 36 of 90`."""
    state = json.loads(read_text(Path(checkpoint) / "trainer_state.json"))
    return f"step {state['global_step']} of {state['max_steps']}"


def _told_at_interrupt(label: str, folder: Path) -> str:
    """Return the message for an interrupted training: what is saved, and how to resume."""
    last = _last_checkpoint(folder)
    if last is None:
        kept = "has no checkpoint yet, since its first epoch is not finished"
        return f"{label} {kept}. Run the same command to start this part again"
    return f"{label} is saved up to {_reached(last)}. Run the same command to resume"


def _complete(path: Path) -> bool:
    # A process killed while writing leaves a file incomplete or missing.
    try:
        json.loads((path / "trainer_state.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    # With an adapter (LoRA), the checkpoint contains only the adapter's weights.
    weights = ("model.safetensors", "adapter_model.safetensors")
    return any((path / name).exists() for name in weights) and any(path.glob("rng_state*"))


def _build_trainer(
    task: LearningTask,
    settings: TrainSettings,
    folder: Path,
    runtime: Runtime,
    open_bar: Callable[[int], Bar],
    saved: Callable[[Network], None],
) -> Network:
    import transformers

    transformers.set_seed(settings.seed)
    # transformers is only imported here, so the subclasses can only be built here.
    progress = type("OurProgress", (_TrainingProgress, transformers.TrainerCallback), {})(
        open_bar, saved
    )
    trainer = type("OurTrainer", (_OurTraining, transformers.Trainer), {})(
        model=task.model,
        args=_arguments(settings, folder, runtime),
        train_dataset=list(task.examples),
        eval_dataset=[],
        data_collator=collator(task.tokenizer, task.objective),
        callbacks=[progress],
    )
    trainer.task, trainer.settings, trainer.folder = task, settings, folder
    if task.answers is None:
        trainer.loss_of = losses(task.error_weight)[task.objective]
    else:
        trainer.loss_of = answer_loss(task.answers)
    # These losses are means over a batch, so the Trainer must divide them by `accumulation`.
    trainer.model_accepts_loss_kwargs = False
    trainer.remove_callback(transformers.PrinterCallback)
    if settings.patience:
        patience = type("OurPatience", (_EarlyStop, transformers.TrainerCallback), {})
        trainer.add_callback(patience(settings.patience))
    return trainer


def _arguments(settings: TrainSettings, folder: Path, runtime: Runtime) -> TrainerPart:
    import torch
    import transformers

    device = torch.device(pick_device(runtime.device))
    processes = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
    if device.type == "cuda" and processes > torch.cuda.device_count():
        raise OptionError(
            f"{processes} processes, but {torch.cuda.device_count()} GPU here: start one process "
            "for each GPU, or use `device=cpu`"
        )
    # A share of the steps is `warmup_ratio` before transformers 5, then a part of `warmup_steps`.
    warmup = "warmup_steps" if int(transformers.__version__.split(".")[0]) >= 5 else "warmup_ratio"
    arguments = transformers.TrainingArguments(
        output_dir=str(folder),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.train_batch,
        gradient_accumulation_steps=settings.accumulation,
        learning_rate=settings.learning_rate,
        **{warmup: settings.warmup},
        weight_decay=settings.weight_decay,
        seed=settings.seed,
        data_seed=settings.seed,
        bf16=settings.bf16,
        use_cpu=device.type == "cpu",
        # Evaluation and checkpoints are per epoch; the two checkpoints kept are the best and the
        # last.
        eval_strategy="epoch",
        save_strategy="epoch",
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model="score",
        logging_steps=10,
        # Services are reported to by our own callbacks, and our progress bar replaces theirs.
        report_to=[],
        disable_tqdm=True,
        # Examples have keys that are not in the signature of a model.
        remove_unused_columns=False,
        dataloader_pin_memory=False,
        ddp_find_unused_parameters=False,
    )
    if device.type == "cuda" and processes == 1:
        # The Trainer would take GPU 0, whichever is wanted, and split batches among all GPUs.
        torch.cuda.set_device(device.index or 0)
        vars(arguments)["_setup_devices"] = torch.device("cuda", device.index or 0)
        arguments._n_gpu = 1
    return arguments


def _refuse_loss(folder: Path, step: int) -> None:
    kept = _last_checkpoint(folder)
    raise DataError(
        f"training stopped at step {step}: the loss is no longer a number. "
        + (f"The last good checkpoint is {kept}. " if kept else "")
        + "Lower the learning rate (`learning_rate=`), or leave out `bf16=`"
    )


class _OurTraining:
    """A mixin for the Trainer: our losses, order of batches and dev score.

    `task`, `settings`, `folder` and `loss_of` are set by `_build_trainer`, all other attributes by
    the Trainer. `parts` is the number of parts into which batches are cut to fit a GPU's memory.
    """

    parts = 1

    def training_step(
        self: TrainerPart, model: Network, inputs: dict[str, Tensor], *more: object
    ) -> Tensor:
        import torch

        # Gradients of earlier batches of a step cannot be told from those of a batch that failed.
        alone = self.args.world_size == 1 and all(w.grad is None for w in model.parameters())
        while True:
            try:
                return super().training_step(model, inputs, *more)  # type: ignore[misc]
            except torch.OutOfMemoryError:
                if not alone or self.parts >= len(inputs["input_ids"]):
                    raise
            model.zero_grad()
            torch.cuda.empty_cache()
            self.parts *= 2

    def compute_loss(
        self: TrainerPart, model: Network, inputs: dict[str, Tensor], *_: object, **__: object
    ) -> Tensor:
        labels = inputs.pop("labels")
        loss = self.loss_of(self._logits(model, inputs).float(), labels)
        if not bool(loss.isfinite()):
            _refuse_loss(self.folder, self.state.global_step)
        return loss

    def _logits(self: TrainerPart, model: Network, inputs: dict[str, Tensor]) -> Tensor:
        """Return the outputs for a batch, part by part if memory is too small for all its layers.

        The backward pass computes each part again. So the loss, which may compare the rows of a
        batch with one another, is that of the whole batch.
        """
        import torch
        from torch.utils.checkpoint import checkpoint

        if self.parts == 1:
            return model(**inputs).logits

        def logits_of(part: Mapping[str, Tensor]) -> Tensor:
            return model(**part).logits

        parts = [dict(inputs) for _ in inputs["input_ids"].chunk(self.parts)]
        for name, values in inputs.items():
            if isinstance(values, torch.Tensor):
                for part, rows in zip(parts, values.chunk(self.parts), strict=True):
                    part[name] = rows
        return torch.cat([checkpoint(logits_of, part, use_reentrant=False) for part in parts])

    def get_train_dataloader(self: TrainerPart) -> TrainerPart:
        from torch.utils.data import DataLoader

        lengths = [length_of(example) for example in self.task.examples]
        group = self.settings.train_batch * max(self.args.world_size, 1)
        together = [
            int(example.get("group", row)) for row, example in enumerate(self.task.examples)
        ]
        order = EpochOrder(lengths, group, self.settings.seed, together)
        return self.accelerator.prepare(
            DataLoader(
                self.train_dataset,
                batch_size=self.args.train_batch_size,
                sampler=order,
                collate_fn=self.data_collator,
                pin_memory=self.args.dataloader_pin_memory,
            )
        )

    def evaluate(self: TrainerPart, *_: object, **__: object) -> dict[str, float]:
        figures = {f"eval_{k}": v for k, v in self.task.evaluate(self.model).items()}
        self.task.model.train()
        if not np.isfinite(figures["eval_score"]):
            _refuse_loss(self.folder, self.state.global_step)
        self.log(figures)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, figures
        )
        return figures


class _TrainingProgress:
    """A mixin for TrainerCallback: shows steps, loss and dev figures on our progress bar.

    It also reports every checkpoint to the watch.
    """

    loss = dev = ""
    bar: Bar

    def __init__(self, open_bar: Callable[[int], Bar], saved: Callable[[Network], None]) -> None:
        self.open_bar, self.saved = open_bar, saved

    def on_train_begin(self, args: object, state: TrainerPart, *_: object, **__: object) -> None:
        # Only now has the Trainer counted its steps and read those of an earlier run.
        self.bar = self.open_bar(state.max_steps)
        self.bar.advance(state.global_step)

    def on_step_end(self, *_: object, **__: object) -> None:
        self.bar.advance()

    def on_epoch_end(
        self, args: object, state: TrainerPart, control: TrainerPart, **kwargs: object
    ) -> None:
        # A logged loss is the mean since the last one, which a checkpoint does not contain. So a
        # run that resumes at the end of an epoch logs the same losses as an uninterrupted one.
        control.should_log = True

    def on_log(self, args: object, state: TrainerPart, *_: object, **named: TrainerPart) -> None:
        logs = named.get("logs") or {}
        if "loss" in logs:
            self.loss = f"loss {logs['loss']:.4f}"
        if "eval_score" in logs:
            self.dev = f"dev {logs['eval_score']:.4f}"
        self.bar.note(f"epoch {state.epoch or 0:.1f} {self.loss} {self.dev}".rstrip())

    def on_save(self, args: object, state: TrainerPart, *_: object, **__: object) -> None:
        if state.is_world_process_zero:
            self.saved(state.log_history)


class _EarlyStop:
    """A mixin for TrainerCallback: ends the training after epochs without a better dev score.

    transformers' own counts from where a run resumes.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience

    def on_evaluate(
        self, args: object, state: TrainerPart, control: TrainerPart, **kwargs: object
    ) -> None:
        if _waited(state.log_history) >= self.patience:
            control.should_training_stop = True


def _waited(log: Sequence[Mapping[str, float]]) -> int:
    """Return how many epochs ago the best dev score was, by a log of the Trainer."""
    scores = [entry["eval_score"] for entry in log if "eval_score" in entry]
    return len(scores) - 1 - scores.index(max(scores)) if scores else 0


class EpochOrder:
    """A sampler that shuffles rows by seed and epoch and puts rows of similar length together.

    Shuffled rows are cut into stretches of fifty batches. Each stretch is sorted by length and cut
    into batches, and all batches are shuffled, so that little padding is needed. Rows of one group
    stay together and are sorted by the longest of them.
    """

    def __init__(
        self, lengths: Sequence[int], batch: int, seed: int, groups: Sequence[int] | None = None
    ) -> None:
        self.lengths = np.array(lengths)
        if groups is None:
            groups = range(len(lengths))
        _, self.groups = np.unique(np.array(groups), return_inverse=True)
        # All rows of a group are sorted by the length of its longest row.
        longest = np.zeros(len(lengths), dtype=np.int64)
        np.maximum.at(longest, self.groups, self.lengths)
        self.sorted_as = longest[self.groups]
        self.batch = batch
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Set the epoch; the Trainer calls this before each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self.seed, self.epoch])
        drawn = rng.permutation(int(self.groups.max()) + 1)
        order = np.argsort(np.argsort(drawn)[self.groups], kind="stable")
        stretch = 50 * self.batch
        batches = []
        for start in range(0, len(order), stretch):
            rows = order[start : start + stretch]
            rows = rows[np.argsort(-self.sorted_as[rows], kind="stable")]
            batches += [rows[i : i + self.batch] for i in range(0, len(rows), self.batch)]
        # The short batch must stay last, or the loader would cut batches at other positions.
        full = [batch for batch in batches if len(batch) == self.batch]
        rest = [batch for batch in batches if len(batch) < self.batch]
        rng.shuffle(full)
        for batch in [*full, *rest]:
            yield from batch.tolist()


def collator(
    tokenizer: Tokenizer, objective: Objective
) -> Callable[[Sequence[EncoderInputs]], dict[str, Tensor]]:
    """Return a function that pads examples into a batch; better texts come before worse ones."""
    import torch

    def collate(examples: Sequence[EncoderInputs]) -> dict[str, Tensor]:
        if objective == "ranking":
            texts = [e["better"] for e in examples] + [e["worse"] for e in examples]
            batch = padded(tokenizer, texts)
            batch["labels"] = torch.tensor([1.0] * len(examples) + [-1.0] * len(examples))
            return batch
        if objective == "answers":
            batch = answer_batch(tokenizer, examples)
            batch["labels"] = {
                "ids": batch["input_ids"][:, 1 - batch["logits_to_keep"] :],
                "lengths": torch.tensor([e["answer"] for e in examples]),
                "shares": torch.tensor([e["shares"] for e in examples], dtype=torch.float32),
                "groups": torch.tensor([e["group"] for e in examples]),
                "points": torch.tensor([e["points"] for e in examples], dtype=torch.float32),
            }
            return batch
        batch = padded(tokenizer, examples)
        if objective == "regression":
            batch["labels"] = torch.tensor([e["labels"] for e in examples], dtype=torch.float32)
        else:
            width = batch["input_ids"].shape[1]
            batch["labels"] = torch.tensor(
                [list(e["labels"]) + [-100] * (width - len(e["labels"])) for e in examples]
            )
        return batch

    return collate


def answer_batch(tokenizer: Tokenizer, examples: Sequence[EncoderInputs]) -> dict[str, Tensor]:
    """Return questions with their answers, padded on the left so that answers end together.

    Returns:
        The inputs of a causal language model. `logits_to_keep` limits its outputs to those from the
        last word piece of the question on.
    """
    import torch

    rows = [torch.tensor(example["input_ids"]) for example in examples]
    padding = tokenizer.pad_token_id or 0
    ids, mask = (
        torch.nn.utils.rnn.pad_sequence(
            parts, batch_first=True, padding_value=filler, padding_side="left"
        )
        for parts, filler in ((rows, padding), ([torch.ones_like(row) for row in rows], 0))
    )
    kept = max(int(example["answer"]) for example in examples) + 1
    return {"input_ids": ids, "attention_mask": mask, "logits_to_keep": kept}


def answer_shares(logits: Tensor, lengths: Sequence[int], answers: Answers) -> Tensor:
    """Return the probability of every answer, scaled to sum to 1, from `answer_batch`'s logits.

    Args:
        logits: rows × word pieces kept × vocabulary.
        lengths: number of word pieces of each row's answer.
        answers: the answers to choose from.

    Returns:
        Rows × answers.
    """
    import torch

    # A word piece is predicted by the logits before it; the last logits predict what follows.
    at = torch.tensor([logits.shape[1] - 1 - length + answers.place for length in lengths])
    deciding = logits[torch.arange(len(lengths)), at]
    return deciding[:, list(answers.pieces)].float().softmax(-1)


def length_of(example: EncoderInputs) -> int:
    """Return the number of word pieces of an example; of the longer sentence for a pair."""
    if "better" in example:
        return max(len(example[side]["input_ids"]) for side in ("better", "worse"))
    return len(example["input_ids"])


def losses(error_weight: float = 1.0) -> dict[str, Loss]:
    """Return for each objective a function for the mean loss of a batch's outputs and labels.

    Args:
        error_weight: weight of word pieces labelled 1 in the mean for detection.
    """
    import torch
    from torch.nn import functional

    def regression(logits: Tensor, labels: Tensor) -> Tensor:
        # Cells without a rating do not count.
        rated = ~labels.isnan()
        # Adding 0 times the sum keeps every head in the graph, as distributed training expects.
        if not bool(rated.any()):
            return 0.0 * logits.sum()
        return functional.mse_loss(logits[rated], labels[rated]) + 0.0 * logits.sum()

    def ranking(logits: Tensor, labels: Tensor) -> Tensor:
        better, worse = logits[labels > 0], logits[labels < 0]
        return torch.sigmoid(worse - better).mean()

    def detection(logits: Tensor, labels: Tensor) -> Tensor:
        weights = None if error_weight == 1 else logits.new_tensor([1.0, error_weight])
        return functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]),
            labels.reshape(-1),
            weight=weights,
            ignore_index=-100,
        )

    return {"regression": regression, "ranking": ranking, "detection": detection}


_WORDING = 0.1
"""Weight of the word pieces other than the deciding one, so that answers keep their form."""

_SHARPNESS = 3.0
"""Factor of score differences in the logistic loss."""

_CLEAR = 0.5
"""Difference of points from which on a pair has its full weight."""


def answer_loss(answers: Answers) -> Loss:
    """Return the loss of a batch of answers.

    It is the cross-entropy between the target shares and the probabilities of the deciding word
    piece, plus a logistic loss on the pairs of a group, plus a small term for the answer's other
    word pieces.
    """
    import torch
    from torch.nn import functional

    def loss_of(logits: Tensor, labels: Tensor) -> Tensor:
        ids, lengths, shares = labels["ids"], labels["lengths"], labels["shares"]
        kept = ids.shape[1]
        rows = torch.arange(len(ids), device=ids.device)
        deciding = kept - lengths + answers.place
        # The last logits predict what follows the answer.
        logits = logits[:, :-1]
        pieces = torch.tensor(answers.pieces, device=ids.device)
        at = logits[rows, deciding].log_softmax(-1)[:, pieces]
        loss = -(shares * at).sum(-1).mean()
        # Padding before shorter answers does not count, nor does the deciding word piece.
        places = torch.arange(kept, device=ids.device)[None]
        form = (places >= kept - lengths[:, None]) & (places != deciding[:, None])
        loss = loss + _WORDING * functional.cross_entropy(logits[form], ids[form])
        if answers.within:
            values = torch.tensor(answers.values, device=ids.device)
            scores, points = at.softmax(-1) @ values, labels["points"]
            same = labels["groups"][:, None] == labels["groups"][None]
            # The row's correction is better than the column's where this is above 0.
            weights = ((points[:, None] - points[None]) / _CLEAR).clamp(0, 1) * same
            if bool(weights.any()):
                costs = functional.softplus(-_SHARPNESS * (scores[:, None] - scores[None]))
                loss = loss + answers.within * (weights * costs).sum() / weights.sum()
        return loss

    return loss_of


def is_main_process() -> bool:
    """Return True if this process writes files; others of a distributed run only compute."""
    return int(os.environ.get("RANK", "0")) == 0


def wait_for_all() -> None:
    """In a distributed run, wait until all processes have reached this point."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return
    import torch.distributed

    if torch.distributed.is_available() and torch.distributed.is_initialized():
        torch.distributed.barrier()
