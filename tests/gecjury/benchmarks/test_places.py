"""Corrections without system names, laid out by their position among those of a source."""

from __future__ import annotations

import numpy as np

from gecjury.benchmarks.places import lay_out


def test_corrections_are_laid_out_by_position() -> None:
    layout = lay_out(["s", "t", "s", "s"])
    assert layout.sources == ("s", "t")
    assert layout.cells == ((0, 0), (0, 1), (1, 0), (2, 0))
    versions = layout.versions(["a", "b", "c", "d"])
    # `t` has one correction, which its other positions repeat, so that no new text is added.
    assert {name: version.lines for name, version in versions.items()} == {
        "output1": ("a", "b"),
        "output2": ("c", "b"),
        "output3": ("d", "b"),
    }
    np.testing.assert_array_equal(
        layout.table([1.0, 2.0, 3.0, 4.0]), [[1, 2], [3, np.nan], [4, np.nan]]
    )
    assert layout.words(["p", "q", "r", "s"]) == (("p", "q"), ("r", ""), ("s", ""))


def test_a_key_distinguishes_sources_with_the_same_text() -> None:
    layout = lay_out(["s", "s"], ["first", "second"])
    assert layout.sources == ("s", "s")
    assert layout.names == ("output1",)
