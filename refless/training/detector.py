"""Train a separate error detector: labelled text in, a plain token classification model out.

`gecjury train some` and `train impara` can both start from it, so it is trained only once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gecjury.refless.data.labelled import LabelledText, labelled_print
from gecjury.refless.nets.regressor import save_model
from gecjury.refless.training.detection import DetectionData, learn_detection, with_dev
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.model_card import markdown_table, model_card, shown_name
from gecjury.refless.training.recipe import DetectorRecipe
from gecjury.refless.training.trainer import is_main_process, wait_for_all

DETECTOR_FORMAT = "gecjury-detector/1"


@dataclass(frozen=True, kw_only=True)
class DetectorJob(TrainingJob):
    """The input of one training of a detector; the best epoch is that with the best dev F0.5.

    Attributes:
        recipe: how the detector is trained.
        text: labelled sentences; without a dev part, a tenth is held out.
    """

    recipe: DetectorRecipe
    text: LabelledText


@dataclass(frozen=True)
class _Report:
    figures: Mapping[str, float]


def train_detector(job: DetectorJob) -> dict[str, float]:
    """Train, evaluate and save; a killed run resumes where it stopped.

    Returns:
        Dev figures, see `gecjury.refless.training.detection.detection_scores`.

    Raises:
        InputError: too few sentences, or only one class.
        OptionError: the folder contains another model.
    """
    recipe, settings = job.recipe, job.recipe.settings
    text = with_dev(job.text, settings.seed)
    run = job.run(text.print)
    if (earlier := job.finished(run, _Report)) is not None:
        return dict(earlier.figures)
    watch = job.watch()
    result, tokenizer = learn_detection(job, DetectionData(labelled=text), "detector", watch)
    names = ("f0.5", "precision", "recall", "ap", "tokens")
    figures = {name: float(result.best[name]) for name in names}
    # The detector itself is in the top folder, where `train some` and `train impara` load it.
    if is_main_process():
        save_model(result.model, tokenizer, job.folder)
        record = {"format": DETECTOR_FORMAT, "encoder": shown_name(recipe.encoder), "run": run}
        # The dev part chose the epoch, so models must not be evaluated on it either.
        texts = [sentence.text for part in (text.train, text.dev) for sentence in part]
        card = _card(job, text, figures)
        job.finish(texts, record | {"figures": figures}, card)
    wait_for_all()
    return figures


def _card(job: DetectorJob, text: LabelledText, figures: Mapping[str, float]) -> str:
    shown = [f"{figures[name]:.4f}" for name in ("f0.5", "precision", "recall", "ap")]
    return model_card(
        job,
        "Error detection by token",
        "detector",
        data={
            "train": f"{len(text.train)} sentences ({labelled_print(text.train)})",
            "dev": f"{len(text.dev)} sentences ({labelled_print(text.dev)})",
        },
        results=markdown_table(
            ("part", "F0.5", "precision", "recall", "average precision", "tokens"),
            [("dev", *shown, int(figures["tokens"]))],
        ),
        usage=f"gecjury train some tmu-gfm -o my-some --kernel --detector {job.folder.name} "
        "--encoder BASE",
        notes=[
            "Two classes, c (correct) and i (incorrect). A token's first and last word piece have "
            "its label; its probability is the mean of theirs, and from .5 on it counts as wrong",
            "The figures are for the part that chose the epoch, not for unseen text",
        ],
    )
