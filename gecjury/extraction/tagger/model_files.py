"""The embedded tagger's files, and the look-ups of its pipeline, without spaCy's objects.

The tables and rules are those of spaCy 3.8 (`Vocab`, `AttributeRuler`, `EnglishLemmatizer`) and of
thinc 8.3 (`HashEmbed`).
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from gecjury.core.arrays import IntArray
from gecjury.core.runtime import import_alone
from gecjury.extraction.tagger.importing import symbols
from gecjury.extraction.tagger.windows import Parameters

ModelPart: TypeAlias = Any
"""The contents of a file that spaCy wrote: lists and objects of texts, numbers and arrays."""

_MODEL = Path(__file__).parent / "model"
_WORD = 2**64 - 1
# Letters of the moves, by their numbers in the parser's file.
_MOVES = "SDLRB"


def norms() -> dict[str, str]:
    """Return spaCy's normal forms of words."""
    return dict(import_alone("spacy.lang.norm_exceptions")[0].BASE_NORMS)


def moves() -> list[str]:
    """Return the names of the parser's transitions."""
    by_move = json.loads(_unpacked("parser/moves")["moves"])
    return [
        f"{_MOVES[int(move)]}-{label}".rstrip("-")
        for move, labels in by_move.items()
        for label in labels
    ]


def patterns() -> list[dict[str, Any]]:
    """Return the attribute ruler's patterns; later ones win over earlier ones."""
    return list(_unpacked("attribute_ruler/patterns"))


def condition(wanted: str | Mapping[str, Any]) -> Callable[[str], bool]:
    """Return the test for a value in a pattern of spaCy's matcher."""
    if isinstance(wanted, str):
        return wanted.__eq__
    ((kind, values),) = wanted.items()
    if kind == "REGEX":
        pattern = re.compile(values)
        return lambda value: pattern.search(value) is not None
    listed = frozenset(values)
    return listed.__contains__ if kind == "IN" else lambda value: value not in listed


def model_json(name: str) -> ModelPart:
    """Return the contents of one of the model's JSON files."""
    return json.loads((_MODEL / name).read_text(encoding="utf-8"))


def _unpacked(name: str) -> ModelPart:
    """Return the contents of one of the model's files in MessagePack."""
    unpacker, arrays = import_alone("srsly.msgpack._unpacker", "srsly.msgpack._msgpack_numpy")
    message, hook = (_MODEL / name).read_bytes(), arrays.decode_numpy
    return unpacker.unpackb(message, object_hook=hook, raw=False, strict_map_key=False)


def layers(pipe: str) -> tuple[list[Parameters], list[int]]:
    """Return the parameters of a pipe's layers, and the seeds of those that hash."""
    message = _unpacked(f"{pipe}/model")
    seeds = [attributes["seed"] for attributes in message["attrs"] if "seed" in attributes]
    # Each seed is a separate message: a small number is its only byte.
    return [layer for layer in message["params"] if layer], [seed[0] for seed in seeds]


@lru_cache(maxsize=200_000)
def number(text: str) -> int:
    """Return spaCy's number of a string: a symbol's own, or MurmurHash64A with the seed 1."""
    if text in symbols():
        return symbols()[text]
    mix = 0xC6A4A7935BD1E995
    data = text.encode()
    whole = len(data) & ~7
    value = 1 ^ (len(data) * mix & _WORD)
    for (part,) in struct.iter_unpack("<Q", data[:whole]):
        part = part * mix & _WORD
        value = (value ^ ((part ^ part >> 47) * mix & _WORD)) * mix & _WORD
    if data[whole:]:
        value = (value ^ int.from_bytes(data[whole:], "little")) * mix & _WORD
    value = (value ^ value >> 47) * mix & _WORD
    return value ^ value >> 47


def rows(numbers: list[int], seed: int) -> IntArray:
    """Return thinc's four hashes of each number, numbers × 4: MurmurHash3 for 128 bits."""
    start = np.uint64(seed)
    one = np.array(numbers, np.uint64) * np.uint64(0x87C37B91114253D5)
    one = (one << np.uint64(31) | one >> np.uint64(33)) * np.uint64(0x4CF5AD432745937F)
    one ^= start ^ np.uint64(8)
    two = start ^ np.uint64(8)
    one = one + two
    halves = []
    for half in (one, one + two):
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            half = (half ^ half >> np.uint64(33)) * np.uint64(factor)
        halves.append(half ^ half >> np.uint64(33))
    one = halves[0] + halves[1]
    two = halves[1] + one
    low = np.uint64(2**32 - 1)
    parts = [one & low, one >> np.uint64(32), two & low, two >> np.uint64(32)]
    return np.stack(parts, axis=1).astype(np.int64)


def shape(text: str) -> str:
    """Return a token's shape: capitals X, letters x, digits d, at most four of a kind in a row."""
    if len(text) >= 100:
        return "LONG"
    kinds = (
        ("X" if char.isupper() else "x") if char.isalpha() else "d" if char.isdigit() else char
        for char in text
    )
    return re.sub(r"(.)\1{4,}", r"\1\1\1\1", "".join(kinds), flags=re.DOTALL)


def lemma(text: str, pos: str, morphology: str) -> str:
    """Return a lemma by the rules of spaCy's lemmatizer for English."""
    kind, lower = pos.lower(), text.lower()
    features = dict(part.split("=") for part in morphology.split("|") if part)
    form = features.get("VerbForm")
    base = (
        form == "Inf"
        or features.get("Degree") == "Pos"
        or (kind == "noun" and features.get("Number") == "Sing")
        or (
            kind == "verb"
            and form == "Fin"
            and features.get("Tense") == "Pres"
            and "Number" not in features
        )
    )
    if kind in ("", "space") or base:
        return lower
    index, exceptions, rules = _lemma_tables(kind)
    if not (index or exceptions or rules):
        return text if kind == "propn" else lower
    # The last exception that no rule gives comes first, then the last form in the index.
    ends = [(lower[: len(lower) - len(old)] + new) for old, new in rules if lower.endswith(old)]
    listed = [form for form in ends if form in index]
    shaped = [form for form in ends if form and not form.isalpha() and form not in index]
    forms = list(dict.fromkeys([*reversed(listed), *shaped]))
    for exception in exceptions.get(lower, ()):
        if exception not in forms:
            forms.insert(0, exception)
    return next((form for form in [*forms, *ends] if form), text)


@cache
def _lemma_tables(kind: str) -> tuple[frozenset[str], dict[str, list[str]], list[list[str]]]:
    """Return the lemmas, irregular forms and endings of a part of speech."""
    tables, key = _lemma_file(), number(kind)
    return (
        frozenset(tables["lemma_index"].get(key, ())),
        tables["lemma_exc"].get(key, {}),
        tables["lemma_rules"].get(key, []),
    )


@cache
def _lemma_file() -> ModelPart:
    return _unpacked("lemmatizer/lookups/lookups.bin")
