"""The base of all judges: options, models and prompts, and how questions are posed and counted."""

from __future__ import annotations

import statistics
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np

from gecjury.core.addresses import SERVER_VARIABLE, default_server, public_address
from gecjury.core.errors import OptionError, known_name
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.languages.language import ENGLISH, Language
from gecjury.corpus.leakage import corpus_texts
from gecjury.judges.asking.ask import Connect, Question, ask, plan_work
from gecjury.judges.asking.exchange import Effort, Model
from gecjury.judges.asking.models import read_models, reasoning_range
from gecjury.judges.audit import ScoredQuestion, audit_of, merge_audits, scored_questions
from gecjury.judges.backends.backend import BACKENDS, connect
from gecjury.judges.backends.vllm import read_engine
from gecjury.judges.own_wording import (
    Examples,
    VerdictColumn,
    keep_own,
    read_criterion,
    read_examples,
    read_own,
)
from gecjury.judges.showing import extraction_parts
from gecjury.models.origin import taught_judge
from gecjury.prompts import CRITERIA, Prompt, has, read
from gecjury.scoring.scorer import Scorer, setting
from gecjury.scoring.scores import Plan, Statistics
from gecjury.scoring.signature import Setting, Signature


@dataclass(frozen=True)
class Judge(Scorer):
    """Base of all judges: a scorer whose verdicts come from a language model.

    Attributes:
        backend: `openai` (also for any server that speaks its protocol) or `vllm`.
        model: its name on the server or the hub, or a folder; required. Several, joined by `+`, are
            a panel, which has one backend and server for all models or one for each. Kobayashi et
            al. (2024) asked gpt-4-1106-preview, which was shut down in 2026.
        base_url: server for `openai`; several, joined by `+`, share one model's work. The default
            is the server in `$OPENAI_BASE_URL`, else OpenAI's.
        context: `corpus`, `neighbours`, `none` or a file; see
            `gecjury.judges.showing.read_contexts`.
        scoring: the verdict as written, or the probability-weighted one.
        repeats: how often each question is asked; verdicts are averaged.
        panel: how the verdicts of several models become one.
        temperature: of sampling.
        seed: of sampling and of permutations.
        max_tokens: cap on an answer; by default what the answer needs, with some room.
        thinking: whether a model that can think before it answers does so; `effort` controls the
            same in more detail.
        effort: how much a model reasons before it answers; `auto` follows `thinking`, else the
            model's own default.
        structured: answers by JSON schema (`schema`), by instruction and tolerant reading
            (`text`), or as the model is known to allow (`auto`: a schema, unless it thinks).
        tries: how often a question is asked until its reply can be read.
        engine: a TOML file with vLLM's own settings, such as `tensor_parallel_size`,
            `gpu_memory_utilization` and `max_model_len`.
        prompt: a file with your own wording; `gecjury judgments prompt` prints the built-in one. Or
            `short-grade`, the packaged prompt of taught judges, for `protocol=pointwise`.
        examples: a table of judged corrections that the model is shown before each question.
        reason: whether the model gives a short reason before every verdict.
        criterion: what to judge by: a published criterion, a file or a sentence.
    """

    family: ClassVar[str] = "judges"
    asks: ClassVar[bool] = True
    connect: ClassVar[Connect] = staticmethod(connect)
    wording_name: ClassVar[str]
    """The name of the prompt of the judge's own question."""
    shows_edits: ClassVar[bool] = False
    """True if prompts show edits, which depend on the tagger."""

    backend: str = "openai"
    model: str | None = setting(None, names="model")
    base_url: str | None = field(default=None, repr=False)
    context: str = "corpus"
    scoring: Literal["argmax", "expected"] = "argmax"
    repeats: int = option(1, least=1)
    panel: Literal["mean", "median", "majority"] = "mean"
    temperature: float = option(0.0, least=0, most=2)
    seed: int = option(0, least=0)
    max_tokens: int | None = option(None, least=1)
    thinking: bool = False
    effort: Effort = "auto"
    structured: Literal["auto", "schema", "text"] = "auto"
    tries: int = option(3, least=1)
    engine: str | None = setting(None, place=True)
    prompt: str | None = None
    examples: str | None = None
    reason: bool = False
    criterion: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        for backend in self.backend.split("+"):
            known_name(f"backend of {self.name}", backend, BACKENDS)
        if self.thinking and self.effort == "none":
            raise OptionError(f"{self.name}: effort=none and thinking=true cannot be combined")
        if self.model:
            self.models()
        self.wording()

    @property
    def usual_wording(self) -> str:
        """The name of the prompt that is used without `prompt`."""
        return self.wording_name

    @property
    def example_verdict(self) -> VerdictColumn:
        """The column of `examples` with the verdict."""
        return "score"

    def wording(self, language: Language = ENGLISH) -> Prompt:
        """Return the prompt in use for texts in a language.

        Raises:
            InputError: a file of the user's cannot be used.
            OptionError: the criterion is unknown, or the prompt has no place for it.
        """
        added = None
        if self.criterion is not None:
            published = CRITERIA.get(self.wording_name, ())
            added = read_criterion(self.name, self.criterion, published)
        if self.prompt:
            # The user's file needs the placeholders of the built-in wording.
            protocol = getattr(self, "protocol", None)
            typed = f"{self.name}:protocol={protocol}" if protocol else self.name
            own = read_own(self.prompt, read(self.usual_wording).placeholders, typed, added)
            wording = replace(own, language=language.name)
        else:
            wording = load_wording(self.usual_wording, added, language)
        shown = self.shown_examples
        return replace(
            wording,
            reason=read("reason") if self.reason else None,
            examples=shown.digest if shown else "",
        )

    @property
    def shown_examples(self) -> Examples | None:
        """The judged corrections that the model is shown; None without.

        Raises:
            InputError: the file cannot be used.
        """
        if self.examples is None:
            return None
        return read_examples(self.examples, self.example_verdict, reasons=self.reason)

    @abstractmethod
    def rendered_examples(
        self, examples: Examples, wording: Prompt, language: Language, runtime: Runtime
    ) -> Sequence[tuple[str, Mapping[str, Any]]]:
        """Return each example as a question, in the judge's own wording, and its answer."""

    @abstractmethod
    def questions(self, corpus: Corpus, model: Model, runtime: Runtime) -> list[Question]:
        """Return all questions to a model, repeated ones included."""

    def models(self) -> tuple[Model, ...]:
        """Return the models of the panel; one model if the judge is not a panel.

        Raises:
            OptionError: no model is named, or backends, models and servers do not pair up.
        """
        if not self.model:
            local = f"-m {self.name}:backend=vllm,model=FOLDER, or a name of the hub"
            if "openai" not in self.backend:
                raise OptionError(f"{self.name}: name the model to ask: {local}")
            raise OptionError(
                f"{self.name}: name the model to ask, e.g. -m {self.name}:"
                f"{read_models().suggestion()}; with --dry-run the command counts requests, tokens "
                "and cost and sends nothing. A model of your own: "
                f"-m {self.name}:base_url=http://HOST:PORT/v1,model=NAME, or {local}"
            )
        names = self.model.split("+")
        backends = _for_each(self, "backend", self.backend, len(names))
        address = self.address or ""
        urls = [address] if len(names) == 1 else _for_each(self, "base_url", address, len(names))
        if self.engine and "vllm" not in backends:
            raise OptionError(f"{self.name}: engine={self.engine} is for backend=vllm")
        options = read_engine(self.engine) if self.engine else ()
        return tuple(
            Model(
                backend=backend,
                name=name,
                base_url=url if backend == "openai" else "",
                logprobs=self.scoring == "expected",
                effort=self.effort,
                structured=self.structured,
                options=options if backend == "vllm" else (),
            )
            for backend, name, url in zip(backends, names, urls, strict=True)
        )

    @property
    def address(self) -> str | None:
        """`base_url`, with the server in `$OPENAI_BASE_URL` where it names none."""
        default = default_server()
        if not default or "openai" not in self.backend.split("+"):
            return self.base_url
        return "+".join(part or default for part in (self.base_url or "").split("+"))

    def check(self, corpus: Corpus) -> None:
        """Refuse what `Scorer.check` does, a judge without a model, and examples of the corpus."""
        super().check(corpus)
        self.models()
        if self.shows_edits:
            # Missing packages are reported before the questions of other judges are paid for.
            extraction_parts(corpus.language)
        if (examples := self.shown_examples) is not None:
            # Examples must not come from the rest of the benchmark either if a sample is judged.
            whole = corpus if corpus.drawn is None else corpus.drawn[0]
            shown = [text for group in whole.groups or () for text in group.texts]
            examples.refuse_leaks(corpus_texts(whole, systems=True) | {"correction": shown})

    def settings(self) -> dict[str, Setting]:
        """Return all options that can change a score, with the values in effect."""
        # A key in the address is not a setting.
        return super().settings() | {"base_url": self.address and public_address(self.address)}

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """Return the prompt with its digest, a context file's digest, and the tagger of edits."""
        return _prompt_parts(self, ENGLISH)

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, with the prompt and the tagger for the texts' language."""
        signature = super().signature(corpus, runtime)
        if corpus.language == ENGLISH:
            return signature
        return replace(signature, extra={**signature.extra, **_prompt_parts(self, corpus.language)})

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan:
        """Return requests, tokens and cost of what no stored reply answers yet."""
        return self.plan_of(lambda model: self.questions(corpus, model, runtime), runtime)

    def plan_of(self, pose: Callable[[Model], list[Question]], runtime: Runtime) -> Plan:
        """Return the plan for the questions that are posed to each model."""
        plans = [plan_work(pose(m), m, runtime, self.tries - 1) for m in self.models()]
        notes = _server_notes(self) + tuple(
            f"{model.name} reasons before it answers: hidden tokens are paid for as output. The "
            f"range assumes {least:,} to {most:,} of them per answer, which tokens.output and "
            "cost.amount leave out; --max-cost counts them"
            for model in self.models()
            for least, most in [reasoning_range(model, thinking=self.thinking)]
            if most
        )
        details = {
            "metric": self.name,
            "model": self.model,
            "posed": sum(plan.details["posed"] for plan in plans),
            "stored": sum(plan.details["stored"] for plan in plans),
            "counted": "; ".join(dict.fromkeys(plan.details["counted"] for plan in plans)),
            **({"notes": list(notes)} if notes else {}),
        }
        return replace(Plan.total(plans), details=details)

    def verdicts(
        self,
        pose: Callable[[Model], list[Question]],
        rows: Sequence[int],
        sizes: Sequence[int],
        language: Language,
        runtime: Runtime,
    ) -> tuple[list[list[float]], Statistics]:
        """Ask every model of the panel, and combine their verdicts.

        Args:
            pose: returns the questions to a model.
            rows: the source's row of each candidate set.
            sizes: how many corrections each set has.
            language: language of the texts.
            runtime: concurrency, caches, progress, budget.

        Returns:
            For each set the score of each correction, NaN where the panel has none, and statistics
            with the audit in their details.
        """
        by_model, audits, taught = [], [], []
        if self.prompt and runtime.use_cache:
            keep_own(self.prompt, runtime.cache_folder("judgments"))
        for model in self.models():
            start = time.perf_counter()
            questions = pose(model)
            what = f"{self.name}: {model.name}"
            asked = ask(questions, model, runtime, self.tries - 1, what, self.connect)
            by_model.append(mean_scores(scored_questions(questions, asked), sizes))
            seconds = time.perf_counter() - start
            audits.append(audit_of(model, questions, asked, rows, runtime, seconds))
            taught += _taught_otherwise(self, model, questions)
        scores = [
            [combine(said, self.panel) for said in zip(*means, strict=True)]
            for means in zip(*by_model, strict=True)
        ]
        audit, notes = merge_audits(audits, by_model)
        notes = (*notes, *taught, *_server_notes(self), *_wording_notes(self, language))
        return scores, Statistics(np.empty(0), None, {"audit": audit}, notes)

    def asking(self, connect: Connect) -> Self:
        """Return the judge with another connection to its models, e.g. your own client."""
        judge = replace(self)
        object.__setattr__(judge, "connect", connect)
        return judge

    def needs_all(self) -> str:
        """Return why all sentences are needed; neighbours and a file's lines belong to a corpus."""
        if self.context not in ("corpus", "none"):
            return f"context={self.context} shows neighbours in the corpus; use context=none"
        return super().needs_all()


