"""The statements follow from the figures: other figures give other statements."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from gecjury.metaeval.disagreement import Consensus
from gecjury.metaeval.result import Comparison
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.uncertainty import Difference, Significance
from gecjury.report.words import ComparisonWords
from gecjury.stats.figure import Figure
from gecjury.stats.resampling import Resampling

NAN = math.nan


@dataclass(frozen=True)
class Case:
    """The parts of a comparison that sentences are made from."""

    figures: tuple[Figure, ...]
    tests: tuple[Significance, ...] = ()
    differences: tuple[Difference, ...] = ()
    sample: bool = False
    level: float = 0.05
    doubly_judged: Mapping[str, float] | None = None

    def answer(self) -> ComparisonWords:
        corpus = SimpleNamespace(names=("a", "b"))
        benchmark = SimpleNamespace(
            corpus=corpus, name="seeda", references="official", systems="base", citation="",
            sample=self.sample,
        )  # fmt: skip
        people = SimpleNamespace(accuracy=0.644, decided=519, perfect=0.768)
        twice = [
            replace(figure, statistic="accuracy_there", value=self.doubly_judged[figure.metric])
            for figure in self.figures
            if self.doubly_judged and figure.statistic == "accuracy"
        ]
        comparison = SimpleNamespace(
            benchmark=benchmark,
            views=("edit",),
            settings=Settings(resampling=Resampling(confidence=0.9, level=self.level)),
            figures=lambda: [*self.figures, *twice],
            uncertainty=SimpleNamespace(tests={"edit": self.tests}, differences=self.differences),
            annotators={"edit": SimpleNamespace(agreement=people)},
        )  # fmt: skip
        return ComparisonWords(cast(Comparison, comparison))

    def changed(self, metric: str, statistic: str, value: float) -> Case:
        """Return the case with another value of one figure."""
        figures = [
            replace(f, value=value) if (f.metric, f.statistic) == (metric, statistic) else f
            for f in self.figures
        ]
        return replace(self, figures=tuple(figures))


def of_metric(
    metric: str, r: float, accuracy: float, low: float = NAN, family: str = "refbased"
) -> list[Figure]:
    about: dict[str, Any] = {"metric": metric, "family": family, "human": "edit"}
    system = [
        Figure(level="system", statistic=key, value=r, **about)
        for key in ("pearson", "spearman", "kendall", "pairwise_accuracy")
    ]
    high = NAN if math.isnan(low) else 0.7
    one = Figure(
        level="sentence", statistic="accuracy", value=accuracy, low=low, high=high, **about
    )
    return [*system, one]


BASIC = Case((*of_metric("gleu", 0.95, 0.66), *of_metric("errant", 0.9, 0.62)))


def said(case: Case, topic: str, consensus: Consensus | None = None) -> str:
    statements = case.answer().summary("edit", consensus)
    return next(s.text for s in statements if s.topic.startswith(topic))


def test_who_leads_and_by_how_much() -> None:
    assert said(BASIC, "System level").startswith(
        "gleu leads: Pearson r 0.950, 0.050 ahead of errant, not tested."
    )
    flipped = BASIC.changed("gleu", "pearson", 0.85).changed("gleu", "accuracy", 0.6)
    assert said(flipped, "System level").startswith(
        "errant leads: Pearson r 0.900, 0.050 ahead of gleu, not tested."
    )
    assert said(flipped, "Sentence level").startswith("errant leads: sentence accuracy 0.620")


def significance(level: str, statistic: str, names: tuple[str, ...], p: Any) -> Significance:
    adjusted = np.array(p, dtype=float)
    test = "perm-both" if level == "system" else "paired-permutation"
    return Significance(
        level, test, statistic, names, np.zeros(len(names)), adjusted, adjusted,
        (1,) * len(names), 1000,
    )  # fmt: skip


def test_differences_are_significant_at_the_level_of_the_comparison() -> None:
    test = significance("system", "pearson", ("gleu", "errant"), [[NAN, 0.012], [0.012, NAN]])
    strict, lenient = (replace(BASIC, tests=(test,), level=x) for x in (0.01, 0.012))
    assert "not significant (p = 0.012" in said(strict, "System level")
    # As in the clusters, p equal to the level is significant.
    assert "errant, significant (p = 0.012" in said(lenient, "System level")


def difference(first: str, second: str, **ci95: Any) -> Difference:
    return Difference("system", "edit", "pearson", first, second, 0.0, ci95)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gap", "paired"),
    [
        (difference("gleu", "errant", both=(-0.058, 0.224), systems=(0.1, 0.2)), True),
        (difference("errant", "gleu", both=(-0.224, 0.058)), True),
        (difference("errant", "gleu"), False),
        (difference("errant", "gleu", both=(NAN, NAN)), False),
    ],
)
def test_the_interval_of_the_lead_is_paired_and_leader_minus_second(
    gap: Difference, paired: bool
) -> None:
    case = replace(BASIC, differences=(difference("gleu", "m2", both=(0.5, 0.6)), gap))
    interval = " (paired 90%: −0.058 to 0.224)" * paired
    assert f"0.050 ahead of errant{interval}, not tested." in said(case, "System level")


def test_another_measure_may_have_another_leader() -> None:
    changed = BASIC.changed("errant", "spearman", 0.99)
    assert said(changed, "System level").endswith("But errant leads by Spearman ρ 0.990.")
    assert "But" not in said(BASIC, "System level")
    both = replace(changed, figures=(*changed.figures, *of_metric("m2", 0.8, 0.5)))
    both = both.changed("m2", "spearman", 0.99)
    assert said(both, "System level").endswith("But errant and m2 lead by Spearman ρ 0.990.")


def test_two_annotators() -> None:
    """At agreement .644, a metric that is always right reaches .644 to .5 + .5·√.288 = .768."""
    case = replace(BASIC, doubly_judged={"gleu": 0.705, "errant": 0.6})
    assert said(case, "People") == (
        "Two annotators agree on 64.4% of 519 pairs; a perfect metric would on 64.4% to 76.8%, "
        "gleu does on 70.5%."
    )


def test_agreement_of_families() -> None:
    case = Case((*of_metric("gleu", 0.9, 0.6), *of_metric("llm-s", 0.9, 0.6, family="judges")))
    consensus = Consensus(1200, 900, 0.8, {"refbased": 0.4, "judges": 0.6})
    assert said(case, "Where they agree", consensus) == (
        "All families agree on 75.0% of 1\u202f200 judged pairs; people agree with them on "
        "80.0% of these. On the others LLM judge is right most often (60.0%)."
    )


def test_single_edits() -> None:
    assert BASIC.answer().of_edits is None

    def auc(metric: str, value: float, family: str = "refbased") -> Figure:
        return Figure(
            level="edit", human="edit", metric=metric, family=family, statistic="auc", value=value
        )

    people = auc("one annotator by another", 0.733, "humans")
    statement = Case((auc("gleu", 0.71), auc("errant", 0.7), people)).answer().of_edits
    assert statement is not None
    assert statement.text == (
        "gleu separates valid from invalid edits best: AUC 0.710 (chance 0.5, one annotator by "
        "another 0.733)."
    )
    only = Case((auc("errant", 0.7),)).answer()
    assert only.of_edits is not None
    assert only.of_edits.text.endswith("(chance 0.5).")
    assert only.summary("edit", None) == []


LONG = "llm-s:model=a,base_url=http://host/v1"


def families(**more: Any) -> Case:
    """Return three metrics of two families, with tests and intervals of sentence accuracy."""
    figures = [
        *of_metric("gleu", 0.9, 0.66, 0.6),
        *of_metric("errant", 0.8, 0.64, 0.58),
        *of_metric(LONG, 0.7, 0.52, 0.46, "judges"),
    ]
    p = [[NAN, 0.4, 0.004], [0.4, NAN, 0.01], [0.004, 0.01, NAN]]
    test = significance("sentence", "accuracy", ("gleu", "errant", LONG), p)
    gap = replace(
        difference("gleu", LONG, both=(0.05, 0.2)), level="sentence", statistic="accuracy"
    )
    return replace(Case(tuple(figures), (test,), (gap,)), **more)


def test_the_best_of_each_family_are_contrasted_with_interval_and_test() -> None:
    system, sentence = families().answer().families
    assert system == (
        "System level, best of each family: reference-based gleu (Pearson r 0.900) is 0.200 ahead "
        "of LLM judge llm-s, not tested."
    )
    assert sentence.endswith(
        "(sentence accuracy 0.660) is 0.140 ahead of LLM judge llm-s (paired 90%: 0.050 to 0.200), "
        "significant (p = 0.004, paired permutation, Holm-corrected over 3 metrics)."
    )
    assert BASIC.answer().families == []


def advice(case: Case) -> list[str]:
    return [text for text in case.answer().verdict if text.startswith("To order")]


def test_metrics_not_significantly_below_the_leader_are_recommended() -> None:
    # The system level has no test here, so there is no recommendation for it.
    assert not [text for text in families().answer().verdict if text.startswith("To rank")]
    assert advice(families()) == [
        "To order corrections of a sentence: use gleu or errant (no test places them below the "
        "leader). Not above chance (sentence accuracy 0.5) by their 90% intervals: llm-s."
    ]
    assert advice(families(sample=True)) == []
    assert advice(families(tests=())) == []
    undefined = families()
    for metric in ("gleu", "errant", LONG):
        undefined = undefined.changed(metric, "accuracy", NAN)
    assert advice(undefined) == []


def test_counting_the_changes_is_a_baseline_for_recommendations() -> None:
    [text] = advice(with_baselines(families(), 0.41))
    assert "use gleu. Not above count-changes (0.590) by their 90% intervals: errant." in text
    case = with_baselines(families(), 0.3)
    [text] = advice(case)
    assert "no metric can be recommended. Not above count-changes (0.700)" in text
    # Similarity to the source is the baseline where people prefer fewer changes.
    [text] = advice(with_baselines(families(), 0.65))
    assert "no metric can be recommended. Not above copy-source (0.650)" in text
    # The baseline is neither recommended nor compared with itself.
    named = {"gleu": "changes"}
    figures = tuple(replace(f, metric=named.get(f.metric, f.metric)) for f in case.figures)
    tests = (replace(case.tests[0], metrics=("changes", "errant", LONG)),)
    [text] = advice(replace(case, figures=figures, tests=tests))
    assert "changes" not in text.replace("count-changes", "")


def with_baselines(case: Case, accuracy: float) -> Case:
    copied = of_metric("copy-source", 0.1, accuracy, family="chance")
    counted = of_metric("count-changes", -0.1, 1 - accuracy, family="chance")
    return replace(case, figures=(*case.figures, *copied, *counted))


def test_the_opening_is_a_sentence_for_each_level_and_names_the_baseline() -> None:
    system, sentence = with_baselines(families(), 0.41).answer().opening
    assert system == (
        "System level: gleu leads: Pearson r 0.900, 0.100 ahead of errant, not tested."
    )
    assert sentence == (
        "Sentence level: gleu leads: sentence accuracy 0.660, 0.020 ahead of errant, not "
        "significant (p = 0.400, paired permutation, Holm-corrected over 3 metrics), but errant "
        "and llm-s are not above count-changes (0.590) by their 90% intervals."
    )
    [_, sentence] = with_baselines(families(), 0.3).answer().opening
    assert sentence.endswith(", but no metric is above count-changes (0.700) by its 90% interval.")
    # A sample is never evidence, so it gives no advice.
    [_, sentence] = with_baselines(families(sample=True), 0.3).answer().opening
    assert "count-changes" not in sentence
    assert BASIC.answer().opening == BASIC.answer().verdict[:2]


def test_the_opening_covers_both_kinds_of_judgments_in_one_sentence() -> None:
    answer = families().answer()
    other = [replace(figure, human="sentence") for figure in answer.comparison.figures()]
    both = SimpleNamespace(
        **{**vars(answer.comparison), "views": ("edit", "sentence")},
    )
    both.figures = lambda: [*answer.comparison.figures(), *other]
    system, sentence = ComparisonWords(cast(Comparison, both)).opening
    assert system == (
        "System level, edit-based judgments: gleu leads: Pearson r 0.900, 0.100 ahead of errant, "
        "not tested; sentence-based judgments: gleu leads (Pearson r 0.900, not tested)."
    )
    assert "; sentence-based judgments: gleu leads (sentence accuracy 0.660" in sentence


def test_the_order_of_the_verdict() -> None:
    sentences = families().answer().verdict
    assert [text.partition(":")[0] for text in sentences] == [
        "System level", "Sentence level", "System level, best of each family",
        "Sentence level, best of each family", "To order corrections of a sentence",
    ]  # fmt: skip
    assert "base_url" not in " ".join(sentences)
    assert "never evidence" in families(sample=True).answer().verdict[0]
