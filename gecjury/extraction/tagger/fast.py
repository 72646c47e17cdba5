"""The embedded tagger, computed for many sentences at once and without spaCy's objects.

Vectors are computed once for all places with the same context (`windows`), trees for all sentences
in step (`transitions`). The attribute ruler and the lemmatizer look at one token, its tag and its
dependency, so each such combination is looked up once; so is each phrase that the ruler knows. The
look-ups use the pipeline's own tables and rules (`model_files`).

Scores equal the pipeline's except for their last bits. With a wide safety margin, every sentence in
which rounding might change a decision is left to the pipeline, which is loaded when the first of
them occurs: all others have exactly its results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from gecjury.core.arrays import Float32Array, IntArray
from gecjury.extraction.tagger import Pipeline, load_tagger
from gecjury.extraction.tagger.importing import symbols
from gecjury.extraction.tagger.model_files import (
    condition,
    layers,
    lemma,
    model_json,
    moves,
    norms,
    number,
    patterns,
    rows,
    shape,
)
from gecjury.extraction.tagger.transitions import Transitions
from gecjury.extraction.tagger.windows import EncodedWindows, Maxout, Windows

# Rounding may change the order of two scores (of about -35 to 35) that are this close: computing in
# 64 bits changed no difference of two scores by more than 0.000018 in 14,809 sentences of
# CoNLL-2014.
_NARROW = 2e-4
# Combinations and phrases that are kept; beyond that, all are dropped.
_KEPT = 200_000
_MemoKey = tuple[tuple[str, str, str], ...]
"""Text, tag and dependency of neighbours."""
_Conditions = list[tuple[str, Callable[[str], bool]]]


class Attributes(NamedTuple):
    """Attributes of a token by the ruler and the lemmatizer; `dep` is None if unchanged."""

    text: str
    tag: str
    pos: int
    lemma: str
    dep: str | None = None


class Tagged(NamedTuple):
    """Tagged sentences, concatenated with gaps between them; values in gaps are meaningless.

    Attributes:
        attributes: distinct attributes.
        numbers: index of each place's attributes in `attributes`.
        deps: dependency label at each place.
        heads: head at each place, counted from the start of its sentence; a root is its own.
        starts: place of each sentence's first token.
        narrow: True for each sentence that must be left to the pipeline.
    """

    attributes: list[Attributes]
    numbers: IntArray
    deps: list[str]
    heads: list[int]
    starts: list[int]
    narrow: list[bool]


class Embedded:
    """A tagger that tags, parses and looks up attributes of many tokenised sentences."""

    def __init__(self) -> None:
        """Read the tagger's files."""
        self._norms = norms()
        encoder, seeds = layers("tok2vec")
        self._tables = [layer["E"] for layer in encoder[: len(seeds)]]
        self._seeds = seeds
        self._mixer = Maxout(*encoder[len(seeds) : len(seeds) + 2])
        self._windows = Windows(self._embed, encoder[len(seeds) + 2 :])
        self._transitions = Transitions(layers("parser")[0], moves())
        self._tags: list[str] = model_json("tagger/cfg")["labels"]
        softmax = layers("tagger")[0][0]
        self._weights = np.ascontiguousarray(softmax["W"].T), softmax["b"]
        self._rules = patterns()
        self._phrases = [tuple(phrase) for phrase, _, _ in self._long_rules]
        # Dependencies that a rule distinguishes.
        self._ruled = {
            name
            for rule in self._rules
            for token in rule["patterns"][0]
            for name in token.get("DEP", {}).get("IN", ())
        }
        self._deps: dict[str, int] = {}
        labels = self._transitions.labels
        self._dep_of_move = np.array([self._dep(label) for label in labels])
        # Labels that contain the label of a head elsewhere in the tree.
        self._lifted = np.array(["||" in label for label in labels])
        self._known: dict[_MemoKey, tuple[Attributes, ...]] = {}
        self._by_tag: dict[str, list[tuple[_Conditions, dict[str, str]]]] = {}

    @cached_property
    def pipeline(self) -> Pipeline:
        """The tagger as a pipeline of spaCy."""
        return load_tagger()

    def parse(self, sentences: Sequence[list[str]]) -> Tagged:
        """Tag, parse and look up non-empty tokenised sentences."""
        encoded = self._windows.encode(sentences)
        tags, by = self._tag(encoded.vectors)
        parses = self._transitions.parse(encoded)
        tokens, starts = encoded.kinds >= 0, encoded.starts
        margins = np.where(tokens, np.minimum(parses.margins, by[encoded.rows]), np.inf)
        # Also true where a score is not a number.
        narrow = ~(np.minimum.reduceat(margins, starts) >= _NARROW)
        rooted = parses.heads == 0
        deps = np.where(rooted, self._dep("ROOT"), self._dep_of_move[parses.moves])
        begins = np.zeros(len(tokens), np.int64)
        begins[starts] = starts
        places = np.arange(len(tokens))
        heads = np.where(rooted, places, parses.heads) - np.maximum.accumulate(begins)
        lifted = np.flatnonzero(self._lifted[parses.moves] & ~rooted)
        lifted = np.searchsorted(starts, lifted, side="right")
        # `np.unique` would import the part of numpy for masked arrays.
        for sentence in sorted(set((lifted - 1).tolist())):
            begin = int(starts[sentence])
            self._attach(slice(begin, begin + len(sentences[sentence])), deps, heads)
        attributes, numbers = self._attributes(encoded, tags[encoded.rows], deps)
        names = np.array(list(self._deps), dtype=object)
        return Tagged(
            attributes,
            numbers,
            names[deps].tolist(),
            heads.tolist(),
            starts.tolist(),
            narrow.tolist(),
        )

    def _dep(self, label: str) -> int:
        """Return the number of a dependency."""
        return self._deps.setdefault(label, len(self._deps))

    def _tag(self, vectors: Float32Array) -> tuple[IntArray, Float32Array]:
        """Return the best tag of each vector, and its margin over the second best."""
        weights, bias = self._weights
        scores = vectors @ weights + bias
        best, rows = scores.argmax(axis=1), np.arange(len(vectors))
        highest = scores[rows, best]
        scores[rows, best] = -np.inf
        return best, highest - scores.max(axis=1)

    def _attach(self, sentence: slice, deps: IntArray, heads: IntArray) -> None:
        """Attach tokens of a sentence whose heads are elsewhere, in place."""
        names = list(self._deps)
        labels, to = [names[dep] for dep in deps[sentence]], heads[sentence].tolist()
        deprojectivize(labels, to)
        deps[sentence] = [self._dep(label) for label in labels]
        heads[sentence] = to

    def _attributes(
        self, encoded: EncodedWindows, tags: IntArray, deps: IntArray
    ) -> tuple[list[Attributes], IntArray]:
        """Return distinct attributes and their index at each place; set dependencies in place."""
        if len(self._known) > _KEPT:
            self._known.clear()
        names = list(self._deps)
        # The ruler does not distinguish dependencies that its patterns do not name.
        ruled = np.array([i + 1 if name in self._ruled else 0 for i, name in enumerate(names)])
        sizes = len(self._tags), len(names) + 1
        tokens = encoded.kinds >= 0
        combined = (encoded.kinds * sizes[0] + tags) * sizes[1] + ruled[deps]
        distinct, places = np.unique(combined[tokens], return_inverse=True)
        rest, dep = np.divmod(distinct, sizes[1])
        kind, tag = np.divmod(rest, sizes[0])
        keys: list[_MemoKey] = [
            ((encoded.words[k], self._tags[t], names[d - 1] if d else ""),)
            for k, t, d in zip(kind.tolist(), tag.tolist(), dep.tolist(), strict=True)
        ]
        numbers = np.zeros(len(tokens), np.int64)
        numbers[tokens] = places.reshape(-1)
        self._look_up([key for key in keys if key not in self._known])
        attributes = [self._known[key][0] for key in keys]
        for start, end in self._phrase_places(encoded):
            words = [encoded.words[kind] for kind in encoded.kinds[start:end]]
            phrase = [self._tags[tag] for tag in tags[start:end]]
            labels = [names[dep] for dep in deps[start:end]]
            key = tuple(zip(words, phrase, labels, strict=True))
            if key not in self._known:
                self._known[key] = self._finished(key)
            numbers[start:end] = range(len(attributes), len(attributes) + end - start)
            attributes += self._known[key]
            deps[start:end] = [
                self._dep(label if entry.dep is None else entry.dep)
                for entry, label in zip(self._known[key], labels, strict=True)
            ]
        return attributes, numbers

    def _phrase_places(self, encoded: EncodedWindows) -> list[tuple[int, int]]:
        """Return where a pattern of several tokens matches; overlapping matches are merged."""
        lowers = [word.lower() for word in encoded.words]
        present = set(lowers)
        spans: list[tuple[int, int]] = []
        for phrase in self._phrases:
            if not present.issuperset(phrase):
                continue
            hits = np.arange(len(encoded.kinds) - len(phrase))
            for offset, word in enumerate(phrase):
                same = np.array([lower == word for lower in lowers] + [False])
                hits = hits[same[encoded.kinds[hits + offset]]]
            spans += [(hit, hit + len(phrase)) for hit in hits.tolist()]
        merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if merged and start < merged[-1][1]:
                merged[-1] = merged[-1][0], max(end, merged[-1][1])
            else:
                merged.append((start, end))
        return merged

    def _look_up(self, keys: list[_MemoKey]) -> None:
        """Look up single tokens, all as one document."""
        if not keys:
            return
        line = [key[0][0].lower() for key in keys]
        if len(keys) > 1 and any(_contains(line, phrase) for phrase in self._phrases):
            for key in keys:
                self._look_up([key])
            return
        for key, attributes in zip(keys, self._finished([key[0] for key in keys]), strict=True):
            self._known[key] = (attributes,)

    def _embed(self, words: list[str]) -> Float32Array:
        """Return sums of the tables' rows that hashes of each word's four features select."""
        features: tuple[Callable[[str], str], ...] = (
            lambda word: self._norms.get(word, word.lower()),
            lambda word: word[0],
            lambda word: word[-3:],
            shape,
        )
        columns = [
            table[rows([number(feature(word)) for word in words], seed) % len(table)].sum(axis=1)
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
                values.get("LEMMA") or lemma(text, values.get("POS", ""), values.get("MORPH", "")),
                None if values["DEP"] == dep else values["DEP"],
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
    def _short_rules(self) -> list[tuple[_Conditions, dict[str, str]]]:
        """The rules for single tokens."""
        return [
            ([(name, condition(wanted)) for name, wanted in pattern[0].items()], rule["attrs"])
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


def deprojectivize(labels: list[str], heads: list[int]) -> None:
    """Attach tokens with labels such as `pobj||prep` below their heads, in place.

    The new head is the first token labelled `prep` below the present head, nearest first; a token
    without one stays where it is. This is spaCy's `nonproj.deprojectivize`, which uses the ends of
    subtrees in the original tree.

    Args:
        labels: labels of a sentence's tokens.
        heads: index of each token's head; a root is its own.
    """
    first, last = list(range(len(heads))), list(range(len(heads)))
    for token, head in enumerate(heads):
        below = token
        while head != below:
            first[head], last[head] = min(first[head], token), max(last[head], token)
            below, head = head, heads[head]
    for token, label in enumerate(labels):
        if "||" not in label:
            continue
        label, wanted = label.split("||")
        queue = [heads[token]]
        while queue:
            children = [
                child
                for head in queue
                for child in range(first[head], last[head] + 1)
                if heads[child] == head and child not in (head, token)
            ]
            if match := [child for child in children if labels[child] == wanted]:
                heads[token] = match[0]
                break
            queue = children
        labels[token] = label


def _contains(line: list[str], phrase: tuple[str, ...]) -> bool:
    return any(
        line[i : i + len(phrase)] == list(phrase)
        for i, word in enumerate(line)
        if word == phrase[0]
    )
