"""Asking language models: which model, on which server, and how. Judges say what is asked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, Self, TypeVar

from gecjury.core.addresses import SERVER_VARIABLE, default_server, public_address
from gecjury.core.errors import OptionError, known_name
from gecjury.core.runtime import Runtime
from gecjury.core.settings import option
from gecjury.judges.asking.ask import Asked, Question, ask, plan_work
from gecjury.judges.backends.registry import BACKENDS, Connect, connect
from gecjury.judges.backends.vllm import read_engine
from gecjury.judges.exchange import Effort, Model
from gecjury.judges.models import read_models, reasoning_range
from gecjury.scoring.scorer import Scorer, setting
from gecjury.scoring.scores import Plan
from gecjury.scoring.signature import Setting

T = TypeVar("T")


@dataclass(frozen=True)
class Asker(Scorer):
    """Base of metrics that ask language models; subclasses say what is asked.

    Attributes:
        backend: `openai` (also for any server that speaks its protocol) or `vllm`.
        model: its name on the server or the hub, or a folder; required. Several, joined by `+`, are
            a panel, which has one backend and server for all models or one for each. Kobayashi et
            al. (2024) asked gpt-4-1106-preview, which was shut down in 2026.
        base_url: server for `openai`; several, joined by `+`, share one model's work. The default
            is the server in `$OPENAI_BASE_URL`, else OpenAI's.
        repeats: how often each question is asked; verdicts are averaged.
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
    """

    asks: ClassVar[bool] = True
    shared: ClassVar[str] = "how models are asked (the same for all judges)"
    """The heading of its options in listings."""
    connect: ClassVar[Connect] = staticmethod(connect)

    backend: str = "openai"
    model: str | None = setting(None, names="model")
    base_url: str | None = field(default=None, repr=False)
    repeats: int = option(1, least=1)
    temperature: float = option(0.0, least=0, most=2)
    seed: int = option(0, least=0)
    max_tokens: int | None = option(None, least=1)
    thinking: bool = False
    effort: Effort = "auto"
    structured: Literal["auto", "schema", "text"] = "auto"
    tries: int = option(3, least=1)
    engine: str | None = setting(None, place=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        for backend in self.backend.split("+"):
            known_name(f"backend of {self.name}", backend, BACKENDS)
        if self.thinking and self.effort == "none":
            raise OptionError(f"{self.name}: effort=none and thinking=true cannot be combined")
        if self.model:
            self.models()

    @property
    def weighted(self) -> bool:
        """True if answers are weighted by the probabilities of their tokens."""
        return False

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
                f"{read_models().suggestion()}; with `dry_run=True` the command counts requests, "
                "tokens and cost and sends nothing. A model of your own: "
                f"-m {self.name}:base_url=http://HOST:PORT/v1,model=NAME, or {local}"
            )
        names = self.model.split("+")
        backends = self._for_each("backend", self.backend, len(names))
        address = self.address or ""
        urls = [address] if len(names) == 1 else self._for_each("base_url", address, len(names))
        if self.engine and "vllm" not in backends:
            raise OptionError(f"{self.name}: engine={self.engine} is for backend=vllm")
        options = read_engine(self.engine) if self.engine else ()
        return tuple(
            Model(
                backend=backend,
                name=name,
                base_url=url if backend == "openai" else "",
                logprobs=self.weighted,
                effort=self.effort,
                structured=self.structured,
                options=options if backend == "vllm" else (),
            )
            for backend, name, url in zip(backends, names, urls, strict=True)
        )

    def _for_each(self, name: str, text: str, count: int) -> list[str]:
        """Return the parts of an option for each model; one part is for all of them."""
        parts = text.split("+")
        if len(parts) == 1:
            return parts * count
        if len(parts) != count:
            raise OptionError(
                f"{self.name}: {name} names {len(parts)}, model {count}; give one for all models "
                "or one for each, joined by +"
            )
        return parts

    @property
    def address(self) -> str | None:
        """`base_url`, with the server in `$OPENAI_BASE_URL` where it names none."""
        default = default_server()
        if not default or "openai" not in self.backend.split("+"):
            return self.base_url
        return "+".join(part or default for part in (self.base_url or "").split("+"))

    @property
    def server_notes(self) -> tuple[str, ...]:
        """A note on a server that the command does not name."""
        if (self.address or "") == (self.base_url or ""):
            return ()
        return (
            f"{self.name}: requests go to {public_address(default_server())}, as "
            f"${SERVER_VARIABLE} says; its replies are stored separately from OpenAI's",
        )

    def settings(self) -> dict[str, Setting]:
        """Return all options that can change a score, with the values in effect."""
        # A key in the address is not a setting.
        return super().settings() | {"base_url": self.address and public_address(self.address)}

    def plan_of(
        self, pose: Callable[[Model], Sequence[Question[object]]], runtime: Runtime
    ) -> Plan:
        """Return requests, tokens and cost of the questions that no stored reply answers yet.

        Args:
            pose: returns the questions to a model.
        """
        plans = [plan_work(pose(m), m, runtime, self.tries - 1) for m in self.models()]
        notes = self.server_notes + tuple(
            f"{model.name} reasons before it answers: hidden tokens are paid for as output. The "
            f"range assumes {least:,} to {most:,} of them per answer, which tokens.output and "
            "cost.amount leave out; `max_cost=` counts them"
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

    def ask(self, questions: Sequence[Question[T]], model: Model, runtime: Runtime) -> Asked[T]:
        """Return the answers of a model; see `gecjury.judges.asking.ask.ask`."""
        what = f"{self.name}: {model.name}"
        return ask(questions, model, runtime, self.tries - 1, what, self.connect)

    def asking(self, connect: Connect) -> Self:
        """Return the judge with another connection to its models, e.g. your own client."""
        judge = replace(self)
        object.__setattr__(judge, "connect", connect)
        return judge
