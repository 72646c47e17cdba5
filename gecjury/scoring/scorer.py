"""The one interface of all metrics: statistics in one pass, then sentence and corpus scores.

    class Foo(Scorer):           a frozen dataclass; its fields are its settings, its options on
        n: int = 4               the command line and its signature
        def statistics(...)      reads the corpus once
        def sentence_scores(...) and
        def corpus_scores(...)   read the statistics only, so resampling never scores again

Other abilities of a metric are methods of its class, queried by `Scorer.can`:

    credit       what its own counts give single edits       `compare --level edit`
    explain      how it judged a hypothesis, edit by edit    `explain`

`MeanScorer` is for
metrics whose statistics are the sentence scores themselves, `GroupScorer` for metrics that see all
hypotheses of a source side by side.
"""

from __future__ import annotations

import re
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import MISSING, dataclass, fields, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from gecjury.core.arrays import FloatArray, IntArray, blocks
from gecjury.core.errors import GecjuryError, InputError, OptionError, failure_in, raised_by_code
from gecjury.core.runtime import Progress, Runtime
from gecjury.corpus.corpus import Corpus, Group, corpus_of_texts, distinct_groups
from gecjury.corpus.edits import Edit
from gecjury.corpus.languages.language import ENGLISH
from gecjury.corpus.m2 import M2Sentence
from gecjury.corpus.tokens import language_signature
from gecjury.scoring.by_edit import EditCase, EditCounts, Explanation
from gecjury.scoring.options import metric_options
from gecjury.scoring.scores import Plan, Scores, ScoreTable, Statistics
from gecjury.scoring.signature import (
    Setting,
    Signature,
    code_digest,
    is_own_code,
    package_versions,
)

Ability = Literal["credit", "explain"]
"""Abilities of a metric besides scoring; see `Scorer.can`."""

_PART = 1 << 15  # sentences of a corpus on disk that are held at once


