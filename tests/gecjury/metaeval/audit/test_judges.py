"""Accuracy of judges with invalid replies counted as wrong: by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from gecjury.metaeval.audit.judges import accuracy_with_invalid, judges_audits
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.stats.preferences import TieRule
from tests.gecjury.metaeval.audit.test_biases import NAN, TOY

# First source B > A, no score of C; second A > B = C.
SCORES = np.array([[1.0, 3.0], [2.0, 2.0], [NAN, 2.0]])
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
    study = Study(TOY, Settings(ties=ties))
    table = sentence_table("m", TOY.corpus.names, SCORES)
    (result,) = study.evaluate(table, ("edit",))
    assert result.sentence is not None
    assert result.sentence.accuracy == pytest.approx(accuracy)
    assert accuracy_with_invalid(study, table, result, INVALID) == pytest.approx(with_invalid)
    # A pair that the judge was never asked about is still left out.
    elsewhere: list[dict[str, Any]] = [{"missing": [{"line": 2}]}, {}]
    assert accuracy_with_invalid(study, table, result, elsewhere) == pytest.approx(accuracy)


def test_a_judge_without_a_valid_reply_is_never_right() -> None:
    study = Study(TOY, Settings())
    table = sentence_table("m", TOY.corpus.names, np.full((3, 2), NAN))
    (result,) = study.evaluate(table, ("edit",))
    assert np.isnan(accuracy_with_invalid(study, table, result, []))
    everywhere = [{"missing": [{"line": 1}, {"line": 2}]}]
    assert accuracy_with_invalid(study, table, result, everywhere) == 0


def test_an_audit_includes_the_agreement_with_people() -> None:
    study = Study(TOY, Settings())
    plain = sentence_table("m", TOY.corpus.names, SCORES)
    entry = {"members": INVALID, "rows": [], "panel": {"ordinal": 0.4}}
    table = replace(plain, statistics=replace(plain.statistics, details={"audit": entry}))
    results = study.evaluate(table, ("edit",))
    (audit,) = judges_audits(
        study, [table, replace(plain, statistics=plain.statistics)], results, {}
    )
    accuracy, ceiling = audit.humans["edit"]
    assert (accuracy, audit.with_invalid) == (pytest.approx(2.5 / 3), {"edit": pytest.approx(0.5)})
    assert np.isnan(ceiling)
    assert audit.panel == {"ordinal": 0.4}
