"""Corrections rated from 1 to 4 by people: TMU-GFM, autoJQE and Swedish learner sentences.

0 means "other" or no rating and is left out, as in the means of the releases. `tmu-gfm-test` and
`autojqe-test` contain the sources that training on these sets keeps for its test part by default:
the fair part for a metric that was trained on the rest.

TMU-GFM (Yoshimura et al. 2020): corrections by five systems, each rated by five people for
grammaticality, fluency and preservation of meaning, without references.

autoJQE (Suzuki et al. 2022): Japanese corrections of TEC-JL and FLUTEC by unnamed systems, each
rated as a whole by three people; the means of the release are 0 where two of three gave 0, and such
a correction has no rating here.

Swedish (Östling et al. 2024): 192 sentences of three levels (64 each of CEFR A, B, C; SweLL), with
the outputs of three systems (`granska`: rules; `mt`: a translation model; `s2`: GPT-3 with two
examples) and two corrections by people (`mm`: minimal paraphrase; `mw`: maximal paraphrase), which
were rated like a system's. Grammaticality and fluency were rated for the output alone, preservation
of meaning against the reference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest, RecordedJudge
from gecjury.benchmarks.judgments import rank_ratings
from gecjury.benchmarks.places import (
    PlacedCorrections,
    lay_out,
    placed_benchmark,
    placed_corpus,
)
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.textfiles import read_json
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.rows import Row, read_table
from gecjury.corpus.leakage import normalise
from gecjury.corpus.splits import split_sources
from gecjury.corpus.tokens import in_language
from gecjury.stats.counts import defined_mean

_TMU_GFM = "TMU-GFM-Dataset/tmu-gfm-dataset.csv"
_TMU_COLUMNS = {"grammaticality": "grammer", "fluency": "fluency", "meaning": "meaning"}

AUTOJQE_FILES = ("autoJQE/datasets/human_qe_TECJL.csv", "autoJQE/datasets/human_qe_FLUTEC.csv")
"""The paths of the files in a data folder, in the order in which they are read."""

_TEST_PART = " of the test part (by source, seed 0)"

_LEVELS = ("A", "B", "C")
# All figures in the Swedish paper are based on the first; the second rated some outputs of level A
# as well.
_SWEDISH_RATERS = ("katarina", "robert")
_SWEDISH_KEYS = {
    "grammaticality": "Grammaticality",
    "fluency": "Fluency",
    "meaning": "Meaning Preservation",
}
_PARAPHRASES = {"minimal": "mm", "maximal": "mw"}


def load_tmu_gfm(request: LoadRequest) -> Benchmark:
    """Load TMU-GFM or its test part for `gecjury.benchmarks.load.load_benchmark`."""
    names = request.info.system_sets[request.systems]
    path = request.folder.paths([_TMU_GFM], wanted_by="tmu-gfm")[_TMU_GFM]
    rows: Sequence[Row] = read_table(path, texts=True).rows
    part = ""
    if request.info.name == "tmu-gfm-test":
        # Training draws among the rows that at most half of the raters marked "other" in each
        # aspect.
        aspects = [_ratings(rows, column) for column in _TMU_COLUMNS.values()]
        usable = [2 * np.isnan(values).sum(1) <= values.shape[1] for values in aspects]
        test = _test_part([row["source"] for row in rows], np.flatnonzero(np.all(usable, axis=0)))
        rows = [row for row in rows if normalise(row["source"]) in test]
        part = _TEST_PART
    # The file has a row for each output; a sentence of the corpus needs one of every system.
    by_source: dict[str, list[Row]] = {}
    for row in rows:
        by_source.setdefault(row["source"].strip(), []).append(row)
    sentences, incomplete = _complete(by_source, names)
    sources = tuple(source for source, _ in sentences)
    texts = {n: Version(tuple(made[n]["output"].strip() for _, made in sentences)) for n in names}
    raters = {
        aspect: np.array([_ratings([made[n] for _, made in sentences], column) for n in names])
        for aspect, column in _TMU_COLUMNS.items()
    }
    raters = {aspect: table.transpose(2, 0, 1) for aspect, table in raters.items()}
    notes = (
        "rankings are derived from the mean of grammaticality, fluency and meaning: one item "
        "per sentence, equal means are a tie; the text is not tokenised",
        f"{incomplete} sources{part} are left out: not every system's output is in the data",
    )
    ratings = {aspect: defined_mean(table, 0) for aspect, table in raters.items()}
    return of_aspects(request, request.corpus(sources, texts), ratings, raters, notes)


def _complete(
    by_source: Mapping[str, Sequence[Row]], names: Sequence[str]
) -> tuple[list[tuple[str, dict[str, Row]]], int]:
    """Return each source with every system's row, and how many sources lack one.

    Corrections made by several systems are one row that names them all. A source that occurs
    again was rated again.
    """
    complete: list[tuple[str, dict[str, Row]]] = []
    incomplete = 0
    for source, rows in by_source.items():
        made: dict[str, list[Row]] = {name: [] for name in names}
        for row in rows:
            for name in row["system"].split(","):
                made.setdefault(name.strip(), []).append(row)
        times = min(len(made[name]) for name in names)
        incomplete += not times
        complete += [(source, {name: made[name][time] for name in names}) for time in range(times)]
    return complete, incomplete


def load_autojqe(request: LoadRequest) -> Benchmark:
    """Load autoJQE or its test part for `gecjury.benchmarks.load.load_benchmark`."""
    paths = request.folder.paths(AUTOJQE_FILES, wanted_by="autojqe")
    # A source in both files was corrected and rated twice: it counts as two sources here.
    read = [(name, row) for name in AUTOJQE_FILES for row in read_table(paths[name]).rows]
    keys = [(name, row["原文"]) for name, row in read]
    raters = _ratings([row for _, row in read], "個別評価")
    # Where most raters gave 0 there is no mean, and the single ratings are dropped, so that both
    # cover the same corrections.
    raters[2 * np.isnan(raters).sum(axis=1) >= raters.shape[1]] = np.nan
    part = ""
    if request.info.name == "autojqe-test":
        usable = np.flatnonzero(~np.isnan(raters).all(axis=1))
        test = _test_part([source for _, source in keys], usable)
        kept = [number for number, (_, source) in enumerate(keys) if normalise(source) in test]
        read, keys, raters = [read[n] for n in kept], [keys[n] for n in kept], raters[kept]
        part = _TEST_PART
    layout = lay_out([source for _, source in keys], keys)
    corpus = placed_corpus(request, layout, [row["訂正"] for _, row in read])
    rating = layout.table(defined_mean(raters, 1).tolist())
    rated = int(np.count_nonzero(~np.isnan(rating)))
    notes = (
        f"{len(read)} corrections{part} of {len(layout.sources)} sources, {rated} with a rating by "
        f"two or three people; {len(read) - rated} that most raters gave 0 have none",
    )
    tables = np.stack([layout.table(values) for values in raters.T.tolist()])
    return of_places(request, corpus, layout, rating, tables, notes)


def load_swedish(request: LoadRequest) -> Benchmark:
    """Load the Swedish benchmark for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    names = info.system_sets[request.systems]
    _refuse_own_reference(request, names)
    read = _read_swedish(request)
    first, _ = _SWEDISH_RATERS
    entries = read[first]

    def outputs(name: str) -> Version:
        return _tidied([entry["systems"][name]["output"] for entry in entries])

    def reference_set(name: str) -> list[Version]:
        if name == "official":
            return [_tidied([entry["reference"] for entry in entries])]
        if name in _PARAPHRASES:
            return [outputs(_PARAPHRASES[name])]
        return [
            _tidied([e["systems"][system]["annotators"][first]["corrected"] for e in entries])
            for system in entries[0]["systems"]
        ]

    corpus = request.corpus(
        _tidied([entry["original"] for entry in entries]).lines,
        {name: outputs(name) for name in names},
        reference_set,
    )
    raters = {
        aspect: np.array([_rated(of, names, rater, key) for rater, of in read.items()])
        for aspect, key in _SWEDISH_KEYS.items()
    }
    # Only the first rater's ratings count, as in the paper.
    ratings = {aspect: table[0] for aspect, table in raters.items()}
    notes = _swedish_notes(ratings, raters, post_edited="post-edited" in request.references)
    return of_aspects(request, in_language(corpus, request.language), ratings, raters, notes)


