"""A trained jury: its members, the weights of their scores, and its file.

A jury is a JSON file of the format `gecjury-jury/1`; it contains no texts, only hashes of the
sources that it was trained on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.records import read_record
from gecjury.core.textfiles import write_text
from gecjury.core.wording import listed
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.languages.language import LANGUAGES
from gecjury.corpus.leakage import sentence_key
from gecjury.scoring.options import parse, split_name
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer

_MOST_MEMBERS = 1_000
_LONGEST = 10_000  # characters of a metric with its options
_LARGEST = 1e100  # limit on numbers, so that their products are finite


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
    def name(self) -> str:
        """The metric's name, without its options."""
        return parse(self.metric)[0]

    @property
    def label(self) -> str:
        """The inverse of `parse`."""
        name, options = split_name(self.metric)
        return f"{name}{'@' * bool(self.references)}{self.references}{':' * bool(options)}{options}"

    def refuse_jury(self) -> None:
        """Refuse a jury as a member: one that names itself would be loaded forever.

        Raises:
            OptionError: the member is a jury.
        """
        if self.name == "jury":
            raise OptionError(f"{self.label:.200}: a jury cannot be a member of a jury")

    def scorer(self, base_url: str | None = None) -> Scorer:
        """Return the metric itself.

        Args:
            base_url: the server for a judge, instead of the one that the member names.

        Raises:
            OptionError: an unknown metric or option, or a jury, which cannot be a member.
            MissingExtraError: a package is not installed.
        """
        self.refuse_jury()
        # First loaded without a server: only a loaded metric says whether it asks one.
        scorer = load(self.metric)
        if base_url and scorer.family == "judges":
            scorer = load(scorer, base_url=base_url)
        return scorer

    def corpus(self, corpus: Corpus) -> Corpus:
        """Return the corpus with the references that this member reads.

        Raises:
            InputError: it has no set of that name.
        """
        return corpus.with_references(self.references) if self.references else corpus


@dataclass(frozen=True, kw_only=True)
class TrainedMember(Member):
    """A member with the weight that a jury has learnt for it.

    Attributes:
        center: mean of its scores of the training corrections.
        scale: their standard deviation, above 0.
        weight: weight of its standardised scores.
        identity: what its scores depend on (settings, version, checkpoints), to detect that the
            name now refers to another metric.
    """

    center: float
    scale: float
    weight: float
    identity: Mapping[str, Any]

    # The identity is a mapping, which has no hash, and equal members load the same scorer.
    __hash__ = Member.__hash__

    def __post_init__(self) -> None:
        """Refuse values that no training gives, because files of juries are passed on.

        Raises:
            ValueError: names the value that cannot be used.
        """
        if any(len(text) > _LONGEST or "\0" in text for text in (self.metric, self.references)):
            raise ValueError(f"{self.metric!r:.60} with {self.references!r:.60} is not a metric")
        numbers = self.center, self.weight, self.scale, 1 / (self.scale or 1)
        if not all(abs(number) <= _LARGEST for number in numbers) or self.scale <= 0:
            raise ValueError(f"numbers of {self.metric:.60} cannot be used")
        for part in ("settings", "extra"):
            table = self.identity.get(part, {})
            if not isinstance(table, Mapping):
                raise ValueError(f"identity.{part} is {table!r:.60}; expected an object")


