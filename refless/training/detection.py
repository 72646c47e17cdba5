"""Error detection: a training of its own, or the step before a SOME or an IMPARA is trained.

A detector that was trained on its own is a plain token classification model. `gecjury train some`
and `train impara` can both start from it, so it is trained only once.

It is learnt from labelled tokens. A token's first and last word piece have its label (those between
are not counted), and its probability of being wrong is the mean of theirs.
"""

from __future__ import annotations

import json
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.durable import write_text
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.models.foreign import Network, Tokenizer
from gecjury.models.networks import cut_length, refuse_wordless
from gecjury.refless.data.labelled import (
    LabelledSentence,
    LabelledText,
    labelled_print,
    refuse_one_class,
)
from gecjury.refless.nets.probe import plain_text
from gecjury.refless.nets.regressor import (
    EncoderInputs,
    batch_logits,
    load_model,
    load_tokenizer,
    save_model,
)
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.model_card import markdown_table, model_card, shown_name
from gecjury.refless.training.recipe import DetectorRecipe, TrainSettings
from gecjury.refless.training.trainer import Fit, LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Watch, kept_record

DETECTOR_FORMAT = "gecjury-detector/1"

LABELS = ("c", "i")
"""Names of the two outputs, as in MultiGED's files: correct, incorrect."""

LEAST = 8
"""Fewest examples that a step, or a part of the data, must have."""

_ERROR_WEIGHT = 1.5
"""Weight of wrong tokens in the loss."""

_T = TypeVar("_T")


def run_detection(
    job: TrainingJob, text: LabelledText | None, watch: Watch
) -> tuple[str, dict[str, float]]:
    """Train a detector before a model and save it; a finished one is not trained again.

    Args:
        text: the sentences to learn from; None for none.

    Returns:
        The folder or hub name of the model from which the main training starts, and the detector's
        dev figures: `detection` is F0.5, which chose the epoch; the others are `detection_scores`.
    """
    if text is None:
        return job.start, {}
    folder = job.work / "detection"
    path, saved = folder / "score.json", folder / "model"
    # The score is written last: if it exists, the model is complete.
    if path.exists():
        watch.told("detection: already trained by an earlier run")
    else:
        # Rate and epochs are those that the recipes were measured with.
        usual = replace(job.recipe.settings, epochs=2, learning_rate=1e-4, patience=0)
        result, tokenizer = learn_detection(job, text, "detection", watch, usual)
        if is_main_process():
            save_model(result.model, tokenizer, saved)
            names = ("precision", "recall", "ap")
            figures = {f"detection {name}": result.best[name] for name in names}
            write_text(path, json.dumps({"detection": result.best["score"], **figures}))
        wait_for_all()
    return str(saved), kept_record(dict[str, float], path)


def learn_detection(
    job: TrainingJob, text: LabelledText, name: str, watch: Watch, settings: TrainSettings
) -> tuple[Fit, Tokenizer]:
    """Train a detector; return it with its dev figures, and its tokenizer.

    Args:
        name: name of the detector in the run's history and of the folder of its checkpoints.
    """
    tokenizer = load_tokenizer(job.start)
    text = with_dev(text, settings.seed)
    examples = labelled_examples(text.train, tokenizer, settings.max_length)

    def evaluate(model: Network) -> Mapping[str, float]:
        by_sentence = error_probabilities(model, tokenizer, text.dev, settings, job.runtime)
        probabilities = np.concatenate(by_sentence)
        if not np.isfinite(probabilities).all():
            return {"score": float("nan")}
        marks = np.array([mark for s in text.dev for mark in s.wrong], dtype=np.int64)
        figures = detection_scores(probabilities, marks)
        return {"score": figures["f0.5"], **figures}

    task = LearningTask(
        name=name,
        model=load_model(job.start, LABELS, seed=settings.seed, kind="word-pieces"),
        tokenizer=tokenizer,
        examples=examples,
        evaluate=evaluate,
        objective="detection",
        label="detection: training",
        error_weight=_ERROR_WEIGHT,
    )
    return fit(task, settings, job.work / name, job.runtime, watch), tokenizer


