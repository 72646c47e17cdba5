"""SOME on tiny models: predictions, weights, refusals, independence of the batch."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from gecjury import load
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.splits import split_sources
from gecjury.models.origin import MANIFEST
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.rated_sets import split_by_source
from gecjury.refless.nets.bundle import open_bundle
from gecjury.refless.training.recipe import Recipe, TrainSettings
from gecjury.refless.training.some import train_some
from tests import tiny
from tests.refless.training.jobs import some_job

ASPECTS = ("grammaticality", "fluency", "meaning")
SOURCES = tiny.sentences(40)
CORPUS = Corpus(
    tuple(SOURCES),
    {
        "a": Version(tuple(tiny.sentences(40, 1))),
        "b": Version((*SOURCES[:20], *tiny.sentences(20, 2))),
        "c": Version(("", *SOURCES[1:])),
    },
)
RUNTIME = Runtime(device="cpu", use_cache=False)


def rated(count: int = 60) -> Annotations:
    rng = np.random.default_rng(1)
    return Annotations(
        ASPECTS,
        tuple(tiny.sentences(count, 7)),
        tuple(tiny.sentences(count, 8)),
        rng.integers(1, 5, (count, 3)).astype(float),
    )


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three models under the names that the authors used."""
    folder = tmp_path_factory.mktemp("three")
    for seed, name in enumerate(("grammer", "fluency", "meaning")):
        tiny.encoder(folder / name, seed, outputs=1)
    return folder


def naive(folder: Path, first: str, second: str | None) -> float:
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    encoded = AutoTokenizer.from_pretrained(folder)(first, second, return_tensors="pt")
    with torch.no_grad():
        return (float(model(**encoded).logits) - 1) / 3


def test_scores_are_the_weighted_predictions_of_plain_models(three: Path) -> None:
    scorer = load("some", model=str(three))
    table = scorer.score_corpus(CORPUS, RUNTIME)
    for system, line in (("a", 3), ("b", 5), ("c", 0)):
        text = CORPUS.systems[system].lines[line]
        expected = (
            0.55 * naive(three / "grammer", text, None)
            + 0.43 * naive(three / "fluency", text, None)
            + 0.02 * naive(three / "meaning", SOURCES[line], text)
        )
        row = CORPUS.names.index(system)
        assert table.sentences[row, line] == pytest.approx(expected, abs=2e-6)
    assert table.totals["a"] == pytest.approx(table.sentences[0].mean())
    # Resampled corpora are means of the drawn sentences.
    draws = np.array([[0, 0, 5], [1, 2, 3]])
    drawn = scorer.corpus_scores(table.statistics, draws).score
    assert drawn[0, 1] == pytest.approx(table.sentences[1, [0, 0, 5]].mean())


def test_a_model_that_is_trained_again_is_loaded_again(three: Path, tmp_path: Path) -> None:
    folder = tmp_path / "some"
    shutil.copytree(three, folder)
    scorer = load("some", model=str(folder))
    first = scorer.score_corpus(CORPUS, RUNTIME)
    tiny.encoder(folder / "grammer", seed=7, outputs=1)
    second = scorer.score_corpus(CORPUS, RUNTIME)
    assert first.signature != second.signature
    text = CORPUS.systems["a"].lines[3]
    expected = (
        0.55 * naive(folder / "grammer", text, None)
        + 0.43 * naive(three / "fluency", text, None)
        + 0.02 * naive(three / "meaning", SOURCES[3], text)
    )
    assert second.sentences[0, 3] == pytest.approx(expected, abs=2e-6)


def test_empty_hypotheses_are_reported(three: Path) -> None:
    texts = Corpus(("a b", "c d"), {"x": Version(("", " ")), "y": Version(("a", "b"))})
    table = load("some", model=str(three)).score_corpus(texts, RUNTIME)
    (note,) = table.statistics.notes
    assert note.startswith("x: 2 hypotheses are empty")
    assert np.isfinite(table.sentences).all()


