"""Model cards: what a folder holds, what it was trained on and how well it does."""

from __future__ import annotations

import json
import math
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gecjury.models.checkpoints import is_folder
from gecjury.models.origin import KEYS_FILE, MANIFEST
from gecjury.refless.nets.pooled import HEAD_FILE
from gecjury.refless.nets.probe import KERNEL_FILE
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.watching import HISTORY_FILE
from gecjury.scoring.signature import package_versions
from gecjury.textfiles import read_json

_PACKAGES = ("torch", "transformers", "accelerate", "tokenizers", "numpy")


Figures = Mapping[str, Mapping[str, Mapping[str, float]]]
"""By part, by aspect: pearson, spearman, rmse and rows."""


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a Markdown table.

    Args:
        headings: of the columns.
        rows: cells; numbers with a fraction get three digits.
    """
    cells = [
        [f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows
    ]
    lines = [f"| {' | '.join(row)} |" for row in (headings, *cells)]
    return "\n".join([lines[0], "|---" * len(headings) + "|", *lines[1:]])


def figures_table(figures: Figures, alone: Mapping[str, Figures] | None = None) -> str:
    """Return a Markdown table of figures[part][aspect][name]; parts are `dev` and `test`.

    Args:
        figures: of the whole model.
        alone: of its parts by themselves, by name, if it has several.
    """
    headings = ("what", "part", "aspect", "Pearson", "Spearman", "RMSE", "rows")
    rows = [list(row.values()) for row in figure_rows(figures, alone or {})]
    # Without parts there is nothing to tell apart in the first column.
    first = 0 if alone else 1
    return markdown_table(headings[first:], [[*row[first:-1], int(row[-1])] for row in rows])


def figure_rows(figures: Figures, alone: Mapping[str, Figures]) -> list[dict[str, Any]]:
    """Return one row a part and aspect: both ways together first, then each alone."""
    named = {"both": figures, **{f"{name} alone": f for name, f in alone.items()}}
    keys = ("pearson", "spearman", "rmse", "rows")
    return [
        {"what": what, "part": part, "aspect": aspect, **{key: values[key] for key in keys}}
        for what, parts in named.items()
        for part, aspects in parts.items()
        for aspect, values in aspects.items()
    ]


def _effort_table(effort: Mapping[str, Mapping[str, float]]) -> str:
    """Return a Markdown table of seconds and memory by stage."""
    rows = []
    for name, stage in effort.items():
        memory = f"{stage['gigabytes']:.2f}" if stage["gigabytes"] else "unknown"
        rows.append((name, f"{stage['seconds']:.0f}", f"{stage['processor']:.0f}", memory))
    headings = ("stage", "seconds", "processor seconds", "most memory by then, GB")
    return markdown_table(headings, rows) + (
        "\n\nOf the process that computes; where a run was killed and went on, both are counted, "
        "but for what was done again."
    )


def shown_name(name: str) -> str:
    """Return a name as cards give it: of local files and folders, no more than their last part."""
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
    """Return a list of what a model's folder holds when it is finished, in Markdown."""
    lines = []
    there = folder.iterdir() if folder.is_dir() else ()
    # The card is written before the files that say that the model is whole.
    names = {path.name for path in there if not path.name.startswith(".")} | {MANIFEST, KEYS_FILE}
    for name in sorted(names - {"README.md", "checkpoints", "intermediate"}):
        path = folder / name
        if not path.is_dir():
            usual = "tokenizer" if name.startswith(("tokenizer", "vocab", "special_tok")) else ""
            about = _KNOWN.get(name, usual)
            lines.append(f"- `{name}`" + (f": {about}" if about else ""))
            continue
        if name == "logs":
            lines.append("- `logs/`: what TensorBoard shows of the training")
            continue
        if (path / "config.json").exists() and any(path.glob("*.safetensors")):
            config = read_json(path / "config.json", "a model's configuration")
            kinds = ", ".join(config.get("architectures") or [str(config.get("model_type"))])
            about = f"a transformers model ({kinds}), weights in safetensors"
        else:
            about = ", ".join(sorted(entry.name for entry in path.iterdir()))
        lines.append(f"- `{name}/`: {about}")
    return "\n".join(lines)


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
    figures: Figures | None = None,
    effort: Mapping[str, Mapping[str, float]] | None = None,
    citation: str = "",
    extra: str = "refless",
    pipeline: str = "text-classification",
) -> str:
    """Return a README.md with the metadata that model hubs read.

    Args:
        job: the training, whose notes, origin, language and licence are named. The parts of its
            folder are listed as they lie there, the encoder only if it is a hub name.
        title: heading.
        metric: `some`, `impara`, `detector` or `judge`.
        data: further entries on what was trained on: fingerprint, split.
        results: Markdown with the figures.
        usage: the commands that use the model.
        notes: further limits that a user must know.
        about: what the model is for, and what not.
        figures: see `figures_table`; those on test are shown on hubs.
        effort: seconds and memory by stage.
        citation: BibTeX of the metric's paper.
        extra: the extra of gecjury that the model needs; empty for none.
        pipeline: kind of task, as hubs name it.
    """
    base = job.recipe.encoder
    # Hubs link the base model by its name, which a folder of this machine has not.
    hub = not is_folder(base) and ("/" in base or base.startswith("bert-"))
    base = shown_name(base)
    head = ["---", "library_name: transformers", f"language: {job.recipe.language}"]
    head += [f"pipeline_tag: {pipeline}", f"tags: [gecjury, {metric}, gec, evaluation]"]
    if job.license:
        head.append(f"license: {_quoted(job.license)}")
    if hub:
        head.append(f"base_model: {base}")
    origin = job.origin.get("data", "")
    # Only data of a hub has a name that a hub can link.
    if origin.startswith("hf:"):
        head.append(f"datasets: [{_quoted(origin.split(':')[1])}]")
    if figures:
        head += ["metrics: [pearsonr, spearmanr]", *_model_index(title, origin, figures)]
    shown = {"encoder": base, "detector": shown_name(job.recipe.detector)}
    named = {"recipe": job.recipe_name} if job.recipe_name else {}
    versions = {"python": platform.python_version(), **package_versions(_PACKAGES)}
    needed = f" and its extra `{extra}`" if extra else ""
    # A section without content is left out.
    sections = {
        "Use": f"With gecjury{needed} installed:\n\n```\n{usage}\n```",
        "Figures": results,
        "Limits": "\n".join(f"- {note}" for note in (*job.notes, *notes)),
        "What lies here": _parts(job.folder),
        "Data": "\n".join(f"- {key}: {value}" for key, value in {**job.origin, **data}.items()),
        "Time and memory": _effort_table(effort) if effort else "",
        "Settings": "```json\n"
        + json.dumps({**named, **asdict(job.recipe), **shown}, indent=1, default=str)
        + "\n```",
        "Versions": ", ".join(f"{name} {version}" for name, version in versions.items()),
        "Cite": f"```bibtex\n{citation}\n```" if citation else "",
    }
    written = [f"## {name}\n\n{text}" for name, text in sections.items() if text]
    return "\n\n".join(["\n".join([*head, "---"]), f"# {title}", about, *written]) + "\n"


def _quoted(text: str) -> str:
    """Return a text as YAML takes it whatever stands in it."""
    return json.dumps(text, ensure_ascii=True)


def _model_index(title: str, data: str, figures: Figures) -> list[str]:
    """Return lines of YAML with the figures on test, as hubs show them."""
    lines = ["model-index:", f"- name: {_quoted(title)}", "  results:"]
    for aspect, values in figures.get("test", {}).items():
        lines += [
            "  - task: {type: text-classification, name: " + _quoted(aspect) + "}",
            f"    dataset: {{type: {_quoted(data or 'ratings')}, name: "
            + f"{_quoted(data or 'ratings')}, split: test}}",
            "    metrics:",
        ]
        lines += [
            f"    - {{type: {kind}, value: {values[name]:.4f}}}"
            for kind, name in (("pearsonr", "pearson"), ("spearmanr", "spearman"))
            if math.isfinite(values[name])
        ]
    return lines
