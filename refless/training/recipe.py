"""How a model is trained: everything that decides its weights besides the data.

Plain values that import nothing heavy, so that the command line reads its choices, defaults and
bounds from them. A field has the name of its option, and its entry below is the option's help.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields, replace
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

# Fingerprints and folders of earlier versions know these fields by other names.
_EARLIER_NAMES = {
    "train_batch": "batch_size",
    "freeze_layers": "frozen_layers",
    "freeze_embeddings": "frozen",
    "gradient_checkpointing": "recompute",
    "detection_weight": "error_weight",
}


def _number(default: Any, least: float, most: float = math.inf, *, above: bool = False) -> Any:
    """Return a field of a number within bounds.

    Args:
        default: of the field.
        least: lowest value, which is itself refused if `above` is true.
        most: highest value.
        above: whether the value must be above `least`.
    """
    return field(default=default, metadata={"least": least, "most": most, "above": above})


def _refuse_out_of_bounds(settings: Any) -> None:
    """Refuse numbers beyond the bounds of their fields.

    Raises:
        OptionError: names option, value and bounds.
    """
    for entry in fields(settings):
        if "least" not in entry.metadata:
            continue
        least, most, above = (entry.metadata[name] for name in ("least", "most", "above"))
        value = getattr(settings, entry.name)
        # Written so that what is no number is refused as well.
        if not least <= value <= most or (above and value == least):
            bounds = f"more than {least:g}" if above else f"{least:g} or more"
            bounds += f" and at most {most:g}" if most < math.inf else ""
            option = f"--{entry.name.replace('_', '-')}"
            raise OptionError(f"{option} {value:g}: expected {bounds}, e.g. {entry.default:g}")


@dataclass(frozen=True)
class TrainSettings:
    """How one model is optimised.

    Attributes:
        max_length: longest input in word pieces.
        train_batch: examples a step and process.
        accumulation: batches a step.
        learning_rate: peak; it rises over `warmup` of all steps and falls to 0 linearly.
        epochs: at most this many.
        patience: stop after this many epochs without a better dev score; 0 never stops early.
        warmup: share of steps.
        weight_decay: of AdamW.
        seed: of fresh heads, order and dropout.
        bf16: bfloat16 arithmetic.
        loss: `mse` or `huber`, for regression.
        freeze_embeddings: leave word embeddings as they are.
        freeze_layers: leave this many of the lowest layers, and all below them, as they are.
        layer_decay: each layer's learning rate as a share of that of the layer above it.
        gradient_checkpointing: compute layers again on the way back; less memory, same weights.
    """

    max_length: int = _number(128, 1)
    train_batch: int = _number(16, 1)
    accumulation: int = _number(1, 1)
    learning_rate: float = _number(5e-5, 0, 1, above=True)
    epochs: int = _number(10, 1)
    patience: int = _number(3, 0)
    warmup: float = 0.1
    weight_decay: float = 0.01
    seed: int = 0
    bf16: bool = False
    loss: Loss = "mse"
    freeze_embeddings: bool = False
    freeze_layers: int = _number(0, 0, 10_000)
    layer_decay: float = _number(1.0, 0, 1, above=True)
    gradient_checkpointing: bool = False

    def __post_init__(self) -> None:
        _refuse_out_of_bounds(self)

    def recorded(self) -> dict[str, Any]:
        """Return all settings by the names that fingerprints know them by.

        The embeddings are not among them: whoever makes a fingerprint names them apart.
        """
        values = {_EARLIER_NAMES.get(name, name): value for name, value in asdict(self).items()}
        values.pop("frozen")
        return values

    def deciding(self) -> dict[str, Any]:
        """Return the settings that decide the weights, by which a run is recognised.

        Settings that joined later are named only where they differ from what was done before, so
        that folders of earlier versions are recognised as well.
        """
        values = self.recorded()
        values.pop("recompute")
        return _without(values, {"frozen_layers": 0, "layer_decay": 1.0})


def _without(values: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Return values without those that are as usual."""
    return {name: v for name, v in values.items() if name not in usual or usual[name] != v}


