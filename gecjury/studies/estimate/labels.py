"""Labels of outputs: people's ratings, rankings and verdicts as one number per output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, CorrectionLabels
from gecjury.benchmarks.judgments import RankedItem, read_rankings
from gecjury.benchmarks.own_judgments import read_judgments
from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError, nearest_of
from gecjury.corpus.aligned import ID_KEYS, NUMBERS
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.rows import Row, read_table
from gecjury.stats.counts import defined_mean, ratio
from gecjury.stats.wins import win_rates

_ASPECTS = ("quality", "grammaticality", "fluency", "meaning")
_LARGEST = 1e100
_SHARE = "share of the other systems that the output beats, ties one half"


@dataclass(frozen=True)
class Labels:
    """One number for each judged output.

    Attributes:
        values: shape (systems, sentences); higher is better, NaN where nobody judged.
        kind: what a label is.
        origin: the file or the benchmark.
        notes: remarks for the reader.
        relative: whether a label compares an output with others of its source.
        binary: whether labels can only be 0 or 1.
    """

    values: FloatArray
    kind: str
    origin: str
    notes: tuple[str, ...] = ()
    relative: bool = False
    binary: bool = False

    @property
    def scale(self) -> tuple[float, float]:
        """The least and the greatest possible label; of ratings, the least and greatest given."""
        if self.relative or self.binary:
            return 0.0, 1.0
        return float(np.nanmin(self.values)), float(np.nanmax(self.values))

    def predictions(self, scores: FloatArray) -> FloatArray:
        """Return a metric's predictions of the labels, shape (systems, sentences).

        Labels from rankings do not show how hard a source is, so predictions of them must not do so
        either: they are the share of the other systems that an output beats by its score.

        Args:
            scores: scores of the metric, systems × sentences, NaN where there is none.
        """
        return win_rates(scores) if self.relative else scores

    def of_good(self, least: float) -> Labels:
        """Return labels that are 1 if they are at least a value, and 0 otherwise."""
        values = np.where(np.isnan(self.values), np.nan, self.values >= least)
        kind = f"1 for a {self.kind} of at least {least:g}"
        return replace(self, values=values, kind=kind, binary=True)


def labels_of_benchmark(benchmark: Benchmark, view: View | None = None, aspect: str = "") -> Labels:
    """Return a benchmark's own judgments as labels.

    Ratings are means over raters and aspects. A ranking gives each output the share of the other
    ranked systems that it beats, see `gecjury.stats.wins.win_rates`, averaged over the
    rankings of its source. Labels of one word are 1 for a good correction and 0 for a bad one.

    Args:
        benchmark: with ratings, rankings or labels of whole corrections.
        view: view of the rankings; by default the benchmark's own.
        aspect: the aspect of the ratings; by default their mean.

    Raises:
        OptionError: no such view or aspect.
        InputError: people judged no whole corrections.
    """
    origin, corpus = benchmark.name, benchmark.corpus
    if view is not None and view not in benchmark.views:
        raise OptionError(f"--human {view}: {origin} has {', '.join(benchmark.views)}")
    if benchmark.rated:
        return _rated(benchmark.rated, aspect, origin)
    if aspect:
        raise OptionError(f"--aspect {aspect}: {origin} has no ratings")
    if benchmark.labels is not None:
        values = _of_words(benchmark.labels)
        kind = f"1 for {benchmark.labels.true}, 0 for others"
        return Labels(values, kind, origin, binary=True)
    items = benchmark.rankings.get(view or benchmark.view, ())
    if not items:
        raise InputError(f"{origin}: people judged no whole corrections; name a file with --labels")
    origin = f"{origin}, {view or benchmark.view} view"
    return Labels(shares_beaten(items, corpus), _SHARE, origin, relative=True)


def read_labels(path: str, corpus: Corpus, aspect: str = "") -> Labels:
    """Read labels of a corpus' outputs.

    The file is one of `gecjury annotate` (ratings or rankings), your own judgments with columns of
    the same names, Appraise rankings in XML, or rated texts as `gecjury train some` reads them:
    columns `source` and `output` with `quality`, or with some of `grammaticality`, `fluency` and
    `meaning`. In rated texts, `sentence`, `line` or `id` may say which sentence a row is of.

    Args:
        path: path of the file.
        corpus: the outputs; `sentence` in a file counts its sentences from 1.
        aspect: the aspect of ratings; by default their mean.

    Raises:
        InputError: the file cannot be read, names an unknown system or sentence, or matches no
            output.
        OptionError: it has no such aspect.
    """
    if Path(path).suffix.lower() == ".xml":
        items = read_rankings(
            Path(path), first_line=1, lines=len(corpus), systems=corpus.names, of_user=True
        )
        return _ranked(items, corpus, path, aspect)
    table = read_table(path, "labels", texts=True)
    if {"source", "output"} <= set(table.columns):
        rated, notes = _of_texts(table.rows, table.columns, corpus)
        return replace(_rated(rated, aspect, path), notes=(*table.notes, *notes))
    judged = read_judgments(Path(path), corpus)
    if not judged.raters:
        return _ranked(judged.items, corpus, path, aspect)
    rated = {name: defined_mean(values, 0) for name, values in judged.raters.items()}
    rated["mean"] = np.mean(list(rated.values()), axis=0)
    return _rated(rated, aspect, path)


def shares_beaten(items: Sequence[RankedItem], corpus: Corpus) -> FloatArray:
    """Return the mean share of the other ranked systems that each output beats, ties one half.

    Args:
        items: rankings; systems that the corpus lacks do not count.
        corpus: its systems and sentences.

    Returns:
        Shape (systems, sentences), 0 to 1; NaN for outputs that were not ranked with any other.
    """
    place = {name: row for row, name in enumerate(corpus.names)}
    ranks = np.full((len(place), len(items)), np.nan)
    for column, item in enumerate(items):
        for group, rank in zip(item.groups, item.ranks, strict=True):
            # Negated, since rank 1 is best, but win rates count the highest score as best.
            ranks[[place[name] for name in group if name in place], column] = -rank
    shares = win_rates(ranks)
    sentences = np.array([item.sentence for item in items], dtype=np.int64)
    sums, counts = np.zeros((2, len(corpus), len(place)))
    np.add.at(sums, sentences, np.nan_to_num(shares).T)
    np.add.at(counts, sentences, ~np.isnan(shares).T)
    return ratio(sums, counts, np.nan).T


def _ranked(items: Sequence[RankedItem], corpus: Corpus, path: str, aspect: str) -> Labels:
    if aspect:
        raise OptionError(f"--aspect {aspect}: {path} has no ratings")
    values = shares_beaten(items, corpus)
    if np.isnan(values).all():
        raise InputError(
            f"{path}: no ranking compares two systems; expected several on one sentence, or ratings"
        )
    return Labels(values, _SHARE, path, relative=True)


def _rated(rated: Mapping[str, FloatArray], aspect: str, origin: str) -> Labels:
    """Return ratings of one aspect, or of the last one, which is the mean."""
    if aspect and aspect not in rated:
        raise OptionError(f"--aspect {aspect}: {nearest_of(aspect, list(rated))}")
    chosen = aspect or list(rated)[-1]
    kind = "rating" if chosen in ("mean", "rating") else f"rating of {chosen}"
    return Labels(rated[chosen], kind, origin)


def _of_words(labels: CorrectionLabels) -> FloatArray:
    """Return 1 for the label of good corrections, 0 for those of bad ones, NaN for others."""
    meaning = {labels.true: 1.0, **dict.fromkeys(labels.false, 0.0)}
    rows = [[meaning.get(word, np.nan) for word in line] for line in labels.values]
    return np.array(rows, dtype=np.float64)


def _of_texts(
    rows: Sequence[Row], columns: Sequence[str], corpus: Corpus
) -> tuple[dict[str, FloatArray], tuple[str, ...]]:
    """Return ratings by aspect, the mean last, of the outputs whose texts are in the rows."""
    where = rows[0].table if rows else ""
    aspects = [name for name in _ASPECTS if name in columns]
    if not aspects:
        raise InputError(
            f"{where}, line 1: no column of ratings; expected quality, or some of grammaticality, "
            "fluency and meaning"
        )
    texts = corpus.as_text()
    cells: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for system, version in enumerate(texts.systems.values()):
        for line, pair in enumerate(zip(texts.sources, version.lines, strict=True)):
            source, output = map(_plain, pair)
            cells.setdefault((source, output), []).append((system, line))
    shape = len(corpus.names), len(corpus)
    sums, counts = ({name: np.zeros(shape) for name in aspects} for _ in range(2))
    strange = 0
    for row in rows:
        key = _plain(row.text("source")), _plain(row.text("output"))
        strange += key not in cells
        places = _named_places(row, cells[key], corpus) if key in cells else []
        for name in aspects:
            # An empty cell is not a rating.
            if places and row.text(name):
                value = row.number(name, _LARGEST)
                for cell in places:
                    sums[name][cell] += value
                    counts[name][cell] += 1
    if strange == len(rows):
        raise InputError(
            f"{where}: no label matches an output; expected rows whose source and output are in "
            "the files that are scored"
        )
    rated = {name: ratio(sums[name], counts[name], np.nan) for name in aspects}
    if len(aspects) > 1:
        rated["mean"] = np.mean(list(rated.values()), axis=0)
    note = f"{strange} of {len(rows)} labels match no output and are left out"
    return rated, (note,) if strange else ()


def _named_places(
    row: Row, places: Sequence[tuple[int, int]], corpus: Corpus
) -> Sequence[tuple[int, int]]:
    """Return the places of a rated text, only those in the sentence that its row names if any.

    Raises:
        InputError: the named sentence has another source or no such output.
    """
    origin = corpus.origin
    for column in ID_KEYS:
        named = row.text(column)
        numbers = column in NUMBERS and origin.key not in NUMBERS
        # Ids of rows that the source does not have are those of the ratings.
        if not named or (origin.ids is None and not numbers):
            continue
        if numbers and not named.isdecimal():
            continue
        ids = list(map(str, range(1, len(corpus) + 1))) if numbers else list(origin.ids or ())
        there = [(system, line) for system, line in places if ids[line] == named]
        if not there:
            one = ids[places[0][1]]
            row.refuse(column, f"the {column} of a sentence with this source and output ({one})")
        return there
    return places


def _plain(text: str) -> str:
    return " ".join(text.split())
