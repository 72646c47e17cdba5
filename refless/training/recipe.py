"""How a model is trained: everything that decides its weights besides the data.

Plain values that import nothing heavy. Their fields are the options of `gecjury train`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from gecjury.errors import OptionError
from gecjury.settings import check, check_needs, option, options_of

Intermediate = Literal["detection", "ranking", "ratings"]
"""A step between the pretrained encoder and the regression; see `intermediate`."""

Loss = Literal["mse", "huber"]
"""Of the regression; huber with δ = 1."""

RankerPooling = Literal["cls", "mean"]
"""State that IMPARA's ranker reads: of the first token (the paper), or the mean (IMPARA-GED)."""

WeightsFor = Literal["sentence", "system"]
"""Targets of the search for SOME's weights: judged pairs of sentences, or scores of systems."""

# Fingerprints and folders of earlier versions know these fields by other names.
_EARLIER_NAMES = {
    "train_batch": "batch_size",
    "freeze_layers": "frozen_layers",
    "freeze_embeddings": "frozen",
    "gradient_checkpointing": "recompute",
    "detection_weight": "error_weight",
}


_MODEL = "model and optimisation"
_BEYOND = "beyond the paper (see docs/guides/train-options.md for what each gives)"
_PARTLY_TRAINED = ("freeze_layers", "layer_decay", "gradient_checkpointing")

FEATURES = "features"
"""The encoder that is none."""

# Seeds of scikit-learn and transformers have 32 bits.
MOST_SEED = 2**32 - 1

_STEPS = ("intermediate", "detection")
_AFTER_STEPS: Mapping[str, tuple[str, ...]] = {"": _STEPS}
_ENCODER: Mapping[str, tuple[str, ...]] = {"encoder features": ()}
_TUNED: Mapping[str, tuple[str, ...]] = {"kernel": ("fine_tune",), **_ENCODER}
_TRAINED: Mapping[str, tuple[str, ...]] = {"kernel": ("fine_tune", *_STEPS), **_ENCODER}
_REGRESSED: Mapping[str, tuple[str, ...]] = {"": ("kernel", "encoder features")}
_NO_GRID: Mapping[str, tuple[str, ...]] = {"grid": ()}


@dataclass(frozen=True)
class TrainSettings:
    """How one model is optimised.

    Attributes:
        max_length: longest input in word pieces.
        train_batch: examples a step and process.
        accumulation: batches a step.
        learning_rate: its peak; the rate rises to it at first, and falls to 0 linearly.
        epochs: at most this many.
        patience: stop after this many epochs without a better dev score; 0 never stops early.
        warmup: share of steps.
        weight_decay: of AdamW.
        seed: of fresh heads, order and dropout.
        bf16: bfloat16 arithmetic.
        loss: mean squared error, or huber with δ = 1.
        freeze_embeddings: leave word embeddings as they are.
        freeze_layers: leave this many of the lowest layers, and all below them, as they are: less
            memory and time.
        layer_decay: each layer learns at this share of the rate of the layer above it.
        gradient_checkpointing: compute layers again on the way back: less memory, more time, the
            same weights.
    """

    max_length: int = option(
        128, metavar="N", least=1, most=1_000_000, needs={**_NO_GRID, **_ENCODER}
    )
    train_batch: int = option(
        16, metavar="N", least=1, most=1_000_000, needs={**_NO_GRID, **_TRAINED}
    )
    accumulation: int = option(1, metavar="N", least=1, most=1_000_000, needs=_TRAINED)
    learning_rate: float = option(5e-5, metavar="X", above=0, most=1, needs={**_NO_GRID, **_TUNED})
    epochs: int = option(10, metavar="N", least=1, most=1_000_000, needs=_TUNED)
    patience: int = option(3, metavar="N", least=0, needs=_TUNED)
    warmup: float = option(0.1, hidden=True)
    weight_decay: float = option(0.01, hidden=True)
    seed: int = option(0, hidden=True)
    bf16: bool = option(False, needs=_TRAINED)
    loss: Loss = option("mse", needs=_TUNED)
    freeze_embeddings: bool = option(False, needs=_TRAINED)
    freeze_layers: int = option(0, metavar="N", least=0, most=10_000, needs=_TRAINED)
    layer_decay: float = option(1.0, metavar="X", above=0, most=1, needs=_TRAINED)
    gradient_checkpointing: bool = option(False, needs=_TRAINED)

    def __post_init__(self) -> None:
        check(self)

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


