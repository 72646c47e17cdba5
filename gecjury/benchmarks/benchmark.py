"""Benchmarks: a corpus with human judgments of its systems, loaded by name from pinned files.

The table `BENCHMARKS` lists each one's system sets, reference sets and views. The files and their
checksums are in the manifest (`gecjury.benchmarks.manifest`). The module that a table row names
reads the files.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gecjury.benchmarks.human_scores import columns_of_rankings
from gecjury.benchmarks.judgments import RankedItem, judged_entries, renumbered
from gecjury.benchmarks.table import BenchmarkInfo, View
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.core.records import PassedOn
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.files.aligned import aligned
from gecjury.corpus.files.reading import read_versions
from gecjury.corpus.fingerprints import fingerprint
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.references import filled_references, meant_references
from gecjury.stats.counts import defined_mean

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.benchmarks.edit_verdicts import HumanVerdict, JudgedSource, ReadVerdicts

PublishedScores = Mapping[str, Mapping[str, float]]
"""Published scores: kind (`trueskill`, `expected-wins`, `mean`), then system, higher is better."""


@dataclass(frozen=True, kw_only=True)
class CorrectionLabels:
    """The labels that annotators gave whole corrections, one word each.

    Attributes:
        values: labels by system of the corpus and sentence; empty where there is none.
        true: the label of good corrections.
        false: labels of bad corrections with their meanings, the worst first.
        others: labels that count neither as good nor as bad, with their meanings.
    """

    values: tuple[tuple[str, ...], ...]
    true: str
    false: Mapping[str, str]
    others: Mapping[str, str] = field(default_factory=dict)

    @property
    def counts(self) -> Mapping[str, int]:
        """Number of corrections by label, in the order of the labels."""
        counter = Counter(value for line in self.values for value in line if value)
        return {name: counter[name] for name in (self.true, *self.false, *self.others)}


@dataclass(frozen=True)
class RecordedJudge:
    """The grades that a language model gave when the benchmark was made; it cannot be asked again.

    Attributes:
        name: model and year, as tables name it: `GPT-4 (recorded 2023)`.
        grades: of whole corrections, shape (systems of the corpus, sentences); NaN where there is
            none, higher is better.
        by_aspect: the same for single aspects of the benchmark's ratings; empty without any.
    """

    name: str
    grades: FloatArray
    by_aspect: Mapping[str, FloatArray] = field(default_factory=dict)

    def take(self, columns: list[int]) -> RecordedJudge:
        """Return the grades of some of the sentences."""
        aspects = {aspect: table[:, columns] for aspect, table in self.by_aspect.items()}
        return RecordedJudge(self.name, self.grades[:, columns], aspects)


@dataclass(frozen=True, kw_only=True, repr=False)
class Benchmark:
    """A corpus and human judgments of its systems.

    Attributes:
        name: the name it is loaded by.
        corpus: sources, the systems of the chosen set, references, gold edits, contexts, and as
            `groups` the corrections that were ranked together in the chosen view (systems outside
            the set left out; None where nothing was ranked).
        rankings: human ranking items over all systems, by view; their `sentence` is a row of
            `corpus`.
        human: human scores of systems by view, kind and system.
        view: the chosen view, which `corpus.groups` follows.
        systems: name of the chosen system set.
        system_sets: all sets, each with its systems.
        references: name of the references, here and in signatures.
        sentence_ids: for each row of `corpus` its line in the full files (0-based).
        citation: the paper to cite.
        notes: remarks for readers of results.
        warnings: those that readers need to understand the results.
        sample: True for the sample that comes with the package, which is never evidence.
        segment_scores: mean human ratings, shape (systems of `corpus`, sentences), NaN where there
            is none; None where sentences were not rated.
        ratings: mean ratings by aspect where several were rated ("grammaticality", "fluency", ...).
        raters: each rater's ratings by aspect, shape (raters, systems, sentences), where known.
        places: True where it is unknown which system made a correction: the systems of `corpus` are
            then the first, second, ... correction of each source, and there is no system level. A
            source with fewer corrections repeats its first one, without rating, verdict or label.
        labels: the annotators' labels of whole corrections; None where they were not labelled.
        recorded: language models whose grades come with the benchmark.
        directed_kappa: True where κ of annotators is computed as the benchmark's paper did, see
            `gecjury.benchmarks.annotators.annotator_kappa`.
        drawn_from: number of judged sentences that these were drawn from; None for a whole
            benchmark.
    """

    name: str
    corpus: Corpus
    rankings: Mapping[View, tuple[RankedItem, ...]]
    human: Mapping[View, PublishedScores]
    view: View
    systems: str
    system_sets: Mapping[str, tuple[str, ...]]
    references: str
    sentence_ids: tuple[int, ...]
    citation: str
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    sample: bool = False
    segment_scores: FloatArray | None = None
    ratings: Mapping[str, FloatArray] = field(default_factory=dict)
    raters: Mapping[str, FloatArray] = field(default_factory=dict)
    places: bool = False
    labels: CorrectionLabels | None = None
    recorded: tuple[RecordedJudge, ...] = ()
    directed_kappa: bool = False
    drawn_from: int | None = None
    _verdicts: Callable[[], ReadVerdicts] | None = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return its name and size; the texts are in its corpus."""
        size = f"{len(self.corpus.names)} systems ({self.systems}) × {len(self.corpus)} sentences"
        if self.places:
            size = f"corrections of {len(self.corpus)} sentences"
        return f"<Benchmark {self.name}: {size}, references {self.references or 'none'}>"

    @property
    def views(self) -> tuple[View, ...]:
        """The views that have human scores, the default first."""
        return tuple(self.human)

    @property
    def usual_kind(self) -> str:
        """The kind of human scores that the benchmark's authors use, their first column."""
        return next(iter(self.human[self.view]))

    def human_scores(self, kind: str, view: View | None = None) -> FloatArray:
        """Return human scores of the corpus' systems.

        Args:
            kind: `trueskill`, `expected-wins` or `mean`, whichever the benchmark has.
            view: `edit` or `sentence`; the chosen view by default.

        Returns:
            Shape (systems,), in the order of `corpus.names`; higher is better.

        Raises:
            OptionError: the benchmark has no such scores; the message lists those it has.
        """
        columns = self.human.get(view or self.view, {})
        if kind not in columns:
            have = "; ".join(f"{v}: {', '.join(kinds)}" for v, kinds in self.human.items())
            raise OptionError(
                f"{self.name} has no human scores {kind!r} in the {view or self.view} view; "
                f"it has {have}"
            )
        return np.array([columns[kind][name] for name in self.corpus.names])

    @property
    def overall(self) -> str:
        """The aspect of `segment_scores`: the mean of the aspects, or the only rating."""
        return "mean" if self.ratings else "rating"

    @property
    def rated(self) -> Mapping[str, FloatArray]:
        """Mean ratings by aspect, and of the `overall` one; empty without ratings.

        Tables have the shape (systems, sentences), NaN where there is no rating.
        """
        if self.segment_scores is None:
            return {}
        return {**self.ratings, self.overall: self.segment_scores}

    @property
    def judged_whole(self) -> bool:
        """Return whether people ranked, rated or labelled whole corrections."""
        return bool(self.rated or self.labels or any(self.rankings.values()))

    @property
    def edits_alone(self) -> bool:
        """True where people judged single edits and nothing else."""
        # A user's own benchmark without judgments of corrections has NaN instead of human scores.
        columns = (column for kinds in self.human.values() for column in kinds.values())
        unknown = all(math.isnan(score) for column in columns for score in column.values())
        return self.has_verdicts and unknown and not self.judged_whole

    @property
    def has_verdicts(self) -> bool:
        """Return whether annotators judged single edits."""
        return self._verdicts is not None

    def verdicts(self) -> ReadVerdicts:
        """Return the annotators' verdicts on single edits, as `read_edit_verdicts` does.

        Raises:
            DataError: the benchmark has none, or the files are not available.
        """
        if self._verdicts is None:
            raise DataError(f"{self.name} has no verdicts on edits; SEEDA (`seeda`) has them")
        return self._verdicts()

    def judged_rows(self, views: Sequence[View], *, edits: bool = False) -> list[int]:
        """Return the rows of the sentences that people judged, in order.

        Args:
            views: the views whose rankings count.
            edits: return only the sentences with judged edits; otherwise these are used only where
                no whole corrections were judged.
        """
        rows: set[int] = set()
        if not edits:
            rows |= {item.sentence for view in views for item in self.rankings.get(view, ())}
            if self.segment_scores is not None:
                rows |= set(np.flatnonzero(~np.isnan(self.segment_scores).all(axis=0)).tolist())
            if self.labels is not None:
                rows |= {n for line in self.labels.values for n, label in enumerate(line) if label}
        if not rows and self.has_verdicts:
            sources = self.verdicts()[1]
            rows = {judged.row for judged in sources if judged.row >= 0}
            texts = {judged.sentence for judged in sources if judged.row < 0}
            lines = enumerate(self.corpus.sources)
            rows |= {row for row, source in lines if " ".join(source.split()) in texts}
        return sorted(rows)

    def take(self, rows: Sequence[int]) -> Benchmark:
        """Return the benchmark of some of its sentences, which keep their contexts.

        Human scores of systems are recomputed from the judgments of these sentences. Published
        scores without judgments of sentences are kept.

        Args:
            rows: rows of the sentences, each once, from 0.
        """
        place = {row: number for number, row in enumerate(rows)}
        corpus = replace(self.corpus.take(rows), drawn=(self.corpus, tuple(rows)))
        if self.corpus.groups is not None:
            corpus = replace(corpus, groups=renumbered(self.corpus.groups, place))
        rankings = {view: renumbered(items, place) for view, items in self.rankings.items()}
        columns, scores, labels = list(rows), self.segment_scores, self.labels
        scores = None if scores is None else scores[:, columns]
        if labels is not None:
            values = tuple(tuple(line[row] for row in rows) for line in labels.values)
            labels = replace(labels, values=values)
        return replace(
            self,
            corpus=corpus,
            rankings=rankings,
            human={
                view: self._human_of(kinds, rankings.get(view, ()), scores)
                for view, kinds in self.human.items()
            },
            sentence_ids=tuple(self.sentence_ids[row] for row in rows),
            segment_scores=scores,
            ratings={aspect: table[:, columns] for aspect, table in self.ratings.items()},
            raters={aspect: table[..., columns] for aspect, table in self.raters.items()},
            labels=labels,
            recorded=tuple(judge.take(columns) for judge in self.recorded),
            _verdicts=self._verdicts and partial(_verdicts_of, self._verdicts, corpus, place),
        )

    def _human_of(
        self,
        kinds: PublishedScores,
        items: Sequence[RankedItem],
        scores: FloatArray | None,
    ) -> PublishedScores:
        """Return human scores of systems, computed from the judgments of some sentences."""
        columns = dict(kinds)
        if "mean" in kinds and scores is not None:
            means = dict(zip(self.corpus.names, defined_mean(scores, 1).tolist(), strict=True))
            columns["mean"] = {**kinds["mean"], **means}
        if items:
            systems = list(dict.fromkeys(name for column in kinds.values() for name in column))
            by_rankings = columns_of_rankings(judged_entries(items, systems))
            columns |= {kind: by_rankings[kind] for kind in kinds if kind in by_rankings}
        return columns

    @cached_property
    def fingerprint(self) -> str:
        """Fingerprint of everything that results may depend on: 16 hexadecimal digits."""
        corpus = self.corpus
        judged = {v: [repr(item) for item in items] for v, items in self.rankings.items()}
        human = {v: {k: dict(c) for k, c in columns.items()} for v, columns in self.human.items()}
        ratings = {aspect: table.tolist() for aspect, table in self.ratings.items()}
        return fingerprint(
            [
                *([json.dumps(ratings)] if ratings else []),
                *([json.dumps(self.labels.values)] if self.labels else []),
                *(json.dumps([judge.name, judge.grades.tolist()]) for judge in self.recorded),
                corpus.source_print,
                corpus.reference_print,
                corpus.gold_print,
                corpus.context_print,
                json.dumps(corpus.system_prints),
                json.dumps([judged, human], sort_keys=True),
            ]
        )


