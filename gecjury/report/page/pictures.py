"""Plots of the page as pictures that can be saved as separate files, in light colours.

A picture is a `data:` address with the whole file, so that saving needs no script and no network.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass

from markupsafe import Markup

from gecjury.report.colours import FAMILY_COLOURS

# The style of the page's light scheme, by class; a saved picture does not have the page's style.
_STYLE: Mapping[str, str] = {
    "t": "fill:#1d1f23;font-family:system-ui,sans-serif",
    "mute": "fill:#5a5f68",
    "num": "font-weight:600",
    "halo": "paint-order:stroke;stroke:#fff;stroke-width:2.5px;stroke-linejoin:round",
    "grid": "stroke:#e2dfd8",
    "zero": "stroke:#5a5f68",
    "limit": "stroke:#5a5f68;stroke-width:1.2;stroke-dasharray:4 3",
    "fit": "stroke:#5a5f68;stroke-dasharray:2 4;opacity:.8",
    "lead": "stroke:#5a5f68;stroke-width:.6",
    "m": "fill:currentColor",
    "ring": "fill:#fff;stroke:currentColor;stroke-width:1.6",
    "whisker": "stroke:currentColor;stroke-width:2;opacity:.55",
    "curve": "fill:none;stroke:currentColor;stroke-width:1.8;stroke-linejoin:round",
    "c1": "stroke-dasharray:5 3;opacity:.85",
    **{f"f-{family}": f"color:{colour}" for family, colour in FAMILY_COLOURS.items()},
}
_SCALE = 2


@dataclass(frozen=True)
class Picture:
    """A plot, and the file to save it as.

    Attributes:
        plot: the plot on the page.
        address: `data:` address with the picture as a separate file.
        file: name of that file.
    """

    plot: Markup
    address: str
    file: str


def picture(plot: Markup, *words: str) -> Picture:
    """Return a plot with the picture to save.

    Args:
        plot: an `svg` element with a `viewBox`.
        *words: words of the file name; only their letters and digits are kept.
    """
    width, height = re.findall(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', plot)[0]
    used = set(" ".join(re.findall(r'class="([^"]*)"', plot)).split())
    style = "".join(f".{name}{{{rule}}}" for name, rule in _STYLE.items() if name in used)
    opened, rest = str(plot).split(">", 1)
    content = (
        opened.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)
        + f' color="#5a5f68" width="{_SCALE * float(width):g}" height="{_SCALE * float(height):g}">'
        + f'<style>{style}</style><rect width="100%" height="100%" fill="#fff"/>{rest}'
    )
    encoded = base64.b64encode(content.encode()).decode()
    return Picture(plot, f"data:image/svg+xml;base64,{encoded}", _file_name(words))


def _file_name(words: tuple[str, ...]) -> str:
    plain = (re.sub(r"[^a-z0-9]+", "-", word.lower()).strip("-")[:40] for word in words)
    return f"{'-'.join(word for word in plain if word) or 'plot'}.svg"
