"""A matrix of an explanation as a page: which edits earned credit from which."""

from __future__ import annotations

import html
from collections.abc import Sequence

from gecjury.scoring.by_edit import HeatMap

__all__ = ["heat_map_html"]


def heat_map_html(heat_map: HeatMap, heading: str, lines: Sequence[tuple[str, str]]) -> str:
    """A page that needs nothing else: texts, and the matrix as a coloured table.

    Args:
        heat_map: the matrix.
        heading: title of the page.
        lines: (name, text) shown above the matrix.
    """
    top = float(heat_map.values.max()) if heat_map.values.size else 0.0
    head = "".join(f"<th>{html.escape(label)}</th>" for label in heat_map.columns)
    body = []
    for label, row in zip(heat_map.rows, heat_map.values, strict=True):
        cells = []
        for value in row:
            share = value / top if top > 0 else 0.0
            shade = (
                f"background:rgba(31,90,160,{share:.3f});color:{'#fff' if share > 0.5 else '#000'}"
            )
            cells.append(f'<td style="{shade}">{value:.3f}</td>')
        body.append(f"<tr><th>{html.escape(label)}</th>{''.join(cells)}</tr>")
    texts = "".join(f"<dt>{html.escape(k)}</dt><dd>{html.escape(v)}</dd>" for k, v in lines)
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{html.escape(heading)}</title>\n'
        "<style>body{font-family:sans-serif;margin:2em;max-width:60em}table{border-collapse:"
        "collapse}th,td{padding:.4em .7em;border:1px solid #ccc;text-align:right}"
        "dt{font-weight:bold}dd{margin:0 0 .6em 0}</style></head>\n"
        f"<body><h1>{html.escape(heading)}</h1><dl>{texts}</dl>"
        f"<h2>{html.escape(heat_map.title)}</h2>\n"
        f"<table><tr><th></th>{head}</tr>{''.join(body)}</table></body></html>\n"
    )
