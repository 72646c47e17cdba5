"""SOME trained: rated sentences in, a folder with a model of each aspect out.

From the top: what a run is given (`Job`) and what it leaves (`Report`), the run, its intermediate
steps, then the two ways to train (fine-tuning a model for each aspect and seed, or kernel
regression), and at last figures and the model card.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import fingerprint
from gecjury.corpus.leakage import sentence_key
from gecjury.corpus.splits import Split
from gecjury.errors import InputError, OptionError
from gecjury.models.checkpoints import resolve
from gecjury.models.networks import read_config
from gecjury.refless.data.annotations import PAIRED, QUALITY, Annotations
from gecjury.refless.nets.bundle import (
    BUNDLE_FORMAT,
    KEYS_FILE,
    MANIFEST,
    Bundle,
    assemble,
    metric_for,
)
from gecjury.refless.nets.probe import fit_probe, save_probe
from gecjury.refless.nets.regressor import (
    load_model,
    load_tokenizer,
    output_errors,
    predict,
    save_model,
)
from gecjury.refless.training.beside import BesideRow, beside_table, figures_beside
from gecjury.refless.training.features import additions, fit_features
from gecjury.refless.training.model_card import figures_table, model_card
from gecjury.refless.training.recipe import Recipe
from gecjury.refless.training.steps.detection import (
    detection_keys,
    figures_in_words,
    step_figures,
)
from gecjury.refless.training.steps.intermediate import (
    IntermediateData,
    Step,
    freeze_embeddings,
    run_intermediate,
    step_settings,
    tokenise,
)
from gecjury.refless.training.trainable import check_layers, output_layer
from gecjury.refless.training.trainer import LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Stage, Watchers
from gecjury.refless.training.worth import Worth, worth_of_ratings, worth_table
from gecjury.runtime import Runtime
from gecjury.stats.correlation import pearson, spearman
from gecjury.textfiles import read_json, write_text


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one training of a SOME is given.

    Attributes:
        data: rated sentences.
        split: its parts.
        recipe: how.
        folder: output; checkpoints lie in `checkpoints` in it until the end.
        runtime: device, batch size for evaluation, progress.
        extra: further rated sentences of some of the aspects, for training only.
        steps: what intermediate steps learn from.
        origin: names of the data, for the model card.
        notes: warnings for the model card, e.g. of leakage.
        recipe_name: the named recipe that the options came from, for card and manifest; empty for
            none.
        license: of the model, for its card; empty: none is named.
        report_to: services that transformers reports to while it trains (`tensorboard`, ...).
        logs: folder for TensorBoard; None: `logs` in the output.
        drawn: called with the history (see `History`) whenever an epoch has ended; with it, kernel
            regression is also fitted to parts of the data, for a learning curve.
    """

    data: Annotations
    split: Split
    recipe: Recipe
    folder: Path
    runtime: Runtime
    extra: Sequence[Annotations] = ()
    steps: IntermediateData | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    recipe_name: str = ""
    license: str = ""
    report_to: tuple[str, ...] = ()
    logs: Path | None = None
    drawn: Callable[[Mapping[str, Any]], None] | None = None

    @property
    def work(self) -> Path:
        """Where checkpoints lie until the end."""
        return self.folder / "checkpoints"


_CURVE = (1 / 8, 1 / 4, 1 / 2)
"""Shares of the training rows that a learning curve of kernel regression has, beside all."""

_Figures = dict[str, dict[str, dict[str, float]]]


@dataclass(frozen=True)
class Report:
    """The report of a training, besides its folder.

    Attributes:
        folder: where the model is.
        figures: `dev` and `test`, then aspect, then pearson, spearman, rmse, rows.
        trained: for each trained model its best dev score and its epochs.
        steps: dev score of each intermediate step.
        alone: the figures of `fine-tuning` and of the `kernel` regression by themselves, where
            both were trained.
        shares: by aspect the kernel regression's share in the prediction, where both were trained.
        effort: seconds and memory by stage; see `Ledger`.
        beside: of quality, what plain counts and the raters themselves reach on the test part.
        worth: the test part's pairs in order, beside chance and counting changes; None in folders
            of earlier versions.
    """

    folder: Path
    figures: _Figures
    trained: Mapping[str, Mapping[str, float]]
    steps: Mapping[str, float]
    alone: Mapping[str, _Figures] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    effort: Mapping[str, Stage] = field(default_factory=dict)
    beside: Sequence[BesideRow] = ()
    worth: Worth | None = None


