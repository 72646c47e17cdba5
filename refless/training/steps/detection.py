"""Error detection from labelled tokens, with two classes: parts, examples and dev figures.

A token's first and last word piece have its label (those between are not counted), and its
probability of being wrong is the mean of theirs.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_text, user_path
from gecjury.corpus.leakage import sentence_key
from gecjury.models.batching import padded_batches
from gecjury.models.networks import cut_length, refuse_wordless
from gecjury.models.origin import KEYS_FILE
from gecjury.refless.data.labelled import LabelledSentence, LabelledText, refuse_one_class
from gecjury.refless.nets.probe import plain_text
from gecjury.refless.nets.regressor import batch_logits
from gecjury.refless.training.recipe import TrainSettings

LABELS = ("c", "i")
"""Names of the two outputs, as in MultiGED's files: correct, incorrect."""

LEAST = 8
"""Fewest examples that a step, or a part of the data, must have."""

_T = TypeVar("_T")


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
        items: items to divide.
        keys: key of each item.
        seed: seed for the order in which keys are drawn.
        tenths: number of tenths.
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
    sentences: Sequence[LabelledSentence], tokenizer: Any, max_length: int
) -> Iterator[tuple[dict[str, Any], list[tuple[int, int] | None], list[int]]]:
    """Tokenise sentences and find the word pieces of their words.

    Args:
        sentences: sentences to tokenise.
        tokenizer: a fast tokenizer.
        max_length: longest input in word pieces.

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
    sentences: Sequence[LabelledSentence], tokenizer: Any, max_length: int
) -> list[dict[str, Any]]:
    """Return tokenised sentences with `labels`: 0 or 1 on words' first and last pieces, else −100.

    A word that consists of several tokens (`do n't`) is wrong if one of them is.
    """
    examples = []
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
    model: Any,
    tokenizer: Any,
    sentences: Sequence[LabelledSentence],
    settings: TrainSettings,
    runtime: Runtime,
) -> list[FloatArray]:
    """Return each sentence's probabilities that its tokens are wrong; 0 for tokens cut off."""
    import torch

    encoded = list(piece_spans(sentences, tokenizer, settings.max_length))
    inputs = [one for one, _, _ in encoded]
    probabilities: list[FloatArray] = [np.zeros(0)] * len(encoded)
    batches = padded_batches([len(one["input_ids"]) for one in inputs], runtime.batch_size)
    kind = next(model.parameters()).device.type
    with torch.autocast(kind, dtype=torch.bfloat16, enabled=settings.bf16):
        for rows, logits in batch_logits(model, tokenizer, inputs, batches, runtime.batch_size):
            wrong = logits.softmax(-1)[..., 1].cpu().numpy().astype(np.float64)
            for line, row in zip(wrong, rows, strict=True):
                _, places, word_of = encoded[row]
                words = [0.0 if p is None else (line[p[0]] + line[p[1]]) / 2 for p in places]
                probabilities[row] = np.array([words[word] for word in word_of])
    return probabilities


def labelled_figures(
    model: Any,
    tokenizer: Any,
    sentences: Sequence[LabelledSentence],
    settings: TrainSettings,
    runtime: Runtime,
) -> dict[str, float]:
    """Return dev figures of a model; see `detection_scores`, whose F0.5 is the `score`."""
    by_sentence = error_probabilities(model, tokenizer, sentences, settings, runtime)
    marks = np.array([mark for s in sentences for mark in s.wrong], dtype=np.int64)
    probabilities = np.concatenate(by_sentence)
    if not np.isfinite(probabilities).all():
        return {"score": float("nan")}
    figures = detection_scores(probabilities, marks)
    return {"score": figures["f0.5"], **figures}


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


def step_figures(kind: str, figures: Mapping[str, float]) -> dict[str, float]:
    """Return dev figures of a step on labelled text; F0.5 has the name of the step alone."""
    parts = {f"{kind} {name}": figures[name] for name in ("precision", "recall", "ap")}
    return {kind: figures["f0.5"], **parts}


def detection_keys(text: LabelledText | None, detector: str) -> set[str]:
    """Return hashes of the sentences that a detector was trained or chosen on.

    Args:
        text: labelled text of this run; None for none.
        detector: folder of a detector that was trained before; empty for none.
    """
    keys = set()
    if text is not None:
        keys = {sentence_key(s.text) for part in (text.train, text.dev) for s in part}
    path = user_path(detector) / KEYS_FILE
    if detector and path.is_file():
        keys |= set(read_text(path).split())
    return keys


def figures_in_words(steps: Mapping[str, float]) -> list[str]:
    """Return a line for model cards with the figures of `step_figures`; none without them."""
    if "detection precision" not in steps:
        return []
    return [
        f"Preceding error detection, on the dev part of its data: F0.5 {steps['detection']:.3f}, "
        f"precision {steps['detection precision']:.3f}, recall {steps['detection recall']:.3f}, "
        f"average precision {steps['detection ap']:.3f}."
    ]
