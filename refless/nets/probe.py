"""A SOME without fine-tuning: kernel regression on encoders' hidden states.

Grammaticality and fluency read hidden states of the hypothesis two thirds of the way up an encoder
trained for error detection and, if that is another one, of the encoder it was trained from.
Meaning reads the difference between hypothesis and source in the last layer. Quality reads what
grammaticality reads, and the difference between hypothesis and source in those states. All also
read the features of `gecjury.refless.nets.features`; without a source, those of the hypothesis.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gecjury.core.arrays import Float32Array, FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.splits import Split
from gecjury.models.checkpoints import (
    CHANGE_FILE,
    EMBEDDED,
    inside,
    is_folder,
    named_within,
    resolve,
)
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.models.networks import layer_count, read_config, read_network
from gecjury.models.precision import DType
from gecjury.refless.data.annotations import PAIRED, QUALITY, Annotations
from gecjury.refless.nets.features import pair_features, piece_counter, sentence_features
from gecjury.refless.nets.kernel import TRIED, Block, KernelModel, fit_kernel, joined
from gecjury.refless.nets.manifest import Kernel
from gecjury.refless.nets.regressor import damaged_tensors, load_tokenizer, save_tensors

KERNEL_FILE = "kernel.safetensors"

_LAYER = re.compile(r"\blayers?\.(\d+)\.")

_STATES, _BASE_STATES, _FEATURES, _CHANGE = 0.15, 0.1, 0.1, 0.05
"""Weights γ of the blocks, chosen by cross-validation over TMU-GFM's train and dev parts."""


@dataclass(frozen=True)
class Probe:
    """Fitted regressions with the encoders that they read.

    Attributes:
        models: the regressions by aspect.
        encoder: name or folder of the encoder trained for error detection, or of the base.
        base: name or folder of the encoder that it was trained from.
        max_length: longest input in word pieces.
        paired: True if grammaticality and fluency also read features of the pair. That predicts
            ratings better, but through what a correction reveals about its source: a source with
            many corrections was bad. Among corrections of one source, small ones are then favoured.
        dtype: see `gecjury.models.encoder.EncoderSpec`.
        language: code of the sentences' language; English ones are read with plain quotation marks.
    """

    models: Mapping[str, KernelModel]
    encoder: str
    base: str
    max_length: int = 128
    paired: bool = False
    dtype: DType = "float32"
    language: str = "en"

    def predict(
        self, texts: Sequence[str], pairs: tuple[Sequence[str], Sequence[str]], runtime: Runtime
    ) -> dict[str, FloatArray]:
        """Return ratings by aspect, one per text, or one per pair for `pair_aspects`."""
        paired = self.pair_aspects
        inputs = {aspect: pairs if aspect in paired else (texts, texts) for aspect in self.models}
        reader = _FeatureReader(self, runtime)
        return {a: self.models[a](joined(blocks)) for a, blocks in reader.read(inputs)}

    @property
    def pair_aspects(self) -> frozenset[str]:
        """The aspects that are predicted for pairs."""
        return frozenset(self.models) if self.paired else PAIRED

    def record(self, folder: Path) -> Kernel:
        """Return the entry for a folder's manifest; encoders in the folder get relative names."""
        encoder, base = (
            Path(name).relative_to(folder).as_posix() if is_folder(name) else name
            for name in (self.encoder, self.base)
        )
        return Kernel(tuple(self.models), encoder, base, self.paired)


def plain_text(text: str) -> str:
    """Return a sentence with quotation marks and contractions as in untokenised text."""
    text = text.replace("``", '"').replace("''", '"').replace("’", "'")
    text = text.replace("“", '"').replace("”", '"')
    return " ".join(re.sub(r"(?<=\w) (?=n't\b)", "", text).split())