@dataclass(frozen=True)
class _Run:
    """A job under way, with who is told how it goes."""

    job: Job
    watchers: Watchers

    def runtime(self, name: str) -> Runtime:
        """The job's, telling of the model that is trained with it by this name."""
        return self.watchers.runtime(self.job.runtime, name)


def train_some(job: Job) -> Report:
    """Train, evaluate and save; a killed run goes on where it stopped.

    Raises:
        OptionError: the folder holds another model, or checkpoints of another run.
        InputError, DataError, OutputError: see `gecjury.refless.training.trainer.fit` and
        `gecjury.refless.nets.regressor`.
    """
    run = _run_print(job)
    done = _finished(job.folder, run)
    if done is not None:
        return done
    if job.recipe.settings.frozen_layers:
        check_layers(read_config(resolve(job.recipe.encoder)), job.recipe.settings.frozen_layers)
    under_way = _Run(job, Watchers.of(job, job.work if is_main_process() else None))
    start, step_scores = _run_steps(under_way)
    trained, found = _train(under_way, start)
    record: dict[str, Any] = {
        "format": BUNDLE_FORMAT,
        "run": run,
        "scale": [job.data.scale.low, job.data.scale.high],
        "max_length": job.recipe.settings.max_length,
        **({} if job.recipe.language == "en" else {"language": job.recipe.language}),
        **({"recipe": job.recipe_name} if job.recipe_name else {}),
        **found,
    }
    report = None
    if is_main_process():
        _write_keys(job)
        with under_way.watchers.ledger.stage("evaluation"):
            rated = _evaluate(job, assemble(job.folder, record))
        if rated.shares:
            record |= {"shares": rated.shares, "alone": rated.alone}
        effort = under_way.watchers.ledger.rounded()
        report = replace(rated, trained=trained, steps=step_scores, effort=effort)
        record |= {"figures": report.figures, "trained": trained, "steps": step_scores}
        record["effort"] = effort
        if report.beside:
            record["beside"] = report.beside
        record["worth"] = report.worth
        write_text(job.folder / "README.md", _card(job, report))
        write_text(job.folder / MANIFEST, json.dumps(record, indent=1))
        shutil.rmtree(job.work, ignore_errors=True)
    wait_for_all()
    return report or Report(job.folder, {}, trained, step_scores)


def _run_print(job: Job) -> str:
    """Fingerprint of everything that decides the weights."""
    split, steps = job.split, job.steps
    parts = [job.data.print, json.dumps(job.recipe.deciding()), *(e.print for e in job.extra)]
    parts += [",".join(map(str, rows)) for rows in (split.train, split.dev, split.test)]
    if steps is not None and job.recipe.intermediate:
        parts += [f"{c.source}\t{c.text()}" for c in steps.corrections]
        parts += [*steps.clean, *(r.print for r in steps.rated)]
        if steps.labelled is not None:
            parts.append(steps.labelled.print)
    return fingerprint(parts)


def _finished(folder: Path, run: str) -> Report | None:
    """The report of an earlier run that came to its end here, if it was the same."""
    path = folder / MANIFEST
    if not path.exists():
        return None
    try:
        record = read_json(path, "the manifest of a SOME")
    except InputError:
        record = None
    parts = ("figures", "trained", "steps")
    whole = isinstance(record, dict) and all(isinstance(record.get(p), dict) for p in parts)
    if not whole or record["run"] != run:
        raise OptionError(
            f"{folder}: holds a model of other settings or data; name another folder, or remove "
            "this one"
        )
    return Report(
        folder, record["figures"], record["trained"], record["steps"],
        record.get("alone", {}), record.get("shares", {}), record.get("effort", {}),
        record.get("beside", ()), record.get("worth"),
    )  # fmt: skip


