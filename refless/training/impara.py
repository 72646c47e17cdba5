"""Train an IMPARA: parallel text to pairs to a ranker."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.models.checkpoints import is_folder, resolve
from gecjury.models.encoder import EncoderSpec
from gecjury.models.foreign import Network, Tokenizer
from gecjury.models.networks import layer_count
from gecjury.refless.data.labelled import LabelledText
from gecjury.refless.data.pairs import CorrectedPair, RankedPair, pairs_print, ranked_pairs
from gecjury.refless.data.partial import swapped_pairs
from gecjury.refless.nets.manifest import (
    IMPARA_FORMAT,
    IMPARA_LINEAR_FORMAT,
    IMPARA_POOLED_FORMAT,
)
from gecjury.refless.nets.pooled import fresh_pooled, save_pooled
from gecjury.refless.nets.ranker import HEAD_FILE, LinearRanker, mean_states, save_head
from gecjury.refless.nets.regressor import (
    load_model,
    load_tokenizer,
    output_errors,
    predict,
    save_model,
    tokenise,
)
from gecjury.refless.training.detection import (
    LEAST,
    drawn_parts,
    figures_in_words,
    refuse_few,
    run_detection,
)
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.model_card import markdown_table, model_card
from gecjury.refless.training.recipe import RankerRecipe
from gecjury.refless.training.trainer import LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Watch
from gecjury.refless.training.worth import Worth, worth_of, worth_table

_ENCODER = "encoder"

_PENALTY = 0.05

_MOST, _FEW = 0.95, 0.01
"""Shares of similarities below a linear ranker's threshold: of unrelated sentences, of pairs."""

_COMPARED = 512  # pairs that the threshold is computed from


def split_corrections(
    corrections: Sequence[CorrectedPair], seed: int
) -> dict[str, list[CorrectedPair]]:
    """Draw train, dev and test with every source in one part; a tenth each for dev and test."""
    edited = [correction for correction in corrections if correction.edits]
    keys = [normalise(correction.source) for correction in edited]
    return dict(zip(("dev", "test", "train"), drawn_parts(edited, keys, seed, 2), strict=True))


@dataclass(frozen=True, kw_only=True)
class RankerJob(TrainingJob):
    """The input of one training of an IMPARA; the best epoch is that with the best dev accuracy.

    The recipe's encoder weighs the edits and is then trained.

    Attributes:
        recipe: how the model is trained.
        corrections: parallel text.
    """

    recipe: RankerRecipe
    corrections: Sequence[CorrectedPair]


@dataclass(frozen=True)
class RankerReport:
    """The report of a training, which is part of the manifest of its folder.

    Attributes:
        figures: for dev and test, the share of pairs in the right order, and the number of pairs.
        worth: the share on the test part, compared with chance and with counting changes.
    """

    figures: tuple[Mapping[str, object], ...]
    worth: Worth


def train_impara(job: RankerJob) -> RankerReport:
    """Generate pairs, train on them, evaluate and save; a killed run resumes where it stopped.

    Raises:
        InputError: fewer than eight pairs can be generated for a part.
        OptionError: the folder holds another model.
    """
    recipe = job.recipe
    run = job.run(*(f"{c.source}\t{c.text()}" for c in job.corrections))
    if (earlier := job.finished(run, RankerReport)) is not None:
        return earlier
    watch = job.watch()
    # Impacts are measured with the pretrained encoder, before anything is trained.
    pairs = _make_pairs(job)
    start, detected = run_detection(job, _without_held_out(job), watch)
    if recipe.linear:
        gaps, record = _fit_linear(job, pairs, start)
    else:
        gaps, record = _fine_tune(job, pairs, start, watch)
    # Computed once for accuracy and worth, with the best epoch's model.
    reached = {part: gaps(part) for part in ("dev", "test")}
    figures = [
        {"part": part, "accuracy": pair_accuracy(values), "pairs": len(values)}
        for part, values in reached.items()
    ]
    worth = worth_of(
        reached["test"],
        pairs["test"],
        pairs["train"],
        judged="the edits of a reference (no person judged these pairs)",
        language=recipe.language,
    )
    report = RankerReport(tuple(figures), worth)
    if is_main_process():
        record = {**record, "run": run, "detection": detected, **asdict(report)}
        texts = {text for c in job.corrections for text in (c.source, c.text())}
        job.finish(texts, record, _card(job, pairs, report, detected, record))
    wait_for_all()
    return report


Gaps = Callable[[str], FloatArray]
"""A function that returns, for each pair of a part, the better sentence's output minus the
worse's."""