def _refuse_own_reference(request: LoadRequest, names: Sequence[str]) -> None:
    """Refuse references that are the outputs of a system that is compared."""
    for chosen, system in _PARAPHRASES.items():
        if chosen in request.references and system in names:
            raise OptionError(
                f"`references={chosen}`: these are the outputs of {system}, which is among the "
                f"systems compared and would be its own reference; use `systems=systems`, which "
                "leaves out the corrections by people, or `references=official`"
            )


def _rated(
    entries: Sequence[Mapping[str, Any]], names: Sequence[str], rater: str, key: str
) -> list[list[float]]:
    """Return a person's ratings, systems × sentences; 0 is none."""
    judged = [[entry["systems"][name]["annotators"] for entry in entries] for name in names]
    return [[of.get(rater, {}).get(key) or np.nan for of in row] for row in judged]


def _read_swedish(request: LoadRequest) -> dict[str, list[Mapping[str, Any]]]:
    """Return the annotated sentences of each rater, level by level."""
    files = {
        rater: [f"gec-evaluation/annotations/balanced_{level}/{rater}.json" for level in _LEVELS]
        for rater in _SWEDISH_RATERS
    }
    every = [file for of_rater in files.values() for file in of_rater]
    paths = request.folder.paths(every, wanted_by=request.info.name)
    what = "an annotation file of gec-evaluation"
    return {
        rater: [entry for file in of_rater for entry in read_json(paths[file], what)["data"]]
        for rater, of_rater in files.items()
    }


