"""The one interface of all metrics: statistics in one pass, then sentence and corpus scores.

    class Foo(Scorer):           a frozen dataclass; its fields are its settings, its options on
        n: int = 4               the command line and its signature
        def statistics(...)      reads the corpus once
        def sentence_scores(...) and
        def corpus_scores(...)   read the statistics only, so resampling never scores again

Other abilities of a metric are small protocols; see `gecjury.scoring.abilities`. `MeanScorer` is
for metrics whose statistics are the sentence scores themselves, `GroupScorer` for metrics that see
all hypotheses of a source side by side.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import MISSING, dataclass, field, fields, replace
from typing import ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray, NumberArray, draw_weights, weighted_sums
from gecjury.core.errors import GecjuryError, InputError, OptionError, failure_in, raised_by_code
from gecjury.core.runtime import Runtime
from gecjury.core.settings import OptionField, option
from gecjury.core.wording import EscapedStderr
from gecjury.corpus.corpus import Corpus, Group
from gecjury.corpus.groups import distinct_groups
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.m2 import M2Sentence
from gecjury.corpus.remarks import remarks_on
from gecjury.corpus.texts import corpus_of_texts
from gecjury.corpus.tokens import language_signature
from gecjury.scoring.abilities import CountsInParts, Sums, counted_in_parts, scored_in_parts
from gecjury.scoring.options import metric_options
from gecjury.scoring.scores import Scores, ScoreTable, Statistics
from gecjury.scoring.signature import (
    Setting,
    Signature,
    code_digest,
    is_own_code,
    package_versions,
)


def setting(
    default: object,
    *flags: str,
    names: str = "",
    scoring: bool = False,
    place: bool = False,
    **details: object,
) -> OptionField:
    """Return a field of a metric, with what its type and default cannot say.

    Args:
        default: the value if the option is not given.
        *flags: the option's name if it differs from the field's. The signature keeps the field's
            name, so that scores in files are still found.
        names: for an option that scoring requires, what it names (`model`).
        scoring: the setting is only used to compute scores from statistics, so that other values
            need no new pass over the corpus.
        place: the setting decides where a score is computed, never its value.
        **details: see `gecjury.core.settings.option`.
    """
    about = {"names": names, "scoring": scoring, "place": place}
    metadata = {**option(default, *flags, **details).metadata, **about}
    return field(default=default, metadata=metadata)


def required_options(kind: type[Scorer]) -> dict[str, str]:
    """Return the options that scoring with a metric requires, with what they name."""
    named = {one.name: one.metadata.get("names", "") for one in fields(kind)}
    options = {one.path: name for name, one in metric_options(kind).items()}
    return {options[field]: what for field, what in named.items() if what}


def score_options(scorer: Scorer) -> set[str]:
    """Return the settings of a metric that do not affect its statistics."""
    return {one.name for one in fields(scorer) if one.metadata.get("scoring")}


class ReadsText:
    """Mix-in of metrics that read the lines as written, not tokens (the same for English)."""


@dataclass(frozen=True)
class Scorer(ABC):
    """Base of every metric.

    Class attributes describe a metric and its needs, so that a command can refuse early:

    - `name`: as registered; `summary`: one line for listings; `paper`: author and year, shown
      where metrics are cited.
    - `family`: what it judges by: `refbased`, `refless` or `judges`; for our metrics the package
      they are in (`jury`, the sum of others, has its own).
    - `needs`: any of `references`, `gold` (M2) and `rivals` (at least two systems).
    - `directed`: higher is meant to be better; other metrics only describe.
    - `version`: behaviour version, raised when scores change.
    - `packages`: distributions whose version can change a score.
    - `divides`: it scores systems with references of their own itself; see `counted`.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    summary: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    directed: ClassVar[bool] = True
    version: ClassVar[int] = 1
    packages: ClassVar[tuple[str, ...]] = ()
    divides: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Refuse values that are out of the bounds of an option.

        Raises:
            OptionError: names the option, the value and what is expected.
        """
        for one in metric_options(type(self)).values():
            one.check(getattr(self, one.path))

    @abstractmethod
    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Read the corpus once; see `Statistics`."""

    @abstractmethod
    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the score of every single sentence, systems × sentences."""

    @abstractmethod
    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return corpus scores.

        Args:
            draws: B × M sentence indices; each row is a resampled corpus. None: the corpus.

        Returns:
            Scores of shape systems, or B × systems with `draws`. A row of `draws` that contains
            every sentence once, in order, has the scores of the corpus.
        """

    @property
    def joint(self) -> bool:
        """True if a system's score depends on the other systems scored with it."""
        return "rivals" in self.needs

    @property
    def fixed(self) -> bool:
        """True if the scores were given for certain texts; other texts cannot be scored."""
        return False

    @property
    def scale(self) -> tuple[float, float] | None:
        """Mean and deviation of the scores of development data; None if they were not recorded."""
        return None

    def needs_all(self) -> str:
        """Return why a sentence cannot be scored without the rest of its corpus; empty if it can.

        Sentences that are scored row by row have references, but neither gold edits nor other
        sentences.
        """
        if self.fixed:
            return "it has scores of given texts and cannot score others"
        if "gold" in self.needs:
            return "it needs gold edits, for which rows have no column"
        if self.joint:
            return "a score depends on the other sentences of the corpus"
        return ""

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The models that scoring loads, defaults included: folders, or names on the hub.

        Raises:
            InputError: a model's folder, which names further models, is damaged.
        """
        return ()

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return other facts that affect scores, e.g. a tagger's version or a checkpoint's hash."""
        return {}

    def settings(self) -> dict[str, Setting]:
        """Return the settings in effect that can change a score; see `setting`."""
        return {
            one.name: getattr(self, one.name)
            for one in fields(self)
            if not one.metadata.get("place")
        }

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature of this scorer's scores on this corpus."""
        # Only what the metric reads: references that it ignores do not change its scores.
        data = {"sources": corpus.source_print}
        if "references" in self.needs:
            data["references"] = corpus.reference_print
        if "gold" in self.needs:
            data["gold"] = corpus.gold_print
        if self.joint:
            data["rivals"] = corpus.context_print + "".join(corpus.system_prints.values())
        # Packages raise `version` when scores change; the user's own code is identified by a
        # digest.
        code = code_digest(type(self))
        own = bool(corpus.reference_systems)
        count = 1 if own else len(corpus.references)
        name = "own" if own else corpus.reference_name.split(" ")[-1] or "given"
        return Signature(
            self.name,
            self.family,
            self.settings(),
            self.version,
            f"{name}:{count}" if "references" in self.needs else "",
            data,
            package_versions(self.packages),
            {
                **self.extra_signature(runtime or Runtime()),
                **language_signature(corpus.language, tokens=not isinstance(self, ReadsText)),
                **({"code": code} if code else {}),
            },
            changed_settings(self),
        )

    def read(self, corpus: Corpus) -> Corpus:
        """Return the corpus as the metric reads it: in tokens, or as written."""
        return corpus.as_text() if isinstance(self, ReadsText) else corpus

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that lacks what the metric needs.

        Raises:
            InputError: says what is missing and how to give it.
        """
        references = "needs references: give at least one (`references=FILE`)"
        if corpus.reference_sets and not corpus.references:
            references += f"; only a sum reads named ones (`-m jury:equal={self.name}@NAME+...`)"
        gold = "needs gold edits: give an M2 file (`m2=FILE` or `references=FILE`)"
        got = f"weighs systems against each other and got {len(corpus.systems)}"
        for need, there, what in (
            ("references", corpus.references, references),
            ("gold", corpus.gold is not None, gold),
            ("rivals", len(corpus.systems) > 1, f"{got}: give at least two hypothesis files"),
        ):
            if need in self.needs and not there:
                raise InputError(f"{self.name} {what}")
        if "references" in self.needs and self.joint and corpus.reference_systems:
            raise InputError(
                f"{self.name} {got}, each with references of its own; expected references of all "
                "systems (`references=FILE`)"
            )

    def score_corpus(self, corpus: Corpus, runtime: Runtime | None = None) -> ScoreTable:
        """Score every system of a corpus.

        Raises:
            InputError: the corpus lacks what the metric needs.
        """
        runtime = runtime or Runtime()
        self.check(corpus)
        start = time.perf_counter()
        statistics = self.counted(corpus, runtime)
        remarks = remarks_on(corpus, self.needs)
        if corpus.language.code != ENGLISH.code and "embedded" in self.loaded_models:
            remarks += (
                f"{self.name}: the embedded encoder was trained on English, and the texts are "
                f"{corpus.language.name}: name a multilingual encoder (encoder=FOLDER)",
            )
        if remarks:
            statistics = replace(statistics, notes=(*statistics.notes, *remarks))
        return self.table(corpus, statistics, runtime, time.perf_counter() - start)

    def counted(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the statistics of a corpus as this metric reads it.

        Systems with references of their own are counted one at a time.
        """
        if corpus.reference_systems and "references" in self.needs and not self.divides:
            alone = map(corpus.alone, corpus.names)
            return Statistics.joined([self.counted(one, runtime) for one in alone])
        if isinstance(self, CountsInParts) and _in_parts(self, corpus):
            return counted_in_parts(self, self.name, corpus, runtime)
        if is_own_code(type(self)):
            return _own_statistics(self, self.read(corpus.held()), runtime)
        return self.statistics(self.read(corpus.held()), runtime)

    def table(
        self, corpus: Corpus, statistics: Statistics, runtime: Runtime, seconds: float
    ) -> ScoreTable:
        """Build a score table from statistics, stored or new."""
        if isinstance(self, CountsInParts) and _in_parts(self, corpus):
            by_sentence = scored_in_parts(self, statistics, len(corpus))
        else:
            by_sentence = self.sentence_scores(statistics)
        return ScoreTable(
            corpus.names,
            self.signature(corpus, runtime),
            by_sentence,
            self.corpus_scores(statistics),
            statistics,
            corpus.system_prints,
            seconds,
        )

    def score(
        self,
        sources: Sequence[str],
        hypotheses: Mapping[str, Sequence[str]] | Sequence[str],
        references: Sequence[Sequence[str]] = (),
        *,
        gold: Sequence[M2Sentence] | None = None,
        lang: str | Language = "en",
        tokens: str = "auto",
        fold: str = "auto",
        runtime: Runtime | None = None,
    ) -> ScoreTable:
        """Score texts held in memory.

        Args:
            sources: N sentences, raw or tokenised.
            hypotheses: system name → N sentences, or the N sentences of one system.
            references: R lists of N sentences; one list of strings counts as one reference.
            gold: N M2 blocks, for metrics that match gold edits; they also give the references if
                none are passed.
            lang: language of the texts: a code, or `auto` for that of the sources.
            tokens: how they are split into tokens; `auto` decides by the texts, as commands do.
            fold: how signs are read; `auto` counts the forms of a sign as equal.

        Raises:
            InputError: lengths differ, a value is not text, or something that the metric needs is
                missing.
        """
        corpus = corpus_of_texts(
            sources, hypotheses, references, gold, lang=lang, tokens=tokens, fold=fold
        )
        return self.score_corpus(corpus, runtime)


