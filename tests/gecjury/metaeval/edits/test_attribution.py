"""Attribution on a toy metric: by hand, faithful, exact up to 10 edits, sampled beyond that."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit
from gecjury.metaeval.edits.attribution import attribute
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Statistics


@dataclass(frozen=True)
class Toy(MeanScorer):
    """1 for each X, 2 more if Y occurs too, and 1 for each W, or ½ if both X and Y occur."""

    name: ClassVar[str] = "toy"
    family: ClassVar[str] = "refbased"

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        rows = []
        for version in corpus.systems.values():
            words = version.lines[0].split()
            both = "X" in words and "Y" in words
            rows.append([words.count("X") + 2.0 * both + words.count("W") / (1 + both)])
        return Statistics(np.array(rows))


X, Y, W = Edit(0, 1, "X"), Edit(1, 2, "Y"), Edit(2, 3, "W")


def test_by_hand() -> None:
    # v(∅)=0, v(X)=1, v(Y)=0, v(XY)=3.
    source = "a b c"
    removed = attribute(Toy(), source, [X, Y], method="remove")
    np.testing.assert_allclose(removed.values, [3, 2])  # 3 − v(Y), 3 − v(X)
    assert removed.gap == -2
    assert not removed.faithful
    added = attribute(Toy(), source, [X, Y], method="add")
    np.testing.assert_allclose(added.values, [1, 0])
    assert added.gap == 2
    shapley = attribute(Toy(), source, [X, Y])
    # X: mean of 1 (first) and 3 (after Y); Y: mean of 0 and 2.
    np.testing.assert_allclose(shapley.values, [2, 1])
    assert shapley.faithful
    assert shapley.exact
    assert (shapley.empty, shapley.full, shapley.scored) == (0, 3, 4)


def test_sampling_is_faithful_seeded_and_close_to_exact_values() -> None:
    source = " ".join("abcdefghijkl")
    edits = [Edit(i, i + 1, word) for i, word in enumerate(["X", "Y", "W"] + ["Q"] * 9)]
    found = attribute(Toy(), source, edits, samples=400, seed=1)
    assert not found.exact
    assert found.faithful
    exact = attribute(Toy(), source, edits[:3]).values
    # The other nine edits have no effect, so the three share the score as if they were alone.
    np.testing.assert_allclose(found.values[3:], 0)
    assert np.all(np.abs(found.values[:3] - exact) <= 4 * found.errors[:3] + 1e-12)
    assert 0 < found.errors[0] < 0.2
    again = attribute(Toy(), source, edits, samples=400, seed=1)
    np.testing.assert_array_equal(found.values, again.values)
    other = attribute(Toy(), source, edits, samples=400, seed=2)
    assert not np.array_equal(found.values, other.values)


def test_refusals() -> None:
    @dataclass(frozen=True)
    class Joint(Toy):
        needs: ClassVar[frozenset[str]] = frozenset({"rivals"})

    with pytest.raises(OptionError, match="side by side"):
        attribute(Joint(), "a", [])
