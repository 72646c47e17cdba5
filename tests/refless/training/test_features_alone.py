"""A SOME without an encoder: ridge regression on features, trained, packaged and read."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury import load
from gecjury.core.errors import InputError, OutputError
from gecjury.models.origin import MANIFEST
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.rated_sets import split_by_source
from gecjury.refless.nets.bundle import PACKAGED, bundle_identity, open_bundle
from gecjury.refless.nets.features import (
    FeatureTables,
    Linear,
    feature_names,
    fit_features,
)
from gecjury.refless.training.recipe import Recipe
from gecjury.refless.training.some import train_some
from tests import tiny
from tests.refless.training.jobs import RUNTIME, some_job

SOURCES = ["He go home .", "I like apple .", "she is here"]
OUTPUTS = ["He goes home .", "I like apples .", "She is here ."]


def rated(count: int = 60) -> Annotations:
    sources = tuple(s for s in tiny.sentences(count // 2) for _ in range(2))
    # The second correction of each source repeats a word, for which raters subtract a point.
    outputs = tuple(f"{s} {s.split()[-1]}" if row % 2 else s for row, s in enumerate(sources))
    marks = np.array([[3.0, 3.0, 3.0] if row % 2 else [4.0, 4.0, 3.5] for row in range(count)])
    return Annotations(("grammaticality", "fluency", "meaning"), outputs, sources, marks)


def trained(folder: Path, **changes: Any) -> Path:
    data = rated()
    recipe = Recipe(encoder="features", **changes)
    train_some(some_job(data, recipe, folder / "some"))  # fmt: skip
    return folder / "some"


def test_a_prediction_is_the_bias_plus_the_weighted_features() -> None:
    linear = Linear(mean=(1.0, 0.0), deviation=(2.0, 1.0), weights=(0.5, -1.0), bias=3.0)
    # 3 + .5 · (5 − 1)/2 − 1 · 2 = 2, and 3 + .5 · (1 − 1)/2 − 1 · 0 = 3.
    assert linear(np.array([[5.0, 2.0], [1.0, 0.0]])).tolist() == [2.0, 3.0]


def test_a_linked_folder_in_the_output_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / "checkpoints").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OutputError, match="checkpoints: is a link to another folder"):
        trained(tmp_path)


def test_ridge_regression_solves_the_normal_equations() -> None:
    data = rated()
    split = split_by_source(data)
    fitted, chosen = fit_features(data, split, None, paired=True, within=2.0)
    linear, penalty = fitted["fluency"], chosen["fluency"]["penalty"]
    table = FeatureTables(data.outputs, (data.sources, data.outputs), None, paired=True).of(
        "fluency"
    )
    x = ((table - linear.mean) / linear.deviation)[split.train]
    y = data.ratings[split.train, 1] - data.ratings[split.train, 1].mean()
    groups = data.groups()[split.train]
    inner_x, inner_y = x.copy(), y.copy()
    for group in set(groups.tolist()):
        rows = groups == group
        inner_x[rows] -= x[rows].mean(axis=0)
        inner_y[rows] -= y[rows].mean()
    # The gradient of Σ(y − xw)² + 2 Σ(ỹ − x̃w)² + penalty · |w|² is 0 at the solution.
    weights = np.array(linear.weights)
    gradient = x.T @ (x @ weights - y) + 2 * inner_x.T @ (inner_x @ weights - inner_y)
    assert gradient + penalty * weights == pytest.approx(np.zeros(len(weights)), abs=1e-8)


def test_a_trained_folder_holds_no_weights_and_scores(tmp_path: Path) -> None:
    folder = trained(tmp_path, read_source=True, within=2.0)
    assert not list(folder.glob("*.safetensors"))
    bundle = open_bundle(str(folder))
    assert bundle.pair_aspects == {"grammaticality", "fluency", "meaning"}
    source = tiny.sentences(3)
    worse = [f"{text} {text.split()[-1]}" for text in source]
    predicted = bundle.predict([], (source * 2, [*source, *worse]), RUNTIME)
    for values in predicted.values():
        assert (values[:3] > values[3:]).all()
    assert "grammaticality" in (folder / "README.md").read_text(encoding="utf-8")


def test_without_sources_grammaticality_depends_only_on_the_hypothesis(tmp_path: Path) -> None:
    bundle = open_bundle(str(trained(tmp_path)))
    assert bundle.pair_aspects == {"meaning", "quality"}
    predicted = bundle.predict(OUTPUTS[:2], (SOURCES, OUTPUTS), RUNTIME)
    assert {aspect: len(values) for aspect, values in predicted.items()} == {
        "grammaticality": 2, "fluency": 2, "meaning": 3,
    }  # fmt: skip


def test_the_identity_follows_the_coefficients(tmp_path: Path) -> None:
    folder = trained(tmp_path, read_source=True)
    before = bundle_identity(str(folder))
    assert before == bundle_identity(str(folder))
    record = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    record["features"]["fluency"]["weights"][0] += 0.25
    (folder / MANIFEST).write_text(json.dumps(record), encoding="utf-8")
    assert bundle_identity(str(folder)) != before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"features": {}}, "no member"),
        ({"paired": False}, "35 feature weights for grammaticality"),
    ],
)
def test_damaged_folders_are_refused(
    tmp_path: Path, change: dict[str, object], message: str
) -> None:
    folder = trained(tmp_path, read_source=True)
    record = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    (folder / MANIFEST).write_text(json.dumps(record | change), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        open_bundle(str(folder))


# --- the packaged model --------------------------------------------------------------------------


def test_the_packaged_model_keeps_its_scores() -> None:
    # Scores of the packaged coefficients, trained with `gecjury train some tmu-gfm --recipe
    # features` on 2026-11-23; only a new training may change them.
    table = load("some", model="features").score(SOURCES, OUTPUTS)
    assert table.sentences[0].tolist() == pytest.approx([0.85910, 0.90484, 0.87704], abs=1e-5)


def test_the_packaged_model_has_every_coefficient() -> None:
    bundle = open_bundle("features")
    assert {len(linear.weights) for linear in bundle.manifest.features.values()} == {
        len(feature_names("both"))
    }
    card = (PACKAGED["features"] / "README.md").read_text(encoding="utf-8")
    assert "gecjury train some tmu-gfm --recipe features" in card


def test_it_is_trained_and_scores_without_torch_and_nltk(tmp_path: Path) -> None:
    tiny.ratings(tmp_path / "r.tsv")
    (tmp_path / "h.txt").write_text("the cat\n")
    program = """if True:
        import sys
        sys.modules.update(dict.fromkeys(("torch", "transformers", "nltk")))
        from gecjury.cli import main
        train = "train some r.tsv -o some --encoder features --leakage none --column output=hyp"
        assert main([*train.split(), "--column", "source=src", "--column", "fluency=f"]) == 0
        for model in ("some,alpha=0,beta=1,gamma=0", "features"):
            assert main(["score", "h.txt", "h.txt", "-m", f"some:model={model}"]) == 0
    """
    run = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr


def test_the_scale_of_a_member_of_a_sum_is_that_of_its_dev_scores(tmp_path: Path) -> None:
    folder = trained(tmp_path, read_source=True)
    data = rated()
    dev = data.take(split_by_source(data).dev)
    some = load("some", model=str(folder))
    scores = some.score(dev.sources, dev.outputs).sentences
    assert some.scale == pytest.approx((scores.mean(), scores.std()))
    summed = load("jury", equal=f"some:model={folder}").score(dev.sources, dev.outputs)
    assert summed.sentences.mean() == pytest.approx(0, abs=1e-9)
    assert summed.sentences.std() == pytest.approx(1)
    # An older model has the scale of the packaged one.
    record = json.loads((folder / MANIFEST).read_text())
    del record["dev_scores"]
    (folder / MANIFEST).write_text(json.dumps(record))
    assert load("some", model=str(folder)).scale is None
    assert load("some").scale is None
