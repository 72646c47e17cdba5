"""Explanations from Python: which reference counts, ready edits, shares of the score."""

from __future__ import annotations

import pytest

import gecjury
from gecjury.corpus.corpus import Version
from gecjury.corpus.edits import Edit
from gecjury.errors import InputError, OptionError

pytest.importorskip("errant")

SOURCE = "This are a tests ."
BETTER = "This is a tests ."
BEST = "This is a test ."


def test_the_reference_that_counts() -> None:
    found = gecjury.explain(SOURCE, BETTER, [SOURCE, BEST], metric="errant")
    assert (found.chosen, found.missing, found.attribution) == (1, False, None)
    assert found.explanations[1].scores["precision"] == 1
    rows = found.rows()
    assert {row["reference"] for row in rows} == {1, 2}
    assert {row["verdict"] for row in rows if row["reference"] == 2} == {"hit", "under"}


def test_edits_that_a_version_brings_are_kept() -> None:
    whole = Version((BETTER,), ((Edit(0, 2, "This is", "R:OTHER"),),))
    found = gecjury.explain(SOURCE, whole, BEST, metric="errant")
    labels = {row["edit"] for row in found.rows() if row.get("side") == "hypothesis"}
    assert labels == {"[0,2] → This is"}


def test_shares_of_a_score() -> None:
    found = gecjury.explain(SOURCE, BEST, BEST, metric="green", attribution="shapley")
    assert (found.explanations, found.chosen) == ((), None)
    shares = found.rows()
    assert [row["edit"] for row in shares] == ["[1,2] → is", "[3,4] → test"]
    full = gecjury.load("green").score([SOURCE], {"x": [BEST], "copy": [SOURCE]}, [BEST])
    difference = full.totals["x"] - full.totals["copy"]
    assert sum(row["value"] for row in shares) == pytest.approx(difference)
    both = gecjury.explain(SOURCE, BEST, BEST, metric="errant", attribution="remove")
    assert both.explanations
    assert both.attribution is not None
    assert both.attribution.method == "remove"


def test_what_cannot_be_explained() -> None:
    with pytest.raises(OptionError, match="green shows no alignment"):
        gecjury.explain(SOURCE, BEST, BEST, metric="green")
    with pytest.raises(InputError, match="give at least one REF"):
        gecjury.explain(SOURCE, BEST, metric="errant")
    with pytest.raises(InputError, match="a version of 2 lines"):
        gecjury.explain(SOURCE, Version((BEST, BEST)), BEST, metric="errant")


def test_records_make_a_data_frame() -> None:
    pandas = pytest.importorskip("pandas")
    found = gecjury.explain(SOURCE, BEST, BEST, metric="errant", attribution="add")
    assert len(pandas.DataFrame(found.attribution_rows())) == 2
    assert set(pandas.DataFrame(found.rows())["verdict"]) == {"hit"}
