"""Orders of corrections."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gecjury.judges.showing import CandidateSet, permutations


@given(st.integers(1, 6), st.integers(1, 12), st.integers(0, 5))
def test_permutations_come_in_mirrored_pairs(count: int, orders: int, seed: int) -> None:
    texts = tuple(f"t{number}" for number in range(count))
    found = permutations(CandidateSet(0, "s", None, texts, texts), orders, seed)
    assert found[0] == tuple(range(count))
    assert all(sorted(order) == list(range(count)) for order in found)
    for first, second in zip(found[::2], found[1::2], strict=False):
        assert second == first[::-1]
    assert len(found) == orders
    assert permutations(CandidateSet(9, "s", None, texts, texts), orders, seed) == found
