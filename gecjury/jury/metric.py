"""The metric `jury`: the sum of other metrics' sentence scores, on fixed scales."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from gecjury.core.addresses import masked, public_address
from gecjury.core.errors import GecjuryError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_lines, user_path
from gecjury.core.wording import listed
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.remarks import remarks_on
from gecjury.scoring.abilities import asks, plan_of
from gecjury.scoring.consent import Consent, home_of, powers_of, require_consent
from gecjury.scoring.options import metric_options, nested, parse, split_name
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import MeanScorer, Scorer, setting
from gecjury.scoring.scores import Plan, Scores, Statistics
from gecjury.scoring.signature import Setting, Signature
from gecjury.stats.permutation import standardise

_LONGEST = 1_000  # characters of a member


@dataclass(frozen=True)
class Member:
    """A metric of a sum, and the references that it reads.

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
            OptionError: the name of the set is empty, the member is a sum itself, or too long.
        """
        if len(text) > _LONGEST:
            raise OptionError(
                f"{text[:60]}…: {len(text)} characters; expected a metric of at most {_LONGEST}"
            )
        head, options = split_name(text)
        name, at, references = head.partition("@")
        if at and not references:
            raise OptionError(f"{text!r}: name a set of references after `@`, e.g. {name}@10refs")
        if name == "jury":
            # A list of members that names itself would be read forever.
            raise OptionError(f"{text:.200}: a sum cannot be a member of a sum; name its members")
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

    def corpus(self, corpus: Corpus) -> Corpus:
        """Return the corpus with the references that this member reads.

        Raises:
            InputError: it has no set of that name.
        """
        return corpus.with_references(self.references) if self.references else corpus


@dataclass(frozen=True)
class Jury(MeanScorer):
    """The sum of metrics of any family: their sentence scores on one scale, added.

    The score is Σ (x − mean)/deviation over the members' sentence scores x, higher is better; 0 is
    an average correction. Mean and deviation are fixed: those that a trained model recorded for its
    own dev part, or else those of the member's name in `scales.tsv`, which `tools/jury_scales.py`
    measured with default options. So a score depends on its own output alone. A member without both
    is standardised over the outputs scored here, which a note says; if it scores all of them
    equally, it adds 0. All members count alike; no weight is learnt. A sentence that a member could
    not score is not scored. The corpus score is the mean of the scored sentences.

    The sum needs what its members need; members that name a set of references (`gleu@10refs`) read
    that set, the others read the given references. A member may be named once, and a sum cannot be
    a member.

    Attributes:
        equal: the members: `gleu@10refs+changes`, or the name of a text file with one member per
            line, which may have options.
        allow_judges: allow what members in a file need your consent for: asking a server, running
            code, fetching a model, files elsewhere; the file alone cannot allow it.
        base_url: the server for members that are judges; a file never names one.
    """

    name: ClassVar[str] = "jury"
    family: ClassVar[str] = "jury"
    summary: ClassVar[str] = "the sum of other metrics, each on a fixed scale"
    paper: ClassVar[str] = "this package"
    version: ClassVar[int] = 2  # fixed scales
    divides: ClassVar[bool] = True

    equal: str = setting("", names="metrics")
    # These decide where and whether members run, never their scores, so they are not settings.
    allow_judges: bool = False
    base_url: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check_members()
        # The members decide what a sum needs.
        needs: set[str] = set()
        for member, scorer in self._seats:
            needs |= set(scorer.needs) - ({"references"} if member.references else set())
        object.__setattr__(self, "needs", frozenset(needs))

    @property
    def joint(self) -> bool:
        """True if a member's scores or its scale depend on the other systems."""
        return bool(self._unscaled) or any(scorer.joint for _, scorer in self._seats)

    @property
    def _unscaled(self) -> str:
        """The members that have no fixed scale."""
        return listed([m.label for m, scorer in self._seats if _scale(m, scorer) is None])

    @property
    def fixed(self) -> bool:
        """True if a member's scores were given: other texts cannot be scored, either."""
        return any(scorer.fixed for _, scorer in self._seats)

    @property
    def members(self) -> tuple[Member, ...]:
        """The metrics; none if no sum is named."""
        return _summed(self.equal) if self.equal else ()

    def settings(self) -> dict[str, Setting]:
        """Return the members, also if a file lists them."""
        # A member may name a server with a key.
        return {"equal": masked("+".join(member.label for member in self.members))}

    @property
    def _seats(self) -> list[tuple[Member, Scorer]]:
        """The members, each with its metric."""
        return [(member, _loaded(member, self.base_url)) for member in self.members]

    @property
    def _typed(self) -> bool:
        """True if the members are given on the command line and not in a file."""
        return not _is_list(self.equal)

    @classmethod
    def named_metrics(cls, options: Mapping[str, str], home: Path) -> Iterable[tuple[str, Path]]:
        """Return the members, each with the folder that names it."""
        equal = options.get("equal", "")
        members = _summed(equal) if equal else ()
        place = home_of(equal) if _is_list(equal) else home
        return [(member.metric, place) for member in members]

    def _check_members(self) -> None:
        """Refuse members that would send or fetch something without the user's consent.

        Raises:
            OptionError: there are such members, all of which it lists; or a member names a server,
                a judge of edits or a file of sentences, which a list of members must not choose.
        """
        # A user who typed the members has consented to them.
        if self._typed:
            return
        file = self.equal
        powers: list[Consent] = []
        for member in self.members:
            with _naming(member):
                _, typed = parse(member.metric)
                options = {key.replace("-", "_"): value for key, value in typed.items()}
                if inner := [value for value in options.values() if nested(value)]:
                    raise OptionError(
                        f"{file} names a metric inside another ({inner[0]:.100}); a list of "
                        "members cannot choose that"
                    )
                if options.get("context", "none") not in ("corpus", "neighbours", "none"):
                    raise OptionError(
                        f"{file} names a file whose lines would be sent "
                        f"(context={options['context']}); a list of members cannot choose that"
                    )
                if options.get("base_url") and not self.base_url:
                    raise OptionError(
                        f"{file} names a server ({public_address(options['base_url'])}); a list "
                        "of members cannot choose that: name the server with `base_url=URL`"
                    )
                powers += powers_of(_without_server(member.metric), home_of(file), self.base_url)
        require_consent(file, powers, allowed=self.allow_judges)

    def _folder_notes(self) -> list[str]:
        """Return a note for each folder and file of this machine that a member names."""
        return [
            f"{self.equal}: the member {member.label} reads {value}"
            for member in self.members
            for value in parse(member.metric)[1].values()
            if ("/" in value or "model=" in member.metric) and user_path(value).exists()
        ]

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return a hash of what the members' scores and their scales depend on."""
        if not self.equal:
            return {}
        identities = []
        for member, scorer in self._seats:
            with _naming(member, quoting=self._typed):
                extra = dict(scorer.extra_signature(runtime))
            # The server that was asked decides no score.
            settings = {k: v for k, v in scorer.settings().items() if k != "base_url"}
            own = {"version": scorer.version, "settings": settings, "extra": extra}
            identities.append([own, _scale(member, scorer)])
        text = json.dumps(identities, sort_keys=True)
        return {"jury": hashlib.sha256(text.encode()).hexdigest()[:12]}

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, with the references and packages of all members."""
        runtime = runtime or Runtime()
        signature = super().signature(corpus, runtime)
        data, packages = dict(signature.data), dict(signature.packages)
        for member, scorer in self._seats:
            with _naming(member, quoting=self._typed):
                part = scorer.signature(member.corpus(corpus), runtime)
            packages |= part.packages
            # A set of references that a member names is distinguished from the given ones.
            marks = {k: v for k, v in part.data.items() if k not in data or data[k] != v}
            data |= {f"{k}@{member.references}" if member.references else k: v
                     for k, v in marks.items()}  # fmt: skip
        return replace(signature, data=data, packages=packages)

    @property
    def asks(self) -> bool:
        """True if a member asks a language model."""
        return any(asks(scorer) for _, scorer in self._seats)

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan | None:
        """Return the requests that all members together would send."""
        plans = [
            plan
            for member, scorer in self._seats
            if (plan := plan_of(scorer, scorer.read(member.corpus(corpus)), runtime)) is not None
        ]
        if not plans:
            return None
        return replace(Plan.total(plans), details=plans[0].details)

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that lacks what a member needs.

        Raises:
            OptionError: no members are named.
            InputError: what a member needs is missing.
        """
        if not self.equal:
            raise OptionError(
                "jury: no members are named: give a sum of metrics, e.g. -m jury:equal=gleu+changes"
            )
        for member, scorer in self._seats:
            with _naming(member, quoting=self._typed):
                scorer.check(member.corpus(corpus))

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the members' sentence scores, systems × sentences × members."""
        values = np.empty((len(corpus.systems), len(corpus), len(self.members)))
        notes = []
        if self._unscaled:
            notes.append(
                f"{self.name}: {self._unscaled}: without a fixed scale, so standardised over the "
                "outputs scored here; scores of other runs cannot be compared with these"
            )
        notes += self._folder_notes()
        of_texts = remarks_on(corpus, self.needs)
        for k, (member, scorer) in enumerate(self._seats):
            with _naming(member, quoting=self._typed):
                # From score files if the runtime has a folder of them.
                table = score_with_files(scorer, member.corpus(corpus), runtime.scores, runtime)
            # Stored unscaled: a member without a fixed scale is standardised over all of them.
            values[:, :, k] = table.sentences
            own = [note for note in table.statistics.notes if note not in of_texts]
            notes += [f"{member.label}: {note}" for note in own]
        return Statistics(values, notes=tuple(notes))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the sums, systems × sentences."""
        values = statistics.values
        total = np.zeros(values.shape[:2])
        # Summed member by member, so that equal cells give equal sums whatever the shape.
        for k, (member, scorer) in enumerate(self._seats):
            table, scale = values[:, :, k], _scale(member, scorer)
            total += standardise(table) if scale is None else (table - scale[0]) / scale[1]
        return Scores(total)

    def needs_all(self) -> str:
        """Return why all sentences are needed: for the scale of a member, or by a member."""
        if self._unscaled:
            return f"{self._unscaled} has no fixed scale and is standardised over all sentences"
        for member, scorer in self._seats:
            if member.references:
                return f"its member {member.label} names a set of references; rows have one set"
            if why := scorer.needs_all():
                return f"of its member {member.label} {why}"
        return ""


@contextmanager
def _naming(member: Member, *, quoting: bool = True) -> Iterator[None]:
    """Add the name of the member to an error.

    Args:
        member: the member whose scores are computed.
        quoting: whether the error may quote the files that the member reads. A list of members may
            name any file as a file of scores, and errors are shown and logged.
    """
    try:
        yield
    except GecjuryError as error:
        reason = str(error)
        if not quoting and member.name == "scores":
            reason = f"these scores cannot be used here; -m {member.label} alone shows why"
        raise type(error)(f"member {member.label} of the sum: {reason}") from None


@cache
def fixed_scales() -> Mapping[str, tuple[float, float]]:
    """Return the mean and deviation of each metric's scores, as `tools/jury_scales.py` measured."""
    lines = read_lines(Path(__file__).with_name("scales.tsv"))
    cells = [line.split("\t") for line in lines if not line.startswith("#")]
    return {name: (float(mean), float(deviation)) for name, mean, deviation, _ in cells[1:]}