def with_dev(text: LabelledText, seed: int) -> LabelledText:
    """Return the text with a dev part: its own, or a tenth of its sentences, drawn by the seed.

    Equal sentences are in the same part.

    Raises:
        InputError: too few sentences, or a part with no errors or only errors.
    """
    what = "labelled sentences to learn error detection from"
    refuse_few(len(text.train), what)
    if not text.dev:
        keys = [sentence.tokens for sentence in text.train]
        dev, train = drawn_parts(text.train, keys, seed, 1, least=1)
        text = LabelledText(tuple(train), tuple(dev))
        refuse_few(len(text.train), what)
    refuse_one_class(text.train, "the labelled text")
    refuse_one_class(text.dev, "the dev part of the labelled text")
    return text


def drawn_parts(
    items: Sequence[_T], keys: Sequence[Hashable], seed: int, tenths: int, *, least: int = 0
) -> list[list[_T]]:
    """Return some random tenths of the keys, and the rest; items with equal keys stay together.

    Args:
        least: fewest keys of a tenth.
    """
    groups: dict[Hashable, list[_T]] = {}
    for item, key in zip(items, keys, strict=True):
        groups.setdefault(key, []).append(item)
    listed = list(groups.values())
    held = max(least, round(0.1 * len(groups)))
    parts: list[list[_T]] = [[] for _ in range(tenths + 1)]
    for place, row in enumerate(np.random.default_rng(seed).permutation(len(listed))):
        parts[min(place // held, tenths) if held else tenths] += listed[row]
    return parts


def refuse_few(count: int, what: str) -> None:
    """Raise an error if there are too few examples to learn from.

    Raises:
        InputError: there are fewer than `LEAST`.
    """
    if count < LEAST:
        raise InputError(f"{count} {what}: too few; expected {LEAST} or more: give more text")


def joined_words(sentence: LabelledSentence) -> tuple[str, list[tuple[int, int]], list[int]]:
    """Return a sentence as encoders read it, and the words that its tokens are in.

    Quotation marks and contractions are changed as by `gecjury.refless.nets.probe.plain_text`,
    because the trained encoder later reads such texts: `do` and `n't` become one word. Languages
    other than English are left as they are, here and there.

    Returns:
        The text; for each of its words the span of its characters (half open); for each token the
        number of its word.
    """
    text = ""
    spans: list[tuple[int, int]] = []
    word_of: list[int] = []
    english = sentence.language == "en"
    for token in sentence.tokens:
        plain = plain_text(token) if english else token
        if english and spans and re.match(r"n't\b", plain) and re.search(r"\w$", text):
            spans[-1] = (spans[-1][0], len(text) + len(plain))
            text += plain
        else:
            start = len(text) + (1 if spans else 0)
            spans.append((start, start + len(plain)))
            text += (" " if spans[1:] else "") + plain
        word_of.append(len(spans) - 1)
    return text, spans, word_of


def piece_spans(
    sentences: Sequence[LabelledSentence], tokenizer: Tokenizer, max_length: int
) -> Iterator[tuple[EncoderInputs, list[tuple[int, int] | None], list[int]]]:
    """Tokenise sentences and find the word pieces of their words.

    Yields:
        The model's inputs; for each word the positions of its first and last word piece, None if it
        was cut off or has none; for each token the number of its word.

    Raises:
        InputError: the tokenizer does not give the offsets of word pieces.
    """
    refuse_wordless(tokenizer)
    for sentence in sentences:
        text, spans, word_of = joined_words(sentence)
        encoded = tokenizer(
            text,
            truncation=True,
            max_length=cut_length(tokenizer, max_length),
            return_offsets_mapping=True,
        )
        offsets = encoded["offset_mapping"]
        owner = {place: word for word, (a, b) in enumerate(spans) for place in range(a, b)}
        places: list[tuple[int, int] | None] = [None] * len(spans)
        for piece, (start, stop) in enumerate(offsets):
            # By the last character: a piece's first may be the space before its word.
            word = owner.get(stop - 1) if stop > start else None
            if word is not None:
                first = places[word]
                places[word] = (piece if first is None else first[0], piece)
        inputs = {key: list(encoded[key]) for key in encoded if key != "offset_mapping"}
        yield inputs, places, word_of


def labelled_examples(
    sentences: Sequence[LabelledSentence], tokenizer: Tokenizer, max_length: int
) -> list[EncoderInputs]:
    """Return tokenised sentences with `labels`: 0 or 1 on words' first and last pieces, else −100.

    A word that consists of several tokens (`do n't`) is wrong if one of them is.
    """
    examples: list[EncoderInputs] = []
    tokenised = piece_spans(sentences, tokenizer, max_length)
    for sentence, (inputs, places, word_of) in zip(sentences, tokenised, strict=True):
        wrong = [False] * len(places)
        for word, mark in zip(word_of, sentence.wrong, strict=True):
            wrong[word] |= mark
        labels = [-100] * len(inputs["input_ids"])
        for place, mark in zip(places, wrong, strict=True):
            for piece in place or ():
                labels[piece] = int(mark)
        examples.append({**inputs, "labels": labels})
    return examples


def error_probabilities(
    model: Network,
    tokenizer: Tokenizer,
    sentences: Sequence[LabelledSentence],
    settings: TrainSettings,
    runtime: Runtime,
) -> list[FloatArray]:
    """Return each sentence's probabilities that its tokens are wrong; 0 for tokens cut off."""
    import torch

    encoded = list(piece_spans(sentences, tokenizer, settings.max_length))
    inputs = [one for one, _, _ in encoded]
    probabilities: list[FloatArray] = [np.zeros(0)] * len(encoded)
    kind = next(model.parameters()).device.type
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=settings.bf16):
        for rows, logits in batch_logits(model, tokenizer, inputs, runtime):
            wrong = logits.softmax(-1)[..., 1].cpu().numpy().astype(np.float64)
            for line, row in zip(wrong, rows, strict=True):
                _, places, word_of = encoded[row]
                words = [0.0 if p is None else (line[p[0]] + line[p[1]]) / 2 for p in places]
                probabilities[row] = np.array([words[word] for word in word_of])
    return probabilities


def detection_scores(probabilities: FloatArray, marks: IntArray) -> Mapping[str, float]:
    """Measure how well wrong tokens are found, in the way of the shared task MultiGED-2023.

    Args:
        probabilities: probability of being wrong, one per token; a token counts as wrong from .5.
        marks: 1 for wrong tokens, 0 for right ones.

    Returns:
        `precision` P, `recall` R, `f0.5` = 1.25 · P · R / (0.25 · P + R), `ap` (average precision
        of all tokens by falling probability) and the number of `tokens`; 0 to 1, 0 where nothing
        was found.
    """
    called = probabilities >= 0.5
    hits = float((called & (marks == 1)).sum())
    precision = hits / called.sum() if called.any() else 0.0
    recall = hits / marks.sum() if marks.any() else 0.0
    together = 0.25 * precision + recall
    return {
        "precision": float(precision),
        "recall": float(recall),
        "f0.5": float(1.25 * precision * recall / together) if together else 0.0,
        "ap": average_precision(probabilities, marks),
        "tokens": float(len(marks)),
    }


def average_precision(scores: FloatArray, marks: IntArray) -> float:
    """Return the average precision of ranking entries marked 1 by score; 0 if there are none."""
    ranked = marks[np.argsort(-scores, kind="stable")]
    at = np.cumsum(ranked) / np.arange(1, len(ranked) + 1)
    return float(at[ranked == 1].mean()) if ranked.any() else 0.0


def figures_in_words(steps: Mapping[str, float]) -> list[str]:
    """Return a line for model cards with the figures of labelled text; none without them."""
    if "detection precision" not in steps:
        return []
    return [
        f"Preceding error detection, on the dev part of its data: F0.5 {steps['detection']:.3f}, "
        f"precision {steps['detection precision']:.3f}, recall {steps['detection recall']:.3f}, "
        f"average precision {steps['detection ap']:.3f}."
    ]


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
class _DetectionReport:
    figures: Mapping[str, float]


def train_detector(job: DetectorJob) -> dict[str, float]:
    """Train, evaluate and save; a killed run resumes where it stopped.

    Returns:
        Dev figures; see `detection_scores`.

    Raises:
        InputError: too few sentences, or only one class.
        OptionError: the folder contains another model.
    """
    recipe, settings = job.recipe, job.recipe.settings
    text = with_dev(job.text, settings.seed)
    run = job.run(text.print)
    if (earlier := job.finished(run, _DetectionReport)) is not None:
        return dict(earlier.figures)
    watch = job.watch()
    result, tokenizer = learn_detection(job, text, "detector", watch, job.recipe.settings)
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
