"""Train a SOME: rated sentences in, a folder with a model of each aspect out.

The run comes first, then the two ways to train: fine-tuning a model for each aspect and seed, and
kernel regression. Figures and card are in `evaluation`.
"""

from __future__ import annotations

import itertools
import json
import shutil
from collections.abc import Iterable, Mapping
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.durable import write_text
from gecjury.models.checkpoints import EMBEDDED, is_folder, resolve
from gecjury.models.foreign import Network, Tokenizer
from gecjury.models.networks import layer_count
from gecjury.refless.data.annotations import PAIRED, Annotations
from gecjury.refless.nets.bundle import assemble
from gecjury.refless.nets.features import Linear, additions, fit_features, piece_counter
from gecjury.refless.nets.manifest import BUNDLE_FORMAT, Kernel, RegressorFile, SomeManifest
from gecjury.refless.nets.probe import Probe, fit_probe, save_change, save_probe, states_layer
from gecjury.refless.nets.regressor import (
    EncoderInputs,
    load_model,
    load_tokenizer,
    output_errors,
    predict,
    save_model,
    tokenise,
)
from gecjury.refless.nets.trainable import output_layer
from gecjury.refless.training.detection import run_detection
from gecjury.refless.training.evaluation import Report, evaluate, some_card
from gecjury.refless.training.job import JobSettings
from gecjury.refless.training.trainer import LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Watch, kept_record
from gecjury.stats.correlation import spearman

# Of a compact model. Chosen on the dev part of TMU-GFM among ranks 4, 8, 16 and 200 or 400 points:
# larger values gave no improvement. See docs/measured/some.md.
_RANK = 8
_POINTS = 200


def train_some(job: JobSettings) -> Report:
    """Train, evaluate and save; a killed run resumes where it stopped.

    Raises:
        OptionError: the folder contains another model, or checkpoints of another run.
        InputError: ratings are of pairs, but there is no source.
        DataError, OutputError: see `gecjury.refless.training.trainer.fit` and
        `gecjury.refless.nets.regressor`.
    """
    recipe, split = job.recipe, job.split
    rows = (",".join(map(str, part)) for part in (split.train, split.dev, split.test))
    run = job.run(job.data.print, *rows)
    job.data.check_sources(recipe.read_source)
    if (earlier := job.finished(run, Report)) is not None:
        return earlier
    watch = job.watch()
    # Detection, fine-tuning and regression each start from what the previous one saved on disk, so
    # a run that was killed skips what is finished.
    start, detected = run_detection(job, job.detection, watch)
    trained: dict[str, Mapping[str, float]] = {}
    members: list[RegressorFile] = []
    linear: Mapping[str, Linear] = {}
    kernel = None
    if recipe.features_alone:
        linear, chosen = fit_features(
            job.data, split, None, recipe.language,
            paired=recipe.read_source, within=recipe.within,
        )  # fmt: skip
        trained |= chosen
        means = job.data.ratings[split.train].mean(axis=0).tolist()
        biases = dict(zip(job.data.aspects, means, strict=True))
        linear = {aspect: replace(fit, bias=biases[aspect]) for aspect, fit in linear.items()}
    if recipe.tuned:
        trained, members, linear = _fine_tune(job, watch, start)
    if recipe.kernel:
        # Last, since it only takes seconds and a resumed run repeats it.
        chosen, kernel = _fit_kernel(job, start)
        prefix = "kernel/" if recipe.tuned else ""
        trained |= {f"{prefix}{aspect}": figures for aspect, figures in chosen.items()}
    report = Report({}, trained, detected)
    if is_main_process():
        scale = (job.data.scale.low, job.data.scale.high)
        length = recipe.settings.max_length
        manifest = SomeManifest(scale, length, tuple(members), linear, kernel)
        paired = recipe.features_alone and recipe.read_source
        manifest = replace(manifest, language=recipe.language, paired=paired)
        bundle = assemble(job.folder, manifest, device=job.runtime.device)
        report = evaluate(job, bundle, report)
        # Models may be evaluated on the test part, so its hashes are not stored.
        seen = job.data.take([*split.train, *split.dev])
        record = {"format": BUNDLE_FORMAT, "run": run, **asdict(manifest), **asdict(report)}
        job.finish({*seen.sources, *seen.outputs}, record, some_card(job, report))
    wait_for_all()
    return report


def _fine_tune(
    job: JobSettings, watch: Watch, start: str
) -> tuple[dict[str, Mapping[str, float]], list[RegressorFile], Mapping[str, Linear]]:
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
    outputs = [job.data.aspects] if recipe.shared else [(a,) for a in job.data.aspects]
    for aspects in outputs:
        # If there is only one model, it is in the top folder itself.
        member = RegressorFile("." if recipe.shared else aspects[0], aspects)
        members.append(member)
        name = "shared" if recipe.shared else aspects[0]
        label = " and ".join(aspects)
        if len(outputs) > 1:
            label += f", model {len(members)} of {len(outputs)}"
        trained[name] = _train_model(job, watch, name, member, start, added, label)
    return trained, members, linear


