"""What a small uncased encoder cannot see well, as numbers: case, spelling, and the edits made.

Three groups: of the hypothesis alone, of the pair (source, hypothesis), and both. Tokenised and
untokenised forms of one sentence have nearly the same features, since training data may be of one
kind and benchmarks of the other.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.refless.similarity import Meteor, align_words, indel_ratio

__all__ = [
    "PAIR_FEATURES",
    "SENTENCE_FEATURES",
    "pair_features",
    "piece_counter",
    "sentence_features",
    "words_of",
]

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

_Pieces = Callable[[str], int]
"""How many word pieces the encoder makes of a word."""

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


def sentence_features(texts: Sequence[str], pieces: _Pieces) -> FloatArray:
    """Features of lone sentences.

    Args:
        texts: N sentences.
        pieces: see `_Pieces`; words that the encoder must cut up are rare or misspelt.

    Returns:
        N × `SENTENCE_FEATURES`.
    """
    return np.array([_sentence(text, pieces) for text in texts]).reshape(
        len(texts), len(SENTENCE_FEATURES)
    )


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


def pair_features(sources: Sequence[str], hypotheses: Sequence[str]) -> FloatArray:
    """Features of what a correction did to its source.

    Returns:
        N × `PAIR_FEATURES`.
    """
    rows = [_pair(s, h) for s, h in zip(sources, hypotheses, strict=True)]
    return np.array(rows).reshape(len(rows), len(PAIR_FEATURES))


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
