"""The table of metrics, from name to location; modules are imported only when needed.

Other packages add metrics with an entry point of the group `gecjury.metrics`:

    [project.entry-points."gecjury.metrics"]
    foo = "their_package.foo:Foo"

A metric outside packages is a class of scorers or a function of one sentence. It is named by its
file, `mymetric.py:name`, on the command line and in Python; in a notebook or script the class or
function itself can be passed. Signatures contain a digest of the code, so that scores from before a
change are not reused.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from gecjury.core.errors import (
    FAMILIES,
    GecjuryError,
    InputError,
    MissingExtraError,
    OptionError,
    failure_in,
    family_of,
    install_hint,
    nearest,
    raised_by_code,
)
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import user_path
from gecjury.core.wording import EscapedStderr
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.options import is_own_file, metric_options, nested, parse
from gecjury.scoring.scorer import MeanScorer, Scorer
from gecjury.scoring.scores import Statistics
from gecjury.scoring.signature import OWN_MODULES, file_digest, file_of, is_own_code

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Metric = str | Scorer | type[Scorer] | Callable[..., float | None]
"""A metric by name with options as on the command line, loaded, or as a class or function."""

# The group of entry points in which other packages declare their metrics.
GROUP = "gecjury.metrics"

# A new metric needs one file in its family's package and one line here.
METRICS: Mapping[str, str] = {
    "asano": "gecjury.refless.asano:Asano",
    "changes": "gecjury.refless.changes:Changes",
    "cleme": "gecjury.refbased.cleme.metric:CLEME",
    "cleme2": "gecjury.refbased.cleme.metric:CLEME2",
    "dsgram": "gecjury.judges.dsgram:DSGram",
    "edit-verdict": "gecjury.judges.edit_verdict:EditVerdict",
    "errant": "gecjury.refbased.errant:ERRANT",
    "fluency": "gecjury.refless.fluency:Fluency",
    "gleu": "gecjury.refbased.gleu:GLEU",
    "gleu-official": "gecjury.refbased.gleu:OfficialGLEU",
    "gotoscorer": "gecjury.refbased.gotoscorer:GoToScorer",
    "green": "gecjury.refbased.green:GREEN",
    "i-measure": "gecjury.refbased.imeasure.metric:IMeasure",
    "impara": "gecjury.refless.impara:IMPARA",
    "jury": "gecjury.jury.metric:Jury",
    "llm-e": "gecjury.judges.llm:LLME",
    "llm-s": "gecjury.judges.llm:LLMS",
    "m2": "gecjury.refbased.m2.metric:M2",
    "post-edit": "gecjury.judges.post_edit:PostEdit",
    "pt-errant": "gecjury.refbased.pt_errant:PTERRANT",
    "pt-m2": "gecjury.refbased.pt_m2:PTM2",
    "scores": "gecjury.scoring.given_scores:GivenScores",
    "scribendi": "gecjury.refless.scribendi:Scribendi",
    "sent-errant": "gecjury.refbased.errant:SentenceERRANT",
    "sentm2": "gecjury.refbased.m2.metric:SentenceM2",
    "some": "gecjury.refless.some:SOME",
    "uot-errant": "gecjury.refbased.uot_errant.metric:UOTERRANT",
    "valid": "gecjury.judges.valid:Valid",
}


@dataclass(frozen=True)
class Outside:
    """Metrics that other installed packages declare.

    Attributes:
        metrics: entry points by name, none of them imported yet.
        refused: messages about metrics that cannot be used because of their names, one line each.
    """

    metrics: Mapping[str, EntryPoint]
    refused: tuple[str, ...] = ()


@cache
def outside_metrics() -> Outside:
    """Return the metrics that other packages declare; entry points are looked up once."""
    from importlib.metadata import entry_points

    metrics: dict[str, EntryPoint] = {}
    refused: list[str] = []
    # Sorted by package, so that the order of folders does not decide which of two gets a name.
    for point in sorted(entry_points(group=GROUP), key=lambda point: (_package(point), point.name)):
        taken = "gecjury" if point.name in METRICS else ""
        if point.name in metrics:
            taken = _package(metrics[point.name])
        if taken:
            refused.append(
                f"the metric {point.name} of {_package(point)} is left out, since {taken} has one "
                "of that name; it needs another name"
            )
        else:
            metrics[point.name] = point
    return Outside(metrics, tuple(refused))


def _package(point: EntryPoint) -> str:
    """Return name and version of the distribution that an entry point belongs to."""
    return f"{point.dist.name} {point.dist.version}" if point.dist else point.value


def metric_names() -> list[str]:
    """Return the names of all metrics: ours, then those of other packages, broken ones too."""
    return [*METRICS, *outside_metrics().metrics]


def inner_metric(value: str) -> str | None:
    """Return the metric that a value names, with or without brackets; None for another value."""
    plain = value in metric_names() or is_own_file(value)
    return value if plain else nested(value)


def origin(name: str) -> str:
    """Return where a metric comes from: `gecjury`, another package with its version, or a file."""
    if is_own_file(name):
        return name.rpartition(":")[0]
    return "gecjury" if name in METRICS else _package(outside_metrics().metrics[name])


def scorer_class(name: str) -> type[Scorer]:
    """Return the class registered under a name, or named by its file.

    Raises:
        OptionError: there is no such metric (names the nearest), or another package's metric is
            broken.
        MissingExtraError: its module needs a package that is not installed.
    """
    if is_own_file(name):
        return _own_class(object_in_file(name), name.rpartition(":")[2])
    target = METRICS.get(name)
    if target is None:
        point = outside_metrics().metrics.get(name)
        if point is None and name.endswith(".py"):
            raise OptionError(
                f"{name!r:.200} names only a file; expected FILE.py:NAME, a file and a function "
                "or class in it"
            )
        if point is None:
            several = [part.strip() for part in name.split(",")]
            if len(several) > 1 and METRICS.keys() >= set(several):
                raise OptionError(
                    f"{name!r:.60} are {len(several)} metrics; repeat -m for each: "
                    f"{' '.join(f'-m {one}' for one in several)}"
                )
            raise OptionError(f"unknown metric {name!r:.60}: {nearest(name[:60], metric_names())}")
        return _outside_class(point)
    module, _, attribute = target.partition(":")
    try:
        registered: type[Scorer] = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise missing_extra(name, family_of(module), error) from None
    return registered


def _outside_class(point: EntryPoint) -> type[Scorer]:
    """Return the class that an entry point of another package names.

    Raises:
        OptionError: it cannot be imported, or is not a metric of that name.
    """
    try:
        loaded = point.load()
    except Exception as error:  # other packages' code may raise anything
        fault = f"{type(error).__name__}: {error}"
    else:
        fault = _fault(point.name, loaded)
    if fault:
        raise OptionError(
            f"the metric {point.name} of {_package(point)} ({point.value}) cannot be used: {fault}"
        )
    scorer: type[Scorer] = loaded
    return scorer


def _own_class(code: object, name: str = "") -> type[Scorer]:
    """Return the metric class of a class or function in the user's own code.

    Args:
        name: name of the function in its file; by default its own name.

    Raises:
        OptionError: it is not a metric, or has the name of one of gecjury's metrics.
    """
    if inspect.isclass(code) or not callable(code):
        name = str(getattr(code, "name", name))
        if fault := _fault(name, code):
            raise OptionError(f"{name or code!r} cannot be used as a metric: {fault}")
        kind: type[Scorer] = code  # type: ignore[assignment]  # seen to be one
    else:
        usual = getattr(code, "__name__", type(code).__name__).strip("<>")
        kind = class_of_function(code, name or usual)
    if METRICS.get(kind.name, "") not in ("", f"{kind.__module__}:{kind.__name__}"):
        raise OptionError(f"{kind.name}: gecjury has a metric of that name; choose another name")
    return kind


def _fault(name: str, kind: object) -> str:
    """Return why an object cannot be the metric of a name; empty if it can."""
    shown = getattr(kind, "__name__", repr(kind))
    if inspect.isroutine(kind):
        return (
            f"{shown} is a function, which has no version for signatures; expected a subclass of "
            "gecjury.scoring.Scorer (or name the function by its file, -m FILE.py:NAME)"
        )
    if not (inspect.isclass(kind) and issubclass(kind, Scorer)):
        return (
            f"{shown} is neither a function of source, hypothesis "
            "and references nor a subclass of gecjury.scoring.Scorer"
        )
    if inspect.isabstract(kind):
        return f"{kind.__name__} does not define {', '.join(sorted(kind.__abstractmethods__))}"
    # Without the decorator, the settings that it adds to its base's would be ignored.
    if "__dataclass_fields__" not in vars(kind):
        return f"{kind.__name__} is not a dataclass; expected @dataclass(frozen=True)"
    own_name, family = getattr(kind, "name", None), getattr(kind, "family", None)
    if own_name is None:
        return f"it has no name; expected e.g. name = {name!r} in {kind.__name__}"
    if own_name != name:
        return f"its class has the name {own_name!r}; expected name = {name!r}"
    if family not in FAMILIES:
        return f"family is {family!r}; expected one of {', '.join(FAMILIES)}"
    try:
        typing.get_type_hints(kind)
    except NameError as error:
        return f"the types of its settings cannot be read ({error}); import them at the top"
    return ""


def able(what: type) -> list[str]:
    """Return the metrics with an ability (`gecjury.scoring.abilities`) that can be imported."""
    names = []
    for name in metric_names():
        try:
            if issubclass(scorer_class(name), what):
                names.append(name)
        except (OptionError, MissingExtraError):
            continue
    return names


def paper_of(name: str) -> str | None:
    """Return author and year of a metric's paper; None if there is none or the name is unknown."""
    if is_own_file(name):
        return None  # a name read from results must not run a file
    try:
        return scorer_class(name).paper or None
    except (OptionError, MissingExtraError):
        return None


