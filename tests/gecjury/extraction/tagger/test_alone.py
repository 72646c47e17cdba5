"""The embedded tagger without spaCy: it parses like the pipeline and does not import spaCy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("spacy")

from gecjury.extraction.tagger.alone import Embedded

from gecjury.extraction.parsing import Parsed, Parser
from gecjury.extraction.tagger import alone, load_tagger
from gecjury.extraction.tagger.fast import FastPipeline, deprojectivize
from tests.gecjury.extraction.tagger.test_fast import SENTENCES

# Names of spaCy symbols, words with a norm in spaCy's table, irregular and unknown forms.
WORDS = (
    "nsubj VERB X PERSON US$ ‘‘ — Mex$ went better worst geese oxen Keeping sheeped us's "
    "Internationalisation a1-b2-c3 !!!!!! XxXxX 日本日本日本 " + "x" * 120
)


@pytest.fixture(scope="module", params=["spacy2", "spacy3"])
def taggers(request: pytest.FixtureRequest) -> tuple[Embedded, Any]:
    return Embedded(request.param), load_tagger(pos_scheme=request.param)


def parses(taggers: tuple[Embedded, Any], sentences: list[str]) -> list[dict[str, Parsed]]:
    ours, pipelines = Parser(taggers[0]), Parser(taggers[1])
    pipelines._fast, pipelines._keys = None, ours._keys
    made = [ours.parse(sentences), pipelines.parse(sentences)]
    assert ours._fast is taggers[0]  # the check against 64-bit sums passed
    return made


def test_parses_equal_those_of_the_pipeline(taggers: tuple[Embedded, Any]) -> None:
    ours, pipelines = parses(taggers, [*SENTENCES, WORDS, *WORDS.split()])
    assert ours == pipelines


def test_parts_equal_those_of_the_pipeline(taggers: tuple[Embedded, Any]) -> None:
    ours, fast = taggers[0], FastPipeline(taggers[1])
    assert ours._tags == fast._tags
    assert (ours._phrases, ours._ruled) == (fast._phrases, fast._ruled)
    assert ours._transitions.labels == fast._transitions.labels
    assert (ours._transitions._moves == fast._transitions._moves).all()
    words = WORDS.split()
    theirs = fast._windows._embedded(words)
    assert np.abs(ours._windows._embedded(words) - theirs).max() < 1e-5
    vocabulary = taggers[1].vocab
    for word in words:
        assert alone._number(alone._shape(word)) == vocabulary[word].shape
        assert alone._number(word) == vocabulary[word].orth


def test_lemmas_equal_those_of_the_pipeline_for_every_part_of_speech(
    taggers: tuple[Embedded, Any],
) -> None:
    """Combine each word with each tag, whatever the parser would assign."""
    ours, fast = taggers[0], FastPipeline(taggers[1])
    for tag in ours._tags:
        for dep in ("", "amod", "aux"):
            tokens = [(word, tag, dep or "dep") for word in WORDS.split()]
            assert ours._finished(tokens) == fast._finished(tokens)


def test_sums_that_differ_by_more_than_rounding_do_not_agree() -> None:
    tagger = Embedded("spacy2")
    words = [sentence.split() for sentence in SENTENCES]
    assert tagger.agrees(words)
    embedded = tagger._windows._embedded
    shift = np.float32(0.01)
    calls = iter((embedded, lambda tokens: embedded(tokens) + shift))
    tagger._windows._embedded = lambda tokens: next(calls)(tokens)  # type: ignore[method-assign]
    assert not tagger.agrees(words)


def test_deprojectivize_moves_lifted_heads() -> None:
    # "it" hangs on "want" but belongs to the preposition below "to": want ← to ← for.
    labels, heads = ["pobj||prep", "ROOT", "xcomp", "prep"], [1, 1, 1, 2]
    deprojectivize(labels, heads)
    assert (labels, heads) == (["pobj", "ROOT", "xcomp", "prep"], [3, 1, 1, 2])
    # No token below has the label: the head stays.
    labels, heads = ["pobj||agent", "ROOT", "xcomp"], [1, 1, 1]
    deprojectivize(labels, heads)
    assert (labels, heads) == (["pobj", "ROOT", "xcomp"], [1, 1, 1])


_EDITS = """
import sys
from gecjury.extraction.extract import extract
from gecjury.core.runtime import Runtime
made = extract(["He go home ."], [["He goes home ."]], runtime=Runtime(use_cache=False))
assert made.edits[0][0][0].type == "R:VERB:SVA", made
assert not {"spacy", "thinc", "srsly", "errant", "pydantic"} & sys.modules.keys()
import errant, spacy, spacy.symbols
assert errant.load("en", spacy.blank("en")) and spacy.symbols.NOUN == 92
"""


@pytest.mark.slow
def test_edits_are_made_without_spacy(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-c", _EDITS], check=True)
