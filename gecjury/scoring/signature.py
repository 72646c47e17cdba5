"""Signatures of scores: settings, versions, references and data, as one line or as JSON."""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from types import ModuleType

from gecjury.core.records import from_record
from gecjury.core.runtime import __version__, version_of

Setting = str | int | float | bool | None


@dataclass(frozen=True)
class Signature:
    """A signature of scores; tables with equal signatures hold comparable scores.

    Attributes:
        metric: registered name.
        family: `refbased`, `refless`, `judges`, `jury` or `scores`.
        settings: every setting in effect, defaults included.
        version: the scorer's behaviour version, which is raised when scores change.
        references: set and number of the references ("official:2"), empty if none were read.
        data: fingerprints of everything read besides the hypotheses (sources, references, ...).
        packages: versions of the packages that can change a score.
        extra: facts that the scorer adds, e.g. a tagger or the hash of a checkpoint or prompt.
        changed: the settings that differ from the defaults, for short names in tables.
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
        """Return a line: `green|n=4,unit=word,beta=2.0|v2|refs=official:2|data=…|gecjury=0.1.0`."""
        parts = [self.own]
        if self.references:
            parts.append(f"refs={self.references}")
        parts += [f"{key}={value}" for key, value in self.extra.items()]
        parts.append("data=" + "+".join(value[:8] for value in self.data.values()))
        parts += [f"{key}={value}" for key, value in self.packages.items()]
        return "|".join(parts)

    @property
    def own(self) -> str:
        """The part that only the metric determines: `green|n=4,unit=word,beta=2.0|v2`."""
        settings = ",".join(f"{key}={_plain(value)}" for key, value in self.settings.items())
        return f"{self.metric}|{settings or '-'}|v{self.version}"

    @property
    def label(self) -> str:
        """Name and non-default settings, as on the command line: `green:beta=1`."""
        settings = ",".join(f"{key}={_plain(value)}" for key, value in self.changed.items())
        return f"{self.metric}:{settings}" if settings else self.metric

    @property
    def key(self) -> str:
        """Hash of everything that determines a score except the hypotheses: 16 hexadecimal digits.

        gecjury's own version is excluded, since `version` shows whether a scorer's behaviour
        changed; the versions of other packages count.
        """
        # Short names for tables add nothing to the settings.
        record = self.to_json()
        record["packages"] = {k: v for k, v in self.packages.items() if k != "gecjury"}
        del record["changed"]
        text = json.dumps(record, sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def to_json(self) -> dict[str, object]:
        """Return the signature as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, record: Mapping[str, object]) -> Signature:
        """Return the signature that `to_json` wrote.

        Raises:
            ValueError: the record is not a signature; names the value and what is expected.
        """
        return from_record(cls, dict(record))


def _plain(value: Setting) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value).replace(",", "\\,")


def package_versions(names: tuple[str, ...]) -> dict[str, str]:
    """Return installed versions of gecjury and of the distributions named, or `missing`."""
    return {"gecjury": __version__} | {name: version_of(name) or "missing" for name in names}


OWN_MODULES = "gecjury_own_"
"""The prefix of the names of modules that are imported from a user's file."""


def is_own_code(kind: type) -> bool:
    """Return whether a metric is the user's own code rather than that of an installed package."""
    own_module = kind.__module__ == "__main__" or kind.__module__.startswith(OWN_MODULES)
    return own_module or "function" in vars(kind)


def file_of(module: ModuleType | None) -> Path | None:
    """Return a module's file; None in a notebook or at a prompt."""
    file = getattr(module, "__file__", None)
    return Path(file).resolve() if file and Path(file).is_file() else None


def file_digest(path: Path) -> str:
    """Return the first 12 hexadecimal digits of a file's SHA-256."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:12]


@lru_cache(maxsize=256)
def code_digest(kind: type) -> str:
    """Return a digest of the user's own code behind a metric; empty for a package's metric."""
    if not is_own_code(kind):
        return ""
    if kind.__module__.startswith(OWN_MODULES):
        # The digest of the file as imported, even if the file has changed since.
        return kind.__module__.rpartition("_")[2]
    file = file_of(sys.modules.get(kind.__module__))
    if file is not None:
        return file_digest(file)
    members = [getattr(value, "__func__", value) for value in vars(kind).values()]
    try:
        code = "\n".join(inspect.getsource(f) for f in members if inspect.isfunction(f))
    except OSError:
        # Code that cannot be read gets a unique digest, so that stored scores are never reused.
        return uuid.uuid4().hex[:12]
    return hashlib.sha256(code.encode()).hexdigest()[:12]
