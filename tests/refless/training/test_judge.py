"""Training a judge: losses, tokens, a whole training, resuming, LoRA, and errors."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.splits import split_sources
from gecjury.models.origin import MANIFEST, taught_judge
from gecjury.refless.data.annotations import QUALITY, Annotations, Scale
from gecjury.refless.training.judge import (
    JudgeJob,
    Lesson,
    answer_pieces,
    half_precision,
    train_judge,
)
from gecjury.refless.training.recipe import JudgeRecipe, TrainSettings
from gecjury.refless.training.trainer import (
    Answers,
    EpochOrder,
    answer_batch,
    answer_loss,
    answer_shares,
)
from gecjury.refless.training.watching import HISTORY_FILE
from tests.judges.tinymodel import make_tiny_model
from tests.refless.training.jobs import watched

torch = pytest.importorskip("torch")

ANSWERS = {json.dumps({"score": points}): float(points) for points in range(1, 6)}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_tiny_model(tmp_path_factory.mktemp("tiny"), context=512, dtype="float32")


def rated(sources: int = 40) -> Annotations:
    """Corrections whose rating is their number of exclamation marks."""
    texts = [
        (f"s{number}", f"s{number} " + "!" * points)
        for number in range(sources)
        for points in (1, 3, 5)
    ]
    points = np.array([[float(output.count("!"))] for _, output in texts])
    names = zip(*texts, strict=True)
    sources_, outputs = (tuple(side) for side in names)
    return Annotations((QUALITY,), outputs, sources_, points, Scale(1.0, 5.0, False))


def asking(text: str) -> tuple[dict[str, str], ...]:
    return ({"role": "user", "content": text},)


def job(tiny: Path, folder: Path, data: Annotations | None = None, **changes: object) -> JudgeJob:
    data = rated() if data is None else data
    lessons = []
    for row, output in enumerate(data.outputs):
        shares = tuple(float(value == data.ratings[row, 0]) for value in ANSWERS.values())
        lessons.append(Lesson(asking(output), (row,), shares))
    settings = TrainSettings(epochs=3, learning_rate=3e-3, max_length=256, patience=0)
    return JudgeJob(
        recipe=replace(JudgeRecipe(encoder=str(tiny), settings=settings), **changes),
        data=data,
        split=split_sources(data.sources),
        lessons=lessons,
        answers=ANSWERS,
        metric="llm-s:backend=vllm,model=judge,protocol=pointwise",
        prompt="pointwise.v1:0",
        folder=folder,
        runtime=Runtime(device="cpu", use_cache=False),
    )


def test_the_loss_by_hand() -> None:
    """One question, two answers of one word piece each: shares .75 and .25, equal logits.

    Cross-entropy: −(.75 · ln ½ + .25 · ln ½) = ln 2. The answer has only one other word piece,
    whose probability is also ½: .1 · ln 2.
    """
    answers = Answers(pieces=(0, 1), place=0, values=(1.0, 5.0))
    logits = torch.zeros(1, 3, 2)
    labels = {
        "ids": torch.tensor([[0, 1]]),
        "lengths": torch.tensor([2]),
        "shares": torch.tensor([[0.75, 0.25]]),
        "groups": torch.tensor([0]),
        "points": torch.tensor([2.0]),
    }
    assert float(answer_loss(answers)(logits, labels)) == pytest.approx(1.1 * math.log(2))


def test_the_order_within_a_group_by_hand() -> None:
    """Answers 1 and 5 with odds of 3 to 1 are a score of 4 or 2; the difference of 2 is tripled."""
    answers = Answers(pieces=(0, 1), place=0, values=(1.0, 5.0))
    labels = {
        "ids": torch.tensor([[1, 1], [0, 1]]),
        "lengths": torch.tensor([2, 2]),
        "shares": torch.zeros(2, 2),
        "groups": torch.tensor([7, 7]),
        "points": torch.tensor([3.0, 1.0]),
    }
    logits = torch.zeros(2, 3, 2)
    logits[0, 0, 1] = logits[1, 0, 0] = math.log(3)

    def order(within: float = 0.5) -> float:
        plain = float(answer_loss(answers)(logits, labels))
        return float(answer_loss(replace(answers, within=within))(logits, labels)) - plain

    right, wrong = math.log(1 + math.exp(-6)), math.log(1 + math.exp(6))
    assert order() == pytest.approx(0.5 * right, abs=1e-6)
    labels["points"] = torch.tensor([1.0, 3.0])
    assert order() == pytest.approx(0.5 * wrong)
    # Corrections of two sources are not compared, nor are equally good ones.
    assert order(0.0) == 0
    labels["groups"] = torch.tensor([7, 8])
    assert order() == 0
    labels |= {"groups": torch.tensor([7, 7]), "points": torch.tensor([2.0, 2.0])}
    assert order() == 0


def test_pairs_that_hardly_differ_count_less() -> None:
    """Differences of .25 and 1 in two groups: weights .5 and 1, at scores of 3, 3 and 2, 4."""
    answers = Answers(pieces=(0, 1), place=0, values=(1.0, 5.0))
    labels = {
        "ids": torch.ones(4, 2, dtype=torch.int64),
        "lengths": torch.full((4,), 2),
        "shares": torch.zeros(4, 2),
        "groups": torch.tensor([1, 1, 2, 2]),
        "points": torch.tensor([3.0, 3.25, 4.0, 5.0]),
    }
    logits = torch.zeros(4, 3, 2)
    logits[2, 0, 0] = logits[3, 0, 1] = math.log(3)
    plain = float(answer_loss(answers)(logits, labels))
    loss = float(answer_loss(replace(answers, within=1.0))(logits, labels)) - plain
    wanted = (0.5 * math.log(2) + math.log(1 + math.exp(-6))) / 1.5
    assert loss == pytest.approx(wanted, abs=1e-6)


def test_left_padding_does_not_change_answers(tiny: Path) -> None:
    """A question has the same probabilities alone and in a batch with a longer one."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32).eval()
    answers, pieces = answer_pieces(tokenizer, ANSWERS, "tiny")
    answer = next(iter(pieces.values()))
    short, long = (
        {"input_ids": [*tokenizer(text)["input_ids"], *answer], "answer": len(answer)}
        for text in ("a", "a much longer question")
    )

    def shares(examples: Sequence[dict[str, object]]) -> np.ndarray:
        with torch.inference_mode():
            logits = model(**answer_batch(tokenizer, examples)).logits
        return answer_shares(logits, [len(answer)] * len(examples), answers).numpy()

    both = shares([short, long])
    assert both.sum(axis=1) == pytest.approx([1, 1])
    np.testing.assert_allclose(both[0], shares([short])[0], atol=1e-5)
    np.testing.assert_allclose(both[1], shares([long])[0], atol=1e-5)


