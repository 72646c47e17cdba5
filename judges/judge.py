"""What all judges share: their options, their models, and how a request is made from a prompt."""

from __future__ import annotations

import json
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, Self

from gecjury.addresses import SERVER_VARIABLE, default_server, public_address
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.language import ENGLISH, Language
from gecjury.errors import InputError, OptionError
from gecjury.judges.asking.ask import Asked, Connect, Question, Work, ask, count_work
from gecjury.judges.asking.exchange import Model, Request
from gecjury.judges.asking.models import model_table, read_models, today
from gecjury.judges.backends.backend import BACKENDS
from gecjury.judges.backends.capabilities import Capabilities, capabilities, is_official
from gecjury.judges.backends.connect import connect
from gecjury.judges.replies.expected import TOP_TOKENS
from gecjury.judges.showing import Context, cut_context, nonce, one_line, read_contexts
from gecjury.prompts import Prompt, PromptError, criterion, read
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan
from gecjury.scoring.signature import Setting, Signature

_THINKING_TOKENS = 8192
_REASONING_TOKENS = 4096
# Where a score is computed, never what it is.
_PLACE = {"place": True}


@dataclass(frozen=True)
class Wording:
    """A prompt with its criterion, ready to be rendered.

    Attributes:
        prompt: the wording.
        criterion: the sentence that a criterion adds; empty without one.
        id: both with their digests.
        language: the texts' in English, for prompts that name it.
    """

    prompt: Prompt
    criterion: str = ""
    id: str = ""
    language: str = ""

    def render(self, **values: str) -> str:
        """The prompt, its criterion and language filled in where it has a place for them."""
        own = {"criterion": self.criterion, "language": self.language}
        values |= {name: text for name, text in own.items() if name in self.prompt.placeholders}
        return self.prompt.render(**values)