def _for_each(judge: Judge, name: str, text: str, count: int) -> list[str]:
    """Return the parts of an option for each model; one part is for all of them."""
    parts = text.split("+")
    if len(parts) == 1:
        return parts * count
    if len(parts) != count:
        raise OptionError(
            f"{judge.name}: {name} names {len(parts)}, model {count}; give one for all models "
            "or one for each, joined by +"
        )
    return parts


def _server_notes(judge: Judge) -> tuple[str, ...]:
    """Return a note on a server that the command does not name."""
    if (judge.address or "") == (judge.base_url or ""):
        return ()
    return (
        f"{judge.name}: requests go to {public_address(default_server())}, as "
        f"${SERVER_VARIABLE} says; its replies are stored separately from OpenAI's",
    )


def _wording_notes(judge: Judge, language: Language) -> tuple[str, ...]:
    """Return a note if the packaged prompt has no version for the texts' language."""
    if judge.prompt or language.code == ENGLISH.code or judge.wording(language).language:
        return ()
    return (
        f"{judge.name}: the prompt {judge.usual_wording} is worded for English only, and is used "
        f"as it is for texts in {language.name}",
    )


def _taught_otherwise(judge: Judge, model: Model, questions: Sequence[Question]) -> list[str]:
    """Return a note if a taught judge is not asked as it was taught."""
    taught = taught_judge(model.name) if model.backend == "vllm" and questions else None
    if taught is None:
        return []
    name, _, options = taught.metric.partition(":")
    parts = (
        ("the prompt", taught.prompt, questions[0].request.prompt),
        ("judge", name, judge.name),
        ("scoring", "expected" if "scoring=expected" in options else "argmax", judge.scoring),
    )
    asked = [f"{what} {now} (taught: {before})" for what, before, now in parts if now != before]
    if not asked:
        return []
    return [
        f"{model.name} is asked with {', '.join(asked)}: its scores are untested; it was taught "
        f"for -m {taught.metric}"
    ]


