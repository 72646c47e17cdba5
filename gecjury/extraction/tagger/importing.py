"""The packages behind edits: their releases, and import of spaCy without unused parts.

A plain `import spacy` takes seconds where torch is installed: thinc, on which spaCy runs its
networks, imports torch to check whether it is available. It also imports spaCy's own command line,
with web clients. `import_spacy` skips both. Torch can still be imported afterwards, in any order
and thread: thinc is updated at that moment. `spacy.cli` and `spacy.info` are imported when they are
first used.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import importlib.util
import json
import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib import metadata
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from gecjury.core.errors import MissingExtraError, OptionError, install_hint
from gecjury.core.runtime import import_alone

_SPACYS_PIPES = {
    "attribute_ruler",
    "entity_ruler",
    "lemmatizer",
    "morphologizer",
    "ner",
    "parser",
    "sentencizer",
    "senter",
    "span_ruler",
    "tagger",
    "tok2vec",
    "trainable_lemmatizer",
}


# A score asks several times, and each answer is read from disk.
@cache
def installed_version(package: str) -> str:
    """Return the version of a package.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        raise MissingExtraError(
            f"edits need {package}, which is not installed: {install_hint('edits')}"
        ) from None


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
    numbers: Mapping[str, int] = import_alone("spacy.symbols")[0].IDS
    return numbers


def import_spacy(torch: bool = False) -> Any:
    """Import spaCy and return the module, or the one that is already imported.

    Args:
        torch: True if a pipeline will use torch, which is then imported if it is installed.

    Raises:
        ImportError: spaCy is not installed.
    """
    if "spacy" not in sys.modules:
        with no_collection():
            if _may_be_hidden():
                with _HIDDEN.here():
                    importlib.import_module("thinc.compat")
            _without_command_line()
    if torch:
        with contextlib.suppress(ImportError):
            importlib.import_module("torch")
    return importlib.import_module("spacy")


def needs_torch(name: str) -> bool:
    """Return True if the pipeline of a spaCy model may run on torch.

    Args:
        name: name of an installed package, or a folder.

    Returns:
        False only if the model's configuration is found and names nothing but spaCy's own parts.
    """
    folder = Path(name)
    if not folder.is_dir():
        spec = None
        with contextlib.suppress(ImportError, ValueError):
            spec = importlib.util.find_spec(name)
        if spec is None or not spec.origin:
            return True
        folder = Path(spec.origin).parent
    files = [*folder.glob("config.cfg"), *folder.glob("*/config.cfg")]
    try:
        return not files or any(_names_others(file.read_text(encoding="utf-8")) for file in files)
    except (OSError, ValueError):
        return True


def _names_others(config: str) -> bool:
    """Return True if a pipeline has parts other than spaCy's own that do without torch."""
    section = ""
    for line in config.splitlines():
        if line.startswith("["):
            section = line.strip("[] ").partition(".")[0]
        key, _, text = (part.strip() for part in line.partition("="))
        if section not in ("nlp", "components"):
            continue
        if key == "factory" and json.loads(text) not in _SPACYS_PIPES:
            return True
        # A function is named on its own line or within a value.
        functions = re.findall(r'@\w+"?\s*[=:]\s*"([^"]*)"', line)
        if any(not name.startswith("spacy.") or "torch" in name.lower() for name in functions):
            return True
    return False


@contextlib.contextmanager
def no_entry_points() -> Iterator[None]:
    """Keep other packages' extensions of spaCy out of this thread's imports.

    spaCy looks through them hundreds of times while it creates a pipeline, and imports them all,
    whatever the pipeline needs.
    """
    catalogue: Any = importlib.import_module("catalogue")
    whole = catalogue.AVAILABLE_ENTRY_POINTS
    catalogue.AVAILABLE_ENTRY_POINTS = _NoneHere(whole)
    try:
        yield
    finally:
        catalogue.AVAILABLE_ENTRY_POINTS = whole