def _run_steps(run: _Run) -> tuple[str, dict[str, float]]:
    """Run the intermediate steps; returns where the regression starts, and dev scores."""
    job, recipe = run.job, run.job.recipe
    start = recipe.detector or recipe.encoder
    scores: dict[str, float] = {}
    settings = step_settings(recipe.settings, recipe.intermediate_epochs, recipe.intermediate_rate)
    for number, kind in enumerate(recipe.intermediate):
        step = Step(
            kind=kind,
            start=start,
            folder=job.work / f"step-{number}-{kind}",
            data=job.steps or IntermediateData(),
            settings=settings,
            runtime=run.runtime(f"step {kind}"),
            frozen=recipe.frozen,
            error_weight=recipe.error_weight,
        )
        with run.watchers.ledger.stage(f"step {kind}"):
            found = run_intermediate(step)
        path = step.folder / "score.json"
        if found and is_main_process():
            kept = step_figures(kind, found) if step.labelled else found["score"]
            write_text(path, json.dumps(kept))
        wait_for_all()
        if path.exists():
            known = read_json(path, "a figure of a step")
            named = known if isinstance(known, dict) else {kind: known}
            scores |= {str(name): _kept_figure(value, path) for name, value in named.items()}
        start = str(step.folder / "model")
    return start, scores


Trained = tuple[dict[str, Mapping[str, float]], dict[str, Any]]
"""Dev figures by model, and what the manifest says of the models."""


def _train(run: _Run, start: str) -> Trained:
    """Fine-tuning, kernel regression, or both."""
    job = run.job
    trained: dict[str, Mapping[str, float]] = {}
    found: dict[str, Any] = {"members": []}
    if job.recipe.tuned:
        with run.watchers.ledger.stage("fine-tuning"):
            trained, found = _fine_tune(run, start)
    if job.recipe.kernel:
        # Last, since it takes seconds, and a run that goes on fits it anew.
        with run.watchers.ledger.stage("kernel regression"):
            chosen, kernel = _fit_kernel(run, start)
        prefix = "kernel/" if job.recipe.tuned else ""
        trained |= {f"{prefix}{aspect}": figures for aspect, figures in chosen.items()}
        found |= kernel
    return trained, found


def _fine_tune(run: _Run, start: str) -> Trained:
    job, recipe = run.job, run.job.recipe
    tokenizer = load_tokenizer(start)
    language = recipe.language
    linear = fit_features(job.data, job.split, tokenizer, language) if recipe.features else {}
    added = additions(job.data, linear, tokenizer, language)
    trained: dict[str, Mapping[str, float]] = {}
    places: list[dict[str, Any]] = []
    for seed in recipe.seeds:
        for aspects in [job.data.aspects] if recipe.shared else [(a,) for a in job.data.aspects]:
            model = _Model(_place(recipe, seed, aspects), aspects, seed)
            trained[model.place or "shared"] = _train_model(run, model, start, added)
            places.append({"path": model.place or ".", "aspects": list(aspects)})
    features = {aspect: value.to_json() for aspect, value in linear.items()}
    return trained, {"members": places, "features": features}


@dataclass(frozen=True)
class _Model:
    """One of a SOME's models: its folder within the SOME's, what it rates, and its seed."""

    place: str
    aspects: tuple[str, ...]
    seed: int


def _place(recipe: Recipe, seed: int, aspects: tuple[str, ...]) -> str:
    """Folder of a model; the only one of all stands in the top folder itself."""
    parts = [] if len(recipe.seeds) == 1 else [f"seed-{seed}"]
    if not recipe.shared:
        parts.append(aspects[0])
    return "/".join(parts)


