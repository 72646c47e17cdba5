"""How single edits are shown in a prompt, and the scores that follow from verdicts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.judges.edit_verdict import EditVerdict, shown_edit
from gecjury.scoring.abilities import EditCase
from gecjury.scoring.scores import Statistics

NAN = float("nan")


def test_an_edit_is_shown_with_the_other_edits_applied() -> None:
    source = "a b c d e"
    edits = (Edit(0, 0, "x y"), Edit(1, 3, "B"), Edit(3, 3, "i"), Edit(4, 5, ""))
    for edit in edits:
        shown = shown_edit(EditCase(0, source, None, edit, edits, NAN))["target"]
        old = " ".join(source.split()[edit.start : edit.end])
        mark = f"[{old}→{edit.correction}]"
        assert shown.count("→") == 1
        assert mark in shown
        corrected = " ".join(shown.replace(mark, edit.correction).split())
        assert corrected == " ".join(apply_edits(source.split(), edits))


def test_outputs_without_edits_have_no_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """System a: 1 of 1, 1 of 2 and no reply of 1 edit; b: none of 1, and two copies."""
    sources = ("I likes tea .", "He go home and he say no .", "She have cat .")
    a = ("I like tea .", "He goes home and he says no .", "She has cat .")
    b = ("I loves tea .", *sources[1:])
    said = {"like": 1.0, "goes": 1.0, "says": 0.0, "has": NAN, "loves": 0.0}

    def verdicts(
        self: EditVerdict, cases: Sequence[EditCase], runtime: Runtime
    ) -> tuple[FloatArray, Statistics]:
        return np.array([said[case.edit.correction] for case in cases]), Statistics(np.empty(0))

    monkeypatch.setattr(EditVerdict, "_verdicts", verdicts)
    table = EditVerdict(model="x").score(sources, {"a": a, "b": b})
    wanted = [[1, 0.5, NAN], [0, NAN, NAN]]
    assert np.array_equal(table.sentences, wanted, equal_nan=True)
    # Over all edits with verdicts, 2 of 3; the mean of the sentences would be 3/4.
    assert list(table.totals) == pytest.approx([2 / 3, 0])
    # Only a reply that cannot be read was asked for in vain.
    assert (table.unanswered, table.missing) == (1, 3)
    assert table.statistics.notes == ("edit-verdict: b: 2 outputs without edits have no score",)
    alone = EditVerdict(model="x").score(sources, {"copy": sources})
    assert np.isnan(alone.totals["copy"])
