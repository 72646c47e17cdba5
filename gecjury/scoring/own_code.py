"""Metrics in the user's own code: a class of scorers, or a function of one sentence.

`mymetric.py:name` names either of them by its file, on the command line and in Python; in a
notebook or script the class or function itself can be passed. Signatures contain a digest of the
code, so that scores from before a change are not reused.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from gecjury.core.errors import InputError, OptionError, failure_in, nearest, raised_by_code
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import user_path
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.scorer import MeanScorer, Scorer
from gecjury.scoring.scores import Statistics
from gecjury.scoring.signature import OWN_MODULES, file_digest, file_of, is_own_code


@dataclass(frozen=True)
class FunctionScorer(MeanScorer):
    """A metric that is a function of a source, a hypothesis and, optionally, references."""

    function: ClassVar[Callable[..., Any]]

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the results of the function, systems × sentences; NaN for None.

        Raises:
            InputError: the function fails, or returns something that is not a number.
        """
        values = np.full((len(corpus.systems), len(corpus)), np.nan)
        for system, (name, version) in enumerate(corpus.systems.items()):
            rows = zip(corpus.sources, version.lines, strict=True)
            for row, texts in enumerate(runtime.track(rows, self.name, len(corpus))):
                references = [reference.lines[row] for reference in corpus.references]
                arguments = (*texts, references) if self.needs else texts
                try:
                    value = type(self).function(*arguments)
                    values[system, row] = math.nan if value is None else float(value)
                    if math.isinf(values[system, row]):
                        raise ValueError("returns an infinite number")
                except BaseException as error:  # the user's code may raise anything
                    if not raised_by_code(error):
                        raise
                    said = failure_in(type(self).function, error)
                    raise InputError(
                        f"{self.name}: fails on sentence {row + 1} of {name} ({said}); expected a "
                        "number, or None where there is no score"
                    ) from error
        return Statistics(values)


@lru_cache(maxsize=256)
def class_of_function(function: Callable[..., Any], name: str) -> type[Scorer]:
    """Return the metric class for a function.

    The metric reads references if the function has three arguments without defaults, or one called
    `references`; with two arguments it reads none.

    Args:
        function: returns a number for source, hypothesis and references.

    Raises:
        OptionError: it has other arguments.
    """
    places = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    taken = [
        parameter
        for parameter in inspect.signature(function).parameters.values()
        if parameter.kind in places
        and (parameter.default is inspect.Parameter.empty or parameter.name == "references")
    ]
    if len(taken) not in (2, 3):
        raise OptionError(
            f"{name}: takes {len(taken)} argument{'s' * (len(taken) != 1)}; a metric is a function "
            "of source, hypothesis and, if it reads them, references"
        )
    # References are the third argument, and the only other data that a function can get.
    compared = len(taken) == 3
    said = inspect.getdoc(function) or "a function of one sentence"
    members = {
        "__module__": str(function.__module__),
        "__doc__": function.__doc__,
        "name": name,
        "family": "refbased" if compared else "refless",
        "summary": said.splitlines()[0].rstrip("."),
        "needs": frozenset({"references"} if compared else ()),
        "function": staticmethod(function),
    }
    return dataclass(frozen=True)(type(name, (FunctionScorer,), members))


def object_in_file(name: str) -> object:
    """Return the class or function that `FILE.py:NAME` names.

    Raises:
        OptionError: there is no such file, it cannot be imported, or it has nothing of that name.
    """
    file, _, attribute = name.rpartition(":")
    path = user_path(file).resolve()
    if not path.is_file():
        raise OptionError(f"{name}: there is no file {file}; expected FILE.py:NAME")
    main = sys.modules["__main__"]
    if path == file_of(main):
        # The running script is not imported again as another module.
        module = main
    else:
        try:
            # Results go to stdout, so what the code prints goes to stderr.
            with redirect_stdout(sys.stderr):
                module = _imported(path, file_digest(path))
        except BaseException as error:  # the user's code may raise anything
            if not raised_by_code(error):
                raise
            raise OptionError(
                f"{name}: {file} cannot be imported ({failure_in(str(path), error)})"
            ) from error
    if not hasattr(module, attribute):
        names = [key for key, value in vars(module).items() if callable(value)]
        raise OptionError(f"{name}: {file} has no {attribute}: {nearest(attribute, names)}")
    return getattr(module, attribute)


@lru_cache(maxsize=256)
def _imported(path: Path, digest: str) -> ModuleType:
    """Import a file; it is imported again if it has changed."""
    name = f"{OWN_MODULES}{hashlib.sha256(str(path).encode()).hexdigest()[:12]}_{digest[:12]}"
    spec = spec_from_file_location(name, path)
    if spec is None:
        raise ImportError("it is not a Python file")
    # Modules next to the file can be imported, but do not hide installed ones.
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = sys.modules[name] = module_from_spec(spec)
    # Python's own import would reuse the bytecode of an earlier version of the same size and
    # second.
    exec(compile(path.read_bytes(), path, "exec"), vars(module))
    return module


def name_elsewhere(scorer: Scorer) -> str:
    """Return the name by which another process loads a metric.

    Raises:
        OptionError: the code is not in a file.
    """
    kind = type(scorer)
    if not is_own_code(kind):
        return scorer.name
    file = file_of(sys.modules.get(kind.__module__))
    if file is None:
        raise OptionError(
            f"{scorer.name}: its code is not in a file, from which other processes could load it; "
            f"write it to one and name it, e.g. mymetric.py:{kind.__name__}"
        )
    return f"{file}:{kind.__name__}"
