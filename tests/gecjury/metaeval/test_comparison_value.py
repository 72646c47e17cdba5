"""`gecjury.compare` called from Python, on the embedded sample."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gecjury
from gecjury.benchmarks.annotators import annotator_kappa, ranks_alpha
from gecjury.core.errors import InputError, OptionError
from gecjury.metaeval.comparison import checked, compare, plans
from gecjury.metaeval.settings import Settings
from gecjury.report.comparison import document, tables
from gecjury.report.page.page import comparison_page
from gecjury.report.tables import to_json
from gecjury.report.words import ComparisonWords

FEW = gecjury.Resampling(resamples=20, permutations=100)


def compared(*metrics: Any, **settings: Any) -> gecjury.Comparison:
    return compare("sample", metrics, Settings(resampling=FEW, **settings))


def test_settings_are_optional_and_scorers_may_be_objects_names_or_scores() -> None:
    benchmark = gecjury.load_benchmark("sample")
    green = gecjury.load("green")
    table = green.score_corpus(benchmark.corpus)
    found = compare(benchmark, [green])
    assert found.settings == Settings()
    alone = compared(table)
    named = compared("green")
    assert alone.at("system")[0].values == named.at("system")[0].values
    assert found.rows()[0]["pearson"] == named.rows()[0]["pearson"]
    # A metric named twice is compared once.
    assert len(compared("green", "green").tables) == 1


def test_limits_of_finished_scores_are_reported() -> None:
    table = gecjury.load("green").score_corpus(gecjury.load_benchmark("sample").corpus)
    with pytest.raises(OptionError, match="green: corpus scores of resampled sentences need"):
        compared(table, aggregate="corpus")
    once = Settings(aggregate="corpus", resampling=gecjury.Resampling(over="none"))
    found = compare("sample", [table], once)
    np.testing.assert_array_equal(found.at("system")[0].scores, table.by_system.score)
    with pytest.raises(OptionError, match="finished scores have no credits"):
        compared(table, level="edit")
    other = gecjury.load("green").score(["a b"], {"x": ["a"]}, [["a b"]])
    with pytest.raises(InputError, match="do not belong to sample"):
        compared(other)


def test_nothing_to_score_is_refused() -> None:
    with pytest.raises(OptionError, match="no metric to compare"):
        checked("sample", [])
    with pytest.raises(OptionError, match="a dry run scores nothing"):
        compare("sample", ["green"], runtime=gecjury.Runtime(dry_run=True))
    assert plans(checked("sample", ["green"])) == []


def test_rows_are_plain_and_in_the_order_of_the_main_table() -> None:
    found = compared("green", "gleu", human="both")
    rows = found.rows()
    shown = tables(found)[0].rows
    assert [(r["metric"], r.get("human")) for r in rows] == [
        (r["metric"], r.get("human")) for r in shown
    ]
    assert len(rows) == 2 * (2 + 4 + 1)
    first = rows[0]
    low, high = first["pearson_ci95"]
    assert low <= first["pearson"] <= high
    assert first["accuracy"] == document(ComparisonWords(found))["rows"][0]["sentence"]["accuracy"]
    assert {type(value) for row in rows for value in row.values()} <= {
        str, float, int, tuple,
    }  # fmt: skip
    assert "accuracy" not in compared("green", level="system").rows()[0]
    assert "pearson" not in compared("green", level="sentence").rows()[0]
    plain = Settings(resampling=gecjury.Resampling(over="none"))
    assert "pearson_ci95" not in compare("sample", ["green"], plain).rows()[0]


def test_annotators_have_kappa_in_addition_to_the_ceiling() -> None:
    found = compared("green", human="both")
    items = found.benchmark.rankings["edit"]
    people = found.annotators["edit"]
    assert people.between == annotator_kappa(items)
    record = json.loads(to_json(document(ComparisonWords(found))))
    assert record["annotators"]["edit"]["kappa"] == {
        "between": people.between.mean, "within": None,  # nobody judged twice
        "ceiling": people.agreement.kappa,
    }  # fmt: skip
    assert record["annotators"]["edit"]["comparisons"]["within"] == 0
    assert record["annotators"]["edit"]["alpha"] == people.alpha == ranks_alpha(items)
    assert set(record["ceiling"]["edit"]) == {
        "accuracy", "decided", "with_ties", "pairs", "perfect",
    }  # fmt: skip
    (note,) = [n for n in tables(found)[0].notes if n.startswith("κ between annotators")]
    assert f"{people.between.mean:.2f} and – (edit)" in note
    (note,) = [n for n in tables(found)[0].notes if n.startswith("Krippendorff's α of ranks")]
    assert f"{people.alpha:.2f} (edit)".replace("0.", ".") in note.replace("0.", ".")
    assert not [n for n in tables(compared("green", level="system"))[0].notes if "κ" in n]


@pytest.mark.parametrize("view", ["edit", pytest.param("sentence", marks=pytest.mark.slow)])
def test_kappa_of_seeda_is_the_published_one(data_dir: Path, view: Any) -> None:
    # Kobayashi et al. 2024, table 3.
    benchmark = gecjury.load_benchmark("seeda", data=data_dir)
    plain = Settings(human=view, level="sentence", resampling=gecjury.Resampling(over="none"))
    found = compare(benchmark, ["changes"], plain).annotators[view]
    wanted = {"edit": (0.28, 0.61), "sentence": (0.41, 0.71)}[view]
    assert (round(found.between.mean, 2), round(found.within.mean, 2)) == wanted


def test_cautions_are_the_same_in_every_format() -> None:
    found = compared("green", "changes")
    texts = [caution.text for caution in found.cautions]
    assert len(set(texts)) == len(texts) > 2
    assert document(ComparisonWords(found))["caveats"] == texts
    assert list(tables(found)[0].notes)[-len(texts) :] == texts
    page = comparison_page(ComparisonWords(found), document(ComparisonWords(found)))
    for caution in found.cautions:
        assert f"<dt>{caution.heading}</dt>" in page
        assert caution.text.split(" (")[0] in page