def test_shares_are_the_probabilities_before_the_deciding_piece(tiny: Path) -> None:
    """The model's own next-word probabilities after `{"score": `, scaled to the five digits."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32).eval()
    answers, pieces = answer_pieces(tokenizer, ANSWERS, "tiny")
    answer = pieces['{"score": 3}']
    question = tokenizer("x")["input_ids"]
    example = {"input_ids": [*question, *answer], "answer": len(answer)}
    with torch.inference_mode():
        logits = model(**answer_batch(tokenizer, [example])).logits
        got = answer_shares(logits, [len(answer)], answers)[0]
        before = torch.tensor([[*question, *answer[: answers.place]]])
        last = model(before).logits[0, -1]
    digits = [
        tokenizer(str(points), add_special_tokens=False)["input_ids"][0] for points in range(1, 6)
    ]
    assert list(answers.pieces) == digits
    np.testing.assert_allclose(got, last[digits].softmax(-1), atol=1e-5)


def test_logits_have_32_bits_where_the_rest_has_16(tiny: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(tiny, dtype=torch.float32).eval()
    inputs = AutoTokenizer.from_pretrained(tiny)(["some text"], return_tensors="pt")
    logits = {}
    for enabled in (False, True):
        with torch.inference_mode(), half_precision(model, enabled):
            logits[enabled] = model(**inputs).logits
    assert logits[True].dtype == torch.float32
    assert not torch.equal(logits[True], logits[True].bfloat16().float())
    assert not torch.equal(logits[True], logits[False])
    torch.testing.assert_close(logits[True], logits[False], rtol=0.05, atol=0.05)


def test_rows_of_one_source_stay_together() -> None:
    groups = [0, 1, 2, 0, 1, 2, 0, 1, 2]
    order = list(EpochOrder([9, 5, 7, 8, 5, 7, 1, 5, 7], 3, 0, groups))
    assert sorted(order) == list(range(9))
    assert [len({groups[row] for row in order[at : at + 3]}) for at in (0, 3, 6)] == [1, 1, 1]


@pytest.mark.parametrize("bf16", [False, True])
def test_a_trained_judge_distinguishes_good_from_bad(tmp_path: Path, bf16: bool) -> None:
    tiny = make_tiny_model(tmp_path / "tiny", context=512)
    folder = tmp_path / "judge"
    settings = replace(job(tiny, folder).recipe.settings, bf16=bf16)
    report = train_judge(job(tiny, folder, settings=settings))
    assert report.figures["test"][QUALITY]["spearman"] > 0.9
    assert abs(report.untaught["test"][QUALITY]["spearman"]) < 0.9
    taught = taught_judge(str(folder))
    assert taught is not None
    assert taught.prompt == "pointwise.v1:0"
    assert "pipeline_tag: text-generation" in (folder / "README.md").read_text(encoding="utf-8")
    # The weights keep the number format of the original model.
    from transformers import AutoModelForCausalLM

    assert AutoModelForCausalLM.from_pretrained(folder).dtype == torch.bfloat16
    # The same command finds the judge finished.
    assert train_judge(job(tiny, folder, settings=settings)) == report
    with pytest.raises(OptionError, match="another folder"):
        train_judge(job(tiny, folder, settings=settings, within=2.0))


def test_answers_with_a_common_prefix_are_refused(tiny: Path) -> None:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    with pytest.raises(InputError, match="no single word piece distinguishes them"):
        answer_pieces(tokenizer, {"10": 1.0, "11": 2.0, "21": 3.0}, "tiny")


def test_a_model_without_chat_template_is_refused(tmp_path: Path) -> None:
    folder = make_tiny_model(tmp_path / "bare", template=False, context=512)
    with pytest.raises(InputError, match="has no chat template"):
        train_judge(job(folder, tmp_path / "judge"))


def test_manifests_of_other_models_are_not_read_as_a_judge(tmp_path: Path) -> None:
    assert taught_judge(str(tmp_path)) is None
    (tmp_path / MANIFEST).write_text('{"format": "gecjury-some/1"}', encoding="utf-8")
    assert taught_judge(str(tmp_path)) is None
    (tmp_path / MANIFEST).write_text('{"format": "gecjury-judge/1"}', encoding="utf-8")
    with pytest.raises(InputError, match="damaged"):
        taught_judge(str(tmp_path))


@pytest.mark.slow
@pytest.mark.parametrize("lora", [0, 4])
def test_an_interrupted_training_resumes_to_the_same_judge(
    tiny: Path, tmp_path: Path, lora: int
) -> None:
    """A run stopped at its first checkpoint and resumed is like an uninterrupted one."""
    if lora:
        pytest.importorskip("peft")
    whole, broken = tmp_path / "whole", tmp_path / "broken"

    def stop(history: object) -> None:
        raise KeyboardInterrupt

    data = rated(sources=24)
    train_judge(job(tiny, whole, data, lora=lora))
    with watched(stop), pytest.raises(KeyboardInterrupt):
        train_judge(job(tiny, broken, data, lora=lora))
    assert list((broken / "checkpoints").glob("checkpoint-*"))
    told: list[str] = []
    again = job(tiny, broken, data, lora=lora)
    train_judge(replace(again, runtime=replace(again.runtime, tell=told.append)))
    assert any("resumes after step" in line for line in told)
    # Adapters are added to the weights.
    assert not list(whole.glob("adapter*"))
    for name in ("model.safetensors", HISTORY_FILE):
        assert (broken / name).read_bytes() == (whole / name).read_bytes()