def _fine_tune(
    job: RankerJob, pairs: Mapping[str, Sequence[RankedPair]], start: str, watch: Watch
) -> tuple[Gaps, dict[str, object]]:
    """Fine-tune an encoder and save it; return the gaps and what the manifest says about it."""
    recipe, settings = job.recipe, job.recipe.settings
    tokenizer = load_tokenizer(start)
    fresh = fresh_pooled if recipe.pooled else load_model

    def gaps(model: Network, part: str) -> FloatArray:
        encoded = tokenise(tokenizer, _sides(pairs[part]), None, settings.max_length)
        return _differences(predict(model, tokenizer, encoded, job.runtime)[:, 0])

    task = LearningTask(
        name="ranker",
        model=fresh(start, ("rank",), seed=settings.seed),
        tokenizer=tokenizer,
        examples=pair_examples(tokenizer, pairs["train"], settings.max_length),
        evaluate=lambda model: {"score": pair_accuracy(gaps(model, "dev"))},
        objective="ranking",
        label="impara: training",
    )
    model = fit(task, settings, job.work / "ranker", job.runtime, watch).model
    kind = IMPARA_POOLED_FORMAT if recipe.pooled else IMPARA_FORMAT
    record: dict[str, object] = {"format": kind, "pooling": recipe.pooling}
    if is_main_process():
        (save_pooled if recipe.pooled else save_model)(model, tokenizer, job.folder)
        record["encoder"] = _kept_encoder(job, recipe.encoder)
    return lambda part: gaps(model, part), record


