"""Orders in which corrections are shown, and texts that are safe to show."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.judges import showing
from gecjury.judges.showing import CandidateSet, one_line, permutations


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 5))
def test_permutations_come_in_mirrored_pairs(count: int, orders: int, seed: int) -> None:
    texts = tuple(f"t{number}" for number in range(count))
    drawn = permutations(CandidateSet(0, "s", None, texts, texts), orders, seed)
    assert drawn[0] == tuple(range(count))
    assert all(sorted(order) == list(range(count)) for order in drawn)
    for first, second in zip(drawn[::2], drawn[1::2], strict=False):
        assert second == first[::-1]
    assert len(drawn) == orders
    assert permutations(CandidateSet(9, "s", None, texts, texts), orders, seed) == drawn


def test_printable_texts_are_not_searched_for_harmful_characters(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    printable = [c for c in map(chr, range(sys.maxunicode + 1)) if c.isprintable()]
    assert "".join(map(showing._harmless, printable)) == "".join(printable)
    monkeypatch.setattr(showing, "_harmless", None)
    assert one_line("Smörgås 雪 .") == "Smörgås 雪 ."
