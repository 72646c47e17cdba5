"""Features that a small uncased encoder hardly sees: case, spelling, and the edits made.

There are three groups: features of the hypothesis alone, of the pair (source, hypothesis), and of
both. Tokenised and untokenised forms of a sentence have nearly the same features, because training
data may be of one kind and benchmarks of the other.

Some features use lists of English words. Other languages have separate features without such
lists: their words are runs of letters with combining marks, or single letters in scripts without
spaces between words.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import Literal

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.corpus.splits import Split
from gecjury.models.foreign import Tokenizer
from gecjury.refless.data.annotations import QUALITY, Annotations
from gecjury.refless.nets.kernel import deviations
from gecjury.refless.similarity import Meteor, align_words, indel_ratio, words_of_any
from gecjury.stats.correlation import spearman

SENTENCE_FEATURES = (
    "log_words", "lower_start", "no_end_mark", "lower_i", "inner_capitals", "pieces_per_word",
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

_Pieces = Callable[[str], int] | None
"""A function from a word to its number of word pieces; None without an encoder.

Without an encoder, no extra package is needed either: each word counts as one piece, and stems are
not matched.
"""

_RIDGES = (10.0, 30.0, 100.0, 300.0)
_METEORS = {
    "meteor": Meteor(),
    "meteor_tuned": Meteor(0.85, 0.2, 0.6, 0.6),
    "meteor_even": Meteor(0.5, 1.0, 0.5, 0.5),
}
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


def piece_counter(tokenizer: Tokenizer) -> _Pieces:
    """Return a function that counts the word pieces into which a tokenizer splits a word."""
    return lru_cache(maxsize=None)(lambda word: len(tokenizer.tokenize(word)))


def words_of(text: str) -> list[str]:
    """Split English text into words and marks.

    Tokenised and untokenised text give the same result, except for contractions.
    """
    text = text.replace("``", '"').replace("''", '"')
    return re.findall(r"n['’]t\b|\w+(?=n['’]t\b)|['’]\w+|\w+|[^\w\s]", text)


Reading = Literal["sentences", "pairs", "both"]
"""Texts that features are computed from: single sentences, pairs, or pairs and their hypotheses."""


def reading(aspect: str, paired: bool = False) -> Reading:
    """Return which texts the features of an aspect are computed from.

    Args:
        aspect: the aspect: meaning reads pairs, quality both, the others sentences.
        paired: True if every aspect reads both.
    """
    if paired or aspect == QUALITY:
        return "both"
    return "pairs" if aspect == "meaning" else "sentences"


def feature_names(of: Reading, language: str = "en") -> tuple[str, ...]:
    """Return the names of the columns of features."""
    english = language == "en"
    alone: tuple[str, ...] = SENTENCE_FEATURES if english else FOREIGN_SENTENCE_FEATURES
    paired: tuple[str, ...] = PAIR_FEATURES if english else FOREIGN_PAIR_FEATURES
    return {"sentences": alone, "pairs": paired, "both": alone + paired}[of]


@dataclass(frozen=True)
class FeatureTables:
    """The features that aspects read; each table is computed once.

    Attributes:
        texts: T sentences.
        pairs: P sources and hypotheses.
        pieces: see `_Pieces`.
        language: code of their language.
        paired: see `reading`.
    """

    texts: Sequence[str]
    pairs: tuple[Sequence[str], Sequence[str]]
    pieces: _Pieces
    language: str = "en"
    paired: bool = False

    def of(self, aspect: str) -> FloatArray:
        """Return T or P rows × the `feature_names` of what the aspect reads."""
        kind = reading(aspect, self.paired)
        if kind == "both":
            return self._both
        return self._pairs if kind == "pairs" else self._sentences

    @cached_property
    def _sentences(self) -> FloatArray:
        return sentence_features(self.texts, self.pieces, self.language)

    @cached_property
    def _pairs(self) -> FloatArray:
        return pair_features(*self.pairs, self.language, stems=self.pieces is not None)

    @cached_property
    def _both(self) -> FloatArray:
        alone = sentence_features(self.pairs[1], self.pieces, self.language)
        return np.column_stack([alone, self._pairs])


def _table(rows: Sequence[Mapping[str, float]], of: Reading, language: str) -> FloatArray:
    names = feature_names(of, language)
    values = [[row[name] for name in names] for row in rows]
    return np.array(values, dtype=np.float64).reshape(len(rows), len(names))


def sentence_features(texts: Sequence[str], pieces: _Pieces, language: str = "en") -> FloatArray:
    """Return features of single sentences.

    Args:
        texts: N sentences.
        pieces: see `_Pieces`; words that the encoder must split are rare or misspelt.
        language: code of their language.

    Returns:
        N × `SENTENCE_FEATURES`, or × `FOREIGN_SENTENCE_FEATURES` for other languages.
    """
    rows = [_sentence(text, pieces, language == "en") for text in texts]
    return _table(rows, "sentences", language)


def _sentence(text: str, pieces: _Pieces, english: bool) -> dict[str, float]:
    """Return the features of a single sentence by name."""
    words = words_of(text) if english else words_of_any(text)
    # All rates are per word without marks. An empty sentence has no word, hence the minimum of 1.
    plain = [word for word in words if _is_word(word)]
    # Only English words are lower-cased: not every encoder or language does that.
    counts = [pieces(word.lower() if english else word) if pieces else 1 for word in plain]
    size = max(len(plain), 1)
    follow = list(itertools.pairwise(words))
    values = {
        "log_words": np.log1p(len(words)),
        "lower_start": bool(plain) and plain[0][0].islower(),
        "pieces_per_word": sum(counts) / size,
        "split_words": sum(count > 1 for count in counts) / size,
        "doubled_mark": sum(a == b and not _is_word(a) for a, b in follow),
        "numbers": sum(word[0].isdigit() for word in plain) / size,
        "long_words": sum(len(word) > 9 for word in plain) / size,
    }
    if english:
        return values | {
            "no_end_mark": not words or words[-1] not in _ENGLISH_END_MARKS,
            "lower_i": "i" in words,
            "inner_capitals": sum(w[0].isupper() and w != "I" for w in plain[1:]) / size,
            "repeated_word": sum(a.lower() == b.lower() and a[0].isalpha() for a, b in follow),
            "a_before_vowel": sum(a.lower() == "a" and b[0].lower() in "aeio" for a, b in follow),
            "an_before_consonant": sum(
                a.lower() == "an" and b[0].lower() not in "aeiouh" for a, b in follow
            ),
            "commas": words.count(",") / size,
            "unknown_letters": not text.isascii(),
        }
    return values | {
        "log_characters": np.log1p(len("".join(words))),
        "no_end_mark": not words or words[-1][-1] not in _END_MARKS,
        "inner_capitals": sum(word[0].isupper() for word in plain[1:]) / size,
        "repeated_word": sum(a == b and _is_word(a) for a, b in follow),
        "marks": (len(words) - len(plain)) / size,
        "scripts": _scripts(text),
        "ideographs": _ideographs(text) / max(len(text), 1),
    }


def pair_features(
    sources: Sequence[str], hypotheses: Sequence[str], language: str = "en", *, stems: bool = True
) -> FloatArray:
    """Return features of the changes that corrections made to their sources.

    Args:
        sources: N sentences.
        hypotheses: their corrections.
        language: code of their language.
        stems: True if English words with the same stem count as alike.

    Returns:
        N × `PAIR_FEATURES`, or × `FOREIGN_PAIR_FEATURES` for other languages.
    """
    pairs = zip(sources, hypotheses, strict=True)
    english = language == "en"
    return _table([_pair(s, h, english, stems and english) for s, h in pairs], "pairs", language)


def _pair(source: str, hypothesis: str, english: bool, stems: bool) -> dict[str, float]:
    """Return the features of a pair by name."""
    old, new = (words_of(t) if english else words_of_any(t) for t in (source, hypothesis))
    low_old, low_new = [w.lower() for w in old], [w.lower() for w in new]
    plain_old, plain_new = " ".join(low_old), " ".join(low_new)
    # Words are matched in lower case: a change of case alone has a separate feature.
    matched = align_words(low_old, low_new, stems=stems)
    exact = sum(low_old[i] == low_new[j] for i, j in matched)
    size = max(len(old), 1)
    gap = 0
    changes: list[tuple[str, str, str]] = []
    # Outside English, letters are compared as they are written, with their case.
    left, right = (low_old, low_new) if english else (old, new)
    for kind, i, k, j, m in SequenceMatcher(None, low_old, low_new, autojunk=False).get_opcodes():
        if kind != "equal":
            gap = max(gap, k - i, m - j)
            changes.append((kind, "".join(left[i:k]), "".join(right[j:m])))
    count = Counter(kind for kind, _, _ in changes)
    # A replacement with similar spelling is a spelling correction rather than another word.
    close = sum(kind == "replace" and indel_ratio(a, b) > 0.7 for kind, a, b in changes)
    values = {
        "word_f1": 2 * exact / max(len(old) + len(new), 1),
        "unchanged": old == new,
        "log_ratio": np.log((len(new) + 1) / (len(old) + 1)),
        "longest_gap": gap / size,
        "numbers_differ": [w for w in left if w[0].isdigit()]
        != [w for w in right if w[0].isdigit()],
        "case_only": low_old == low_new and old != new,
        "close_spelling": close / size,
        "log_source_length": np.log1p(len(old)),
        "moved": sum(b < a for (_, a), (_, b) in itertools.pairwise(matched)) / size,
    }
    kinds = {"inserted": "insert", "deleted": "delete", "replaced": "replace"}
    if english:
        kept_old, kept_new = {i for i, _ in matched}, {j for _, j in matched}
        lost = sum(_content(w) for i, w in enumerate(low_old) if i not in kept_old)
        made = sum(_content(w) for j, w in enumerate(low_new) if j not in kept_new)
        negations = [sum(w in _NEGATIONS for w in words) for words in (low_old, low_new)]
        return values | {
            **{
                name: replace(meteor, stems=stems).score(plain_old, plain_new)
                for name, meteor in _METEORS.items()
            },
            "character_ratio": indel_ratio(plain_old, plain_new),
            **{name: count[kind] / size for name, kind in kinds.items()},
            "content_lost": lost / size,
            "content_new": made / size,
            "stem_only": (len(matched) - exact) / size,
            "negation_differs": negations[0] != negations[1],
        }
    of_words = [[w for w in words if _is_word(w)] for words in (old, new)]
    return values | {
        "meteor": Meteor(stems=False).score(plain_old, plain_new),
        "character_ratio": indel_ratio("".join(old), "".join(new)),
        **{name: np.log1p(count[kind]) for name, kind in kinds.items()},
        **{f"{name}_rate": count[kind] / size for name, kind in kinds.items()},
        "characters_changed": np.log1p(sum(max(len(a), len(b)) for _, a, b in changes)),
        "marks_only": of_words[0] == of_words[1] and old != new,
        "ideographs_changed": np.log1p(
            sum(max(_ideographs(a), _ideographs(b)) for _, a, b in changes)
        ),
    }


def _content(word: str) -> bool:
    return word[0].isalnum() and word not in _FUNCTION_WORDS


_END_MARKS = frozenset(".?!…。．？！」』）)\"'”’»“♪〜～")
_ENGLISH_END_MARKS = frozenset('.?!")”')


def _is_word(word: str) -> bool:
    return word[0].isalnum()


def _scripts(text: str) -> int:
    """Return how many scripts a text mixes; kana and ideographs count as one."""
    names = {re.split("[ -]", unicodedata.name(c, "?"))[0] for c in text if c.isalpha()}
    return len({"CJK" if n in ("HIRAGANA", "KATAKANA", "IDEOGRAPHIC") else n for n in names})


def _ideographs(text: str) -> int:
    return sum("\u3400" <= character <= "\u9fff" for character in text)


@dataclass(frozen=True)
class Linear:
    """A linear regression on features: `bias` + `weights` · (features − `mean`) / `deviation`.

    With a fine-tuned model the bias is 0, so that the sum added to the model's output has mean 0
    over the training data and the output alone stays on the rating scale. Without a model, the bias
    is the mean rating.
    """

    mean: tuple[float, ...]
    deviation: tuple[float, ...]
    weights: tuple[float, ...]
    bias: float = 0.0

    def __post_init__(self) -> None:
        count = len(self.weights)
        parts = (self.mean, self.deviation, self.weights)
        if any(len(p) != count or not np.isfinite(p).all() for p in (*parts, (self.bias,) * count)):
            raise ValueError(f"features are not {count} finite numbers each")
        if not all(value > 0 for value in self.deviation):
            raise ValueError("a feature has no deviation")

    def __call__(self, features: FloatArray) -> FloatArray:
        """Return the prediction for each row of features."""
        scaled = (features - np.array(self.mean)) / np.array(self.deviation)
        predicted: FloatArray = self.bias + scaled @ np.array(self.weights)
        return predicted


def fit_features(
    data: Annotations,
    split: Split,
    pieces: _Pieces,
    language: str = "en",
    *,
    paired: bool = False,
    within: float = 0.0,
) -> tuple[dict[str, Linear], dict[str, dict[str, float]]]:
    """Fit a ridge regression of each aspect on its features; choose the penalty by dev Spearman.

    Args:
        data: rated sentences.
        split: its parts.
        pieces: see `sentence_features`.
        language: code of the sentences' language.
        paired: see `reading`.
        within: see `gecjury.refless.nets.kernel.fit_kernel`; corrections of one source are a group.

    Returns:
        For each aspect, what the features add to the mean rating; and the dev `score` with the
        `penalty` chosen by it.
    """
    fitted, chosen = {}, {}
    pairs = (data.sources, data.outputs)
    tables = FeatureTables(data.outputs, pairs, pieces, language, paired)
    groups = data.groups()[split.train]
    for column, aspect in enumerate(data.aspects):
        features = tables.of(aspect)
        mean = features[split.train].mean(axis=0)
        deviation = features[split.train].std(axis=0)
        deviation[deviation == 0] = 1.0
        scaled = (features - mean) / deviation
        x, y = scaled[split.train], data.ratings[split.train, column]
        gram, target = x.T @ x, x.T @ (y - y.mean())
        if within:
            inner = deviations(x, groups)
            gram = gram + within * inner.T @ inner
            target = target + within * inner.T @ deviations(y, groups)
        best = (-np.inf, 0.0, np.zeros(x.shape[1]))
        # Spearman on the dev part decides, as for epochs, because the order of outputs matters.
        for penalty in _RIDGES:
            weights = np.linalg.solve(gram + penalty * np.eye(x.shape[1]), target)
            rho = spearman(data.ratings[split.dev, column], scaled[split.dev] @ weights)
            if rho > best[0]:
                best = (rho, penalty, weights)
        fitted[aspect] = Linear(
            tuple(mean.tolist()), tuple(deviation.tolist()), tuple(best[2].tolist())
        )
        chosen[aspect] = {"score": best[0], "penalty": best[1]}
    return fitted, chosen


def additions(
    data: Annotations, linear: Mapping[str, Linear], tokenizer: Tokenizer, language: str = "en"
) -> FloatArray:
    """Return what the features add to the outputs, rows × aspects; 0 without features."""
    values = np.zeros_like(data.ratings)
    pairs = (data.sources, data.outputs)
    tables = FeatureTables(data.outputs, pairs, piece_counter(tokenizer), language)
    for aspect, fit in linear.items():
        values[:, data.aspects.index(aspect)] = fit(tables.of(aspect))
    return values
