"""BARTScore: the definition with plain transformers, batches, truncation, cache and refusals."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.refbased.weighing import bartscore
from gecjury.refbased.weighing.bartscore import BARTScore

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

CPU = Runtime(device="cpu", use_cache=False)
PAIRS = [
    ("the cat sits on the mat .", "the cats sit on the mat ."),
    ("she goes home", "she went home yesterday ."),
    ("", "cats"),
    ("he", "they were in the house , very big ."),
    ("the cat sits on the mat .", "the cats sit on the mat ."),
    ("cats", "cats"),
    ("he", "she goes home"),
]


def plain(folder: Path, pairs: list[tuple[str, str]]) -> np.ndarray:
    """Score one direction at a time without padding, with transformers' mean cross-entropy."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.BartForConditionalGeneration.from_pretrained(folder).eval()

    def log_p(target: str, source: str) -> float:
        x, y = (
            tokenizer(text, return_tensors="pt", truncation=True, max_length=24).input_ids
            for text in (source, target)
        )
        with torch.no_grad():
            return -float(model(input_ids=x, labels=y).loss)

    return np.array([(log_p(r, h) + log_p(h, r)) / 2 for h, r in pairs])


def test_equals_the_definition(tiny_bart: Path) -> None:
    scores, truncated = BARTScore(str(tiny_bart)).score(PAIRS, CPU)
    assert truncated == 0
    assert scores.dtype == np.float64
    np.testing.assert_allclose(scores, plain(tiny_bart, PAIRS), atol=1e-5)
    assert np.ptp(scores) > 0.1


def test_by_hand(tiny_bart: Path, tmp_path: Path) -> None:
    # With zero embeddings all 37 logits are 0; a bias of ln 3 for <s> gives p(<s>) = 3/39 and
    # p(any other) = 1/39. "cats" is <s> cats </s>, so a direction to it has (ln 3 − 3 ln 39) / 3;
    # one to "he goes" has (ln 3 − 4 ln 39) / 4.
    folder = shutil.copytree(tiny_bart, tmp_path / "flat")
    model = transformers.BartForConditionalGeneration.from_pretrained(folder)
    assert model.config.vocab_size == 37
    with torch.no_grad():
        model.model.shared.weight.zero_()
        model.final_logits_bias[0, 0] = math.log(3)
    model.save_pretrained(folder)
    short = (math.log(3) - 3 * math.log(39)) / 3
    long = (math.log(3) - 4 * math.log(39)) / 4
    scores, _ = BARTScore(str(folder)).score([("cats", "he goes"), ("cats", "cats")], CPU)
    np.testing.assert_allclose(scores, [(short + long) / 2, short], atol=1e-5)


