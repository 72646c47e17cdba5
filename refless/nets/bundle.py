"""A trained SOME on disk: one or several plain transformers folders and what joins them.

    my-some/
      gecjury.json           members, scale, features, what it was trained on
      README.md              the model card
      config.json, model.safetensors, tokenizer...   the model itself, or one folder a member
      training-sentences.txt hashes of the sentences trained on, for the leakage check

A member is a model whose outputs are named aspects. Several members of one aspect are averaged.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.language import LANGUAGES
from gecjury.corpus.leakage import corpus_texts, sentence_key
from gecjury.errors import InputError
from gecjury.models.batching import pick_device
from gecjury.models.checkpoints import Repository, inside, repository, resolve
from gecjury.models.networks import (
    read_config,
    read_network,
    read_tokenizer,
    refuse_padless,
)
from gecjury.models.precision import DType, check_dtype, placed
from gecjury.refless.data.annotations import ASPECTS, PAIRED, QUALITY, RATED
from gecjury.refless.nets.features import aspect_features, aspect_names, piece_counter
from gecjury.refless.nets.probe import Probe, open_probe
from gecjury.refless.nets.regressor import Regressor
from gecjury.runtime import Runtime
from gecjury.textfiles import read_json, read_text

BUNDLE_FORMAT = "gecjury-some/1"
MANIFEST = "gecjury.json"
KEYS_FILE = "training-sentences.txt"

USUAL_WEIGHTS = (0.55, 0.43, 0.02)
"""Of grammaticality, fluency and meaning: the paper's at sentence level."""

_LONGEST_INPUT = 1_000_000  # word pieces

_FOLDERS = {
    "grammaticality": ("grammaticality", "grammer", "grammar"),
    "fluency": ("fluency",),
    "meaning": ("meaning",),
}


@dataclass(frozen=True)
class Linear:
    """What features add to a prediction: `weights` · (features − `mean`) / `deviation`.

    Its mean over the training data is 0, so that a model's own output stays on the rating scale.
    """

    mean: FloatArray
    deviation: FloatArray
    weights: FloatArray

    def __call__(self, features: FloatArray) -> FloatArray:
        """The addition for each row of features."""
        scaled: FloatArray = (features - self.mean) / self.deviation
        return scaled @ self.weights

    def to_json(self) -> dict[str, list[float]]:
        """As plain lists."""
        return {
            "mean": self.mean.tolist(),
            "deviation": self.deviation.tolist(),
            "weights": self.weights.tolist(),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, Sequence[float]]) -> Linear:
        """The inverse of `to_json`."""
        return cls(*(np.array(record[k], dtype=float) for k in ("mean", "deviation", "weights")))


