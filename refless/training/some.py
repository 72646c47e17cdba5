"""One model of a SOME: its inputs, targets and dev score."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import fingerprint
from gecjury.corpus.leakage import sentence_key
from gecjury.errors import InputError, OptionError
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.splits import Split
from gecjury.refless.nets.bundle import FORMAT, KEYS_FILE, MANIFEST, Bundle, assemble
from gecjury.refless.nets.probe import fit_probe, save_probe
from gecjury.refless.nets.regressor import (
    load_model,
    load_tokenizer,
    output_errors,
    predict,
    save_model,
)
from gecjury.refless.training.features import additions, fit_features
from gecjury.refless.training.intermediate import (
    Intermediate,
    IntermediateData,
    freeze_embeddings,
    run_intermediate,
    step_settings,
    tokenise,
)
from gecjury.refless.training.model_card import figures_table, model_card
from gecjury.refless.training.trainer import TrainSettings, fit, is_main_process, wait_for_all
from gecjury.runtime import Runtime
from gecjury.stats.correlation import pearson, spearman
from gecjury.textfiles import read_text, write_text

__all__ = ["Recipe", "Report", "aspect_figures", "train_member", "train_some"]


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


@dataclass(frozen=True)
class Recipe:
    """How a SOME is trained; the defaults are the paper's.

    Attributes:
        encoder: folder or hub name, or `embedded`.
        shared: one encoder with a head for each aspect, instead of one model an aspect.
        features: add what case, spelling and edit features say, fitted beforehand by ridge
            regression; the model then learns what they leave over.
        intermediate: steps between the encoder and the regression, in order.
        intermediate_epochs: of each step.
        intermediate_rate: peak learning rate of each step.
        frozen: leave the word embeddings as they are.
        kernel: kernel regression on hidden states and features (see `gecjury.refless.nets.probe`)
            instead of fine-tuning; `shared`, `features` and most settings then play no part.
        within: with `kernel`, how much more differences between corrections of one source count.
        read_source: with `kernel`, let grammaticality and fluency read the source; see
            `gecjury.refless.nets.probe.Probe` for what that costs.
        seeds: one model, or set of models, each; predictions are averaged.
        settings: of the regression; its seed is replaced by each of `seeds`.
    """

    encoder: str = "bert-base-cased"
    shared: bool = False
    features: bool = False
    intermediate: tuple[Intermediate, ...] = ()
    intermediate_epochs: int = 2
    intermediate_rate: float = 1e-4
    frozen: bool = False
    kernel: bool = False
    within: float = 0.0
    read_source: bool = False
    seeds: tuple[int, ...] = (0,)
    settings: TrainSettings = field(default_factory=TrainSettings)

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) != len(self.seeds):
            raise OptionError(f"seeds {self.seeds}: expected one or more different numbers")
        if self.within < 0 or (self.within and not self.kernel):
            raise OptionError(
                f"within={self.within:g}: expected 0 or more, and kernel regression (--kernel)"
            )
        if self.kernel and len(self.seeds) > 1:
            raise OptionError("kernel regression draws nothing: give one seed")


Figures = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class Report:
    """What a training leaves besides the folder.

    Attributes:
        folder: where the model is.
        figures: `dev` and `test`, then aspect, then pearson, spearman, rmse, rows.
        members: for each trained model its best dev score and its epochs.
        steps: dev score of each intermediate step.
    """

    folder: Path
    figures: Figures
    members: Mapping[str, Mapping[str, float]]
    steps: Mapping[str, float]


def train_some(
    data: Annotations,
    split: Split,
    recipe: Recipe,
    folder: Path,
    runtime: Runtime,
    *,
    extra: Sequence[Annotations] = (),
    steps: IntermediateData | None = None,
    origin: Mapping[str, str] | None = None,
    notes: Sequence[str] = (),
) -> Report:
    """Train, evaluate and save; a killed run goes on where it stopped.

    Args:
        data: rated sentences.
        split: its parts.
        recipe: how.
        folder: output; checkpoints lie in `checkpoints` in it until the end.
        runtime: device, batch size for evaluation, progress.
        extra: further rated sentences of some of the aspects, for training only.
        steps: what intermediate steps learn from.
        origin: names of the data, for the model card.
        notes: warnings for the model card, e.g. of leakage.

    Raises:
        OptionError: the folder holds another model, or checkpoints of another run.
        InputError, DataError, OutputError: see `gecjury.refless.training.trainer.fit` and
        `gecjury.refless.nets.regressor`.
    """
    run = _run_print(data, split, recipe, extra, steps)
    done = _finished(folder, run)
    if done is not None:
        return done
    work = folder / "checkpoints"
    start, step_scores = _run_steps(recipe, work, steps, runtime)
    train = _fit_kernel if recipe.kernel else _fine_tune
    members, found = train(data, split, recipe, extra, start, folder, runtime)
    record: dict[str, Any] = {
        "format": FORMAT,
        "run": run,
        "scale": [data.scale.low, data.scale.high],
        "max_length": recipe.settings.max_length,
        **found,
    }
    report = None
    if is_main_process():
        _write_keys(folder, data, split, extra)
        figures = _evaluate(data, split, assemble(folder, record), runtime)
        report = Report(folder, figures, members, step_scores)
        record |= {"figures": figures, "trained": members, "steps": step_scores}
        write_text(
            folder / "README.md", _card(data, split, recipe, report, origin or {}, notes, folder)
        )
        write_text(folder / MANIFEST, json.dumps(record, indent=1))
        shutil.rmtree(work, ignore_errors=True)
    wait_for_all()
    return report or Report(folder, {}, members, step_scores)


def _run_print(
    data: Annotations,
    split: Split,
    recipe: Recipe,
    extra: Sequence[Annotations],
    steps: IntermediateData | None,
) -> str:
    """Fingerprint of everything that decides the weights."""
    parts = [data.print, json.dumps(asdict(recipe)), *(e.print for e in extra)]
    parts += [",".join(map(str, rows)) for rows in (split.train, split.dev, split.test)]
    if steps is not None and recipe.intermediate:
        parts += [f"{c.source}\t{c.text()}" for c in steps.corrections]
        parts += [*steps.clean, *(r.print for r in steps.rated)]
    return fingerprint(parts)


def _finished(folder: Path, run: str) -> Report | None:
    """The report of an earlier run that came to its end here, if it was the same."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        record = json.loads(read_text(path))
    except ValueError:
        record = {}
    if record.get("run") != run:
        raise OptionError(
            f"{folder}: holds a model of other settings or data; name another folder, or remove "
            "this one"
        )
    return Report(folder, record["figures"], record["trained"], record["steps"])


