"""What a trained jury is: its members, how their scores are weighed, and the one file it lives in.

A jury is a JSON file of the format `gecjury-jury/1`; it holds no text of anybody, only hashes of
the sources that it was trained on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.language import LANGUAGES
from gecjury.corpus.leakage import sentence_key
from gecjury.errors import InputError, OptionError
from gecjury.scoring.options import parse, split_name
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.textfiles import read_json, write_text
from gecjury.wording import listed

JURY_FORMAT = "gecjury-jury/1"
_MOST_MEMBERS = 1_000
_LARGEST = 1e100  # of a number whose products have to be numbers as well


@dataclass(frozen=True)
class Member:
    """A metric and the references that it reads.

    Attributes:
        metric: as on the command line, `green:unit=char`.
        references: name of a reference set; empty for the references that are given.
    """

    metric: str
    references: str = ""

    @classmethod
    def parse(cls, text: str) -> Member:
        """Read `metric@SET:option=value`, whose `@SET` may be left out.

        Raises:
            OptionError: the name of the set is empty.
        """
        head, options = split_name(text)
        name, at, references = head.partition("@")
        if at and not references:
            raise OptionError(f"{text!r}: name a set of references after `@`, e.g. {name}@10refs")
        return cls(f"{name}{':' * bool(options)}{options}", references)

    @property
    def label(self) -> str:
        """The inverse of `parse`."""
        name, options = split_name(self.metric)
        return f"{name}{'@' * bool(self.references)}{self.references}{':' * bool(options)}{options}"

    def scorer(self, base_url: str | None = None) -> Scorer:
        """The metric itself.

        Args:
            base_url: the server for a judge, instead of what the member says.

        Raises:
            OptionError: an unknown metric or option, or a jury, which cannot sit in another.
            MissingExtraError: a package is not installed.
        """
        # Before it is loaded: a jury that names itself would be loaded without end.
        if parse(self.metric)[0] == "jury":
            raise OptionError(f"{self.label:.200}: a jury cannot be a member of a jury")
        found = load(self.metric)
        if base_url and found.family == "judges":
            found = load(self.metric, base_url=base_url)
        return found

    def corpus(self, corpus: Corpus) -> Corpus:
        """The corpus with the references that this member reads.

        Raises:
            InputError: it has no set of that name.
        """
        return corpus.with_references(self.references) if self.references else corpus


@dataclass(frozen=True)
class JuryModel:
    """A trained jury.

    A member's score x counts as (x − center)/scale, times its weight; the sum goes through the
    logistic function, so that a score is the probability with which people would prefer the
    correction to one whose members' scores are all as the mean of the training corrections.

    Attributes:
        members: the metrics.
        center: mean of each member's scores of the training corrections.
        scale: their standard deviation.
        weights: one a member, on standardised scores.
        identities: for each member what its scores depend on (settings, version, checkpoints), to
            notice that another metric goes by the same name now.
        sources: hashes of the training sources, see `gecjury.corpus.leakage.sentence_key`.
        record: how the jury was trained and what cross-validation gave, as JSON values.
    """

    members: tuple[Member, ...]
    center: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[float, ...]
    identities: tuple[Mapping[str, Any], ...]
    sources: frozenset[str] = frozenset()
    record: Mapping[str, Any] = field(default_factory=dict)

    def scores(self, values: FloatArray) -> FloatArray:
        """Scores between 0 and 1, higher is better.

        Args:
            values: the members' scores on the last axis; where one is NaN, so is the jury's.

        Returns:
            Shape of `values` without the last axis.
        """
        standard = (values - np.array(self.center)) / np.array(self.scale)
        # Summed member by member, so that equal rows give equal scores whatever the shape.
        total = sum(standard[..., k] * weight for k, weight in enumerate(self.weights))
        with np.errstate(invalid="ignore"):
            result: FloatArray = np.exp(-np.logaddexp(0.0, -np.asarray(total)))
        return result

    def leak_notes(self, corpus: Corpus, name: str = "this jury") -> list[str]:
        """A warning if the jury was trained on sources of the corpus."""
        shared = [
            text
            for text in dict.fromkeys(corpus.sources)
            if text.strip() and sentence_key(text) in self.sources
        ]
        if not shared:
            return []
        return [
            f"leakage: {name} was trained on {len(shared)} of the sources here, e.g. "
            f"{shared[0][:60]!r}; its scores are not evidence. Train it anew without them: "
            "--exclude BENCHMARK"
        ]

    def language_notes(self, corpus: Corpus, name: str = "this jury") -> list[str]:
        """A remark if the jury was trained on other languages than the corpus'."""
        # The record is for people: a file that tells nothing sound of it is no worse a jury.
        parts = self.record.get("benchmarks")
        found = parts if isinstance(parts, list) else []
        told = [part for part in found if isinstance(part, Mapping)]
        trained = {str(part.get("language", "en")) for part in told}
        if not trained or corpus.language.code in trained:
            return []
        known = listed([LANGUAGES.get(code, code) for code in sorted(trained)])
        return [
            f"{name} was trained on {known}, and these texts are {corpus.language.name}: what its "
            "members' scores are worth there, it has not learned"
        ]

    def to_json(self) -> dict[str, Any]:
        """The file's content."""
        members = [
            {
                "metric": _without_server(member.metric),
                "references": member.references,
                "center": self.center[k],
                "scale": self.scale[k],
                "weight": self.weights[k],
                "identity": placeless(self.identities[k]),
            }
            for k, member in enumerate(self.members)
        ]
        return {
            "format": JURY_FORMAT,
            "members": members,
            "record": dict(self.record),
            "sources": sorted(self.sources),
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> JuryModel:
        """The inverse of `to_json`.

        Raises:
            KeyError, TypeError, ValueError: it is not the content of a jury's file.
        """
        if document["format"] != JURY_FORMAT:
            raise ValueError(f"format {document['format']!r:.60}, expected {JURY_FORMAT!r}")
        rows = document["members"]
        if len(rows) > _MOST_MEMBERS:
            raise ValueError(f"{len(rows)} members; expected at most {_MOST_MEMBERS}")
        center, scale, weights = (
            tuple(float(row[key]) for row in rows) for key in ("center", "scale", "weight")
        )
        numbers = [*center, *weights, *scale, *(1 / part for part in scale if part)]
        if not rows or not all(abs(number) <= _LARGEST for number in numbers) or min(scale) <= 0:
            raise ValueError("no members, or numbers that cannot be used")
        return cls(
            tuple(Member(_text(row["metric"]), _text(row["references"])) for row in rows),
            center,
            scale,
            weights,
            tuple(_identity(row["identity"]) for row in rows),
            frozenset(map(_text, document["sources"])),
            dict(document["record"]),
        )

    @property
    def print(self) -> str:
        """Fingerprint of all that decides a score: 12 hexadecimal digits."""
        text = json.dumps(self.to_json()["members"], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_jury(path: str | Path) -> JuryModel:
    """Read a jury's file.

    Raises:
        InputError: there is none, or it is not a jury's.
    """
    document = read_json(path, "the file of a jury; `gecjury train jury` writes one")
    try:
        return JuryModel.from_json(document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(
            f"{path}: not the file of a jury ({type(error).__name__}: {error!s:.200}); "
            "`gecjury train jury` writes one"
        ) from None


def _text(value: Any) -> str:
    if not isinstance(value, str) or len(value) > 10_000 or "\0" in value:
        raise TypeError(f"{value!r:.60} where a text belongs")
    return value


def _identity(value: Any) -> dict[str, Any]:
    """What a member's scores depend on, with the tables that it is compared by."""
    found = dict(value)
    for part in ("settings", "extra"):
        if not isinstance(found.get(part, {}), Mapping):
            raise TypeError(f"{part} {found[part]!r:.60} is no table")
    return found


def write_jury(path: str | Path, model: JuryModel) -> None:
    """Write a jury's file.

    Raises:
        OutputError: it cannot be written; what stood there before is kept.
    """
    write_text(path, json.dumps(model.to_json(), indent=1, allow_nan=False) + "\n")


def _without_server(metric: str) -> str:
    """A metric as a jury's file names it: a file does not say which server is asked."""
    name, options = parse(metric)
    kept = [f"{k}={v}".replace(",", "\\,") for k, v in options.items()
            if k.replace("-", "_") != "base_url"]  # fmt: skip
    return metric if len(kept) == len(options) else name + ":" * bool(kept) + ",".join(kept)


def placeless(identity: Mapping[str, Any]) -> dict[str, Any]:
    """An identity without the server that was asked."""
    settings = identity.get("settings")
    if not isinstance(settings, Mapping) or "base_url" not in settings:
        return dict(identity)
    return {**identity, "settings": {k: v for k, v in settings.items() if k != "base_url"}}


def identity(scorer: Scorer, extra: Mapping[str, str]) -> dict[str, Any]:
    """What a member's scores depend on besides the texts."""
    return placeless(
        {"version": scorer.version, "settings": scorer.settings(), "extra": dict(extra)}
    )


def same_identity(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> Sequence[str]:
    """The parts in which two identities differ; what is not recorded is not compared."""
    return [
        f"{part} {key}" if isinstance(value, Mapping) else part
        for part, value in recorded.items()
        for key in (value if isinstance(value, Mapping) else [""])
        if (value[key] if isinstance(value, Mapping) else value)
        != (now.get(part, {}).get(key) if isinstance(value, Mapping) else now.get(part))
    ]
