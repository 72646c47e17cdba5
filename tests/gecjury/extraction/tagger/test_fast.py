"""The batched tagger against the pipeline: the same result for every token."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("spacy")

from gecjury.core.textfiles import read_lines
from gecjury.extraction import parsing
from gecjury.extraction.parsing import Parsed, Parser
from gecjury.extraction.tagger import fast as module
from gecjury.extraction.tagger import load_tagger
from gecjury.extraction.tagger.fast import FastPipeline
from gecjury.extraction.tagger.transitions import Transitions

SENTENCES = [
    "This are a sentence .",
    "The results of the test , which nobody had seen before , are not clear .",
    "the the cat sat on on mat",
    "the cat sat . we left . They stayed ! Why ? Because",
    "He has many hobbies such as reading , SUCH AS such as chess , and such",
    "It is important to talk face-to-face with them more clearly than the others do",
    "Ich möchte 日本 naïve café",
    "ß İ ı Ǆ \u200b \u00ad … --- $ 3,000.50 www.example.org a@b.c",
    "What are you looking for and whom did she give it to ?",
    "It is the book that I think he said you should read to them",
    ". . . . .",
    "a",
    "a " * 70 + "b",
]


@pytest.fixture(scope="module")
def nlp() -> Any:
    return load_tagger()


def both(nlp: Any, sentences: list[str]) -> tuple[dict[str, Parsed], dict[str, Parsed]]:
    """Return batched parses and those of the pipeline, with keys from the same table."""
    fast, plain = Parser(nlp), Parser(nlp)
    plain._fast, plain._keys = None, fast._keys
    quick = fast.parse(sentences)
    assert fast._fast is not None  # its check on the first sentences passed
    return quick, plain.parse(sentences)


@pytest.mark.parametrize("scheme", ["spacy2", "spacy3"])
def test_batched_parses_equal_single_ones(scheme: str) -> None:
    quick, slow = both(load_tagger("embedded", scheme), SENTENCES)
    for sentence in SENTENCES:
        assert quick[sentence] == slow[sentence]


# Known words, odd letters and marks, and words that the ruler or the parser treats specially.
_WORDS = "the a such as is n't 's to of which and , . ; ( ) ? he him dogs ran || a||b ROOT -- -"
_TOKENS = st.one_of(
    st.sampled_from(_WORDS.split()),
    st.sampled_from(["\u200b", "İ", "ﬁ", "𝒳", "\ue000", "\x7f", "a\u0301"]),
    st.text(st.characters(exclude_categories=("Cs", "Z", "Cc")), min_size=1, max_size=12),
)
_LINES = st.lists(st.lists(_TOKENS, min_size=1, max_size=14), min_size=1, max_size=12)


@pytest.fixture(scope="module")
def parsers(nlp: Any) -> tuple[Parser, Parser]:
    fast, plain = Parser(nlp), Parser(nlp)
    plain._fast, plain._keys = None, fast._keys
    return fast, plain


@settings(max_examples=30)
@given(lines=_LINES)
def test_batched_parses_of_odd_sentences_equal_single_ones(
    parsers: tuple[Parser, Parser], lines: list[list[str]]
) -> None:
    sentences = [" ".join(line) for line in lines]
    fast, plain = parsers
    assert fast.parse(sentences) == plain.parse(sentences)
    assert fast._fast is not None


@pytest.fixture(scope="module")
def odd_parser() -> Callable[[int], Any]:
    """Load the tagger with random decisions, so that every transition and rule occurs."""
    pipeline = load_tagger()
    upper = pipeline.get_pipe("parser").model.layers[-1]
    weights, bias = upper.get_param("W").copy(), upper.get_param("b").copy()

    def made(seed: int) -> Any:
        rng = np.random.default_rng(seed)
        noise = rng.normal(0, (0.3, 1, 3)[seed % 3], weights.shape)
        upper.set_param("W", (weights * (seed % 2) + noise).astype(np.float32))
        # Preference for each of shift, reduce, left, right and break.
        preference = np.repeat(rng.normal(0, 5, 5), [1, 1, 31, 38, 1])
        assert len(preference) == len(bias)
        upper.set_param("b", preference.astype(np.float32))
        return pipeline

    return made


@pytest.mark.parametrize("seed", range(6))
def test_transition_rules_equal_those_of_spacy(odd_parser: Any, seed: int) -> None:
    quick, slow = both(odd_parser(seed), SENTENCES)
    assert quick == slow


@pytest.mark.slow
def test_real_sentences_under_random_decisions(odd_parser: Any, data_dir: Path) -> None:
    lines = read_lines(data_dir / "SEEDA" / "outputs" / "all" / "REF-F.txt")
    sentences = [" ".join(line.split()) for line in lines[::4]]
    lifted = 0
    for seed in range(12):
        pipeline = odd_parser(seed)
        quick, slow = both(pipeline, sentences)
        assert quick == slow
        fast = FastPipeline(pipeline)
        fast._attach = lambda *args, **rest: None  # type: ignore[method-assign]
        tagged = fast.parse([sentence.split() for sentence in sentences if sentence])
        lifted += any("||" in dep for dep in tagged.deps)
    assert lifted > 6  # lifted heads occurred


def test_narrow_decisions_are_left_to_the_pipeline(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    parse_plainly = Parser._parse_plainly

    def counting(self: Parser, sentences: list[list[str]]) -> Any:
        asked.extend(sentences)
        return parse_plainly(self, sentences)

    monkeypatch.setattr(Parser, "_parse_plainly", counting)
    parser = Parser(nlp)
    usual = parser.parse(SENTENCES)
    few = len(asked)
    monkeypatch.setattr(module, "_NARROW", 3.0)
    assert parser.parse(SENTENCES) == usual
    assert few < len(asked) - few < len(SENTENCES)  # some sentences, but not all
    # A NaN score does not decide anything.
    fast = parser._fast
    assert fast is not None
    fast._transitions._upper[:, -1] = np.nan  # of breaks, which would be repeated forever
    assert all(fast.parse([["She", "sings", "."]]).narrow)


def test_a_fast_tagger_that_disagrees_is_not_used(nlp: Any) -> None:
    words = [sentence.split() for sentence in SENTENCES]
    fast = FastPipeline(nlp)
    assert fast.agrees(words)
    fast._windows._layers[0]._bias[0] += 0.1  # vectors differ by more than rounding
    assert not fast.agrees(words)
    fast = FastPipeline(nlp)
    fast._transitions._upper[:, 0] += 1  # the same vectors, other trees
    assert not fast.agrees(words)
    parser = Parser(nlp)
    assert parser._fast is not None
    parser._fast._windows._layers[0]._bias[0] += 0.1
    assert parser.parse(SENTENCES[:1])[SENTENCES[0]].tags
    assert parser._fast is None


def test_a_tagger_is_checked_once_for_all_parsers(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tagger = parsing.in_step(nlp)
    assert parsing.in_step(tagger) is tagger
    checks: list[int] = []
    agrees = tagger.agrees
    monkeypatch.setattr(tagger, "agrees", lambda words: checks.append(len(words)) or agrees(words))
    for count in (2, 3):
        Parser(tagger).parse(SENTENCES[:count])
    assert checks == [2]


def test_parses_in_several_threads_are_serialised_and_use_one_blas_thread(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    tagger, inside, most = parsing.in_step(nlp), [0], [0]
    blas: set[int] = set()
    parse = tagger.parse

    def parse_slowly(words: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        blas.update(_blas_threads(threadpoolctl))
        time.sleep(0.02)  # time for the other thread to start
        try:
            return parse(words)
        finally:
            inside[0] -= 1

    monkeypatch.setattr(tagger, "parse", parse_slowly)
    before = _blas_threads(threadpoolctl)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda line: Parser(tagger).parse([line]), SENTENCES[:4]))
    assert _blas_threads(threadpoolctl) == before
    assert most == [1]
    assert blas <= {1}  # empty if threadpoolctl does not know numpy's BLAS


def _blas_threads(threadpoolctl: Any) -> set[int]:
    pools = threadpoolctl.threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


def test_only_the_start_of_an_overlong_text_is_checked(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast, lengths = FastPipeline(nlp), []
    parse = fast.parse

    def parse_and_count(sentences: Any) -> Any:
        lengths.extend(map(len, sentences))
        return parse(sentences)

    monkeypatch.setattr(fast, "parse", parse_and_count)
    assert fast.agrees([["She", "sings", "."], ["She", "sings", "."] * 500])
    assert lengths == [3, 1000]


def test_spacy_gets_overlong_texts_one_at_a_time(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    pipe = type(nlp).pipe

    def pipe_and_record(self: Any, docs: Any, **options: Any) -> Any:
        sizes.append(options.get("batch_size"))
        return pipe(self, docs, **options)

    monkeypatch.setattr(parsing, "_PIECE", 5)
    monkeypatch.setattr(type(nlp), "pipe", pipe_and_record)
    parser = Parser(nlp)
    parser._fast = None
    parser.parse(["She sings .", "She sings and dances ."])
    parser.parse(["She sings .", "They sing ."])
    assert sizes == [1, 128]


def test_pipelines_with_another_structure_do_not_suit() -> None:
    pipeline = load_tagger()
    assert FastPipeline.suits(pipeline)
    config = pipeline.get_pipe("parser").cfg
    config["beam_width"] = 2
    assert not Transitions.suits(pipeline.get_pipe("parser"))
    assert not FastPipeline.suits(pipeline)
    config["beam_width"] = 1
    for patterns, attrs in (
        ([[{"POS": "NOUN"}]], {"POS": "VERB"}),  # matches an attribute that the ruler itself sets
        ([[{"TAG": "NN"}]], {"DEP": "dep"}),
        ([[{"DEP": {"REGEX": "^n"}}]], {"POS": "VERB"}),
        ([[{"LOWER": "a"}, {"TAG": "NN"}]], {"POS": "VERB"}),
    ):
        ruler = pipeline.get_pipe("attribute_ruler")
        ruler.clear()
        assert FastPipeline.suits(pipeline)
        ruler.add(patterns, attrs)
        assert not FastPipeline.suits(pipeline)


def test_caches_are_bounded(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KEPT", 10)
    monkeypatch.setattr("gecjury.extraction.tagger.windows._KEPT", 10)
    parser = Parser(nlp)
    usual = Parser(nlp).parse(SENTENCES)
    assert [usual[s].tags for s in SENTENCES] == [
        parser.parse([sentence])[sentence].tags for sentence in SENTENCES
    ]
    fast = parser._fast
    assert fast is not None
    longest = max(len(set(sentence.split())) for sentence in SENTENCES)
    assert len(fast._windows._known) <= 10 + longest
    assert len(fast._known) <= 10 + longest
