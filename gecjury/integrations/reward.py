"""A metric as a reward for training: for TRL's GRPO, or for any loop that has lists of texts.

rewards = gecjury.reward("errant")
rewards(sources, hypotheses, references)                a list of numbers
GRPOTrainer(reward_funcs=rewards, ...)                  columns `source` and `references`

Example:
    >>> from gecjury import reward
    >>> reward("errant")(["He go ."], ["He goes ."], [["He goes ."]])
    [1.0]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence, Set

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.forms import listed_texts
from gecjury.corpus.languages.language import Language, language_of
from gecjury.corpus.texts import corpus_of_texts
from gecjury.corpus.tokens import settled
from gecjury.scoring.registry import Metric, load
from gecjury.scoring.scorer import Scorer


def reward(
    metric: Metric,
    *,
    lang: str | Language = "en",
    tokens: str = "auto",
    fold: str = "auto",
    runtime: Runtime | None = None,
) -> Callable[..., list[float | None]]:
    """Return a function that scores texts, with the arguments that trainers pass.

    The function takes sources, hypotheses and references as lists, or TRL's `completions` and the
    columns `source` and `references` of a data set. A row of references is one text or a list. It
    returns one score for each text: None if there is no text (a message without content), no score
    or, for a metric that needs one, no reference.

    Args:
        metric: name with options, as on the command line, or a scorer.
        lang: language of the texts: a code, or `auto` for that of the sources.
        tokens: how texts are split into tokens; `auto` decides by the texts of each call together.
        fold: how signs are read; `auto` counts the forms of a sign as equal.
        runtime: device, workers, caches and the like.

    Raises:
        OptionError: there is no such metric, or it cannot score single texts.
    """
    scorer, language = load_for_rows(metric), language_of(lang, tokens, fold)

    def score(
        sources: Sequence[str] | None = None,
        hypotheses: Sequence[object] | None = None,
        references: Sequence[str | Sequence[str] | None] | None = None,
        *,
        completions: Sequence[object] | None = None,
        source: Sequence[str] | None = None,
        **_columns: object,
    ) -> list[float | None]:
        texts = completions if hypotheses is None else hypotheses
        originals = source if sources is None else sources
        if texts is None or originals is None:
            raise InputError(
                "no texts or no sources: expected reward(sources, hypotheses), or completions and "
                "a column `source` with the sentence to correct (a prompt has more than that)"
            )
        golds = [()] * len(texts) if references is None else references
        if isinstance(originals, str) or isinstance(texts, str) or isinstance(golds, str):
            raise InputError("one text: expected lists of sources, texts and references")
        if not len(originals) == len(texts) == len(golds):
            raise InputError(
                f"{len(originals)} sources, {len(texts)} texts and {len(golds)} rows of "
                "references: expected the same number of each"
            )
        # Every sentence of a corpus has as many references: rows of one number are scored together.
        groups: dict[int, list[_RewardRow]] = {}
        for row, text in enumerate(map(_content, texts)):
            gold, given = golds[row], list[str | None]()
            if isinstance(gold, str):
                listed = listed_texts(gold)
                given = [gold] if listed is None else listed
            elif isinstance(gold, Iterable) and not isinstance(gold, Mapping | Set):
                given = list(gold)
            elif gold is not None:
                raise InputError(f"{gold!r:.40} is not a reference, nor a list of references")
            wanted = "references" in scorer.needs
            versions = [_line(one) for one in given if wanted and one is not None]
            if text is not None and (versions or not wanted or references is None):
                group = groups.setdefault(len(versions), [])
                group.append((row, _line(originals[row]), text, versions))
        rewards: list[float | None] = [None] * len(texts)
        read = _read_alike(groups, language)
        for group in groups.values():
            rows, lines, contents, references = zip(*group, strict=True)
            corpus = corpus_of_texts(
                lines, {"policy": contents}, list(zip(*references, strict=True)), lang=read
            )
            values = scorer.score_corpus(corpus, runtime).sentences[0]
            for row, value in zip(rows, values, strict=True):
                rewards[row] = None if math.isnan(value) else float(value)
        return rewards

    score.__name__ = f"gecjury_{scorer.name}".replace("-", "_")
    return score


_RewardRow = tuple[int, str, str, list[str]]
"""The number of a row, its source, its text and its references."""


def _read_alike(groups: Mapping[int, Sequence[_RewardRow]], language: Language) -> Language:
    """Return the language with what `auto` means for the texts of all groups together."""
    pairs = [
        (source, one)
        for group in groups.values()
        for _, source, text, references in group
        for one in (text, *references)
    ]
    if not pairs:
        return language
    sources, texts = zip(*pairs, strict=True)
    return settled(Corpus(sources, {"policy": Version(texts)}), language)


def load_for_rows(metric: Metric) -> Scorer:
    """Return the scorer of a metric that can score rows of source, text and references.

    Raises:
        OptionError: there is no such metric or option, or the metric cannot score rows.
    """
    scorer = load(metric)
    why = ""
    if "rivals" in scorer.needs:
        why = "it weighs systems against each other, and rows are of one system"
    elif "gold" in scorer.needs or scorer.fixed:
        why = scorer.needs_all()
    if why:
        raise OptionError(f"{scorer.name}: {why}; use a metric that scores sentences")
    return scorer


def _content(text: object) -> str | None:
    """Return a completion as one line: a text, or the last message of a conversation."""
    if isinstance(text, list) and text and isinstance(text[-1], Mapping):
        text = text[-1].get("content")
        if isinstance(text, list):
            parts = (part.get("text") if isinstance(part, Mapping) else part for part in text)
            text = " ".join(_line(part) for part in parts if part is not None)
    return None if text is None else _line(text)


def _line(text: object) -> str:
    """Return a text with single blanks; a line break in it would start another sentence."""
    if not isinstance(text, str):
        raise InputError(f"{text!r:.40} is not a text")
    return " ".join(text.split())