@dataclass(frozen=True)
class Bundle:
    """Loaded members.

    Attributes:
        members: the models; each predicts the aspects that it names.
        scale: lowest and highest rating.
        features: by aspect what its features add; aspects without an entry use none.
        probe: kernel regressions.
        shares: by aspect the share that its kernel regression has in the prediction, for aspects
            that members predict as well; the others are predicted by one of the two alone.
        keys: hashes of the sentences trained on.
        where: folder or name, for messages.
        language: code of the language trained on; `mul` for several, `und` where nothing says.
    """

    members: tuple[Regressor, ...]
    scale: tuple[float, float] = (1.0, 4.0)
    features: Mapping[str, Linear] = field(default_factory=dict)
    keys: frozenset[str] = frozenset()
    where: str = ""
    probe: Probe | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    language: str = "en"

    @property
    def aspects(self) -> tuple[str, ...]:
        """The aspects that are predicted."""
        named = {aspect for member in self.members for aspect in member.aspects}
        named |= set(self.probe.models) if self.probe else set()
        return tuple(aspect for aspect in RATED if aspect in named)

    @property
    def pair_aspects(self) -> frozenset[str]:
        """The aspects that are predicted of pairs."""
        return self.probe.pair_aspects if self.probe else PAIRED

    def predict(
        self,
        texts: Sequence[str],
        pairs: tuple[Sequence[str], Sequence[str]],
        runtime: Runtime,
        aspects: Collection[str] = RATED,
    ) -> dict[str, FloatArray]:
        """Predicted ratings on the data's scale, by aspect.

        Args:
            texts: T hypotheses, for aspects that are not among `pair_aspects`.
            pairs: P sources and hypotheses, for those that are.
            runtime: batch size and progress.
            aspects: what is predicted, of those that the models know.

        Returns:
            T or P numbers an aspect.
        """
        tuned, fitted = self.parts(texts, pairs, runtime, aspects)
        mixed = {
            aspect: (1 - share) * tuned[aspect] + share * fitted[aspect]
            for aspect, share in self.shares.items()
            if aspect in tuned and aspect in fitted
        }
        return tuned | fitted | mixed

    def parts(
        self,
        texts: Sequence[str],
        pairs: tuple[Sequence[str], Sequence[str]],
        runtime: Runtime,
        aspects: Collection[str] = RATED,
    ) -> tuple[dict[str, FloatArray], dict[str, FloatArray]]:
        """What the members say, features included, and what the kernel regressions say.

        A part whose share in an aspect is 0 is not asked for it. See `predict` for the rest.
        """
        asked = [aspect for aspect in aspects if self.shares.get(aspect) != 1]
        tuned = self._member_ratings(texts, pairs, runtime, asked)
        if self.probe is None:
            return tuned, {}
        asked = [aspect for aspect in aspects if self.shares.get(aspect) != 0]
        models = {a: m for a, m in self.probe.models.items() if a in asked}
        return tuned, replace(self.probe, models=models).predict(texts, pairs, runtime)

    def _member_ratings(
        self,
        texts: Sequence[str],
        pairs: tuple[Sequence[str], Sequence[str]],
        runtime: Runtime,
        aspects: Collection[str],
    ) -> dict[str, FloatArray]:
        """Mean ratings of the members, with what features add."""
        # Where the regressions read pairs, there is a rating a pair of the hypothesis as well.
        paired = self.probe is not None and self.probe.paired
        lone = list(dict.fromkeys(pairs[1])) if paired else list(texts)
        sums: dict[str, FloatArray] = {}
        counts: Counter[str] = Counter()
        for member in self.members:
            alone = [a for a in member.aspects if a not in PAIRED and a in aspects]
            found: dict[str, FloatArray] = {}
            if alone:
                outputs = member.predict(lone, None, runtime)
                found = {a: outputs[:, member.aspects.index(a)] for a in alone}
            if compared := [a for a in member.aspects if a in PAIRED and a in aspects]:
                outputs = member.predict(pairs[0], pairs[1], runtime)
                found |= {a: outputs[:, member.aspects.index(a)] for a in compared}
            for aspect, values in found.items():
                sums[aspect] = sums.get(aspect, 0.0) + values
                counts[aspect] += 1
        means = {aspect: values / counts[aspect] for aspect, values in sums.items()}
        for aspect, linear in self.features.items():
            if aspect in means:
                count = piece_counter(self.members[0].tokenizer)
                means[aspect] = means[aspect] + linear(
                    aspect_features(aspect, lone, pairs, count, self.language)
                )
        if paired:
            place = {text: row for row, text in enumerate(lone)}
            rows = np.array([place[text] for text in pairs[1]], dtype=np.int64)
            means = {a: v if a in PAIRED else v[rows] for a, v in means.items()}
        return means

    def notes(self, corpus: Corpus) -> list[str]:
        """Warnings: trained on another language, or on sentences of the corpus."""
        return [*self._language_notes(corpus), *self._leak_notes(corpus)]

    def _language_notes(self, corpus: Corpus) -> list[str]:
        told = corpus.language
        # Nobody says what language the models of others, or of several languages, are for.
        if self.language in (told.code, "und", "mul") or told.code == "und":
            return []
        return [
            f"language: {self.where} was trained on {LANGUAGES.get(self.language, self.language)}, "
            f"and the texts are {told.name}: what it says of them was never tried (--lang tells "
            "the language of files)"
        ]

    def _leak_notes(self, corpus: Corpus) -> list[str]:
        if not self.keys:
            return []
        texts = {text for lines in corpus_texts(corpus).values() for text in lines if text.strip()}
        shared = [text for text in texts if sentence_key(text) in self.keys]
        if not shared:
            return []
        return [
            f"leakage: {self.where} was trained on {len(shared)} of the {len(texts)} sources and "
            f"references here, e.g. {min(shared)[:60]!r}; its scores are not evidence"
        ]