def test_a_score_does_not_depend_on_batches_or_other_texts(three: Path) -> None:
    scorer = load("some", model=str(three))
    whole = scorer.score_corpus(CORPUS, RUNTIME).sentences
    for size in (1, 3, 1000):
        runtime = Runtime(device="cpu", batch_size=size, use_cache=False)
        small = scorer.score_corpus(CORPUS, runtime).sentences
        assert np.abs(small - whole).max() <= 2e-6
    alone = scorer.score_corpus(CORPUS.with_systems(["b"]), RUNTIME).sentences
    assert np.abs(alone[0] - whole[1]).max() <= 2e-6
    # Equal texts have exactly the same score.
    assert (whole[1, 1:20] == whole[2, 1:20]).all()


def test_predictions_are_cached_between_runs(three: Path, tmp_path: Path) -> None:
    runtime = Runtime(device="cpu", cache=tmp_path / "cache")
    plain = load("some", model=str(three)).score_corpus(CORPUS, RUNTIME)
    first = load("some", model=str(three)).score_corpus(CORPUS, runtime)
    member = open_bundle(str(three)).members[0]
    # A broken network is not called for cached texts, but is for all others.
    broken = replace(member, model=None)
    texts = list(CORPUS.systems["a"].lines)
    kept = broken.predict(texts, None, runtime)
    assert ((kept[:, 0] - 1) / 3).tolist() == first.statistics.values[0, :, 0].tolist()
    assert first.sentences.tolist() == plain.sentences.tolist()
    with pytest.raises(AttributeError):
        broken.predict(["the big apple"], None, runtime)
    with pytest.raises(AttributeError):
        broken.predict(texts, None, RUNTIME)
    rough = open_bundle(str(three), dtype="bfloat16").members[0]
    with pytest.raises(AttributeError):
        replace(rough, model=None).predict(texts, None, runtime)
    # Nothing is cached during training: the weights change and no file identifies them.
    with pytest.raises(AttributeError):
        replace(broken, identity="").predict(texts, None, runtime)


def test_inputs_with_the_same_pieces_are_read_once(three: Path) -> None:
    member = open_bundle(str(three)).members[0]
    calls = []

    def count(module: object, args: object, batch: dict[str, torch.Tensor]) -> None:
        calls.append(len(batch["input_ids"]))

    hook = member.model.register_forward_pre_hook(count, with_kwargs=True)
    # The tokenizer lower-cases.
    texts = ["The cat", "the cat", "a dog", "THE CAT"]
    found = member.predict(texts, None, RUNTIME)
    hook.remove()
    assert calls == [2]
    assert len({*found[[0, 1, 3], 0].tolist()}) == 1
    assert found[2, 0] != found[0, 0]
    pairs = member.predict(["the cat", "the"], ["a dog", "cat a dog"], RUNTIME)
    assert pairs[0, 0] != pairs[1, 0]  # the same pieces, split at another place


def test_without_a_model_the_training_command_is_named(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="gecjury train"):
        load("asano").score_corpus(CORPUS, RUNTIME)
    with pytest.raises(OptionError, match="no such folder"):
        load("some", model=str(tmp_path / "nowhere")).score_corpus(CORPUS, RUNTIME)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="not a trained SOME"):
        load("some", model=str(tmp_path / "empty")).score_corpus(CORPUS, RUNTIME)
    with pytest.raises(OptionError, match="sum to 1"):
        load("some:alpha=0.5")


def test_the_packaged_model_is_the_default() -> None:
    for metric in ("some", "impara"):
        assert load(metric) == load(f"{metric}:model=embedded")


def test_a_failed_download_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub

    def breaks(*_: object, **__: object) -> str:
        raise ConnectionError("the connection was cut")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", breaks)
    with pytest.raises(DataError, match="run the command again to resume"):
        open_bundle("someone/some-model")


def test_a_model_without_weights_is_refused(tmp_path: Path) -> None:
    folder = tiny.encoder(tmp_path / "grammaticality", outputs=1)
    weights = (folder / "model.safetensors").rename(folder / "weights.pt")
    with pytest.raises(InputError, match=r"weights\.pt is a pickled file that is not read"):
        open_bundle(str(tmp_path))
    weights.unlink()
    with pytest.raises(InputError, match="incomplete"):
        open_bundle(str(tmp_path))