@pytest.mark.parametrize("size", [1, 2, 3, 64])
def test_batches_change_nothing(
    tiny_bart: Path, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone, _ = BARTScore(str(tiny_bart)).score(PAIRS, CPU)
    runtime = Runtime(device="cpu", use_cache=False, batch_size=size)
    np.testing.assert_allclose(
        BARTScore(str(tiny_bart)).score(PAIRS[::-1], runtime)[0][::-1], alone, atol=1e-5
    )
    monkeypatch.setattr(bartscore, "_BATCH_PIECES", 12)
    np.testing.assert_allclose(BARTScore(str(tiny_bart)).score(PAIRS, runtime)[0], alone, atol=1e-5)


def test_each_direction_is_computed_once(tiny_bart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    usual = bartscore._Model.log_probabilities

    def watched(self: Any, batch: Any) -> Any:
        seen.extend(batch)
        return usual(self, batch)

    monkeypatch.setattr(bartscore._Model, "log_probabilities", watched)
    swapped = [(b, a) for a, b in PAIRS]
    scores, _ = BARTScore(str(tiny_bart)).score(PAIRS + swapped, CPU)
    # Five pairs of different texts in both directions and one of equal texts: 5 · 2 + 1.
    assert len(seen) == len(set(seen)) == 11
    np.testing.assert_array_equal(scores[: len(PAIRS)], scores[len(PAIRS) :])


def test_long_texts_are_truncated_and_counted(tiny_bart: Path) -> None:
    # The tokenizer allows 24 word pieces: <s>, 22 words, </s>.
    fits, long, longer = ("cat " * 22).strip(), ("cat " * 23).strip(), ("cat " * 60).strip()
    pairs = [(fits, "cats"), (long, "cats"), (longer, "cats"), (longer, "dogs")]
    scores, truncated = BARTScore(str(tiny_bart)).score(pairs, CPU)
    assert truncated == 2
    assert scores[0] == scores[1] == scores[2]
    np.testing.assert_allclose(scores, plain(tiny_bart, pairs), atol=1e-5)


def test_scores_are_read_from_disk(
    tiny_bart: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime(device="cpu", cache=tmp_path)
    first, _ = BARTScore(str(tiny_bart)).score(PAIRS, runtime)
    monkeypatch.delattr(bartscore._Model, "log_probabilities")
    again, _ = BARTScore(str(tiny_bart)).score(PAIRS, runtime)
    np.testing.assert_array_equal(first, again)


def test_nothing_to_score(tiny_bart: Path) -> None:
    scores, truncated = BARTScore(str(tiny_bart)).score([], CPU)
    assert scores.shape == (0,)
    assert truncated == 0


def test_weights_only_bin(tiny_bart: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny_bart, tmp_path / "bin")
    model = transformers.BartForConditionalGeneration.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    np.testing.assert_allclose(
        BARTScore(str(folder)).score(PAIRS, CPU)[0],
        BARTScore(str(tiny_bart)).score(PAIRS, CPU)[0],
        atol=1e-6,
    )


@pytest.mark.parametrize("kept", ["model.shared", "model.encoder.embed_tokens", "lm_head"])
def test_shared_embeddings_under_any_name(tiny_bart: Path, tmp_path: Path, kept: str) -> None:
    # Files store the embeddings shared by encoder, decoder and output under one or more names.
    safetensors = pytest.importorskip("safetensors.torch")
    folder = shutil.copytree(tiny_bart, tmp_path / "tied")
    weights = safetensors.load_file(folder / "model.safetensors")
    names = ("model.shared", "model.encoder.embed_tokens", "model.decoder.embed_tokens", "lm_head")
    (table,) = {weights.pop(f"{n}.weight", None) for n in names} - {None}
    weights[f"{kept}.weight"] = table
    safetensors.save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    np.testing.assert_allclose(
        BARTScore(str(folder)).score(PAIRS, CPU)[0],
        BARTScore(str(tiny_bart)).score(PAIRS, CPU)[0],
        atol=1e-6,
    )


def test_missing_weights_are_refused(tiny_bart: Path, tmp_path: Path) -> None:
    safetensors = pytest.importorskip("safetensors.torch")
    folder = shutil.copytree(tiny_bart, tmp_path / "part")
    weights = safetensors.load_file(folder / "model.safetensors")
    kept = {name: value for name, value in weights.items() if ".decoder." not in name}
    safetensors.save_file(kept, folder / "model.safetensors", metadata={"format": "pt"})
    with pytest.raises(InputError, match=r"weights of a bart model are missing \(model.decoder"):
        BARTScore(str(folder)).score(PAIRS, CPU)


def test_other_models_are_refused(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(OptionError, match="a bert model does not generate a target"):
        BARTScore(str(tiny_bert)).score(PAIRS, CPU)
    with pytest.raises(OptionError, match="no such folder"):
        _ = BARTScore("no such model").identity
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "bart"}))
    with pytest.raises(InputError, match="no weights"):
        _ = BARTScore(str(tmp_path)).identity

    def unreachable(name: str, revision: str | None = None) -> None:
        raise DataError(f"model {name} is not to be had from the hub")

    monkeypatch.setattr(bartscore, "resolve", unreachable)
    with pytest.raises(DataError, match=r"from the hub\. BARTScore needs a sequence-to-sequence"):
        _ = BARTScore().identity


def test_identity_names_the_files(tiny_bart: Path) -> None:
    assert BARTScore(str(tiny_bart)).identity.startswith("tiny-bart@")
