"""The batched tagger against the pipeline: the same result for every token, without spaCy."""

from __future__ import annotations

import subprocess
import sys
import time
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
from gecjury.extraction.tagger.fast import Embedded, deprojectivize
from gecjury.extraction.tagger.model_files import layers, moves, number, shape
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


# Names of spaCy symbols, words with a norm in spaCy's table, irregular and unknown forms.
WORDS = (
    "nsubj VERB X PERSON US$ ‘‘ — Mex$ went better worst geese oxen Keeping sheeped us's "
    "Internationalisation a1-b2-c3 !!!!!! XxXxX 日本日本日本 " + "x" * 120
)


@pytest.fixture(scope="module")
def nlp() -> Any:
    return load_tagger()


@pytest.fixture(scope="module")
def parsers(nlp: Any) -> tuple[Parser, Parser]:
    """Return a batched parser and the pipeline's, with keys from the same table."""
    fast, plain = Parser(Embedded()), Parser(nlp)
    plain._keys = fast._keys
    return fast, plain


def test_batched_parses_equal_those_of_the_pipeline(parsers: tuple[Parser, Parser]) -> None:
    sentences = [*SENTENCES, WORDS, *WORDS.split()]
    fast, plain = (parser.parse(sentences) for parser in parsers)
    assert fast == plain


# Known words, odd letters and marks, and words that the ruler or the parser treats specially.
_WORDS = "the a such as is n't 's to of which and , . ; ( ) ? he him dogs ran || a||b ROOT -- -"
_TOKENS = st.one_of(
    st.sampled_from(_WORDS.split()),
    st.sampled_from(["\u200b", "İ", "ﬁ", "𝒳", "\ue000", "\x7f", "a\u0301"]),
    st.text(st.characters(exclude_categories=("Cs", "Z", "Cc")), min_size=1, max_size=12),
)
_LINES = st.lists(st.lists(_TOKENS, min_size=1, max_size=14), min_size=1, max_size=12)


@settings(max_examples=15)
@given(lines=_LINES)
def test_batched_parses_of_odd_sentences_equal_single_ones(
    parsers: tuple[Parser, Parser], lines: list[list[str]]
) -> None:
    sentences = [" ".join(line) for line in lines]
    fast, plain = parsers
    assert fast.parse(sentences) == plain.parse(sentences)


def with_random_decisions(seed: int) -> tuple[Embedded, Any]:
    """Return the tagger and its pipeline with random decisions: every transition occurs."""
    lower, upper, linear = layers("parser")[0]
    rng = np.random.default_rng(seed)
    noise = rng.normal(0, (0.3, 1, 3)[seed % 3], upper["W"].shape)
    weights = (upper["W"] * (seed % 2) + noise).astype(np.float32)
    # Preference for each of shift, reduce, left, right and break.
    preference = np.repeat(rng.normal(0, 5, 5), [1, 1, 31, 38, 1]).astype(np.float32)
    assert len(preference) == len(upper["b"])
    tagger, pipeline = Embedded(), load_tagger()
    tagger._transitions = Transitions([lower, {"W": weights, "b": preference}, linear], moves())
    last = pipeline.get_pipe("parser").model.layers[-1]
    last.set_param("W", weights)
    last.set_param("b", preference)
    tagger.pipeline = pipeline
    return tagger, pipeline


def both(tagger: Embedded, nlp: Any, sentences: list[str]) -> list[dict[str, Parsed]]:
    fast, plain = Parser(tagger), Parser(nlp)
    plain._keys = fast._keys
    return [fast.parse(sentences), plain.parse(sentences)]


@pytest.mark.parametrize("seed", range(3))
def test_transition_rules_equal_those_of_spacy(seed: int) -> None:
    quick, slow = both(*with_random_decisions(seed), SENTENCES)
    assert quick == slow


@pytest.mark.slow
def test_real_sentences_under_random_decisions(data_dir: Path) -> None:
    lines = read_lines(data_dir / "SEEDA" / "outputs" / "all" / "REF-F.txt")
    sentences = [" ".join(line.split()) for line in lines[::4]]
    lifted = 0
    for seed in range(6):  # every noise, with and without the trained weights
        tagger, pipeline = with_random_decisions(seed)
        quick, slow = both(tagger, pipeline, sentences)
        assert quick == slow
        tagger._attach = lambda *args, **rest: None  # type: ignore[method-assign]
        tagged = tagger.parse([sentence.split() for sentence in sentences if sentence])
        lifted += any("||" in dep for dep in tagged.deps)
    assert lifted > 3  # lifted heads occurred


