"""A trained SOME on disk: one or several plain transformers folders and a manifest that joins them.

    my-some/
      gecjury.json           members, scale, features, what it was trained on
      README.md              the model card
      config.json, model.safetensors, tokenizer...   the model itself, or one folder per member
      training-sentences.txt hashes of the sentences trained on, for the leakage check

A member is a model whose outputs are named aspects; no two members have the same aspect.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, MissingExtraError
from gecjury.core.runtime import Runtime
from gecjury.corpus.fingerprints import fingerprint
from gecjury.models.batching import pick_device
from gecjury.models.checkpoints import inside, repository, resolve
from gecjury.models.networks import read_config, read_network, read_tokenizer
from gecjury.models.origin import MANIFEST, TrainingOrigin
from gecjury.models.precision import DType, check_dtype, placed
from gecjury.refless.data.annotations import ASPECTS, PAIRED, RATED
from gecjury.refless.nets.features import FeatureTables, feature_names, piece_counter, reading
from gecjury.refless.nets.manifest import (
    BUNDLE_FORMAT,
    DevScores,
    RegressorFile,
    SomeManifest,
    folder_of,
    read_manifest,
)
from gecjury.refless.nets.probe import Probe, open_probe
from gecjury.refless.nets.regressor import Regressor

PACKAGED = {
    name: Path(__file__).parents[1] / "packaged" / name for name in ("embedded", "features")
}
"""Trained models that come with the package, by name."""

USUAL_WEIGHTS = (0.55, 0.43, 0.02)
"""Weights of grammaticality, fluency and meaning: the paper's at sentence level."""

_TRAIN = "some tmu-gfm"  # target and data of the command that trains a SOME

_FOLDERS = {
    "grammaticality": ("grammaticality", "grammer", "grammar"),
    "fluency": ("fluency",),
    "meaning": ("meaning",),
}