def missing_extra(what: str, family: str | None, error: ModuleNotFoundError) -> MissingExtraError:
    """Return the error for a missing package, with the command that installs it."""
    command = install_hint(family) if family else f"pip install {error.name}"
    return MissingExtraError(
        f"{what} needs the package {error.name}, which is not installed: {command}"
    )


def load(metric: Metric, /, **options: object) -> Scorer:
    """Return a metric that is ready to score.

    Args:
        metric: `green`, or with options as on the command line: `green:n=6,unit=char`. A metric of
            your own is named by its file, `mymetric.py:name`, or is a class or function; the
            function accepts source, hypothesis and references (or only the first two) and returns a
            number or None. A loaded metric is returned as it is.
        **options: settings by keyword; they override those in the name. Strings are read as on
            the command line.

    Raises:
        OptionError: unknown metric or option, or an invalid value.
        MissingExtraError: a package is not installed.
    """
    if isinstance(metric, Scorer):
        return replace(metric, **_settings(type(metric), options))
    if isinstance(metric, str):
        plain, named = parse(metric)
        metric_class = scorer_class(plain)
    else:
        metric_class, named = _own_class(metric), {}
        plain = metric_class.name
    values = _settings(metric_class, {**named, **options})
    try:
        return metric_class(**values)
    except ModuleNotFoundError as error:
        # Our extras do not install what another package's metric needs.
        raise missing_extra(plain, family_of(metric_class.__module__), error) from None
    except GecjuryError:
        raise
    except (TypeError, ValueError) as error:
        raise OptionError(f"{plain}: {error}") from None


