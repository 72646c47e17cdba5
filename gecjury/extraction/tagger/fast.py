"""The embedded tagger's results at a fraction of its cost, for many sentences that resemble.

Corrections repeat most of their source. A convolution of four layers sees four tokens to either
side, so its value at a token is computed once for all places with the same neighbours, layer by
layer. The attribute ruler and the lemmatizer look at one token, its tag and its dependency, so
each such combination is looked up once; a sentence with one of the phrases that the ruler knows
goes through them itself. Both give what the pipeline itself gives, to the bit:
every row of a matrix product is summed in the same order whatever other rows there are, which is
checked on the first sentences, and the pipeline itself is used where it does not hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gecjury.arrays import Float32Array, IntArray

__all__ = ["Attributes", "FastPipeline", "FeatureKey"]

_PIPES = ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer"]
# Attributes a pattern may look at, all known before the ruler runs; all but DEP and TAG follow
# from the token's text.
_PLAIN = {"TAG", "DEP", "LOWER", "ORTH", "TEXT", "NORM", "SHAPE", "PREFIX", "SUFFIX"}
_CHECKED = 16
_BATCH = 128
FeatureKey = tuple[str, str, str]
"""Text, tag and dependency."""
Attributes = tuple[str, str, int, str]
"""Tag, dependency, part of speech and lemma."""


class FastPipeline:
    """Tags, parses and looks up attributes of many tokenised sentences."""

    def __init__(self, nlp: Any) -> None:
        """Take apart a pipeline for which `suits` is true."""
        self._nlp = nlp
        self._embed, convolution = nlp.get_pipe("tok2vec").model.layers
        self._blocks = [block.layers[0].layers[1] for block in convolution.layers[0].layers]
        self._pad: int = convolution.attrs["pad"]
        self._phrases = _phrases(nlp) or []
        index = nlp.get_pipe("lemmatizer").lookups.get_table("lemma_index")
        for part, words in list(index.items()):
            # Only asked for membership, which takes long in a list.
            index[part] = dict.fromkeys(words, 1)
        self._attributes: dict[FeatureKey, Attributes] = {}

    @staticmethod
    def suits(nlp: Any) -> bool:
        """Whether a pipeline is built like the embedded tagger."""
        if list(nlp.pipe_names) != _PIPES:
            return False
        lemmatizer = nlp.get_pipe("lemmatizer")
        if getattr(lemmatizer, "mode", "") != "rule" or lemmatizer.overwrite:
            return False
        layers = nlp.get_pipe("tok2vec").model.layers
        if len(layers) != 2 or not layers[0].name.startswith("extract_features"):
            return False
        names = [block.name for block in layers[1].layers[0].layers]
        block = "residual(expand_window>>maxout>>layernorm>>dropout)"
        if set(names) != {block} or layers[1].attrs.get("pad") != len(names):
            return False
        windows = {
            node.attrs["window_size"] for node in layers[1].walk() if node.name == "expand_window"
        }
        return windows == {1} and _phrases(nlp) is not None

    def agrees(self, sentences: Sequence[list[str]]) -> bool:
        """Whether the vectors of the first sentences are the pipeline's own to the last bit."""
        docs = self._docs(sentences[:_CHECKED])
        own = self._nlp.get_pipe("tok2vec").predict(docs)
        return all(
            np.array_equal(a, b)
            for a, b in zip(own, self.vectors(sentences[:_CHECKED]), strict=True)
        )

    def parse(self, sentences: Sequence[list[str]]) -> list[Any]:
        """Tag and parse tokenised sentences, none empty, up to the attribute ruler."""
        docs = self._docs(sentences)
        for doc, vectors in zip(docs, self.vectors(sentences), strict=True):
            doc.tensor = vectors
        for begin in range(0, len(docs), _BATCH):
            batch = docs[begin : begin + _BATCH]
            for name in ("tagger", "parser"):
                pipe = self._nlp.get_pipe(name)
                pipe.set_annotations(batch, pipe.predict(batch))
        return docs

    def has_phrase(self, lowers: Sequence[str]) -> bool:
        """Whether a pattern of several tokens may match, so that `finish` must run."""
        line = f" {' '.join(lowers)} "
        return any(phrase in line for phrase in self._phrases)

    def finish(self, doc: Any) -> Any:
        """Run the attribute ruler and the lemmatizer over a document of `parse`."""
        for name in ("attribute_ruler", "lemmatizer"):
            doc = self._nlp.get_pipe(name)(doc)
        return doc

    def attributes(self, keys: Sequence[Sequence[FeatureKey]]) -> list[list[Attributes]]:
        """What the ruler and the lemmatizer make of each token of sentences without a phrase."""
        known = self._attributes
        missing = {key for sentence in keys for key in sentence if key not in known}
        if missing:
            self._look_up(sorted(missing))
        return [[known[key] for key in sentence] for sentence in keys]

    def _look_up(self, keys: list[FeatureKey]) -> None:
        from spacy.tokens import Doc

        texts, tags, deps = (list(column) for column in zip(*keys, strict=True))
        if len(keys) > 1 and self.has_phrase([text.lower() for text in texts]):
            for key in keys:
                self._look_up([key])
            return
        heads = list(range(len(keys)))
        doc = self.finish(Doc(self._nlp.vocab, words=texts, tags=tags, deps=deps, heads=heads))
        for key, token in zip(keys, doc, strict=True):
            self._attributes[key] = token.tag_, token.dep_, token.pos, token.lemma_

    def _docs(self, sentences: Sequence[list[str]]) -> list[Any]:
        from spacy.tokens import Doc

        return [Doc(self._nlp.vocab, words=words) for words in sentences]

    def vectors(self, sentences: Sequence[list[str]]) -> list[Float32Array]:
        """The encoder's vectors, tokens × width, one array a sentence.

        The sentences stand in one line with `pad` zero rows before, between and after them, as
        the pipeline lays them out. `ids` says which row of `values` stands at each place.
        """
        from spacy.tokens import Doc

        types: dict[str, int] = {}
        flat = [0] * self._pad
        starts: list[int] = []
        for words in sentences:
            starts.append(len(flat))
            flat += [types.setdefault(word, len(types) + 1) for word in words]
            flat += [0] * self._pad
        (embedded,) = self._embed.predict([Doc(self._nlp.vocab, words=list(types))])
        values = np.vstack([np.zeros((1, embedded.shape[1]), np.float32), embedded])
        ids = np.array(flat, dtype=np.int64)
        for block in self._blocks:
            values, ids = _convolve(block, values, ids)
        return [
            values[ids[start : start + len(words)]]
            for start, words in zip(starts, sentences, strict=True)
        ]


