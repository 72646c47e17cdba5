"""Error detection from labelled tokens: labels on word pieces, scores by hand, resumed runs."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.refless.data.labelled import (
    LabelledSentence,
    LabelledText,
    read_labelled,
)
from gecjury.refless.nets.probe import plain_text
from gecjury.refless.nets.regressor import load_tokenizer
from gecjury.refless.training.detection import (
    DetectorJob,
    detection_scores,
    error_probabilities,
    joined_words,
    labelled_examples,
    run_detection,
    train_detector,
    with_dev,
)
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.recipe import DetectorRecipe, TrainSettings
from gecjury.refless.training.trainer import losses
from gecjury.refless.training.watching import Watch
from tests import tiny
from tests.refless.training.jobs import watched

RUNTIME = Runtime(device="cpu")
SETTINGS = TrainSettings(train_batch=8, epochs=3, learning_rate=1e-2, patience=0)


@pytest.fixture(scope="module")
def start(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.encoder(tmp_path_factory.mktemp("models") / "encoder", dropout=0.0))


def sentence(text: str, *wrong: int) -> LabelledSentence:
    tokens = tuple(text.split())
    return LabelledSentence(tokens, tuple(place in wrong for place in range(len(tokens))))


def labelled(count: int, seed: int = 0) -> tuple[LabelledSentence, ...]:
    """Sentences in which `goes` and `eats` are always wrong."""
    found = []
    for text in tiny.sentences(count, seed):
        tokens = ("we", *text.split(), "goes")
        found.append(LabelledSentence(tokens, tuple(t in ("goes", "eats") for t in tokens)))
    return tuple(found)


def test_figures_by_hand() -> None:
    # Predicted wrong: tokens 0, 1, 2, 4 (.5 is enough). Only 0 and 4 are; 3 and 6 are missed.
    # P = 2/4, R = 2/4; F0.5 = 1.25 · ½ · ½ / (¼ · ½ + ½) = .3125/.625.
    probabilities = np.array([0.9, 0.8, 0.7, 0.4, 0.5, 0.1, 0.2])
    marks = np.array([1, 0, 0, 1, 1, 0, 1])
    found = detection_scores(probabilities, marks)
    assert found["precision"] == found["recall"] == 0.5
    assert found["f0.5"] == pytest.approx(0.3125 / 0.625)
    # By descending probability, ranks 1, 4, 5, 6 are wrong: (1/1 + 2/4 + 3/5 + 4/6) / 4.
    assert found["ap"] == pytest.approx((1 + 1 / 2 + 3 / 5 + 2 / 3) / 4)
    assert found["tokens"] == 7
    # Precision counts more: P = 1, R = ¼ gives 1.25 · ¼ / (¼ + ¼); P = ¼, R = 1 gives less.
    precise = detection_scores(np.array([0.9, 0.1, 0.1, 0.1]), np.array([1, 1, 1, 1]))
    assert precise["f0.5"] == pytest.approx(0.3125 / 0.5)
    coarse = detection_scores(np.array([0.9, 0.9, 0.9, 0.9]), np.array([1, 0, 0, 0]))
    assert coarse["f0.5"] == pytest.approx(1.25 * 0.25 / (0.0625 + 1))
    none = detection_scores(np.array([0.1, 0.1]), np.array([1, 0]))
    assert (none["precision"], none["recall"], none["f0.5"]) == (0, 0, 0)


def test_first_and_last_word_piece_carry_a_label(start: str) -> None:
    tokenizer = load_tokenizer(start)
    # Unknown words are spelt out: xyzx is four pieces, q is one.
    (example,) = labelled_examples([sentence("the xyzx q cat", 1, 2)], tokenizer, 128)
    pieces = tokenizer.convert_ids_to_tokens(example["input_ids"])
    assert pieces == ["[CLS]", "the", "x", "##y", "##z", "##x", "q", "cat", "[SEP]"]
    assert example["labels"] == [-100, 0, 1, -100, -100, 1, 1, 0, -100]
    # Truncated pieces have no label: [CLS] the x ##y [SEP].
    (cut,) = labelled_examples([sentence("the xyzx q cat", 1)], tokenizer, 5)
    assert cut["labels"] == [-100, 0, 1, 1, -100]


def test_contractions_and_quotation_marks_are_joined_like_plain_text(start: str) -> None:
    marks = sentence("`` I do n't know '' , he ’s “ in ” .", 3)
    text, spans, word_of = joined_words(marks)
    assert text == plain_text(marks.text) == '" I don\'t know " , he \'s " in " .'
    assert [text[a:b] for a, b in spans] == text.split()
    # do and n't are one word, which is wrong because one of them is.
    assert word_of[2] == word_of[3] == 2
    assert [word_of[place] for place in (0, 1, 4)] == [0, 1, 3]
    tokenizer = load_tokenizer(start)
    (example,) = labelled_examples([sentence("i do n't", 2)], tokenizer, 128)
    pieces = tokenizer.convert_ids_to_tokens(example["input_ids"])
    marked = [p for p, label in zip(pieces, example["labels"], strict=True) if label == 1]
    assert marked == ["d", "t"]
    # A sentence may begin with n't, or have it after a mark.
    for odd in ("n't it", ". n't it", "n'tx", "can n't n't"):
        assert joined_words(sentence(odd))[0] == plain_text(odd)


def test_a_token_s_probability_is_the_mean_of_its_two_pieces(start: str) -> None:
    tokenizer = load_tokenizer(start)

    class Fixed(torch.nn.Linear):
        def forward(self, input_ids: Any, **_: Any) -> Any:
            # The log odds grow with the position in the sentence: piece n has n − 2.
            odds = torch.arange(input_ids.shape[1]).float().expand(input_ids.shape) - 2
            return SimpleNamespace(logits=torch.stack([torch.zeros_like(odds), odds], -1))

    texts = [sentence("the xyzx do n't"), sentence("the " * 4)]
    found = error_probabilities(Fixed(1, 1), tokenizer, texts, replace(SETTINGS, max_length=8),
                                RUNTIME)  # fmt: skip

    def sigmoid(x: float) -> float:
        return float(1 / (1 + np.exp(-x)))

    # "the" is piece 1, xyzx pieces 2 to 5; only piece 6 of don't is left, for both of its tokens.
    expected = [sigmoid(-1), (sigmoid(0) + sigmoid(3)) / 2, sigmoid(4), sigmoid(4)]
    assert found[0] == pytest.approx(expected, abs=1e-6)
    assert found[1] == pytest.approx([sigmoid(n - 2) for n in (1, 2, 3, 4)], abs=1e-6)
    (cut,) = error_probabilities(Fixed(1, 1), tokenizer, [sentence("the xyzx cat")],
                                 replace(SETTINGS, max_length=6), RUNTIME)  # fmt: skip
    assert cut[2] == 0


def test_errors_weigh_more_in_the_loss_by_hand() -> None:
    logits = torch.tensor([[[0.0, 0.0], [0.0, np.log(3.0)], [5.0, -5.0]]])
    labels = torch.tensor([[1, 0, -100]])
    # −log ½ for the error and −log ¼ for the correct one: (1.5 · log 2 + 1 · log 4) / 2.5.
    found = losses(1.5)["detection"](logits, labels).item()
    assert found == pytest.approx((1.5 * np.log(2) + np.log(4)) / 2.5)
    plain = losses()["detection"](logits, labels).item()
    assert plain == pytest.approx((np.log(2) + np.log(4)) / 2)


def test_a_tenth_is_held_out_without_a_dev_part() -> None:
    twice = (*labelled(40), *labelled(40))
    found = with_dev(LabelledText(twice), seed=1)
    keys = [{s.tokens for s in part} for part in (found.train, found.dev)]
    assert not keys[0] & keys[1]
    assert (len(found.train), len(found.dev)) == (72, 8)
    assert with_dev(LabelledText(twice), seed=1) == found
    assert with_dev(LabelledText(twice), seed=2) != found
    own = LabelledText(labelled(10), labelled(3, 5))
    assert with_dev(own, seed=1) == own


def test_text_without_enough_labels_is_refused() -> None:
    with pytest.raises(
        InputError, match="5 labelled sentences to learn error detection from: too few"
    ):
        with_dev(LabelledText(labelled(5), labelled(3)), 0)
    right = tuple(sentence("we like the cat") for _ in range(20))
    with pytest.raises(InputError, match="the dev part of the labelled text: 20 sentences with no"):
        with_dev(LabelledText(labelled(20), right), 0)


def job(start: str, folder: Path) -> DetectorJob:
    return DetectorJob(
        text=LabelledText(labelled(48), labelled(12, 7)),
        recipe=DetectorRecipe(start, settings=SETTINGS),
        folder=folder, runtime=RUNTIME, origin={"data": "x"},
    )  # fmt: skip


@pytest.mark.slow
def test_a_detector_is_learnt_kept_and_resumed(start: str, tmp_path: Path) -> None:
    from transformers import AutoModelForTokenClassification

    whole = job(start, tmp_path / "whole")
    figures = train_detector(whole)
    # The errors are two words, which even two layers learn to recognise.
    assert figures["f0.5"] > 0.9
    model = AutoModelForTokenClassification.from_pretrained(whole.folder)
    assert model.config.id2label == {0: "c", 1: "i"}
    card = (whole.folder / "README.md").read_text()
    assert f"| dev | {figures['f0.5']:.4f} | {figures['precision']:.4f} |" in card
    assert not (whole.folder / "checkpoints").exists()

    # Interrupted in the third epoch of six steps each, and run again.
    def stop(history: object) -> None:
        raise RuntimeError("killed")

    broken = job(start, tmp_path / "broken")
    with watched(stop), pytest.raises(RuntimeError, match="killed"):
        train_detector(broken)
    assert list((broken.folder / "checkpoints" / "detector").glob("checkpoint-*"))
    assert train_detector(broken) == figures
    kept = "model.safetensors"
    assert (broken.folder / kept).read_bytes() == (whole.folder / kept).read_bytes()
    # A finished model is not trained again; a different run in its folder is refused.
    (whole.folder / kept).unlink()
    assert train_detector(whole) == figures
    record = json.loads((whole.folder / "gecjury.json").read_text())
    assert record["format"] == "gecjury-detector/1"
    frozen = replace(whole.recipe, settings=replace(SETTINGS, freeze_layers=0))
    with pytest.raises(OptionError, match="other settings or data"):
        train_detector(replace(whole, recipe=frozen))


def test_labelled_text_of_other_languages_is_read_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text("„Ja“\tc\ndo\tc\nn't\ti\n", encoding="utf-8")

    def nothing() -> Any:
        raise AssertionError("no named set is asked for")

    (swedish,) = read_labelled([str(tmp_path / "x.tsv")], nothing, language="sv")
    assert joined_words(swedish)[0] == "„Ja“ do n't"
    english = LabelledSentence(("“Yes”", "do", "n't"), (False, False, True))
    assert joined_words(english)[0] == '"Yes" don\'t'


@pytest.mark.slow
def test_the_weights_of_a_step_depend_only_on_its_seed(start: str, tmp_path: Path) -> None:
    text = LabelledText(labelled(30))
    found = []
    for before in (1, 2):
        torch.manual_seed(before)  # earlier draws in the process must not matter
        folder = tmp_path / str(before)
        recipe = DetectorRecipe(start, settings=SETTINGS)
        job = TrainingJob(recipe=recipe, folder=folder, runtime=RUNTIME)
        watch = Watch(folder / "history.json")
        place, figures = run_detection(job, text, watch)
        assert 0 <= figures["detection"] <= 1
        weights = Path(place) / "model.safetensors"
        found.append(weights.read_bytes())
        # A finished step is not trained again.
        written = weights.stat().st_mtime_ns
        assert run_detection(job, text, watch) == (place, figures)
        assert weights.stat().st_mtime_ns == written
    assert found[0] == found[1]