def _train_model(run: _Run, one: _Model, start: str, added: FloatArray) -> Mapping[str, float]:
    """Train one model; one that was finished before the run was killed is not trained again.

    Args:
        run: that it belongs to.
        one: which model.
        start: folder or hub name of the model that it starts from.
        added: rows × aspects of the data, what features add to the model's outputs.
    """
    job, aspects = run.job, one.aspects
    data, split = job.data, job.split
    settings = replace(job.recipe.settings, seed=one.seed)
    work = job.work / (one.place.replace("/", "-") or "shared")
    marker = work / "finished.json"
    if marker.exists():
        finished = read_json(marker, "figures of a finished model")
        if not isinstance(finished, dict):
            raise InputError(f"{marker}: no table of figures; delete the folder to train anew")
        return {str(name): _kept_figure(value, marker) for name, value in finished.items()}
    from transformers import set_seed

    set_seed(settings.seed)
    tokenizer = load_tokenizer(start)
    model = load_model(start, aspects)
    columns = [data.aspects.index(aspect) for aspect in aspects]
    # The model learns what the features leave over, since their part is added to its outputs.
    targets = data.ratings[:, columns] - added[:, columns]
    _start_at_mean(model, targets[split.train].mean(axis=0))
    if job.recipe.frozen:
        freeze_embeddings(model)
    inputs = _inputs(data, aspects, tokenizer, settings.max_length)
    examples = [
        {**inputs[group][row], "labels": [t if a in group else np.nan for a, t in
                                          zip(aspects, targets[row].tolist(), strict=True)]}
        for group in inputs
        for row in split.train.tolist()
    ]  # fmt: skip
    for further in job.extra:
        examples += _extra_examples(further, aspects, tokenizer, settings.max_length)

    def evaluate(model: Any) -> dict[str, float]:
        figures = {}
        for group, encoded in inputs.items():
            part = {key: [encoded[row][key] for row in split.dev] for key in encoded[0]}
            outputs = predict(model, tokenizer, part, job.runtime)
            # A diverged model must not pass for one without correlation, which counts as 0.
            if not np.isfinite(outputs).all():
                return {"score": float("nan")}
            for place, (aspect, column) in enumerate(zip(aspects, columns, strict=True)):
                if aspect in group:
                    total = outputs[:, place] + added[split.dev, column]
                    rho = spearman(data.ratings[split.dev, column], total)
                    figures[aspect] = 0.0 if np.isnan(rho) else rho
        return {"score": float(np.mean(list(figures.values()))), **figures}

    task = LearningTask(
        model=model,
        tokenizer=tokenizer,
        examples=examples,
        evaluate=evaluate,
        label=f"{' and '.join(aspects)}: training",
    )
    result = fit(task, settings, work, run.runtime(one.place or "shared"))
    summary = {**result.best, "epochs": float(len(result.history))}
    # The marker comes last: where it stands, the model is whole.
    if is_main_process():
        save_model(result.model, tokenizer, job.folder / one.place)
        write_text(marker, json.dumps(summary))
    wait_for_all()
    return summary