def _prompt_parts(judge: Judge, language: Language) -> dict[str, str]:
    """Return what the signature says of prompt, context and edits."""
    extra = {"prompt": judge.wording(language).id}
    if judge.context not in ("corpus", "neighbours", "none"):
        from gecjury.core.textfiles import read_lines
        from gecjury.corpus.fingerprints import fingerprint

        extra["context"] = fingerprint(read_lines(judge.context))[:8]
    return extra | (extraction_parts(language) if judge.shows_edits else {})


_NAMED = 2
"""Version of the prompts that name the language; the published ones are for English."""
_WITH_CRITERION = {"edit-verdict": 2}
"""How many versions later a prompt has a place for a criterion, if its first version has none."""


def load_wording(name: str, added: Prompt | None = None, language: Language = ENGLISH) -> Prompt:
    """Read a prompt of this package.

    Args:
        name: name of the prompt.
        added: the sentence of a criterion.
        language: language of the texts, which prompts for languages other than English name. A
            prompt without such a version is read as it is for English.
    """
    later = _WITH_CRITERION.get(name, 0) if added else 0
    named = language.code != ENGLISH.code and has(name, _NAMED + later)
    prompt = read(name, (_NAMED if named else 1) + later)
    return replace(prompt, added=added, language=language.name if named else "")


