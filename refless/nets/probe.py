"""A SOME without fine-tuning: kernel regression on what encoders hold of a sentence.

Grammaticality and fluency read the hidden states of the hypothesis two thirds of the way up an
encoder that learnt to detect errors and, where that is another one, of the encoder it came from.
Meaning reads how far the hypothesis moves from its source in the last layer. All read the features
of `gecjury.refless.nets.features`; where there is no source, those of the hypothesis alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.leakage import normalise
from gecjury.corpus.splits import Split
from gecjury.errors import InputError
from gecjury.models.checkpoints import inside, named_within, resolve
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.models.networks import read_config
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.nets.features import pair_features, piece_counter, sentence_features
from gecjury.refless.nets.kernel import Block, KernelModel, fit_kernel
from gecjury.refless.nets.regressor import load_tokenizer, output_errors
from gecjury.runtime import Runtime

__all__ = ["KERNEL_FILE", "Probe", "fit_probe", "open_probe", "plain_text", "save_probe"]

KERNEL_FILE = "kernel.safetensors"

_STATES, _BASE_STATES, _FEATURES, _CHANGE = 0.15, 0.1, 0.1, 0.05
"""Weights γ of the blocks, chosen by cross-validation over TMU-GFM's train and dev parts."""


@dataclass(frozen=True)
class Probe:
    """Fitted regressions with the encoders that they read.

    Attributes:
        models: by aspect.
        encoder: name or folder of the encoder that learnt to detect errors, or of the base.
        base: name or folder of the encoder that it came from.
        max_length: longest input in word pieces.
        paired: whether grammaticality and fluency read features of the pair as well. That predicts
            ratings better, but by what corrections say of their source: a source that was corrected
            much was bad. Among corrections of one source it then prefers those that do little.
    """

    models: Mapping[str, KernelModel]
    encoder: str
    base: str
    max_length: int = 128
    paired: bool = False

    def predict(
        self, texts: Sequence[str], pairs: tuple[Sequence[str], Sequence[str]], runtime: Runtime
    ) -> dict[str, FloatArray]:
        """Predicted ratings by aspect, one a text, or one a pair for `pair_aspects`."""
        reader = _Reader(self, runtime)
        return {
            aspect: model(
                _joined(reader.blocks(aspect, *pairs))
                if aspect in self.pair_aspects
                else _joined(reader.blocks(aspect, texts, texts))
            )
            for aspect, model in self.models.items()
        }

    @property
    def pair_aspects(self) -> frozenset[str]:
        """The aspects that are predicted of pairs."""
        return frozenset(self.models) if self.paired else frozenset({"meaning"})

    def record(self, folder: Path) -> dict[str, Any]:
        """What the manifest of a folder says; encoders that lie in it are named from there."""
        shown = {
            key: Path(name).relative_to(folder).as_posix() if Path(name).is_dir() else name
            for key, name in (("encoder", self.encoder), ("base", self.base))
        }
        return {"aspects": list(self.models), **shown, "paired": self.paired}


def plain_text(text: str) -> str:
    """A sentence with quotation marks and contractions as in untokenised text."""
    text = text.replace("``", '"').replace("''", '"').replace("’", "'")
    text = text.replace("“", '"').replace("”", '"')
    return " ".join(re.sub(r"(?<=\w) (?=n't\b)", "", text).split())


class _Reader:
    """Makes the blocks of an aspect; states of every distinct sentence are computed once."""

    def __init__(self, probe: Probe, runtime: Runtime) -> None:
        self.probe = probe
        self.runtime = runtime
        self._count: Callable[[str], int] | None = None

    def blocks(self, aspect: str, sources: Sequence[str], outputs: Sequence[str]) -> list[Block]:
        """Blocks of inputs with their weights."""
        probe = self.probe
        old, new = [plain_text(s) for s in sources], [plain_text(o) for o in outputs]
        if aspect == "meaning":
            before, after = (self._states(probe.base, texts, None) for texts in (old, new))
            size = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
            cosine = (before * after).sum(axis=1) / np.where(size > 0, size, 1.0)
            features = np.column_stack([pair_features(sources, outputs), cosine])
            return [(features, _FEATURES), (after - before, _CHANGE)]
        found: list[Block] = [(self._states(probe.encoder, new, 2 / 3), _STATES)]
        if probe.base != probe.encoder:
            found.append((self._states(probe.base, new, 2 / 3), _BASE_STATES))
        features = sentence_features(outputs, self._pieces())
        if probe.paired:
            features = np.column_stack([features, pair_features(sources, outputs)])
        return [*found, (features, _FEATURES)]

    def _states(self, name: str, texts: Sequence[str], height: float | None) -> FloatArray:
        """Means over word pieces of the states at a share of the layers, or of the last."""
        layer = None if height is None else round(height * _layers(name))
        spec = EncoderSpec(name, layer=layer, max_length=self.probe.max_length)
        return load_encoder(spec, self.runtime).encode(texts).vectors.astype(np.float64)

    def _pieces(self) -> Callable[[str], int]:
        if self._count is None:
            self._count = piece_counter(load_tokenizer(self.probe.base))
        return self._count


