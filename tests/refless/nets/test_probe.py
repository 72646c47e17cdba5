"""A SOME by kernel regression on tiny encoders: saving, batches, sources, errors."""

from __future__ import annotations

from collections import Counter
from contextlib import AbstractContextManager
from pathlib import Path

import numpy as np
import pytest

from gecjury import load
from gecjury.core.errors import InputError
from gecjury.core.runtime import Bar, Progress, Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.models.encoder import forget
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.labelled import LabelledSentence, LabelledText
from gecjury.refless.nets.bundle import open_bundle
from gecjury.refless.nets.probe import KERNEL_FILE, plain_text
from gecjury.refless.training.recipe import Recipe
from gecjury.refless.training.some import train_some
from tests import tiny
from tests.refless.training.jobs import some_job

ASPECTS = ("grammaticality", "fluency", "meaning")
RUNTIME = Runtime(device="cpu", use_cache=False)
SOURCES = tiny.sentences(20)
CORPUS = Corpus(
    tuple(SOURCES),
    {"a": Version(tuple(tiny.sentences(20, 1))), "b": Version(("", *SOURCES[1:]))},
)


def rated(count: int = 60, aspects: tuple[str, ...] = ASPECTS) -> Annotations:
    rng = np.random.default_rng(1)
    ratings = rng.integers(1, 5, (count, len(aspects))).astype(float)
    paired = "meaning" in aspects
    sources = tuple(tiny.sentences(count, 8)) if paired else ("",) * count
    return Annotations(aspects, tuple(tiny.sentences(count, 7)), sources, ratings)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Annotations]:
    """Train detection, then fit the kernel regression."""
    folder = tmp_path_factory.mktemp("kernel")
    encoder = tiny.encoder(folder / "encoder")
    data = rated()
    texts = (text.split() for text in tiny.sentences(30, 3))
    words = (LabelledSentence(tuple(w), tuple(n == 1 for n in range(len(w)))) for w in texts)
    detection = LabelledText(tuple(words))
    train_some(
        some_job(data, Recipe(str(encoder), kernel=True), folder / "out", detection=detection)
    )
    return folder / "out", data


def test_the_folder_is_self_contained(trained: tuple[Path, Annotations], tmp_path: Path) -> None:
    folder, data = trained
    moved = tmp_path / "moved"
    moved.symlink_to(folder, target_is_directory=True)
    pairs = (data.sources, data.outputs)
    first = open_bundle(str(folder)).predict(data.outputs, pairs, RUNTIME)
    second = open_bundle(str(moved)).predict(data.outputs, pairs, RUNTIME)
    assert set(first) == set(ASPECTS)
    for aspect in ASPECTS:
        assert first[aspect].tolist() == second[aspect].tolist()
        assert np.ptp(first[aspect]) > 0
    assert str(folder) not in (folder / "gecjury.json").read_text()
    assert not (folder / "checkpoints").exists()


def test_plain_transformers_loads_the_encoder(trained: tuple[Path, Annotations]) -> None:
    from transformers import AutoModelForTokenClassification

    model = AutoModelForTokenClassification.from_pretrained(trained[0] / "encoder")
    assert model.config.id2label == {0: "c", 1: "i"}


def test_scores_do_not_depend_on_the_batch(trained: tuple[Path, Annotations]) -> None:
    scorer = load("some", model=str(trained[0]))
    tables = [
        scorer.score_corpus(CORPUS, Runtime(device="cpu", use_cache=False, batch_size=size))
        for size in (1, 64)
    ]
    assert tables[0].sentences == pytest.approx(tables[1].sentences, abs=1e-5)
    assert open_bundle(str(trained[0])).pair_aspects == {"meaning", "quality"}


class Counted(Progress):
    """Counts the texts that encoders read."""

    def __init__(self) -> None:
        self.read: Counter[str] = Counter()

    def task(self, description: str, total: float | None = None) -> AbstractContextManager[Bar]:
        self.read[Path(description).name] += int(total or 0)
        return super().task(description, total)


def test_a_sentence_is_read_once_for_all_layers(
    trained: tuple[Path, Annotations], tmp_path: Path
) -> None:
    progress = Counted()
    runtime = Runtime(device="cpu", cache=tmp_path / "cache", progress=progress)
    first = load("some", model=str(trained[0])).score_corpus(CORPUS, runtime)
    outputs = {plain_text(line) for version in CORPUS.systems.values() for line in version.lines}
    # The detector reads only hypotheses, for one layer; the base also reads sources, for two.
    assert progress.read["encoder"] == len(outputs)
    assert progress.read["base"] == len(outputs | set(CORPUS.sources))
    forget()
    again = load("some", model=str(trained[0])).score_corpus(CORPUS, runtime)
    assert progress.read["base"] == len(outputs | set(CORPUS.sources))
    assert again.sentences.tolist() == first.sentences.tolist()


def test_the_source_is_read_only_on_request(tmp_path: Path) -> None:
    data = rated()
    encoder = str(tiny.encoder(tmp_path / "encoder"))
    recipe = Recipe(encoder, kernel=True, read_source=True)
    train_some(some_job(data, recipe, tmp_path / "out"))
    bundle = open_bundle(str(tmp_path / "out"))
    assert bundle.pair_aspects == set(ASPECTS)
    pairs = (["the cat", "a dog goes to school"], ["the cat", "the cat"])
    one, two = bundle.predict([], pairs, RUNTIME)["grammaticality"]
    assert one != two
    lone = rated(60, ("grammaticality",))
    with pytest.raises(InputError, match="`read_source=`"):
        train_some(some_job(lone, recipe, tmp_path / "lone"))


def test_ratings_without_sources(tmp_path: Path) -> None:
    data = rated(60, ("grammaticality",))
    encoder = tiny.encoder(tmp_path / "encoder")
    recipe = Recipe(str(encoder), kernel=True)
    report = train_some(some_job(data, recipe, tmp_path / "out"))
    assert report.figures["dev"]["grammaticality"]["rows"] == 6
    bundle = open_bundle(str(tmp_path / "out"))
    assert bundle.pair_aspects == {"meaning", "quality"}
    alone = bundle.predict(["the cat", "a dog"], ([], []), RUNTIME)["grammaticality"]
    assert alone.shape == (2,)
    scorer = load("asano", model=str(tmp_path / "out"), alpha=1.0, beta=0.0, gamma=0.0)
    assert np.isfinite(scorer.score_corpus(CORPUS, RUNTIME).sentences).all()


@pytest.mark.security
def test_a_damaged_kernel_is_refused(trained: tuple[Path, Annotations], tmp_path: Path) -> None:
    import shutil

    copied = shutil.copytree(trained[0], tmp_path / "copy")
    (copied / KERNEL_FILE).write_bytes(b"12345678")
    with pytest.raises(InputError, match="missing or damaged"):
        open_bundle(str(copied))
    (copied / KERNEL_FILE).unlink()
    with pytest.raises(InputError, match="missing or damaged"):
        open_bundle(str(copied))


def test_both_tokenisations_are_read_the_same() -> None:
    assert plain_text("I do n't know `` it ''") == plain_text('I don\'t  know " it "')
    assert plain_text("n't") == "n't"