def _settings(metric: type[Scorer], named: Mapping[str, object]) -> dict[str, object]:
    """Return the settings that a metric's options describe, by field.

    Args:
        named: text or Python values by the name of the option or of its field.
    """
    known = metric_options(metric)
    by_name = {one.path: one for one in known.values()} | known
    values = {}
    for key, value in named.items():
        name = key.replace("-", "_")
        if name not in by_name:
            hint = nearest(name[:60], known)
            raise OptionError(f"{metric.name} has no option {key!r:.60}: {hint}")
        values[by_name[name].path] = by_name[name].read_all(value)
    return values


def load_all(metrics: Metric | Sequence[Metric]) -> list[Scorer]:
    """Load the metrics that a function was given, without duplicates.

    Raises:
        OptionError: no metric is given, or a metric or option is unknown.
    """
    single = isinstance(metrics, str | Scorer) or callable(metrics)
    metrics = [metrics] if single else list(metrics)  # type: ignore[arg-type, list-item]  # narrowed by `single`
    if not metrics:
        raise OptionError('no metric is named: give at least one, e.g. "green"')
    return list(map(load, dict.fromkeys(metrics)))


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
            # Results go to stdout, so what the code prints goes to stderr, escaped.
            with redirect_stdout(EscapedStderr()):
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