def _train_model(
    job: JobSettings,
    watch: Watch,
    name: str,
    member: RegressorFile,
    start: str,
    added: FloatArray,
    label: str,
) -> Mapping[str, float]:
    """Train one model; a model that an earlier, killed run finished is not trained again.

    Args:
        added: what features add to the model's outputs, rows × aspects of the data.
    """
    aspects, data, split = member.aspects, job.data, job.split
    settings = job.recipe.settings
    work = job.work / name
    marker = work / "finished.json"
    if marker.exists():
        watch.told(f"{label}: already trained by an earlier run")
        return kept_record(dict[str, float], marker)
    tokenizer = load_tokenizer(start)
    model = load_model(start, aspects, seed=settings.seed)
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

    def evaluate(model: Network) -> dict[str, float]:
        totals, ratings = [], []
        for group, encoded in inputs.items():
            outputs = predict(model, tokenizer, [encoded[row] for row in split.dev], job.runtime)
            for aspect in group:
                column = data.aspects.index(aspect)
                totals.append(outputs[:, aspects.index(aspect)] + added[split.dev, column])
                ratings.append(data.ratings[split.dev, column])
        return rank_figures(totals, ratings, itertools.chain(*inputs))

    task = LearningTask(
        name=name,
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


def _start_at_mean(model: Network, means: FloatArray) -> None:
    """Set the bias of new heads to the mean rating, which would take many steps to learn.

    A head without a bias (GPT-2's) is left as it is.
    """
    import torch

    layer = output_layer(model)
    if layer is not None and layer.bias is not None:
        with torch.no_grad():
            layer.bias.copy_(torch.tensor(means))


def _inputs(
    data: Annotations, aspects: tuple[str, ...], tokenizer: Tokenizer, max_length: int
) -> dict[tuple[str, ...], list[EncoderInputs]]:
    """Return tokenised rows by the aspects that read them: single texts, or pairs (`PAIRED`)."""
    inputs = {}
    sides = ((data.outputs, None, False), (data.sources, data.outputs, True))
    for first, second, paired in sides:
        if group := tuple(aspect for aspect in aspects if (aspect in PAIRED) == paired):
            inputs[group] = tokenise(tokenizer, first, second, max_length)
    return inputs


def rank_figures(
    outputs: Iterable[FloatArray], ratings: Iterable[FloatArray], names: Iterable[str]
) -> dict[str, float]:
    """Return Spearman of each head by name, 0 if it is undefined, and their mean as `score`.

    The score of a model that diverged is NaN, which distinguishes it from one without correlation.

    Args:
        outputs: outputs of each head, one per row.
        ratings: ratings for each head.
    """
    figures = []
    for values, wanted in zip(outputs, ratings, strict=True):
        if not np.isfinite(values).all():
            return {"score": float("nan")}
        figures.append(float(np.nan_to_num(spearman(wanted, values))))
    return {"score": float(np.mean(figures)), **dict(zip(names, figures, strict=True))}


def _fit_kernel(job: JobSettings, start: str) -> tuple[dict[str, dict[str, float]], Kernel]:
    """Return dev figures by aspect, and the manifest's entry for the regressions."""
    recipe, folder = job.recipe, job.folder
    base = encoder = _keep(recipe.encoder, folder / "base")
    if start != recipe.encoder:
        encoder = _keep(start, folder / "encoder", compact=recipe.compact)
    length, language = recipe.settings.max_length, recipe.language
    unfitted = Probe({}, encoder, base, length, recipe.read_source, language=language)
    most = _POINTS if recipe.compact else 0
    probe, chosen = fit_probe(unfitted, job.data, job.split, job.runtime, recipe.within, most)
    if is_main_process():
        save_probe(probe, folder, half=recipe.compact)
    wait_for_all()
    return chosen, probe.record(folder)


def _keep(encoder: str, place: Path, *, compact: bool = False) -> str:
    """Copy an encoder that is only on this machine into the model's folder, and return its name.

    Args:
        compact: write only the changes that a training made to the packaged encoder, in the layers
            whose states are read.
    """
    if not is_folder(encoder):
        return encoder
    if is_main_process():
        with output_errors(place):
            if compact:
                layers = states_layer(layer_count(resolve(EMBEDDED)))
                save_change(encoder, place, rank=_RANK, layers=layers)
            else:
                shutil.copytree(encoder, place, dirs_exist_ok=True)
    wait_for_all()
    return str(place)
