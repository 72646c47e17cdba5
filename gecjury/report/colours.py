"""The colours and shapes of all plots.

The colours are Okabe and Ito's, which colour-blind readers can distinguish. Nothing is shown by
colour alone: each family and each series also has its own shape.
"""

from __future__ import annotations

from collections.abc import Mapping

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The colours of series, in order. Yellow is left out because it is hard to see on white paper."""

SHAPES = ("o", "s", "^", "D", "v", "P", "X")
"""The marks of series by their matplotlib names, one for each colour."""

FAMILY_COLOURS: Mapping[str, str] = {
    "refbased": "#0072B2",
    "refless": "#009E73",
    "judges": "#D55E00",
    "jury": "#CC79A7",
}
"""The colour of each family on light paper; `gecjury.report.page.svg` has the shapes."""