def _verdicts_of(
    read: Callable[[], ReadVerdicts], corpus: Corpus, place: Mapping[int, int]
) -> ReadVerdicts:
    """Return the verdicts on edits of some sentences.

    Args:
        read: reads the verdicts of all sentences.
        corpus: the sentences.
        place: their new rows by their former rows.
    """
    texts = {" ".join(source.split()) for source in corpus.sources}

    def kept(judged: HumanVerdict | JudgedSource) -> bool:
        return judged.row in place or (judged.row < 0 and judged.sentence in texts)

    verdicts, sources, unread = read()
    sources = tuple(replace(one, row=place.get(one.row, -1)) for one in sources if kept(one))
    items = {one.item for one in sources}
    return (
        tuple(replace(one, row=place.get(one.row, -1)) for one in verdicts if kept(one)),
        sources,
        tuple((item, reason) for item, reason in unread if item in items),
    )


@dataclass(frozen=True, kw_only=True)
class LoadRequest:
    """The checked arguments of `load_benchmark`, as passed to a loader.

    Attributes:
        info: the benchmark's row.
        systems: name of a system set.
        references: names of reference sets and paths of files, in order.
        open_folder: opens the data folder; called only by loaders that read files.
        view: the view whose items become `corpus.groups`.
        whole: True if unjudged sentences are wanted as well.
        language: language of its texts, from the benchmark or the user.
    """

    info: BenchmarkInfo
    systems: str
    references: tuple[str | Path, ...]
    open_folder: Callable[[], DataFolder]
    view: View
    whole: bool = False
    language: Language = ENGLISH

    @cached_property
    def folder(self) -> DataFolder:
        """The folder that data is read from."""
        return self.open_folder()

    @property
    def reference_name(self) -> str:
        """The name of the references: the names of the sets, and the number of files."""
        named = [str(r) for r in self.references if r in self.info.reference_sets]
        files = len(self.references) - len(named)
        return "+".join([*named, *([f"{files} given"] if files else [])])

    def official_called(self, name: str) -> str:
        """Return the name of the references, with another name for the official ones alone."""
        return name if self.references == ("official",) else self.reference_name

    def corpus(
        self,
        sources: Sequence[str],
        versions: Mapping[str, Version],
        read_set: Callable[[str], Sequence[Version]] = lambda name: (),
        *,
        rows: Sequence[int] | None = None,
        lines: int = 0,
        ranked: Sequence[RankedItem] | None = None,
        **more: PassedOn,
    ) -> Corpus:
        """Return the corpus of the requested systems and references.

        Args:
            sources: its sentences.
            versions: versions by system; may include systems that were not requested but that
                annotators saw together with the others.
            read_set: as in `collect_references`.
            rows: as in `collect_references`; all by default.
            lines: as in `collect_references`; by default the number of sentences.
            ranked: the items of the chosen view; None where nothing was ranked.
            **more: other attributes of a `Corpus`, which take precedence.
        """
        names = self.info.system_sets[self.systems] or tuple(versions)
        rows = range(len(sources)) if rows is None else rows
        given = self.collect_references(
            read_set, rows, lines or len(sources), sources, more.get("source_read")
        )
        attributes: dict[str, Any] = {"reference_name": self.reference_name, **given}
        if ranked is not None:
            texts = {name: version.lines for name, version in versions.items()}
            attributes["groups"] = ranked_groups(ranked, names, texts)
        return Corpus(
            tuple(sources),
            {name: versions[name] for name in names},
            **(attributes | more),
        )

    def benchmark(
        self,
        corpus: Corpus,
        *,
        rankings: Mapping[View, tuple[RankedItem, ...]],
        human: Mapping[View, PublishedScores],
        rows: Sequence[int] | None = None,
        **more: PassedOn,
    ) -> Benchmark:
        """Return the requested benchmark, with the name and citation of its table row.

        Args:
            corpus: the corpus of the requested systems.
            rankings: as in `Benchmark`.
            human: as in `Benchmark`.
            rows: for each of its sentences, the line in the full files; all by default.
            **more: other attributes of a `Benchmark`; `system_sets` are the table's by default.
        """
        return Benchmark(
            name=self.info.name,
            corpus=corpus,
            rankings=rankings,
            human=human,
            view=self.view,
            systems=self.systems,
            references=corpus.reference_name,
            sentence_ids=tuple(range(len(corpus)) if rows is None else rows),
            citation=self.info.citation,
            **{
                "system_sets": self.info.system_sets,
                **more,
                "notes": (*more.get("notes", ()), *corpus.reading_notes),
            },
        )

    def collect_references(
        self,
        read_set: Callable[[str], Sequence[Version]],
        rows: Sequence[int],
        lines: int,
        sources: Sequence[str],
        source_read: Version | None = None,
    ) -> dict[str, Any]:
        """Return the requested reference sets and files, as attributes of a `Corpus`.

        Args:
            read_set: returns the versions of a named set, already reduced to `rows`.
            rows: the lines of the full files that are loaded.
            lines: the number of lines of the full files; a given file may also have this many.
            source_read: the file of the sources, if its ids may be named in a given file.

        Raises:
            InputError: a file has neither number of lines, or other ids.
        """
        where = f"the sources of {self.info.name}"
        versions: list[Version] = []
        names: list[str] = []
        labels: dict[str, str] = {}
        for reference in self.references:
            if reference in self.info.reference_sets:
                versions += read_set(str(reference))
                names += [str(reference)] * (len(versions) - len(names))
                continue
            for version in self._given(reference, rows, lines, source_read):
                names.append(str(reference))
                labels[f"reference {len(versions)}"] = str(reference)
                versions.append(meant_references(version, sources))
        return {"references": tuple(filled_references(names, versions, where)), "_labels": labels}

    def _given(
        self, reference: str | Path, rows: Sequence[int], lines: int, source_read: Version | None
    ) -> Iterator[Version]:
        """Yield the versions of a given file, reduced to the lines that are loaded."""
        where = f"the sources of {self.info.name}"
        for version in read_versions(reference, overlaps="keep"):
            count = len(version.lines)
            ordered = source_read or Version(("",) * count)
            version = aligned(ordered, where, str(reference), version, reference=True)
            if count not in (lines, len(rows)):
                either = f"{len(rows)} (one for each sentence loaded)"
                either += f" or {lines} (the full files)" * (lines != len(rows))
                raise InputError(
                    f"{reference} has {count} lines; a reference of {self.info.name} must have "
                    f"{either}"
                )
            yield version.take(rows) if count == lines else version


def ranked_groups(
    items: Sequence[RankedItem],
    systems: Sequence[str],
    texts: Mapping[str, Sequence[str]] | None = None,
) -> tuple[Group, ...]:
    """Return the corrections that were ranked together.

    Args:
        items: ranking items whose `sentence` is a corpus row.
        systems: the systems of the corpus; an item without any of them is left out.
        texts: the text of every row by system, including systems outside the corpus. With it a
            group contains every correction that the annotator saw; without it a correction that
            none of the systems made is left out.
    """
    kept = frozenset(systems)
    groups = []
    for item in items:
        places = tuple(tuple(s for s in place if s in kept) for place in item.groups)
        seen: tuple[str, ...] = ()
        if texts is None:
            places = tuple(place for place in places if place)
        # The annotator saw the texts of systems outside the set, too.
        elif not all(places):
            seen = tuple(texts[place[0]][item.sentence] for place in item.groups)
        if any(places):
            groups.append(Group(f"{item.annotator}.{item.item_id}", item.sentence, places, seen))
    return tuple(groups)
