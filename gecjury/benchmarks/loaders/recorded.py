"""Corrections graded by people and, when the benchmark was made, by language models.

Sottana (Sottana et al. 2023): 100 learner sentences, each with the reference and the outputs of
three models. Three people and GPT-4 rated meaning from 1 to 5, counted the errors left (0, 1, 2 or
more), and named one of four steps of over-correction. Errors and steps are negated here, so that
higher is better.

DSGram (Xie et al. 2025): 201 pairs of a sentence and a correction by an unnamed system. One person
graded all of them and two graded 51, GPT-4 and Llama 3 graded all. Only the overall grades are
read. A judge's grade counts only for the very pair of texts that people graded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest, RecordedJudge
from gecjury.benchmarks.loaders.rated import of_aspects, of_places
from gecjury.benchmarks.places import lay_out, placed_corpus
from gecjury.core.arrays import FloatArray
from gecjury.corpus.corpus import Version
from gecjury.corpus.files.rows import Row, read_table, refuse
from gecjury.stats.counts import defined_mean

_FOLDER = "seq2seq_llm_evaluation/data/outputs/potato_and_GPT4_full_annotations/gec_evaluation_"
_RATERS = tuple(
    tuple(f"{_FOLDER}{part}_of_4/annotation_output/{rater}/annotated_instances.jsonl"
          for part in range(1, 5))
    for rater in ("57e2b7c38e00270001b43aba", "5995e3cf9845ef00014de380",
                  "61102f9292f5e6301b5bea45")
)  # fmt: skip
_GPT4 = f"{_FOLDER}1_of_4/gpt4_as_annotator/output.jsonl"
_TEXTS = ("displayed_text", "summary_1", "summary_2", "summary_3", "summary_4")
"""The keys of the source and of the outputs, in the order of the systems in the table."""
_GOLD = "gold_reference"
"""GPT-4's name of the reference; the other systems have the same names as here."""

_STEPS = ("No", "Minor over-correction", "Moderate over-correction", "Substantial over-correction")
_WORDS: Mapping[str, tuple[str, Mapping[str, float]]] = {
    "meaning": ("semantics", {f"scale_{grade}": grade for grade in range(1, 6)}),
    "grammaticality": ("grammaticality", {"0": 0, "1": -1, "2 or more": -2}),
    # The form in which people graded misspells the last step.
    "overcorrection": (
        "overcorrection",
        {step: -number for number, step in enumerate(_STEPS)} | {"Substatial over-correction": -3},
    ),
}
"""By aspect its key in the files, and the grade of every word."""

_PEOPLE = tuple(
    f"DSGram/Dataset/DSGram-Eval/gec_human_eval_test_{rater}.json" for rater in (1, 2, 3)
)
_JUDGES = {
    "GPT-4 (recorded 2024)": "DSGram/Dataset/results/gec_gpt4_eval_test.json",
    "Llama 3 (recorded 2024)": "DSGram/Dataset/results/gec_eval_llama3.json",
}
_PAIR = re.compile(r"original sentence: (.+), corrected sentence: (.*)", re.DOTALL)
_OVERALL = re.compile(r"overall: *([^,]*)$")
_MOST = 10.0


def load_sottana(request: LoadRequest) -> Benchmark:
    """Load Sottana et al. (2023) for `gecjury.benchmarks.load.load_benchmark`."""
    every, names = request.info.system_sets["all"], request.info.system_sets[request.systems]
    people, judge = _read_sottana(request)
    seen = people[0]
    texts = [tuple(row.text(key) for row in seen.values()) for key in _TEXTS]
    versions = dict(zip(every, map(Version, texts[1:]), strict=True))
    chosen = [every.index(name) for name in names]
    raters, by_aspect = {}, {}
    for aspect, (key, words) in _WORDS.items():
        of_people = [key, *(f"{key}_{number}" for number in range(2, len(every) + 1))]
        places = [("label_annotations", of_people[n]) for n in chosen]
        raters[aspect] = np.stack([_grades(rows, seen, places, words) for rows in people])
        places = [(_GOLD if n == 0 else every[n], key) for n in chosen]
        by_aspect[aspect] = _grades(judge, seen, places, words)
    # The reference cannot be a system and its own reference.
    held = every[0] not in names
    corpus = request.corpus(
        texts[0],
        versions,
        lambda _: [versions[every[0]]] * held,
        reference_name=request.reference_name if held else "",
    )
    grades = np.mean(list(by_aspect.values()), axis=0)
    notes = [
        "ratings of three people; grammaticality is the number of errors left and overcorrection "
        "the step, both negated; rankings are derived from the mean of the aspects: one item per "
        "sentence, equal means are a tie",
    ]
    if not held:
        notes.append("the reference is among the outputs compared, so there are no references")
    recorded = (RecordedJudge("GPT-4 (recorded 2023)", grades, by_aspect),)
    ratings = {aspect: defined_mean(table, 0) for aspect, table in raters.items()}
    return of_aspects(request, corpus, ratings, raters, notes, recorded)


def _by_id(rows: Sequence[Row]) -> dict[str, Row]:
    by_id: dict[str, Row] = {}
    for row in rows:
        name = row.text("id")
        if not name or name in by_id:
            row.refuse("id", "an id that no other row has")
        by_id[name] = row
    return by_id


