"""The manifests of folders of trained models.

Folders may come from untrusted sources: a manifest is either read as a typed record or rejected.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from gecjury.core.errors import InputError
from gecjury.core.records import from_record
from gecjury.core.textfiles import read_json, user_path
from gecjury.models.checkpoints import check_name, inside
from gecjury.models.origin import MANIFEST
from gecjury.refless.data.annotations import QUALITY, RATED
from gecjury.refless.nets.features import Linear

BUNDLE_FORMAT = "gecjury-some/1"
IMPARA_FORMAT = "gecjury-impara/1"

IMPARA_POOLED_FORMAT = "gecjury-impara/2"
"""Format for rankers that read means; versions that know only the first would misread them."""

IMPARA_LINEAR_FORMAT = "gecjury-impara/3"
"""Format for linear rankers, which have no network of their own."""

_T = TypeVar("_T")

_LONGEST_INPUT = 1_000_000  # word pieces
_LONGEST_NAME = 1000


@dataclass(frozen=True)
class RegressorFile:
    """A fine-tuned model of a SOME: its folder within the SOME's, and the aspects it rates."""

    path: str
    aspects: tuple[str, ...]


@dataclass(frozen=True)
class Kernel:
    """Kernel regressions of a SOME; see `gecjury.refless.nets.probe.Probe`.

    Encoders in the folder are named relative to it.
    """

    aspects: tuple[str, ...]
    encoder: str
    base: str
    paired: bool


@dataclass(frozen=True)
class SomeManifest:
    """The manifest of a SOME's folder.

    Attributes:
        scale: lowest and highest rating.
        max_length: longest input in word pieces.
        members: the fine-tuned models.
        features: for each aspect, the regression whose prediction is added; aspects without an
            entry use no features. Without members and kernel regressions, these predict alone.
        kernel: the kernel regressions.
        shares: for each aspect, the share of its kernel regression in the prediction, if members
            predict it as well; other aspects are predicted by only one of the two.
        language: code of the language trained on; `mul` for several.
        paired: True if features that predict alone read pairs for every aspect.
    """

    scale: tuple[float, ...]
    max_length: int
    members: tuple[RegressorFile, ...]
    features: Mapping[str, Linear] = field(default_factory=dict)
    kernel: Kernel | None = None
    shares: Mapping[str, float] = field(default_factory=dict)
    language: str = "en"
    paired: bool = False

    def __post_init__(self) -> None:
        rated = [aspect for member in self.members for aspect in member.aspects]
        named, fitted = set(rated), self._fitted
        shared = all(0 <= share <= 1 for share in self.shares.values())
        faults = {
            f"max_length is {self.max_length!s:.40}": not 0 < self.max_length <= _LONGEST_INPUT,
            f"scale is {self.scale}": not (
                len(self.scale) == 2
                and all(map(math.isfinite, self.scale))
                and self.scale[0] < self.scale[1]
            ),
            "no member": not self.members and self.kernel is None and not self.features,
            "two members have the same aspect": len(named) < len(rated),
            f"aspects are {', '.join(sorted(named | fitted)):.60}": named | fitted > {QUALITY}
            or not named | fitted <= {*RATED},
            f"shares are {dict(self.shares)!s:.80}, expected 0 to 1 for aspects of two parts": (
                not shared or not set(self.shares) <= named & fitted
            ),
            f"language is {self.language!r:.60}": not 0 < len(self.language) < 40,
        }
        for fault, holds in faults.items():
            if holds:
                raise ValueError(fault)

    @property
    def _fitted(self) -> set[str]:
        """The aspects that a regression predicts, on hidden states or on features alone."""
        if self.features_alone:
            return set(self.features)
        return set(self.kernel.aspects) if self.kernel else set()

    @property
    def aspects(self) -> set[str]:
        """The aspects that are predicted."""
        return self._fitted.union(*(member.aspects for member in self.members))

    @property
    def features_alone(self) -> bool:
        """True if the features predict alone, without an encoder."""
        return not self.members and self.kernel is None


@dataclass(frozen=True)
class DevScores:
    """The part of a SOME's manifest that is about its scores.

    Attributes:
        dev_scores: their mean and deviation on the dev part; empty in older manifests.
    """

    dev_scores: tuple[float, ...] = ()


@dataclass(frozen=True)
class ImparaManifest:
    """The manifest of an IMPARA's folder.

    Attributes:
        format: `IMPARA_FORMAT`, `IMPARA_POOLED_FORMAT` or `IMPARA_LINEAR_FORMAT`.
        encoder: name or folder of the encoder for similarities, which a linear ranker also reads.
        layer: the encoder's layer that a linear ranker reads.
        threshold: least similarity, unless another is named; None for the usual one, see `least`.
        language: as in `SomeManifest`.
    """

    format: str
    encoder: str
    layer: int = 0
    threshold: float | None = None
    language: str = "en"

    def __post_init__(self) -> None:
        if "\0" in self.encoder or not 0 < len(self.encoder) < _LONGEST_NAME:
            raise ValueError(f"encoder is {self.encoder!r:.60}")
        # A comparison with NaN is False.
        if self.threshold is not None and not -1 <= self.threshold <= 1:
            raise ValueError(f"threshold is {self.threshold}")
        if not 0 < len(self.language) < 40:
            raise ValueError(f"language is {self.language!r:.60}")

    @property
    def least(self) -> float | None:
        """Least similarity: the one recorded, or that of the papers: .9, none for IMPARA-GED."""
        if self.threshold is None and self.format == IMPARA_FORMAT:
            return 0.9
        return self.threshold


def folder_of(location: str, train: str) -> Path:
    """Return the path of a trained model; for a hub name, there is no folder at this path.

    Args:
        location: folder or hub name, as given on the command line.
        train: target and data of the `gecjury train` command that trains such a model.

    Raises:
        OptionError: neither a folder nor a model of the hub.
    """
    remedy = (
        f"train a model, e.g. with `gecjury train {train} -o my-model --recipe small`, or correct "
        "the path"
    )
    check_name(location, packaged=False, remedy=remedy)
    return user_path(location)


def read_manifest(folder: Path, kind: type[_T], formats: Sequence[str]) -> _T | None:
    """Return the manifest of a trained model's folder; None if there is none.

    Args:
        kind: `SomeManifest` or `ImparaManifest`.
        formats: formats that are accepted.

    Raises:
        InputError: the manifest is of another kind, or damaged.
    """
    # In a shared folder, the manifest could be a link to a file of the user's machine.
    path = inside(folder, MANIFEST)
    if not path.exists():
        return None
    record = read_json(path, "the manifest of a trained model; train or copy the model again")
    version = record.get("format") if isinstance(record, dict) else record
    # A JSON document that is only a string could equal the format.
    if version not in formats or not isinstance(record, dict):
        raise InputError(
            f"{path}: not a finished model of this kind and version (format {version!s:.60}, "
            f"expected {formats[0]!r}); to finish an interrupted training, run its command again; "
            "use a SOME with -m some:model=..., an IMPARA with -m impara:model=..."
        )
    try:
        return from_record(kind, record)
    except ValueError as error:
        raise InputError(f"{path}: damaged ({error}); train or copy the model again") from None