def test_narrow_decisions_are_left_to_the_pipeline(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []
    parse_plainly = Parser._parse_plainly

    def counting(self: Parser, sentences: list[list[str]]) -> Any:
        asked.extend(sentences)
        return parse_plainly(self, sentences)

    monkeypatch.setattr(Parser, "_parse_plainly", counting)
    tagger = Embedded()
    parser = Parser(tagger)
    usual = parser.parse(SENTENCES)
    few = len(asked)
    monkeypatch.setattr(module, "_NARROW", 3.0)
    assert parser.parse(SENTENCES) == usual
    assert few < len(asked) - few < len(SENTENCES)  # some sentences, but not all
    # A NaN score does not decide anything.
    tagger._transitions._upper[:, -1] = np.nan  # of breaks, which would be repeated forever
    assert all(tagger.parse([["She", "sings", "."]]).narrow)


def test_look_ups_equal_those_of_the_pipeline(nlp: Any) -> None:
    """Combine each word with each tag, whatever the parser would assign."""
    from spacy.tokens import Doc

    tagger, words = Embedded(), WORDS.split()
    for word in words:
        assert number(shape(word)) == nlp.vocab[word].shape
        assert number(word) == nlp.vocab[word].orth
    for tag in tagger._tags:
        for dep in ("dep", "amod", "aux"):
            count = len(words)
            doc = Doc(
                nlp.vocab,
                words=words,
                tags=[tag] * count,
                deps=[dep] * count,
                heads=[*range(count)],
            )
            for name in ("attribute_ruler", "lemmatizer"):
                doc = nlp.get_pipe(name)(doc)
            ours = tagger._finished([(word, tag, dep) for word in words])
            assert [(a.tag, a.pos, a.lemma, a.dep or dep) for a in ours] == [
                (token.tag_, token.pos, token.lemma_, token.dep_) for token in doc
            ]


def test_parses_in_several_threads_are_serialised(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger, inside, most = Embedded(), [0], [0]
    parse = tagger.parse

    def parse_slowly(words: Any) -> Any:
        inside[0] += 1
        most[0] = max(most[0], inside[0])
        time.sleep(0.02)  # time for the other thread to start
        try:
            return parse(words)
        finally:
            inside[0] -= 1

    monkeypatch.setattr(tagger, "parse", parse_slowly)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda line: Parser(tagger).parse([line]), SENTENCES[:4]))
    assert most == [1]


def test_parses_use_one_blas_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    threadpoolctl = pytest.importorskip("threadpoolctl")
    tagger, threads = Embedded(), []
    parse = tagger.parse

    def observed(words: Any) -> Any:
        threads.append(_blas_threads(threadpoolctl))
        return parse(words)

    monkeypatch.setattr(tagger, "parse", observed)
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with threadpoolctl.threadpool_limits(limits=2):
        before = _blas_threads(threadpoolctl)
        Parser(tagger).parse(SENTENCES[:1])
        assert _blas_threads(threadpoolctl) == before
    assert threads[0] <= {1}  # empty if threadpoolctl does not know numpy's BLAS


def _blas_threads(threadpoolctl: Any) -> set[int]:
    pools = threadpoolctl.threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


def test_spacy_gets_overlong_texts_one_at_a_time(nlp: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = []
    pipe = type(nlp).pipe

    def pipe_and_record(self: Any, docs: Any, **options: Any) -> Any:
        sizes.append(options.get("batch_size"))
        return pipe(self, docs, **options)

    monkeypatch.setattr(parsing, "_PIECE", 5)
    monkeypatch.setattr(type(nlp), "pipe", pipe_and_record)
    parser = Parser(nlp)
    parser.parse(["She sings .", "She sings and dances ."])
    parser.parse(["She sings .", "They sing ."])
    assert sizes == [1, 128]


def test_caches_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tagger = Embedded()
    usual = Parser(tagger).parse(SENTENCES)
    monkeypatch.setattr(module, "_KEPT", 10)
    monkeypatch.setattr("gecjury.extraction.tagger.windows._KEPT", 10)
    for sentence in SENTENCES:
        assert Parser(tagger).parse([sentence])[sentence].tags == usual[sentence].tags
    longest = max(len(set(sentence.split())) for sentence in SENTENCES)
    assert len(tagger._windows._known) <= 10 + longest
    assert len(tagger._known) <= 10 + longest


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
