"""Steps between a pretrained encoder and the regression on ratings, each a plain model folder.

- `detection`: which word pieces of a sentence an edit changes, on parallel text whose sources
  keep some of their errors, and on clean sentences corrupted by rule; or, with labelled text,
  which of its tokens are wrong (see the module `detection`).
- `ranking`: which of two versions of a sentence has more of one annotator's edits (IMPARA's loss).
- `ratings`: sentence ratings of other kinds (GMEG's 0 to 100 and GUG), one head each.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import write_text
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.labelled import LabelledText
from gecjury.refless.data.noise import spoil
from gecjury.refless.data.pairs import (
    Correction,
    RankedPair,
    detection_examples,
    ranked_pairs,
    token_edits,
)
from gecjury.refless.nets.regressor import (
    batch_logits,
    load_model,
    load_tokenizer,
    predict,
    save_model,
    tokenise,
)
from gecjury.refless.training.recipe import Intermediate, TrainSettings
from gecjury.refless.training.steps.detection import (
    LABELS,
    average_precision,
    labelled_examples,
    labelled_figures,
    refuse_few,
    step_figures,
    with_dev,
)
from gecjury.refless.training.trainer import Fit, LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Watch, kept_record
from gecjury.stats.correlation import spearman

_DEV_SHARE = 0.03
_DEV_MOST = 600
_DEV_BATCH = 64


@dataclass(frozen=True)
class IntermediateData:
    """Data of the intermediate steps; a step whose data is empty is an error.

    Attributes:
        corrections: parallel text, for `detection` and `ranking`.
        clean: further sentences to corrupt, for `detection`.
        rated: sets of rated sentences, each of one aspect, for `ratings`.
        labelled: sentences with a label per token, for `detection` instead of the first two.
        language: code of the text's language; only English has rules for corrupting sentences.
    """

    corrections: Sequence[Correction] = ()
    clean: Sequence[str] = ()
    rated: Sequence[Annotations] = ()
    labelled: LabelledText | None = None
    language: str = "en"


@dataclass(frozen=True, kw_only=True)
class Step:
    """One step of a training, or the training of an error detector.

    Attributes:
        kind: which step.
        start: folder or hub name of the model to start from.
        folder: its subfolder `checkpoints` has checkpoints, `model` the model of a finished step.
        data: training data.
        settings: epochs, learning rate and so on.
        runtime: device and progress.
        watch: receives progress reports.
        error_weight: weight of errors in the loss, for labelled text.
    """

    kind: Intermediate
    start: str
    folder: Path
    data: IntermediateData
    settings: TrainSettings
    runtime: Runtime
    watch: Watch | None = None
    error_weight: float = 1.0

    @property
    def labelled(self) -> bool:
        """True if the step learns from labelled tokens."""
        return self.kind == "detection" and self.data.labelled is not None


def run_intermediate(step: Step) -> dict[str, float]:
    """Train one step and save its model; a step that was finished before is not run again.

    Returns:
        Dev figures of the step. The one with the step's name chose the epoch: average precision
        (F0.5 for labelled text, with the other `detection_scores`), accuracy or mean Spearman.
    """
    path = step.folder / "score.json"
    # The score is written last: if it exists, the model is complete.
    if not path.exists():
        result, tokenizer = learn(step)
        if is_main_process():
            save_model(result.model, tokenizer, step.folder / "model")
            best = result.best
            figures = step_figures(step.kind, best) if step.labelled else {step.kind: best["score"]}
            write_text(path, json.dumps(figures))
        wait_for_all()
    elif step.watch is not None:
        step.watch.told(f"{step.kind}: already trained by an earlier run")
    return dict(kept_record(Mapping[str, float], path))


def learn(step: Step) -> tuple[Fit, Any]:
    """Train the model of a step; return it with its dev figures, and its tokenizer."""
    tokenizer = load_tokenizer(step.start)
    prepare = {"detection": _detection, "ranking": _ranking, "ratings": _ratings}[step.kind]
    model, examples, evaluate = prepare(step, tokenizer)
    task = LearningTask(
        model=model,
        tokenizer=tokenizer,
        examples=examples,
        evaluate=evaluate,
        objective="regression" if step.kind == "ratings" else step.kind,
        label=f"{step.kind}: training",
        error_weight=step.error_weight if step.labelled else 1.0,
    )
    result = fit(task, step.settings, step.folder / "checkpoints", step.runtime, step.watch)
    return result, tokenizer


Prepared = tuple[Any, list[dict[str, Any]], Callable[[Any], Mapping[str, float]]]


def _held_out(count: int) -> int:
    return max(2, min(_DEV_MOST, round(_DEV_SHARE * count)))


def _labelled_detection(step: Step, tokenizer: Any, text: LabelledText) -> Prepared:
    settings = step.settings
    text = with_dev(text, settings.seed)
    model = load_model(step.start, LABELS, seed=settings.seed, kind="word-pieces")

    def evaluate(model: Any) -> dict[str, float]:
        return labelled_figures(model, tokenizer, text.dev, settings, step.runtime)

    return model, labelled_examples(text.train, tokenizer, settings.max_length), evaluate


def _detection(step: Step, tokenizer: Any) -> Prepared:
    if step.data.labelled is not None:
        return _labelled_detection(step, tokenizer, step.data.labelled)
    rng = np.random.default_rng(step.settings.seed)
    items: list[Correction] = []
    for correction in step.data.corrections:
        if correction.edits:
            # Some sources are partly corrected: a detector must find few errors as well as many.
            share = rng.choice([0.0, 0.3, 0.6])
            partly = correction.text([bool(k) for k in rng.random(len(correction.edits)) < share])
            items.append(Correction(partly, token_edits(partly.split(), correction.text().split())))
    clean = sorted({correction.text() for correction in step.data.corrections})
    # The rules for corrupting sentences are for English.
    if step.data.language == "en":
        items += [spoil(text, rng) for text in [*clean, *step.data.clean]]
    # Include some sentences without errors; otherwise every text would have one.
    items += [Correction(text, ()) for text in clean[::6]]
    examples = list(detection_examples(items, tokenizer, step.settings.max_length))
    order = rng.permutation(len(examples))
    examples = [examples[row] for row in order]
    refuse_few(len(examples), "sentences to learn error detection from")
    held = _held_out(len(examples))
    dev, rest = examples[:held], examples[held:]
    seed = step.settings.seed
    model = load_model(step.start, ("kept", "edited"), seed=seed, kind="word-pieces")

    def evaluate(model: Any) -> dict[str, float]:
        return {"score": _average_precision(model, tokenizer, dev)}

    return model, rest, evaluate


def _average_precision(model: Any, tokenizer: Any, dev: Sequence[Mapping[str, Any]]) -> float:
    """Return the average precision of finding changed word pieces."""
    # Not sorted by length: other batches would change the last bits of the scores.
    places = range(len(dev))
    batches = [places[start : start + _DEV_BATCH] for start in range(0, len(dev), _DEV_BATCH)]
    scores, marks = [], []
    for rows, logits in batch_logits(model, tokenizer, dev, batches, _DEV_BATCH):
        gaps = (logits[..., 1] - logits[..., 0]).cpu().numpy()
        for row, gap in zip(rows, gaps, strict=True):
            labels = np.array(dev[row]["labels"])
            scores.append(gap[: len(labels)][labels >= 0])
            marks.append(labels[labels >= 0])
    return average_precision(np.concatenate(scores), np.concatenate(marks))


def _ranking(step: Step, tokenizer: Any) -> Prepared:
    rng = np.random.default_rng(step.settings.seed)
    pairs = ranked_pairs(step.data.corrections, rng, max(len(step.data.corrections), 1))
    refuse_few(len(pairs), "pairs to learn ranking from")
    held = _held_out(len(pairs))
    model = load_model(step.start, ("rank",), seed=step.settings.seed)
    examples = pair_examples(tokenizer, pairs[held:], step.settings.max_length)

    def evaluate(model: Any) -> dict[str, float]:
        gaps = pair_gaps(model, tokenizer, pairs[:held], step.settings, step.runtime)
        return {"score": pair_accuracy(gaps)}

    return model, examples, evaluate


def pair_examples(
    tokenizer: Any, pairs: Sequence[RankedPair], max_length: int
) -> list[dict[str, Any]]:
    """Return pairs in the form that `gecjury.refless.training.trainer.fit` needs for ranking."""
    better = tokenise(tokenizer, [pair.better for pair in pairs], None, max_length)
    worse = tokenise(tokenizer, [pair.worse for pair in pairs], None, max_length)
    return [{"better": b, "worse": w} for b, w in zip(better, worse, strict=True)]


def pair_accuracy(gaps: FloatArray) -> float:
    """Return the share of pairs whose better sentence has the higher output; ties count half.

    Args:
        gaps: see `pair_gaps`.
    """
    if not np.isfinite(gaps).all():
        return float("nan")
    return float(((gaps > 0) + 0.5 * (gaps == 0)).mean())


def pair_gaps(
    model: Any,
    tokenizer: Any,
    pairs: Sequence[RankedPair],
    settings: TrainSettings,
    runtime: Runtime,
) -> FloatArray:
    """Return the output for each pair's better sentence minus that for the worse, shape (pairs,).

    A model that diverged gives NaN.
    """
    texts = [pair.better for pair in pairs] + [pair.worse for pair in pairs]
    encoded = tokenise(tokenizer, texts, None, settings.max_length)
    outputs = predict(model, tokenizer, encoded, runtime)[:, 0]
    with np.errstate(invalid="ignore"):
        gaps: FloatArray = outputs[: len(pairs)] - outputs[len(pairs) :]
    return gaps


def _ratings(step: Step, tokenizer: Any) -> Prepared:
    heads = len(step.data.rated)
    rng = np.random.default_rng(step.settings.seed)
    texts: list[str] = []
    rows: list[FloatArray] = []
    for column, rated in enumerate(step.data.rated):
        # Sets have different scales, so each is standardised.
        values = rated.ratings[:, 0]
        deviation = float(values.std()) or 1.0
        # Equal sentences with different ratings (from different sources) become one example.
        mean: dict[str, list[float]] = {}
        for text, value in zip(rated.outputs, (values - values.mean()) / deviation, strict=True):
            mean.setdefault(text, []).append(float(value))
        for text, scores in mean.items():
            label = np.full(heads, np.nan)
            label[column] = np.mean(scores)
            texts.append(text)
            rows.append(label)
    refuse_few(len(texts), "rated sentences for the step `ratings`")
    order = rng.permutation(len(texts))
    labels = np.array(rows)[order]
    encoded = tokenise(tokenizer, [texts[row] for row in order], None, step.settings.max_length)
    held = _held_out(len(encoded))
    outputs = [f"{rated.aspects[0]}-{n}" for n, rated in enumerate(step.data.rated)]
    model = load_model(step.start, outputs, seed=step.settings.seed)
    examples = [
        {**inputs, "labels": label.tolist()}
        for inputs, label in zip(encoded[held:], labels[held:], strict=True)
    ]

    def evaluate(model: Any) -> dict[str, float]:
        outputs = predict(model, tokenizer, encoded[:held], step.runtime)
        return {"score": rank_figures(outputs.T, labels[:held].T)["score"]}

    return model, examples, evaluate


def rank_figures(
    outputs: Iterable[FloatArray], ratings: Iterable[FloatArray], names: Iterable[str] = ()
) -> dict[str, float]:
    """Return Spearman of each head by name, 0 if it is undefined, and their mean as `score`.

    The score of a model that diverged is NaN, which distinguishes it from one without correlation.

    Args:
        outputs: outputs of each head, one per row.
        ratings: ratings for each head, NaN for rows without one.
        names: names of the heads.
    """
    figures = []
    for values, wanted in zip(outputs, ratings, strict=True):
        if not np.isfinite(values).all():
            return {"score": float("nan")}
        figures.append(float(np.nan_to_num(spearman(wanted, values))))
    return {"score": float(np.mean(figures)), **dict(zip(names, figures, strict=False))}
