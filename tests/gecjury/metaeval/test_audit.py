"""Audits of judges: biases by hand and planted, model families, invalid replies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import RankedItem
from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.audit import (
    accuracy_with_invalid,
    judges_audits,
    measure_biases,
    model_families,
)
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.stats.choices import TieRule
from gecjury.stats.resampling import Resampling

NAN = float("nan")
PLAIN = Settings(resampling=Resampling(over="none"))


def benchmark(
    sources: tuple[str, ...], systems: dict[str, tuple[str, ...]], *items: RankedItem
) -> Benchmark:
    corpus = Corpus(sources, {name: Version(lines) for name, lines in systems.items()})
    return Benchmark(
        name="toy",
        corpus=corpus,
        rankings={"edit": items},
        human={"edit": {"mean": dict.fromkeys(systems, 0.0)}},
        view="edit",
        systems="all",
        system_sets={},
        references="",
        sentence_ids=tuple(range(len(sources))),
        citation="by hand",
    )


# Edits on the two sources: A 0, 1; B 2, 1; C 1, 2. Tokens: A 4, 3; B 4, 4; C 3, 5.
SOURCES = ("a b c d", "e f g")
SYSTEMS = {
    "A": ("a b c d", "e f h"),
    "B": ("a x c y", "e f g z"),
    "C": ("a b c", "v w e q g"),
}
# On the first source C is best and A and B tie; on the second A is better than B, B than C.
ITEMS = (
    RankedItem("1", 0, "one", (("A",), ("B",), ("C",)), (2, 2, 1)),
    RankedItem("2", 1, "one", (("A",), ("B",), ("C",)), (1, 2, 3)),
)
TOY = benchmark(SOURCES, SYSTEMS, *ITEMS)
# First source B > A = C, second C > B > A.
SCORES = np.array([[1.0, 1.0], [2.0, 2.0], [1.0, 3.0]])


def biases(
    data: Benchmark, scores: FloatArray, settings: Settings = PLAIN, *models: str
) -> dict[str, AgreementRow]:
    table = sentence_table("m", data.corpus.names, scores)
    audit = {"members": [{"model": model} for model in models or ("mine",)], "rows": []}
    table = replace(table, statistics=replace(table.statistics, details={"audit": audit}))
    study = MetaEvaluation(data, settings, runtime=Runtime(use_cache=False))
    rows = measure_biases(study, [table])
    return {row.side: row for row in rows}


def test_biases_by_hand() -> None:
    rows = biases(TOY, SCORES)
    # More edits. First source: B over A (people tie, metric B), C over A (people C, metric ties),
    # B over C (people C, metric B). Second: A and B have one each; C over A (people A, metric C),
    # C over B (people B, metric C). Metric: 1 + ½ + 1 + 1 + 1 = 4.5 of 5; people: ½ + 1 = 1.5.
    assert rows["more edits"].values == {
        "difference": pytest.approx(0.6), "preferred": pytest.approx(0.9),
        "people": pytest.approx(0.3), "pairs": 5, "missing": 0,
    }  # fmt: skip
    # Longer text. First source: A over C (people C, metric ties), B over C (people C, metric B);
    # second: B over A, C over A and C over B, where people prefer the shorter, the metric the
    # longer. Metric: ½ + 1 + 3 = 4.5 of 5; people: 0.
    longer = rows["longer text"]
    assert (longer.values["preferred"], longer.values["people"], longer.values["pairs"]) == (
        pytest.approx(0.9),
        0.0,
        5,
    )
    assert longer.values["difference"] == pytest.approx(0.9)
    assert rows["more edits"].intervals == {}
    # The families of these systems are not known.
    assert (rows["own family"].values["pairs"], rows["own family"].systems) == (0, ())


def test_pairs_without_a_score_are_counted_and_left_out() -> None:
    scores = SCORES.copy()
    scores[0, 0] = NAN
    # Pairs left for more edits: B over C, C over A, C over B: metric 3 of 3, people 0.
    row = biases(TOY, scores)["more edits"]
    assert (
        row.values["preferred"],
        row.values["people"],
        row.values["pairs"],
        row.values["missing"],
    ) == (1.0, 0.0, 3, 2)
    nothing = biases(TOY, np.full((3, 2), NAN))["more edits"]
    assert (nothing.values["pairs"], nothing.values["missing"]) == (0, 5)
    assert np.isnan(nothing.values["difference"])


def test_systems_with_the_same_text_are_not_a_pair() -> None:
    items = (RankedItem("1", 0, "one", (("A", "B"), ("C",)), (1, 2)),)
    data = benchmark(("a b",), {"A": ("a b",), "B": ("a b",), "C": ("a",)}, *items)
    row = biases(data, np.array([[2.0], [2.0], [1.0]]))["more edits"]
    # C over A and C over B: the correction counts once for each of its systems.
    assert (row.values["pairs"], row.values["preferred"], row.values["people"]) == (2, 0.0, 0.0)


def test_the_own_family_of_a_judge_and_of_a_panel() -> None:
    # The families of SEEDA's systems are known, and a panel has the families of all its models.
    systems = {"GPT-3.5": SYSTEMS["A"], "T5": SYSTEMS["B"], "PIE": SYSTEMS["C"]}
    named_so = [replace(item, groups=(("GPT-3.5",), ("T5",), ("PIE",))) for item in ITEMS]
    seeda = replace(benchmark(SOURCES, systems, *named_so), name="seeda")
    # T5 against the others. First source: T5 and GPT-3.5 (people tie, metric T5), PIE (people PIE,
    # metric T5); second: GPT-3.5 (people GPT-3.5, metric T5), PIE (people T5, metric PIE): metric 3
    # of 4, people ½ + 0 + 0 + 1.
    own = biases(seeda, SCORES, PLAIN, "google/flan-t5-xl")["own family"]
    assert (own.values["preferred"], own.values["people"], own.values["pairs"], own.systems) == (
        0.75,
        0.375,
        4,
        ("T5",),
    )
    assert own.values["difference"] == 0.375
    # GPT-3.5 and T5 are compared only with PIE; the pair of these two says nothing.
    both = biases(seeda, SCORES, PLAIN, "gpt-4o", "google/flan-t5-xl")["own family"]
    assert (both.systems, both.values["pairs"]) == (("GPT-3.5", "T5"), 4)


def test_only_judges_have_biases() -> None:
    table = sentence_table("m", TOY.corpus.names, SCORES)
    assert measure_biases(MetaEvaluation(TOY, PLAIN), [table]) == ()


def planted(seed: int, lines: int = 120) -> tuple[Benchmark, FloatArray]:
    """Two corrections per source; people prefer either at random; A has one to four more words."""
    rng = np.random.default_rng(seed)
    more = rng.integers(1, 5, size=lines)
    sources = tuple("a b c" for _ in range(lines))
    systems = {"A": tuple("a b c" + " d" * n for n in more), "B": sources}
    best = rng.integers(2, size=lines)
    items = [RankedItem("1", n, "x", (("A",), ("B",)), (1 + b, 2 - b)) for n, b in enumerate(best)]
    people = np.stack([1.0 - best, best])
    return benchmark(sources, systems, *items), people


def test_a_planted_bias_is_shown_and_people_have_none() -> None:
    drawn = Settings(resampling=Resampling(over="sentences", resamples=200))
    data, people = planted(1)
    length = np.array([[len(line) for line in v.lines] for v in data.corpus.systems.values()])
    longer = biases(data, length.astype(float), drawn)["longer text"]
    # It always prefers the longer text; people do in about half of the pairs.
    assert longer.values["preferred"] == 1.0
    assert longer.values["difference"] == 1 - longer.values["people"]
    assert longer.intervals["difference"][0] > 0.3
    # A metric that agrees with people in every pair has no bias, and draws show no interval.
    agreeing = biases(data, people, drawn)["longer text"]
    assert agreeing.values["difference"] == 0.0
    assert np.isnan(agreeing.intervals["difference"]).all()
    # One that agrees in two of three pairs, whatever their length, has an interval around 0.
    flipped = np.where(np.random.default_rng(2).random(people.shape[1]) < 1 / 3, 1 - people, people)
    low, high = biases(data, flipped, drawn)["longer text"].intervals["difference"]
    assert low < 0 < high


def test_intervals_are_those_of_resampled_sources() -> None:
    drawn = Settings(resampling=Resampling(over="sentences", resamples=50))
    data, people = planted(3, lines=30)
    scores = np.random.default_rng(4).random(people.shape)
    row = biases(data, scores, drawn)["more edits"]
    counts = MetaEvaluation(data, drawn).drawn_counts
    assert counts is not None
    # One pair per source, and A is always longer: a draw is a weighted mean of the residuals.
    residuals = (scores[0] > scores[1]) - people[0]
    expected = [float(np.average(residuals, weights=weights)) for weights in counts]
    np.testing.assert_allclose(row.drawn["difference"], expected, atol=1e-12)


@pytest.mark.parametrize(
    ("model", "families"),
    [
        ("gpt-4o-2024-08-06", ("gpt",)),
        ("ft:gpt-4o-mini:me::x1", ("gpt",)),
        ("meta-llama/Llama-3.1-8B-Instruct", ("llama",)),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", ("qwen", "deepseek")),
        ("/models/smollm2-135m-instruct/", ("smollm",)),
        ("my-judge", ()),
        ("roberta-large", ()),
    ],
)
def test_families_of_models(model: str, families: tuple[str, ...]) -> None:
    assert model_families(model) == families


# First source B > A, no score of C; second A > B = C.
REPLIES = np.array([[1.0, 3.0], [2.0, 2.0], [NAN, 2.0]])
INVALID = [{"model": "m", "missing": [{"line": 1}]}]


@pytest.mark.parametrize(
    ("ties", "accuracy", "with_invalid"),
    [
        # Decided on the first source: A-C and B-C, without C's score. On the second: A-B and A-C
        # are right, and B-C (people: B) is tied: 2.5 of 3, then of 5.
        ("half", 2.5 / 3, 2.5 / 5),
        ("loss", 2 / 3, 2 / 5),
        ("drop", 1.0, 2 / 4),
        # People's tie of A and B on the first source counts, too, and ε is 0 (1 would be right on
        # that tie alone): 2 of 4, then of 6.
        ("calibrated", 2 / 4, 2 / 6),
    ],
)
def test_invalid_replies_count_as_wrong(
    ties: TieRule, accuracy: float, with_invalid: float
) -> None:
    study = MetaEvaluation(TOY, Settings(ties=ties))
    table = sentence_table("m", TOY.corpus.names, REPLIES)
    _, result, _ = study.evaluate(table)
    assert result.values["accuracy"] == pytest.approx(accuracy)
    assert accuracy_with_invalid(study, table, result, INVALID) == pytest.approx(with_invalid)
    # A pair that the judge was never asked about is still left out.
    elsewhere: list[dict[str, Any]] = [{"missing": [{"line": 2}]}, {}]
    assert accuracy_with_invalid(study, table, result, elsewhere) == pytest.approx(accuracy)


def test_an_audit_includes_the_agreement_with_people() -> None:
    study = MetaEvaluation(TOY, Settings())
    plain = sentence_table("m", TOY.corpus.names, REPLIES)
    entry = {"members": INVALID, "rows": [], "panel": {"ordinal": 0.4}}
    table = replace(plain, statistics=replace(plain.statistics, details={"audit": entry}))
    results = study.evaluate(table)
    (audit,) = judges_audits(
        study, [table, replace(plain, statistics=plain.statistics)], results, {}
    )
    found = audit.humans["edit"]
    assert found.accuracy == pytest.approx(2.5 / 3)
    assert found.with_invalid == pytest.approx(0.5)
    assert np.isnan(found.ceiling)
    assert audit.stored.panel == {"ordinal": 0.4}