def _convolve(block: Any, values: Float32Array, ids: IntArray) -> tuple[Float32Array, IntArray]:
    """One residual block with a window of one, computed once for each distinct window."""
    count = len(values)
    before = np.concatenate([ids[:1], ids[:-1]])
    after = np.concatenate([ids[1:], ids[-1:]])
    windows, places, new_ids = np.unique(
        (before * count + ids) * count + after, return_index=True, return_inverse=True
    )
    del windows
    centre = values[ids[places]]
    columns = np.hstack([values[before[places]], centre, values[after[places]]])
    return centre + block.predict(columns), new_ids.reshape(-1)


def _phrases(nlp: Any) -> list[str] | None:
    """The ruler's patterns of several tokens as text between blanks.

    None if the ruler looks at anything but single tokens and plain lower-case phrases.
    """
    phrases: list[str] = []
    for rule in nlp.get_pipe("attribute_ruler").patterns:
        for pattern in rule["patterns"]:
            if len(pattern) == 1 and {name.upper() for name in pattern[0]} <= _PLAIN:
                continue
            words = [token.get("LOWER") for token in pattern if set(token) == {"LOWER"}]
            if len(words) != len(pattern) or not all(isinstance(word, str) for word in words):
                return None
            phrases.append(f" {' '.join(words)} ")
    return phrases