def changed_settings(scorer: Scorer) -> dict[str, Setting]:
    """Return a metric's non-default settings by option; all if some have no default."""
    kept, own = scorer.settings(), fields(scorer)
    # A metric with a setting that has no default cannot be created without it.
    if not any(f.default is MISSING and f.default_factory is MISSING for f in own):
        usual = type(scorer)().settings()
        kept = {key: value for key, value in kept.items() if value != usual.get(key, MISSING)}
    # The signature has the names of fields, of which few differ from those of options.
    options = {one.path: name for name, one in metric_options(type(scorer)).items()}
    return {options.get(key, key): value for key, value in kept.items()}


def check_new_texts(scorer: Scorer, work: str) -> None:
    """Refuse work that needs scores of new texts if a metric's scores were given.

    Args:
        work: the work to do, for the error.

    Raises:
        OptionError: names the metric.
    """
    if scorer.fixed:
        raise OptionError(
            f"{scorer.name}: has scores of given texts and cannot score others, but {work} "
            "needs scores of new texts: choose a metric that is computed"
        )


def scores_of_all(metric: str) -> OptionError:
    """Return the error about given scores of a text of which only some sentences are scored."""
    return OptionError(
        f"{metric}: finished scores are for all sentences, and `limit=N` draws some of them; leave "
        "one of the two out"
    )


