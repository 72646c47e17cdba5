"""IMPARA: scores by hand from plain models, the filter, and its training."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury import load
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.leakage import normalise
from gecjury.errors import InputError, OptionError
from gecjury.refless.data.pairs import Correction, token_edits
from gecjury.refless.training.impara import RankerJob, split_corrections, train_impara
from gecjury.refless.training.recipe import TrainSettings
from gecjury.runtime import Runtime
from tests import tiny

RUNTIME = Runtime(device="cpu", use_cache=False)
SOURCES = tuple(tiny.sentences(20))


def corrections(count: int = 80) -> list[Correction]:
    """Sources with two words inserted here and there."""
    found = []
    for number, text in enumerate(tiny.sentences(count, 3)):
        words = text.split()
        right = [*words[:1], "school", *words[1:3], "teacher", *words[3:]]
        found.append(Correction(f"{text} {number}", token_edits(words, right)))
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
    with pytest.raises(InputError, match="no such folder"):
        load("impara", model=str(tmp_path / "none")).score_corpus(corpus, RUNTIME)
    with pytest.raises(OptionError, match="no cosine"):
        load("impara:threshold=1.5")


def test_training_ranks_unseen_pairs(tmp_path: Path) -> None:
    encoder = tiny.encoder(tmp_path / "encoder", dropout=0.0)
    settings = TrainSettings(epochs=6, learning_rate=3e-3, patience=0, batch_size=8)
    data = corrections()
    job = RankerJob(
        corrections=data, encoder=str(encoder), settings=settings, folder=tmp_path / "out",
        runtime=RUNTIME, count=160,
    )  # fmt: skip
    figures = train_impara(job)
    # The words that edits insert are rare otherwise: the better sentence is easily told.
    test = next(f for f in figures if f["part"] == "test")
    assert test["pairs"] >= 8
    assert test["accuracy"] > 0.7
    corpus = Corpus(SOURCES, {"same": Version(SOURCES)})
    table = load("impara", model=str(tmp_path / "out")).score_corpus(corpus, RUNTIME)
    assert ((table.sentences > 0) & (table.sentences < 1)).all()
    again = train_impara(job)
    assert again == figures
    with pytest.raises(OptionError, match="other settings or data"):
        train_impara(replace(job, count=150))


def test_sources_stand_in_one_part() -> None:
    data = [*corrections(), *(Correction(c.source.upper(), c.edits) for c in corrections())]
    parts = split_corrections(data, seed=0)
    keys = {name: {normalise(c.source) for c in part} for name, part in parts.items()}
    assert not keys["train"] & keys["dev"]
    assert not keys["train"] & keys["test"]
    assert len(keys["dev"]) == len(keys["test"]) == 8


def test_text_without_enough_pairs_is_refused(tmp_path: Path) -> None:
    encoder = tiny.encoder(tmp_path / "encoder")
    job = RankerJob(
        corrections=corrections(6), encoder=str(encoder), settings=TrainSettings(),
        folder=tmp_path / "out", runtime=RUNTIME, count=20,
    )  # fmt: skip
    with pytest.raises(InputError, match="give more text"):
        train_impara(job)