@dataclass(frozen=True)
class Bundle:
    """A loaded SOME.

    Attributes:
        manifest: what the folder contains.
        members: the models; each predicts the aspects that it names.
        probe: kernel regressions.
        origin: origin of the training data.
    """

    manifest: SomeManifest
    members: tuple[Regressor, ...]
    probe: Probe | None
    origin: TrainingOrigin

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects that are predicted."""
        return tuple(aspect for aspect in RATED if aspect in self.manifest.aspects)

    @property
    def pair_aspects(self) -> frozenset[str]:
        """The aspects that are predicted for pairs."""
        if self.manifest.paired:
            return frozenset(self.manifest.features)
        return self.probe.pair_aspects if self.probe else PAIRED

    def predict(
        self,
        texts: Sequence[str],
        pairs: tuple[Sequence[str], Sequence[str]],
        runtime: Runtime,
        aspects: Collection[str] = RATED,
    ) -> dict[str, FloatArray]:
        """Return predicted ratings on the data's scale, by aspect.

        Args:
            texts: T hypotheses, for aspects that are not among `pair_aspects`.
            pairs: P sources and hypotheses, for those that are.
            aspects: aspects wanted; those that the models do not predict are ignored.

        Returns:
            T or P numbers for each aspect.
        """
        return self.mixed(*self.parts(texts, pairs, runtime, aspects))

    def mixed(
        self, tuned: Mapping[str, FloatArray], fitted: Mapping[str, FloatArray]
    ) -> dict[str, FloatArray]:
        """Return ratings as weighted means where both parts predict an aspect; see `parts`."""
        averaged = {
            aspect: (1 - share) * tuned[aspect] + share * fitted[aspect]
            for aspect, share in self.manifest.shares.items()
            if aspect in tuned and aspect in fitted
        }
        return {**tuned, **fitted, **averaged}

    def parts(
        self,
        texts: Sequence[str],
        pairs: tuple[Sequence[str], Sequence[str]],
        runtime: Runtime,
        aspects: Collection[str] = RATED,
    ) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """Return the ratings of the members, features included, and of the kernel regressions.

        Features that predict alone take the place of members. A part whose share in an aspect is 0
        is not computed for it. See `predict` for the rest.
        """
        shares = self.manifest.shares
        wanted = [aspect for aspect in aspects if shares.get(aspect) != 1]
        tuned = self._member_ratings(texts, pairs, runtime, wanted)
        if self.probe is None:
            return tuned, {}
        wanted = [aspect for aspect in aspects if shares.get(aspect) != 0]
        models = {a: m for a, m in self.probe.models.items() if a in wanted}
        return tuned, replace(self.probe, models=models).predict(texts, pairs, runtime)

    def _member_ratings(
        self,
        texts: Sequence[str],
        pairs: tuple[Sequence[str], Sequence[str]],
        runtime: Runtime,
        aspects: Collection[str],
    ) -> dict[str, FloatArray]:
        """Return the ratings of the members, including what features add."""
        features, language = self.manifest.features, self.manifest.language
        if self.manifest.features_alone:
            tables = FeatureTables(texts, pairs, None, language, self.manifest.paired)
            return {a: linear(tables.of(a)) for a, linear in features.items() if a in aspects}
        # If the regressions read pairs, ratings of hypotheses must also be one per pair.
        paired = self.probe is not None and self.probe.paired
        lone = pairs[1] if paired else texts
        ratings: dict[str, FloatArray] = {}
        for member in self.members:
            rated = [aspect for aspect in member.aspects if aspect in aspects]
            # A member with aspects of both kinds reads hypotheses alone and pairs.
            for first, second, of_pairs in ((lone, None, False), (*pairs, True)):
                read = [aspect for aspect in rated if (aspect in PAIRED) == of_pairs]
                if read:
                    outputs = member.predict(first, second, runtime)
                for aspect in read:
                    ratings[aspect] = outputs[:, member.aspects.index(aspect)]
        added = {a: linear for a, linear in features.items() if a in ratings}
        if added:
            count = piece_counter(self.members[0].tokenizer)
            tables = FeatureTables(lone, pairs, count, language)
            ratings |= {a: ratings[a] + linear(tables.of(a)) for a, linear in added.items()}
        return ratings


def open_bundle(
    location: str, max_length: int = 0, device: str = "cpu", dtype: DType = "float32"
) -> Bundle:
    """Load a trained SOME from a folder or from the hub.

    Args:
        location: a folder written by `gecjury train some`; a folder with one plain model per
            aspect; or a hub name of either.
        max_length: longest input; 0 uses the length of the training, or 128 if it is not recorded.
        device: as `Runtime.device`.
        dtype: precision of the encoders; see `gecjury.models.precision`.

    Raises:
        OptionError: the device does not support the precision.
        InputError: no such folder, a damaged or incomplete one, a checkpoint of another kind or
            aspect, or weights that would need full unpickling.
        DataError: the hub cannot be reached, or the download was interrupted.
    """
    folder, _ = _repository(location)
    manifest = _manifest(folder) or _foreign(folder, location)
    # Features alone need neither torch nor a device.
    if not manifest.features_alone:
        check_dtype(dtype, pick_device(device))
    return assemble(folder, manifest, max_length, device, location, dtype)


def metric_for(model: str, aspects: Sequence[str]) -> str:
    """Return the metric to use a folder with: with weights, if the folder lacks an aspect.

    These are the usual weights of the aspects it has, scaled to sum to 1. A model of quality needs
    none.

    Args:
        aspects: the aspects that it has.
    """
    named = f"some:model={model}".replace(",", "\\,")
    if set(aspects) >= set(ASPECTS) or not set(aspects) & set(ASPECTS):
        return named
    shares = aspect_weights(aspects)
    weights = zip(("alpha", "beta", "gamma"), ASPECTS, strict=True)
    return ",".join([named, *(f"{key}={shares.get(aspect, 0):g}" for key, aspect in weights)])


def aspect_weights(aspects: Sequence[str]) -> dict[str, float]:
    """Return the weight of each aspect in the score that `metric_for` names.

    Args:
        aspects: the aspects that the folder has; their usual weights are scaled to sum to 1.
    """
    kept = {
        aspect: weight
        for aspect, weight in zip(ASPECTS, USUAL_WEIGHTS, strict=True)
        if aspect in aspects
    }
    if len(kept) == len(ASPECTS):
        return kept
    # A model of quality has none of the paper's aspects.
    if not kept:
        return dict.fromkeys(aspects, 1 / len(aspects))
    # Rounded to two digits; the largest weight absorbs the rounding error.
    shares = {aspect: round(weight / sum(kept.values()), 2) for aspect, weight in kept.items()}
    heaviest = max(shares, key=lambda aspect: shares[aspect])
    shares[heaviest] = round(1 - sum(shares.values()) + shares[heaviest], 2)
    return shares


def bundle_identity(location: str) -> dict[str, str]:
    """Return the identity of a trained SOME, for signatures.

    Args:
        location: see `open_bundle`, also for the errors.

    Returns:
        `weights`; with kernel regression, also `encoder` and `base` if these are not in the folder;
        and if fine-tuned models are averaged with it, `kernel`, its shares by aspect.
    """
    folder, weights = _repository(location)
    manifest = _manifest(folder)
    identity = {"weights": weights}
    if manifest is not None and manifest.features_alone:
        # The only weights are those in the manifest.
        identity["weights"] = fingerprint([json.dumps(asdict(manifest), sort_keys=True)])
    elif manifest is not None:
        names = _encoders_elsewhere(folder, manifest)
        identity |= {key: encoder_identity(name) for key, name in names.items()}
        if shares := [f"{aspect}:{share:g}" for aspect, share in manifest.shares.items()]:
            identity["kernel"] = "+".join(shares)
    return identity


def encoder_identity(encoder: str) -> str:
    """Return the identity of an encoder; `missing` for the packaged one if it is not installed."""
    # Stored scores can be read without the packaged encoder; whoever computes some is told.
    try:
        return resolve(encoder).identity
    except MissingExtraError:
        return "missing"


def bundle_models(location: str) -> tuple[str, ...]:
    """Return a trained SOME and the encoders that its folder names; nothing is downloaded.

    Raises:
        OptionError: neither a folder nor a model of the hub.
        InputError: the folder is damaged.
    """
    location = str(PACKAGED.get(location, location))
    folder = folder_of(location, _TRAIN)
    manifest = _manifest(folder) if folder.is_dir() else None
    named = () if manifest is None else _encoders_elsewhere(folder, manifest).values()
    return (location, *named)


def bundle_scale(location: str) -> tuple[float, float] | None:
    """Return mean and deviation of the scores on dev, if the training recorded them."""
    folder = PACKAGED.get(location) or folder_of(location, _TRAIN)
    read = read_manifest(folder, DevScores, (BUNDLE_FORMAT,)) if folder.is_dir() else None
    if read is None or len(read.dev_scores) != 2 or not read.dev_scores[1] > 0:
        return None
    mean, deviation = read.dev_scores
    return mean, deviation


def _encoders_elsewhere(folder: Path, manifest: SomeManifest) -> dict[str, str]:
    """Return the encoders of kernel regression that are not in the folder, by their use."""
    if manifest.kernel is None:
        return {}
    # Without intermediate steps both are the same, which is named once.
    names = {"encoder": manifest.kernel.encoder, "base": manifest.kernel.base}
    if names["base"] == names["encoder"]:
        del names["base"]
    # An encoder in the folder is part of its weights.
    return {key: name for key, name in names.items() if not inside(folder, name).is_dir()}


def assemble(
    folder: Path,
    manifest: SomeManifest,
    max_length: int = 0,
    device: str = "cpu",
    where: str = "",
    dtype: DType = "float32",
) -> Bundle:
    """Load what a manifest lists; see `open_bundle`."""
    length = max_length or manifest.max_length
    language = manifest.language
    # Weights belong to features by position; another number of them comes from another version.
    for aspect, linear in manifest.features.items():
        count = len(feature_names(reading(aspect, manifest.paired), language))
        if len(linear.weights) != count:
            raise InputError(
                f"{folder / MANIFEST}: {len(linear.weights)} feature weights for {aspect:.60}, but "
                f"this version has {count} features; train the model again"
            )
    members = tuple(
        _member(inside(folder, member.path), member.aspects, length, device, dtype)
        for member in manifest.members
    )
    kernel = manifest.kernel
    probe = None if kernel is None else open_probe(folder, kernel, length, dtype, language)
    return Bundle(manifest, members, probe, TrainingOrigin.of(folder, where, language))


def _repository(location: str) -> tuple[Path, str]:
    location = str(PACKAGED.get(location, location))
    folder_of(location, _TRAIN)
    return repository(location)


def _manifest(folder: Path) -> SomeManifest | None:
    return read_manifest(folder, SomeManifest, (BUNDLE_FORMAT,))


def _foreign(folder: Path, location: str) -> SomeManifest:
    """Return a manifest for third-party models: one folder per aspect, each with one output."""
    members = tuple(
        RegressorFile(present[0], (aspect,))
        for aspect, names in _FOLDERS.items()
        if (present := [name for name in names if (folder / name / "config.json").exists()])
    )
    if not members:
        raise InputError(
            f"{location}: contains neither {MANIFEST} nor folders grammaticality, fluency, "
            "meaning: not a trained SOME. Train one, e.g. `gecjury train some tmu-gfm -o my-some`"
        )
    return SomeManifest((1.0, 4.0), 128, members, language="und")


def _member(
    folder: Path, aspects: tuple[str, ...], max_length: int, device: str, dtype: DType
) -> Regressor:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; the model is incomplete: copy it again")
    device = pick_device(device)
    checkpoint = resolve(str(folder))
    config = read_config(checkpoint)
    model, missing = read_network(checkpoint, config, "sentences")
    labels = tuple(model.config.id2label[number] for number in range(model.config.num_labels))
    anonymous = len(aspects) == 1 and labels == ("LABEL_0",)
    if labels != aspects and not anonymous:
        raise InputError(
            f"{folder}: a checkpoint for {', '.join(labels)}, but its place in the model calls for "
            f"{', '.join(aspects)}: copy or train the model again"
        )
    # A base encoder would be loaded with a random head, whose scores would be noise.
    encoder = f"{model.base_model_prefix}."
    if any(not name.startswith(encoder) for name in missing):
        raise InputError(
            f"{folder}: contains an encoder without a trained head; train it with "
            "`gecjury train some --encoder ...`"
        )
    tokenizer = read_tokenizer(checkpoint, config, padded=True)
    identity = f"{checkpoint.identity}|{dtype}"
    return Regressor(placed(model, dtype, device), tokenizer, aspects, max_length, identity)