def _run_steps(
    recipe: Recipe, work: Path, steps: IntermediateData | None, runtime: Runtime
) -> tuple[str, dict[str, float]]:
    """Run the intermediate steps; returns where the regression starts, and dev scores."""
    start = recipe.encoder
    scores: dict[str, float] = {}
    settings = step_settings(recipe.settings, recipe.intermediate_epochs, recipe.intermediate_rate)
    for number, kind in enumerate(recipe.intermediate):
        step = work / f"step-{number}-{kind}"
        found = run_intermediate(
            kind,
            start,
            step,
            steps or IntermediateData(),
            settings,
            runtime,
            frozen=recipe.frozen,
        )
        path = step / "score.json"
        if found and is_main_process():
            write_text(path, json.dumps(found["score"]))
        wait_for_all()
        if path.exists():
            scores[kind] = float(json.loads(read_text(path)))
        start = str(step / "model")
    return start, scores


Trained = tuple[dict[str, Mapping[str, float]], dict[str, Any]]
"""Dev figures by model, and what the manifest says of the models."""


def _fine_tune(
    data: Annotations,
    split: Split,
    recipe: Recipe,
    extra: Sequence[Annotations],
    start: str,
    folder: Path,
    runtime: Runtime,
) -> Trained:
    tokenizer = load_tokenizer(start)
    linear = fit_features(data, split, tokenizer) if recipe.features else {}
    added = additions(data, linear, tokenizer)
    members: dict[str, Mapping[str, float]] = {}
    places: list[dict[str, Any]] = []
    for seed in recipe.seeds:
        for aspects in [data.aspects] if recipe.shared else [(a,) for a in data.aspects]:
            name = _member_name(recipe, seed, aspects)
            settings = replace(recipe.settings, seed=seed)
            members[name or "shared"] = train_member(
                data, split, aspects, added, extra, start, settings, recipe.frozen, folder / name,
                folder / "checkpoints" / (name.replace("/", "-") or "shared"), runtime,
            )  # fmt: skip
            places.append({"path": name or ".", "aspects": list(aspects)})
    features = {aspect: value.to_json() for aspect, value in linear.items()}
    return members, {"members": places, "features": features}


