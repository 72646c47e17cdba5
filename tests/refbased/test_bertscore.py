"""BERTScore: equal to the bert-score package, with its baselines, and cached on disk."""

from __future__ import annotations

import importlib.util
import warnings
from pathlib import Path

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.refbased.bertscore import BERTScore, baseline_f, customary_layer

pytest.importorskip("torch")

CPU = Runtime(device="cpu", use_cache=False)
PAIRS = [
    ("the cat sits on the mat .", "the cats sit on the mat ."),
    ("she goes home", "she went home yesterday ."),
    ("The dogs are big", "the dogs are big"),
    ("he", "they were in the house , very big ."),
    ("the cat sits on the mat .", "the cats sit on the mat ."),
]


def package_f(folder: Path, layer: int) -> np.ndarray:
    """Return the bert-score package's F1 without rescaling."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        package = pytest.importorskip("bert_score")
        scorer = package.BERTScorer(model_type=str(folder), num_layers=layer, device="cpu")
        candidates, references = zip(*PAIRS, strict=True)
        try:
            found = scorer.score(list(candidates), list(references))
        except AttributeError as error:
            # bert-score 0.3.13 calls a tokenizer method that transformers 5 has removed.
            pytest.skip(f"the bert-score package does not run with this transformers: {error}")
    return found[2].numpy()


@pytest.mark.parametrize("layer", [1, 2, 3])
def test_equals_the_bert_score_package(tiny_bert: Path, layer: int) -> None:
    ours, truncated = BERTScore(str(tiny_bert), layer, rescale=False).score(PAIRS, CPU)
    assert truncated == 0
    np.testing.assert_allclose(ours, package_f(tiny_bert, layer), atol=1e-5)


def test_by_hand(tiny_bert: Path) -> None:
    # The definition (Zhang et al. 2020, section 3) on word pieces, with plain transformers: the
    # mean over the pieces of one side of the best cosine with any piece of the other side.
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tiny_bert)
    model = transformers.AutoModel.from_pretrained(tiny_bert).eval()

    def states(text: str) -> np.ndarray:
        with torch.no_grad():
            found = model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].numpy()
        return found / np.linalg.norm(found, axis=1, keepdims=True)

    x, y = states(PAIRS[1][0]), states(PAIRS[1][1])
    similar = x @ y.T
    p, r = similar.max(1)[1:-1].mean(), similar.max(0)[1:-1].mean()
    ours, _ = BERTScore(str(tiny_bert), 3).score(PAIRS[1:2], CPU)
    assert ours[0] == pytest.approx(2 * p * r / (p + r), abs=1e-5)


def test_equal_sentences_score_one_and_empty_ones_zero(tiny_bert: Path) -> None:
    scores, _ = BERTScore(str(tiny_bert)).score([("cats", "cats"), ("", "cats")], CPU)
    np.testing.assert_allclose(scores, [1, 0], atol=1e-6)


def test_scores_are_read_from_disk(
    tiny_bert: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runtime = Runtime(device="cpu", cache=tmp_path)
    first, _ = BERTScore(str(tiny_bert)).score(PAIRS, runtime)
    computed: list[object] = []
    monkeypatch.setattr(BERTScore, "_fresh", lambda self, todo, *_: computed.extend(todo) or {})
    again, _ = BERTScore(str(tiny_bert)).score(PAIRS, runtime)
    np.testing.assert_array_equal(first, again)
    assert not computed


def test_baselines_and_layers() -> None:
    # bert-score 0.3.13: bert-base-uncased uses layer 9, whose row ends in 0.35219112.
    assert customary_layer("google-bert/bert-base-uncased") == 9
    assert baseline_f("bert-base-uncased", 9) == 0.35219112
    assert baseline_f("bert-base-uncased", 13) is None
    assert baseline_f("embedded", 6) is None
    if importlib.util.find_spec("bert_score") is not None:
        assert baseline_f("roberta-large", 17) == pytest.approx(0.8315, abs=5e-3)
