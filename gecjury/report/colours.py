"""The colours and shapes of all plots: Okabe and Ito's, which colour-blind readers tell apart.

Nothing is told by colour alone: each family and each series has a shape of its own as well.
"""

from __future__ import annotations

from collections.abc import Mapping

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
"""The colours of series, in their order; yellow is left out, which white paper swallows."""

SHAPES = ("o", "s", "^", "D", "v", "P", "X")
"""The marks of series as matplotlib calls them, one a colour."""

FAMILY_COLOURS: Mapping[str, str] = {
    "refbased": "#0072B2",
    "refless": "#009E73",
    "judges": "#D55E00",
    "jury": "#CC79A7",
}
"""The colour of each family on light paper; `gecjury.report.page.svg` has the shapes."""