def _fit_kernel(
    data: Annotations,
    split: Split,
    recipe: Recipe,
    extra: Sequence[Annotations],
    start: str,
    folder: Path,
    runtime: Runtime,
) -> Trained:
    if extra:
        raise OptionError("kernel regression learns from one set of ratings: leave out --gug")
    base = encoder = recipe.encoder
    if Path(base).is_dir():
        base = encoder = _keep(base, folder / "base")
    if recipe.intermediate:
        encoder = _keep(start, folder / "encoder")
    probe, chosen = fit_probe(
        data, split, encoder, base, recipe.settings.max_length, runtime,
        within=recipe.within, paired=recipe.read_source,
    )  # fmt: skip
    if is_main_process():
        save_probe(probe, folder)
    wait_for_all()
    return dict(chosen), {"members": [], "kernel": probe.record(folder)}


def _keep(encoder: str, place: Path) -> str:
    """Copy an encoder that is nowhere but on this machine into the trained folder."""
    if is_main_process():
        with output_errors(place):
            shutil.copytree(encoder, place, dirs_exist_ok=True)
    wait_for_all()
    return str(place)


def _member_name(recipe: Recipe, seed: int, aspects: tuple[str, ...]) -> str:
    """Folder of a member; the only model of all stands in the top folder itself."""
    parts = [] if len(recipe.seeds) == 1 else [f"seed-{seed}"]
    if not recipe.shared:
        parts.append(aspects[0])
    return "/".join(parts)


def _evaluate(data: Annotations, split: Split, bundle: Bundle, runtime: Runtime) -> Figures:
    figures: Figures = {}
    for part, rows in (("dev", split.dev), ("test", split.test)):
        chosen = data.take(rows)
        predicted = bundle.predict(chosen.outputs, (chosen.sources, chosen.outputs), runtime)
        figures[part] = {
            aspect: aspect_figures(chosen.ratings[:, column], predicted[aspect])
            for column, aspect in enumerate(data.aspects)
        }
    return figures


def aspect_figures(ratings: FloatArray, predicted: FloatArray) -> dict[str, float]:
    """Pearson, Spearman and root mean squared error of predictions."""
    return {
        "pearson": pearson(ratings, predicted),
        "spearman": spearman(ratings, predicted),
        "rmse": float(np.sqrt(np.mean((ratings - predicted) ** 2))),
        "rows": float(len(ratings)),
    }


def _write_keys(
    folder: Path, data: Annotations, split: Split, extra: Sequence[Annotations]
) -> None:
    """Keep hashes of the sentences trained or chosen on; on the test part a model may be tried."""
    seen = data.take([*split.train, *split.dev])
    texts = {*seen.sources, *seen.outputs}
    for further in extra:
        texts |= {*further.sources, *further.outputs}
    texts.discard("")
    with output_errors(folder):
        write_text(folder / KEYS_FILE, "\n".join(sorted(map(sentence_key, texts))) + "\n")


def _card(
    data: Annotations,
    split: Split,
    recipe: Recipe,
    report: Report,
    origin: Mapping[str, str],
    notes: Sequence[str],
    folder: Path,
) -> str:
    if recipe.features:
        notes = [
            *notes,
            "Case, spelling and edit features are added by gecjury; plain transformers gives the "
            "model's part alone, on the same scale",
        ]
    if recipe.kernel:
        notes = [
            *notes,
            "The ratings come from kernel regression (kernel.safetensors) on the encoders' hidden "
            "states; plain transformers loads the encoders alone",
        ]
    return model_card(
        f"SOME: {', '.join(data.aspects)}",
        "some",
        base=recipe.encoder,
        data={
            **origin,
            "rows": str(len(data)),
            "fingerprint": data.print,
            "split": f"{split}, by source",
        },
        settings=asdict(recipe),
        results=figures_table(report.figures),
        usage=f"gecjury score SOURCE HYP -m some:model={folder.name}",
        notes=notes,
    )
