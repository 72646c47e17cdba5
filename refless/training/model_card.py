"""Model cards: what a folder holds, what it was trained on and how well it does."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gecjury.refless.nets.bundle import KEYS_FILE, MANIFEST
from gecjury.refless.nets.pooled import HEAD_FILE
from gecjury.refless.nets.probe import KERNEL_FILE
from gecjury.scoring.signature import package_versions
from gecjury.textfiles import read_json

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


_KNOWN = {
    MANIFEST: "what gecjury reads: the parts, the scale of the ratings, the record of the training",
    KEYS_FILE: "hashes of the sentences trained on, by which gecjury warns of leakage",
    KERNEL_FILE: "kernel regression on the encoders' hidden states",
    HEAD_FILE: "the linear head on the mean of the encoder's last hidden states",
    "config.json": "configuration of a transformers model",
    "model.safetensors": "its weights",
    "grid.json": "what each combination of the grid reached",
}


def _parts(folder: Path) -> str:
    """A list of what a model's folder holds when its card and its manifest are written."""
    lines = []
    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    for name in sorted((names | {MANIFEST}) - {"README.md", "checkpoints", "intermediate"}):
        path = folder / name
        if not path.is_dir():
            known = "tokenizer" if name.startswith(("tokenizer", "vocab", "special_tok")) else ""
            about = _KNOWN.get(name, known)
            lines.append(f"- `{name}`" + (f": {about}" if about else ""))
            continue
        weights = any(path.glob("*.safetensors"))
        if (path / "config.json").exists() and weights:
            about = f"a transformers model ({_architecture(path)}), weights in safetensors"
        else:
            about = ", ".join(sorted(entry.name for entry in path.iterdir()))
        lines.append(f"- `{name}/`: {about}")
    return "\n".join(lines)


def _architecture(folder: Path) -> str:
    found = read_json(folder / "config.json", "a model's configuration")
    return ", ".join(found.get("architectures") or [str(found.get("model_type"))])


def model_card(
    title: str,
    metric: str,
    *,
    base: str,
    folder: Path | None = None,
    data: Mapping[str, str],
    settings: Mapping[str, Any],
    results: str,
    usage: str,
    notes: Sequence[str] = (),
) -> str:
    """A README.md with the metadata that model hubs read.

    Args:
        title: heading.
        metric: `some`, `impara` or `detector`.
        base: encoder that the training started from; written out only if it is a hub name.
        folder: of the model, whose parts are listed as they lie there.
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
        "Trained with gecjury.",
        *(["## What lies here\n\n" + _parts(folder)] if folder is not None else []),
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