def _kept_figure(value: object, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise InputError(f"{path}: {value!r:.60} is no figure; delete the folder to train anew")
    return float(value)


def _start_at_mean(model: Any, means: FloatArray) -> None:
    """Let fresh heads begin at the mean rating, which would take many steps to reach.

    A head without a bias (GPT-2's) begins where it was drawn.
    """
    import torch

    layer = output_layer(model)
    if layer is not None and layer.bias is not None:
        with torch.no_grad():
            layer.bias.copy_(torch.tensor(means))


def _inputs(
    data: Annotations, aspects: tuple[str, ...], tokenizer: Any, max_length: int
) -> dict[tuple[str, ...], list[dict[str, Any]]]:
    """Tokenised rows by the aspects that read them: lone hypotheses, or pairs (`PAIRED`)."""
    found = {}
    alone = tuple(aspect for aspect in aspects if aspect not in PAIRED)
    compared = tuple(aspect for aspect in aspects if aspect in PAIRED)
    if alone:
        found[alone] = tokenise(tokenizer, data.outputs, None, max_length)
    if compared:
        if not any(data.sources):
            raise InputError(
                f"{compared[0]} is rated of pairs: name the column of the sources "
                "(--column source=...)"
            )
        found[compared] = tokenise(tokenizer, data.sources, data.outputs, max_length)
    return found


def _extra_examples(
    data: Annotations, aspects: tuple[str, ...], tokenizer: Any, max_length: int
) -> list[dict[str, Any]]:
    shared = [a for a in aspects if a in data.aspects and a not in PAIRED]
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


def _fit_kernel(run: _Run, start: str) -> Trained:
    job = run.job
    recipe, folder = job.recipe, job.folder
    if job.extra and not recipe.tuned:
        raise OptionError("kernel regression learns from one set of ratings: leave out --gug")
    base = encoder = recipe.encoder
    if Path(base).is_dir():
        base = encoder = _keep(base, folder / "base")
    if recipe.intermediate or (recipe.detector and Path(start).is_dir()):
        encoder = _keep(start, folder / "encoder")
    elif recipe.detector:
        encoder = recipe.detector
    probe, chosen, curves = fit_probe(
        job.data, job.split, encoder, base, recipe.settings.max_length, job.runtime,
        within=recipe.within, paired=recipe.read_source,
        shares=_CURVE if job.drawn is not None else (), language=recipe.language,
    )  # fmt: skip
    if is_main_process():
        save_probe(probe, folder)
        if job.drawn is not None:
            run.watchers.history.note_kernel(curves)
    wait_for_all()
    return dict(chosen), {"kernel": probe.record(folder)}


def _keep(encoder: str, place: Path) -> str:
    """Copy an encoder that is nowhere but on this machine into the trained folder."""
    if is_main_process():
        with output_errors(place):
            shutil.copytree(encoder, place, dirs_exist_ok=True)
    wait_for_all()
    return str(place)


def _evaluate(job: Job, bundle: Bundle) -> Report:
    """Figures on dev and test; where there are two parts, their shares by dev Spearman as well."""
    both = bool(bundle.members) and bundle.probe is not None
    shares: dict[str, float] = {}
    figures: _Figures = {}
    alone: dict[str, _Figures] = {"fine-tuning": {}, "kernel": {}} if both else {}
    rows_beside: Sequence[BesideRow] = ()
    for part, rows in (("dev", job.split.dev), ("test", job.split.test)):
        chosen = job.data.take(rows)
        pairs = (chosen.sources, chosen.outputs)
        ratings = dict(zip(job.data.aspects, chosen.ratings.T, strict=True))
        found = bundle.parts(chosen.outputs, pairs, job.runtime)
        if both:
            if part == "dev":
                shares = {a: best_share(ratings[a], found[0][a], found[1][a]) for a in ratings}
            for name, predicted in zip(alone, found, strict=True):
                alone[name][part] = _by_aspect(ratings, predicted)
            predicted = {a: (1 - s) * found[0][a] + s * found[1][a] for a, s in shares.items()}
        else:
            predicted = found[0] | found[1]
        figures[part] = _by_aspect(ratings, predicted)
        if part == "test" and QUALITY in predicted:
            rows_beside = figures_beside(chosen, predicted[QUALITY], job.recipe.language)
    train = job.data.take(job.split.train)
    worth = worth_of_ratings(train, chosen, predicted, job.recipe.language)
    return Report(job.folder, figures, {}, {}, alone, shares, beside=rows_beside, worth=worth)


def _by_aspect(
    ratings: Mapping[str, FloatArray], predicted: Mapping[str, FloatArray]
) -> dict[str, dict[str, float]]:
    return {a: aspect_figures(values, predicted[a]) for a, values in ratings.items()}


def best_share(ratings: FloatArray, tuned: FloatArray, fitted: FloatArray) -> float:
    """The share of `fitted`, in tenths, with which the mean orders rows best, by Spearman.

    Of shares that do as well, the most even.

    Args:
        ratings: one a row.
        tuned: predictions of fine-tuned models.
        fitted: predictions of the kernel regression.
    """
    best = (-np.inf, 0.5)
    for tenths in (5, 4, 6, 3, 7, 2, 8, 1, 9, 0, 10):
        share = tenths / 10
        rho = spearman(ratings, (1 - share) * tuned + share * fitted)
        if rho > best[0]:
            best = (rho, share)
    return best[1]


def aspect_figures(ratings: FloatArray, predicted: FloatArray) -> dict[str, float]:
    """Pearson, Spearman and root mean squared error of predictions."""
    return {
        "pearson": pearson(ratings, predicted),
        "spearman": spearman(ratings, predicted),
        "rmse": float(np.sqrt(np.mean((ratings - predicted) ** 2))),
        "rows": float(len(ratings)),
    }


def _write_keys(job: Job) -> None:
    """Keep hashes of the sentences trained or chosen on; on the test part a model may be tried."""
    seen = job.data.take([*job.split.train, *job.split.dev])
    texts = {*seen.sources, *seen.outputs}
    for further in job.extra:
        texts |= {*further.sources, *further.outputs}
    texts.discard("")
    with output_errors(job.folder):
        labelled = job.steps.labelled if job.steps is not None else None
        keys = {*map(sentence_key, texts), *detection_keys(labelled, job.recipe.detector)}
        write_text(job.folder / KEYS_FILE, "\n".join(sorted(keys)) + "\n")


def _card(job: Job, report: Report) -> str:
    notes = [*job.notes]
    if job.recipe.features:
        notes.append(
            "Case, spelling and edit features are added by gecjury; plain transformers gives the "
            "model's part alone, on the same scale"
        )
    if job.recipe.kernel:
        notes.append(
            "The ratings come from kernel regression (kernel.safetensors) on the encoders' hidden "
            "states"
            + (", averaged with the fine-tuned models" if job.recipe.fine_tune else "")
            + "; plain transformers loads the "
            + ("models" if job.recipe.fine_tune else "encoders")
            + " alone"
        )
    if job.recipe.read_source:
        notes.append(
            "Grammaticality and fluency read the source as well, and may rate what a correction "
            "says of its source; compare no systems with it unless differences within a source "
            f"were weighed up (within is {job.recipe.within:g})"
        )
    notes += [
        "The dev part chose epochs, penalties and shares: the figures on test are the fair ones",
        "Nothing empty, generic or foreign was trained on: an empty output, or one sentence that "
        "suits every source, may be rated above a true correction (`gecjury attack` tries that). "
        "Do not rank systems with this metric alone",
        "Other languages, writers and scales than those of the ratings were not tried",
    ]
    return model_card(
        f"SOME: {', '.join(job.data.aspects)}",
        "some",
        base=job.recipe.encoder,
        folder=job.folder,
        data={
            **job.origin,
            "rows": str(len(job.data)),
            "fingerprint": job.data.print,
            "split": f"{job.split}, by source",
        },
        settings=_settings(job),
        language=job.recipe.language,
        results="\n\n".join(
            [
                *([worth_table(report.worth)] if report.worth else []),
                figures_table(report.figures, report.alone) + _beside(job, report),
                *([beside_table(report.beside)] if report.beside else []),
                *figures_in_words(report.steps),
            ]
        ),
        usage=f"gecjury score SOURCE HYP -m {metric_for(job.folder.name, job.data.aspects)}",
        notes=notes,
        about=_ABOUT,
        license=job.license,
        figures=report.figures,
        effort=report.effort,
        citation=_CITATION,
    )


def _settings(job: Job) -> dict[str, Any]:
    """Return the settings for the card: its recipe by name, the language unless it is English."""
    settings = {"recipe": job.recipe_name} if job.recipe_name else {}
    settings |= asdict(job.recipe)
    if job.recipe.language == "en":
        settings.pop("language")
    return settings


def _beside(job: Job, report: Report) -> str:
    """What to hold the figures against, and the parts' shares."""
    lines = []
    if report.shares:
        shares = ", ".join(f"{aspect} {share:g}" for aspect, share in report.shares.items())
        lines.append(
            "The kernel regression's share in the prediction, in tenths by dev Spearman: "
            f"{shares}; the rest is the fine-tuned models'."
        )
    if job.origin.get("data") == "tmu-gfm":
        lines.append(
            "Beside them, test Pearson/Spearman in Yoshimura's thesis (2021, table 6.1; "
            "bert-base-cased, another draw of the split): grammaticality .700/.719, fluency "
            ".676/.696, meaning .639/.619. One rater's score correlates with the mean of the other "
            "four by .364, .315 and .291; the mean of five has a reliability of .61, .55 and .51 "
            "(Spearman-Brown), so that no metric can reach more than about .78, .74 and .71."
        )
    return "".join(f"\n\n{line}" for line in lines)


_ABOUT = """\
Predicts how people would rate a correction of a sentence, aspect by aspect, without a reference.

**Meant for** comparing grammatical error correction systems on many sentences, beside other
metrics, and for ordering corrections of one sentence. **Not meant for** grading people's writing,
for judging a single sentence, or for deciding anything about a person."""

_CITATION = """\
@inproceedings{yoshimura-etal-2020-reference,
  title = "{SOME}: Reference-less Sub-Metrics Optimized for Manual Evaluations
           of Grammatical Error Correction",
  author = "Yoshimura, Ryoma and Kaneko, Masahiro and Kajiwara, Tomoyuki and Komachi, Mamoru",
  booktitle = "Proceedings of the 28th International Conference on Computational Linguistics",
  year = "2020",
  pages = "6516--6522",
}"""
