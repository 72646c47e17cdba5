"""What the functions of this room take: texts as lists, corpora or benchmarks; names or scorers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, cast

from gecjury.corpus.corpus import Corpus, corpus_of_texts
from gecjury.corpus.m2 import M2Sentence
from gecjury.errors import InputError
from gecjury.scoring.registry import Metric, load_all
from gecjury.scoring.scorer import Scorer

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark

Texts: TypeAlias = "Corpus | Benchmark | str | Sequence[str]"
"""What is scored: a corpus, a benchmark, a benchmark's name, or N sources, which come with
hypotheses and perhaps references."""

Metrics = Metric | Sequence[Metric]
"""One metric or several; see `gecjury.scoring.registry.Metric`."""


def corpus_of(
    texts: Texts,
    hypotheses: Mapping[str, Sequence[str]] | Sequence[str] | None = None,
    references: Sequence[Sequence[str]] = (),
    gold: Sequence[M2Sentence] | None = None,
) -> Corpus:
    """The corpus that a function was given.

    Args:
        texts: see `Texts`.
        hypotheses: with a list of sources: system name → N sentences, or the sentences of one.
        references: with a list of sources: R lists of N sentences, or one list.
        gold: with a list of sources: N M2 blocks.

    Raises:
        InputError: lists that do not belong together, or hypotheses, references or gold edits
            beside a corpus or benchmark, which has its own.
        OptionError: an unknown benchmark.
    """
    # A benchmark is told by its corpus: its class would bring the network and XML along.
    if isinstance(texts, str | Corpus) or hasattr(texts, "corpus"):
        if hypotheses is not None or len(references) or gold is not None:
            what = repr(texts) if isinstance(texts, str) else f"a {type(texts).__name__}"
            raise InputError(
                "hypotheses, references and gold edits go with a list of sources, not with "
                f"{what}, which has its own"
            )
        if isinstance(texts, Corpus):
            return texts
        return benchmark_of(cast("Benchmark | str", texts)).corpus
    if hypotheses is None:
        raise InputError(
            'a list of sources needs hypotheses: sentences by system, e.g. {"mine": hypotheses}'
        )
    return corpus_of_texts(texts, hypotheses, references, gold)


def benchmark_of(given: Benchmark | str) -> Benchmark:
    """A benchmark, loaded with its usual systems and references where it is named.

    Raises:
        OptionError: the name is unknown.
        DataError: its files are not to be had.
    """
    # Benchmarks bring the network and XML along, which scoring files does without.
    from gecjury.benchmarks.load import load_benchmark

    return load_benchmark(given) if isinstance(given, str) else given


def scorers_of(metrics: Metrics, *, new_texts: str = "") -> list[Scorer]:
    """Return the metrics that a function was given, each once.

    Args:
        metrics: see `Metrics`.
        new_texts: what is to be done, where it needs scores of texts that the user has not given.

    Raises:
        OptionError: none, an unknown metric or option, or given scores where there are new texts.
    """
    scorers = load_all(metrics)
    if new_texts:
        for scorer in scorers:
            scorer.check_new_texts(new_texts)
    return scorers
