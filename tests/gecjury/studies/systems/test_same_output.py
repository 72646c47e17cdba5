"""Tests between systems with every metric that uses references: equal outputs, tested values."""

from __future__ import annotations

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.m2 import parse_m2
from gecjury.corpus.texts import corpus_of_texts
from gecjury.scoring.registry import METRICS, load, scorer_class
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.system_tests import mixed_scores
from gecjury.stats.permutation import approximate_randomisation, permutation_signs
from gecjury.stats.resampling import Resampling
from gecjury.studies.systems.diff.paired import metric_difference
from gecjury.studies.systems.ranking import rank_scores

# The annotators differ wherever both correct, so the choice of the reference matters.
GOLD = """\
S He go to school every days .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 4 6|||R:OTHER|||each day|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||1
A 5 6|||R:NOUN:NUM|||day|||REQUIRED|||-NONE-|||1

S I has a cats at home .
A 1 2|||R:VERB|||have|||REQUIRED|||-NONE-|||0
A 2 4|||R:OTHER|||cats|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB:TENSE|||had|||REQUIRED|||-NONE-|||1
A 3 4|||R:NOUN:NUM|||cat|||REQUIRED|||-NONE-|||1

S This are fine with us all .
A 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0
A 0 1|||R:DET|||These|||REQUIRED|||-NONE-|||1

S We went home early yesterday .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A 3 3|||M:OTHER|||rather|||REQUIRED|||-NONE-|||1

S She like to read old book .
A 1 2|||R:VERB:SVA|||likes|||REQUIRED|||-NONE-|||0
A 5 6|||R:NOUN:NUM|||books|||REQUIRED|||-NONE-|||0
A 1 4|||R:VERB|||likes reading|||REQUIRED|||-NONE-|||1
A 5 6|||R:NOUN:NUM|||books|||REQUIRED|||-NONE-|||1
"""
MINE = [
    "He goes to school every day .",
    "I have a cat at home .",
    "This is fine with us .",
    "We went home early yesterday .",
    "She likes to read old books .",
]
OTHER = [
    "He went to school each day .",
    "I had cats at home .",
    "These are fine with us all .",
    "We went early home yesterday .",
    "She like reading old book .",
]
MODELS = {"pt-errant": "model", "pt-m2": "model", "uot-errant": "encoder"}
READING_REFERENCES = [
    name
    for name in METRICS
    if scorer_class(name).needs & {"references", "gold"} and name != "valid"
]


@pytest.fixture
def corpus() -> Corpus:
    blocks = parse_m2(GOLD.splitlines())
    return corpus_of_texts(
        [block.source for block in blocks],
        {"mine": MINE, "copy": list(MINE), "other": OTHER},
        [[block.text(annotator) for block in blocks] for annotator in (0, 1)],
        blocks,
    )


def scorer_of(name: str, request: pytest.FixtureRequest) -> Scorer:
    """Return the metric, with a tiny model if it needs one."""
    options = {}
    if name in MODELS:
        for package in ("torch", "transformers", "ot"):
            pytest.importorskip(package)
        options[MODELS[name]] = str(request.getfixturevalue("tiny_bert"))
    if name not in ("gleu", "gleu-official", "green", "i-measure", "m2", "sentm2"):
        pytest.importorskip("errant")
    return load(name, **options)


@pytest.mark.parametrize("name", READING_REFERENCES)
def test_equal_outputs_do_not_differ_and_tested_scores_are_printed_ones(
    name: str, corpus: Corpus, request: pytest.FixtureRequest
) -> None:
    scorer, runtime = scorer_of(name, request), Runtime(use_cache=False)
    how = Resampling(over="sentences", resamples=20, permutations=1000)
    table = scorer.score_corpus(corpus, runtime)
    ranked = rank_scores(scorer, table.settled(), how)
    assert ranked.tests is not None
    assert ranked.tests.p[0, 1] == 1.0
    bounds = {system.name: system.numbers[0].interval for system in ranked.systems}
    one, two = (bounds[system] for system in table.systems[:2])
    assert one == two
    twice = scorer.score_corpus(corpus.with_systems(["mine", "copy"]), runtime)
    paired = metric_difference(scorer, twice, how, 0)
    assert (paired.difference, paired.interval, paired.p) == (0.0, (0.0, 0.0), 1.0)

    table = table.settled()
    # A resample equal to the corpus has the printed score.
    again = scorer.corpus_scores(table.statistics, np.arange(len(corpus))[None]).score[0]
    assert again.tolist() == pytest.approx(list(table.totals), abs=1e-12)
    signs, exact = permutation_signs(len(corpus), 1000)
    assert exact
    pairs, lines = [(0, 1), (0, 2)], np.arange(len(corpus))
    null = approximate_randomisation(
        lambda which: mixed_scores(scorer, table, pairs, which, lines), signs
    )
    assert not null[:, 0].any()
    # The first permutation swaps no sentence, the last swaps all.
    gap = table.totals["mine"] - table.totals["other"]
    assert null[[0, -1], 1] == pytest.approx([gap, -gap], abs=1e-12)
