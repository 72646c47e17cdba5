"""spaCy imported without what the embedded tagger never calls, and nothing lost to who calls it.

A plain `import spacy` takes seconds where torch is installed: thinc, which spaCy runs its networks
on, imports it to see whether it is there. It also imports spaCy's own command line, with clients
for the web. `import_spacy` leaves both out. Whoever imports torch afterwards, in whatever order and
thread, has it as ever: thinc's knowledge of it is brought up to date in that moment. `spacy.cli`
and `spacy.info` are imported when they are first asked for.
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
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

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


def import_spacy(torch: bool = False) -> Any:
    """The module `spacy`, as it is if somebody imported it before.

    Args:
        torch: whether a pipeline will want torch, which is then imported where it is installed.

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
    """Whether the pipeline of a spaCy model may run on torch.

    Args:
        name: of an installed package, or a folder.

    Returns:
        False only if the model's configuration is found and names nothing but spaCy's own parts.
    """
    folder = Path(name)
    if not folder.is_dir():
        try:
            spec = importlib.util.find_spec(name)
        except (ImportError, ValueError):
            return True
        if spec is None or not spec.origin:
            return True
        folder = Path(spec.origin).parent
    files = [*folder.glob("config.cfg"), *folder.glob("*/config.cfg")]
    try:
        return not files or any(_names_others(file.read_text(encoding="utf-8")) for file in files)
    except (OSError, ValueError):
        return True


def _names_others(config: str) -> bool:
    """Whether a pipeline is made of anything but spaCy's own parts that do without torch."""
    section = ""
    for line in config.splitlines():
        if line.startswith("["):
            section = line.strip("[] ").partition(".")[0]
        key, _, text = (part.strip() for part in line.partition("="))
        if section not in ("nlp", "components"):
            continue
        if key == "factory" and json.loads(text) not in _SPACYS_PIPES:
            return True
        # A function stands on a line of its own, or within a value.
        functions = re.findall(r'@\w+"?\s*[=:]\s*"([^"]*)"', line)
        if any(not name.startswith("spacy.") or "torch" in name.lower() for name in functions):
            return True
    return False


@contextlib.contextmanager
def no_entry_points() -> Iterator[None]:
    """Keep other packages' extensions of spaCy out of what this thread does meanwhile.

    spaCy looks through them hundreds of times while it makes a pipeline, and imports them all,
    whatever the pipeline is made of.
    """
    catalogue: Any = importlib.import_module("catalogue")
    whole = catalogue.AVAILABLE_ENTRY_POINTS
    catalogue.AVAILABLE_ENTRY_POINTS = _NoneHere(whole)
    try:
        yield
    finally:
        catalogue.AVAILABLE_ENTRY_POINTS = whole


class _NoneHere:
    """Entry points of other threads."""

    def __init__(self, whole: Any) -> None:
        self._whole = whole
        self._thread = threading.get_ident()

    def select(self, group: str) -> Sequence[Any]:
        """Those of a group."""
        if threading.get_ident() == self._thread:
            return ()
        found: Sequence[Any] = self._whole.select(group=group)
        return found


class _Torch(MetaPathFinder):
    """Hides torch from one thread, and later tells thinc when it is imported."""

    def __init__(self) -> None:
        self._thread: int | None = None

    @contextlib.contextmanager
    def here(self) -> Iterator[None]:
        """Hide it from this thread; afterwards wait for whoever imports it."""
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
        """The module's own specification, after whose execution thinc is told."""
        if fullname != "torch":
            return None
        if threading.get_ident() == self._thread:
            raise ModuleNotFoundError("torch is not looked for now", name=fullname)
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

        # A loader of a kind that takes no attribute is left alone: torch works all the same.
        with contextlib.suppress(AttributeError):
            loader.exec_module = execute_and_tell


_HIDDEN = _Torch()


def thinc_learns_of_torch() -> None:
    """Have thinc look for torch again, and correct what its modules took over from the first look.

    thinc decides nothing of lasting effect by it while it is imported: its functions read these
    names when they are called.
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
            held.update({each: getattr(new, each) for each in names if each in held})


def _may_be_hidden() -> bool:
    """Whether thinc is still to look for torch, and spaCy could not run on a GPU by itself."""
    if "thinc" in sys.modules or "torch" in sys.modules or sys.platform == "darwin":
        return False
    return importlib.util.find_spec("cupy") is None


def _without_command_line() -> None:
    """Import spaCy, its command line only once somebody asks for it."""
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
    # It takes more of its command line than is known here, or is not installed, which is told now.
    importlib.import_module("spacy")


def _info(*arguments: Any, **options: Any) -> Any:
    """Print and return what spaCy says of this installation or of a model."""
    return importlib.import_module("spacy.cli.info").info(*arguments, **options)


def _attribute(name: str) -> Any:
    if name == "cli":
        return importlib.import_module("spacy.cli")
    raise AttributeError(f"module 'spacy' has no attribute {name!r}")


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """No search for garbage: an import makes none, and each search walks all there is."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            # What was imported stays: let it count as old, so that no search begins with all of it.
            gc.freeze()
            gc.unfreeze()
        if was:
            gc.enable()