def mean_scores(scored: Sequence[ScoredQuestion], sizes: Sequence[int]) -> list[list[float]]:
    """Return for each candidate set the mean score of each correction; NaN where it has none.

    Args:
        scored: the questions of one model whose replies could be read.
        sizes: how many corrections each set has.
    """
    # One array for all sets: a hundred thousand small arrays need more memory than their numbers.
    starts = np.concatenate([[0], np.cumsum(sizes, dtype=int)]).tolist()
    sums, counts = np.zeros(starts[-1]), np.zeros(starts[-1])
    for question, scores in scored:
        places = [starts[question.set] + text for text in question.texts]
        np.add.at(sums, places, scores)
        np.add.at(counts, places, 1)
    with np.errstate(invalid="ignore"):
        means = (sums / counts).tolist()
    return [means[start:end] for start, end in pairwise(starts)]


def combine(scores: Sequence[float], how: Literal["mean", "median", "majority"]) -> float:
    """Return one score for several models' scores of one correction.

    Args:
        scores: one per model; NaN where a model has none.
        how: `majority` takes the most frequent score, and the median of several equally
            frequent ones.

    Returns:
        NaN unless more than half of the models have a score: fewer do not represent the panel.
    """
    verdicts = [score for score in scores if not np.isnan(score)]
    if 2 * len(verdicts) <= len(scores):
        return float("nan")
    if how == "mean":
        return statistics.fmean(verdicts)
    # Nothing but their median decides between equally frequent scores.
    return statistics.median(statistics.multimode(verdicts) if how == "majority" else verdicts)
