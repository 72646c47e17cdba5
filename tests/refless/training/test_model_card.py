"""Model cards name no local path."""

from __future__ import annotations

from pathlib import Path

from gecjury.refless.training.model_card import model_card, shown_name


def test_local_paths_are_cut_to_their_last_part(tmp_path: Path) -> None:
    (tmp_path / "source").write_text("a\n")
    (tmp_path / "ref").write_text("a\n")
    assert shown_name(f"{tmp_path}/source,{tmp_path}/ref") == "source,ref"
    assert shown_name("bert-base-cased") == "bert-base-cased"
    assert shown_name("google/electra-base-discriminator") == "google/electra-base-discriminator"


def test_a_card_tells_the_hub_base_alone(tmp_path: Path) -> None:
    def card(base: str) -> str:
        settings = {"encoder": base, "epochs": 1}
        return model_card("A", "some", base=base, data={}, settings=settings, results="", usage="")

    local = card(str(tmp_path))
    assert str(tmp_path) not in local
    assert f'"encoder": "{tmp_path.name}"' in local
    assert "base_model" not in local
    assert "base_model: bert-base-cased" in card("bert-base-cased")