def _layers(name: str) -> int:
    return int(read_config(resolve(name)).num_hidden_layers)


def _joined(blocks: Sequence[Block]) -> FloatArray:
    return np.concatenate([values for values, _ in blocks], axis=1).astype(np.float64)


def fit_probe(
    data: Annotations,
    split: Split,
    encoder: str,
    base: str,
    max_length: int,
    runtime: Runtime,
    *,
    within: float = 0.0,
    paired: bool = False,
    shares: Sequence[float] = (),
) -> tuple[Probe, dict[str, dict[str, float]], dict[str, dict[int, float]]]:
    """Fit one regression an aspect.

    Args:
        data: rated sentences.
        split: its parts.
        encoder: name or folder of the encoder after intermediate steps.
        base: name or folder of the encoder before them; the same where there were none.
        max_length: longest input in word pieces.
        runtime: device, batch size, caches.
        within: see `gecjury.refless.nets.kernel.fit_kernel`; corrections of one source are a group.
        paired: see `Probe`.
        shares: of the sources of the training rows, for a learning curve; each share contains the
            smaller ones.

    Returns:
        The regressions; for each aspect the dev score and what was chosen by it; and, with
        `shares`, for each aspect the dev score by rows learnt from, all rows among them.

    Raises:
        InputError: pairs are to be read, but there is no source.
    """
    if ("meaning" in data.aspects or paired) and not all(data.sources):
        raise InputError(
            "meaning is rated of pairs, and --read-source reads them: name the column of the "
            "sources (--column source=...)"
        )
    reader = _Reader(Probe({}, encoder, base, max_length, paired), runtime)
    numbers: dict[str, int] = {}
    keys = [normalise(s or o) for s, o in zip(data.sources, data.outputs, strict=True)]
    groups = np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
    models: dict[str, KernelModel] = {}
    chosen = {}
    curves: dict[str, dict[int, float]] = {}
    order = np.random.default_rng(0).permutation(np.unique(groups[split.train]))
    for column, aspect in enumerate(data.aspects):
        blocks = reader.blocks(aspect, data.sources, data.outputs)
        models[aspect], chosen[aspect] = fit_kernel(
            blocks, data.ratings[:, column], split.train, split.dev, groups=groups, within=within
        )
        for share in shares:
            kept = order[: max(1, round(share * len(order)))]
            rows = split.train[np.isin(groups[split.train], kept)]
            part = fit_kernel(
                blocks, data.ratings[:, column], rows, split.dev, groups=groups, within=within
            )
            curves.setdefault(aspect, {})[len(rows)] = part[1]["score"]
        if shares:
            curves[aspect][len(split.train)] = chosen[aspect]["score"]
    return Probe(models, encoder, base, max_length, paired), chosen, curves


def save_probe(probe: Probe, folder: Path) -> None:
    """Write the regressions as safetensors of 32-bit numbers, the weights as 64-bit ones."""
    from safetensors.numpy import save_file

    tensors = {}
    for aspect, model in probe.models.items():
        for name, values in model.arrays().items():
            kind = np.float32 if name == "points" else np.float64
            tensors[f"{aspect}.{name}"] = np.ascontiguousarray(values, dtype=kind)
    with output_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
        partial = folder / f"{KERNEL_FILE}.partial"
        save_file(tensors, partial)
        partial.replace(folder / KERNEL_FILE)


def open_probe(folder: Path, record: Mapping[str, Any], max_length: int) -> Probe:
    """Read what `save_probe` wrote.

    Args:
        folder: of the bundle.
        record: see `Probe.record`; encoders that lie in the folder are named relative to it.
        max_length: longest input in word pieces.

    Raises:
        InputError: the file is absent or damaged.
    """
    from safetensors.numpy import load_file

    path = inside(folder, KERNEL_FILE)
    try:
        tensors = load_file(path)
        models = {
            aspect: KernelModel.from_arrays(
                {
                    key.partition(".")[2]: values
                    for key, values in tensors.items()
                    if key.partition(".")[0] == aspect
                }
            )
            for aspect in map(str, record["aspects"])
        }
        names = {key: str(record[key]) for key in ("encoder", "base")}
        paired = bool(record["paired"])
    except Exception as error:
        # safetensors reports a damaged file by an error class of its own.
        raise InputError(
            f"{path}: absent or damaged ({type(error).__name__}: {error}); copy or train the "
            "model anew"
        ) from None
    encoder, base = (named_within(folder, name) for name in names.values())
    return Probe(models, encoder, base, max_length, paired)
