"""Datasets of the package `datasets`: a shared folder reads no other files and runs no code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.corpus.files.hub import hub_dataset

datasets = pytest.importorskip("datasets")
pytestmark = pytest.mark.security


def test_a_saved_dataset_is_read(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"h": ["a b"]}).save_to_disk(tmp_path / "set")
    assert list(hub_dataset(f"hf:{tmp_path / 'set'}")["h"]) == ["a b"]


@pytest.mark.parametrize("named", ["PRIVATE", "http://127.0.0.1:9/private.jsonl"])
def test_the_card_of_a_folder_may_not_name_files_elsewhere(tmp_path: Path, named: str) -> None:
    private = tmp_path / "private.jsonl"
    private.write_text(json.dumps({"hypothesis": "secret"}) + "\n")
    shared = tmp_path / "shared"
    shared.mkdir()
    place = str(private) if named == "PRIVATE" else named
    configs = f"configs:\n- config_name: default\n  data_files: {place}\n"
    (shared / "README.md").write_text(f"---\n{configs}---\n")
    with pytest.raises(InputError, match="not a folder written by save_to_disk; name the files"):
        hub_dataset(f"hf:{shared}")


def test_a_script_in_a_folder_is_neither_run_nor_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ask(*words: object) -> str:
        raise AssertionError(f"asked on the terminal: {words}")

    monkeypatch.setattr("builtins.input", ask)
    shared = tmp_path / "shared"
    shared.mkdir()
    (shared / "shared.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    with pytest.raises(InputError, match="not a folder written by save_to_disk"):
        hub_dataset(f"hf:{shared}")
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("splits", [False, True])
def test_a_saved_dataset_may_not_name_files_elsewhere(tmp_path: Path, splits: bool) -> None:
    made = datasets.Dataset.from_dict({"h": ["secret"]})
    made.save_to_disk(tmp_path / "private")
    datasets.DatasetDict({"x": made}).save_to_disk(tmp_path / "shared")
    if splits:
        path = tmp_path / "shared" / "dataset_dict.json"
        path.write_text(json.dumps({"splits": ["../private"]}))
    else:
        path = tmp_path / "shared" / "x" / "state.json"
        state = json.loads(path.read_text())
        (name,) = [entry["filename"] for entry in state["_data_files"]]
        state["_data_files"] = [{"filename": f"../../private/{name}"}]
        path.write_text(json.dumps(state))
    with pytest.raises(InputError, match=r"private/.*, which is outside the folder"):
        hub_dataset(f"hf:{tmp_path / 'shared'}")
