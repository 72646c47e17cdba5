"""A ranker on the mean of hidden states: by hand, saved and loaded, damaged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import torch

from gecjury.core.errors import InputError
from gecjury.models.checkpoints import resolve
from gecjury.models.networks import read_config
from gecjury.refless.nets.pooled import fresh_pooled, open_pooled, save_pooled
from gecjury.refless.nets.ranker import HEAD_FILE
from gecjury.refless.nets.regressor import load_tokenizer
from tests import tiny

TEXTS = ["the cat eats", "we like the very old house ."]


def opened(folder: Path) -> object:
    checkpoint = resolve(str(folder))
    return open_pooled(checkpoint, read_config(checkpoint))


def test_outputs_by_hand_and_after_reading_back(tmp_path: Path) -> None:
    from transformers import AutoModel

    start = str(tiny.encoder(tmp_path / "start"))
    tokenizer = load_tokenizer(start)
    torch.manual_seed(1)
    model = fresh_pooled(start, ("rank",)).eval()
    save_pooled(model, tokenizer, tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} >= {"config.json", HEAD_FILE}
    again = opened(tmp_path / "out")
    assert again.config.id2label == {0: "rank"}  # type: ignore[attr-defined]
    plain = AutoModel.from_pretrained(tmp_path / "out").eval()
    batch = tokenizer(TEXTS, padding=True, return_tensors="pt")
    with torch.inference_mode():
        found = model(**batch).logits
        kept = again(**batch).logits  # type: ignore[operator]
        for row, text in enumerate(TEXTS):
            states = plain(**tokenizer(text, return_tensors="pt")).last_hidden_state[0]
            head = model.classifier
            by_hand = states.mean(0) @ head.weight[0] + head.bias[0]
            # The shorter text is padded, and the padding is ignored.
            assert float(found[row, 0]) == pytest.approx(float(by_hand), abs=1e-6)
    assert torch.equal(found, kept)


@pytest.mark.security
@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.unlink(), "missing or damaged"),
        (lambda path: path.write_bytes(path.read_bytes()[:-7]), "missing or damaged"),
        (lambda path: path.write_bytes(b"\x80\x04."), "missing or damaged"),
    ],
)
def test_a_damaged_head_is_reported(tmp_path: Path, damage: object, message: str) -> None:
    start = str(tiny.encoder(tmp_path / "start"))
    save_pooled(fresh_pooled(start, ("rank",)), load_tokenizer(start), tmp_path / "out")
    damage(tmp_path / "out" / HEAD_FILE)  # type: ignore[operator]
    with pytest.raises(InputError, match=rf"{HEAD_FILE}: {message}"):
        opened(tmp_path / "out")


@pytest.mark.security
def test_a_head_of_another_encoder_is_reported(tmp_path: Path) -> None:
    start = str(tiny.encoder(tmp_path / "start"))
    two = fresh_pooled(start, ("rank", "other"))
    one = fresh_pooled(start, ("rank",))
    save_pooled(one, load_tokenizer(start), tmp_path / "one")
    save_pooled(two, load_tokenizer(start), tmp_path / "two")
    shutil.copy(tmp_path / "two" / HEAD_FILE, tmp_path / "one" / HEAD_FILE)
    with pytest.raises(InputError, match=r"weight of shape \(2, 32\), expected"):
        opened(tmp_path / "one")
    with torch.no_grad():
        one.classifier.bias.fill_(float("nan"))
    save_pooled(one, load_tokenizer(start), tmp_path / "one")
    with pytest.raises(InputError, match="expected finite numbers"):
        opened(tmp_path / "one")