class _NoneHere:
    """Entry points that are empty in one thread."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self._thread = threading.get_ident()

    def select(self, group: str) -> Sequence[Any]:
        """Return the entry points of a group."""
        if threading.get_ident() == self._thread:
            return ()
        points: Sequence[Any] = self._whole.select(group=group)
        return points


class _Torch(MetaPathFinder):
    """A finder that hides torch from one thread, and updates thinc when torch is imported later."""

    def __init__(self) -> None:
        self._thread: int | None = None

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Hide torch from this thread; afterwards wait for threads that import it."""
        self._thread = threading.get_ident()
        sys.meta_path.insert(0, self)
        try:
            yield
        except BaseException:
            sys.meta_path.remove(self)
            raise
        finally:
            self._thread = None

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: ModuleType | None = None,
    ) -> ModuleSpec | None:
        """Return the module's own specification; thinc is updated after its execution."""
        if fullname != "torch":
            return None
        if threading.get_ident() == self._thread:
            raise ModuleNotFoundError("torch is hidden while spaCy is imported", name=fullname)
        for finder in list(sys.meta_path):
            if finder is not self and hasattr(finder, "find_spec"):
                spec = finder.find_spec(fullname, path, target)
                if spec is not None:
                    self._watch(spec.loader)
                    return spec
        return None

    def _watch(self, loader: Any) -> None:
        execute: Callable[[ModuleType], None] | None = getattr(loader, "exec_module", None)
        if execute is None:
            return

        def execute_and_tell(module: ModuleType, execute: Any = execute) -> None:
            del loader.exec_module
            execute(module)
            thinc_learns_of_torch()
            if self in sys.meta_path:
                sys.meta_path.remove(self)

        # A loader that does not accept attributes is left alone: torch still works.
        with contextlib.suppress(AttributeError):
            loader.exec_module = execute_and_tell


_HIDDEN = _Torch()


def thinc_learns_of_torch() -> None:
    """Make thinc look for torch again, and update the names that its modules copied before.

    This is enough, since thinc's functions read these names when they are called, not on import.
    """
    old = sys.modules.get("thinc.compat")
    spec = getattr(old, "__spec__", None)
    loader = getattr(spec, "loader", None)
    if old is None or spec is None or loader is None or vars(old).get("has_torch"):
        return
    new = importlib.util.module_from_spec(spec)
    loader.exec_module(new)
    names = [
        name
        for name in vars(new)
        if name in ("torch", "torch_version", "has_gpu") or name.startswith("has_torch")
    ]
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in ("thinc", "spacy") and isinstance(module, ModuleType):
            held = vars(module)
            held.update({key: getattr(new, key) for key in names if key in held})


def _may_be_hidden() -> bool:
    """Return True if thinc has not looked for torch yet, and spaCy could not run on a GPU."""
    if "thinc" in sys.modules or "torch" in sys.modules or sys.platform == "darwin":
        return False
    return importlib.util.find_spec("cupy") is None


def _without_command_line() -> None:
    """Import spaCy; its command line is imported only when asked for."""
    stand_in, info = ModuleType("spacy.cli"), ModuleType("spacy.cli.info")
    stand_in.__path__ = []
    vars(info)["info"] = _info
    sys.modules |= {"spacy.cli": stand_in, "spacy.cli.info": info}
    try:
        with contextlib.suppress(ImportError):
            vars(importlib.import_module("spacy")).setdefault("__getattr__", _attribute)
            return
    finally:
        for module in (stand_in, info):
            if sys.modules.get(module.__name__) is module:
                del sys.modules[module.__name__]
    # spaCy needs more of its command line than is known here, or is not installed: this raises.
    importlib.import_module("spacy")


def _info(*arguments: Any, **options: Any) -> Any:
    """Print and return spaCy's description of this installation or of a model."""
    return importlib.import_module("spacy.cli.info").info(*arguments, **options)


def _attribute(name: str) -> Any:
    if name == "cli":
        return importlib.import_module("spacy.cli")
    raise AttributeError(f"module 'spacy' has no attribute {name!r}")


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Pause garbage collection: an import creates no garbage, and each run visits all objects."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            # Imported objects stay: mark them as old, so that later runs do not start with them.
            gc.freeze()
            gc.unfreeze()
        if was:
            gc.enable()
