"""Explanations of sentence scores: which edits earned credit; where to find each metric's."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from gecjury.arrays import FloatArray
from gecjury.corpus.edits import Edit
from gecjury.errors import OptionError
from gecjury.runtime import Runtime
from gecjury.scorer import Scorer

__all__ = ["EXPLAINERS", "Explanation", "HeatMap", "edit_label", "explainer", "heat_map_html"]

# A metric that can show its work has one line here: (scorer, source, edits, reference edits,
# runtime) → Explanation.
EXPLAINERS: Mapping[str, str] = {
    "cleme": "gecjury.refbased.explanations:explain_cleme",
    "errant": "gecjury.refbased.explanations:explain_errant",
    "uot-errant": "gecjury.refbased.explanations:explain_uot",
}


@dataclass(frozen=True)
class HeatMap:
    """A matrix with a meaning: what was transported from rows to columns.

    Attributes:
        title: what is shown.
        rows: labels of the hypothesis' edits, with their masses.
        columns: labels of the reference's edits, with their masses.
        values: rows × columns.
    """

    title: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    values: FloatArray


@dataclass(frozen=True)
class Explanation:
    """How a metric judged one hypothesis against one reference.

    Attributes:
        scores: precision, recall, score and whatever else is one number.
        columns: keys of the rows, in order.
        rows: one record an edit or chunk.
        heat_map: the plan, for metrics that have one.
    """

    scores: Mapping[str, float]
    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]
    heat_map: HeatMap | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)


Explainer = Callable[
    [Scorer, str, tuple[Edit, ...], tuple[Edit, ...], Runtime],
    Explanation,
]


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


def edit_label(edit: Edit) -> str:
    """An edit as the paper writes it: `[27,29] → their`."""
    return f"[{edit.start},{edit.end}] → {edit.correction or '∅'}"


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