_ANY_LOSS = tuple(one.name for one in options_of(TrainSettings) if one.name != "loss")


@dataclass(frozen=True)
class BaseRecipe:
    """How any model is trained.

    Attributes:
        encoder: hub name or folder; `embedded` is the packaged one.
        settings: of the main training; their seed is the first of `seeds`.
        seeds: of fresh heads, order and dropout; one, since one model is trained.
        detector: start from what `gecjury train detector` made of the encoder.
        intermediate: steps before the main training, in order.
        intermediate_epochs: of each step.
        intermediate_rate: peak learning rate of each step.
        detection_weight: weight of errors in the loss of detection learnt from labelled tokens.
        language: code of the sentences' language, which decides what features there are.
    """

    encoder: str = option("bert-base-cased", heading=_MODEL)
    settings: TrainSettings = option(TrainSettings(), offers=_ANY_LOSS)
    seeds: tuple[int, ...] = option(
        (0,), metavar="N", several=True, least=0, most=MOST_SEED, needs=_TRAINED
    )
    detector: str = option(
        "",
        metavar="DIR",
        heading=_BEYOND,
        needs={"detection": (), "intermediate detection": (), **_ENCODER},
    )
    intermediate: tuple[Intermediate, ...] = option((), several=True, needs=_ENCODER)
    intermediate_epochs: int = option(2, metavar="N", least=1, most=1_000_000, needs=_AFTER_STEPS)
    intermediate_rate: float = option(1e-4, metavar="X", above=0, most=1, needs=_AFTER_STEPS)
    detection_weight: float = option(
        1.5, metavar="X", above=0, most=1000, needs={"": ("detection",)}
    )
    language: str = option("en", hidden=True)

    def __post_init__(self) -> None:
        check(self)
        typed = " ".join(map(str, self.seeds))
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise OptionError(f"--seeds {typed}: expected one or more different numbers")
        if len(self.seeds) > 1 and not self.averaged:
            raise OptionError(f"--seeds {typed}: expected one, since one model is trained")
        # A frozen class sets its own fields in no other way.
        object.__setattr__(self, "settings", replace(self.settings, seed=self.seeds[0]))

    @property
    def averaged(self) -> bool:
        """Return True if predictions of several models can be averaged."""
        return False

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
class DetectorRecipe(BaseRecipe):
    """How an error detector is trained, which no step stands before."""

    settings: TrainSettings = option(TrainSettings(epochs=3, train_batch=32), offers=_ANY_LOSS)
    detector: str = option("", hidden=True)
    intermediate: tuple[Intermediate, ...] = option((), hidden=True)
    intermediate_epochs: int = option(2, hidden=True)
    intermediate_rate: float = option(1e-4, hidden=True)


@dataclass(frozen=True)
class JudgeRecipe(BaseRecipe):
    """How a judge is taught.

    Attributes:
        encoder: causal language model with a chat template: hub name or folder.
        protocol: pointwise, for which each correction is graded; or pairwise, for which two
            corrections of a source are compared.
        prompt: your own wording instead of ours; see `gecjury judgments prompt`.
        criterion: what to focus on: grammaticality, fluency or meaning as published, a file or a
            sentence.
        within: how much differences between corrections of one source count beside the scores.
        lora: rank of low-rank adapters (LoRA), which are trained instead of the weights and then
            added to them; 0 trains the weights.
    """

    encoder: str = option("HuggingFaceTB/SmolLM2-135M-Instruct", "--model", heading=_MODEL)
    settings: TrainSettings = option(
        TrainSettings(max_length=1024, epochs=2, learning_rate=1e-4, patience=0), offers=_ANY_LOSS
    )
    protocol: Literal["pointwise", "pairwise"] = option("pointwise")
    prompt: str = option("", metavar="FILE")
    criterion: str = option("", metavar="TEXT")
    within: float = option(1.0, metavar="X", least=0, needs={"protocol pairwise": ()})
    lora: int = option(0, metavar="N", least=0, most=10_000)
    detector: str = option("", hidden=True)
    intermediate: tuple[Intermediate, ...] = option((), hidden=True)
    intermediate_epochs: int = option(2, hidden=True)
    intermediate_rate: float = option(1e-4, hidden=True)
    detection_weight: float = option(1.5, hidden=True)

    def deciding(self) -> dict[str, Any]:
        """Return what decides the weights; see `TrainSettings.deciding`."""
        names = ("encoder", "protocol", "criterion", "within", "lora", "language")
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        frozen = self.settings.freeze_embeddings
        return values | {"settings": self.settings.deciding() | {"frozen": frozen}}