def test_wrong_heads_are_refused(tmp_path: Path) -> None:
    tiny.encoder(tmp_path / "two" / "fluency", outputs=2)
    with pytest.raises(InputError, match="but its place in the model calls for"):
        open_bundle(str(tmp_path / "two"))
    tiny.encoder(tmp_path / "none" / "fluency")
    config = tmp_path / "none" / "fluency" / "config.json"
    record = json.loads(config.read_text())
    record |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    config.write_text(json.dumps(record))
    with pytest.raises(InputError, match="without a trained head"):
        open_bundle(str(tmp_path / "none"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Annotations]:
    folder = tmp_path_factory.mktemp("trained")
    encoder = tiny.encoder(folder / "encoder")
    data = rated()
    recipe = Recipe(
        encoder=str(encoder), shared=True, features=True,
        settings=TrainSettings(epochs=1, learning_rate=1e-3),
    )  # fmt: skip
    train_some(some_job(data, recipe, folder / "some"))
    return folder / "some", data


@pytest.mark.slow
def test_a_trained_folder_is_plain_transformers(trained: tuple[Path, Annotations]) -> None:
    from transformers import AutoModelForSequenceClassification

    folder, _ = trained
    model = AutoModelForSequenceClassification.from_pretrained(folder)
    assert tuple(model.config.id2label.values()) == ASPECTS
    assert not list(folder.rglob("*.bin"))
    assert not (folder / "checkpoints").exists()
    card = (folder / "README.md").read_text()
    record = json.loads((folder / MANIFEST).read_text())
    figure = record["figures"]["test"]["fluency"]
    assert f"| test | fluency | {figure['pearson']:.3f} |" in card
    for word in ("fingerprint", "torch", "learning_rate", "split"):
        assert word in card


def test_reported_figures_are_those_of_the_saved_model(trained: tuple[Path, Annotations]) -> None:
    from gecjury.stats.correlation import pearson

    folder, data = trained
    bundle = open_bundle(str(folder))
    test = data.take(split_by_source(data).test)
    predicted = bundle.predict(test.outputs, (test.sources, test.outputs), RUNTIME)
    figures = json.loads((folder / MANIFEST).read_text())["figures"]["test"]
    for column, aspect in enumerate(ASPECTS):
        found = pearson(test.ratings[:, column], predicted[aspect])
        assert figures[aspect]["pearson"] == pytest.approx(found, abs=1e-5)


def test_leakage_is_noted_when_scoring(trained: tuple[Path, Annotations]) -> None:
    folder, data = trained
    scorer = load("some", model=str(folder))
    notes = scorer.score_corpus(CORPUS, RUNTIME).statistics.notes
    assert not any("leakage" in note for note in notes)
    split = split_by_source(data)
    seen, held_out = data.sources[split.train[0]], data.sources[split.test[0]]
    shared = Corpus((seen.upper(), held_out), {"x": Version(("a", "b"))})
    (note,) = scorer.score_corpus(shared, RUNTIME).statistics.notes
    assert "was trained on 1 of the 2 sources" in note


def test_a_finished_training_is_not_repeated(trained: tuple[Path, Annotations]) -> None:
    folder, data = trained
    recipe = Recipe(
        encoder=str(folder.parent / "encoder"), shared=True, features=True,
        settings=TrainSettings(epochs=1, learning_rate=1e-3),
    )  # fmt: skip
    before = (folder / "model.safetensors").stat().st_mtime_ns
    job = some_job(data, recipe, folder)
    train_some(job)
    assert (folder / "model.safetensors").stat().st_mtime_ns == before
    with pytest.raises(OptionError, match="other settings or data"):
        train_some(replace(job, split=split_sources(data.sources, seed=1)))


def test_a_some_is_not_an_impara(trained: tuple[Path, Annotations]) -> None:
    with pytest.raises(InputError, match=r"expected 'gecjury-impara/1'.* use a SOME with"):
        load("impara", model=str(trained[0])).score_corpus(CORPUS, RUNTIME)
