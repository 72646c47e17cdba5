"""The table of metrics: name → where it lives; imported only when asked for."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module

from gecjury.errors import GecjuryError, MissingExtraError, OptionError, family_of, nearest
from gecjury.scoring.options import _convert, parse
from gecjury.scoring.scorer import Scorer

__all__ = ["METRICS", "load", "missing_extra", "scorer_class"]

# A new metric is one file in its family's package and one line here.
METRICS: Mapping[str, str] = {
    "asano": "gecjury.refless.asano:Asano",
    "changes": "gecjury.refless.changes:Changes",
    "cleme": "gecjury.refbased.cleme.metric:CLEME",
    "cleme2": "gecjury.refbased.cleme.metric:CLEME2",
    "edit-verdict": "gecjury.judges.edit_verdict:EditVerdict",
    "errant": "gecjury.refbased.errant:ERRANT",
    "gleu": "gecjury.refbased.gleu:GLEU",
    "gleu-official": "gecjury.refbased.gleu:OfficialGLEU",
    "gotoscorer": "gecjury.refbased.gotoscorer.metric:GoToScorer",
    "green": "gecjury.refbased.green:GREEN",
    "i-measure": "gecjury.refbased.imeasure.metric:IMeasure",
    "impara": "gecjury.refless.impara:IMPARA",
    "jury": "gecjury.jury.metric:Jury",
    "llm-e": "gecjury.judges.llm:LLME",
    "llm-s": "gecjury.judges.llm:LLMS",
    "m2": "gecjury.refbased.m2.metric:M2",
    "pt-errant": "gecjury.refbased.pt_errant:PTERRANT",
    "pt-m2": "gecjury.refbased.pt_m2:PTM2",
    "scores": "gecjury.scoring.given_scores:GivenScores",
    "scribendi": "gecjury.refless.scribendi:Scribendi",
    "sent-errant": "gecjury.refbased.errant:SentenceERRANT",
    "sentm2": "gecjury.refbased.m2.metric:SentenceM2",
    "some": "gecjury.refless.some:SOME",
    "uot-errant": "gecjury.refbased.uot_errant.metric:UOTERRANT",
}

# Searches that know a metric better than trying one value after the other: SOME's three weights
# (`search_weights`), and UOT-ERRANT's λ without encoding again (`sentence_scores_by_lambda`).
SEARCHES: Mapping[str, str] = {
    "some": "gecjury.refless.training.weights:search_weights",
    "uot-errant": "gecjury.refbased.uot_errant.analyses:sentence_scores_by_lambda",
}


def scorer_class(name: str) -> type[Scorer]:
    """The class registered under a name.

    Raises:
        OptionError: no such metric; names the nearest.
        MissingExtraError: its module needs a package that is not installed.
    """
    target = METRICS.get(name)
    if target is None:
        raise OptionError(f"unknown metric {name!r}: {nearest(name, METRICS)}")
    module, _, attribute = target.partition(":")
    try:
        found: type[Scorer] = getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise missing_extra(name, family_of(module), error) from None
    return found


def search_of(name: str) -> typing.Any:
    """The search of `SEARCHES` that belongs to a metric.

    Raises:
        MissingExtraError: its module needs a package that is not installed.
    """
    module, _, attribute = SEARCHES[name].partition(":")
    try:
        return getattr(import_module(module), attribute)
    except ModuleNotFoundError as error:
        raise missing_extra(name, family_of(module), error) from None


def missing_extra(what: str, family: str | None, error: ModuleNotFoundError) -> MissingExtraError:
    """The error for a package that an extra would bring, or that belongs to no extra of ours."""
    wanted = f"'gecjury[{family}]'" if family else error.name
    return MissingExtraError(
        f"{what} needs the package {error.name}, which is not installed: pip install {wanted}"
    )


def load(name: str, /, **options: object) -> Scorer:
    """A scorer by name.

    Args:
        name: `green`, or with options as on the command line: `green:n=6,unit=char`.
        **options: settings by keyword; they override those in the name. Strings are read as on
            the command line.

    Raises:
        OptionError: unknown metric or option, or a value that does not fit.
        MissingExtraError: a package is not installed.
    """
    plain, given = parse(name)
    found = scorer_class(plain)
    settings = {field.name: field for field in fields(found)}
    hints = typing.get_type_hints(found)
    values: dict[str, object] = {}
    for raw_key, value in {**given, **options}.items():
        key = raw_key.replace("-", "_")
        if key not in settings:
            raise OptionError(f"{plain} has no option {raw_key!r}: {nearest(key, settings)}")
        values[key] = _convert(value, hints[key], f"{plain}: option {raw_key}")
    try:
        return found(**values)
    except ModuleNotFoundError as error:
        raise missing_extra(plain, found.family, error) from None
    except GecjuryError:
        raise
    except (TypeError, ValueError) as error:
        raise OptionError(f"{plain}: {error}") from None
