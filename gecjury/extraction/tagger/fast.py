"""The embedded tagger's results, computed much faster for many similar sentences.

Vectors are computed once for all places with the same context (`windows`), trees for all sentences
in step (`transitions`). The attribute ruler and the lemmatizer look at one token, its tag and its
dependency, so each such combination is looked up once; so is each phrase that the ruler knows. A
`Doc` is created only for combinations that were not seen before.

Scores equal the pipeline's except for their last bits. This is checked on the first sentences, and
the pipeline itself is used if it is not true. With a wide safety margin, every sentence in which
rounding might change a decision is left to the pipeline: all others have exactly its results.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from gecjury.core.arrays import Float32Array, FloatArray, IntArray
from gecjury.extraction.tagger.transitions import Transitions
from gecjury.extraction.tagger.windows import Encoded, Parameters, Windows, parameters

_PIPES = ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer"]
# Attributes a pattern may look at, all known before the ruler runs; all but DEP and TAG follow
# from the token's text.
_PLAIN = {"TAG", "DEP", "LOWER", "ORTH", "TEXT", "NORM", "SHAPE", "PREFIX", "SUFFIX"}
_CHECKED, _LONGEST_CHECKED = 8, 1000  # sentences, and tokens of each
# Rounding may change the order of two scores (of about -35 to 35) that are this close: computing in
# 64 bits changed no difference of two scores by more than 0.000018 in 14,809 sentences of
# CoNLL-2014. Vectors of the checked sentences must not differ by more than the second number.
_NARROW = 2e-4
_ROUNDING = 1e-4
# Combinations and phrases that are kept; beyond that, all are dropped.
_KEPT = 200_000
_LOWER = 66  # spacy.attrs.LOWER
Patterns = tuple[list[tuple[str, ...]], set[str]]
"""Phrases in lower case, and dependencies."""
_Key = tuple[tuple[str, str, str], ...]
"""Text, tag and dependency of neighbours."""


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


def checked(sentences: Sequence[list[str]]) -> list[list[str]]:
    """Return the sentences by which a tagger in step is checked before it is used.

    Texts too long to be sentences are cut, since spaCy needs 15 kB per token.
    """
    return [s[:_LONGEST_CHECKED] for s in sentences[:: -(-len(sentences) // _CHECKED)]]


class InStep(ABC):
    """A tagger that tags, parses and looks up attributes of many tokenised sentences."""

    def __init__(
        self,
        windows: Windows,
        transitions: Transitions,
        tags: Sequence[str],
        softmax: Parameters,
        patterns: Patterns,
    ) -> None:
        """Take over the parts of a tagger.

        Args:
            windows: its encoder.
            transitions: its parser.
            tags: its Penn tags.
            softmax: parameters of the layer that decides between them.
            patterns: what its attribute ruler looks at.
        """
        self._windows = windows
        self._transitions = transitions
        self._tags = list(tags)
        self._weights = np.ascontiguousarray(softmax["W"].T), softmax["b"]
        self._phrases, self._ruled = patterns
        self._deps: dict[str, int] = {}
        labels = self._transitions.labels
        self._dep_of_move = np.array([self._dep(label) for label in labels])
        # Labels that contain the label of a head elsewhere in the tree.
        self._lifted = np.array(["||" in label for label in labels])
        self._known: dict[_Key, tuple[Attributes, ...]] = {}
        self._trusted: bool | None = None

    pipeline: Any
    """The tagger as a `spacy.language.Language`."""

    @abstractmethod
    def lower(self, text: str) -> str:
        """Return a token in lower case, as the tagger has it."""

    @abstractmethod
    def agrees(self, sentences: Sequence[list[str]]) -> bool:
        """Return True if vectors equal the pipeline's, apart from rounding."""

    def trusted(self, sentences: Sequence[list[str]]) -> bool:
        """Return True if the tagger agrees with the pipeline, checked on its first sentences."""
        if self._trusted is None:
            self._trusted = self.agrees(sentences)
        return self._trusted

    @abstractmethod
    def _finished(self, tokens: Sequence[tuple[str, str, str]]) -> tuple[Attributes, ...]:
        """Return attributes of neighbouring tokens by the attribute ruler and the lemmatizer."""

    def _near(self, sentences: Sequence[list[str]], vectors: FloatArray | Float32Array) -> bool:
        """Return True if vectors, tokens × width, differ from ours only by rounding."""
        encoded = self._windows.encode(sentences)
        ours = encoded.vectors[encoded.rows[encoded.kinds >= 0]]
        return bool((np.abs(vectors - ours) <= _ROUNDING).all())

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
        for sentence in np.unique(lifted - 1).tolist():
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
        self, encoded: Encoded, tags: IntArray, deps: IntArray
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
        keys: list[_Key] = [
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

    def _phrase_places(self, encoded: Encoded) -> list[tuple[int, int]]:
        """Return where a pattern of several tokens matches; overlapping matches are merged."""
        lowers = [self.lower(word) for word in encoded.words]
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

    def _look_up(self, keys: list[_Key]) -> None:
        """Look up single tokens, all as one document."""
        if not keys:
            return
        line = [self.lower(key[0][0]) for key in keys]
        if len(keys) > 1 and any(_contains(line, phrase) for phrase in self._phrases):
            for key in keys:
                self._look_up([key])
            return
        for key, attributes in zip(keys, self._finished([key[0] for key in keys]), strict=True):
            self._known[key] = (attributes,)


class FastPipeline(InStep):
    """A spaCy pipeline in step; its own ruler and lemmatizer handle new combinations."""

    def __init__(self, nlp: Any) -> None:
        """Take over a pipeline for which `suits` is true."""
        self.pipeline = nlp
        parser, tagger = nlp.get_pipe("parser"), nlp.get_pipe("tagger")
        super().__init__(
            Windows.of_pipeline(nlp),
            Transitions(parameters(parser.model), parser.move_names),
            tagger.labels,
            parameters(tagger.model)[0],
            read_patterns(nlp.get_pipe("attribute_ruler").patterns) or ([], set()),
        )
        self._lower: Callable[[str], str] = nlp.vocab.lex_attr_getters[_LOWER]
        index = nlp.get_pipe("lemmatizer").lookups.get_table("lemma_index")
        for part, words in list(index.items()):
            # Used only for membership tests, which are slow in a list.
            index[part] = dict.fromkeys(words, 1)

    @staticmethod
    def suits(nlp: Any) -> bool:
        """Return True if a pipeline is built like the embedded tagger."""
        if list(nlp.pipe_names) != _PIPES:
            return False
        lemmatizer, tagger = nlp.get_pipe("lemmatizer"), nlp.get_pipe("tagger")
        if getattr(lemmatizer, "mode", "") != "rule" or lemmatizer.overwrite:
            return False
        names = [layer.name for layer in tagger.model.layers]
        return (
            names == ["tok2vec-listener", "with_array(softmax)"]
            and Windows.suits(nlp)
            and Transitions.suits(nlp.get_pipe("parser"))
            and read_patterns(nlp.get_pipe("attribute_ruler").patterns) is not None
        )

    def lower(self, text: str) -> str:
        """Return a token in lower case, as the pipeline's vocabulary has it."""
        return self._lower(text)

    def agrees(self, sentences: Sequence[list[str]]) -> bool:
        """Return True if results equal the pipeline's, and vectors do, apart from rounding."""
        from spacy.tokens import Doc

        chosen = checked(sentences)
        docs = [Doc(self.pipeline.vocab, words=words) for words in chosen]
        near = self._near(chosen, np.concatenate(self.pipeline.get_pipe("tok2vec").predict(docs)))
        tagged = self.parse(chosen)
        return near and all(
            narrow or self._row(tagged, start, len(doc)) == _read(doc)
            for doc, start, narrow in zip(
                self.pipeline.pipe(docs), tagged.starts, tagged.narrow, strict=True
            )
        )

    @staticmethod
    def _row(tagged: Tagged, start: int, length: int) -> list[tuple[str, str, int, int, str]]:
        places = range(start, start + length)
        attributes = [tagged.attributes[tagged.numbers[place]] for place in places]
        deps, heads = tagged.deps[start:], tagged.heads[start:]
        return [(a.tag, deps[i], heads[i], a.pos, a.lemma) for i, a in enumerate(attributes)]

    def _finished(self, tokens: Sequence[tuple[str, str, str]]) -> tuple[Attributes, ...]:
        from spacy.tokens import Doc

        texts, tags, deps = (list(column) for column in zip(*tokens, strict=True))
        heads = list(range(len(tokens)))
        doc = Doc(self.pipeline.vocab, words=texts, tags=tags, deps=deps, heads=heads)
        for name in ("attribute_ruler", "lemmatizer"):
            doc = self.pipeline.get_pipe(name)(doc)
        return tuple(
            Attributes(text, token.tag_, token.pos, token.lemma_, changed(token.dep_, dep))
            for token, text, dep in zip(doc, texts, deps, strict=True)
        )


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


def changed(now: str, before: str) -> str | None:
    """Return a value if it differs from the one before, else None."""
    return None if now == before else now


def _contains(line: list[str], phrase: tuple[str, ...]) -> bool:
    return any(
        line[i : i + len(phrase)] == list(phrase)
        for i, word in enumerate(line)
        if word == phrase[0]
    )


def _read(doc: Any) -> list[tuple[str, str, int, int, str]]:
    return [(t.tag_, t.dep_, t.head.i, t.pos, t.lemma_) for t in doc]


def read_patterns(rules: Sequence[Any]) -> Patterns | None:
    """Return an attribute ruler's phrases in lower case, and the dependencies that it looks at.

    None if the ruler looks at anything but single tokens and plain lower-case phrases, or changes
    the dependency of a single token.
    """
    phrases: list[tuple[str, ...]] = []
    deps: set[str] = set()
    for rule in rules:
        for pattern in rule["patterns"]:
            if len(pattern) == 1 and {name.upper() for name in pattern[0]} <= _PLAIN:
                named = _named({k.upper(): v for k, v in pattern[0].items()}.get("DEP", []))
                if named is None or "DEP" in {name.upper() for name in rule["attrs"]}:
                    return None
                deps.update(named)
                continue
            words = [token.get("LOWER") for token in pattern if set(token) == {"LOWER"}]
            if len(words) != len(pattern) or not all(isinstance(word, str) for word in words):
                return None
            phrases.append(tuple(words))
    return phrases, deps


def _named(condition: Any) -> list[str] | None:
    """Return the values that a condition of a pattern names; None if it is not a plain list."""
    if isinstance(condition, str):
        return [condition]
    if isinstance(condition, dict) and set(condition) <= {"IN", "NOT_IN"}:
        return [value for values in condition.values() for value in values]
    return None if condition else []
