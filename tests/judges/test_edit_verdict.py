"""How single edits are shown in a prompt."""

from __future__ import annotations

from gecjury.corpus.edits import Edit, apply_edits
from gecjury.judges.edit_verdict import shown_edit
from gecjury.scoring.by_edit import EditCase

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