def open_bundle(
    location: str, max_length: int = 0, device: str = "cpu", dtype: DType = "float32"
) -> Bundle:
    """Load a trained SOME from a folder or from the hub.

    Args:
        location: a folder written by `gecjury train some`; a folder with one plain model an
            aspect; or a hub name of either.
        max_length: longest input; 0 takes what the training used, 128 where that is not told.
        device: as `Runtime.device`.
        dtype: numbers that the encoders compute with; see `gecjury.models.precision`.

    Raises:
        OptionError: numbers that the device does not compute with.
        InputError: no such folder, a damaged or incomplete one, a checkpoint of another kind or
            aspect, or weights that would need full unpickling.
        DataError: the hub cannot be reached, or the download was cut off.
    """
    check_dtype(dtype, pick_device(device))
    folder = _repository(location).folder
    record = _manifest(folder)
    if record is None:
        return _foreign(folder, location, max_length or 128, device, dtype)
    return assemble(folder, record, max_length, device, location, dtype)


def metric_for(model: str, aspects: Sequence[str]) -> str:
    """The metric to name for a folder: with weights of its own where it lacks an aspect.

    The usual weights of the aspects that there are, made to sum to 1. One of quality needs none.

    Args:
        model: the folder.
        aspects: those that it has.
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
        aspects: those that the folder has; the usual weights of these, made to sum to 1.
    """
    kept = {
        aspect: weight
        for aspect, weight in zip(ASPECTS, USUAL_WEIGHTS, strict=True)
        if aspect in aspects
    }
    if len(kept) == len(ASPECTS):
        return kept
    if not kept:
        return dict.fromkeys(aspects, 1 / len(aspects))
    # To two digits, the heaviest taking what rounding leaves.
    shares = {aspect: round(weight / sum(kept.values()), 2) for aspect, weight in kept.items()}
    heaviest = max(shares, key=lambda aspect: shares[aspect])
    shares[heaviest] = round(1 - sum(shares.values()) + shares[heaviest], 2)
    return shares


def bundle_identity(location: str) -> dict[str, str]:
    """What pins a trained SOME, for signatures.

    Args:
        location: see `open_bundle`, also for the errors.

    Returns:
        `weights`, and with kernel regression `encoder` and `base`, where these lie elsewhere; where
        fine-tuned models have a part as well, `kernel`, its shares by aspect.
    """
    found = _repository(location)
    record = _manifest(found.folder) or {}
    names = _encoders_elsewhere(found.folder, record)
    identity = {"weights": found.identity}
    identity |= {key: resolve(name).identity for key, name in names.items()}
    if shares := _shares(inside(found.folder, MANIFEST), record):
        identity["kernel"] = "+".join(f"{aspect}:{share:g}" for aspect, share in shares.items())
    return identity


def bundle_models(location: str) -> tuple[str, ...]:
    """A trained SOME and the encoders that its folder names; nothing is downloaded.

    Raises:
        InputError: the folder is damaged.
    """
    folder = Path(location).expanduser()
    if not folder.is_dir():
        return (location,)
    return (location, *_encoders_elsewhere(folder, _manifest(folder) or {}).values())