@dataclass(frozen=True)
class Judge(Scorer):
    """Base of all judges: a scorer whose verdicts come from a language model.

    Attributes:
        backend: `openai` (also for any server that speaks its protocol) or `vllm`.
        model: as the server or the hub calls it, or a folder; has to be named. Several, joined by
            `+`, are a panel; backends and servers are then one for all or one each. Kobayashi et
            al. (2024) asked gpt-4-1106-preview, which was shut down in 2026.
        base_url: server for `openai`; several, joined by `+`, share one model's work. Where none
            is named, the one that `$OPENAI_BASE_URL` says, else OpenAI's.
        context: `corpus`, `neighbours`, `none` or a file; see
            `gecjury.judges.showing.read_contexts`.
        scoring: the verdict as written, or the probability-weighted one.
        repeats: how often each question is asked; verdicts are averaged.
        panel: how the verdicts of several models become one.
        temperature: of sampling.
        seed: of sampling and of permutations.
        max_tokens: cap on an answer; by default what the answer needs, with room.
        thinking: whether a model that can think before it answers does.
        structured: answers by JSON schema (`schema`), by instruction and tolerant reading
            (`text`), or as the model is known to allow (`auto`: a schema, unless it thinks).
        tries: how often a question is asked until its reply can be read.
        tensor_parallel: GPUs for one model in process.
        gpu_memory: share of GPU memory that a model in process may take.
        max_model_len: context of a model in process, if less than its own.
    """

    family: ClassVar[str] = "judges"
    must_name: ClassVar[Mapping[str, str]] = {"model": "model"}
    connect: ClassVar[Connect] = staticmethod(connect)

    backend: str = "openai"
    model: str | None = None
    base_url: str | None = field(default=None, repr=False)
    context: str = "corpus"
    scoring: Literal["argmax", "expected"] = "argmax"
    repeats: int = 1
    panel: Literal["mean", "median", "majority"] = "mean"
    temperature: float = 0.0
    seed: int = 0
    max_tokens: int | None = None
    thinking: bool = False
    structured: Literal["auto", "schema", "text"] = "auto"
    tries: int = 3
    tensor_parallel: int = field(default=1, metadata=_PLACE)
    gpu_memory: float | None = field(default=None, metadata=_PLACE)
    max_model_len: int | None = field(default=None, metadata=_PLACE)

    def __post_init__(self) -> None:
        for backend in self.backend.split("+"):
            if backend not in BACKENDS:
                raise OptionError(
                    f"{self.name}: unknown backend {backend!r}; expected {' or '.join(BACKENDS)}"
                )
        for name, low in (("repeats", 1), ("tries", 1), ("seed", 0), ("tensor_parallel", 1)):
            if getattr(self, name) < low:
                raise OptionError(
                    f"{self.name}: {name}={getattr(self, name)} is out of range; "
                    f"expected {low} or more"
                )
        for name in ("max_tokens", "max_model_len"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise OptionError(
                    f"{self.name}: {name}={value} is out of range; expected 1 or more"
                )
        if not 0 <= self.temperature <= 2:
            raise OptionError(
                f"{self.name}: temperature={self.temperature} is out of range; expected 0 to 2"
            )
        if self.model:
            self.models()
        self.wording()

    @abstractmethod
    def wording(self, language: Language = ENGLISH) -> Wording:
        """The prompt in use for texts in a language."""

    @abstractmethod
    def questions(self, corpus: Corpus, model: Model, runtime: Runtime) -> list[Question]:
        """Everything that is asked of a model, repeated questions included."""

    def models(self) -> tuple[Model, ...]:
        """The models of the panel; one for a judge that is none.

        Raises:
            OptionError: no model is named, or backends, models and servers do not pair up.
        """
        if not self.model:
            own = (
                f"{self.name}:backend=vllm,model=FOLDER, or a name of the hub as Qwen/Qwen3-8B",
                f"{self.name}:base_url=http://HOST:PORT/v1,model=NAME",
            )
            if "openai" not in self.backend:
                raise OptionError(f"{self.name}: name the model to ask: -m {own[0]}")
            raise OptionError(
                f"{self.name}: name the model to ask, e.g. -m {self.name}:"
                f"{read_models().suggestion()}; with --dry-run the command counts requests, tokens "
                f"and cost and sends nothing. A model of your own: -m {own[1]}, or -m {own[0]}"
            )
        names = self.model.split("+")
        backends = self._each("backend", self.backend, len(names))
        address = self.address or ""
        urls = [address] if len(names) == 1 else self._each("base_url", address, len(names))
        options: dict[str, Any] = {"tensor_parallel_size": self.tensor_parallel}
        if self.gpu_memory is not None:
            options["gpu_memory_utilization"] = self.gpu_memory
        if self.max_model_len is not None:
            options["max_model_len"] = self.max_model_len
        return tuple(
            Model(
                backend=backend,
                name=name,
                base_url=url if backend == "openai" else "",
                thinking=self.thinking,
                logprobs=self.scoring == "expected",
                structured=self.structured,
                options=tuple(options.items()) if backend == "vllm" else (),
            )
            for backend, name, url in zip(backends, names, urls, strict=True)
        )

    @property
    def address(self) -> str | None:
        """`base_url`, filled with what `$OPENAI_BASE_URL` says where it names no server."""
        default = default_server()
        if not default or "openai" not in self.backend.split("+"):
            return self.base_url
        return "+".join(part or default for part in (self.base_url or "").split("+"))

    def check(self, corpus: Corpus) -> None:
        """Refuse what `Scorer.check` does, and a judge without a model."""
        super().check(corpus)
        self.models()

    def notes(self, runtime: Runtime) -> tuple[str, ...]:
        """Return notes on a server that the command does not name, and on OpenAI's models."""
        told = []
        if (self.address or "") != (self.base_url or ""):
            told.append(
                f"{self.name}: requests go to {public_address(default_server())}, as "
                f"${SERVER_VARIABLE} says; its replies are kept apart from OpenAI's"
            )
        if official := [model.name for model in self.models() if is_official(model)]:
            told += model_table(runtime).notes(official)
        return tuple(told)

    def refuse_ended(self, pose: Callable[[Model], list[Question]], runtime: Runtime) -> None:
        """Refuse to ask OpenAI for a model that is shut down; stored replies are still read.

        Args:
            pose: gives the questions to a model.
            runtime: for the table of models and the stored replies.

        Raises:
            OptionError: such a model has something left to answer; nothing was sent to any model.
        """
        table = model_table(runtime)
        for model in self.models():
            end = table.end(model.name) if is_official(model) else None
            if end is None or today() <= end:
                continue
            left = count_work(pose(model), model, runtime, self.tries - 1).requests
            if left:
                raise OptionError(
                    f"{self.name}: OpenAI shut {model.name} down on {end} (table of models of "
                    f"{table.date}), and {left} questions have no stored reply; nothing was sent. "
                    f"Name a model that is served, e.g. {table.suggestion()}, and try it with "
                    "--dry-run first; if the date is wrong, give another table with --prices FILE"
                )

    def _each(self, name: str, text: str, count: int) -> list[str]:
        given = text.split("+")
        if len(given) == 1:
            return given * count
        if len(given) != count:
            raise OptionError(
                f"{self.name}: {name} names {len(given)}, model {count}; give one for all models "
                "or one for each, joined by +"
            )
        return given

    def settings(self) -> dict[str, Setting]:
        """All options that can move a score, with the values in effect."""
        kept = [f.name for f in fields(self) if not f.metadata.get("place")]
        values = {name: getattr(self, name) for name in kept}
        # A key that stands in the address is no setting.
        return values | {"base_url": self.address and public_address(self.address)}

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The prompt with its digest, and a context file's."""
        extra = {"prompt": self.wording().id}
        if self.context not in ("corpus", "neighbours", "none"):
            from gecjury.corpus.corpus import fingerprint
            from gecjury.textfiles import read_lines

            extra["context"] = fingerprint(read_lines(self.context))[:8]
        return extra

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """As usual, with the prompt for the texts' language."""
        found = super().signature(corpus, runtime)
        if corpus.language.code == ENGLISH.code:
            return found
        return replace(found, extra={**found.extra, "prompt": self.wording(corpus.language).id})

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan:
        """Requests, tokens and cost of what no stored reply answers yet."""
        return self.plan_of(lambda model: self.questions(corpus, model, runtime), runtime)

    def plan_of(self, pose: Callable[[Model], list[Question]], runtime: Runtime) -> Plan:
        """The plan for the questions that are posed to each model."""
        self.refuse_ended(pose, runtime)
        parts: list[Work] = []
        posed = 0
        for model in self.models():
            questions = pose(model)
            posed += len(questions)
            parts.append(count_work(questions, model, runtime, self.tries - 1))
        table = model_table(runtime)
        notes = self.notes(runtime) + tuple(
            f"{model.name} reasons before it answers: hidden tokens are paid for as output and are "
            "not in this estimate; --max-cost counts them"
            for model in self.models()
            if capabilities(model).reasons
        )
        costs = [part.cost for part in parts]
        known = [cost for cost in costs if cost is not None]
        amount = sum(known) if len(known) == len(costs) else None
        return Plan(
            sum(part.requests for part in parts),
            {
                "input": sum(part.input_tokens for part in parts),
                "output": sum(part.output_tokens for part in parts),
            },
            {"amount": amount, "currency": table.currency, "prices": table.source},
            {
                "metric": self.name,
                "model": self.model,
                "posed": posed,
                "stored": sum(part.stored for part in parts),
                "counted": "; ".join(dict.fromkeys(part.counted for part in parts)),
                **({"notes": list(notes)} if notes else {}),
            },
        )

    def ask(self, questions: list[Question], model: Model, runtime: Runtime) -> Asked:
        """Ask a model, from the store where it has answered before."""
        return ask(
            questions,
            model,
            runtime,
            retries=self.tries - 1,
            what=f"{self.name}: {model.name}",
            connect=self.connect,
        )

    def asking(self, connect: Connect) -> Self:
        """The same judge, its models reached by another function: with a client of one's own."""
        judge = replace(self)
        object.__setattr__(judge, "connect", connect)
        return judge

    def needs_all(self, systems: int) -> str:
        """As usual, and neighbours are those in the corpus, a file's lines those of one corpus."""
        if self.context not in ("corpus", "none"):
            return f"context={self.context} shows neighbours in the corpus; take context=none"
        return super().needs_all(systems)

    def contexts(self, corpus: Corpus) -> list[Context]:
        """The context of every source."""
        return read_contexts(self.context, corpus)[0]

    def request(
        self,
        model: Model,
        content: str,
        schema: Mapping[str, Any],
        answer: Mapping[str, Any],
        repeat: int,
        cut: Callable[[int], str] | None = None,
        wording: Wording | None = None,
    ) -> Request:
        """A request for one rendered prompt.

        Args:
            model: whom to ask.
            content: the rendered prompt.
            schema: of the answer.
            answer: a typical one.
            repeat: number of the repetition.
            cut: renders the prompt with so many words of context on each side.
            wording: that was rendered; by default the one for English.
        """
        able = capabilities(model)
        structured = able.schema if self.structured == "auto" else self.structured == "schema"
        if self.thinking and self.structured == "auto":
            structured = False  # a grammar that begins with the answer leaves no room to think
        expect = json.dumps(answer, separators=(",", ":"))
        if not structured:
            expect = f"```json\n{json.dumps(answer, indent=2)}\n```"
        return Request(
            backend=model.backend,
            model=model.name,
            base_url=public_address(model.base_url),
            messages=({"role": "user", "content": content},),
            schema=schema if structured else None,
            sampling=self._sampling(able, len(expect), repeat),
            repeat=repeat,
            prompt=(wording or self.wording()).id,
            expect=expect,
            cut=cut,
        )

    def _sampling(self, able: Capabilities, characters: int, repeat: int) -> dict[str, Any]:
        # A token is a character at least, so that any tokenizer has room for a compact answer.
        cap = characters + characters // 2 + 32
        if able.reasons:
            cap += _REASONING_TOKENS
        if self.thinking:
            cap += _THINKING_TOKENS
        sampling: dict[str, Any] = {"max_tokens": self.max_tokens or cap}
        if able.sampling:
            sampling |= {"temperature": self.temperature, "seed": self.seed + repeat}
        if able.effort:
            sampling["reasoning_effort"] = able.effort
        if able.template_options:
            sampling["thinking"] = self.thinking
        if self.scoring == "expected":
            if not able.logprobs:
                raise OptionError(
                    f"{self.name}: {self.model} gives no probabilities of tokens, which "
                    "scoring=expected needs; take another model or scoring=argmax"
                )
            sampling["logprobs"] = TOP_TOKENS
        return sampling


_NAMED = 2
"""Version of the prompts that name the language; the published ones are of English."""


def load_wording(name: str, added: str | None = None, language: Language = ENGLISH) -> Wording:
    """A prompt and, if any, the sentence of a criterion.

    Args:
        name: of the prompt.
        added: of the criterion.
        language: of the texts, which prompts for other languages than English name.

    Raises:
        InputError: a prompt file cannot be used; names it and what is missing.
    """
    try:
        english = language.code == ENGLISH.code
        prompt = read(name) if english else read(name, _NAMED)
        called = "" if english else language.name
        if added is None:
            return Wording(prompt, "", prompt.id, called)
        extra = criterion(added)
        return Wording(prompt, extra.text, f"{prompt.id}+{extra.id}", called)
    except PromptError as error:
        raise InputError(str(error)) from None


def context_lines(source: str, context: Context) -> str:
    """The source between its neighbours; an unknown one leaves an empty line."""
    if context is None:
        return one_line(source)
    return "\n".join(map(one_line, (context[0], source, context[1])))


def render_fenced(
    wording: Wording, source: str, context: Context, texts: Mapping[str, str], **more: str
) -> str:
    """Render a prompt of our own, every text between lines that none of them contains."""
    lines = context_lines(source, context)
    fence = nonce([lines, *texts.values()])
    return wording.render(context=lines, fence=fence, **texts, **more)


def render_cut(
    wording: Wording,
    source: str,
    context: Context,
    texts: Mapping[str, str],
    words: int,
    **more: str,
) -> str:
    """The same as `render_fenced`, with at most so many words of context on each side."""
    return render_fenced(wording, source, cut_context(context, words), texts, **more)
