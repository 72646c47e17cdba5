"""Words with one possible word class, read off WordNet's index, which overrule the tagger.

A tagger learnt from a small treebank may assign any class to an unseen word ("undergo" as a
preposition). If WordNet lists a frequent word only as a verb or only as an adjective and the
treebank never contradicts it, the class is certain; the attribute ruler then corrects the tag.
(Words that are only nouns were tried too: 20,000 more words for 0.01 points.)
"""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

from clearnlp import Tree

# Words with a log probability (spacy-lookups-data) below this are not worth their bytes.
_FREQUENT = -17.5
_ALLOWED = {
    "JJ": {"JJ", "NNP"},
    "JJR": {"JJR", "RBR"},
    "JJS": {"JJS", "RBS"},
    "VB": {"VB", "VBP"},
    "VBZ": {"VBZ"},
}


def lookup_table(name: str) -> Any:
    """Return one of the English tables of spacy-lookups-data."""
    import spacy_lookups_data

    folder = Path(spacy_lookups_data.__file__).parent / "data"
    with gzip.open(folder / f"en_{name}.json.gz", "rt", encoding="utf-8") as stream:
        return json.load(stream)


def unambiguous_words(trees: list[Tree]) -> dict[str, list[str]]:
    """Return lower-cased words by their only possible Penn tag, apart from proper nouns."""
    index = {part: set(words) for part, words in lookup_table("lemma_index").items()}
    irregular = lookup_table("lemma_exc")
    frequency = lookup_table("lexeme_prob")
    seen: defaultdict[str, set[str]] = defaultdict(set)
    for tree in trees:
        for word, tag in zip(tree.words, tree.tags, strict=True):
            seen[word.lower()].add(tag)

    def known(word: str, parts: set[str]) -> bool:
        return any(word in index[part] or word in irregular[part] for part in parts)

    def certain(tag: str, words: set[str], part: str) -> list[str]:
        others = set(index) - {part}
        return sorted(
            word
            for word in words
            if frequency.get(word, -99.0) >= _FREQUENT
            and not known(word, others)
            and seen.get(word, set()) <= _ALLOWED[tag]
        )

    bases = {
        part: {w for w in index[part] if w.isascii() and w.isalpha() and len(w) > 2}
        for part in ("noun", "verb", "adj")
    }
    plain = ("ing", "ed", "s")  # may be inflected forms of a word of another class
    adjectives = {w for w in bases["adj"] if not w.endswith(plain) and w not in irregular["adj"]}
    verbs = {w for w in bases["verb"] if w not in irregular["verb"]}
    only_adjectives = certain("JJ", adjectives, "adj")
    only_verbs = certain("VB", verbs, "verb")
    return {
        "JJ": only_adjectives,
        "JJR": certain("JJR", {_compared(w, "r") for w in adjectives} - bases["noun"], "adj"),
        "JJS": certain("JJS", {_compared(w, "st") for w in adjectives} - bases["noun"], "adj"),
        "VB": only_verbs,
        "VBZ": certain("VBZ", {_with_s(w) for w in only_verbs}, "verb"),
    }


def _with_s(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "z", "ch", "sh")) else "s")


def _compared(word: str, ending: str) -> str:
    if word.endswith("y"):
        return word[:-1] + "ie" + ending
    return word + (ending if word.endswith("e") else "e" + ending)
