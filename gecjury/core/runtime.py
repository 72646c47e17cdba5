"""How a run computes, never what: device, batches, workers, caches, progress.

Example:
    >>> from gecjury import Runtime
    >>> Runtime(device="cpu", batch_size=16).batch_size
    16
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType
from typing import TypeVar

__version__ = "0.1.0"

_T = TypeVar("_T")


def version_of(package: str) -> str | None:
    """Return the version of a package; None if it is not installed."""
    # Its import reads modules for mail.
    from importlib import metadata

    with suppress(metadata.PackageNotFoundError):
        return metadata.version(package)
    return None


@cache
def import_alone(*names: str, **hidden: object) -> Sequence[ModuleType]:
    """Import modules without running their packages, whose import may take far longer.

    Modules are imported normally if they need their packages after all, and if other threads run,
    which could see the empty packages that replace the real ones during the import.

    Args:
        names: dotted names, in the order in which the modules are imported.
        hidden: values that hide builtins in the last module, unless it is imported normally.

    Returns:
        The modules. Those written in Python are private copies that no other import sees.

    Raises:
        ImportError: one of them is not installed.
    """
    # A timer, such as that of a progress bar, does not import any of them.
    others = (t for t in threading.enumerate() if t is not threading.current_thread())
    if all(isinstance(thread, threading.Timer) for thread in others):
        with suppress(ImportError):
            return _imported_alone(names, hidden)
    return [import_module(name) for name in names]


def _imported_alone(names: Sequence[str], hidden: Mapping[str, object]) -> list[ModuleType]:
    before = set(sys.modules)
    stand_ins = []
    try:
        for name in names:
            parents = name.split(".")[:-1]
            for depth, last in enumerate(parents):
                package = ModuleType(".".join(parents[: depth + 1]))
                if package.__name__ in sys.modules:
                    continue
                if depth:
                    above = sys.modules[".".join(parents[:depth])]
                    package.__path__ = [f"{folder}/{last}" for folder in above.__path__]
                elif (spec := find_spec(last)) and spec.submodule_search_locations:
                    package.__path__ = list(spec.submodule_search_locations)
                else:
                    raise ModuleNotFoundError(f"No module named {last!r}", name=last)
                sys.modules[package.__name__] = package
                stand_ins.append(package)
        if not hidden:
            return [import_module(name) for name in names]
        modules = [import_module(name) for name in names[:-1]]
        spec = find_spec(names[-1])
        if spec is None or spec.loader is None:
            raise ModuleNotFoundError(f"No module named {names[-1]!r}", name=names[-1])
        changed = module_from_spec(spec)
        vars(changed).update(hidden)
        spec.loader.exec_module(changed)
        return [*modules, changed]
    finally:
        roots = tuple(f"{package.__name__}." for package in stand_ins)
        for name in sys.modules.keys() - before:
            # Modules without their packages are removed, so that later imports work as usual.
            if sys.modules[name] in stand_ins or name.startswith(roots):
                del sys.modules[name]


class Bar:
    """The progress of one task; this one shows nothing."""

    def advance(self, steps: float = 1) -> None:
        """Report steps done."""

    def note(self, text: str) -> None:
        """Show a remark: one line next to the bar; several above it, on a terminal only."""


class Progress:
    """The receiver of progress reports of long work; Python's interface is silent by default."""

    def task(self, description: str, total: float | None = None) -> AbstractContextManager[Bar]:
        """Open a bar; it closes with the context."""
        return nullcontext(Bar())


def _ignored(message: str) -> None:
    """Do nothing with a message: the default of the Python interface."""


@dataclass
class Spending:
    """The cost of a run's requests, over all its scorers; the only mutable part of a runtime.

    Attributes:
        stores: for each store of replies, the cost of the replies, and the most that requests
            without a reply may have cost; both include earlier runs with the store.
    """

    stores: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def known(self) -> float:
        """The cost of the replies."""
        return sum(known for known, _ in self.stores.values())

    @property
    def unknown(self) -> float:
        """The most that requests without a reply may have cost."""
        return sum(unknown for _, unknown in self.stores.values())


@dataclass(frozen=True)
class Runtime:
    """Settings that may change the speed, cost or place of a run, but never a score.

    Attributes:
        device: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        batch_size: the most texts that a model reads at once; None for as many as memory holds.
        workers: processes for work that can be split (1 starts none).
        concurrency: simultaneous requests of scorers that query a server.
        data: folder with benchmark data; None for the default places.
        cache: folder of disk caches; None for that of `$GECJURY_CACHE`, else the user's.
        use_cache: True if disk caches are read and written at all.
        dry_run: count the requests and their cost, and send nothing.
        max_cost: stop before the cost exceeds this (in the price table's currency), with that of
            earlier runs with the same stores of replies.
        api_key_env: environment variable with the key for servers that are not OpenAI's; None sends
            no key.
        batch: send requests as batches, which cost less and may take a day.
        scores: folder of score files, which scorers composed of other scorers read and write.
        progress: receiver of progress reports.
        tell: called with messages for the user that cannot wait for the result.
        spending: the cost so far, which `max_cost` limits.
    """

    device: str = "auto"
    batch_size: int | None = None
    workers: int = 1
    concurrency: int = 32
    data: Path | None = None
    cache: Path | None = None
    use_cache: bool = True
    dry_run: bool = False
    max_cost: float | None = None
    api_key_env: str | None = None
    batch: bool = False
    scores: Path | None = None
    progress: Progress = field(default_factory=Progress)
    tell: Callable[[str], None] = field(default=_ignored, compare=False)
    spending: Spending = field(default_factory=Spending, compare=False)

    def cache_folder(self, *parts: str) -> Path:
        """Return the folder for a disk cache, without creating it."""
        root = self.cache or os.environ.get("GECJURY_CACHE")
        if not root:
            import platformdirs

            root = platformdirs.user_cache_dir("gecjury", appauthor=False)
        return Path(root, *parts)

    def track(
        self, items: Iterable[_T], description: str, total: float | None = None
    ) -> Iterator[_T]:
        """Yield the items, reporting each as one step."""
        with self.progress.task(description, total) as bar:
            for item in items:
                yield item
                bar.advance()


@contextmanager
def silenced(*handles: int) -> Iterator[None]:
    """Discard what C++ and Rust libraries write to the process's output streams.

    Args:
        *handles: 1 for stdout, 2 for stderr.
    """
    with ExitStack() as stack:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)
        for handle in handles:
            with suppress(OSError):  # there is none
                kept = os.dup(handle)
                stack.callback(os.close, kept)
                stack.callback(os.dup2, kept, handle)
                os.dup2(nowhere, handle)
        yield