class _FeatureReader:
    """Computes the blocks of aspects; an encoder reads each sentence once for all layers wanted."""

    def __init__(self, probe: Probe, runtime: Runtime) -> None:
        self.probe = probe
        self.runtime = runtime
        self._tables: dict[tuple[str, int], _FeatureTable] = {}
        self._made: dict[tuple[tuple[str, ...], ...], FloatArray] = {}

    def read(
        self, inputs: Mapping[str, tuple[Sequence[str], Sequence[str]]]
    ) -> Iterator[tuple[str, list[Block]]]:
        """Compute the blocks of aspects in one pass of each encoder.

        Args:
            inputs: the sources and outputs for each aspect.

        Yields:
            Each aspect, and its blocks with their weights.
        """
        # Aspects share encoders, layers and texts; dicts keep each once, in order of first use.
        wanted: dict[str, dict[int, None]] = {}
        texts: dict[str, dict[str, None]] = {}
        for aspect, (sources, outputs) in inputs.items():
            for name, layer in self._places(aspect):
                wanted.setdefault(name, {})[layer] = None
                sides = (sources, outputs) if aspect in PAIRED else (outputs,)
                for side in sides:
                    texts.setdefault(name, {}).update(dict.fromkeys(map(self._plain, side)))
        for name, layers in wanted.items():
            lines = list(texts[name])
            rows = {text: row for row, text in enumerate(lines)}
            # The encoder of the highest layer computes those below on the way.
            spec = EncoderSpec(
                name,
                layer=max(layers),
                max_length=self.probe.max_length,
                dtype=self.probe.dtype,
            )
            vectors = load_encoder(spec, self.runtime).encode_layers(lines, list(layers))
            for layer, encoded in zip(layers, vectors, strict=True):
                self._tables[name, layer] = rows, encoded.vectors
        for aspect, sides in inputs.items():
            yield aspect, self._blocks(aspect, *sides)

    def _blocks(self, aspect: str, sources: Sequence[str], outputs: Sequence[str]) -> list[Block]:
        probe = self.probe
        old, new = [self._plain(s) for s in sources], [self._plain(o) for o in outputs]
        places = self._places(aspect)
        if aspect == "meaning":
            before, after = (self._states(places[0], texts) for texts in (old, new))
            size = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
            cosine = (before * after).sum(axis=1) / np.where(size > 0, size, 1.0)
            features = np.column_stack([self._features(sources, outputs), cosine])
            return [(features, _FEATURES), (after - before, _CHANGE)]
        weights = (_STATES, _BASE_STATES)
        # Without intermediate steps there is one encoder, which has the first weight.
        blocks = [(self._states(p, new), w) for p, w in zip(places, weights, strict=False)]
        if aspect == QUALITY:
            blocks += [(self._states(p, new) - self._states(p, old), _CHANGE) for p in places]
        features = self._features(outputs)
        if probe.paired or aspect == QUALITY:
            features = np.column_stack([features, self._features(sources, outputs)])
        return [*blocks, (features, _FEATURES)]

    def _plain(self, text: str) -> str:
        """Return the text that the encoders read; outside English the sentence itself."""
        return plain_text(text) if self.probe.language == "en" else text

    def _places(self, aspect: str) -> list[tuple[str, int]]:
        """The encoders and layers whose states an aspect reads."""
        probe = self.probe
        if aspect == "meaning":
            return [(probe.base, layer_count(resolve(probe.base)))]
        names = dict.fromkeys((probe.encoder, probe.base))
        return [(name, states_layer(layer_count(resolve(name)))) for name in names]

    def _states(self, place: tuple[str, int], texts: Sequence[str]) -> FloatArray:
        """Return the means of a layer's states over word pieces."""
        rows, vectors = self._tables[place]
        return vectors[[rows[text] for text in texts]].astype(np.float64)

    def _features(self, *sides: Sequence[str]) -> FloatArray:
        """Return the features of sentences, or of sources and outputs; cached for all aspects."""
        key = tuple(map(tuple, sides))
        if key not in self._made:
            language = self.probe.language
            if len(sides) == 2:
                self._made[key] = pair_features(*sides, language)
            else:
                count = piece_counter(load_tokenizer(self.probe.base))
                self._made[key] = sentence_features(sides[0], count, language)
        return self._made[key]


_FeatureTable = tuple[dict[str, int], Float32Array]
"""The row of each text, and the matrix of vectors."""


def states_layer(layers: int) -> int:
    """Return the layer whose states are read: two thirds of the way up."""
    return round(2 / 3 * layers)


