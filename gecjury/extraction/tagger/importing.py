"""The packages behind edits: their releases, and the import of spaCy without torch.

A plain `import spacy` takes seconds where torch is installed: thinc, on which spaCy runs its
networks, imports torch to check whether it is available.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from types import ModuleType, SimpleNamespace
from typing import Any

from gecjury.core.errors import MissingExtraError, OptionError, install_hint
from gecjury.core.runtime import import_alone, version_of


# A score asks several times, and each answer is read from disk.
@cache
def installed_version(package: str) -> str:
    """Return the version of a package.

    Raises:
        MissingExtraError: it is not installed.
    """
    if version := version_of(package):
        return version
    raise MissingExtraError(
        f"edits need {package}, which is not installed: {install_hint('edits')}"
    )


def tested_version(package: str, tested: str, version: str) -> str:
    """Return the version of a package if it belongs to the tested release, `major.minor`.

    Raises:
        OptionError: it belongs to another release.
    """
    if not version.startswith(f"{tested}."):
        raise OptionError(
            f"{package} {version} is outside the tested range {tested}.*, and another release may "
            f"give different edits: pip install '{package.lower()}=={tested}.*'"
        )
    return version


@cache
def symbols() -> Mapping[str, int]:
    """Return the numbers that spaCy gives to parts of speech and other names, without spaCy."""
    return dict(import_alone("spacy.symbols")[0].IDS)


def import_spacy(torch: bool) -> ModuleType:
    """Import spaCy and return the module.

    Args:
        torch: True if a pipeline may use torch, which is then imported if it is installed.

    Raises:
        ImportError: spaCy is not installed.
    """
    if torch:
        _let_thinc_use_torch()
    elif not {"thinc", "torch"} & sys.modules.keys():
        modules: dict[str, Any] = sys.modules
        modules["torch"] = None  # importing it fails, as if it were not installed
        try:
            importlib.import_module("thinc.compat")
        finally:
            del modules["torch"]
    return importlib.import_module("spacy")


def _let_thinc_use_torch() -> None:
    """Make thinc look for torch again if it was imported without.

    It is enough to update the names that its modules have copied, since thinc's functions read
    them when they are called.
    """
    compat = sys.modules.get("thinc.compat")
    if compat is None or vars(compat)["has_torch"]:
        return
    old = dict(vars(compat))
    importlib.reload(compat)
    names = [name for name in old if name == "has_gpu" or "torch" in name]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("thinc", "spacy") and isinstance(module, ModuleType):
            vars(module).update({n: vars(compat)[n] for n in names if n in vars(module)})


@contextlib.contextmanager
def no_entry_points() -> Iterator[None]:
    """Keep other packages' extensions of spaCy from being imported.

    spaCy imports them all while it creates a pipeline, whatever the pipeline needs.
    """
    catalogue: Any = importlib.import_module("catalogue")
    whole = catalogue.AVAILABLE_ENTRY_POINTS
    catalogue.AVAILABLE_ENTRY_POINTS = SimpleNamespace(select=lambda group: ())
    try:
        yield
    finally:
        catalogue.AVAILABLE_ENTRY_POINTS = whole