@dataclass(frozen=True)
class BaseRecipe:
    """How any model is trained.

    Attributes:
        encoder: hub name or folder; `embedded` is the packaged one.
        detector: start from what `gecjury train detector` made of the encoder; empty for none.
        intermediate: steps before the main training, in order.
        intermediate_epochs: of each step.
        intermediate_rate: peak learning rate of each step.
        detection_weight: weight of errors in the loss of detection learnt from labelled tokens.
        language: code of the sentences' language, which decides what features there are.
        settings: of the main training.
    """

    encoder: str = "bert-base-cased"
    detector: str = ""
    intermediate: tuple[Intermediate, ...] = ()
    intermediate_epochs: int = _number(2, 1)
    intermediate_rate: float = _number(1e-4, 0, 1, above=True)
    detection_weight: float = _number(1.5, 0, 1000, above=True)
    language: str = "en"
    settings: TrainSettings = field(default_factory=TrainSettings)

    def __post_init__(self) -> None:
        _refuse_out_of_bounds(self)

    @property
    def step_settings(self) -> TrainSettings:
        """Settings of a step: the main training's but for epochs, rate and stopping."""
        return replace(
            self.settings,
            epochs=self.intermediate_epochs,
            learning_rate=self.intermediate_rate,
            patience=0,
        )


@dataclass(frozen=True)
class RankerRecipe(BaseRecipe):
    """How an IMPARA is trained; the defaults are the paper's.

    Attributes:
        pairs: pairs to make for training; an eighth each for dev and test.
        pooling: what the ranker reads: the first token, or the mean of all.
    """

    pairs: int = _number(4096, 0, 100_000_000)
    pooling: RankerPooling = "cls"


@dataclass(frozen=True)
class Recipe(BaseRecipe):
    """How a SOME is trained; the defaults are the paper's.

    Attributes:
        shared: one encoder with all heads instead of a model each.
        features: add case, spelling and edit features, fitted beforehand by ridge regression.
        kernel: kernel regression on hidden states and features instead of fine-tuning.
        fine_tune: with `kernel`, fine-tune too, and average both, weighed on the dev part.
        within: with `kernel`, how much more differences between corrections of one source count.
        read_source: with `kernel`, grammaticality and fluency read the source (not to compare
            systems); see `gecjury.refless.nets.probe.Probe`.
        seeds: one model, or set of models, each; predictions are averaged. They replace the seed
            of the settings.
    """

    shared: bool = False
    features: bool = False
    kernel: bool = False
    fine_tune: bool = False
    within: float = 0.0
    read_source: bool = False
    seeds: tuple[int, ...] = (0,)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise OptionError(f"--seeds {self.seeds}: expected one or more different numbers")
        if self.within < 0 or (self.within and not self.kernel):
            raise OptionError(
                f"--within {self.within:g}: expected 0 or more, and kernel regression (--kernel)"
            )
        if self.fine_tune and not self.kernel:
            raise OptionError(
                "--fine-tune goes with --kernel; without that, models are fine-tuned anyhow"
            )
        if not self.tuned and len(self.seeds) > 1:
            raise OptionError("kernel regression draws nothing: give one seed")
        settings = self.settings
        partly = (
            settings.freeze_layers or settings.layer_decay != 1 or settings.gradient_checkpointing
        )
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
        """Return what decides the weights; see `TrainSettings.deciding`."""
        values = {_EARLIER_NAMES.get(name, name): value for name, value in asdict(self).items()}
        values["frozen"] = self.settings.freeze_embeddings
        values["settings"] = self.settings.deciding()
        # Fingerprints depend on the order as well, which is that of earlier versions.
        ordered = {name: values[name] for name in _RECORDED}
        usual = {"fine_tune": False, "detector": "", "error_weight": 1.5, "language": "en"}
        return _without(ordered, usual)


_RECORDED = (
    "encoder", "shared", "features", "intermediate", "intermediate_epochs", "intermediate_rate",
    "detector", "error_weight", "frozen", "kernel", "fine_tune", "within", "read_source", "seeds",
    "language", "settings",
)  # fmt: skip