def _encoders_elsewhere(folder: Path, record: Mapping[str, Any]) -> dict[str, str]:
    """The encoders of kernel regression that do not lie in the folder, by what they are for."""
    kernel = record.get("kernel", {})
    if not isinstance(kernel, dict):
        raise _damaged(inside(folder, MANIFEST), f"kernel is {kernel!r:.60}")
    names = {key: str(kernel[key]) for key in ("encoder", "base") if key in kernel}
    if names.get("base") == names.get("encoder"):
        names.pop("base", None)
    # An encoder that lies in the folder is among its weights.
    return {key: name for key, name in names.items() if not inside(folder, name).is_dir()}


def _manifest(folder: Path) -> dict[str, Any] | None:
    """What the folder says of itself; None if it says nothing."""
    path = inside(folder, MANIFEST)
    if not path.exists():
        return None
    record = read_json(path, "the manifest of a SOME; train or copy the model anew")
    if not isinstance(record, dict) or record.get("format") != BUNDLE_FORMAT:
        found = record.get("format") if isinstance(record, dict) else record
        raise InputError(
            f"{path}: not a finished SOME of this version (format {found!s:.60}, expected "
            f"{BUNDLE_FORMAT!r}); an interrupted training is finished by running its command "
            "again, an IMPARA model is used with -m impara:model=..."
        )
    return record


def assemble(
    folder: Path,
    record: Mapping[str, Any],
    max_length: int = 0,
    device: str = "cpu",
    where: str = "",
    dtype: DType = "float32",
) -> Bundle:
    """Load what a manifest lists; see `open_bundle`."""
    path = folder / MANIFEST
    try:
        length = max_length or int(record["max_length"])
        features = {a: Linear.from_json(r) for a, r in record.get("features", {}).items()}
        scale = (float(record["scale"][0]), float(record["scale"][1]))
        places = [(_text(m["path"]), tuple(map(_text, m["aspects"]))) for m in record["members"]]
    except (AttributeError, LookupError, OverflowError, TypeError, ValueError) as error:
        raise _damaged(path, f"{type(error).__name__}: {error!s:.200}") from None
    if not 0 < length <= _LONGEST_INPUT:
        raise _damaged(path, f"max_length is {length!s:.40}")
    if not all(map(math.isfinite, scale)) or not scale[0] < scale[1]:
        raise _damaged(path, f"scale is {scale}")
    language = record.get("language", "en")
    if not isinstance(language, str) or not 0 < len(language) < 40:
        raise _damaged(path, f"language is {language!r:.60}")
    if unknown := {a for _, aspects in places for a in aspects} - {*RATED}:
        raise _damaged(path, f"a member of {min(unknown)!r:.60}")
    for aspect, linear in features.items():
        names = aspect_names(aspect, language)
        if linear.weights.shape != (len(names),):
            raise InputError(
                f"{path}: {linear.weights.size} feature weights for {aspect:.60}, this version has "
                f"{len(names)} features; train the model anew"
            )
        parts = (linear.mean, linear.deviation, linear.weights)
        if any(p.shape != (len(names),) or not np.isfinite(p).all() for p in parts):
            raise _damaged(path, f"the features of {aspect:.60} are no {len(names)} numbers each")
        if not (linear.deviation > 0).all():
            raise _damaged(path, f"a feature of {aspect:.60} has no deviation")
    members = tuple(
        _member(inside(folder, place), aspects, length, device, dtype) for place, aspects in places
    )
    shares = _shares(path, record)
    if not members and "kernel" not in record:
        raise _damaged(path, "no member")
    keys = inside(folder, KEYS_FILE)
    known = frozenset(read_text(keys).split()) if keys.exists() else frozenset()
    probe = None
    if "kernel" in record:
        probe = open_probe(folder, record["kernel"], length, dtype, language)
    named = {aspect for _, aspects in places for aspect in aspects}
    fitted = set(probe.models) if probe else set()
    if QUALITY in named | fitted and named | fitted != {QUALITY}:
        raise _damaged(path, f"{QUALITY} beside other aspects")
    if apart := set(shares) - (named & fitted):
        raise _damaged(path, f"a share in {min(apart)!r:.60}, which no two parts predict")
    return Bundle(members, scale, features, known, where, probe, shares, language)


