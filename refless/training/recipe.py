"""How a model is trained: everything that decides its weights besides the data.

Plain values that import nothing heavy, so that the command line reads its choices and defaults
from them.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from gecjury.errors import OptionError

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
        frozen_layers: this many of the lowest layers, and all below them, stay as they are.
        layer_decay: each layer's learning rate as a share of that of the layer above it.
        recompute: gradient checkpointing: less memory, more time, the same weights.
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
    frozen_layers: int = 0
    layer_decay: float = 1.0
    recompute: bool = False

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
        if self.frozen_layers < 0:
            raise OptionError(f"--freeze-layers {self.frozen_layers}: expected 0 or more")
        if not 0 < self.layer_decay <= 1:
            raise OptionError(
                f"--layer-decay {self.layer_decay:g}: expected more than 0 and at most 1, e.g. 0.9"
            )

    def deciding(self) -> dict[str, Any]:
        """What of them decides the weights, by which a run is known again.

        Settings that joined later are named only where they differ from what was done before, so
        that folders of earlier versions are known as well.
        """
        found = asdict(self)
        found.pop("recompute")
        for name, usual in (("frozen_layers", 0), ("layer_decay", 1.0)):
            if found[name] == usual:
                found.pop(name)
        return found


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
        fine_tune: with `kernel`, fine-tune as well and average the two, the kernel regression's
            share in each aspect by dev Spearman.
        within: with `kernel`, how much more differences between corrections of one source count.
        read_source: with `kernel`, let grammaticality and fluency read the source; see
            `gecjury.refless.nets.probe.Probe` for what that costs.
        seeds: one model, or set of models, each; predictions are averaged.
        language: code of the sentences' language, which decides what features there are.
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
    fine_tune: bool = False
    within: float = 0.0
    read_source: bool = False
    seeds: tuple[int, ...] = (0,)
    language: str = "en"
    settings: TrainSettings = field(default_factory=TrainSettings)

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise OptionError(f"seeds {self.seeds}: expected one or more different numbers")
        if self.within < 0 or (self.within and not self.kernel):
            raise OptionError(
                f"within={self.within:g}: expected 0 or more, and kernel regression (--kernel)"
            )
        refuse_error_weight(self.error_weight)
        if self.fine_tune and not self.kernel:
            raise OptionError(
                "--fine-tune goes with --kernel; without that, models are fine-tuned anyhow"
            )
        if not self.tuned and len(self.seeds) > 1:
            raise OptionError("kernel regression draws nothing: give one seed")
        settings = self.settings
        partly = settings.frozen_layers or settings.layer_decay != 1 or settings.recompute
        if partly and not self.tuned and not self.intermediate:
            raise OptionError(
                "--freeze-layers, --layer-decay and --gradient-checkpointing are of training an "
                "encoder, which --kernel leaves as it is: leave them out"
            )

    @property
    def tuned(self) -> bool:
        """Whether models are fine-tuned on the ratings."""
        return self.fine_tune or not self.kernel

    def deciding(self) -> dict[str, Any]:
        """What of it decides the weights; see `TrainSettings.deciding`."""
        found = {**asdict(self), "settings": self.settings.deciding()}
        usually = {"fine_tune": False, "detector": "", "error_weight": 1.5, "language": "en"}
        for name, usual in usually.items():
            if found[name] == usual:
                found.pop(name)
        return found
