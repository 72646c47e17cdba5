"""What the functions take: texts, corpora, benchmarks and names; what does not go together."""

from __future__ import annotations

from typing import Any

import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.corpus.corpus import Corpus, Version
from gecjury.errors import InputError, OptionError
from gecjury.experiments.inputs import corpus_of, scorers_of
from gecjury.scoring.registry import load


def test_every_way_of_naming_texts() -> None:
    own = Corpus(("a b",), {"x": Version(("a c",))}, (Version(("a d",)),))
    assert corpus_of(own) is own
    lists = corpus_of(["a b"], {"x": ["a c"]}, ["a d"])
    assert (lists.source_print, lists.system_prints) == (own.source_print, own.system_prints)
    assert lists.reference_print == own.reference_print
    benchmark = load_benchmark("sample")
    assert corpus_of(benchmark) is benchmark.corpus
    assert corpus_of("sample").system_prints == benchmark.corpus.system_prints


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ((["a"],), "needs hypotheses"),
        (("sample", {"x": ["a"]}), "not with 'sample', which has its own"),
        (("sample", None, ["a"]), "go with a list of sources"),
        ((Corpus(("a",), {"x": Version(("a",))}), {"y": ["a"]}), "not with a Corpus"),
        ((["a"], ["a"]), "hypotheses are a list"),
        ((["a"], {"x": "a"}), r"hypotheses\['x'\] is one text"),
        ((["a", "b"], {"x": ["a"]}), "system x has 1 lines, but the source has 2"),
    ],
)
def test_texts_that_do_not_belong_together(given: tuple[Any, ...], words: str) -> None:
    with pytest.raises(InputError, match=words):
        corpus_of(*given)


def test_metrics_by_name_or_loaded() -> None:
    green = load("green:beta=1")
    assert scorers_of("green:beta=1") == [green]
    assert scorers_of(green) == [green]
    assert scorers_of(["gleu", green, "gleu"]) == [load("gleu"), green]
    with pytest.raises(OptionError, match="no metric is named"):
        scorers_of([])
    with pytest.raises(OptionError, match="did you mean green"):
        scorers_of("grean")