def _swedish_notes(
    ratings: Mapping[str, FloatArray], raters: Mapping[str, FloatArray], *, post_edited: bool
) -> list[str]:
    """Return what a reader should know about the ratings, and about the references if chosen."""
    first, second = _SWEDISH_RATERS
    mean = np.mean(list(ratings.values()), axis=0)
    left = ", ".join(f"{int(np.isnan(t).sum())} of {aspect}" for aspect, t in ratings.items())
    shared = int(np.count_nonzero((~np.isnan(raters["grammaticality"])).all(axis=0)))
    notes = [
        f"ratings of one person ({first}), of {mean.size} outputs; 0 means no rating and is "
        f"left out: {left}; the mean of the aspects is known for {int((~np.isnan(mean)).sum())} "
        "outputs",
        f"`one rater`: {second} rated {shared} of these outputs as well, all of level A",
        "rankings are derived from the mean of grammaticality, fluency and meaning: one item per "
        "sentence, equal means are a tie; meaning was rated against the official reference",
    ]
    if post_edited:
        notes.append(
            "post-edited: the rater's own corrections of all five outputs: every output is "
            "compared with its correction by its rater; such references favour systems that have "
            "them"
        )
    return notes


def _tidied(texts: Sequence[str]) -> Version:
    """Return texts with tokens joined by single spaces; two outputs have more."""
    return Version(tuple(" ".join(text.split()) for text in texts))


def _test_part(sources: Sequence[str], usable: NDArray[np.intp]) -> set[str]:
    """Return the sources, normalised, that training on the usable rows keeps for its test part."""
    used = [sources[row] for row in usable]
    return {normalise(used[row]) for row in split_sources(used).test}


def _ratings(rows: Sequence[Row], column: str) -> FloatArray:
    """Return the ratings of cells such as `4,0,3`, rows × raters; NaN for 0."""
    values = np.array([[float(value) for value in row[column].split(",")] for row in rows])
    return np.where(values > 0, values, np.nan)


def of_aspects(
    request: LoadRequest,
    corpus: Corpus,
    ratings: Mapping[str, FloatArray],
    raters: Mapping[str, FloatArray],
    notes: Sequence[str],
    recorded: tuple[RecordedJudge, ...] = (),
) -> Benchmark:
    """Return a benchmark of ratings by aspect, systems × sentences.

    Nobody judged an output as a whole, so the aspects have equal weights. Where one is missing,
    there is no mean.
    """
    mean: FloatArray = np.mean(list(ratings.values()), axis=0)
    scores = dict(zip(corpus.names, defined_mean(mean, 1).tolist(), strict=True))
    return request.benchmark(
        corpus,
        rankings={"sentence": rank_ratings(mean, corpus)},
        human={"sentence": {"mean": scores}},
        notes=tuple(notes),
        segment_scores=mean,
        ratings=ratings,
        raters=raters,
        recorded=recorded,
    )


def of_places(
    request: LoadRequest,
    corpus: Corpus,
    layout: PlacedCorrections,
    rating: FloatArray,
    raters: FloatArray,
    notes: Sequence[str],
    recorded: tuple[RecordedJudge, ...] = (),
) -> Benchmark:
    """Return a benchmark of ratings of corrections whose systems are not named.

    Args:
        layout: the places of the corrections.
        rating: mean ratings, places × sentences.
        raters: the same of each rater, raters × places × sentences.
    """
    every = (
        *notes,
        "the data name no systems: corrections are compared within a source and over all sources; "
        "there is no system level",
        "rankings are derived from the mean rating: one item per source, equal means are a tie",
    )
    return placed_benchmark(
        request,
        corpus,
        layout,
        every,
        rankings={"sentence": rank_ratings(rating, corpus)},
        segment_scores=rating,
        raters={"rating": raters},
        recorded=recorded,
    )