def _fit_linear(
    job: RankerJob, pairs: Mapping[str, Sequence[RankedPair]], start: str
) -> tuple[Gaps, dict[str, object]]:
    """Fit a logistic regression on the differences of pairs, and save it; see `_fine_tune`.

    The loss is the mean of log(1 + exp(worse − better)), plus `_PENALTY` times half the squared
    weights of standardised states. Outputs are then scaled to the deviation 1.
    """
    from scipy.optimize import minimize

    whole = EncoderSpec(start, max_length=job.recipe.settings.max_length)
    layer = max(1, layer_count(resolve(start)) // 2)  # half-way up
    spec = replace(whole, layer=layer)
    raw = mean_states(spec, _sides(pairs["train"]), job.runtime)
    mean, deviation = raw.mean(axis=0), raw.std(axis=0)
    deviation[deviation == 0] = 1.0
    states = (raw - mean) / deviation
    differences = _differences(states)

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margins = differences @ weights
        slope = -differences.T @ (1.0 / (1.0 + np.exp(margins))) / len(margins)
        value = np.logaddexp(0.0, -margins).mean() + _PENALTY / 2 * weights @ weights
        return float(value), slope + _PENALTY * weights

    weights = minimize(loss, np.zeros(states.shape[1]), jac=True, method="L-BFGS-B").x
    # Larger outputs would all be close to 0 or 1 in scores, where they go through a sigmoid.
    weights /= (states @ weights).std() * deviation
    ranker = LinearRanker(spec, layer, weights, float(-mean @ weights))
    record: dict[str, object] = {
        "format": IMPARA_LINEAR_FORMAT,
        "layer": layer,
        "threshold": _least_similarity(pairs["train"][:_COMPARED], whole, job),
    }
    if is_main_process():
        save_head(job.folder, weights[None], np.array([ranker.bias]))
        record["encoder"] = _kept_encoder(job, start)
    return lambda part: _differences(ranker.outputs(_sides(pairs[part]), job.runtime)), record


def _least_similarity(
    pairs: Sequence[RankedPair], spec: EncoderSpec, job: RankerJob
) -> float | None:
    """Return what most similarities of unrelated sentences stay below, and few of a pair's.

    Returns:
        The cosine that `_MOST` of the pairs of sentences from different sources stay below, or what
        `_FEW` of the pairs stay below, whichever is less; None if there is only one source.
    """
    states = mean_states(spec, _sides(pairs), job.runtime)
    other = np.random.default_rng(job.recipe.settings.seed).permutation(len(pairs))
    apart = np.array([pairs[k].source != pair.source for k, pair in zip(other, pairs, strict=True)])
    better, worse = np.split(states / np.linalg.norm(states, axis=1, keepdims=True), 2)
    unrelated, related = (better * better[other]).sum(axis=1)[apart], (better * worse).sum(axis=1)
    if not len(unrelated):
        return None
    return float(min(np.quantile(unrelated, _MOST), np.quantile(related, _FEW)).round(4))


def _sides(pairs: Sequence[RankedPair]) -> list[str]:
    return [pair.better for pair in pairs] + [pair.worse for pair in pairs]


def _differences(values: FloatArray) -> FloatArray:
    """Return the values of the better sentences minus those of the worse; see `_sides`."""
    better, worse = np.split(values, 2)
    with np.errstate(invalid="ignore"):  # a model that diverged gives NaN
        difference: FloatArray = better - worse
    return difference


def _kept_encoder(job: RankerJob, encoder: str) -> str:
    """Return how the manifest names an encoder; one that is only on this machine is copied."""
    if not is_folder(encoder):
        return encoder
    aside = shutil.ignore_patterns("checkpoints")
    with output_errors(job.folder / _ENCODER):
        shutil.copytree(encoder, job.folder / _ENCODER, dirs_exist_ok=True, ignore=aside)
    return _ENCODER


def _without_held_out(job: RankerJob) -> LabelledText | None:
    """Return the text for error detection without sentences that the ranker is evaluated on."""
    if job.detection is None:
        return None
    parts = split_corrections(job.corrections, job.recipe.settings.seed)
    tried = [*parts["dev"], *parts["test"]]
    held = {normalise(text) for c in tried for text in (c.source, c.text())}
    kept = tuple(s for s in job.detection.train if normalise(s.text) not in held)
    return replace(job.detection, train=kept)


def _make_pairs(job: RankerJob) -> dict[str, list[RankedPair]]:
    recipe, settings = job.recipe, job.recipe.settings
    parts = split_corrections(job.corrections, settings.seed)
    rng = np.random.default_rng(settings.seed)
    spec = EncoderSpec(recipe.encoder, max_length=settings.max_length)
    pairs = {}
    sizes = {"train": recipe.pairs, "dev": recipe.pairs // 8, "test": recipe.pairs // 8}

    def encode(texts: Sequence[str]) -> FloatArray:
        return mean_states(spec, texts, job.runtime)

    for part, wanted in sizes.items():
        count = max(wanted, LEAST)
        if recipe.linear:
            language = language_of(recipe.language)
            pairs[part] = swapped_pairs(parts[part], language, count, settings.seed)
        else:
            pairs[part] = ranked_pairs(parts[part], rng, count, encode)
        refuse_few(len(pairs[part]), f"pairs for {part}: sentences need two or more edits")
    return pairs


def pair_examples(
    tokenizer: Tokenizer, pairs: Sequence[RankedPair], max_length: int
) -> list[dict[str, object]]:
    """Return pairs in the form that `gecjury.refless.training.trainer.fit` needs for ranking."""
    better = tokenise(tokenizer, [pair.better for pair in pairs], None, max_length)
    worse = tokenise(tokenizer, [pair.worse for pair in pairs], None, max_length)
    return [{"better": b, "worse": w} for b, w in zip(better, worse, strict=True)]


def pair_accuracy(gaps: FloatArray) -> float:
    """Return the share of pairs whose better sentence has the higher output; ties count half.

    Args:
        gaps: output for each pair's better sentence minus that for the worse.
    """
    if not np.isfinite(gaps).all():
        return float("nan")
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


def _card(
    job: RankerJob,
    pairs: Mapping[str, Sequence[RankedPair]],
    report: RankerReport,
    detected: Mapping[str, float],
    record: Mapping[str, object],
) -> str:
    rows = [(f["part"], f["accuracy"], f["pairs"]) for f in report.figures]
    table = markdown_table(("part", "accuracy", "pairs"), rows)
    made = ", ".join(f"{part} {len(p)} ({pairs_print(p)})" for part, p in pairs.items())
    notes = []
    if job.recipe.linear:
        notes.append(
            f"The ranker ({HEAD_FILE}) is linear in the mean states of layer {record['layer']} of "
            "its encoder. A score is 0 if the similarity to the source, the cosine of the last "
            f"mean states, is below {record['threshold']}"
        )
    elif job.recipe.pooled:
        notes.append(f"The ranker reads the mean of the last states; its head is {HEAD_FILE}")
    return model_card(
        job,
        "IMPARA: a ranker of corrections",
        "impara",
        data={"corrections": str(len(job.corrections)), "pairs": made, "split": "by source"},
        results="\n\n".join([worth_table(report.worth), table, *figures_in_words(detected)]),
        usage=f"gecjury score SOURCE HYP -m {ranker_metric(job.folder.name)}",
        notes=notes,
    )


def ranker_metric(model: str) -> str:
    """Return the metric to use a folder with."""
    return f"impara:model={model}".replace(",", "\\,")
