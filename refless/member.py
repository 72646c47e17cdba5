"""One model of a SOME: its inputs, targets and dev score."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.errors import InputError
from gecjury.refless.annotations import Annotations
from gecjury.refless.intermediate import freeze_embeddings, tokenise
from gecjury.refless.regressor import load_model, load_tokenizer, predict, save_model
from gecjury.refless.splits import Split
from gecjury.refless.train import TrainSettings, fit, is_main_process, wait_for_all
from gecjury.runtime import Runtime
from gecjury.stats.correlation import spearman
from gecjury.textfiles import read_text, write_text

__all__ = ["train_member"]


def train_member(
    data: Annotations,
    split: Split,
    aspects: tuple[str, ...],
    added: FloatArray,
    extra: Sequence[Annotations],
    start: str,
    settings: TrainSettings,
    frozen: bool,
    folder: Path,
    work: Path,
    runtime: Runtime,
) -> Mapping[str, float]:
    """Train one model; one that was finished before the run was killed is not trained again."""
    marker = work / "finished.json"
    if marker.exists():
        finished: dict[str, float] = json.loads(read_text(marker))
        return finished
    from transformers import set_seed

    set_seed(settings.seed)
    tokenizer = load_tokenizer(start)
    model = load_model(start, aspects)
    columns = [data.aspects.index(aspect) for aspect in aspects]
    targets = data.ratings[:, columns] - added[:, columns]
    _start_at_mean(model, targets[split.train].mean(axis=0))
    if frozen:
        freeze_embeddings(model)
    inputs = _inputs(data, aspects, tokenizer, settings.max_length)
    examples = [
        {**inputs[group][row], "labels": [t if a in group else np.nan for a, t in
                                          zip(aspects, targets[row].tolist(), strict=True)]}
        for group in inputs
        for row in split.train.tolist()
    ]  # fmt: skip
    for further in extra:
        examples += _extra_examples(further, aspects, tokenizer, settings.max_length)

    def evaluate(model: Any) -> dict[str, float]:
        figures = {}
        for group, encoded in inputs.items():
            part = {key: [encoded[row][key] for row in split.dev] for key in encoded[0]}
            outputs = predict(model, tokenizer, part, runtime)
            if not np.isfinite(outputs).all():
                return {"score": float("nan")}
            for place, (aspect, column) in enumerate(zip(aspects, columns, strict=True)):
                if aspect in group:
                    total = outputs[:, place] + added[split.dev, column]
                    rho = spearman(data.ratings[split.dev, column], total)
                    figures[aspect] = 0.0 if np.isnan(rho) else rho
        return {"score": float(np.mean(list(figures.values()))), **figures}

    name = " and ".join(aspects)
    result = fit(
        model, tokenizer, examples, evaluate, settings, work, runtime, label=f"{name}: training"
    )
    summary = {**result.best, "epochs": float(len(result.history))}
    if is_main_process():
        save_model(result.model, tokenizer, folder)
        write_text(marker, json.dumps(summary))
    wait_for_all()
    return summary


def _start_at_mean(model: Any, means: FloatArray) -> None:
    """Let fresh heads begin at the mean rating, which would take many steps to reach."""
    import torch

    with torch.no_grad():
        model.classifier.bias.copy_(torch.tensor(means))


def _inputs(
    data: Annotations, aspects: tuple[str, ...], tokenizer: Any, max_length: int
) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Tokenised rows by the aspects that read them: lone hypotheses, and pairs for meaning."""
    found = {}
    alone = tuple(aspect for aspect in aspects if aspect != "meaning")
    if alone:
        found[alone] = tokenise(tokenizer, data.outputs, None, max_length)
    if "meaning" in aspects:
        if not any(data.sources):
            raise InputError(
                "meaning is rated of pairs: name the column of the sources (--column source=...)"
            )
        found[("meaning",)] = tokenise(tokenizer, data.sources, data.outputs, max_length)
    return found


def _extra_examples(
    data: Annotations, aspects: tuple[str, ...], tokenizer: Any, max_length: int
) -> list[dict[str, Any]]:
    shared = [a for a in aspects if a in data.aspects and a != "meaning"]
    if not shared:
        return []
    encoded = tokenise(tokenizer, data.outputs, None, max_length)
    return [
        {
            **inputs,
            "labels": [
                float(data.ratings[row, data.aspects.index(a)]) if a in shared else np.nan
                for a in aspects
            ],
        }
        for row, inputs in enumerate(encoded)
    ]