def _read_sottana(request: LoadRequest) -> tuple[list[dict[str, Row]], dict[str, Row]]:
    """Return the rows by id of each person, the same sentences for all, and those of the judge."""
    files = [file for of_rater in _RATERS for file in of_rater]
    paths = request.folder.paths([*files, _GPT4], wanted_by=request.info.name)
    tables = {file: read_table(path, texts=True).rows for file, path in paths.items()}
    people = [_by_id([row for f in of_rater for row in tables[f]]) for of_rater in _RATERS]
    judge, seen = _by_id(tables[_GPT4]), people[0]
    for rows in people[1:]:
        _check_same(seen, rows)
    for name, row in judge.items():
        if name not in seen:
            row.refuse("id", "the id of a sentence that people rated")
    for row in seen.values():
        if not row.text(_TEXTS[0]):
            row.refuse(_TEXTS[0], "a sentence")
    return people, judge


def _check_same(first: Mapping[str, Row], other: Mapping[str, Row]) -> None:
    """Refuse a rater's rows if they are not of the first rater's sentences and outputs."""
    for name, row in first.items():
        if name not in other:
            rater = Path(next(iter(other.values())).table).parent.name
            row.refuse("id", f"a row of every rater; {rater} has none")
    for name, row in other.items():
        for key in _TEXTS:
            if name not in first or row[key] != first[name][key]:
                row.refuse(key, "the text that the first rater saw")


def _grades(
    rows: Mapping[str, Row],
    sentences: Iterable[str],
    places: Sequence[tuple[str, str]],
    words: Mapping[str, float],
) -> FloatArray:
    """Return grades, one row for each place in a row of the file; NaN where there is none."""
    return np.array(
        [
            [_grade(rows[name], keys, words) if name in rows else math.nan for name in sentences]
            for keys in places
        ]
    )


def _grade(row: Row, keys: tuple[str, str], words: Mapping[str, float]) -> float:
    """Return the grade that a row has below two keys; NaN where it has none."""
    outer = row[keys[0]]
    if not isinstance(outer, dict):
        row.refuse(keys[0], "a JSON object with grades by aspect")
    value = outer.get(keys[1])
    if value is None or value == {} or value != value:
        return math.nan
    # A form keeps the word and its number on the form: {"2 or more": "3"}.
    word: Any = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else value
    if isinstance(word, str) and word in words:
        return words[word]
    number = isinstance(word, int | float) and not isinstance(word, bool)
    if number and "scale_1" in words and 1 <= word <= len(words):
        return float(word)
    refuse(f"{row.place(keys[0])}, {keys[1]}", word, f"one of {', '.join(words)}")


def load_dsgram(request: LoadRequest) -> Benchmark:
    """Load DSGram for `gecjury.benchmarks.load.load_benchmark`."""
    paths = request.folder.paths([*_PEOPLE, *_JUDGES.values()], wanted_by=request.info.name)
    people = [_overall(read_table(paths[file], texts=True).rows) for file in _PEOPLE]
    pairs = list(people[0])
    for rows in people[1:]:
        for pair, (row, _) in rows.items():
            if pair not in people[0]:
                row.refuse("input", "a pair that the first rater graded")
    layout = lay_out([source for source, _ in pairs])
    corpus = placed_corpus(request, layout, [correction for _, correction in pairs])

    def table(graded: Mapping[tuple[str, str], tuple[Row, float]]) -> FloatArray:
        return layout.table([graded[pair][1] if pair in graded else math.nan for pair in pairs])

    raters = np.stack([table(rows) for rows in people])
    rating = defined_mean(raters, 0)
    # A source with fewer corrections repeats its first one, with its grade.
    made = ~np.isnan(layout.table([0.0] * len(pairs)))
    recorded, others = [], {}
    for name, file in _JUDGES.items():
        graded = _overall(read_table(paths[file], texts=True).rows)
        grades = table(graded)
        recorded.append(RecordedJudge(name, np.where(made, grades, grades[:1])))
        others[name] = sum(pair not in graded for pair in pairs)
    counts = [int(np.count_nonzero(~np.isnan(of_rater))) for of_rater in raters]
    notes = (
        f"{len(pairs)} corrections of {len(layout.sources)} sources; overall grades of "
        f"{', '.join(map(str, counts))} of them by three people",
        *(f"{name} graded {count} pairs in other texts: no grade here"
          for name, count in others.items() if count),
    )  # fmt: skip
    return of_places(request, corpus, layout, rating, raters, notes, tuple(recorded))


def _overall(rows: Sequence[Row]) -> dict[tuple[str, str], tuple[Row, float]]:
    """Return the row and the overall grade of each pair of texts; NaN for an empty grade."""
    graded: dict[tuple[str, str], tuple[Row, float]] = {}
    for row in rows:
        texts = _PAIR.fullmatch(row.text("input"))
        if texts is None:
            row.refuse("input", "`original sentence: ..., corrected sentence: ...`")
        pair = texts[1].strip(), texts[2].strip()
        if pair in graded:
            row.refuse("input", "a pair that no other row has")
        typed = _OVERALL.search(row.text("output"))
        try:
            grade = float(typed[1].strip() or "nan") if typed else -1.0
        except ValueError:
            grade = -1.0
        if grade < 0 or grade > _MOST:
            row.refuse("output", f"`overall: ` and a grade from 0 to {_MOST:g} at the end")
        graded[pair] = row, grade
    return graded
