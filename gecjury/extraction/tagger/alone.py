"""The embedded tagger read from its files, without spaCy's objects, whose import takes longest.

Its steps are those of `fast`. The look-ups of a pipeline's vocabulary, attribute ruler and
lemmatizer are done here with the same tables and rules: `Vocab`, `AttributeRuler` and
`EnglishLemmatizer` of spaCy 3.8, `HashEmbed` of thinc 8.3. Sentences with narrow decisions are
still left to the pipeline, which is loaded when the first of them occurs.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable, Sequence
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.core.arrays import Float32Array, IntArray
from gecjury.core.runtime import import_alone
from gecjury.extraction.tagger import load_tagger
from gecjury.extraction.tagger.fast import Attributes, InStep, changed, checked, read_patterns
from gecjury.extraction.tagger.importing import symbols
from gecjury.extraction.tagger.schemes import attribute_patterns
from gecjury.extraction.tagger.transitions import Transitions
from gecjury.extraction.tagger.windows import Maxout, Parameters, Windows

_MODEL = Path(__file__).parent / "model"
_WORD = 2**64 - 1
# Letters of the moves, by their numbers in the parser's file.
_MOVES = "SDLRB"


class Embedded(InStep):
    """The embedded tagger in step, without a pipeline."""

    def __init__(self, pos_scheme: str) -> None:
        """Read the tagger's files.

        Args:
            pos_scheme: as in `load_tagger`.
        """
        self._scheme = pos_scheme
        (norms,) = import_alone("spacy.lang.norm_exceptions")
        self._norms: dict[str, str] = norms.BASE_NORMS
        encoder, seeds = _layers("tok2vec")
        self._tables = [layer["E"] for layer in encoder[: len(seeds)]]
        self._seeds = seeds
        self._mixer = Maxout(*encoder[len(seeds) : len(seeds) + 2])
        self._rules = attribute_patterns(pos_scheme, _json("words.json"))
        patterns = read_patterns(self._rules)
        assert patterns is not None
        moves = json.loads(_unpacked("parser/moves")["moves"])
        super().__init__(
            Windows(self._embed, encoder[len(seeds) + 2 :]),
            Transitions(
                _layers("parser")[0],
                [
                    f"{_MOVES[int(move)]}-{label}".rstrip("-")
                    for move, labels in moves.items()
                    for label in labels
                ],
            ),
            _json("tagger/cfg")["labels"],
            _layers("tagger")[0][0],
            patterns,
        )

    @cached_property
    def pipeline(self) -> Any:
        """The tagger as a `spacy.language.Language`."""
        return load_tagger(pos_scheme=self._scheme)

    def lower(self, text: str) -> str:
        """Return a token in lower case."""
        return text.lower()

    def agrees(self, sentences: Sequence[list[str]]) -> bool:
        """Return True if vectors equal those computed in 64 bits, apart from rounding."""
        chosen = checked(sentences)
        precise = self._windows.encode(chosen, precise=True)
        return self._near(chosen, precise.vectors[precise.rows[precise.kinds >= 0]])

    def _embed(self, words: list[str]) -> Float32Array:
        """Return sums of the tables' rows that hashes of each word's four features select."""
        features: tuple[Callable[[str], str], ...] = (
            lambda word: self._norms.get(word, word.lower()),
            lambda word: word[0],
            lambda word: word[-3:],
            _shape,
        )
        columns = [
            table[_rows([_number(feature(word)) for word in words], seed) % len(table)].sum(axis=1)
            for feature, table, seed in zip(features, self._tables, self._seeds, strict=True)
        ]
        return self._mixer(np.concatenate(columns, axis=1))

    def _finished(self, tokens: Sequence[tuple[str, str, str]]) -> tuple[Attributes, ...]:
        line = [text.lower() for text, _, _ in tokens]
        made = [self._ruled_alone(*token) for token in tokens]
        # Only phrases change dependencies, and they change nothing else.
        for phrase, index, attributes in self._long_rules:
            for start in range(len(line) - len(phrase) + 1):
                if line[start : start + len(phrase)] == phrase:
                    made[start + index] |= attributes
        return tuple(
            Attributes(
                text,
                values["TAG"],
                symbols()[values.get("POS", "")],
                values.get("LEMMA") or _lemma(text, values.get("POS", ""), values.get("MORPH", "")),
                changed(values["DEP"], dep),
            )
            for values, (text, _, dep) in zip(made, tokens, strict=True)
        )

    def _ruled_alone(self, text: str, tag: str, dep: str) -> dict[str, str]:
        """Return a token's attributes by the rules for single tokens; later rules override."""
        values = {"TAG": tag, "DEP": dep}
        token = {"TEXT": text, "LOWER": text.lower(), "DEP": dep}
        for conditions, attributes in self._rules_of(tag):
            if all(holds(token[name]) for name, holds in conditions):
                values |= attributes
        return values

    def _rules_of(self, tag: str) -> list[tuple[_Conditions, dict[str, str]]]:
        """Return the rules for a tag: their conditions without the tag, and their attributes."""
        if tag not in self._by_tag:
            self._by_tag[tag] = [
                (
                    [(name, holds) for name, holds in conditions if name != "TAG"],
                    attributes,
                )
                for conditions, attributes in self._short_rules
                if all(holds(tag) for name, holds in conditions if name == "TAG")
            ]
        return self._by_tag[tag]

    @cached_property
    def _by_tag(self) -> dict[str, list[tuple[_Conditions, dict[str, str]]]]:
        return {}

    @cached_property
    def _short_rules(self) -> list[tuple[_Conditions, dict[str, str]]]:
        """The rules for single tokens."""
        return [
            ([(name, _condition(wanted)) for name, wanted in pattern[0].items()], rule["attrs"])
            for rule in self._rules
            for pattern in rule["patterns"]
            if len(pattern) == 1
        ]

    @cached_property
    def _long_rules(self) -> list[tuple[list[str], int, dict[str, str]]]:
        """The rules for phrases: tokens in lower case, which of them changes, and how."""
        return [
            ([token["LOWER"] for token in pattern], rule.get("index", 0), rule["attrs"])
            for rule in self._rules
            for pattern in rule["patterns"]
            if len(pattern) > 1
        ]


