"""How a run is carried out: where its caches are."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.runtime import Runtime


def test_all_caches_have_one_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GECJURY_CACHE", str(tmp_path / "mine"))
    for kind in ("judgments", "edits", "vectors", "data"):
        assert Runtime().cache_folder(kind) == tmp_path / "mine" / kind
    assert Runtime(cache=tmp_path).cache_folder("edits", "x") == tmp_path / "edits" / "x"
    # An empty variable names no folder.
    monkeypatch.setenv("GECJURY_CACHE", "")
    assert Runtime().cache_folder("edits").parent.name == "gecjury"
