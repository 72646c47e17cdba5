"""One rating of a correction as a whole: training, scoring, documentation and errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury import load
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import Language, language_of
from gecjury.corpus.tokens import in_language
from gecjury.models.origin import MANIFEST
from gecjury.refless.data.annotations import Annotations, read_annotations
from gecjury.refless.nets.bundle import open_bundle
from gecjury.refless.training.job import JobSettings
from gecjury.refless.training.some import train_some
from tests import tiny
from tests.refless.training.jobs import RUNTIME, both_ways

JAPANESE = language_of("ja", tokens="char")
SOURCES = tuple(tiny.japanese(6, 5))


def corpus(language: Language = JAPANESE) -> Corpus:
    systems = {"a": Version(tuple(tiny.japanese(6, 6))), "copy": Version(SOURCES)}
    return in_language(Corpus(SOURCES, systems), language)


def rated(folder: Path) -> Annotations:
    return read_annotations(tiny.qualities(folder / "human.csv"), language=language_of("ja"))


def job(folder: Path, **changes: object) -> JobSettings:
    return both_ways(rated(folder), folder, **{"language": "ja", **changes})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("quality")
    tiny.character_encoder(place / "encoder", tiny.KANA)
    train_some(job(place))
    return place


def test_the_scores_are_the_scaled_ratings_of_pairs(folder: Path) -> None:
    table = load("some", model=str(folder / "some")).score_corpus(corpus(), RUNTIME)
    bundle = open_bundle(str(folder / "some"))
    assert bundle.aspects == ("quality",)
    assert bundle.origin.language == "ja"
    for row, version in enumerate(corpus().as_text().systems.values()):
        pairs = (list(SOURCES), list(version.lines))
        predicted = bundle.predict([], pairs, RUNTIME)["quality"]
        assert table.sentences[row] == pytest.approx((predicted - 1) / 3, abs=1e-6)


def test_the_folder_records_language_and_aspect(folder: Path) -> None:
    record = json.loads((folder / "some" / MANIFEST).read_text())
    assert record["language"] == "ja"
    assert [member["aspects"] for member in record["members"]] == [["quality"]]
    card = (folder / "some" / "README.md").read_text()
    assert "language: ja" in card
    assert "# SOME: quality" in card
    assert "-m some:model=some\n" in card


def test_weights_and_asano_are_refused(folder: Path) -> None:
    model = str(folder / "some")
    with pytest.raises(OptionError, match="rates one aspect, quality, so there are no weights"):
        load("some", model=model, alpha=1.0, beta=0.0, gamma=0.0).score_corpus(corpus(), RUNTIME)
    with pytest.raises(OptionError, match="rates quality; expected a model of grammaticality"):
        load("asano", model=model, alpha=1.0, beta=0.0, gamma=0.0).score_corpus(corpus(), RUNTIME)


def test_without_sources_quality_cannot_be_learnt(folder: Path) -> None:
    given = job(folder)
    alone = replace(given.data, sources=("",) * len(given.data))
    for changes in ({"kernel": True, "fine_tune": False}, {"kernel": False, "fine_tune": False}):
        recipe = replace(given.recipe, **changes, features=False)  # type: ignore[arg-type]
        other = replace(given, data=alone, recipe=recipe, folder=folder / "other")
        with pytest.raises(InputError, match="quality needs sources"):
            train_some(other)
