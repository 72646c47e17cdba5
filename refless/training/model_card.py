"""Model cards: the contents of a folder, the training data and the results of a model."""

from __future__ import annotations

import json
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from gecjury.models.checkpoints import is_folder
from gecjury.refless.training.job import TrainingJob
from gecjury.scoring.signature import package_versions

_PACKAGES = ("torch", "transformers", "accelerate", "tokenizers", "numpy")


Figures = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By part, by aspect: pearson, spearman, rmse and rows."""


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table.

    Args:
        rows: cells; floats are written with three digits.
    """
    cells = [
        [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows
    ]
    lines = [f"| {' | '.join(row)} |" for row in (headings, *cells)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


def figures_table(figures: Figures, alone: Mapping[str, Figures] | None = None) -> str:
    """Return a Markdown table of figures[part][aspect][name]; parts are `dev` and `test`.

    Args:
        figures: figures of the whole model.
        alone: figures of its parts alone, by name, if it has several.
    """
    headings = ("what", "part", "aspect", "Pearson", "Spearman", "RMSE", "rows")
    rows = [list(row.values()) for row in figure_rows(figures, alone or {})]
    # Without parts, the first column would be the same in all rows.
    first = 0 if alone else 1
    return markdown_table(headings[first:], [[*row[first:-1], int(row[-1])] for row in rows])


def figure_rows(figures: Figures, alone: Mapping[str, Figures]) -> list[dict[str, str | float]]:
    """Return one row per part and aspect: the whole model first, then each part alone."""
    named = {"both": figures, **{f"{name} alone": f for name, f in alone.items()}}
    keys = ("pearson", "spearman", "rmse", "rows")
    return [
        {"what": what, "part": part, "aspect": aspect, **{key: values[key] for key in keys}}
        for what, parts in named.items()
        for part, aspects in parts.items()
        for aspect, values in aspects.items()
    ]


def shown_name(name: str) -> str:
    """Return a name as cards show it: for local files and folders, only the last part of the path.

    A name may be several, separated by commas.
    """
    return ",".join(Path(part).name if Path(part).exists() else part for part in name.split(","))


def model_card(
    job: TrainingJob,
    title: str,
    metric: str,
    *,
    data: Mapping[str, str],
    results: str,
    usage: str,
    notes: Sequence[str] = (),
    about: str = "Trained with gecjury.",
    citation: str = "",
    extra: str = "refless",
    pipeline: str = "text-classification",
) -> str:
    """Return a README.md with the metadata that model hubs read.

    Args:
        job: the training, whose notes, origin and language are on the card. The encoder is named as
            the base model only if it is a hub name.
        metric: `some`, `impara`, `detector` or `judge`.
        data: further entries about the training data: fingerprint, split.
        notes: further limitations that users should know.
        about: what the model is and is not meant for.
        citation: BibTeX of the metric's paper.
        extra: the extra of gecjury that the model needs; empty for none.
        pipeline: kind of task, as hubs name it.
    """
    base = job.recipe.encoder
    # Hubs link the base model by its hub name, which a folder on this machine lacks.
    hub = not is_folder(base) and ("/" in base or base.startswith("bert-"))
    base = shown_name(base)
    # transformers alone cannot read the folders of SOME and IMPARA.
    library = "transformers" if metric in ("detector", "judge") else "gecjury"
    head = ["---", f"library_name: {library}", f"language: {job.recipe.language}"]
    head += [f"pipeline_tag: {pipeline}", f"tags: [gecjury, {metric}, gec, evaluation]"]
    if hub:
        head.append(f"base_model: {base}")
    origin = job.origin.get("data", "")
    # A hub can only link data sets of the hub.
    if origin.startswith("hf:"):
        head.append(f"datasets: [{json.dumps(origin.split(':')[1])}]")
    shown = {"encoder": base, "detector": shown_name(job.recipe.detector)}
    named = {"recipe": job.recipe_name} if job.recipe_name else {}
    versions = {"python": platform.python_version(), **package_versions(_PACKAGES)}
    needed = f" and its extra `{extra}`" if extra else ""
    # Empty sections are left out.
    sections = {
        "Use": f"With gecjury{needed} installed:\n\n```\n{usage}\n```",
        "Figures": results,
        "Limits": "\n".join(f"- {note}" for note in (*job.notes, *notes)),
        "Data": "\n".join(f"- {key}: {value}" for key, value in {**job.origin, **data}.items()),
        "Settings": "```json\n"
        + json.dumps({**named, **asdict(job.recipe), **shown}, indent=1, default=str)
        + "\n```",
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Cite": f"```bibtex\n{citation}\n```" if citation else "",
    }
    written = [f"## {name}\n\n{text}" for name, text in sections.items() if text]
    return "\n\n".join(["\n".join([*head, "---"]), f"# {title}", about, *written]) + "\n"
