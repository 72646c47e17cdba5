"""An error detector of its own: labelled text in, a plain token classification model out.

`gecjury train some` and `train impara` start from it, so that it is trained once for both.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gecjury.corpus.corpus import fingerprint
from gecjury.errors import OptionError
from gecjury.models.checkpoints import resolve
from gecjury.models.networks import read_config
from gecjury.refless.data.labelled import LabelledText, labelled_print
from gecjury.refless.nets.bundle import KEYS_FILE, MANIFEST
from gecjury.refless.nets.regressor import load_model, load_tokenizer, save_model
from gecjury.refless.training.model_card import model_card, shown_name
from gecjury.refless.training.recipe import TrainSettings, refuse_error_weight
from gecjury.refless.training.steps.detection import (
    LABELS,
    detection_keys,
    labelled_examples,
    labelled_figures,
    with_dev,
)
from gecjury.refless.training.steps.intermediate import freeze_embeddings
from gecjury.refless.training.trainable import check_layers
from gecjury.refless.training.trainer import LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Stage, Watchers
from gecjury.runtime import Runtime
from gecjury.textfiles import read_json, write_text

DETECTOR_FORMAT = "gecjury-detector/1"


@dataclass(frozen=True, kw_only=True)
class DetectorJob:
    """What one training of a detector is given.

    Attributes:
        text: labelled sentences; without a dev part a tenth is held out.
        encoder: hub name, folder or `embedded`.
        settings: see `TrainSettings`; the best epoch is that with the best dev F0.5.
        folder: output.
        runtime: device and progress.
        frozen: leave the word embeddings as they are.
        error_weight: how much wrong tokens weigh in the loss; right ones weigh 1.
        origin: names of the data, for the model card.
        language: code of the text's language, for the model card; `mul` for several.
        recipe_name: the named recipe that the options came from, for card and manifest; empty for
            none.
        license: of the model, for the model card; empty: none is named.
        report_to: what transformers reports to while it trains (`tensorboard`, `wandb`, ...).
        logs: folder for TensorBoard; None for `logs` in the output folder.
        drawn: called with the history of the run whenever something has come.
    """

    text: LabelledText
    encoder: str
    settings: TrainSettings
    folder: Path
    runtime: Runtime
    frozen: bool = False
    error_weight: float = 1.5
    origin: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"
    recipe_name: str = ""
    license: str = ""
    report_to: tuple[str, ...] = ()
    logs: Path | None = None
    drawn: Callable[[Mapping[str, Any]], None] | None = None

    def __post_init__(self) -> None:
        refuse_error_weight(self.error_weight)


def train_detector(job: DetectorJob) -> dict[str, float]:
    """Train, evaluate and save; a killed run goes on where it stopped.

    Returns:
        Dev figures, see `gecjury.refless.training.steps.detection.detection_scores`.

    Raises:
        InputError: too few sentences, or one class only.
        OptionError: the folder holds another model.
    """
    settings, folder = job.settings, job.folder
    text = with_dev(job.text, settings.seed)
    choices = {**asdict(settings), "frozen": job.frozen, "error_weight": job.error_weight}
    run = fingerprint([job.encoder, text.print, json.dumps(choices)])
    done = _finished(folder, run)
    if done is not None:
        return done
    if settings.frozen_layers:
        check_layers(read_config(resolve(job.encoder)), settings.frozen_layers)
    from transformers import set_seed

    # The fresh head is drawn while the model is loaded, before `fit` sets the seed.
    set_seed(settings.seed)
    tokenizer = load_tokenizer(job.encoder)
    model = load_model(job.encoder, LABELS, kind="detection")
    if job.frozen:
        freeze_embeddings(model)
    work = folder / "checkpoints"
    task = LearningTask(
        model=model,
        tokenizer=tokenizer,
        examples=labelled_examples(text.train, tokenizer, settings.max_length),
        evaluate=lambda model: labelled_figures(model, tokenizer, text.dev, settings, job.runtime),
        objective="detection",
        label="detector: training",
        error_weight=job.error_weight,
    )
    watchers = Watchers.of(job, work if is_main_process() else None)
    with watchers.ledger.stage("training"):
        result = fit(task, settings, work, watchers.runtime(job.runtime, "detector"))
    names = ("f0.5", "precision", "recall", "ap", "tokens")
    figures = {name: float(result.best[name]) for name in names}
    if is_main_process():
        save_model(result.model, tokenizer, folder)
        effort = watchers.ledger.rounded()
        _write_card(job, text, choices, figures, effort)
        record = {"format": DETECTOR_FORMAT, "encoder": shown_name(job.encoder), "run": run}
        record |= {} if job.language == "en" else {"language": job.language}
        record |= {"recipe": job.recipe_name} if job.recipe_name else {}
        write_text(
            folder / MANIFEST,
            json.dumps({**record, "figures": figures, "effort": effort}, indent=1),
        )
        shutil.rmtree(work, ignore_errors=True)
    wait_for_all()
    return figures


def _finished(folder: Path, run: str) -> dict[str, float] | None:
    path = folder / MANIFEST
    if not path.exists():
        return None
    record = read_json(path, "the manifest of a detector")
    record = record if isinstance(record, dict) else {}
    figures = record.get("figures")
    if record.get("run") != run or not isinstance(figures, dict):
        raise OptionError(
            f"{folder}: holds a model of other settings or data; name another folder, or remove "
            "this one"
        )
    return {str(name): float(value) for name, value in figures.items()}


def _write_card(
    job: DetectorJob,
    text: LabelledText,
    choices: Mapping[str, Any],
    figures: Mapping[str, float],
    effort: Mapping[str, Stage],
) -> None:
    keys = detection_keys(text, "")
    write_text(job.folder / KEYS_FILE, "\n".join(sorted(keys)) + "\n")
    table = ["| part | F0.5 | precision | recall | average precision | tokens |"]
    table += ["|---|---|---|---|---|---|"]
    shown = " | ".join(f"{figures[name]:.4f}" for name in ("f0.5", "precision", "recall", "ap"))
    table.append(f"| dev | {shown} | {int(figures['tokens'])} |")
    card = model_card(
        "Error detection by token",
        "detector",
        base=job.encoder,
        folder=job.folder,
        data={
            **job.origin,
            "train": f"{len(text.train)} sentences ({labelled_print(text.train)})",
            "dev": f"{len(text.dev)} sentences ({labelled_print(text.dev)})",
        },
        settings={**({"recipe": job.recipe_name} if job.recipe_name else {}), **choices},
        results="\n".join(table),
        usage=f"gecjury train some tmu-gfm -o my-some --kernel --detector {job.folder.name} "
        "--encoder BASE",
        notes=[
            "Two classes, c (correct) and i (incorrect). A token's first and last word piece carry "
            "its label; its probability is the mean of theirs, and from one half on it counts as "
            "wrong",
            "The figures are of the part that chose the epoch, not of unseen text",
        ],
        language=job.language,
        license=job.license,
        effort=effort,
    )
    write_text(job.folder / "README.md", card)