@dataclass(frozen=True, kw_only=True)
class JuryModel:
    """A trained jury, and the content of its file.

    A member's score x counts as (x − center)/scale, times its weight. The logistic function turns
    the sum into a probability: that people would prefer the correction to one whose members' scores
    all equal the mean of the training corrections.

    Attributes:
        format: format of the file.
        members: the metrics with their weights.
        record: how the jury was trained and what cross-validation gave, as JSON values.
        sources: hashes of the training sources, sorted; see
            `gecjury.corpus.leakage.sentence_key`.
    """

    format: Literal["gecjury-jury/1"] = "gecjury-jury/1"
    members: tuple[TrainedMember, ...]
    record: Mapping[str, Any]
    sources: tuple[str, ...]

    def __post_init__(self) -> None:
        """Refuse a jury without members or with too many.

        Raises:
            ValueError: says how many there are.
        """
        if not 1 <= len(self.members) <= _MOST_MEMBERS:
            raise ValueError(f"{len(self.members)} members; expected 1 to {_MOST_MEMBERS}")

    def scores(self, values: FloatArray) -> FloatArray:
        """Return scores between 0 and 1, higher is better.

        Args:
            values: the members' scores on the last axis; where one is NaN, so is the jury's.

        Returns:
            Shape of `values` without the last axis.
        """
        # Summed member by member, so that equal rows give equal scores whatever the shape.
        total = sum(
            (values[..., k] - member.center) / member.scale * member.weight
            for k, member in enumerate(self.members)
        )
        with np.errstate(invalid="ignore"):
            result: FloatArray = np.exp(-np.logaddexp(0.0, -np.asarray(total)))
        return result

    def leak_notes(self, corpus: Corpus, name: str = "this jury") -> list[str]:
        """Return a warning if the jury was trained on sources of the corpus."""
        texts, trained = dict.fromkeys(corpus.sources), frozenset(self.sources)
        shared = [text for text in texts if text.strip() and sentence_key(text) in trained]
        if not shared:
            return []
        return [
            f"leakage: {name} was trained on {len(shared)} of the sources here, e.g. "
            f"{shared[0][:60]!r}; its scores are not evidence. Train it again without them: "
            "--exclude BENCHMARK"
        ]

    def language_notes(self, corpus: Corpus, name: str = "this jury") -> list[str]:
        """Return a note if the jury was not trained on the language of the corpus."""
        # The record is for people: a jury can be used even if its record is not sound.
        parts = self.record.get("benchmarks")
        trained = {
            str(part.get("language", "en"))
            for part in (parts if isinstance(parts, list) else ())
            if isinstance(part, Mapping)
        }
        if not trained or corpus.language.code in trained:
            return []
        languages = listed([LANGUAGES.get(code, code) for code in sorted(trained)])
        return [
            f"{name} was trained on {languages}, and these texts are {corpus.language.name}: it "
            "has not learned what its members' scores are worth there"
        ]

    def placeless(self) -> JuryModel:
        """Return the jury as it is written to a file: no member names its server."""
        # Neither the address nor traces of it are kept, because files are passed on.
        members = (
            replace(m, metric=without_server(m.metric), identity=placeless(m.identity))
            for m in self.members
        )
        return replace(self, members=tuple(members))

    @property
    def print(self) -> str:
        """Fingerprint of everything that decides a score: 12 hexadecimal digits."""
        text = json.dumps(asdict(self.placeless())["members"], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def read_jury(path: str | Path) -> JuryModel:
    """Read a jury's file.

    Raises:
        InputError: there is no such file, or it is not a jury's.
    """
    return read_record(JuryModel, path, "the file of a jury", "`gecjury train jury` writes one")


def write_jury(path: str | Path, model: JuryModel) -> None:
    """Write a jury's file.

    Raises:
        OutputError: the file cannot be written; an existing one is kept.
    """
    text = json.dumps(asdict(model.placeless()), indent=1, allow_nan=False) + "\n"
    write_text(path, text, follow=True)


def without_server(metric: str) -> str:
    """Return a metric as a jury's file names it, which is without its server."""
    name, options = parse(metric)
    kept = [f"{k}={v}".replace(",", "\\,") for k, v in options.items()
            if k.replace("-", "_") != "base_url"]  # fmt: skip
    return metric if len(kept) == len(options) else name + ":" * bool(kept) + ",".join(kept)


def placeless(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return an identity without the server that was asked."""
    settings = identity.get("settings")
    if not isinstance(settings, Mapping) or "base_url" not in settings:
        return dict(identity)
    return {**identity, "settings": {k: v for k, v in settings.items() if k != "base_url"}}


def identity(scorer: Scorer, extra: Mapping[str, str]) -> dict[str, Any]:
    """Return what a member's scores depend on besides the texts."""
    return placeless(
        {"version": scorer.version, "settings": scorer.settings(), "extra": dict(extra)}
    )


def changed_parts(recorded: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Return the parts in which two identities differ; only recorded parts are compared."""
    changed = []
    for part, value in recorded.items():
        if not isinstance(value, Mapping):
            changed += [part] if value != now.get(part) else []
            continue
        present = now.get(part, {})
        changed += [f"{part} {key}" for key in value if value[key] != present.get(key)]
    return changed
