"""The statements of the report follow from the numbers: other numbers give other statements."""

from __future__ import annotations

import copy
from typing import Any

from gecjury.metaeval.disagreement import Consensus
from gecjury.report.words import (
    certainty,
    edit_statement,
    family_contrast,
    recommendations,
    summarise,
    verdict,
)


def row(metric: str, r: float | None, accuracy: float, **more: Any) -> dict[str, Any]:
    return {
        "metric": metric,
        "family": more.pop("family", "refbased"),
        "human": more.pop("human", "edit"),
        "system": {"pearson": r, "spearman": r, "kendall": r, "pairwise_accuracy": r, "ci95": {}},
        "sentence": {"accuracy": accuracy, "tied_share": more.pop("tied", 0.0), "ci95": None},
        "scores": more.pop("scores", {"a": 2.0, "b": 1.0}),
        "missing": more.pop("missing", 0),
        **more,
    }


def document(*rows: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "benchmark": "seeda",
        "sample": False,
        "systems": [f"s{n}" for n in range(12)],
        "ties": "half",
        "rows": list(rows),
        "ceiling": {"edit": {"accuracy": 0.644, "decided": 519}},
        "human_values": {"edit": {"a": 2.0, "b": 1.0}},
        "chance": {"constant": {"human": {"edit": {"sentence": {"accuracy": 0.5}}}}},
        **more,
    }


BASIC = document(row("gleu", 0.95, 0.66), row("errant", 0.90, 0.62))


def said(record: dict[str, Any], topic: str) -> str:
    return next(s.text for s in summarise(record, "edit", None) if s.topic.startswith(topic))


def test_who_leads_and_by_how_much() -> None:
    assert said(BASIC, "System level").startswith(
        "gleu leads: Pearson r 0.950, 0.050 ahead of errant, not tested."
    )
    flipped = document(row("gleu", 0.85, 0.60), row("errant", 0.90, 0.62))
    assert said(flipped, "System level").startswith(
        "errant leads: Pearson r 0.900, 0.050 ahead of gleu, not tested."
    )
    assert said(flipped, "Sentence level").startswith("errant leads: sentence accuracy 0.620")


def test_differences_are_significant_at_the_level_of_the_comparison() -> None:
    strict, lenient = ({**with_test(0.012), "uncertainty": {"level": x}} for x in (0.01, 0.012))
    assert "not significant (p = 0.012" in said(strict, "System level")
    # As in the clusters, p equal to the level is significant.
    assert "errant, significant (p = 0.012" in said(lenient, "System level")


def difference(first: str, second: str, ci95: dict[str, list[float | None]]) -> dict[str, Any]:
    return {"level": "system", "human": "edit", "statistic": "pearson",
            "first": first, "second": second, "ci95": ci95}  # fmt: skip


def test_the_interval_of_the_lead_is_paired_and_leader_minus_second() -> None:
    record = document(row("gleu", 0.95, 0.66), row("errant", 0.9, 0.6))
    record["uncertainty"] = {"confidence": 0.9, "over": "both"}
    record["differences"] = [
        difference("gleu", "m2", {"both": [0.5, 0.6]}),
        difference("gleu", "errant", {"both": [-0.058, 0.224], "systems": [0.1, 0.2]}),
    ]
    lead = "0.050 ahead of errant (paired 90%: −0.058 to 0.224), not tested."
    assert lead in said(record, "System level")
    record["differences"] = [difference("errant", "gleu", {"both": [-0.224, 0.058]})]
    assert lead in said(record, "System level")
    for bounds in ({}, {"both": [None, None]}):
        record["differences"] = [difference("errant", "gleu", bounds)]
        assert "ahead of errant, not tested." in said(record, "System level")


def test_another_measure_may_have_another_leader() -> None:
    changed = copy.deepcopy(BASIC)
    changed["rows"][1]["system"]["spearman"] = 0.99
    assert said(changed, "System level").endswith("But errant leads by Spearman ρ 0.990.")
    assert "But" not in said(BASIC, "System level")


def with_test(p: float) -> dict[str, Any]:
    test = {
        "human": "edit", "level": "system", "test": "perm-both", "statistic": "pearson",
        "metrics": ["gleu", "errant"], "p": [[None, p / 2], [p / 2, None]],
        "adjusted": [[None, p], [p, None]], "correction": "holm", "resamples": 1000,
    }  # fmt: skip
    return document(row("gleu", 0.95, 0.66), row("errant", 0.90, 0.62), significance=[test])


def test_two_annotators() -> None:
    """At agreement .644, a metric that is always right reaches .644 to .5 + .5·√.288 = .768."""
    record = document(row("gleu", 0.95, 0.66), row("errant", 0.90, 0.51))
    record["ceiling"]["edit"]["perfect"] = 0.768
    record["rows"][0]["sentence"]["doubly_judged"] = {"accuracy": 0.705, "pairs": 1038}
    record["rows"][1]["sentence"]["doubly_judged"] = {"accuracy": 0.6, "pairs": 1038}
    statement = said(record, "People")
    assert statement == (
        "Two annotators agree on 64.4% of 519 pairs; a perfect metric would on 64.4% to 76.8%, "
        "gleu does on 70.5%."
    )


def test_agreement_of_families() -> None:
    rows = (row("gleu", 0.9, 0.6), row("llm-s", 0.9, 0.6, family="judges"))
    consensus = Consensus(1200, 900, 0.8, {"refbased": 0.4, "judges": 0.6})
    text = next(
        s.text
        for s in summarise(document(*rows), "edit", consensus)
        if s.topic == "Where they agree"
    )
    assert text == (
        "All families agree on 75.0% of 1\u202f200 judged pairs; people agree with them on "
        "80.0% of these. On the others LLM judge is right most often (60.0%)."
    )


