"""Coarse parts of speech, morphology and lemmas that follow from Penn tags, as ERRANT 2 saw them.

spaCy 2 took the coarse part of speech from the Penn tag and a list of word forms alone, and every
personal pronoun and possessive had the lemma ``-PRON-``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

Pattern = dict[str, Any]

# Penn tag -> coarse part of speech and the features that the rule lemmatizer looks at:
# without them "is" and "children" would be taken for base forms or left unreduced.
_TAGS: dict[str, tuple[str, str]] = {
    **dict.fromkeys((".", ",", "-LRB-", "-RRB-", "``", "''", ":", "HYPH", "NFP"), ("PUNCT", "")),
    **dict.fromkeys(("$", "#", "SYM"), ("SYM", "")),
    "AFX": ("ADJ", ""),
    "CC": ("CCONJ", ""),
    "CD": ("NUM", ""),
    **dict.fromkeys(("DT", "PDT"), ("DET", "")),
    "EX": ("PRON", ""),
    **dict.fromkeys(("FW", "GW", "ADD", "LS", "XX"), ("X", "")),
    "IN": ("ADP", ""),
    "JJ": ("ADJ", "Degree=Pos"),
    "JJR": ("ADJ", "Degree=Cmp"),
    "JJS": ("ADJ", "Degree=Sup"),
    "MD": ("VERB", "VerbForm=Fin"),
    "NN": ("NOUN", "Number=Sing"),
    "NNS": ("NOUN", "Number=Plur"),
    "NNP": ("PROPN", "Number=Sing"),
    "NNPS": ("PROPN", "Number=Plur"),
    "POS": ("PART", ""),
    "PRP": ("PRON", ""),
    "RB": ("ADV", "Degree=Pos"),
    "RBR": ("ADV", "Degree=Cmp"),
    "RBS": ("ADV", "Degree=Sup"),
    "RP": ("ADP", ""),
    "TO": ("PART", ""),
    "UH": ("INTJ", ""),
    "VB": ("VERB", "VerbForm=Inf"),
    "VBD": ("VERB", "Tense=Past|VerbForm=Fin"),
    "VBG": ("VERB", "Aspect=Prog|Tense=Pres|VerbForm=Part"),
    "VBN": ("VERB", "Aspect=Perf|Tense=Past|VerbForm=Part"),
    "VBP": ("VERB", "Tense=Pres|VerbForm=Fin"),
    "VBZ": ("VERB", "Number=Sing|Person=3|Tense=Pres|VerbForm=Fin"),
    "WP": ("PRON", ""),
    "WRB": ("ADV", ""),
    "_SP": ("SPACE", ""),
    **dict.fromkeys(("PRP$", "WDT", "WP$"), ("DET", "")),
}

_NOUN_PRONOUNS = (
    "something", "anyone", "anything", "nothing", "someone", "everything", "everyone",
    "everybody", "nobody", "somebody", "anybody",
)  # fmt: skip
_SUBORDINATORS = (
    "that", "if", "as", "because", "whether", "though", "although", "while", "since", "unless",
    "until",
)  # fmt: skip
_DEMONSTRATIVES = ("this", "that", "these", "those")
# Tags that are kept although the word list gives another: names, foreign words, related tags.
_KEPT: dict[str, tuple[str, ...]] = {
    "JJ": ("JJ", "NNP", "NNPS", "FW"),
    "JJR": ("JJR", "RBR", "NNP"),
    "JJS": ("JJS", "RBS", "NNP"),
    "VB": ("VB", "VBP", "NNP", "FW"),
    "VBZ": ("VBZ", "NNP", "NNPS"),
}
# Forms that spaCy 2 made auxiliaries by form and tag alone, wherever they occurred.
_AUXILIARIES: dict[str, tuple[str, ...]] = {
    "VB": ("be", "have", "do", "get", "of", "am", "are", "'ve"),
    "VBN": ("been",),
    "VBG": ("being",),
    "VBZ": ("am", "are", "is", "'re", "'s", "has", "does"),
    "VBP": ("are", "'re", "am", "do", "have", "'m", "'ve", "'s", "is", "'d"),
    "VBD": ("was", "were", "did", "had", "'d"),
}
_AUXILIARY_LEMMAS: dict[str, tuple[str, ...]] = {
    "be": ("be", "am", "are", "is", "was", "were", "been", "being", "'m", "'re", "’m", "’re"),
    "have": ("have", "has", "had", "having"),
    "do": ("do", "does", "did", "done", "doing"),
}
# Pronouns whose lemma spaCy 2 gave as -PRON-.
_PRON_LEMMA = (
    "i", "me", "you", "he", "him", "she", "her", "it", "we", "us", "they", "them", "mine", "his",
    "hers", "its", "ours", "yours", "theirs", "myself", "yourself", "himself", "herself", "itself",
    "themself", "ourselves", "yourselves", "themselves", "my", "your", "our", "their",
)  # fmt: skip
_VERB_TAGS = ["VB", "VBD", "VBG", "VBN", "VBP", "VBZ"]


def attribute_patterns(words: Mapping[str, Sequence[str]] | None = None) -> list[Pattern]:
    """Return patterns for spaCy's attribute ruler; later ones win over earlier ones.

    Args:
        words: Penn tag -> lower-cased words that can have this tag only, which overrule the
            tagger (adjectives and verbs: ``JJ``, ``JJR``, ``JJS``, ``VB``, ``VBZ``).
    """
    patterns = [
        _pattern({"TAG": tag}, POS=pos, **({"MORPH": morph} if morph else {}))
        for tag, (pos, morph) in _TAGS.items()
    ]
    patterns += [
        _pattern({"TAG": {"IN": _VERB_TAGS}, "LOWER": {"IN": list(forms)}}, LEMMA=lemma)
        for lemma, forms in _AUXILIARY_LEMMAS.items()
    ]
    patterns.append(_pattern({"TAG": "VBZ", "LOWER": {"IN": ["'s", "’s"]}}, POS="AUX", LEMMA="be"))
    patterns.append(_pattern({"TAG": "RB", "LOWER": {"IN": ["not", "n't", "n’t"]}}, POS="PART"))
    patterns.append(_pattern({"TAG": "NN", "LOWER": {"IN": list(_NOUN_PRONOUNS)}}, POS="PRON"))
    patterns += _words_of_spacy2()
    return patterns + _repairs(words or {})


def _repairs(words: Mapping[str, Sequence[str]]) -> list[Pattern]:
    """Return patterns for tags that word, shape or parse contradict; they come last."""
    patterns = [
        _retag({"TAG": {"NOT_IN": list(_KEPT[tag])}, "LOWER": {"IN": list(forms)}}, tag)
        for tag, forms in words.items()
    ]
    for adverb, adjective in (("RBS", "JJS"), ("RBR", "JJR")):
        patterns.append(_retag({"TAG": adverb, "DEP": {"IN": ["acomp", "amod"]}}, adjective))
    # The treebank splits hyphenated words, so the tagger has never seen a whole "face-to-face".
    hyphenated = {
        "TAG": {"IN": ["NN", "NNP", "CD", "ADD", "IN", "RB"]},
        "DEP": {"IN": ["amod", "compound", "nummod", "pobj"]},
        "TEXT": {"REGEX": "^[a-z]+(-[a-z]+)+$"},
    }
    patterns.append(_retag(hyphenated, "JJ"))
    such_as = [[{"LOWER": "such"}, {"LOWER": "as"}]]
    patterns.append({"patterns": such_as, "attrs": {"DEP": "amod"}, "index": 0})
    return patterns


def _retag(token: dict[str, Any], tag: str) -> Pattern:
    pos, morph = _TAGS[tag]
    return _pattern(token, TAG=tag, POS=pos, MORPH=morph)


def _words_of_spacy2() -> list[Pattern]:
    patterns = [
        _pattern({"TAG": tag, "LOWER": {"IN": list(forms)}}, POS="AUX")
        for tag, forms in _AUXILIARIES.items()
    ]
    patterns.append(
        _pattern(
            {"TAG": {"IN": ["PRP", "PRP$"]}, "LOWER": {"IN": list(_PRON_LEMMA)}}, LEMMA="-PRON-"
        )
    )
    subordinator = {"TAG": "IN", "LOWER": {"IN": list(_SUBORDINATORS)}}
    patterns.append(_pattern(subordinator, POS="SCONJ"))
    patterns.append(_pattern({"TAG": "DT", "LOWER": {"IN": list(_DEMONSTRATIVES)}}, POS="PRON"))
    return patterns


def _pattern(token: dict[str, Any], **attributes: str) -> Pattern:
    return {"patterns": [[token]], "attrs": attributes}
