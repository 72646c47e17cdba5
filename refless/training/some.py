"""Train a SOME: rated sentences in, a folder with a model of each aspect out.

The run comes first, then the two ways to train: fine-tuning a model for each aspect and seed, and
kernel regression. Figures and card are in `evaluation`.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.textfiles import write_text
from gecjury.corpus.corpus import fingerprint
from gecjury.models.checkpoints import is_folder
from gecjury.refless.data.annotations import PAIRED, Annotations
from gecjury.refless.nets.bundle import assemble
from gecjury.refless.nets.features import (
    Linear,
    additions,
    fit_features,
    piece_counter,
)
from gecjury.refless.nets.manifest import BUNDLE_FORMAT, Kernel, Member, SomeManifest
from gecjury.refless.nets.probe import fit_probe, save_probe
from gecjury.refless.nets.regressor import (
    load_model,
    load_tokenizer,
    output_errors,
    predict,
    save_model,
    tokenise,
)
from gecjury.refless.nets.trainable import output_layer
from gecjury.refless.training.compact import POINTS, RANK, layers_read, save_change
from gecjury.refless.training.evaluation import Report, evaluate, some_card
from gecjury.refless.training.job import Job
from gecjury.refless.training.steps.intermediate import IntermediateData, rank_figures
from gecjury.refless.training.trainer import LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Watch, kept_record

_CURVE = (1 / 8, 1 / 4, 1 / 2)
"""Shares of the training rows in the learning curve of kernel regression, in addition to all."""


def train_some(job: Job) -> Report:
    """Train, evaluate and save; a killed run resumes where it stopped.

    Raises:
        OptionError: the folder contains another model, or checkpoints of another run.
        InputError: ratings are of pairs, but there is no source.
        DataError, OutputError: see `gecjury.refless.training.trainer.fit` and
        `gecjury.refless.nets.regressor`.
    """
    recipe, run = job.recipe, _run_print(job)
    job.data.check_sources(recipe.read_source)
    if (earlier := job.finished(run, Report)) is not None:
        return earlier
    watch = job.watch()
    # Steps, fine-tuning and regression each start from what the previous one saved on disk, so a
    # run that was killed skips what is finished.
    start, steps = _run_steps(job, watch)
    trained: dict[str, Mapping[str, float]] = {}
    members: list[Member] = []
    linear: Mapping[str, Linear] = {}
    kernel = None
    if recipe.features_alone:
        with watch.ledger.stage("ridge regression"):
            linear, chosen = fit_features(
                job.data, job.split, None, recipe.language,
                paired=recipe.read_source, within=recipe.within,
            )  # fmt: skip
        trained |= chosen
        means = job.data.ratings[job.split.train].mean(axis=0).tolist()
        biases = dict(zip(job.data.aspects, means, strict=True))
        linear = {aspect: replace(fit, bias=biases[aspect]) for aspect, fit in linear.items()}
    if recipe.tuned:
        with watch.ledger.stage("fine-tuning"):
            trained, members, linear = _fine_tune(job, watch, start)
    if recipe.kernel:
        # Last, since it only takes seconds and a resumed run repeats it.
        with watch.ledger.stage("kernel regression"):
            chosen, kernel = _fit_kernel(job, watch, start)
        prefix = "kernel/" if recipe.tuned else ""
        trained |= {f"{prefix}{aspect}": figures for aspect, figures in chosen.items()}
    report = Report({}, trained, steps)
    if is_main_process():
        scale = (job.data.scale.low, job.data.scale.high)
        length = recipe.settings.max_length
        manifest = SomeManifest(scale, length, tuple(members), linear, kernel)
        paired = recipe.features_alone and recipe.read_source
        manifest = replace(manifest, language=recipe.language, paired=paired)
        with watch.ledger.stage("evaluation"):
            bundle = assemble(job.folder, manifest, device=job.runtime.device)
            report = evaluate(job, bundle, report)
        report = replace(report, effort=watch.ledger.rounded())
        # Models may be evaluated on the test part, so its hashes are not stored.
        seen = [job.data.take([*job.split.train, *job.split.dev]), *job.extra]
        texts = {text for part in seen for side in (part.sources, part.outputs) for text in side}
        record = {"format": BUNDLE_FORMAT, "run": run, **asdict(manifest), **asdict(report)}
        job.finish(texts, record, some_card(job, report))
    wait_for_all()
    return report


def _run_print(job: Job) -> str:
    """Return the fingerprint of everything that determines the weights."""
    split, steps = job.split, job.steps
    parts = [job.data.print, json.dumps(job.recipe.deciding()), *(e.print for e in job.extra)]
    parts += [",".join(map(str, rows)) for rows in (split.train, split.dev, split.test)]
    if steps is not None and job.recipe.intermediate:
        parts += [f"{c.source}\t{c.text()}" for c in steps.corrections]
        parts += [*steps.clean, *(r.print for r in steps.rated)]
        if steps.labelled is not None:
            parts.append(steps.labelled.print)
    return fingerprint(parts)


def _run_steps(job: Job, watch: Watch) -> tuple[str, dict[str, float]]:
    """Run the intermediate steps; return the encoder to start from, and dev scores."""
    recipe = job.recipe
    start = recipe.detector or recipe.encoder
    scores: dict[str, float] = {}
    for number, kind in enumerate(recipe.intermediate):
        folder, data = job.work / f"step-{number}-{kind}", job.steps or IntermediateData()
        start, figures = job.run_step(kind, start, folder, data, watch.of(f"step {kind}"))
        scores |= figures
    return start, scores


def _fine_tune(
    job: Job, watch: Watch, start: str
) -> tuple[dict[str, Mapping[str, float]], list[Member], Mapping[str, Linear]]:
    """Return dev figures by model, the models, and what features add to their outputs."""
    recipe = job.recipe
    tokenizer = load_tokenizer(start)
    language = recipe.language
    linear: Mapping[str, Linear] = {}
    if recipe.features:
        linear, _ = fit_features(job.data, job.split, piece_counter(tokenizer), language)
    added = additions(job.data, linear, tokenizer, language)
    trained: dict[str, Mapping[str, float]] = {}
    members = []
    # Features are fitted once: all models learn the residuals of the same regression.
    outputs = [job.data.aspects] if recipe.shared else [(a,) for a in job.data.aspects]
    count = len(recipe.seeds) * len(outputs)
    for seed, aspects in itertools.product(recipe.seeds, outputs):
        # If there is only one model, it is in the top folder itself.
        parts = [] if len(recipe.seeds) == 1 else [f"seed-{seed}"]
        parts += [] if recipe.shared else [aspects[0]]
        member = Member("/".join(parts) or ".", aspects)
        members.append(member)
        name = "/".join(parts) or "shared"
        label = " and ".join(aspects)
        label += f", model {len(members)} of {count}" if count > 1 else ""
        trained[name] = _train_model(job, watch.of(name), member, seed, start, added, label)
    return trained, members, linear


def _train_model(
    job: Job, watch: Watch, member: Member, seed: int, start: str, added: FloatArray, label: str
) -> Mapping[str, float]:
    """Train one model; a model that an earlier, killed run finished is not trained again.

    Args:
        job: the training that it belongs to.
        watch: receives progress reports.
        member: which model.
        seed: seed of the model.
        start: folder or hub name of the model to start from.
        added: what features add to the model's outputs, rows × aspects of the data.
        label: name for progress bars and messages.
    """
    aspects, data, split = member.aspects, job.data, job.split
    settings = replace(job.recipe.settings, seed=seed)
    work = job.work / watch.name.replace("/", "-")
    marker = work / "finished.json"
    if marker.exists():
        watch.told(f"{label}: already trained by an earlier run")
        return dict(kept_record(Mapping[str, float], marker))
    tokenizer = load_tokenizer(start)
    model = load_model(start, aspects, seed=seed)
    columns = [data.aspects.index(aspect) for aspect in aspects]
    # The model learns the residuals of the features, whose predictions are added to its outputs.
    targets = data.ratings[:, columns] - added[:, columns]
    _start_at_mean(model, targets[split.train].mean(axis=0))
    inputs = _inputs(data, aspects, tokenizer, settings.max_length)
    examples = []
    for group, encoded in inputs.items():
        # Inputs of single sentences get the ratings of sentences, pairs get the ratings of pairs.
        rated = [aspect in group for aspect in aspects]
        for row in split.train.tolist():
            labels = np.where(rated, targets[row], np.nan).tolist()
            examples.append({**encoded[row], "labels": labels})
    for further in job.extra:
        shared = [a if a in further.aspects and a not in PAIRED else "" for a in aspects]
        if any(shared):
            texts = tokenise(tokenizer, further.outputs, None, settings.max_length)
            for one, row in zip(texts, further.ratings.tolist(), strict=True):
                values = dict(zip(further.aspects, row, strict=True))
                examples.append({**one, "labels": [values.get(a, np.nan) for a in shared]})

    def evaluate(model: Any) -> dict[str, float]:
        totals, ratings = [], []
        for group, encoded in inputs.items():
            outputs = predict(model, tokenizer, [encoded[row] for row in split.dev], job.runtime)
            for aspect in group:
                column = data.aspects.index(aspect)
                totals.append(outputs[:, aspects.index(aspect)] + added[split.dev, column])
                ratings.append(data.ratings[split.dev, column])
        return rank_figures(totals, ratings, itertools.chain(*inputs))

    task = LearningTask(
        model=model,
        tokenizer=tokenizer,
        examples=examples,
        evaluate=evaluate,
        label=f"{label}: training",
    )
    result = fit(task, settings, work, job.runtime, watch)
    summary = {**result.best, "epochs": float(len(result.history))}
    # The marker is written last: if it exists, the model is complete.
    if is_main_process():
        save_model(result.model, tokenizer, job.folder / member.path)
        write_text(marker, json.dumps(summary))
    wait_for_all()
    return summary


def _start_at_mean(model: Any, means: FloatArray) -> None:
    """Set the bias of new heads to the mean rating, which would take many steps to learn.

    A head without a bias (GPT-2's) is left as it is.
    """
    import torch

    layer = output_layer(model)
    if layer is not None and layer.bias is not None:
        with torch.no_grad():
            layer.bias.copy_(torch.tensor(means))


def _inputs(
    data: Annotations, aspects: tuple[str, ...], tokenizer: Any, max_length: int
) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Return tokenised rows by the aspects that read them: single texts, or pairs (`PAIRED`)."""
    inputs = {}
    sides = ((data.outputs, None, False), (data.sources, data.outputs, True))
    for first, second, paired in sides:
        if group := tuple(aspect for aspect in aspects if (aspect in PAIRED) == paired):
            inputs[group] = tokenise(tokenizer, first, second, max_length)
    return inputs


def _fit_kernel(job: Job, watch: Watch, start: str) -> tuple[dict[str, dict[str, float]], Kernel]:
    """Return dev figures by aspect, and the manifest's entry for the regressions."""
    recipe, folder = job.recipe, job.folder
    if job.extra and not recipe.tuned:
        raise OptionError("kernel regression uses only one set of ratings: leave out --gug")
    base = encoder = recipe.encoder
    if is_folder(base):
        base = encoder = _keep(base, folder / "base")
    if recipe.compact and is_folder(start):
        encoder = _keep_change(start, folder / "encoder")
    elif recipe.intermediate or (recipe.detector and is_folder(start)):
        encoder = _keep(start, folder / "encoder")
    elif recipe.detector:
        encoder = recipe.detector
    probe, chosen, curves = fit_probe(
        job.data, job.split, encoder, base, recipe.settings.max_length, job.runtime,
        within=recipe.within, paired=recipe.read_source,
        shares=_CURVE if job.drawn is not None else (), language=recipe.language,
        most=POINTS if recipe.compact else 0,
    )  # fmt: skip
    if is_main_process():
        save_probe(probe, folder, half=recipe.compact)
        if job.drawn is not None:
            watch.history.note_kernel(curves)
    wait_for_all()
    return chosen, probe.record(folder)


def _keep_change(encoder: str, place: Path) -> str:
    """Write the changes that the steps made to the packaged encoder, in the layers used."""
    if is_main_process():
        with output_errors(place):
            save_change(encoder, place, rank=RANK, layers=layers_read())
    wait_for_all()
    return str(place)


def _keep(encoder: str, place: Path) -> str:
    """Copy an encoder that is only on this machine into the model's folder."""
    if is_main_process():
        with output_errors(place):
            shutil.copytree(encoder, place, dirs_exist_ok=True)
    wait_for_all()
    return str(place)