def _shares(path: Path, record: Mapping[str, Any]) -> dict[str, float]:
    """By aspect the kernel regression's share, as a manifest has it; see `Bundle.shares`."""
    found = record.get("shares", {})
    if not isinstance(found, dict):
        raise _damaged(path, f"shares is {found!r:.60}")
    shares = {}
    for aspect, share in found.items():
        if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 <= share <= 1:
            raise _damaged(path, f"the share of {aspect:.60} is {share!r:.40}, not 0 to 1")
        shares[str(aspect)] = float(share)
    return shares


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.60} where a text belongs")
    return value


def _damaged(path: Path, what: str) -> InputError:
    return InputError(f"{path}: damaged ({what}); train or copy the model anew")


def _repository(location: str) -> Repository:
    if location.startswith((".", "/", "~")) and not Path(location).expanduser().is_dir():
        raise InputError(
            f"{location}: no such folder. Train a model, e.g. `gecjury train some tmu-gfm "
            f"-o {location} --recipe small`, or correct the path"
        )
    return repository(location)


def _foreign(
    folder: Path, location: str, max_length: int, device: str, dtype: DType = "float32"
) -> Bundle:
    """Models that others trained: one folder an aspect, each with a single output."""
    members = []
    for aspect, names in _FOLDERS.items():
        found = next((folder / n for n in names if (folder / n / "config.json").exists()), None)
        if found is not None:
            place = inside(folder, found.name)
            members.append(_member(place, (aspect,), max_length, device, dtype))
    if not members:
        raise InputError(
            f"{location}: holds neither {MANIFEST} nor folders grammaticality, fluency, meaning: "
            "not a trained SOME. Train one, e.g. `gecjury train some tmu-gfm -o my-some`"
        )
    return Bundle(tuple(members), where=location, language="und")


def _member(
    folder: Path,
    aspects: tuple[str, ...],
    max_length: int,
    device: str,
    dtype: DType = "float32",
) -> Regressor:
    if not folder.is_dir():
        raise InputError(f"{folder}: no such folder; the model is incomplete: copy it anew")
    device = pick_device(device)
    checkpoint = resolve(str(folder))
    config = read_config(checkpoint)
    model, missing = read_network(checkpoint, config, "sentences")
    labels = tuple(model.config.id2label[number] for number in range(model.config.num_labels))
    anonymous = len(aspects) == 1 and labels == ("LABEL_0",)
    if labels != aspects and not anonymous:
        raise InputError(
            f"{folder}: a checkpoint of {', '.join(labels)}, expected {', '.join(aspects)}: it "
            "has another head than its place says"
        )
    # A base encoder loads with a head drawn at random: its scores would be noise.
    encoder = f"{model.base_model_prefix}."
    if any(not name.startswith(encoder) for name in missing):
        raise InputError(
            f"{folder}: holds an encoder without a trained head; train it with "
            "`gecjury train some --encoder ...`"
        )
    tokenizer = read_tokenizer(checkpoint, config)
    refuse_padless(checkpoint, config, tokenizer)
    return Regressor(
        placed(model, dtype, device),
        tokenizer,
        aspects,
        max_length,
        f"{checkpoint.identity}|{dtype}",
    )


IMPARA_FORMAT = "gecjury-impara/1"

IMPARA_POOLED_FORMAT = "gecjury-impara/2"
"""Of a ranker that reads means, which versions that know the former alone would misread."""
