"""Recipes of training: everything that determines a model's weights besides the data.

Recipes are plain values that import nothing heavy. Their fields are the options of `gecjury train`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from gecjury.core.errors import OptionError
from gecjury.core.settings import check, check_needs, option, options_of

Intermediate = Literal["detection", "ranking", "ratings"]
"""A step between the pretrained encoder and the regression; see `intermediate`."""

Loss = Literal["mse", "huber"]
"""Loss of the regression; huber with δ = 1."""

RankerPooling = Literal["cls", "mean"]
"""State that IMPARA's ranker reads: the first token's (the paper), or the mean (IMPARA-GED)."""

WeightsFor = Literal["sentence", "system"]
"""Targets of the search for SOME's weights: judged pairs of sentences, or scores of systems."""

# Fingerprints and folders of earlier versions use other names for these fields.
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
"""Value of `encoder` that means no encoder."""

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
        train_batch: examples per batch and process.
        accumulation: batches per step.
        learning_rate: peak learning rate, reached after the warm-up; then it falls linearly to 0.
        epochs: largest number of epochs.
        patience: stop after this many epochs without a better dev score; 0 never stops early.
        warmup: share of steps for the warm-up.
        weight_decay: weight decay of AdamW.
        seed: seed of new heads, order and dropout.
        bf16: compute in bfloat16.
        loss: mean squared error, or huber with δ = 1.
        freeze_embeddings: do not train the word embeddings.
        freeze_layers: do not train this many of the lowest layers and everything below them: less
            memory and time.
        layer_decay: learning rate of each layer as a share of that of the layer above it.
        gradient_checkpointing: recompute layers in the backward pass: less memory, more time, the
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
        """Return all settings by the names that fingerprints use.

        `freeze_embeddings` is not among them; callers add it to the fingerprint separately.
        """
        values = {_EARLIER_NAMES.get(name, name): value for name, value in asdict(self).items()}
        values.pop("frozen")
        return values

    def deciding(self) -> dict[str, Any]:
        """Return the settings that determine the weights, by which a run is recognised.

        Later settings are included only if they differ from the earlier behaviour, so that folders
        of earlier versions are still recognised.
        """
        values = self.recorded()
        values.pop("recompute")
        return _without(values, {"frozen_layers": 0, "layer_decay": 1.0})


def _without(values: dict[str, Any], usual: dict[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the usual ones."""
    return {name: v for name, v in values.items() if name not in usual or usual[name] != v}


_ANY_LOSS = tuple(one.name for one in options_of(TrainSettings) if one.name != "loss")


@dataclass(frozen=True)
class BaseRecipe:
    """How any model is trained.

    Attributes:
        encoder: hub name or folder; `embedded` is the packaged one.
        settings: settings of the main training; their seed is the first of `seeds`.
        seeds: seed of new heads, order and dropout; only one, since one model is trained.
        detector: start from an error detector trained by `gecjury train detector`.
        intermediate: steps before the main training, in order.
        intermediate_epochs: epochs of each step.
        intermediate_rate: peak learning rate of each step.
        detection_weight: weight of errors in the loss of error detection on labelled tokens.
        language: code of the sentences' language, which determines the features.
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
            raise OptionError(f"--seeds {typed}: expected one or more numbers, all different")
        if len(self.seeds) > 1 and not self.averaged:
            raise OptionError(f"--seeds {typed}: expected one seed, since one model is trained")
        # The only way to set a field of a frozen dataclass.
        object.__setattr__(self, "settings", replace(self.settings, seed=self.seeds[0]))

    @property
    def averaged(self) -> bool:
        """True if predictions of several models can be averaged."""
        return False

    @property
    def step_settings(self) -> TrainSettings:
        """Settings of a step: the main training's except for epochs, rate and patience."""
        return replace(
            self.settings,
            epochs=self.intermediate_epochs,
            learning_rate=self.intermediate_rate,
            patience=0,
        )


@dataclass(frozen=True)
class DetectorRecipe(BaseRecipe):
    """How an error detector is trained; there are no steps before it."""

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
        protocol: pointwise, which grades each correction; or pairwise, which compares two
            corrections of a source.
        prompt: your own prompt instead of the built-in one; see `gecjury judgments prompt`.
        criterion: what to focus on: grammaticality, fluency or meaning as published, a file or a
            sentence.
        within: weight of differences between corrections of one source, relative to the scores.
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
        """Return what determines the weights; see `TrainSettings.deciding`."""
        names = ("encoder", "protocol", "criterion", "within", "lora", "language")
        values: dict[str, Any] = {name: getattr(self, name) for name in names}
        frozen = self.settings.freeze_embeddings
        return values | {"settings": self.settings.deciding() | {"frozen": frozen}}


@dataclass(frozen=True)
class RankerRecipe(BaseRecipe):
    """How an IMPARA is trained; the defaults are the paper's.

    Attributes:
        intermediate: error detection before the ranking, on the parallel text unless --detection
            names other data.
        pooling: what the ranker reads: the first token, or the mean of all.
        pairs: pairs to generate for training; dev and test get an eighth of that each.
    """

    intermediate: tuple[Literal["detection"], ...] = option((), several=True)
    pooling: RankerPooling = "cls"
    pairs: int = option(4096, metavar="N", least=0, most=100_000_000)


@dataclass(frozen=True)
class Recipe(BaseRecipe):
    """How a SOME is trained; the defaults are the paper's.

    Attributes:
        encoder: hub name or folder; `embedded` is the packaged one; `features` means no encoder:
            ridge regression on case, spelling and edit features alone.
        seeds: train one model, or set of models, per seed; predictions are averaged.
        shared: one encoder with all heads instead of one model per aspect.
        features: add case, spelling and edit features, fitted first by ridge regression.
        kernel: kernel regression on hidden states and features instead of fine-tuning.
        fine_tune: with --kernel: fine-tune as well and average both, weighted on the dev part.
        within: with --kernel or --encoder features: extra weight of differences between corrections
            of one source.
        compact: with --kernel and --encoder embedded: keep only 2 MB: low-rank changes of the
            encoder, and some of the rated sentences.
        read_source: with --kernel or --encoder features: grammaticality and fluency read the
            source, too (without --within, do not compare systems with the model).
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
        # Other options without effect are refused only on the command line: in Python, a recipe
        # may be a copy of another one with a field replaced.
        check_needs(self, "kernel", "fine_tune", "within", *_PARTLY_TRAINED)

    @property
    def averaged(self) -> bool:
        """True if predictions of several models can be averaged."""
        return self.tuned

    @property
    def tuned(self) -> bool:
        """True if models are fine-tuned on the ratings."""
        return self.fine_tune or not (self.kernel or self.features_alone)

    @property
    def features_alone(self) -> bool:
        """True if only features are used, without an encoder."""
        return self.encoder == FEATURES

    def deciding(self) -> dict[str, Any]:
        """Return what determines the weights; see `TrainSettings.deciding`."""
        values = {_EARLIER_NAMES.get(name, name): value for name, value in asdict(self).items()}
        values["frozen"] = self.settings.freeze_embeddings
        values["settings"] = self.settings.deciding()
        # Fingerprints depend on the order, too, so it must be that of earlier versions.
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
