"""Figures of a trained SOME on the dev and test parts, and its model card."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.refless.nets.bundle import Bundle, aspect_weights, metric_for
from gecjury.refless.training.detection import figures_in_words
from gecjury.refless.training.job import JobSettings
from gecjury.refless.training.model_card import Figures, figures_table, model_card
from gecjury.refless.training.recipe import Recipe
from gecjury.refless.training.worth import Worth, worth_of_ratings, worth_table
from gecjury.stats.correlation import pearson, spearman


@dataclass(frozen=True)
class Report:
    """The report of a training, which is part of the manifest of its folder.

    Attributes:
        figures: `dev` and `test`, then aspect, then pearson, spearman, rmse, rows.
        trained: for each trained model, its best dev score and its epochs.
        detection: dev figures of error detection, if it was learnt first.
        alone: separate figures of `fine-tuning` and of the `kernel` regression, if both were
            trained.
        shares: for each aspect, the kernel regression's share in the prediction, if both were
            trained.
        dev_scores: mean and deviation of the score on dev, with the usual weights.
        worth: the share of the test part's pairs in the right order, compared with chance and with
            counting changes; None before the evaluation.
    """

    figures: Figures
    trained: Mapping[str, Mapping[str, float]]
    detection: Mapping[str, float] = field(default_factory=dict)
    alone: Mapping[str, Figures] = field(default_factory=dict)
    shares: Mapping[str, float] = field(default_factory=dict)
    dev_scores: tuple[float, ...] = ()
    worth: Worth | None = None


def evaluate(job: JobSettings, bundle: Bundle, report: Report) -> Report:
    """Return a report with figures on dev and test.

    If a model has two parts, their shares are chosen by dev Spearman and are in the report as well.
    """
    both = bool(bundle.members) and bundle.probe is not None
    shares: dict[str, float] = {}
    figures: dict[str, dict[str, Mapping[str, Mapping[str, float]]]] = {}
    # Dev comes first: the shares chosen on it are used for test.
    for part, rows in (("dev", job.split.dev), ("test", job.split.test)):
        chosen = job.data.take(rows)
        ratings = dict(zip(job.data.aspects, chosen.ratings.T, strict=True))
        tuned, fitted = bundle.parts(chosen.outputs, (chosen.sources, chosen.outputs), job.runtime)
        if both and part == "dev":
            shares = {a: best_share(ratings[a], tuned[a], fitted[a]) for a in ratings}
        manifest = replace(bundle.manifest, shares=shares)
        predicted = replace(bundle, manifest=manifest).mixed(tuned, fitted)
        if part == "dev":
            low, high = bundle.manifest.scale
            weights = aspect_weights(sorted(ratings)).items()
            summed = sum(weight * predicted[a] for a, weight in weights)
            scores = (np.asarray(summed) - low) / (high - low)
        ways = {"fine-tuning": tuned, "kernel": fitted} if both else {}
        for way, values in {"": predicted, **ways}.items():
            by_aspect = {a: aspect_figures(ratings[a], values[a]) for a in ratings}
            figures.setdefault(way, {})[part] = by_aspect
    # `chosen` and `predicted` now belong to the test part, the last of the loop.
    language = job.recipe.language
    train = job.data.take(job.split.train)
    return replace(
        report,
        figures=figures.pop(""),
        alone=figures,
        shares=shares,
        dev_scores=(float(scores.mean()), float(scores.std())),
        worth=worth_of_ratings(train, chosen, predicted, language),
    )


def best_share(ratings: FloatArray, tuned: FloatArray, fitted: FloatArray) -> float:
    """Return the share of `fitted`, in tenths, whose weighted mean has the best Spearman.

    If several shares are equally good, the one nearest to one half is returned.

    Args:
        ratings: one per row.
    """

    def order(tenths: int) -> float:
        share = tenths / 10
        rho = spearman(ratings, (1 - share) * tuned + share * fitted)
        return -np.inf if np.isnan(rho) else rho

    # `max` returns the first of equals.
    return max((5, 4, 6, 3, 7, 2, 8, 1, 9, 0, 10), key=order) / 10


def aspect_figures(ratings: FloatArray, predicted: FloatArray) -> dict[str, float]:
    """Return Pearson, Spearman and root mean squared error of predictions."""
    return {
        "pearson": pearson(ratings, predicted),
        "spearman": spearman(ratings, predicted),
        "rmse": float(np.sqrt(np.mean((ratings - predicted) ** 2))),
        "rows": float(len(ratings)),
    }


def _limits(recipe: Recipe) -> list[str]:
    """Return notes on the limits of a model."""
    notes = []
    if recipe.features:
        notes.append(
            "gecjury adds case, spelling and edit features; plain transformers gives only the "
            "model's own prediction, on the same scale"
        )
    # Plain transformers cannot use the kernel regression, so the card must say so.
    if recipe.kernel:
        notes.append(
            "The ratings come from kernel regression (kernel.safetensors) on the encoders' hidden "
            "states"
            + (", averaged with the fine-tuned models" if recipe.fine_tune else "")
            + "; plain transformers loads only the "
            + ("models" if recipe.fine_tune else "encoders")
        )
    # See `Probe.paired`: such models order sources rather than corrections of one source.
    if recipe.read_source:
        notes.append(
            "Grammaticality and fluency also read the source and may rate what a correction "
            "reveals about it; do not compare systems with this model unless differences within a "
            f"source had extra weight in training (here: within={recipe.within:g})"
        )
    return [
        *notes,
        "Epochs, penalties and shares were chosen on the dev part: only the figures on test are "
        "unbiased",
        "The training data has no empty, generic or unrelated outputs: an empty output, or one "
        "sentence that suits every source, may be rated above a real correction (`gecjury attack` "
        "tests this). Do not rank systems with this metric alone",
        "Languages, writers and scales other than those of the ratings were not tested",
    ]


def some_card(job: JobSettings, report: Report) -> str:
    """Return the model card of a SOME."""
    results = [
        *([worth_table(report.worth)] if report.worth else []),
        figures_table(report.figures, report.alone),
        *([_shares(report.shares)] if report.shares else []),
        *figures_in_words(report.detection),
    ]
    return model_card(
        job,
        f"SOME: {', '.join(job.data.aspects)}",
        "some",
        data={
            "rows": str(len(job.data)),
            "fingerprint": job.data.print,
            "split": f"{job.split}, by source",
        },
        results="\n\n".join(results),
        usage=f"gecjury score SOURCE HYP -m {metric_for(job.folder.name, job.data.aspects)}",
        notes=_limits(job.recipe),
        about=_ABOUT,
        citation=_CITATION,
        extra="" if job.recipe.features_alone else "refless",
    )


def _shares(shares: Mapping[str, float]) -> str:
    """Return a line with the share of each part in the prediction."""
    by_aspect = ", ".join(f"{aspect} {share:g}" for aspect, share in shares.items())
    return (
        "The kernel regression's share in the prediction, in tenths, chosen by dev Spearman: "
        f"{by_aspect}; the rest is the share of the fine-tuned models."
    )


_ABOUT = """\
Predicts how people would rate a correction of a sentence, aspect by aspect, without a reference.

**Meant for** comparing grammatical error correction systems on many sentences, together with other
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
