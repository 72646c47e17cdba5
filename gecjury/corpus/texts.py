"""Texts held in memory as a corpus, read as commands read files.

Example:
    >>> from gecjury import corpus_of_texts
    >>> corpus = corpus_of_texts(["He go."], {"mine": ["He goes ."]}, [["He goes ."]])
    >>> corpus.sources, corpus.systems["mine"].lines
    (('He go .',), ('He goes .',))
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import filterfalse
from typing import Any

from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import Language, language_of
from gecjury.corpus.m2 import M2Sentence
from gecjury.corpus.references import (
    NO_REFERENCE,
    filled_references,
    gold_versions,
    meant_references,
)
from gecjury.corpus.tokens import edited_sources, in_language

_HALF = re.compile("[\ud800-\udfff]")  # of a surrogate pair


def corpus_of_texts(
    sources: Sequence[str],
    hypotheses: Mapping[str, Sequence[str]] | Sequence[str],
    references: Sequence[Sequence[str | None]] = (),
    gold: Sequence[M2Sentence] | None = None,
    *,
    lang: str | Language = "en",
    tokens: str = "auto",
    fold: str = "auto",
) -> Corpus:
    """Return texts held in memory as a corpus.

    Args:
        sources: N sentences, raw or tokenised.
        hypotheses: system name → N sentences; or the N sentences of one system, which is then
            called `hypothesis`.
        references: R lists of N sentences, with None or `-NONE-` where an annotator gave none
            (see `meant_reference`); one list of strings counts as one reference.
        gold: N M2 blocks, for metrics that match gold edits; they also give the references if
            there are none.
        lang: language of the texts; see `gecjury.corpus.languages.language.language_of`.
        tokens: how they are split into tokens; `auto` decides by the texts, as commands do.
        fold: how signs are read; `auto` counts the forms of a sign as equal, as commands do.

    Raises:
        InputError: lengths differ, or something is not a text.
        OptionError: an unknown language, tokeniser or folding.
    """
    texts = _texts("sources", sources)
    if not isinstance(hypotheses, Mapping):
        hypotheses = {"hypothesis": hypotheses}
    if len(references) and isinstance(references[0], str):
        references = [references]  # type: ignore[list-item]  # a single list of sentences
    names = [f"references[{number}]" for number in range(len(references))]
    versions = [
        meant_references(Version(_texts(name, lines, none=NO_REFERENCE)), texts)
        for name, lines in zip(names, references, strict=True)
    ]
    systems = {n: Version(_texts(f"hypotheses[{n!r}]", lines)) for n, lines in hypotheses.items()}
    others = tuple(filled_references(names, versions)) or gold_versions(gold or ())
    language = language_of(lang, tokens, fold)
    sources_read, text = edited_sources(texts, others, gold, language)
    blocks = None if gold is None else tuple(gold)
    corpus = Corpus(sources_read, systems, others, blocks, source_text=text)
    return in_language(corpus, language)


def _texts(what: str, lines: Sequence[str | None], none: str | None = None) -> tuple[str, ...]:
    """Return sentences given from Python, each of which must be a text.

    Args:
        what: what they are, for messages.
        lines: the sentences.
        none: text for None; by default None is refused.
    """
    if isinstance(lines, str):
        raise InputError(
            f"{what} is one text; expected a list of sentences (gecjury.read_corpus reads files)"
        )
    texts: tuple[Any, ...] = tuple(lines)
    if none is not None and None in texts:
        texts = tuple(none if text is None else text for text in texts)
    if not all(issubclass(kind, str) for kind in set(map(type, texts))):
        number = next(n for n, line in enumerate(texts) if not isinstance(line, str))
        raise InputError(f"{what}[{number}] is {texts[number]!r}; expected a text ('' for none)")
    for text in filterfalse(str.isascii, texts):
        if half := _HALF.search(text):
            raise InputError(
                f"{what}[{texts.index(text)}] has {half[0]!r}, half a surrogate pair, which is not "
                "a character; decode the text with its actual encoding"
            )
    return texts