@dataclass(frozen=True)
class Scorer(ABC):
    """Base of every metric.

    Class attributes describe a metric and its needs, so that a command can refuse early:

    - `name`: as registered; `summary`: one line for listings; `paper`: author and year, shown
      where metrics are cited.
    - `family`: what it judges by: `refbased`, `refless` or `judges`; for our metrics the package
      they are in (the jury, which combines them, has its own).
    - `needs`: any of `references`, `gold` (M2) and `rivals` (at least two systems).
    - `directed`: higher is meant to be better; other metrics only describe (a jury may weigh them).
    - `joint`: a system's score depends on the other systems scored with it.
    - `reads`: `tokens`, or `text` for the lines as written (the same for English).
    - `fixed`: the scores were given for certain texts; other texts cannot be scored.
    - `part_names`: what `parts` returns for every sentence in addition to its score.
    - `version`: behaviour version, raised when scores change.
    - `packages`: distributions whose version can change a score.
    - `must_name`: options that scoring requires, with what they name (`model`).
    - `score_options`: settings that are only used to compute scores from statistics, so that other
      values of them need no new pass over the corpus.
    - `tuning`: what the metric's paper tuned, for `gecjury tune`: options with the values tried
      (`{"beta": "0:5:0.01"}`), and the `folds`, `aggregate` and `human-scores` of the search.
    - `later_settings`: settings added after scores and juries had been stored. They are listed
      among the settings only if they are not the default, so that stored results are still found.
    """

    name: ClassVar[str]
    family: ClassVar[str]
    summary: ClassVar[str] = ""
    paper: ClassVar[str] = ""
    needs: ClassVar[frozenset[str]] = frozenset()
    directed: ClassVar[bool] = True
    joint: ClassVar[bool] = False
    reads: ClassVar[Literal["tokens", "text"]] = "tokens"
    fixed: ClassVar[bool] = False
    part_names: ClassVar[tuple[str, ...]] = ()
    version: ClassVar[int] = 1
    packages: ClassVar[tuple[str, ...]] = ()
    must_name: ClassVar[Mapping[str, str]] = {}
    later_settings: ClassVar[frozenset[str]] = frozenset()
    score_options: ClassVar[frozenset[str]] = frozenset()
    tuning: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        """Refuse values that are out of the bounds of an option.

        Raises:
            OptionError: names the option, the value and what is expected.
        """
        for option in metric_options(type(self)).values():
            option.check(getattr(self, option.path))

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

    def by_choice(self, statistics: Statistics) -> Iterable[Statistics]:
        """Yield the statistics under each choice of references that tests average scores over.

        A test that swaps outputs between systems rearranges the statistics of one choice at a time,
        so that all systems meet the same reference of a sentence. Metrics whose corpus score
        averages over random references have several choices; others have one: the statistics.
        """
        return (statistics,)

    @classmethod
    def can(cls, what: Ability) -> bool:
        """Return True if the metric overrides the method for an ability.

        A subclass that must not have an ability of its base class restores the method of `Scorer`:
        `credit = Scorer.credit`.
        """
        return getattr(cls, what) is not getattr(Scorer, what)

    @property
    def extraction(self) -> tuple[Literal["auto", "gold", "errant"], str] | None:
        """How edits are read: types of gold edits, and tagger; None if none are read."""
        return None

    def credit(self, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime) -> EditCounts:
        """Return the credit that the metric's own counts give to single edits; optional.

        Args:
            cases: judged edits of sources in the corpus.
            corpus: corpus with the references and gold edits of the sources, and other systems.

        Returns:
            The credit under each reference, and under the one that the metric would use for the
            correction that the edit belongs to.

        Raises:
            OptionError: the metric does not count edits.
        """
        raise OptionError(f"{self.name} does not give credit to single edits")

    def explain(
        self,
        source: str,
        hypothesis: tuple[Edit, ...],
        reference: tuple[Edit, ...],
        runtime: Runtime,
    ) -> Explanation:
        """Explain how the metric judges a hypothesis by a reference, edit by edit; optional.

        Args:
            source: tokens separated by blanks.
            hypothesis: edits of the hypothesis, from left to right.

        Raises:
            OptionError: the metric has no alignment to show.
        """
        raise OptionError(f"{self.name} shows no alignment")

    def parts(self, statistics: Statistics) -> dict[str, FloatArray]:
        """Return further scores of each sentence, named as in `part_names`.

        Returns:
            Systems × sentences each; by default precision and recall.
        """
        scores = self.sentence_scores(statistics)
        both = {"precision": scores.precision, "recall": scores.recall}
        return {n: part for n, part in both.items() if n in self.part_names and part is not None}

    def sweep(
        self, points: Sequence[Mapping[str, float]], corpus: Corpus, runtime: Runtime
    ) -> Iterator[FloatArray] | None:
        """Return sentence scores for several values of options; optional.

        Args:
            points: values by option.

        Returns:
            For each point, systems × sentences; None if scoring them together saves no time.
        """
        return None

    def needs_all(self, systems: int) -> str:
        """Return why a sentence cannot be scored without the rest of its corpus; empty if it can.

        Sentences that are scored row by row have references, but neither gold edits nor other
        sentences.

        Args:
            systems: number of systems that correct each sentence.
        """
        if self.fixed:
            return "it has scores of given texts and cannot score others"
        if "gold" in self.needs:
            return "it needs gold edits, for which rows have no column"
        if self.joint:
            return "a score depends on the other sentences of the corpus"
        return ""

    def totals(self, statistics: Statistics) -> FloatArray | None:
        """Return sums over sentences that determine the corpus score; sums of parts add up.

        Returns:
            Systems × K in the metric's own layout; None if the corpus score cannot be computed from
            parts.
        """
        return None

    @property
    def sums_with_several(self) -> bool:
        """True if `totals` also works for sentences with several references."""
        return type(self).totals is not Scorer.totals

    def total_scores(self, totals: FloatArray) -> Scores:
        """Return corpus scores from `totals`, summed over the parts of a corpus.

        Raises:
            OptionError: the metric's corpus score cannot be computed from parts.
        """
        raise OptionError(f"{self.name}: its corpus score cannot be computed from parts")

    def by_parts(self, corpus: Corpus) -> bool:
        """Return True if the statistics of a corpus can be combined from those of its parts.

        A corpus on disk is then read part by part; otherwise it is loaded as a whole.
        """
        return False

    def count_part(self, corpus: Corpus, runtime: Runtime) -> Any:
        """Return what `join_parts` needs from a part of a corpus on disk: its statistics.

        Values that need the whole corpus are left to `join_parts`.
        """
        return self.statistics(corpus, runtime)

    def join_parts(self, parts: Iterable[Any], corpus: Corpus) -> Statistics:
        """Return the statistics of a corpus from those of its parts.

        Counts by error type (`by_type`), the only details, are summed.

        Args:
            parts: results of `count_part`, in order, each computed when it is requested.
            corpus: the whole corpus, whose texts may be on disk.
        """
        values: NDArray[Any] | None = None
        details: dict[str, dict[str, dict[str, list[float]]]] = {}
        notes: dict[str, str] = {}
        done = 0
        for part in parts:
            rows = slice(done, done + part.values.shape[1])
            if rows == slice(0, len(corpus)):
                whole: Statistics = part
                return whole
            # Allocated once and filled in, since joining the parts would need twice the memory.
            if values is None:
                shape = (len(part.values), len(corpus), *part.values.shape[2:])
                values = np.empty(shape, part.values.dtype)
            values[:, rows] = part.values
            for name, by_system in part.details.items():
                for system, counts in by_system.items():
                    sums = details.setdefault(name, {}).setdefault(system, {})
                    for kind, more in counts.items():
                        before = sums.get(kind, [0] * len(more))
                        sums[kind] = [a + b for a, b in zip(before, more, strict=True)]
            # Of remarks that differ only in numbers, keep the first, as for datasets.
            where = f"lines {rows.start + 1} to {rows.stop}, counted from the first of them"
            for note in part.notes:
                notes.setdefault(re.sub(r"\d+", "#", note), f"{where}: {note}")
            done = rows.stop
            del part  # its memory is freed before the next part is computed
        assert values is not None  # no corpus is empty
        return Statistics(values, details=details, notes=tuple(notes.values()))

    @property
    def asks(self) -> bool:
        """True if scoring asks a language model."""
        return self.family == "judges"

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The models that scoring loads, defaults included: folders, or names on the hub.

        Raises:
            InputError: a model's folder, which names further models, is damaged.
        """
        return ()

    @classmethod
    def named_metrics(cls, options: Mapping[str, str], home: Path) -> Iterable[tuple[str, Path]]:
        """Return the metrics that the metric's options name, e.g. the members of a jury.

        Args:
            home: folder of the file that names the metric.

        Returns:
            Each as on the command line, with the folder of the file that names it.
        """
        return ()

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return other facts that affect scores, e.g. a tagger's version or a checkpoint's hash."""
        return {}

    def settings(self) -> dict[str, Setting]:
        """Return the settings in effect; those of `later_settings` only if they were changed."""
        return {
            field.name: getattr(self, field.name)
            for field in fields(self)
            if field.name not in self.later_settings or getattr(self, field.name) != field.default
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
        count = len(corpus.references)
        name = corpus.reference_name.split(" ")[-1] or "given"
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
                **language_signature(corpus.language, tokens=self.reads == "tokens"),
                **({"code": code} if code else {}),
            },
            self._changed(),
        )

    def _changed(self) -> dict[str, Setting]:
        """Return the non-default settings by option name; all if some have no default."""
        kept = self.settings()
        # A metric with a setting that has no default cannot be created without it.
        if not any(f.default is MISSING and f.default_factory is MISSING for f in fields(self)):
            usual = type(self)().settings()
            kept = {key: value for key, value in kept.items() if value != usual.get(key, MISSING)}
        # The signature has the names of fields, of which few differ from those of options.
        names = {option.path: name for name, option in metric_options(type(self)).items()}
        return {names.get(key, key): value for key, value in kept.items()}

    def read(self, corpus: Corpus) -> Corpus:
        """Return the corpus as the metric reads it: in tokens, or as written."""
        return corpus.as_text() if self.reads == "text" else corpus

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan | None:
        """Return what scoring would send to a service that may cost money; None if nothing.

        Planning itself sends nothing.
        """
        return None

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus that lacks what the metric needs.

        Raises:
            InputError: says what is missing and how to give it.
        """
        references = "needs references: give at least one with -r FILE, or `references` in Python"
        gold = "needs gold edits: give an M2 file with --m2 FILE or -r FILE, or `gold` in Python"
        got = f"weighs systems against each other and got {len(corpus.systems)}"
        for need, there, what in (
            ("references", corpus.references, references),
            ("gold", corpus.gold is not None, gold),
            ("rivals", len(corpus.systems) > 1, f"{got}: give at least two hypothesis files"),
        ):
            if need in self.needs and not there:
                raise InputError(f"{self.name} {what}")

    def check_new_texts(self, work: str) -> None:
        """Refuse work that needs scores of new texts if the scores were given.

        Args:
            work: the work to do, for the error.

        Raises:
            OptionError: names the metric.
        """
        if self.fixed:
            raise OptionError(
                f"{self.name}: has scores of given texts and cannot score others, but {work} "
                "needs scores of new texts: choose a metric that is computed"
            )

    def score_corpus(self, corpus: Corpus, runtime: Runtime | None = None) -> ScoreTable:
        """Score every system of a corpus.

        Raises:
            InputError: the corpus lacks what the metric needs.
        """
        runtime = runtime or Runtime()
        self.check(corpus)
        start = time.perf_counter()
        if self._in_parts(corpus):
            statistics = self.join_parts(self._counted_parts(corpus, runtime), corpus)
        else:
            read = self.read(corpus.held())
            own = is_own_code(type(self))
            statistics = (self._own_statistics if own else self.statistics)(read, runtime)
        remarks = corpus.remarks(self.needs)
        if corpus.language.code != ENGLISH.code and "embedded" in self.loaded_models:
            remarks += (
                f"{self.name}: the embedded encoder was trained on English, and the texts are "
                f"{corpus.language.name}: name a multilingual encoder (encoder=FOLDER)",
            )
        if remarks:
            statistics = replace(statistics, notes=(*statistics.notes, *remarks))
        return self.table(corpus, statistics, runtime, time.perf_counter() - start)

    def _in_parts(self, corpus: Corpus) -> bool:
        return corpus.on_disk and self.by_parts(corpus) and not is_own_code(type(self))

    def _counted_parts(self, corpus: Corpus, runtime: Runtime) -> Iterator[Any]:
        """Yield the result of `count_part` for each part of a corpus on disk, one at a time."""
        bare = replace(runtime, progress=Progress())
        with runtime.progress.task(self.name, len(corpus)) as bar:
            for rows in blocks(len(corpus), 1, _PART):
                yield self.count_part(corpus.take(range(rows.start, rows.stop)), bare)
                bar.advance(rows.stop - rows.start)

    def _own_statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the statistics of a metric in the user's own code, and report its faults.

        Raises:
            InputError: the code fails, or its values have the wrong shape.
        """
        try:
            # Results go to stdout, so what the code prints goes to stderr.
            with redirect_stdout(sys.stderr):
                statistics = self.statistics(corpus, runtime)
            shape = statistics.values.shape
        except GecjuryError:
            raise
        except BaseException as error:  # the user's code may raise anything
            if not raised_by_code(error):
                raise
            said = failure_in(type(self).statistics, error)
            raise InputError(f"{self.name}: its statistics cannot be computed ({said})") from error
        if shape[:2] != (len(corpus.systems), len(corpus)):
            raise InputError(
                f"{self.name}: its statistics are of shape {shape}; expected systems × sentences, "
                f"{(len(corpus.systems), len(corpus))}"
            )
        return statistics

    def table(
        self, corpus: Corpus, statistics: Statistics, runtime: Runtime, seconds: float
    ) -> ScoreTable:
        """Build a score table from statistics, stored or new."""
        return ScoreTable(
            corpus.names,
            self.signature(corpus, runtime),
            self._by_sentence(corpus, statistics),
            self.corpus_scores(statistics),
            statistics,
            corpus.system_prints,
            seconds,
        )

    def _by_sentence(self, corpus: Corpus, statistics: Statistics) -> Scores:
        if not self._in_parts(corpus):
            return self.sentence_scores(statistics)
        parts = (
            self.sentence_scores(Statistics(statistics.values[:, rows]))
            for rows in blocks(len(corpus), 1, _PART)
        )
        return Scores.joined(parts, len(corpus))

    def score(
        self,
        sources: Sequence[str],
        hypotheses: Mapping[str, Sequence[str]] | Sequence[str],
        references: Sequence[Sequence[str]] = (),
        *,
        gold: Sequence[M2Sentence] | None = None,
        runtime: Runtime | None = None,
    ) -> ScoreTable:
        """Score texts held in memory.

        Args:
            sources: N tokenised sentences.
            hypotheses: system name → N sentences, or the N sentences of one system.
            references: R lists of N sentences; one list of strings counts as one reference.
            gold: N M2 blocks, for metrics that match gold edits; they also give the references if
                none are passed.

        Raises:
            InputError: lengths differ, a value is not text, or something that the metric needs is
                missing.
        """
        corpus = corpus_of_texts(sources, hypotheses, references, gold)
        return self.score_corpus(corpus, runtime)


@dataclass(frozen=True)
class SentenceMean(Scorer):
    """Base of metrics whose corpus score is the mean of their sentence scores, without NaN."""

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return means over the scored sentences; NaN for a system that has none."""
        return self.sentence_scores(statistics).mean(draws)

    def totals(self, statistics: Statistics) -> FloatArray | None:
        """Return sum and number of the scored sentences; None if a subclass does not use the mean.

        Systems × (sum, number) of the score, and of precision and recall if the metric has them.
        """
        if type(self).corpus_scores is not SentenceMean.corpus_scores:
            return None
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

    joint: ClassVar[bool] = True
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

    def needs_all(self, systems: int) -> str:
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
