"""Teach a judge: questions with target probabilities in, a plain causal language model out.

The module has, in this order, the lessons and the job, the run, the questions as word pieces,
figures and card.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, MissingExtraError, install_hint
from gecjury.corpus.splits import Split
from gecjury.models.batching import in_batches, pick_device
from gecjury.models.checkpoints import resolve
from gecjury.models.foreign import Network, Tensor, Tokenizer
from gecjury.models.networks import (
    cut_length,
    read_config,
    read_network,
    read_tokenizer,
    refuse_missing,
)
from gecjury.models.origin import JUDGE_FORMAT
from gecjury.refless.data.annotations import QUALITY, Annotations
from gecjury.refless.nets.regressor import EncoderInputs, save_model
from gecjury.refless.nets.trainable import choose_attention
from gecjury.refless.training.detection import refuse_few
from gecjury.refless.training.evaluation import aspect_figures
from gecjury.refless.training.job import TrainingJob
from gecjury.refless.training.model_card import markdown_table, model_card
from gecjury.refless.training.recipe import JudgeRecipe
from gecjury.refless.training.trainer import (
    Answers,
    LearningTask,
    answer_batch,
    answer_shares,
    fit,
    is_main_process,
    wait_for_all,
)
from gecjury.refless.training.worth import Worth, worth_of_ratings, worth_table


@dataclass(frozen=True)
class Lesson:
    """A question about rated corrections, and the answers that it should get.

    Attributes:
        messages: the conversation up to the answer.
        rows: rows of the data with the corrections that the question shows.
        shares: target probability of each answer, in the order of `JudgeJob.answers`; sums to 1.
    """

    messages: tuple[Mapping[str, str], ...]
    rows: tuple[int, ...]
    shares: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class JudgeJob(TrainingJob):
    """The input of one training of a judge; the best epoch is that with the best dev Spearman.

    Attributes:
        recipe: how the judge is trained.
        data: corrections with one rating each, `quality`, from 1 to 5.
        split: its parts.
        lessons: questions about the data.
        answers: the answers, each with its value.
        metric: the judge to score with, written as `-m` accepts it.
        prompt: id of the prompt that is taught.
    """

    recipe: JudgeRecipe
    data: Annotations
    split: Split
    lessons: Sequence[Lesson]
    answers: Mapping[str, float]
    metric: str
    prompt: str


@dataclass(frozen=True)
class JudgeReport:
    """The report of a training, which is part of the manifest of its folder.

    Attributes:
        figures: `dev` and `test`, then `quality`, then pearson, spearman, rmse, rows.
        untaught: the same figures for the model before the training.
        best: dev figures of the epoch that was kept.
        worth: the share of the test part's pairs in the right order, compared with chance and with
            counting changes.
    """

    figures: Mapping[str, Mapping[str, Mapping[str, float]]]
    untaught: Mapping[str, Mapping[str, Mapping[str, float]]]
    best: Mapping[str, float]
    worth: Worth


def train_judge(job: JudgeJob) -> JudgeReport:
    """Train, evaluate and save; a killed run resumes where it stopped.

    Raises:
        InputError: the model's word pieces do not distinguish the answers, it has no chat
            template, or there are too few questions to learn from.
        OptionError: the folder contains another model.
        MissingExtraError: --lora without the package peft.
    """
    recipe, settings = job.recipe, job.recipe.settings
    rows = (",".join(map(str, part)) for part in (job.split.train, job.split.dev))
    asked = (json.dumps(lesson.messages) for lesson in job.lessons)
    run = job.run(job.data.print, json.dumps(dict(job.answers)), *rows, *asked)
    if (earlier := job.finished(run, JudgeReport)) is not None:
        return earlier
    watch = job.watch()
    checkpoint = resolve(recipe.encoder, packaged=False)
    config = read_config(checkpoint)
    tokenizer = read_tokenizer(checkpoint, config)
    model, missing = read_network(checkpoint, config, "next-word")
    refuse_missing(checkpoint, config, missing, "a whole causal language model")
    stored = config.dtype
    # The model is evaluated before the training, which is what moves it to the device otherwise.
    model.to(pick_device(job.runtime.device))
    answers, pieces = answer_pieces(tokenizer, job.answers, recipe.encoder)
    # Answers about pairs are already differences.
    within = recipe.within if recipe.protocol == "pointwise" else 0.0
    answers = replace(answers, within=within)
    examples = _examples(job, tokenizer, pieces)
    if left_out := examples.count(None):
        watch.told(f"{left_out} questions are longer than `max_length=` and were left out")
    part_of = {row: name for name, rows in vars(job.split).items() for row in rows.tolist()}
    parts: dict[str, list[EncoderInputs]] = {"train": [], "dev": [], "test": []}
    for lesson, example in zip(job.lessons, examples, strict=True):
        if example is not None:
            parts[part_of[lesson.rows[0]]].append(example)
    for name, questions in parts.items():
        refuse_few(len(questions), f"questions for {name}")
    longest = max(len(example["input_ids"]) for example in parts["train"])
    choose_attention(model, longest, settings.bf16)

    def scores(model: Network, part: str) -> FloatArray:
        return _row_scores(model, tokenizer, parts[part], answers, job)

    def evaluate(model: Network) -> dict[str, float]:
        reached = _figures(job, scores(model, "dev"))
        return {**reached, "score": reached["spearman"]}

    before = {part: _figures(job, scores(model, part)) for part in ("dev", "test")}
    if recipe.lora:
        model = _with_adapter(model, recipe.lora, settings.seed)
    task = LearningTask(
        name="judge",
        model=model,
        tokenizer=tokenizer,
        examples=parts["train"],
        evaluate=evaluate,
        objective="answers",
        label="judge: training",
        answers=answers,
    )
    result = fit(task, settings, job.work, job.runtime, watch)
    model = result.model.merge_and_unload() if recipe.lora else result.model
    predicted = scores(model, "test")
    # The dev part was evaluated when the best epoch was chosen.
    after = {"dev": {n: result.best[n] for n in before["dev"]}, "test": _figures(job, predicted)}
    reached, untaught = (
        {part: {QUALITY: figures} for part, figures in by_part.items()}
        for by_part in (after, before)
    )
    report = JudgeReport(reached, untaught, dict(result.best), _worth(job, predicted))
    if is_main_process():
        # The weights are saved in the number format of the original model.
        save_model(model.to(stored) if stored is not None else model, tokenizer, job.folder)
        seen = job.data.take([*job.split.train, *job.split.dev])
        record = {
            "format": JUDGE_FORMAT,
            "run": run,
            "metric": job.metric,
            "prompt": job.prompt,
            **asdict(report),
        }
        job.finish({*seen.sources, *seen.outputs}, record, _card(job, report))
    wait_for_all()
    return report


def answer_pieces(
    tokenizer: Tokenizer, values: Mapping[str, float], model: str
) -> tuple[Answers, dict[str, list[int]]]:
    """Return the answers with their deciding word pieces, and all word pieces of each answer.

    Args:
        tokenizer: the model's tokenizer.
        values: the value of each answer.
        model: name of the model, for errors.

    Raises:
        InputError: no single word piece distinguishes all answers.
    """
    pieces = {
        answer: list(tokenizer(answer, add_special_tokens=False)["input_ids"]) for answer in values
    }
    place = 0
    while len({ids[place] if place < len(ids) else -1 for ids in pieces.values()}) == 1:
        place += 1
    deciding = tuple(ids[place] if place < len(ids) else -1 for ids in pieces.values())
    if len(set(deciding)) < len(deciding) or -1 in deciding:
        raise InputError(
            f"{model}: its tokenizer encodes the answers {', '.join(values)} in such a way that no "
            "single word piece distinguishes them; teach another model or protocol"
        )
    if tokenizer.eos_token_id is not None:
        pieces = {answer: [*ids, tokenizer.eos_token_id] for answer, ids in pieces.items()}
    return Answers(pieces=deciding, place=place, values=tuple(values.values())), pieces


def _examples(
    job: JudgeJob, tokenizer: Tokenizer, pieces: Mapping[str, Sequence[int]]
) -> list[EncoderInputs | None]:
    """Return an example for each lesson; None if it is too long."""
    longest = cut_length(tokenizer, job.recipe.settings.max_length)
    if not getattr(tokenizer, "chat_template", None):
        raise InputError(
            f"{job.recipe.encoder}: has no chat template, so servers could not use it; choose "
            "a model that was trained to follow instructions"
        )
    groups, names = job.data.groups(), list(job.answers)
    examples: list[EncoderInputs | None] = []
    for lesson in job.lessons:
        text = tokenizer.apply_chat_template(
            [dict(message) for message in lesson.messages],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=False,
        )
        # As on servers, the answer is tokenised separately from the question.
        question = tokenizer(text, add_special_tokens=False)["input_ids"]
        answer = pieces[names[int(np.argmax(lesson.shares))]]
        ids = [*question, *answer]
        example = {
            "input_ids": ids,
            "answer": len(answer),
            "shares": list(lesson.shares),
            "group": int(groups[lesson.rows[0]]),
            "points": float(job.data.ratings[lesson.rows[0], 0]),
            "rows": list(lesson.rows),
        }
        examples.append(example if len(ids) <= longest else None)
    return examples


def _row_scores(
    model: Network,
    tokenizer: Tokenizer,
    examples: Sequence[EncoderInputs],
    answers: Answers,
    job: JudgeJob,
) -> FloatArray:
    """Return the mean score of each row of the data; NaN for rows that no question shows.

    In a question about two corrections, the first gets the score and the second 1 minus the score;
    the mean share of wins is mapped to the scale of the ratings.
    """
    import torch

    totals, counts = np.zeros((2, len(job.data)))
    model.eval()
    lengths = [len(example["input_ids"]) for example in examples]

    def values_of(batch: list[int]) -> list[float]:
        chosen = [examples[place] for place in batch]
        inputs = answer_batch(tokenizer, chosen)
        inputs |= {name: inputs[name].to(model.device) for name in ("input_ids", "attention_mask")}
        with torch.inference_mode(), half_precision(model, job.recipe.settings.bf16):
            logits = model(**inputs).logits
        shares = answer_shares(logits, [int(example["answer"]) for example in chosen], answers)
        values = (shares @ torch.tensor(answers.values, device=shares.device)).cpu().double()
        return list(values.tolist())

    batches = in_batches(model, lengths, values_of, job.runtime.batch_size)
    with job.runtime.progress.task("judge: evaluation", len(examples)) as bar:
        for batch, values in batches:
            for place, value in zip(batch, values, strict=True):
                row_scores = (value, 1 - value)
                for row, score in zip(examples[place]["rows"], row_scores, strict=False):
                    totals[row] += score
                    counts[row] += 1
            bar.advance(len(batch))
    with np.errstate(invalid="ignore"):
        means = totals / counts
    scale = job.data.scale
    pairs = job.recipe.protocol == "pairwise"
    return scale.low + (scale.high - scale.low) * means if pairs else means


@contextmanager
def half_precision(model: Network, enabled: bool) -> Iterator[None]:
    """Compute in bfloat16, except for the logits: its steps are so large that grades would tie."""
    import torch

    kind = model.device.type

    def in_32_bits(head: Network, inputs: tuple[Tensor, ...], _logits: Tensor) -> Tensor:
        with torch.autocast(kind, enabled=False):
            return torch.nn.functional.linear(inputs[0].float(), head.weight.float(), head.bias)

    hook = model.get_output_embeddings().register_forward_hook(in_32_bits) if enabled else None
    try:
        with torch.autocast(kind, torch.bfloat16, enabled=enabled):
            yield
    finally:
        if hook is not None:
            hook.remove()


def _figures(job: JudgeJob, scores: FloatArray) -> dict[str, float]:
    """Return the figures for the rows that have scores."""
    scored = np.isfinite(scores)
    return aspect_figures(job.data.ratings[scored, 0], scores[scored])


def _worth(job: JudgeJob, predicted: FloatArray) -> Worth:
    rows = [row for row in job.split.test.tolist() if np.isfinite(predicted[row])]
    train, test = job.data.take(job.split.train), job.data.take(rows)
    scored = {QUALITY: predicted[rows]}
    return worth_of_ratings(train, test, scored, job.recipe.language, "the scores that were taught")


def _with_adapter(model: Network, rank: int, seed: int) -> Network:
    """Return the model with low-rank adapters (LoRA) at its linear layers; only these are trained.

    Raises:
        MissingExtraError: peft is not installed.
    """
    import torch

    try:
        from peft import LoraConfig, get_peft_model
    except ModuleNotFoundError:
        raise MissingExtraError(
            f"`lora=` needs the package peft: {install_hint('lora')}, or leave out `lora=`"
        ) from None
    # The adapters' first weights are drawn: the same command must draw the same ones.
    torch.manual_seed(seed)
    adapter = LoraConfig(
        r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM"
    )
    with warnings.catch_warnings():
        # peft uses names that are deprecated in transformers 5.
        warnings.simplefilter("ignore", FutureWarning)
        return get_peft_model(model, adapter)


def _card(job: JudgeJob, report: JudgeReport) -> str:
    rows = [
        (what, part, *(figures[part][QUALITY][name] for name in ("pearson", "spearman", "rmse")))
        for what, figures in (("taught", report.figures), ("untaught", report.untaught))
        for part in ("dev", "test")
    ]
    results = markdown_table(("model", "part", "Pearson", "Spearman", "RMSE"), rows)
    return model_card(
        job,
        "A judge of corrections",
        "judge",
        data={
            "corrections": str(len(job.data)),
            "fingerprint": job.data.print,
            "split": f"{job.split}, by {'column' if job.data.names else 'source'}",
            "prompt": job.prompt,
        },
        results="\n\n".join([worth_table(report.worth), results]),
        usage=f"gecjury score SOURCE HYP -m {job.metric}",
        notes=[
            "Only this prompt and this form of answer were taught; other prompts were not tested",
            "The epoch was chosen on the dev part: only the figures on test are unbiased",
            "Languages, writers and scales other than those of the ratings were not tested",
        ],
        about=_ABOUT,
        extra="judges",
        pipeline="text-generation",
    )


_ABOUT = """\
Scores corrections of sentences as an LLM judge of gecjury, without a reference.

**Meant for** comparing grammatical error correction systems on many sentences, together with other
metrics. **Not meant for** grading people's writing, for judging a single sentence, or for deciding
anything about a person."""
