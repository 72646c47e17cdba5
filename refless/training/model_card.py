"""Model cards: what a folder holds, what it was trained on and how well it does."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gecjury.refless.nets.bundle import KEYS_FILE, MANIFEST
from gecjury.refless.nets.pooled import HEAD_FILE
from gecjury.refless.nets.probe import KERNEL_FILE
from gecjury.refless.training.watching import HISTORY_FILE
from gecjury.scoring.signature import package_versions
from gecjury.textfiles import read_json

_PACKAGES = ("torch", "transformers", "accelerate", "tokenizers", "numpy")


def training_versions() -> dict[str, str]:
    """Versions of everything that can move the weights."""
    return {"python": platform.python_version(), **package_versions(_PACKAGES)}


_Figures = Mapping[str, Mapping[str, Mapping[str, float]]]


def figures_table(figures: _Figures, alone: Mapping[str, _Figures] | None = None) -> str:
    """Markdown table of figures[part][aspect][name]; parts are `dev` and `test`.

    Args:
        figures: of the whole model.
        alone: of its parts by themselves, by name, if it has several.
    """
    alone = alone or {}
    named = [("both", figures), *((f"{name} alone", f) for name, f in alone.items())]
    lines = [
        "| what " * bool(alone) + "| part | aspect | Pearson | Spearman | RMSE | rows |",
        "|---" * bool(alone) + "|---|---|---|---|---|---|",
    ]
    for name, found in named:
        for part, aspects in found.items():
            for aspect, f in aspects.items():
                lines.append(
                    f"| {name} "
                    * bool(alone)
                    + f"| {part} | {aspect} | {f['pearson']:.3f} | {f['spearman']:.3f} "
                    f"| {f['rmse']:.3f} | {int(f['rows'])} |"
                )
    return "\n".join(lines)


def _effort_table(effort: Mapping[str, Mapping[str, float]]) -> str:
    """Markdown table of seconds and memory by stage."""
    lines = [
        "| stage | seconds | processor seconds | most memory by then, GB |",
        "|---|---|---|---|",
    ]
    for name, stage in effort.items():
        memory = f"{stage['gigabytes']:.2f}" if stage["gigabytes"] else "unknown"
        lines.append(f"| {name} | {stage['seconds']:.0f} | {stage['processor']:.0f} | {memory} |")
    return "\n".join(lines) + (
        "\n\nOf the process that computes; where a run was killed and went on, both are counted, "
        "but for what was done again."
    )


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
    HISTORY_FILE: "losses and dev scores while it was trained",
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
        if name == "logs":
            lines.append("- `logs/`: what TensorBoard shows of the training")
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
    about: str = "Trained with gecjury.",
    license: str = "",
    figures: _Figures | None = None,
    effort: Mapping[str, Mapping[str, float]] | None = None,
    citation: str = "",
    language: str = "en",
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
        about: what the model is for, and what not.
        license: of the model; empty: none is named.
        figures: see `figures_table`; those on test are told hubs.
        effort: seconds and memory by stage.
        citation: BibTeX of the metric's paper.
        language: code of the language trained on; `mul` for several.
    """
    hub = not Path(base).is_dir() and ("/" in base or base.startswith("bert-"))
    base = shown_name(base)
    head = ["---", "library_name: transformers", f"language: {language}"]
    head += ["pipeline_tag: text-classification", f"tags: [gecjury, {metric}, gec, evaluation]"]
    if license:
        head.append(f"license: {_quoted(license)}")
    if hub:
        head.append(f"base_model: {base}")
    known = data.get("data", "")
    if known.startswith("hf:"):
        head.append(f"datasets: [{_quoted(known.split(':')[1])}]")
    if figures:
        head += ["metrics: [pearsonr, spearmanr]", *_model_index(title, known, figures)]
    parts = [
        "\n".join([*head, "---"]),
        f"# {title}",
        about,
        f"## Use\n\nWith gecjury and its extra `refless` installed:\n\n```\n{usage}\n```",
        f"## Figures\n\n{results}",
        *(["## Limits\n\n" + "\n".join(f"- {note}" for note in notes)] if notes else []),
        *(["## What lies here\n\n" + _parts(folder)] if folder is not None else []),
        "## Data\n\n" + "\n".join(f"- {key}: {value}" for key, value in data.items()),
        *(["## Time and memory\n\n" + _effort_table(effort)] if effort else []),
        "## Settings\n\n```json\n"
        + json.dumps({**settings, "encoder": base}, indent=1, default=str)
        + "\n```",
        "## Versions\n\n"
        + ", ".join(f"{name} {version}" for name, version in training_versions().items()),
        *([f"## Cite\n\n```bibtex\n{citation}\n```"] if citation else []),
    ]
    return "\n\n".join(parts) + "\n"


def _quoted(text: str) -> str:
    """A text as YAML takes it whatever stands in it."""
    return json.dumps(text, ensure_ascii=True)


def _model_index(title: str, data: str, figures: _Figures) -> list[str]:
    """Lines of YAML with the figures on test, as hubs show them."""
    lines = ["model-index:", f"- name: {_quoted(title)}", "  results:"]
    for aspect, found in figures.get("test", {}).items():
        lines += [
            "  - task: {type: text-classification, name: " + _quoted(aspect) + "}",
            f"    dataset: {{type: {_quoted(data or 'ratings')}, name: "
            + f"{_quoted(data or 'ratings')}, split: test}}",
            "    metrics:",
        ]
        lines += [
            f"    - {{type: {kind}, value: {found[name]:.4f}}}"
            for kind, name in (("pearsonr", "pearson"), ("spearmanr", "spearman"))
            if math.isfinite(found[name])
        ]
    return lines
