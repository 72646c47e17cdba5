"""Fine-tuning and kernel regression in one run: shares, figures of each part alone, scoring."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury import load
from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.models.origin import MANIFEST
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.rated_sets import split_by_source
from gecjury.refless.nets.bundle import Bundle, open_bundle
from gecjury.refless.training.evaluation import best_share
from gecjury.refless.training.job import JobSettings
from gecjury.refless.training.some import train_some
from tests import tiny
from tests.refless.training.jobs import RUNTIME, both_ways

ASPECTS = ("grammaticality", "fluency", "meaning")
SOURCES = tiny.sentences(20)
CORPUS = Corpus(tuple(SOURCES), {"a": Version(tuple(tiny.sentences(20, 1)))})


def rated(count: int = 60) -> Annotations:
    ratings = np.random.default_rng(1).integers(1, 5, (count, 3)).astype(float)
    return Annotations(ASPECTS, tuple(tiny.sentences(count, 7)), tuple(tiny.sentences(count, 8)),
                       ratings)  # fmt: skip


def job(folder: Path, **changes: object) -> JobSettings:
    return both_ways(rated(), folder, **{"shared": True, **changes})


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("both")
    tiny.encoder(folder / "encoder")
    train_some(job(folder))
    return folder / "some"


def with_shares(bundle: Bundle, shares: dict[str, float]) -> Bundle:
    return replace(bundle, manifest=replace(bundle.manifest, shares=shares))


def changed(folder: Path, place: Path, shares: dict[str, object]) -> Path:
    """Copy the models, with other shares."""
    import shutil

    shutil.copytree(folder, place)
    record = json.loads((place / MANIFEST).read_text())
    record["shares"] = shares
    (place / MANIFEST).write_text(json.dumps(record))
    return place


@pytest.mark.slow
def test_the_prediction_is_the_weighted_mean_of_both(trained: Path, tmp_path: Path) -> None:
    bundle = open_bundle(str(trained))
    texts = tiny.sentences(12, 5)
    pairs = (tiny.sentences(12, 6), texts)
    tuned = replace(with_shares(bundle, {}), probe=None).predict(texts, pairs, RUNTIME)
    fitted = replace(with_shares(bundle, {}), members=()).predict(texts, pairs, RUNTIME)
    mixed = with_shares(bundle, {"grammaticality": 0.3, "fluency": 0.0, "meaning": 1.0})
    found = mixed.predict(texts, pairs, RUNTIME)
    expected = 0.7 * tuned["grammaticality"] + 0.3 * fitted["grammaticality"]
    assert found["grammaticality"] == pytest.approx(expected, abs=1e-9)
    assert found["fluency"] == pytest.approx(tuned["fluency"], abs=1e-9)
    assert found["meaning"] == pytest.approx(fitted["meaning"], abs=1e-9)
    assert not np.allclose(tuned["grammaticality"], fitted["grammaticality"])
    # A part without a share is not computed.
    assert set(mixed.parts(texts, pairs, RUNTIME)[0]) == {"grammaticality", "fluency"}
    assert set(mixed.parts(texts, pairs, RUNTIME)[1]) == {"grammaticality", "meaning"}


def test_the_manifest_has_the_figures_of_each_part(trained: Path) -> None:
    record = json.loads((trained / MANIFEST).read_text())
    assert set(record["shares"]) == set(ASPECTS)
    assert all(share in [n / 10 for n in range(11)] for share in record["shares"].values())
    assert set(record["alone"]) == {"fine-tuning", "kernel"}
    for aspect in ASPECTS:
        both = record["figures"]["dev"][aspect]["spearman"]
        alone = [record["alone"][part]["dev"][aspect]["spearman"] for part in record["alone"]]
        assert both >= max(alone) - 1e-12
    # The reported figures are those of the saved model.
    data = rated()
    test = data.take(split_by_source(data).test)
    found = open_bundle(str(trained)).predict(test.outputs, (test.sources, test.outputs), RUNTIME)
    for column, aspect in enumerate(ASPECTS):
        rmse = float(np.sqrt(np.mean((test.ratings[:, column] - found[aspect]) ** 2)))
        assert record["figures"]["test"][aspect]["rmse"] == pytest.approx(rmse, abs=1e-6)
    card = (trained / "README.md").read_text()
    assert "| kernel alone | test | fluency |" in card
    assert "| fine-tuning alone | dev | meaning |" in card


def test_scores_and_signature_follow_the_shares(trained: Path, tmp_path: Path) -> None:
    scorer = load("some", model=str(trained))
    table = scorer.score_corpus(CORPUS, RUNTIME)
    assert np.isfinite(table.sentences).all()
    other = changed(trained, tmp_path / "other", dict.fromkeys(ASPECTS, 1.0))
    signature = load("some", model=str(other)).extra_signature(RUNTIME)
    assert signature["kernel"] == "grammaticality:1+fluency:1+meaning:1"
    assert signature["kernel"] != scorer.extra_signature(RUNTIME)["kernel"]


@pytest.mark.slow
def test_only_the_regression_reads_sources(tmp_path: Path) -> None:
    tiny.encoder(tmp_path / "encoder")
    train_some(job(tmp_path, read_source=True))
    bundle = with_shares(open_bundle(str(tmp_path / "some")), dict.fromkeys(ASPECTS, 0.5))
    pairs = (["the cat", "a dog goes to school", "we"], ["the cat", "the cat", "a dog"])
    tuned, _ = bundle.parts([], pairs, RUNTIME)
    # One rating per pair. Models that read only the hypothesis rate equal hypotheses equally.
    assert tuned["fluency"][0] == tuned["fluency"][1] != tuned["fluency"][2]
    first, second, _ = bundle.predict([], pairs, RUNTIME)["fluency"]
    assert first != second
    assert np.isfinite(load("some", model=str(tmp_path / "some")).score_corpus(
        CORPUS, RUNTIME).sentences).all()  # fmt: skip


def test_best_share_by_hand() -> None:
    ratings = np.array([1.0, 2.0, 3.0, 4.0])
    right, wrong = ratings * 1.0, -ratings
    # Equal parts cancel out; of shares that do equally well, the most even one is chosen.
    assert best_share(ratings, right, wrong) == 0.4
    assert best_share(ratings, wrong, right) == 0.6
    assert best_share(ratings, right, right) == 0.5


@pytest.mark.parametrize(
    ("shares", "message"),
    [
        ([0.5], "shares is"),
        ({"fluency": 1.5}, "expected 0 to 1"),
        ({"fluency": True}, r"shares\.fluency is True; expected a number"),
        ({"colour": 0.5}, "'colour': 0.5}, expected 0 to 1 for aspects of two parts"),
    ],
)
def test_damaged_shares_are_reported(
    trained: Path, tmp_path: Path, shares: dict[str, object], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_bundle(str(changed(trained, tmp_path / "damaged", shares)))
