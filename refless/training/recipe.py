"""Recipes of training: everything that determines a model's weights besides the data.

Recipes are plain values that import nothing heavy. Their fields are the options of `gecjury train`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal

from gecjury.core.settings import check, check_needs, option

RankerPooling = Literal["cls", "mean"]
"""State that IMPARA's ranker reads: the first token's (the paper), or the mean (IMPARA-GED)."""

FEATURES = "features"
"""Value of `encoder` that means no encoder."""

# Seeds of scikit-learn and transformers have 32 bits.
MOST_SEED = 2**32 - 1

_MODEL = "model and optimisation"
_BEYOND = "beyond the paper (see docs/guides/train.md for what each gives)"

_ENCODER: Mapping[str, tuple[str, ...]] = {"encoder features": ()}
_FITTED: Mapping[str, tuple[str, ...]] = {"linear": (), **_ENCODER}
_TUNED: Mapping[str, tuple[str, ...]] = {"kernel": ("fine_tune",), **_FITTED}
_TRAINED: Mapping[str, tuple[str, ...]] = {
    "kernel": ("fine_tune", "detection"),
    "linear": ("detection",),
    **_ENCODER,
}
_REGRESSED: Mapping[str, tuple[str, ...]] = {"": ("kernel", "encoder features")}


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
        freeze_layers: do not train the word embeddings, nor this many of the lowest layers and
            everything below them: less memory and time.
        gradient_checkpointing: recompute layers in the backward pass: less memory, more time, the
            same weights.
    """

    max_length: int = option(128, metavar="N", least=1, most=1_000_000, needs=_ENCODER)
    train_batch: int = option(16, metavar="N", least=1, most=1_000_000, needs=_TRAINED)
    accumulation: int = option(1, metavar="N", least=1, most=1_000_000, needs=_TRAINED)
    learning_rate: float = option(5e-5, metavar="X", above=0, most=1, needs=_TUNED)
    epochs: int = option(10, metavar="N", least=1, most=1_000_000, needs=_TUNED)
    patience: int = option(3, hidden=True)
    warmup: float = option(0.1, hidden=True)
    weight_decay: float = option(0.01, hidden=True)
    seed: int = option(0, metavar="N", least=0, most=MOST_SEED, needs=_TRAINED)
    bf16: bool = option(False, needs=_TRAINED)
    freeze_layers: int | None = option(None, metavar="N", least=0, most=10_000, needs=_TRAINED)
    gradient_checkpointing: bool = option(False, needs=_TRAINED)

    def __post_init__(self) -> None:
        check(self)

    def deciding(self) -> dict[str, object]:
        """Return the settings that determine the weights, by which a run is recognised."""
        values = asdict(self)
        del values["gradient_checkpointing"]
        return values


@dataclass(frozen=True)
class BaseRecipe:
    """How any model is trained.

    Attributes:
        encoder: hub name or folder; `embedded` is the packaged one.
        settings: settings of the main training.
        detector: start from an error detector trained by `gecjury train detector`.
        language: code of the sentences' language, which determines the features.
    """

    encoder: str = option("bert-base-cased", heading=_MODEL)
    settings: TrainSettings = option(TrainSettings())
    detector: str = option("", hidden=True)
    language: str = option("en", hidden=True)

    def __post_init__(self) -> None:
        check(self)

    def deciding(self) -> str:
        """Return what determines the weights, by which a run is recognised, as JSON."""
        return json.dumps(asdict(self) | {"settings": self.settings.deciding()})


@dataclass(frozen=True)
class DetectorRecipe(BaseRecipe):
    """How an error detector is trained."""

    settings: TrainSettings = option(TrainSettings(epochs=3, train_batch=32))


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
        within: weight of the order of a source's corrections, relative to the scores.
        lora: rank of low-rank adapters (LoRA), which are trained instead of the weights and then
            added to them; 0 trains the weights.
    """

    encoder: str = option("HuggingFaceTB/SmolLM2-135M-Instruct", "--model", heading=_MODEL)
    settings: TrainSettings = option(
        TrainSettings(max_length=1024, epochs=2, learning_rate=1e-4, patience=0)
    )
    protocol: Literal["pointwise", "pairwise"] = option("pointwise")
    prompt: str = option("", metavar="FILE")
    criterion: str = option("", metavar="TEXT")
    within: float = option(1.0, metavar="X", least=0, needs={"protocol pairwise": ()})
    lora: int = option(0, metavar="N", least=0, most=10_000)


@dataclass(frozen=True)
class RankerRecipe(BaseRecipe):
    """How an IMPARA is trained; the defaults are the paper's.

    Attributes:
        pooling: what the ranker reads: the first token, or the mean of all.
        linear: fit a linear ranker to the mean states half-way up the encoder instead of
            fine-tuning; in its pairs, an edit of the better sentence is missing in the worse one,
            in English with an added error in its place.
        pairs: pairs to generate for training; dev and test get an eighth of that each.
    """

    detector: str = option("", metavar="DIR", heading=_BEYOND, needs={"detection": ()})
    pooling: RankerPooling = option("cls", needs={"linear": ()})
    linear: bool = False
    pairs: int = option(4096, metavar="N", least=0, most=100_000_000)

    @property
    def pooled(self) -> bool:
        """True if the ranker reads the mean of states."""
        return self.linear or self.pooling == "mean"


@dataclass(frozen=True)
class Recipe(BaseRecipe):
    """How a SOME is trained; the defaults are the paper's.

    Attributes:
        encoder: hub name or folder; `embedded` is the packaged one; `features` means no encoder:
            ridge regression on case, spelling and edit features alone.
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
    detector: str = option("", metavar="DIR", heading=_BEYOND, needs={"detection": (), **_ENCODER})
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
        check_needs(self, "kernel", "fine_tune", "within")

    @property
    def tuned(self) -> bool:
        """True if models are fine-tuned on the ratings."""
        return self.fine_tune or not (self.kernel or self.features_alone)

    @property
    def features_alone(self) -> bool:
        """True if only features are used, without an encoder."""
        return self.encoder == FEATURES
