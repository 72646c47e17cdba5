"""Explanations of sentence scores: which edits earned credit; where to find each metric's."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from importlib import import_module

from gecjury.errors import OptionError
from gecjury.scoring.by_edit import Explainer, HeatMap
from gecjury.scoring.scorer import Scorer

__all__ = ["EXPLAINERS", "explainer", "heat_map_html"]

# A metric that can show its work has one line here: (scorer, source, edits, reference edits,
# runtime) → Explanation.
EXPLAINERS: Mapping[str, str] = {
    "cleme": "gecjury.refbased.explanations:explain_cleme",
    "errant": "gecjury.refbased.explanations:explain_errant",
    "uot-errant": "gecjury.refbased.explanations:explain_uot",
}


def explainer(scorer: Scorer) -> Explainer:
    """The function that explains a metric.

    Raises:
        OptionError: the metric has none; names those that do and the way that works for all.
    """
    target = EXPLAINERS.get(scorer.name)
    if target is None:
        raise OptionError(
            f"{scorer.name} shows no alignment; {', '.join(EXPLAINERS)} do. Any metric can be "
            "explained by --attribution remove, add or shapley"
        )
    module, _, name = target.partition(":")
    found: Explainer = getattr(import_module(module), name)
    return found


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
