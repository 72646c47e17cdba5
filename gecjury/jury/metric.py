"""The metric `jury`: many scorers' sentence scores, weighted by learnt human preferences."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import ClassVar

import numpy as np

from gecjury.core.addresses import public_address
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import GecjuryError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_lines, user_path
from gecjury.core.wording import listed
from gecjury.corpus.corpus import Corpus
from gecjury.jury.model import (
    JuryModel,
    Member,
    TrainedMember,
    changed_parts,
    identity,
    placeless,
    read_jury,
    without_server,
)
from gecjury.scoring.abilities import asks, plan_of
from gecjury.scoring.consent import Power, home_of, powers_of, require_consent
from gecjury.scoring.options import nested, parse
from gecjury.scoring.score_files import score_with_files
from gecjury.scoring.scorer import MeanScorer, Scorer, setting
from gecjury.scoring.scores import Plan, Scores, ScoreTable, Statistics
from gecjury.scoring.signature import Setting, Signature
from gecjury.stats.permutation import standardise


@dataclass(frozen=True)
class Jury(MeanScorer):
    """A combination of metrics of any family: trained (`gecjury train jury`), or a plain sum.

    A trained jury's score is 0 to 1, higher is better: the probability that people would prefer the
    correction to one that is average for all members. The plain sum adds the members' scores, each
    less a fixed mean and in fixed standard deviations (`scales.tsv`, or what the training of a
    `some` recorded), higher is better: it uses no human judgments, and is the baseline that a
    trained jury has to beat. A member without both is standardised over the corpus, which a note
    says. The corpus score is the mean. A sentence that a member could not score is not scored. The
    jury needs what its members need; members that name a set of references (`gleu@10refs`) read
    that set, the others read the given references.

    Attributes:
        file: the JSON file that `gecjury train jury` wrote.
        equal: instead of a file, members of a plain sum: `gleu@10refs+changes`, or the name of a
            text file with one member per line, which may have options.
        allow_judges: allow what members need your consent for: asking a server, running code,
            fetching a model, files elsewhere; the jury's file alone cannot allow it.
        base_url: the server for members that are judges; the file never names one.
    """

    name: ClassVar[str] = "jury"
    family: ClassVar[str] = "jury"
    summary: ClassVar[str] = "scorers of any family, weighted by learnt human preferences"
    paper: ClassVar[str] = "this package"
    version: ClassVar[int] = 2  # plain sums have fixed scales

    file: str = setting("", names="model")
    equal: str = ""
    # These decide where and whether members run, never their scores, so they are not settings.
    allow_judges: bool = False
    base_url: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.file and self.equal:
            raise OptionError(
                "jury: file= is a trained jury and equal= a plain sum; give one of them"
            )
        if not self.members:
            return
        self._check_members()
        # The members decide what a jury needs.
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
        """The members of a plain sum that have no fixed scale."""
        if not self.equal:
            return ""
        return listed([m.label for m, scorer in self._seats if _scale(m, scorer) is None])

    @property
    def fixed(self) -> bool:
        """True if a member's scores were given: other texts cannot be scored, either."""
        return any(scorer.fixed for _, scorer in self._seats)

    @property
    def members(self) -> tuple[Member, ...]:
        """The metrics; none if neither a file nor a sum is named."""
        if self.equal:
            return _summed(self.equal)
        return self.model.members if self.file else ()

    def settings(self) -> dict[str, Setting]:
        """Return only the file, or only the members of the sum."""
        if self.equal:
            return {"equal": "+".join(member.label for member in self.members)}
        return {"file": self.file}

    @property
    def _seats(self) -> list[tuple[Member, Scorer]]:
        """The members, each with its metric."""
        return [(member, _loaded(member, self.base_url)) for member in self.members]

    @property
    def _typed(self) -> bool:
        """True if the members are given on the command line and not in a file."""
        return bool(self.equal) and not Path(self.equal).is_file()

    @classmethod
    def named_metrics(cls, options: Mapping[str, str], home: Path) -> Iterable[tuple[str, Path]]:
        """Return the members of the file or the sum, each with the folder that names it."""
        equal, file = options.get("equal"), options.get("file")
        members: Sequence[Member] = ()
        if equal:
            members = _summed(equal)
            file = equal if Path(equal).is_file() else None
        elif file:
            members = read_jury(file).members
        for member in members:
            member.refuse_jury()
        place = home_of(file) if file else home
        return [(member.metric, place) for member in members]

    def _check_members(self) -> None:
        """Refuse members that would send or fetch something without the user's consent.

        Raises:
            OptionError: there are such members, all of which it lists; or a member names a server,
                a judge of edits or a file of sentences, which a jury's file must not choose.
        """
        # A user who typed the members has consented to them.
        if self._typed:
            return
        file = self.file or self.equal
        powers: list[Power] = []
        for member in self.members:
            with _naming(member):
                member.refuse_jury()
                _, typed = parse(member.metric)
                options = {key.replace("-", "_"): value for key, value in typed.items()}
                if nested(options.get("valid", "")) is not None:
                    raise OptionError(
                        f"{file} names a judge of edits (valid={options['valid']:.100}); a jury's "
                        "file cannot choose that"
                    )
                if options.get("context", "none") not in ("corpus", "neighbours", "none"):
                    raise OptionError(
                        f"{file} names a file whose lines would be sent "
                        f"(context={options['context']}); a jury's file cannot choose that"
                    )
                if options.get("base_url") and not self.base_url:
                    raise OptionError(
                        f"{file} names a server ({public_address(options['base_url'])}); a jury's "
                        "file cannot choose that: name the server with --base-url URL (in Python "
                        "base_url=...)"
                    )
                powers += powers_of(without_server(member.metric), home_of(file), self.base_url)
        require_consent(file, powers, allowed=self.allow_judges)

    def _folder_notes(self) -> list[str]:
        """Return a note for each folder and file of this machine that a member names."""
        return [
            f"{self.file or self.equal}: the member {member.label} reads {value}"
            for member in self.members
            for value in parse(member.metric)[1].values()
            if ("/" in value or "model=" in member.metric) and user_path(value).exists()
        ]

    @property
    def model(self) -> JuryModel:
        """The trained jury.

        Raises:
            OptionError: no file is named.
            InputError: the file cannot be used.
        """
        if not self.file:
            raise OptionError(
                "jury: no file is named, and none is distributed. Train one, e.g. `gecjury train "
                "jury gjg15 -m gleu -m green -o my-jury.json`, and score with "
                "-m jury:file=my-jury.json; or use a plain sum, -m jury:equal=gleu+changes"
            )
        path = Path(self.file)
        return _model(self.file, path.stat().st_mtime_ns if path.is_file() else 0)

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the hash of members and weights, or of what the scores of a sum depend on."""
        if not self.equal:
            return {"jury": self.model.print} if self.file else {}
        identities = []
        for member, scorer in self._seats:
            with _naming(member, quoting=self._typed):
                own = identity(scorer, scorer.extra_signature(runtime))
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
        """Refuse a corpus that lacks what a member needs, and members that have changed.

        Raises:
            OptionError: no file is named, or a member is not the metric the jury was trained on.
            InputError: what a member needs is missing.
        """
        for member in self.members or self.model.members:
            scorer = _loaded(member, self.base_url)
            with _naming(member, quoting=self._typed):
                scorer.check(member.corpus(corpus))
            # The part `extra` needs the models, which `statistics` loads.
            trained = placeless(member.identity) if isinstance(member, TrainedMember) else {}
            recorded = {part: value for part, value in trained.items() if part != "extra"}
            self._refuse_changed(member, "version", changed_parts(recorded, identity(scorer, {})))

    def _refuse_changed(self, member: Member, what: str, changed: Sequence[str]) -> None:
        """Refuse a member whose identity is not the one that the jury was trained with."""
        if changed:
            raise OptionError(
                f"jury member {member.label}: {self.file} was trained with another {what} of it "
                f"({', '.join(changed)} changed): train the jury again"
            )

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the members' sentence scores, systems × sentences × members."""
        values = np.empty((len(corpus.systems), len(corpus), len(self.members)))
        notes = []
        if not self.equal:
            notes += self.model.leak_notes(corpus, self.file)
            notes += self.model.language_notes(corpus, self.file)
        if self._unscaled:
            notes.append(
                f"{self.name}: {self._unscaled}: without a fixed scale, so standardised over the "
                "outputs scored here; scores of other runs cannot be compared with these"
            )
        notes += self._folder_notes()
        for k, (member, scorer) in enumerate(self._seats):
            with _naming(member, quoting=self._typed):
                extra = scorer.extra_signature(runtime)
            trained = member.identity if isinstance(member, TrainedMember) else {}
            changed = changed_parts({"extra": trained.get("extra", {})}, {"extra": extra})
            self._refuse_changed(member, "model", changed)
            with _naming(member, quoting=self._typed):
                table = member_scores(member, scorer, corpus, runtime)
            # Stored unscaled: weights or z-scores bring them to one scale later.
            values[:, :, k] = table.sentences
            notes += [f"{member.label}: {note}" for note in table.statistics.notes]
        return Statistics(values, notes=tuple(notes))

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the logistic function of the weighted sums, or plain sums; systems × sentences."""
        return Scores(self._combined(statistics.values))

    def _combined(self, values: FloatArray) -> FloatArray:
        if not self.equal:
            return self.model.scores(values)
        total = np.zeros(values.shape[:2])
        # Summed member by member, so that equal cells give equal sums whatever the shape.
        for k, (member, scorer) in enumerate(self._seats):
            table, scale = values[:, :, k], _scale(member, scorer)
            total += standardise(table) if scale is None else (table - scale[0]) / scale[1]
        return total

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


def member_scores(member: Member, scorer: Scorer, corpus: Corpus, runtime: Runtime) -> ScoreTable:
    """Return a member's score table, from score files if the runtime has a folder of them."""
    return score_with_files(scorer, member.corpus(corpus), runtime.scores, runtime)


@contextmanager
def _naming(member: Member, *, quoting: bool = True) -> Iterator[None]:
    """Add the name of the member to an error.

    Args:
        member: the member whose scores are computed.
        quoting: whether the error may quote the files that the member reads. A jury's file may
            name any file as a file of scores, and errors are shown and logged.
    """
    try:
        yield
    except GecjuryError as error:
        reason = str(error)
        if not quoting and member.name == "scores":
            reason = f"these scores cannot be used here; -m {member.label} alone shows why"
        raise type(error)(f"jury member {member.label}: {reason}") from None


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
    with _naming(member):
        return member.scorer(base_url)


def _summed(text: str) -> tuple[Member, ...]:
    """Return the members of a plain sum, from `a+b@SET` or a file with one member per line."""
    if Path(text).is_file():
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


@lru_cache(maxsize=8)
def _model(file: str, changed: int) -> JuryModel:
    del changed  # Part of the cache key: a file that has changed is read again.
    return read_jury(file)