@dataclass(frozen=True)
class RankerRecipe(BaseRecipe):
    """How an IMPARA is trained; the defaults are the paper's.

    Attributes:
        intermediate: error detection before the ranking, on the parallel text where --detection
            names nothing.
        pooling: what the ranker reads: the first token, or the mean of all.
        pairs: pairs to make for training; an eighth each for dev and test.
    """

    intermediate: tuple[Literal["detection"], ...] = option((), several=True)
    pooling: RankerPooling = "cls"
    pairs: int = option(4096, metavar="N", least=0, most=100_000_000)


@dataclass(frozen=True)
class Recipe(BaseRecipe):
    """How a SOME is trained; the defaults are the paper's.

    Attributes:
        encoder: hub name or folder; `embedded` is the packaged one; `features` is none: ridge
            regression on case, spelling and edit features alone.
        seeds: one model, or set of models, each; predictions are averaged.
        shared: one encoder with all heads instead of a model each.
        features: add case, spelling and edit features, fitted beforehand by ridge regression.
        kernel: kernel regression on hidden states and features instead of fine-tuning.
        fine_tune: with --kernel: fine-tune too, and average both, weighed on the dev part.
        within: with --kernel or --encoder features: how much more differences between corrections
            of one source count.
        compact: with --kernel and --encoder embedded: keep 2 MB: changes of the encoder of a low
            rank, and a part of the rated sentences.
        read_source: with --kernel or --encoder features: grammaticality and fluency read the
            source (without --within not to compare systems).
    """

    encoder: str = option("bert-base-cased", heading=_MODEL)
    settings: TrainSettings = option(TrainSettings())
    shared: bool = option(False, needs=_TUNED)
    features: bool = option(False, needs=_TUNED)
    kernel: bool = option(False, needs=_ENCODER)
    fine_tune: bool = option(False, needs={"": ("kernel",)})
    within: float = option(0.0, metavar="X", least=0, needs=_REGRESSED)
    read_source: bool = option(False, needs=_REGRESSED)
    compact: bool = option(
        False, needs={"": ("encoder embedded",), "encoder embedded": ("kernel",), "fine_tune": ()}
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        # What else would do nothing is refused of the command line alone: a recipe in Python may
        # be another one with a field replaced.
        check_needs(self, "kernel", "fine_tune", "within", *_PARTLY_TRAINED)

    @property
    def averaged(self) -> bool:
        """Return True if predictions of several models can be averaged."""
        return self.tuned

    @property
    def tuned(self) -> bool:
        """Return True if models are fine-tuned on the ratings."""
        return self.fine_tune or not (self.kernel or self.features_alone)

    @property
    def features_alone(self) -> bool:
        """Return True if features are all that is learnt from."""
        return self.encoder == FEATURES

    def deciding(self) -> dict[str, Any]:
        """Return what decides the weights; see `TrainSettings.deciding`."""
        values = {_EARLIER_NAMES.get(name, name): value for name, value in asdict(self).items()}
        values["frozen"] = self.settings.freeze_embeddings
        values["settings"] = self.settings.deciding()
        # Fingerprints depend on the order as well, which is that of earlier versions.
        ordered = {name: values[name] for name in _RECORDED}
        usual = {
            "compact": False,
            "fine_tune": False,
            "detector": "",
            "error_weight": 1.5,
            "language": "en",
        }
        return _without(ordered, usual)


_RECORDED = (
    "encoder", "shared", "features", "intermediate", "intermediate_epochs", "intermediate_rate",
    "detector", "error_weight", "frozen", "kernel", "fine_tune", "within", "read_source", "compact",
    "seeds", "language", "settings",
)  # fmt: skip
