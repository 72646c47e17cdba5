"""What made a score: settings, versions, references and data, as one line or as JSON."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import metadata

from gecjury.records import from_record
from gecjury.runtime import __version__

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class Signature:
    """Two tables with equal signatures hold comparable scores.

    Attributes:
        metric: registered name.
        family: `refbased`, `refless`, `judges`, `jury` or `scores`.
        settings: every setting in effect, defaults included.
        version: the scorer's behaviour version; it rises when scores change.
        references: how many references of which set ("official:2"), empty if none were read.
        data: fingerprints of what was read besides the hypotheses (sources, references, ...).
        packages: versions of the packages that can move a score.
        extra: what the scorer adds, e.g. a tagger or the hash of a checkpoint or prompt.
        changed: the settings that are not the defaults, for short names in tables.
    """

    metric: str
    family: str
    settings: Mapping[str, Setting]
    version: int = 1
    references: str = ""
    data: Mapping[str, str] = field(default_factory=dict)
    packages: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, str] = field(default_factory=dict)
    changed: Mapping[str, Setting] = field(default_factory=dict, compare=False)

    def __str__(self) -> str:
        """One line: `green|n=4,unit=word,beta=2.0|v1|refs=official:2|data=…|gecjury=0.1.0`."""
        parts = [self.own]
        if self.references:
            parts.append(f"refs={self.references}")
        parts += [f"{key}={value}" for key, value in self.extra.items()]
        parts.append("data=" + "+".join(value[:8] for value in self.data.values()))
        parts += [f"{key}={value}" for key, value in self.packages.items()]
        return "|".join(parts)

    @property
    def own(self) -> str:
        """What the metric alone decides, whatever is scored: `green|n=4,unit=word,beta=2.0|v1`."""
        settings = ",".join(f"{key}={_plain(value)}" for key, value in self.settings.items())
        return f"{self.metric}|{settings or '-'}|v{self.version}"

    @property
    def label(self) -> str:
        """Name with the settings that are not the defaults, as a user types it: `green:beta=1`."""
        settings = ",".join(f"{key}={_plain(value)}" for key, value in self.changed.items())
        return f"{self.metric}:{settings}" if settings else self.metric

    @property
    def key(self) -> str:
        """Hash of all that decides a score except the hypotheses: 16 hexadecimal digits.

        gecjury's own version is left out, since `version` says whether a scorer's behaviour
        changed; other packages' versions count.
        """
        record = self.to_json()
        record["packages"] = {k: v for k, v in self.packages.items() if k != "gecjury"}
        del record["changed"]
        text = json.dumps(record, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, object]:
        """The signature as plain JSON values."""
        return {
            "metric": self.metric,
            "family": self.family,
            "settings": dict(self.settings),
            "version": self.version,
            "references": self.references,
            "data": dict(self.data),
            "packages": dict(self.packages),
            "extra": dict(self.extra),
            "changed": dict(self.changed),
        }

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Signature:
        """The inverse of `to_json`.

        Raises:
            ValueError: the record is no signature; names the value and what is expected.
        """
        return from_record(cls, dict(record))


def _plain(value: Setting) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace(",", "\\,")


def package_versions(names: tuple[str, ...]) -> dict[str, str]:
    """Installed versions of gecjury and the distributions named (`missing` if not installed)."""
    versions = {"gecjury": __version__}
    for name in names:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "missing"
    return versions