_Conditions = list[tuple[str, Callable[[str], bool]]]


def _condition(wanted: Any) -> Callable[[str], bool]:
    """Return the test for a value in a pattern of spaCy's matcher."""
    if isinstance(wanted, str):
        return wanted.__eq__
    ((kind, values),) = wanted.items()
    if kind == "REGEX":
        pattern = re.compile(values)
        return lambda value: pattern.search(value) is not None
    listed = frozenset(values)
    return listed.__contains__ if kind == "IN" else lambda value: value not in listed


def _json(name: str) -> Any:
    return json.loads((_MODEL / name).read_text(encoding="utf-8"))


def _unpacked(name: str) -> Any:
    """Return the contents of one of the model's files in MessagePack."""
    unpacker, arrays = import_alone("srsly.msgpack._unpacker", "srsly.msgpack._msgpack_numpy")
    message, hook = (_MODEL / name).read_bytes(), arrays.decode_numpy
    return unpacker.unpackb(message, object_hook=hook, raw=False, strict_map_key=False)


def _layers(pipe: str) -> tuple[list[Parameters], list[int]]:
    """Return the parameters of a pipe's layers, and the seeds of those that hash."""
    message = _unpacked(f"{pipe}/model")
    seeds = [attributes["seed"] for attributes in message["attrs"] if "seed" in attributes]
    # Each seed is a separate message: a small number is its only byte.
    return [layer for layer in message["params"] if layer], [seed[0] for seed in seeds]


@lru_cache(maxsize=200_000)
def _number(text: str) -> int:
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


def _rows(numbers: list[int], seed: int) -> IntArray:
    """Return thinc's four hashes of each number, numbers × 4: MurmurHash3 for 128 bits."""
    start: Any = np.uint64(seed)
    one: Any = np.array(numbers, np.uint64) * np.uint64(0x87C37B91114253D5)
    one = (one << np.uint64(31) | one >> np.uint64(33)) * np.uint64(0x4CF5AD432745937F)
    one ^= start ^ np.uint64(8)
    two = start ^ np.uint64(8)
    one = one + two
    halves: list[Any] = []
    for half in (one, one + two):
        for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
            half = (half ^ half >> np.uint64(33)) * np.uint64(factor)
        halves.append(half ^ half >> np.uint64(33))
    one = halves[0] + halves[1]
    two = halves[1] + one
    low = np.uint64(2**32 - 1)
    parts = [one & low, one >> np.uint64(32), two & low, two >> np.uint64(32)]
    rows: IntArray = np.stack(parts, axis=1).astype(np.int64)
    return rows


def _shape(text: str) -> str:
    """Return a token's shape: capitals X, letters x, digits d, at most four of a kind in a row."""
    if len(text) >= 100:
        return "LONG"
    kinds = (
        ("X" if char.isupper() else "x") if char.isalpha() else "d" if char.isdigit() else char
        for char in text
    )
    return re.sub(r"(.)\1{4,}", r"\1\1\1\1", "".join(kinds), flags=re.DOTALL)


def _lemma(text: str, pos: str, morphology: str) -> str:
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
    tables, number = _lemma_file(), _number(kind)
    return (
        frozenset(tables["lemma_index"].get(number, ())),
        tables["lemma_exc"].get(number, {}),
        tables["lemma_rules"].get(number, []),
    )


@cache
def _lemma_file() -> Any:
    return _unpacked("lemmatizer/lookups/lookups.bin")