def _scale(member: Member, scorer: Scorer) -> tuple[float, float] | None:
    """Return the mean and deviation of a member's scores; None if they are unknown.

    A trained model may have recorded its own. Other options do not change those of the table.
    """
    return scorer.scale or fixed_scales().get(member.name)


@lru_cache(maxsize=256)
def _loaded(member: Member, base_url: str | None) -> Scorer:
    """Return a member's metric; a judge asks the given server, if any, instead of its own."""
    with _naming(member):
        # First loaded without a server: only a loaded metric says whether it asks one.
        scorer = load(member.metric)
        if base_url and "base_url" in metric_options(type(scorer)):
            scorer = load(scorer, base_url=base_url)
        return scorer


def _is_list(equal: str) -> bool:
    """Return whether the members are in a file."""
    # Unlike `Path.is_file`, this is False for a sum that is too long to be a name.
    return os.path.isfile(equal)  # noqa: PTH113


def _summed(text: str) -> tuple[Member, ...]:
    """Return the members of a sum, from `a+b@SET` or a file with one member per line."""
    if _is_list(text):
        parts = [line.strip() for line in read_lines(text)]
        parts = [line for line in parts if line and not line.startswith("#")]
    else:
        parts = [part.strip() for part in text.split("+")]
    if not parts or not all(parts):
        raise OptionError(
            f"jury:equal={text}: expected members joined by `+`, e.g. gleu@10refs+changes, or a "
            "file with one member per line"
        )
    members = tuple(Member.parse(part) for part in parts)
    if len(set(members)) < len(members):
        twice = next(m.label for m in members if members.count(m) > 1)
        raise OptionError(f"jury:equal={text}: {twice} is named twice")
    return members


def _without_server(metric: str) -> str:
    """Return a metric without the server that a list of members names for it."""
    name, options = parse(metric)
    kept = [f"{k}={v}".replace(",", "\\,") for k, v in options.items()
            if k.replace("-", "_") != "base_url"]  # fmt: skip
    return metric if len(kept) == len(options) else name + ":" * bool(kept) + ",".join(kept)
