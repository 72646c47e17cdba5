"""Model cards: local paths, metadata for the hub, and figures."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gecjury.core.runtime import Runtime
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.model_card import figures_table, model_card, shown_name
from gecjury.refless.training.recipe import BaseRecipe


def test_local_paths_are_shortened_to_their_last_part(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("a\n")
    (tmp_path / "ref").write_text("a\n")
    assert shown_name(f"{tmp_path}/source,{tmp_path}/ref") == "source,ref"
    assert shown_name("bert-base-cased") == "bert-base-cased"
    assert shown_name("google/electra-base-discriminator") == "google/electra-base-discriminator"


def test_a_card_names_its_base_only_if_it_is_on_the_hub(tmp_path: Path) -> None:
    def card(base: str) -> str:
        return bare(tmp_path, encoder=base)

    local = card(str(tmp_path))
    assert str(tmp_path) not in local
    assert f'"encoder": "{tmp_path.name}"' in local
    assert "base_model" not in local
    assert "base_model: bert-base-cased" in card("bert-base-cased")


def bare(folder: Path, encoder: str = "b", **changes: Any) -> str:
    job = TrainingJob(recipe=BaseRecipe(encoder), folder=folder / "none", runtime=Runtime())
    return model_card(replace(job, **changes), "A", "some", data={}, results="", usage="")


FIGURE = {"pearson": 0.5, "spearman": 0.25, "rmse": 0.75, "rows": 8.0}
FIGURES = {"dev": {"fluency": FIGURE}, "test": {"fluency": {**FIGURE, "pearson": float("nan")}}}


def test_the_card_metadata_is_valid_yaml_for_any_values(tmp_path: Path) -> None:
    yaml = pytest.importorskip("yaml")
    origin = {"data": "hf:me/ratings:train"}
    card = bare(tmp_path, "owner/encoder", origin=origin)
    head = yaml.safe_load(card.split("---")[1])
    assert head["datasets"] == ["me/ratings"]
    assert head["base_model"] == "owner/encoder"
    assert head["library_name"] == "gecjury"


def test_parts_have_their_own_rows() -> None:
    assert figures_table(FIGURES).splitlines()[2:] == [
        "| dev | fluency | 0.500 | 0.250 | 0.750 | 8 |",
        "| test | fluency | nan | 0.250 | 0.750 | 8 |",
    ]
    lines = figures_table(FIGURES, {"kernel": FIGURES}).splitlines()
    assert lines[0].startswith("| what | part |")
    assert lines[1].count("---") == lines[0].count("|") - 1
    assert lines[2].startswith("| both | dev |")
    assert lines[4].startswith("| kernel alone | dev |")
