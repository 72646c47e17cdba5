"""What a reader is warned of follows from the figures: other figures, other words."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.corpus.corpus import Corpus, Version
from gecjury.errors import OptionError
from gecjury.metaeval.cautions import Caution, cautions
from gecjury.metaeval.comparison import check
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Result, Study, SystemAgreement
from gecjury.stats.preferences import PreferenceAgreement
from gecjury.stats.resampling import Resampling

SAMPLE = load_benchmark("sample")
NAN = float("nan")


def study(systems: int = 12, *, sample: bool = False, scores: Any = None) -> Study:
    """A study of systems that all made the same corrections, with human scores of their own."""
    names = [f"s{number}" for number in range(systems)]
    version = next(iter(SAMPLE.corpus.systems.values()))
    corpus = replace(SAMPLE.corpus, systems=dict.fromkeys(names, version), groups=None)
    human = dict(zip(names, scores or map(float, range(systems)), strict=True))
    benchmark = replace(
        SAMPLE, corpus=corpus, rankings={}, human={"edit": {"mean": human}}, sample=sample
    )
    return Study(benchmark)


def result(name: str, r: float, accuracy: float, **more: Any) -> Result:
    systems = more.pop("systems", 12)
    given = more.pop("scores", np.arange(systems))
    found = SystemAgreement(r, r, r, r, ci95=more.pop("ci95", {}))
    pairs = PreferenceAgreement(
        accuracy=accuracy,
        kendall=2 * accuracy - 1,
        agree=0,
        disagree=0,
        tied=round(1000 * more.pop("tied", 0.0)),
        pairs=1000,
        missing=0,
        ties="half",
    )
    bounds = more.pop("bounds", None)
    return Result(
        metric=name,
        label=name,
        family="refbased",
        signature=f"{name}|v1",
        view="edit",
        scores=given.astype(float),
        system=found,
        sentence=pairs,
        seconds=0.0,
        missing=more.pop("missing", 0),
        sentence_ci95={"accuracy": bounds} if bounds else {},
    )


CHANCE = [replace(result("constant", NAN, 0.5), family="chance")]
BASIC = [result("gleu", 0.95, 0.66), result("errant", 0.90, 0.62)]


def told(of: Study, *results: Result, **more: Any) -> dict[str, str]:
    of = replace(of, settings=more.pop("settings", of.settings))
    found = cautions(of, ("edit",), results, CHANCE, **more)
    assert len({each.heading for each in found}) == len(found)
    return {each.heading: each.text for each in found}


def test_no_caution_without_cause() -> None:
    sure = result("gleu", 0.95, 0.66, systems=25, bounds=(0.6, 0.7))
    assert told(study(25), sure) == {}
    assert cautions(study(25), ("edit",), []) == ()


def test_few_systems_leave_a_correlation_open() -> None:
    # tanh(atanh(.912) ± 1.96 / 3) = .71, .98 for 12 systems.
    twelve = told(study(), result("gleu", 0.912, 0.66), result("errant", 0.90, 0.62))
    assert twelve["Few systems"] == (
        "Correlations are computed over 12 systems. With so few, r = 0.912 is compatible with "
        "anything from 0.71 to 0.98 (Fisher's 95% interval)."
    )
    assert set(twelve) == {"Few systems", "No intervals", "No significance tests"}
    drawn = result("gleu", 0.912, 0.66, ci95={"pearson": (0.6, 0.95)})
    found = told(study(), drawn, BASIC[1], tested=True)
    assert found["Few systems"].endswith("from 0.60 to 0.95 (95% interval).")
    assert set(found) == {"Few systems"}
    less = Settings(resampling=Resampling(confidence=0.9))
    assert told(study(), drawn, settings=less)["Few systems"].endswith(" (90% interval).")
    assert told(study(3), result("gleu", 0.9, 0.6, systems=3))["Few systems"] == (
        "Correlations are computed over 3 systems."
    )


def test_two_systems_have_no_correlation_and_that_is_said_once() -> None:
    found = told(study(2), result("gleu", NAN, 0.6, systems=2))
    assert found["Too few systems"] == (
        "correlations over 2 systems are not defined: three or more are needed"
    )
    assert set(found) == {"Too few systems", "No intervals"}


def test_cautions_name_the_metrics() -> None:
    partly = np.array([NAN, NAN, *range(10)])
    bad = result("gleu", NAN, 0.48, tied=0.53, missing=7, scores=partly)
    found = told(study(sample=True), bad, result("errant", 0.9, 0.62, tied=0.05), noted=["x"])
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


def test_a_reason_that_has_its_note_is_not_told_again() -> None:
    flat = result("gleu", NAN, 0.6, scores=np.zeros(12))
    found = told(study(), flat, BASIC[1])
    assert found["Notes"].startswith("gleu gives all systems the same score (edit)")
    assert "Undefined" not in found
    alike = told(study(scores=[1.0] * 12), result("gleu", NAN, 0.6))
    assert alike["Notes"].startswith("humans give all systems the same score (edit)")
    assert "Undefined" not in alike


@pytest.mark.parametrize(
    ("bounds", "weak"), [(None, False), ((0.49, 0.7), True), ((NAN, NAN), False)]
)
def test_the_lower_end_of_an_interval_decides(bounds: Any, weak: bool) -> None:
    assert ("Chance" in told(study(), result("gleu", 0.9, 0.6, bounds=bounds))) is weak


def test_what_is_not_shown_is_not_warned_of() -> None:
    tied = result("gleu", 0.9, 0.4, tied=0.5)
    system = told(study(), tied, settings=Settings(level="system"))
    assert not {"Ties", "Chance"} & set(system)
    assert "Few systems" not in told(study(), tied, settings=Settings(level="sentence"))


def test_a_note_of_several_metrics_is_told_once() -> None:
    found = cautions(study(25), ("edit",), [], noted=["leakage", "leakage"])
    assert found == (Caution("Metrics", "leakage"),)


def small(sentences: int, *items: RankedItem) -> Study:
    """Four systems with a judgment or two, and so many sentences."""
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
    return Study(benchmark)


def ranked(*names: str, sentence: int = 0) -> RankedItem:
    ranks = tuple(range(1, len(names) + 1))
    return RankedItem("1", sentence, "one", tuple((name,) for name in names), ranks)


def test_systems_that_nobody_compared_are_told() -> None:
    a, b, c, d = list(SAMPLE.corpus.names)[:4]
    (told,) = [
        caution.text
        for caution in cautions(small(30, ranked(a, b), ranked(c, d)), ["edit"], [])
        if "nobody compared" in caution.text
    ]
    assert f"2 groups of systems that nobody compared with each other ({a}, {b} | {c}, {d})" in told
    whole = small(30, ranked(a, b), ranked(b, c), ranked(c, d))
    assert not [c for c in cautions(whole, ["edit"], []) if "nobody compared" in c.text]


def test_few_sentences_are_told() -> None:
    a, b = list(SAMPLE.corpus.names)[:2]
    texts = {
        count: [c.text for c in cautions(small(count, ranked(a, b)), ["edit"], [])]
        for count in (1, 3, 20)
    }
    assert any("from 1 sentence: a single one cannot be resampled" in text for text in texts[1])
    assert any("from 3 sentences: with so few, figures, intervals" in text for text in texts[3])
    assert not any("computed from" in text and "sentence" in text for text in texts[20])


def test_systems_that_a_metric_chose_are_told_where_it_is_compared() -> None:
    chosen = Settings(chosen_by=("s1=gleu", "s=2=gleu", "s3=some"))
    # A system's name may hold an equals sign; `some` is not compared.
    assert chosen.choices == [("s1", "gleu"), ("s=2", "gleu"), ("s3", "some")]
    text = told(study(25), *BASIC, settings=chosen)["Chosen by a metric"]
    assert text.startswith("s1 and s=2: chosen or trained with gleu, which may")
    assert "s3" not in text
    with pytest.raises(OptionError, match="'s1': expected SYSTEM=METRIC"):
        Settings(chosen_by=("s1",))


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ("missing=gleu", r"unknown system of sample \(--chosen-by\) 'missing'"),
        ("fluent=glue", r"unknown metric \(--chosen-by\) 'glue': did you mean gleu"),
    ],
)
def test_a_choice_that_names_nothing_is_refused(choice: str, words: str) -> None:
    with pytest.raises(OptionError, match=words):
        check("sample", ["gleu"], Settings(chosen_by=(choice,)))
