"""Train an IMPARA: parallel text to pairs to a ranker."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.models.checkpoints import is_folder
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.models.foreign import Network, Tokenizer
from gecjury.refless.data.labelled import LabelledText
from gecjury.refless.data.pairs import CorrectedPair, RankedPair, pairs_print, ranked_pairs
from gecjury.refless.data.partial import swapped_pairs
from gecjury.refless.nets.manifest import IMPARA_FORMAT, IMPARA_POOLED_FORMAT
from gecjury.refless.nets.pooled import HEAD_FILE, fresh_pooled, save_pooled
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
from gecjury.refless.training.worth import Worth, worth_of, worth_table

_ENCODER = "encoder"

_PENALTY = 0.05


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
    recipe, settings = job.recipe, job.recipe.settings
    run = job.run(*(f"{c.source}\t{c.text()}" for c in job.corrections))
    if (earlier := job.finished(run, RankerReport)) is not None:
        return earlier
    watch = job.watch()
    # Impacts are measured with the pretrained encoder, before anything is trained.
    pairs = _make_pairs(job)
    start, detected = run_detection(job, _without_held_out(job), watch)
    tokenizer = load_tokenizer(start)
    if recipe.pooled:
        model = fresh_pooled(start, ("rank",), seed=settings.seed, half=recipe.linear)
    else:
        model = load_model(start, ("rank",), seed=settings.seed)

    def gaps(model: Network, part: str) -> FloatArray:
        # For each pair, the output for the better sentence minus that for the worse.
        texts = [pair.better for pair in pairs[part]] + [pair.worse for pair in pairs[part]]
        encoded = tokenise(tokenizer, texts, None, settings.max_length)
        better, worse = np.split(predict(model, tokenizer, encoded, job.runtime)[:, 0], 2)
        with np.errstate(invalid="ignore"):  # a model that diverged gives NaN
            difference: FloatArray = better - worse
        return difference

    if recipe.linear:
        _fit_linear(model, tokenizer, pairs["train"], job)
    else:
        task = LearningTask(
            name="ranker",
            model=model,
            tokenizer=tokenizer,
            examples=pair_examples(tokenizer, pairs["train"], settings.max_length),
            evaluate=lambda model: {"score": pair_accuracy(gaps(model, "dev"))},
            objective="ranking",
            label="impara: training",
        )
        model = fit(task, settings, job.work / "ranker", job.runtime, watch).model
    # Computed once for accuracy and worth, with the best epoch's model.
    reached = {part: gaps(model, part) for part in ("dev", "test")}
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
        (save_pooled if recipe.pooled else save_model)(model, tokenizer, job.folder)
        card = _card(job, pairs, report, detected)
        encoder = recipe.encoder
        if is_folder(encoder):
            # An encoder that is only on this machine is copied into the model's folder.
            with output_errors(job.folder / _ENCODER):
                shutil.copytree(encoder, job.folder / _ENCODER, dirs_exist_ok=True)
            encoder = _ENCODER
        record = {
            "format": IMPARA_POOLED_FORMAT if recipe.pooled else IMPARA_FORMAT,
            "encoder": encoder,
            "run": run,
            "pooling": "mean" if recipe.pooled else recipe.pooling,
            "detection": detected,
            **asdict(report),
        }
        texts = {text for c in job.corrections for text in (c.source, c.text())}
        job.finish(texts, record, card)
    wait_for_all()
    return report


def _fit_linear(
    model: Network, tokenizer: Tokenizer, pairs: Sequence[RankedPair], job: RankerJob
) -> None:
    """Set a pooled model's head to a logistic regression on the differences of pairs.

    The loss is the mean of log(1 + exp(worse − better)), plus `_PENALTY` times half the squared
    weights of standardised states. Outputs are then scaled to the deviation 1.
    """
    import torch
    from scipy.optimize import minimize

    folder = job.work / "states"
    if is_main_process():
        save_pooled(model, tokenizer, folder)
    wait_for_all()
    spec = EncoderSpec(str(folder), max_length=job.recipe.settings.max_length)
    encoder = load_encoder(spec, job.runtime)
    texts = [pair.better for pair in pairs] + [pair.worse for pair in pairs]
    states = encoder.encode(texts).vectors.astype(np.float64)
    mean, deviation = states.mean(axis=0), states.std(axis=0)
    deviation[deviation == 0] = 1.0
    states = (states - mean) / deviation
    better, worse = np.split(states, 2)
    differences = better - worse

    def loss(weights: FloatArray) -> tuple[float, FloatArray]:
        margins = differences @ weights
        slope = -differences.T @ (1.0 / (1.0 + np.exp(margins))) / len(margins)
        value = np.logaddexp(0.0, -margins).mean() + _PENALTY / 2 * weights @ weights
        return float(value), slope + _PENALTY * weights

    start = np.zeros(states.shape[1])
    weights = minimize(loss, start, jac=True, method="L-BFGS-B").x
    # Larger outputs would all be close to 0 or 1 in scores, where they go through a sigmoid.
    weights /= (states @ weights).std() * deviation
    with torch.no_grad():
        model.classifier.weight[0] = torch.from_numpy(weights)
        model.classifier.bias[0] = float(-mean @ weights)


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
        return load_encoder(spec, job.runtime).encode(texts).vectors.astype(np.float64)

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
) -> str:
    pooled = job.recipe.pooled
    rows = [(f["part"], f["accuracy"], f["pairs"]) for f in report.figures]
    table = markdown_table(("part", "accuracy", "pairs"), rows)
    made = ", ".join(f"{part} {len(p)} ({pairs_print(p)})" for part, p in pairs.items())
    reads_means = (
        f"The ranker reads the mean of the last hidden states, with the head in {HEAD_FILE}; plain "
        "transformers loads only the encoder"
    )
    return model_card(
        job,
        "IMPARA: a ranker of corrections",
        "impara",
        data={"corrections": str(len(job.corrections)), "pairs": made, "split": "by source"},
        results="\n\n".join([worth_table(report.worth), table, *figures_in_words(detected)]),
        usage=f"gecjury score SOURCE HYP -m {ranker_metric(job.folder.name, pooled)}",
        notes=[reads_means] if pooled else [],
    )


def ranker_metric(model: str, pooled: bool) -> str:
    """Return the metric to use a folder with; a ranker of means gets no threshold (IMPARA-GED)."""
    named = f"impara:model={model}".replace(",", "\\,")
    return f"{named},threshold=none" if pooled else named
