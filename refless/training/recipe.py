"""How a model is trained: everything that decides its weights besides the data.

Plain values that import nothing heavy, so that the command line reads its choices and defaults
from them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gecjury.errors import OptionError

__all__ = [
    "Intermediate",
    "Loss",
    "RankerPooling",
    "Recipe",
    "TrainSettings",
    "WeightsFor",
    "refuse_error_weight",
]

Intermediate = Literal["detection", "ranking", "ratings"]
"""A step between the pretrained encoder and the regression; see `intermediate`."""

Loss = Literal["mse", "huber"]
"""Of the regression; huber with δ = 1."""

RankerPooling = Literal["cls", "mean"]
"""What IMPARA's ranker reads: the first token's state (the paper), or the mean (IMPARA-GED)."""

WeightsFor = Literal["sentence", "system"]
"""What SOME's weights are searched for: judged pairs of sentences, or scores of systems."""


@dataclass(frozen=True)
class TrainSettings:
    """How one model is optimised.

    Attributes:
        max_length: longest input in word pieces.
        batch_size: examples a step and process.
        accumulation: batches a step.
        learning_rate: peak; it rises over `warmup` of all steps and falls to 0 linearly.
        epochs: at most this many.
        patience: stop after this many epochs without a better dev score; 0 never stops early.
        warmup: share of steps.
        weight_decay: of AdamW.
        seed: of fresh heads, order and dropout.
        bf16: bfloat16 arithmetic.
        loss: `mse` or `huber`, for regression.
    """

    max_length: int = 128
    batch_size: int = 16
    accumulation: int = 1
    learning_rate: float = 5e-5
    epochs: int = 10
    patience: int = 3
    warmup: float = 0.1
    weight_decay: float = 0.01
    seed: int = 0
    bf16: bool = False
    loss: Loss = "mse"

    def __post_init__(self) -> None:
        for name in ("max_length", "batch_size", "accumulation", "epochs"):
            if getattr(self, name) < 1:
                raise OptionError(f"{name}={getattr(self, name)}: expected 1 or more")
        if not 0 < self.learning_rate < 1:
            raise OptionError(
                f"learning rate {self.learning_rate:g}: expected a small positive number, e.g. 5e-5"
            )
        if self.patience < 0:
            raise OptionError(f"patience={self.patience}: expected 0 (never stop) or more")


def refuse_error_weight(weight: float) -> None:
    """Refuse a weight of errors that would leave one class out.

    Raises:
        OptionError: not above 0, or above 1000.
    """
    if not 0 < weight <= 1000:
        raise OptionError(
            f"weight of errors {weight:g}: expected a number above 0 and at most 1000, e.g. 1.5"
        )


@dataclass(frozen=True)
class Recipe:
    """How a SOME is trained; the defaults are the paper's.

    Attributes:
        encoder: folder or hub name, or `embedded`.
        shared: one encoder with a head for each aspect, instead of one model an aspect.
        features: add what case, spelling and edit features say, fitted beforehand by ridge
            regression; the model then learns what they leave over.
        intermediate: steps between the encoder and the regression, in order.
        intermediate_epochs: of each step.
        intermediate_rate: peak learning rate of each step.
        detector: folder or hub name of a model that learnt to detect errors, from which the steps
            and the regression start instead of from `encoder`; empty for none.
        error_weight: how much errors weigh in detection learnt from labelled tokens.
        frozen: leave the word embeddings as they are.
        kernel: kernel regression on hidden states and features (see `gecjury.refless.nets.probe`)
            instead of fine-tuning; `shared`, `features` and most settings then play no part.
        within: with `kernel`, how much more differences between corrections of one source count.
        read_source: with `kernel`, let grammaticality and fluency read the source; see
            `gecjury.refless.nets.probe.Probe` for what that costs.
        seeds: one model, or set of models, each; predictions are averaged.
        settings: of the regression; its seed is replaced by each of `seeds`.
    """

    encoder: str = "bert-base-cased"
    shared: bool = False
    features: bool = False
    intermediate: tuple[Intermediate, ...] = ()
    intermediate_epochs: int = 2
    intermediate_rate: float = 1e-4
    detector: str = ""
    error_weight: float = 1.5
    frozen: bool = False
    kernel: bool = False
    within: float = 0.0
    read_source: bool = False
    seeds: tuple[int, ...] = (0,)
    settings: TrainSettings = field(default_factory=TrainSettings)

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise OptionError(f"seeds {self.seeds}: expected one or more different numbers")
        if self.within < 0 or (self.within and not self.kernel):
            raise OptionError(
                f"within={self.within:g}: expected 0 or more, and kernel regression (--kernel)"
            )
        refuse_error_weight(self.error_weight)
        if self.kernel and len(self.seeds) > 1:
            raise OptionError("kernel regression draws nothing: give one seed")