def test_single_edits() -> None:
    assert edit_statement(BASIC) is None
    rows = (row("gleu", 0.9, 0.6, edit={"auc": 0.71}), row("errant", 0.8, 0.6, edit={"auc": 0.7}))
    statement = edit_statement(document(*rows, edit_ceiling={"auc": 0.733}))
    assert statement is not None
    assert statement.text == (
        "gleu separates valid from invalid edits best: AUC 0.710 (chance 0.5, one annotator by "
        "another 0.733)."
    )
    rows[1]["edit"]["auc"] = 0.72
    flipped = edit_statement(document(*rows))
    assert flipped is not None
    assert flipped.text.startswith("errant separates")
    only = document({"metric": "errant", "family": "refbased", "human": "edit",
                     "edit": {"auc": 0.7}})  # fmt: skip
    assert summarise(only, "edit", None) == []


def families(**more: Any) -> dict[str, Any]:
    """Return three metrics of two families, with tests and intervals of sentence accuracy."""
    rows = [
        row("gleu", 0.9, 0.66),
        row("errant", 0.8, 0.64),
        row("llm-s:model=a,base_url=http://host/v1", 0.7, 0.52, family="judges"),
    ]
    for one, low in zip(rows, (0.6, 0.58, 0.46), strict=True):
        one["sentence"]["ci95"] = {"accuracy": [low, 0.7]}
    test = {
        "human": "edit", "level": "sentence", "test": "paired-permutation", "statistic": "accuracy",
        "metrics": [one["metric"] for one in rows], "correction": "holm",
        "adjusted": [[None, 0.4, 0.004], [0.4, None, 0.01], [0.004, 0.01, None]],
    }  # fmt: skip
    gap = difference("gleu", rows[2]["metric"], {"both": [0.05, 0.2]})
    gap |= {"level": "sentence", "statistic": "accuracy"}
    return document(
        *rows,
        **{
            "significance": [test],
            "differences": [gap],
            "uncertainty": {"confidence": 0.9, "level": 0.05, "over": "both"},
            "human_scores": {"edit": "trueskill"},
            **more,
        },
    )


def test_the_best_of_each_family_are_contrasted_with_interval_and_test() -> None:
    system, sentence = family_contrast(families())
    assert system == (
        "System level, best of each family: reference-based gleu (Pearson r 0.900) is 0.200 ahead "
        "of LLM judge llm-s:model=a,base_url=http://host/v1, not tested."
    )
    assert sentence.endswith(
        "(sentence accuracy 0.660) is 0.140 ahead of LLM judge "
        "llm-s:model=a,base_url=http://host/v1 (paired 90%: 0.050 to 0.200), significant "
        "(p = 0.004, paired permutation)."
    )
    alone = families()
    alone["rows"] = alone["rows"][:2]
    assert family_contrast(alone) == []


def test_metrics_not_significantly_below_the_leader_are_recommended() -> None:
    # The system level has no test here, so there is no recommendation for it.
    (advice,) = recommendations(families())
    assert advice == (
        "To order corrections of a sentence: use gleu or errant (no test places them below the "
        "leader). Not above chance (sentence accuracy 0.5) by their 90% intervals: "
        "llm-s:model=a,base_url=http://host/v1."
    )
    assert recommendations(families(sample=True)) == []
    assert recommendations(families(significance=[])) == []
    without = families()
    for one in without["rows"]:
        one["sentence"]["accuracy"] = None
    assert recommendations(without) == []


def test_counting_the_changes_is_a_baseline_for_recommendations() -> None:
    copied = {"copy-source": {"human": {"edit": {"sentence": {"accuracy": 0.41}}}}}
    (advice,) = recommendations(families(chance=copied))
    assert "use gleu (" not in advice
    assert "use gleu. Not above counting the changes (0.590) by their 90% intervals: errant." in (
        advice
    )
    copied["copy-source"]["human"]["edit"]["sentence"]["accuracy"] = 0.3
    (advice,) = recommendations(families(chance=copied))
    assert "no metric can be recommended. Not above counting the changes (0.700)" in advice
    # The baseline is neither recommended nor compared with itself.
    rival = families(chance=copied)
    rival["rows"][0]["metric"] = rival["significance"][0]["metrics"][0] = "changes"
    (advice,) = recommendations(rival)
    assert "changes" not in advice.replace("counting the changes", "")


def test_the_verdict_uses_short_names_of_metrics() -> None:
    sentences = verdict(families())
    assert [text.partition(":")[0] for text in sentences] == [
        "System level", "Sentence level", "System level, best of each family",
        "Sentence level, best of each family", "To order corrections of a sentence",
    ]  # fmt: skip
    assert sentences[-1].endswith("intervals: llm-s.")
    assert "base_url" not in " ".join(sentences)
    assert "never evidence" in verdict(families(sample=True))[0]


def test_certainty_names_all_metrics_tied_with_the_leader() -> None:
    assert certainty({"b": 0.2, "c": 0.3}, "T", 0.05) == (
        "not significant (p = 0.200, T), nor against any other"
    )
    assert certainty({"b": 0.2, "c": 0.3, "d": 0.01}, "T", 0.05) == (
        "not significant (p = 0.200, T), nor against c"
    )
    assert certainty({"b": 0.0001}, "T", 0.05) == "significant (p < 0.001, T)"
    assert certainty({"b": float("nan")}, "T", 0.05) == "not tested"