def fit_probe(
    unfitted: Probe, data: Annotations, split: Split, runtime: Runtime, within: float, most: int
) -> tuple[Probe, dict[str, dict[str, float]]]:
    """Fit one regression for each aspect.

    Args:
        unfitted: the encoders to read, without regressions.
        within: see `gecjury.refless.nets.kernel.fit_kernel`; corrections of one source are a group.
        most: see `gecjury.refless.nets.kernel.fit_kernel`.

    Returns:
        The regressions; and for each aspect, the dev score and the settings chosen by it.
    """
    reader, groups = _FeatureReader(unfitted, runtime), data.groups()
    blocks_of = reader.read(dict.fromkeys(data.aspects, (data.sources, data.outputs)))
    models: dict[str, KernelModel] = {}
    chosen = {}
    for (aspect, blocks), ratings in zip(blocks_of, data.ratings.T, strict=True):
        with runtime.progress.task(f"kernel regression: {aspect}", TRIED) as bar:
            models[aspect], chosen[aspect] = fit_kernel(
                blocks, ratings, split.train, split.dev, groups=groups, within=within, most=most,
                bar=bar,
            )  # fmt: skip
    return replace(unfitted, models=models), chosen


def save_probe(probe: Probe, folder: Path, *, half: bool = False) -> None:
    """Write the regressions as safetensors: the points in 32 bits, everything else in 64 bits.

    Args:
        half: True to write the points in 16 bits, if they were fitted so.
    """
    small = np.float16 if half else np.float32
    tensors = {}
    for aspect, model in probe.models.items():
        for name, values in model.arrays().items():
            kind = small if name == "points" else np.float64
            tensors[f"{aspect}.{name}"] = np.ascontiguousarray(values, dtype=kind)
    save_tensors(tensors, folder / KERNEL_FILE)


def save_change(tuned: str, folder: Path, *, rank: int, layers: int) -> None:
    """Write the changes that a training made to the packaged encoder.

    Args:
        rank: number of singular values kept of a matrix's change.
        layers: number of the lowest layers whose changes are kept; those above are not used.
    """
    before, after = (_weights(name) for name in (EMBEDDED, tuned))
    tensors = {}
    for name, values in before.items():
        layer = _LAYER.search(name)
        change = after[name] - values
        if (layer and int(layer[1]) >= layers) or not change.any():
            continue
        if change.ndim == 1:
            tensors[name] = change.astype(np.float16)
            continue
        left, sizes, right = np.linalg.svd(change, full_matrices=False)
        # The root on both sides keeps values within the range of 16 bits.
        root = np.sqrt(sizes[:rank])
        tensors[f"{name}.left"] = (left[:, :rank] * root).astype(np.float16)
        tensors[f"{name}.right"] = (root[:, None] * right[:rank]).astype(np.float16)
    save_tensors(tensors, folder / CHANGE_FILE, {"base": resolve(EMBEDDED).identity})


def _weights(name: str) -> dict[str, FloatArray]:
    """Return an encoder's parameters as 64-bit arrays, by their names in the encoder alone."""
    checkpoint = resolve(name)
    network, _ = read_network(checkpoint, read_config(checkpoint), "encoder")
    return {key: value.detach().double().numpy() for key, value in network.named_parameters()}


def open_probe(
    folder: Path,
    record: Kernel,
    max_length: int,
    dtype: DType = "float32",
    language: str = "en",
) -> Probe:
    """Read the regressions that `save_probe` wrote.

    Raises:
        InputError: the file is missing or damaged.
    """
    from safetensors.numpy import load_file

    path = inside(folder, KERNEL_FILE)
    arrays: dict[str, dict[str, FloatArray]] = {aspect: {} for aspect in record.aspects}
    with damaged_tensors(path):
        for key, values in load_file(path).items():
            aspect, _, name = key.partition(".")
            arrays.setdefault(aspect, {})[name] = values
        models = {aspect: KernelModel.from_arrays(arrays[aspect]) for aspect in record.aspects}
    encoder, base = (named_within(folder, name) for name in (record.encoder, record.base))
    return Probe(models, encoder, base, max_length, record.paired, dtype, language)
