"""Features that a small uncased encoder sees badly: case, spelling, and the edits made.

Three groups: of the hypothesis alone, of the pair (source, hypothesis), and both. Tokenised and
untokenised forms of one sentence have nearly the same features, since training data may be of one
kind and benchmarks of the other.

Of English some features know the words. Other languages have features of their own that know none:
words are runs of letters with the marks that combine with them, or single letters in scripts that
write no blanks.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.splits import Split
from gecjury.refless.data.annotations import QUALITY, Annotations
from gecjury.refless.similarity import Meteor, align_words, indel_ratio, words_of_any
from gecjury.stats.correlation import spearman

SENTENCE_FEATURES = (
    "log_length", "lower_start", "no_end_mark", "lower_i", "inner_capitals", "pieces_per_word",
    "split_words", "repeated_word", "a_before_vowel", "an_before_consonant", "doubled_mark",
    "commas", "numbers", "long_words", "unknown_letters",
)  # fmt: skip

PAIR_FEATURES = (
    "meteor", "meteor_tuned", "meteor_even", "character_ratio", "word_f1", "unchanged",
    "log_ratio", "inserted", "deleted", "replaced", "content_lost", "content_new",
    "stem_only", "longest_gap", "numbers_differ", "negation_differs", "case_only",
    "close_spelling", "log_source_length", "moved",
)  # fmt: skip

FOREIGN_SENTENCE_FEATURES = (
    "log_words", "log_characters", "no_end_mark", "lower_start", "inner_capitals",
    "pieces_per_word", "split_words", "repeated_word", "doubled_mark", "marks", "numbers",
    "long_words", "scripts", "ideographs",
)  # fmt: skip

FOREIGN_PAIR_FEATURES = (
    "meteor", "character_ratio", "word_f1", "unchanged", "log_ratio", "inserted", "deleted",
    "replaced", "inserted_rate", "deleted_rate", "replaced_rate", "characters_changed",
    "longest_gap", "numbers_differ", "case_only", "marks_only", "close_spelling",
    "log_source_length", "moved", "ideographs_changed",
)  # fmt: skip

_Pieces = Callable[[str], int]
"""How many word pieces the encoder makes of a word."""

_RIDGES = (10.0, 30.0, 100.0, 300.0)
_METEORS = (Meteor(), Meteor(0.85, 0.2, 0.6, 0.6), Meteor(0.5, 1.0, 0.5, 0.5))
_FUNCTION_WORDS = frozenset(
    """
    a an the this that these those my your his her its our their some any no of in on at by for
    with from to into onto about over under between through during and or but nor so yet if when
    while because although though as than i you he she it we they me him us them is are was were
    be been being am do does did have has had will would shall should can could may might must not
    n't 's 're 've 'll 'd who which what there here also very too
    """.split()  # noqa: SIM905
)
_NEGATIONS = frozenset(
    ("not", "n't", "no", "never", "none", "nothing", "neither", "nor", "without", "cannot")
)


def piece_counter(tokenizer: Any) -> _Pieces:
    """A function that says how many word pieces a tokenizer makes of a word."""
    return lru_cache(maxsize=None)(lambda word: len(tokenizer.tokenize(word)))


def words_of(text: str) -> list[str]:
    """Words and marks, the same for tokenised and untokenised text but for contractions."""
    text = text.replace("``", '"').replace("''", '"')
    return re.findall(r"n['’]t\b|\w+(?=n['’]t\b)|['’]\w+|\w+|[^\w\s]", text)


def aspect_names(aspect: str, language: str = "en") -> tuple[str, ...]:
    """Return the names of the columns of `aspect_features`."""
    alone, paired = _names(False, language), _names(True, language)
    if aspect == QUALITY:
        return alone + paired
    return paired if aspect == "meaning" else alone


def aspect_features(
    aspect: str,
    texts: Sequence[str],
    pairs: tuple[Sequence[str], Sequence[str]],
    pieces: _Pieces,
    language: str = "en",
) -> FloatArray:
    """The features that a fine-tuned model of an aspect is given beside its encoder.

    Args:
        aspect: meaning reads pairs, quality both pairs and their hypotheses, others `texts`.
        texts: T sentences.
        pairs: P sources and hypotheses.
        pieces: see `sentence_features`.
        language: code of their language.

    Returns:
        T or P rows × `aspect_names`.
    """
    if aspect == "meaning":
        return pair_features(*pairs, language)
    if aspect == QUALITY:
        alone = sentence_features(pairs[1], pieces, language)
        return np.column_stack([alone, pair_features(*pairs, language)])
    return sentence_features(texts, pieces, language)


def _names(paired: bool, language: str = "en") -> tuple[str, ...]:
    """Return the names of the columns of features.

    Args:
        paired: of `pair_features`, else of `sentence_features`.
        language: code of the sentences' language.
    """
    if language == "en":
        return PAIR_FEATURES if paired else SENTENCE_FEATURES
    return FOREIGN_PAIR_FEATURES if paired else FOREIGN_SENTENCE_FEATURES


def sentence_features(texts: Sequence[str], pieces: _Pieces, language: str = "en") -> FloatArray:
    """Features of lone sentences.

    Args:
        texts: N sentences.
        pieces: see `_Pieces`; words that the encoder must cut up are rare or misspelt.
        language: code of their language.

    Returns:
        N × `SENTENCE_FEATURES`, or what takes their place in other languages.
    """
    of_one = _sentence if language == "en" else _foreign_sentence
    names = _names(False, language)
    return np.array([of_one(text, pieces) for text in texts]).reshape(len(texts), len(names))


def _sentence(text: str, pieces: _Pieces) -> list[float]:
    words = words_of(text)
    plain = [word for word in words if word[0].isalnum()]
    counts = [pieces(word.lower()) for word in plain]
    size = max(len(plain), 1)
    follow = list(itertools.pairwise(words))
    return [
        float(np.log1p(len(words))),
        float(bool(plain) and plain[0][0].islower()),
        float(not words or words[-1] not in (".", "?", "!", '"', ")", "”")),
        float("i" in words),
        sum(word[0].isupper() and word != "I" for word in plain[1:]) / size,
        sum(counts) / size,
        sum(count > 1 for count in counts) / size,
        float(sum(a.lower() == b.lower() and a[0].isalpha() for a, b in follow)),
        float(sum(a.lower() == "a" and b[0].lower() in "aeio" for a, b in follow)),
        float(sum(a.lower() == "an" and b[0].lower() not in "aeiouh" for a, b in follow)),
        float(sum(not a[0].isalnum() and not b[0].isalnum() and a == b for a, b in follow)),
        words.count(",") / size,
        sum(word[0].isdigit() for word in plain) / size,
        sum(len(word) > 9 for word in plain) / size,
        float(any(not character.isascii() for character in text)),
    ]


def pair_features(
    sources: Sequence[str], hypotheses: Sequence[str], language: str = "en"
) -> FloatArray:
    """Features of what a correction did to its source.

    Returns:
        N × `PAIR_FEATURES`, or what takes their place in other languages.
    """
    of_one = _pair if language == "en" else _foreign_pair
    rows = [of_one(s, h) for s, h in zip(sources, hypotheses, strict=True)]
    return np.array(rows).reshape(len(rows), len(_names(True, language)))


def _pair(source: str, hypothesis: str) -> list[float]:
    old, new = words_of(source), words_of(hypothesis)
    low_old, low_new = [w.lower() for w in old], [w.lower() for w in new]
    plain_old, plain_new = " ".join(low_old), " ".join(low_new)
    # Words are matched in lower case: a change of case alone has a feature of its own.
    matched = align_words(low_old, low_new)
    exact = sum(low_old[i] == low_new[j] for i, j in matched)
    kept_old, kept_new = {i for i, _ in matched}, {j for _, j in matched}
    size = max(len(old), 1)
    inserted = deleted = replaced = gap = close = 0
    for kind, i, k, j, m in SequenceMatcher(None, low_old, low_new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        gap = max(gap, k - i, m - j)
        inserted += kind == "insert"
        deleted += kind == "delete"
        if kind == "replace":
            replaced += 1
            close += indel_ratio("".join(low_old[i:k]), "".join(low_new[j:m])) > 0.7
    lost = [low_old[i] for i in range(len(old)) if i not in kept_old]
    made = [low_new[j] for j in range(len(new)) if j not in kept_new]
    return [
        *(meteor.score(plain_old, plain_new) for meteor in _METEORS),
        indel_ratio(plain_old, plain_new),
        2 * exact / max(len(old) + len(new), 1),
        float(old == new),
        float(np.log((len(new) + 1) / (len(old) + 1))),
        inserted / size,
        deleted / size,
        replaced / size,
        sum(map(_content, lost)) / size,
        sum(map(_content, made)) / size,
        (len(matched) - exact) / size,
        gap / size,
        float([w for w in low_old if w[0].isdigit()] != [w for w in low_new if w[0].isdigit()]),
        float(sum(w in _NEGATIONS for w in low_old) != sum(w in _NEGATIONS for w in low_new)),
        float(low_old == low_new and old != new),
        close / size,
        float(np.log1p(len(old))),
        sum(b < a for (_, a), (_, b) in itertools.pairwise(matched)) / size,
    ]


def _content(word: str) -> bool:
    return word[0].isalnum() and word not in _FUNCTION_WORDS


_END_MARKS = frozenset(".?!…。．？！」』）)\"'”’»“♪〜～")


def _is_word(word: str) -> bool:
    return word[0].isalnum()


def _scripts(text: str) -> int:
    """How many scripts a text mixes: Latin, Cyrillic, ...; kana and ideographs are one."""
    found = set()
    for character in text:
        if character.isalpha():
            name = unicodedata.name(character, "?").split()[0].split("-")[0]
            found.add("CJK" if name in ("HIRAGANA", "KATAKANA", "CJK", "IDEOGRAPHIC") else name)
    return len(found)


def _ideographs(text: str) -> int:
    return sum("\u3400" <= character <= "\u9fff" for character in text)


def _foreign_sentence(text: str, pieces: _Pieces) -> list[float]:
    words = words_of_any(text)
    plain = [word for word in words if _is_word(word)]
    # Words as they are: lower-casing is not every encoder's way, nor every language's.
    counts = [pieces(word) for word in plain]
    size = max(len(plain), 1)
    follow = list(itertools.pairwise(words))
    return [
        float(np.log1p(len(words))),
        float(np.log1p(len("".join(words)))),
        float(not words or words[-1][-1] not in _END_MARKS),
        float(bool(plain) and plain[0][0].islower()),
        sum(word[0].isupper() for word in plain[1:]) / size,
        sum(counts) / size,
        sum(count > 1 for count in counts) / size,
        float(sum(a == b and _is_word(a) for a, b in follow)),
        float(sum(a == b and not _is_word(a) for a, b in follow)),
        (len(words) - len(plain)) / size,
        sum(word[0].isdigit() for word in plain) / size,
        sum(len(word) > 9 for word in plain) / size,
        float(_scripts(text)),
        _ideographs(text) / max(len(text), 1),
    ]


def _foreign_pair(source: str, hypothesis: str) -> list[float]:
    old, new = words_of_any(source), words_of_any(hypothesis)
    low_old, low_new = [w.lower() for w in old], [w.lower() for w in new]
    plain_old, plain_new = " ".join(low_old), " ".join(low_new)
    matched = align_words(low_old, low_new, stems=False)
    size = max(len(old), 1)
    inserted = deleted = replaced = gap = close = changed = ideographs = 0
    for kind, i, k, j, m in SequenceMatcher(None, low_old, low_new, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        gap = max(gap, k - i, m - j)
        before, after = "".join(old[i:k]), "".join(new[j:m])
        changed += max(len(before), len(after))
        ideographs += max(_ideographs(before), _ideographs(after))
        inserted += kind == "insert"
        deleted += kind == "delete"
        if kind == "replace":
            replaced += 1
            close += indel_ratio(before, after) > 0.7
    of_words = [[w for w in words if _is_word(w)] for words in (old, new)]
    digits = [[w for w in words if w[0].isdigit()] for words in (old, new)]
    return [
        Meteor(stems=False).score(plain_old, plain_new),
        indel_ratio("".join(old), "".join(new)),
        2 * len(matched) / max(len(old) + len(new), 1),
        float(old == new),
        float(np.log((len(new) + 1) / (len(old) + 1))),
        float(np.log1p(inserted)),
        float(np.log1p(deleted)),
        float(np.log1p(replaced)),
        inserted / size,
        deleted / size,
        replaced / size,
        float(np.log1p(changed)),
        gap / size,
        float(digits[0] != digits[1]),
        float(low_old == low_new and old != new),
        float(of_words[0] == of_words[1] and old != new),
        close / size,
        float(np.log1p(len(old))),
        sum(b < a for (_, a), (_, b) in itertools.pairwise(matched)) / size,
        float(np.log1p(ideographs)),
    ]


@dataclass(frozen=True)
class Linear:
    """The share of features in a prediction: `weights` · (features − `mean`) / `deviation`.

    Its mean over the training data is 0, so that a model's own output stays on the rating scale.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        count = len(self.weights)
        parts = (self.mean, self.deviation, self.weights)
        if any(len(p) != count or not np.isfinite(p).all() for p in parts):
            raise ValueError(f"features are not {count} finite numbers each")
        if not all(value > 0 for value in self.deviation):
            raise ValueError("a feature has no deviation")

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return the addition for each row of features."""
        scaled = (features - np.array(self.mean)) / np.array(self.deviation)
        added: FloatArray = scaled @ np.array(self.weights)
        return added


def fit_features(
    data: Annotations, split: Split, tokenizer: Any, language: str = "en"
) -> dict[str, Linear]:
    """Fit a ridge regression of each aspect on its features; the penalty by dev Spearman.

    Args:
        data: rated sentences.
        split: its parts.
        tokenizer: of the encoder.
        language: code of the sentences' language.

    Returns:
        By aspect what the features add to the mean rating.
    """
    fitted = {}
    for column, aspect in enumerate(data.aspects):
        features = _features(data, aspect, tokenizer, language)
        mean = features[split.train].mean(axis=0)
        deviation = features[split.train].std(axis=0)
        deviation[deviation == 0] = 1.0
        scaled = (features - mean) / deviation
        x, y = scaled[split.train], data.ratings[split.train, column]
        best = (-np.inf, np.zeros(x.shape[1]))
        for penalty in _RIDGES:
            gram = x.T @ x + penalty * np.eye(x.shape[1])
            weights = np.linalg.solve(gram, x.T @ (y - y.mean()))
            rho = spearman(data.ratings[split.dev, column], scaled[split.dev] @ weights)
            if rho > best[0]:
                best = (rho, weights)
        parts = (mean, deviation, best[1])
        fitted[aspect] = Linear(*(tuple(part.tolist()) for part in parts))
    return fitted


def _features(data: Annotations, aspect: str, tokenizer: Any, language: str) -> FloatArray:
    pairs = (data.sources, data.outputs)
    return aspect_features(aspect, data.outputs, pairs, piece_counter(tokenizer), language)


def additions(
    data: Annotations, linear: Mapping[str, Linear], tokenizer: Any, language: str = "en"
) -> FloatArray:
    """Return what features add, rows × aspects; 0 without features."""
    values = np.zeros_like(data.ratings)
    for column, aspect in enumerate(data.aspects):
        if aspect in linear:
            values[:, column] = linear[aspect](_features(data, aspect, tokenizer, language))
    return values