def _in_parts(scorer: CountsInParts, corpus: Corpus) -> bool:
    return corpus.on_disk and scorer.by_parts(corpus) and not is_own_code(type(scorer))


def _own_statistics(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> Statistics:
    """Return the statistics of a metric in the user's own code, and report its faults.

    Raises:
        InputError: the code fails, or its values have the wrong shape.
    """
    try:
        # Results go to stdout, so what the code prints goes to stderr, escaped.
        with redirect_stdout(EscapedStderr()):
            statistics = scorer.statistics(corpus, runtime)
        shape = statistics.values.shape
    except GecjuryError:
        raise
    except BaseException as error:  # the user's code may raise anything
        if not raised_by_code(error):
            raise
        said = failure_in(type(scorer).statistics, error)
        raise InputError(f"{scorer.name}: its statistics cannot be computed ({said})") from error
    if shape[:2] != (len(corpus.systems), len(corpus)):
        raise InputError(
            f"{scorer.name}: its statistics are of shape {shape}; expected systems × sentences, "
            f"{(len(corpus.systems), len(corpus))}"
        )
    return statistics


@dataclass(frozen=True)
class SummedScorer(Scorer, Sums):
    """Base of metrics whose corpus score is that of sums over sentences."""

    @abstractmethod
    def summands(self, statistics: Statistics) -> NumberArray:
        """Return what is summed, systems × sentences × K."""

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return the scores of the sums over sentences."""
        values = self.summands(statistics)
        weights = None if draws is None else draw_weights(draws, values.shape[1])
        return self.total_scores(weighted_sums(values, weights))

    def totals(self, statistics: Statistics) -> FloatArray:
        """Return the sums over sentences, systems × K."""
        return weighted_sums(self.summands(statistics))


@dataclass(frozen=True)
class SentenceMean(Scorer):
    """Base of metrics whose corpus score is the mean of their sentence scores, without NaN."""

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return means over the scored sentences; NaN for a system that has none."""
        return self.sentence_scores(statistics).mean(draws)

    def adds_up(self, references: int) -> bool:
        """Return True unless a subclass does not use the mean."""
        return type(self).corpus_scores is SentenceMean.corpus_scores

    def totals(self, statistics: Statistics) -> FloatArray:
        """Return sum and number of the scored sentences.

        Systems × (sum, number) of the score, and of precision and recall if the metric has them.
        """
        scores = self.sentence_scores(statistics)
        measures = (scores.score, scores.precision, scores.recall)
        parts = [part for part in measures if part is not None]
        sums = [(np.nansum(part, axis=1), (~np.isnan(part)).sum(axis=1)) for part in parts]
        return np.stack([column for pair in sums for column in pair], axis=1).astype(np.float64)

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return means over the scored sentences; NaN where there are none."""
        # The layout of `totals`: each sum is followed by its number of sentences.
        sums, counts = totals[:, ::2], totals[:, 1::2]
        return Scores(*(sums / np.where(counts > 0, counts, np.nan)).T)


@dataclass(frozen=True)
class MeanScorer(SentenceMean):
    """A metric whose statistics are its sentence scores, and whose corpus score is their mean."""

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the statistics themselves, systems × sentences."""
        return Scores(statistics.values)


@dataclass(frozen=True)
class GroupScorer(MeanScorer):
    """A metric that scores the hypotheses of one source side by side.

    Groups are `Corpus.groups` if the corpus has them (the sets that human judges saw, in their
    order). Otherwise every distinct hypothesis is in at least one group. The order within groups is
    drawn for every sentence from `draw_seed`, the source and the texts, so that no system has a
    fixed position and the order of the systems does not matter. A hypothesis in several groups has
    a score in each (`Statistics.items`); their mean is its sentence score.
    """

    group_size: ClassVar[int] = 5

    @abstractmethod
    def judge(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[list[list[float]], Statistics | None]:
        """Score the distinct texts of every group.

        Args:
            corpus: the texts; `Corpus.group_texts` returns those of a group's places.
            runtime: concurrency, caches, progress.

        Returns:
            One list per group with a score for each of its places (NaN: no readable verdict), and
            optionally statistics whose details and notes are adopted.
        """

    @property
    def joint(self) -> bool:
        """True, since the hypotheses of a source are judged together."""
        return True

    def needs_all(self) -> str:
        """Return "", since a group is judged without the rest of the corpus."""
        return ""

    @property
    def draw_seed(self) -> int:
        """Seed of the order in which hypotheses are shown if the corpus does not fix it."""
        return 0

    def groups_of(self, corpus: Corpus) -> tuple[Group, ...]:
        """Return the groups whose hypotheses are judged side by side; see the class."""
        if corpus.groups is not None:
            return corpus.groups
        return distinct_groups(corpus, self.group_size, self.draw_seed, drawn=True)

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Judge every group; see the class."""
        # All groups at once, so that a judge can send its questions together.
        groups = self.groups_of(corpus)
        verdicts, report = self.judge(corpus, groups, runtime)
        if len(verdicts) != len(groups):
            raise OptionError(f"{self.name} judged {len(verdicts)} of {len(groups)} groups")
        # A group may name systems that are not scored here.
        rows = {name: row for row, name in enumerate(corpus.names)}
        items = np.full((len(rows), len(groups)), np.nan)
        for column, (group, scores) in enumerate(zip(groups, verdicts, strict=True)):
            for place, score in zip(group.systems, scores, strict=True):
                for system in place:
                    if system in rows:
                        items[rows[system], column] = score
        sentence = np.array([group.sentence for group in groups], dtype=np.int64)
        scored = ~np.isnan(items)
        sums, counts = np.zeros((2, len(corpus), len(rows)))
        np.add.at(sums, sentence, np.where(scored, items, 0.0).T)
        np.add.at(counts, sentence, scored.T)
        # Contiguous, since rounding in sums of a matrix depends on its memory layout.
        values = np.ascontiguousarray((sums / np.where(counts > 0, counts, np.nan)).T)
        details = {} if report is None else dict(report.details)
        if corpus.groups is not None:
            # Cells outside every group are also empty, but no verdict was requested for them.
            details["unanswered"] = int(sum(np.isnan(scores).sum() for scores in verdicts))
        return Statistics(
            values,
            items if corpus.groups is not None else None,
            details,
            () if report is None else report.notes,
        )
