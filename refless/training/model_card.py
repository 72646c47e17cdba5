"""Model cards: what a folder holds, what it was trained on and how well it does."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gecjury.scoring.signature import package_versions

__all__ = ["figures_table", "model_card", "shown_name", "training_versions"]

_PACKAGES = ("torch", "transformers", "accelerate", "tokenizers", "numpy")


def training_versions() -> dict[str, str]:
    """Versions of everything that can move the weights."""
    return {"python": platform.python_version(), **package_versions(_PACKAGES)}


def figures_table(figures: Mapping[str, Mapping[str, Mapping[str, float]]]) -> str:
    """Markdown table of figures[part][aspect][name]; parts are `dev` and `test`."""
    lines = [
        "| part | aspect | Pearson | Spearman | RMSE | rows |",
        "|---|---|---|---|---|---|",
    ]
    for part, aspects in figures.items():
        for aspect, f in aspects.items():
            lines.append(
                f"| {part} | {aspect} | {f['pearson']:.3f} | {f['spearman']:.3f} "
                f"| {f['rmse']:.3f} | {int(f['rows'])} |"
            )
    return "\n".join(lines)


def shown_name(name: str) -> str:
    """A name as cards give it: of local files and folders, no more than their last part."""
    return ",".join(Path(part).name if Path(part).exists() else part for part in name.split(","))


def model_card(
    title: str,
    metric: str,
    *,
    base: str,
    data: Mapping[str, str],
    settings: Mapping[str, Any],
    results: str,
    usage: str,
    notes: Sequence[str] = (),
) -> str:
    """A README.md with the metadata that model hubs read.

    Args:
        title: heading.
        metric: `some` or `impara`.
        base: encoder that the training started from; written out only if it is a hub name.
        data: what was trained on: name, fingerprint, split.
        settings: every setting in effect.
        results: Markdown with the figures.
        usage: the commands that use the model.
        notes: limits that a user must know.
    """
    hub = not Path(base).is_dir() and ("/" in base or base.startswith("bert-"))
    base = shown_name(base)
    head = ["---", "library_name: transformers", "language: en"]
    head += ["pipeline_tag: text-classification", f"tags: [gecjury, {metric}]"]
    if hub:
        head.append(f"base_model: {base}")
    parts = [
        "\n".join([*head, "---"]),
        f"# {title}",
        "Trained with gecjury; a plain transformers model for sequence classification, weights in "
        "safetensors.",
        f"## Use\n\n```\n{usage}\n```",
        f"## Figures\n\n{results}",
        "## Data\n\n" + "\n".join(f"- {key}: {value}" for key, value in data.items()),
        "## Settings\n\n```json\n"
        + json.dumps({**settings, "encoder": base}, indent=1, default=str)
        + "\n```",
        "## Versions\n\n"
        + ", ".join(f"{name} {version}" for name, version in training_versions().items()),
    ]
    if notes:
        parts.append("## Limits\n\n" + "\n".join(f"- {note}" for note in notes))
    return "\n\n".join(parts) + "\n"
