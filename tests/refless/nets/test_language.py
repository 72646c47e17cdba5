"""Scribendi and Asano's baseline on a tiny language model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury import load
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.tokens import in_language
from gecjury.refless.nets.language import english_model_notes, mean_log_probabilities, surprises
from gecjury.refless.similarity import Meteor
from tests import tiny

RUNTIME = Runtime(device="cpu", use_cache=False)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.language_model(tmp_path_factory.mktemp("lm") / "model"))


def test_log_probabilities_are_those_of_the_plain_model(model: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model).eval()
    texts = ["the cat goes to school .", "a dog", "it"]
    found = mean_log_probabilities(model, [*texts, ""], RUNTIME)
    for text, value in zip(texts, found, strict=False):
        ids = words(words.bos_token + text, return_tensors="pt")["input_ids"]
        with torch.inference_mode():
            # The loss of transformers: the mean over all pieces after the first.
            expected = -float(network(ids, labels=ids).loss)
        assert value == pytest.approx(expected, abs=2e-6)
    assert np.isnan(found[3])


def test_fluency_by_hand(model: str) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    words = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model).eval()

    def expected(text: str, firsts: list[int]) -> float:
        ids = words(words.bos_token + text)["input_ids"]
        with torch.inference_mode():
            likely = network(torch.tensor([ids])).logits[0].log_softmax(1)
        whole = sum(float(likely[n, x]) for n, x in enumerate(ids[1:]))
        alone = sum(float(likely[0, ids[place]]) for place in firsts)
        return -(whole - 0.4 * alone) / len(firsts) ** 0.5

    # The second `the` begins no new word, and `hut` is h ##u ##t. Places count the start as 0.
    texts = {"the cat likes the hut": [1, 2, 3, 5], "a": [1], "dogs": [1, 2]}
    found = surprises(model, [*texts, ""], RUNTIME)
    values = [expected(text, firsts) for text, firsts in texts.items()]
    assert found[:3] == pytest.approx(values, abs=1e-4)
    assert np.isposinf(found[3])
    corpus = Corpus(("a",) * 4, {"x": Version((*texts, ""))})
    table = load("fluency", model=model).score_corpus(corpus, RUNTIME)
    scores = [*np.exp(-np.maximum(values, 0) / 10), 0]
    assert table.sentences[0] == pytest.approx(scores, abs=1e-5)
    # Alone, in another batch and beside other sentences, a score is the same.
    for text, score in zip(texts, found, strict=False):
        assert surprises(model, [text], RUNTIME)[0] == pytest.approx(score, abs=1e-4)


def test_scribendi_by_its_rules(model: str) -> None:
    words = tiny.WORDS
    source = "the cat goes to school not very yesterday ."
    near = [source.replace("cat", word) for word in words[:20] if word != "cat"]
    far = ["he", "apple apple apple apple apple apple"]
    likely = mean_log_probabilities(model, [source, *near, *far], RUNTIME)
    better = [text for text, x in zip(near, likely[1:], strict=False) if x > likely[0]]
    worse = [text for text, x in zip(near, likely[1:], strict=False) if x < likely[0]]
    assert better
    assert worse
    lines = [source, better[0], worse[0], far[0], ""]
    corpus = Corpus((source,) * 5, {"x": Version(tuple(lines))})
    table = load("scribendi", model=model).score_corpus(corpus, RUNTIME)
    assert table.sentences.tolist() == [[0, 1, -1, -1, -1]]
    assert table.totals["x"] == -2
    # Texts without words are equal whatever their punctuation; the ratio of characters is 1/2.
    marks = [". . . . .", "..."]
    marks.sort(key=lambda text: mean_log_probabilities(model, [text], RUNTIME)[0])
    alike = Corpus((marks[0],), {"x": Version((marks[1],))})
    assert load("scribendi", model=model).score_corpus(alike, RUNTIME).sentences.tolist() == [[1]]
    # Without a similarity threshold, only perplexity decides.
    loose = load("scribendi", model=model, threshold=0.0).score_corpus(corpus, RUNTIME)
    assert loose.sentences[0, 3] == (1 if likely[len(near) + 1] > likely[0] else -1)
    # At the highest similarity threshold only reordered words pass.
    strict = load("scribendi", model=model, threshold=1.0).score_corpus(corpus, RUNTIME)
    assert strict.sentences[0, 1] == -1


def test_asano_by_hand(model: str, tmp_path: Path) -> None:
    sources, lines = tuple(tiny.sentences(6)), tuple(tiny.sentences(6, 4))
    corpus = Corpus(sources, {"x": Version(lines)})
    likely = mean_log_probabilities(model, lines, RUNTIME)
    fluency = 1 / (1 - likely)
    meaning = np.array([Meteor().score(s, h) for s, h in zip(sources, lines, strict=True)])
    scorer = load("asano", language_model=model, alpha=0, beta=0.75, gamma=0.25)
    table = scorer.score_corpus(corpus, RUNTIME)
    assert table.sentences[0] == pytest.approx(0.75 * fluency + 0.25 * meaning, abs=1e-6)
    tiny.encoder(tmp_path / "grammaticality", outputs=1)
    whole = load("asano", language_model=model, model=str(tmp_path)).score_corpus(corpus, RUNTIME)
    graded = load("asano", language_model=model, model=str(tmp_path), alpha=1, beta=0, gamma=0)
    grades = graded.score_corpus(corpus, RUNTIME).sentences[0]
    expected = 0.02 * grades + 0.82 * fluency + 0.16 * meaning
    assert whole.sentences[0] == pytest.approx(expected, abs=1e-6)


def test_refusals(model: str) -> None:
    with pytest.raises(OptionError, match="expected 0 to 1"):
        load("scribendi:threshold=2")
    with pytest.raises(OptionError, match="sum to 1"):
        load("asano:alpha=1")
    with pytest.raises(OptionError, match="no such folder"):
        mean_log_probabilities("./nowhere", ["a"], RUNTIME)


def test_an_encoder_without_a_language_model_is_refused(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "encoder")
    with pytest.raises(InputError, match=r"weights of a bert model are missing \(cls\."):
        mean_log_probabilities(str(folder), ["a"], RUNTIME)


def test_probabilities_are_cached_by_model_and_precision(model: str, tmp_path: Path) -> None:
    runtime = Runtime(device="cpu", cache=tmp_path)
    texts = ["the cat goes to school .", "a dog", ""]
    first = mean_log_probabilities(model, texts, runtime)
    again = mean_log_probabilities(model, texts, runtime)
    assert first[:2].tolist() == again[:2].tolist()
    assert first[:2].tolist() == mean_log_probabilities(model, texts, RUNTIME)[:2].tolist()
    assert np.isnan(again[2])
    rough = mean_log_probabilities(model, texts, runtime, "bfloat16")
    assert 0 < np.abs(rough - first)[:2].max() < 0.02
    with pytest.raises(OptionError, match="float16 is for GPUs"):
        mean_log_probabilities(model, texts, runtime, "float16")
    for metric in ("scribendi", "fluency", "asano"):
        assert load(metric, dtype="bfloat16").settings()["dtype"] == "bfloat16"


def test_an_english_model_on_other_languages_is_noted() -> None:
    texts = Corpus(("jag ser",), {"a": Version(("jag ser dig",))})
    swedish = in_language(texts, language_of("sv"))
    (note,) = english_model_notes("openai-community/gpt2", swedish)
    assert "was trained on English, and the texts are Swedish" in note
    assert english_model_notes("openai-community/gpt2", texts) == ()
    assert english_model_notes("my-swedish-model", swedish) == ()


def test_meaning_in_other_languages_uses_letters_and_no_english_stems() -> None:
    def meaning(source: str, output: str, code: str) -> float:
        corpus = Corpus((source,), {"a": Version((output,))})
        scorer = load("asano", alpha=0.0, beta=0.0, gamma=1.0)
        table = scorer.score_corpus(in_language(corpus, language_of(code, tokens="space")), RUNTIME)
        return float(table.sentences[0, 0])

    assert meaning("cats eat", "cat eat", "en") == 1.0
    assert meaning("cats eat", "cat eat", "sv") < 1.0
    # Read as English, each line below is one word.
    assert meaning("私は本を読む", "私は本を読んだ", "en") == 0.0
    assert meaning("私は本を読む", "私は本を読んだ", "ja") > 0.5


def test_unchanged_outputs_alone_score_0(model: str) -> None:
    texts = ["He go .", ""]
    assert load("scribendi", model=model).score(texts, texts).sentences.tolist() == [[0, 0]]
