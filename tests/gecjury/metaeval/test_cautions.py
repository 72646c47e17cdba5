"""Cautions depend on the figures: different figures give different warnings."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.cautions import cautions
from gecjury.metaeval.result import SYSTEM_STATISTICS
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.stats.resampling import Resampling

SAMPLE = load_benchmark("sample")
NAN = float("nan")


def study(systems: int = 12, *, sample: bool = False, scores: Any = None) -> MetaEvaluation:
    """Return a study of systems with the same corrections and different human scores."""
    names = [f"s{number}" for number in range(systems)]
    version = next(iter(SAMPLE.corpus.systems.values()))
    corpus = replace(SAMPLE.corpus, systems=dict.fromkeys(names, version), groups=None)
    human = dict(zip(names, scores or map(float, range(systems)), strict=True))
    benchmark = replace(
        SAMPLE, corpus=corpus, rankings={}, human={"edit": {"mean": human}}, sample=sample
    )
    return MetaEvaluation(benchmark)


def result(name: str, r: float, accuracy: float, **more: Any) -> list[AgreementRow]:
    """Return the rows of a metric over systems and over judged pairs."""
    systems = more.pop("systems", 12)
    bounds, tied = more.pop("bounds", None), more.pop("tied", 0.0)
    row = AgreementRow(
        level="system",
        metric=name,
        family="refbased",
        human="edit",
        values=dict.fromkeys(SYSTEM_STATISTICS, r),
        signature=f"{name}|v1",
        missing=more.pop("missing", 0),
        intervals=more.pop("ci95", {}),
        scores=more.pop("scores", np.arange(systems)).astype(float),
    )
    values = {"accuracy": accuracy, "tied_share": tied, "pairs": 1000, "missing": 0}
    bounded = {"accuracy": bounds} if bounds else {}
    return [row, replace(row, level="sentence", values=values, intervals=bounded)]


CHANCE = [replace(row, family="chance") for row in result("constant", NAN, 0.5)]
BASIC = [result("gleu", 0.95, 0.66), result("errant", 0.90, 0.62)]


def cautions_of(of: MetaEvaluation, *results: list[AgreementRow], **more: Any) -> dict[str, str]:
    of = replace(of, settings=more.pop("settings", of.settings))
    rows = [row for metric in results for row in metric]
    found = cautions(of, rows, CHANCE, **more)
    assert len({each.heading for each in found}) == len(found)
    return {each.heading: each.text for each in found}


def test_few_systems_leave_a_correlation_uncertain() -> None:
    # tanh(atanh(.912) ± 1.96 / 3) = .71, .98 for 12 systems.
    twelve = cautions_of(study(), result("gleu", 0.912, 0.66), result("errant", 0.90, 0.62))
    assert twelve["Few systems"] == (
        "Correlations are computed over 12 systems. With so few, r = 0.912 is compatible with "
        "anything from 0.71 to 0.98 (Fisher's 95% interval)."
    )
    assert set(twelve) == {"Few systems", "No intervals", "No significance tests"}
    drawn = result("gleu", 0.912, 0.66, ci95={"pearson": (0.6, 0.95)})
    found = cautions_of(study(), drawn, BASIC[1], tested=True)
    assert found["Few systems"].endswith("from 0.60 to 0.95 (95% interval).")
    assert set(found) == {"Few systems"}
    less = Settings(resampling=Resampling(confidence=0.9))
    assert cautions_of(study(), drawn, settings=less)["Few systems"].endswith(" (90% interval).")
    assert cautions_of(study(3), result("gleu", 0.9, 0.6, systems=3))["Few systems"] == (
        "Correlations are computed over 3 systems."
    )


def test_two_systems_have_no_correlation_and_this_is_reported_once() -> None:
    found = cautions_of(study(2), result("gleu", NAN, 0.6, systems=2))
    assert found["Too few systems"] == (
        "correlations over 2 systems are not defined: three or more are needed"
    )
    assert set(found) == {"Too few systems", "No intervals"}


def test_a_perfect_correlation_over_few_systems_has_no_interval() -> None:
    for r, ci95 in ((1.0, {}), (0.99998, {"pearson": (0.9976, 0.99999)})):
        best = result("gleu", r, 0.66, systems=4, ci95=ci95)
        found = cautions_of(study(4), best, result("errant", 0.9, 0.62, systems=4))
        assert found["Few systems"] == (
            "Correlations are computed over 4 systems. With so few, r = 1.000 is compatible with "
            "much less, but no interval can be given."
        )


def test_cautions_name_the_metrics() -> None:
    partly = np.array([NAN, NAN, *range(10)])
    bad = result("gleu", NAN, 0.48, tied=0.53, missing=7, scores=partly)
    found = cautions_of(
        study(sample=True), bad, result("errant", 0.9, 0.62, tied=0.05), noted=["x"]
    )
    assert "never evidence" in found["Sample data"]
    assert found["Ties"] == (
        "Pairs that a metric scores equally: gleu 53.0%. Under the rule “half” each counts as "
        "half right."
    )
    assert found["Missing scores"] == "Sentence scores that are missing and left out: gleu 7."
    assert found["Undefined"].startswith("No correlation is defined for gleu: ")
    assert found["Chance"] == (
        "Not above chance at the sentence level: gleu (edit-based judgments)."
    )
    assert found["Metrics"] == "x"


def test_a_reason_given_in_a_note_is_not_repeated() -> None:
    flat = result("gleu", NAN, 0.6, scores=np.zeros(12))
    found = cautions_of(study(), flat, BASIC[1])
    assert found["Notes"].startswith("gleu gives all systems the same score (edit)")
    assert "Undefined" not in found
    alike = cautions_of(study(scores=[1.0] * 12), result("gleu", NAN, 0.6))
    assert alike["Notes"].startswith("humans give all systems the same score (edit)")
    assert "Undefined" not in alike


@pytest.mark.parametrize(
    ("bounds", "weak"), [(None, False), ((0.49, 0.7), True), ((NAN, NAN), False)]
)
def test_the_lower_end_of_an_interval_decides(bounds: Any, weak: bool) -> None:
    assert ("Chance" in cautions_of(study(), result("gleu", 0.9, 0.6, bounds=bounds))) is weak


def test_there_are_no_cautions_about_levels_that_are_not_shown() -> None:
    tied = result("gleu", 0.9, 0.4, tied=0.5)
    system = cautions_of(study(), tied, settings=Settings(level="system"))
    assert not {"Ties", "Chance"} & set(system)
    assert "Few systems" not in cautions_of(study(), tied, settings=Settings(level="sentence"))


def small(sentences: int, *items: RankedItem) -> MetaEvaluation:
    """Return a study of four systems with a few judgments and the given number of sentences."""
    corpus = SAMPLE.corpus
    names = list(corpus.names)[:4]
    cut = Corpus(
        corpus.sources[:sentences],
        {name: Version(corpus.systems[name].lines[:sentences]) for name in names},
        (Version(corpus.references[0].lines[:sentences]),),
    )
    benchmark = replace(
        SAMPLE,
        corpus=cut,
        rankings={"edit": items},
        human={"edit": {"trueskill": dict(zip(names, (4.0, 3.0, 2.0, 1.0), strict=True))}},
        sample=False,
    )
    return MetaEvaluation(benchmark)


def ranked(*names: str, sentence: int = 0) -> RankedItem:
    ranks = tuple(range(1, len(names) + 1))
    return RankedItem("1", sentence, "one", tuple((name,) for name in names), ranks)


def test_systems_that_nobody_compared_are_reported() -> None:
    a, b, c, d = list(SAMPLE.corpus.names)[:4]
    (text,) = [
        caution.text
        for caution in cautions(small(30, ranked(a, b), ranked(c, d)), [])
        if "nobody compared" in caution.text
    ]
    assert f"2 groups of systems that nobody compared with each other ({a}, {b} | {c}, {d})" in text
    whole = small(30, ranked(a, b), ranked(b, c), ranked(c, d))
    assert not [c for c in cautions(whole, []) if "nobody compared" in c.text]


def test_few_sentences_are_reported() -> None:
    a, b = list(SAMPLE.corpus.names)[:2]
    texts = {
        count: [c.text for c in cautions(small(count, ranked(a, b)), [])] for count in (1, 3, 20)
    }
    assert any("from 1 sentence: a single one cannot be resampled" in text for text in texts[1])
    assert any("from 3 sentences: with so few, figures, intervals" in text for text in texts[3])
    assert not any("computed from" in text and "sentence" in text for text in texts[20])
