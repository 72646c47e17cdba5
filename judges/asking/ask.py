"""Ask each question once: answer it from the store, else from the backend, within the budget.

The order is always the same: get a reply, store and sync it, read it, then act on it. A stored
reply is read again in every run, so that reading and scoring follow the options of this run. A
question whose reply cannot be read is asked again by rule: after a truncated reply with twice the
token cap, otherwise with a new seed and, if the temperature is 0, with 0.5, since the same question
would get the same answer. After `retries` further tries the verdict is missing.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Generic, TypeVar

from gecjury.core.errors import IncompleteError, OptionError
from gecjury.core.runtime import Bar, Runtime
from gecjury.judges.asking.ledger import Ledger
from gecjury.judges.asking.store import Identity, Replies, Store, read_store, store_path
from gecjury.judges.asking.tokens import TokenCounter, counter_for
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.backends.completion import MALFORMED
from gecjury.judges.backends.registry import Connect, connect
from gecjury.judges.exchange import THOUGHTS, TOO_LONG, Attempt, Model, Reply, Request, Sampling
from gecjury.judges.models import FREE, PRICES_VARIABLE, model_table, reasoning_range
from gecjury.judges.replies.reply import ONLY_REASONING, UNENDED, Failure, begins_with_answer
from gecjury.scoring.scores import Plan

_REFUSAL = ("i'm sorry", "i am sorry", "i can't", "i cannot", "i’m sorry", "i can’t")
NO_USAGE = "the server reports no tokens, so the most that replies may cost is counted"
"""Why a cost is an estimate."""
CAP_REACHED = "the token cap is reached"
"""The fault of a reply that its token cap cut off."""
# Where a server bills more tokens than there can be, others may exceed the most so far by this.
_MARGIN = 1.3
# Tokens that a chat format adds to a text: marks, role, a system message of its own.
_FORMAT_TOKENS = 32


T = TypeVar("T")
AnswerT_co = TypeVar("AnswerT_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Question(Generic[AnswerT_co]):
    """A request about some corrections of one candidate set, and how its reply is read.

    Equal requests of different sets are asked once.

    Attributes:
        request: the request to the model.
        read: returns the answer in a reply, or what is wrong with the reply.
        set: number of the candidate set, or of whatever else the question is about.
        texts: index in the set of the correction at each position.
    """

    request: Request
    read: Callable[[Reply], AnswerT_co | Failure]
    set: int = 0
    texts: tuple[int, ...] = (0,)
    order: int = 0


@dataclass(frozen=True, slots=True)
class Answer(Generic[AnswerT_co]):
    """The outcome of a request.

    Attributes:
        verdict: the answer that the last reply gives, or what is wrong with the reply.
        replies: all replies, in order of attempt.
        fresh: how many of them this run paid for.
    """

    verdict: AnswerT_co | Failure
    replies: tuple[Reply, ...] = ()
    fresh: int = 0


@dataclass(frozen=True)
class Asked(Generic[AnswerT_co]):
    """The outcome of asking a model.

    Attributes:
        answers: by the request's key.
        store: the store of the replies, which also says what was repaired in it.
        lost: the most that requests without a reply may have cost, in all runs.
    """

    answers: Mapping[str, Answer[AnswerT_co]]
    store: Replies = field(default_factory=Replies)
    lost: float = 0.0


def read_reply(read: Callable[[Reply], T | Failure], reply: Reply) -> T | Failure:
    """Return the answer in a reply, or a failure that takes the finish reason into account."""
    if reply.finish in ("content_filter", "refusal"):
        return Failure("refused", reply.text[:60] or "content filter")
    if reply.finish == "empty":
        return Failure("empty", "no choices")
    if reply.finish == MALFORMED:
        return Failure("malformed", reply.text[:60])
    if reply.finish == THOUGHTS:
        return ONLY_REASONING
    text = reply.text.strip()
    if text.lower().startswith(_REFUSAL) and "{" not in text and reply.finish != "length":
        return Failure("refused", text[:60])
    verdict = read(reply)
    # In a text that was cut off, an object after other words may be a draft.
    if reply.finish == "length" and (
        isinstance(verdict, Failure) or not begins_with_answer(reply.text)
    ):
        if verdict == UNENDED:
            return verdict
        if thoughts_only(reply):
            return Failure("truncated", "reasoning used up the token cap")
        blank = not text or len(reply.text.rstrip()) < len(reply.text) / 2
        return Failure("truncated", "blanks fill the reply" if blank else CAP_REACHED)
    return verdict


def thoughts_only(reply: Reply) -> bool:
    """Return whether reasoning used up the token cap, so that the reply contains no answer."""
    return reply.finish == "length" and 0 < reply.output_tokens <= reply.reasoning_tokens


def ask(
    questions: Sequence[Question[T]],
    model: Model,
    runtime: Runtime,
    retries: int,
    what: str,
    connect: Connect = connect,
) -> Asked[T]:
    """Answer every distinct question.

    Args:
        questions: equal requests are asked once; all must be of one model and prompt.
        runtime: concurrency, cache folder, progress, budget.
        retries: further tries after a reply that cannot be read.
        what: label of the progress bar.
        connect: returns the backend, if anything has to be asked.

    Raises:
        IncompleteError: the budget was used up; the replies that were paid for are stored.
        GecjuryError: the backend cannot answer, or the store cannot be used.
    """
    if not questions:
        return Asked({})
    if runtime.dry_run:
        raise OptionError("a dry run asks nothing: call `plan` instead")
    if runtime.max_cost is not None and not 0 <= runtime.max_cost < float("inf"):
        raise OptionError(f"`max_cost={runtime.max_cost}` is not an amount; expected 0 or more")
    run = _AskingRun(questions, model, runtime, retries)
    # Without a price the limit cannot be enforced, so this is checked before anything is asked.
    if runtime.max_cost is not None and run.price is None:
        raise OptionError(
            f"`max_cost=`: no price is known for {model.name!r}: write it into a table of prices, "
            f"prices.json in the cache folder or the file that ${PRICES_VARIABLE} names (the table "
            f"in use is {Path(run.table.path).name}, {run.table.date})"
        )
    identity = Identity.of(questions[0].request)
    path = store_path(runtime.cache_folder("judgments"), identity)
    with ExitStack() as stack:
        if runtime.use_cache:
            run.store = stack.enter_context(Store(path, identity))
        if run.price not in (None, FREE):
            run.ledger = Ledger(runtime.spending, run.store, path if runtime.use_cache else None)
            stack.callback(run.ledger.close)
        attempts = run.waiting()
        # If all replies are stored, no key and no server is needed.
        if attempts:
            backend = connect(model, batch=runtime.batch)
            with runtime.progress.task(what, len(run.questions)) as run.bar:
                run.bar.advance(len(run.questions) - len(attempts))
                backend.run(
                    Assignment(attempts, run.deliver, run.claim, run.release, run.price, runtime)
                )
        run.finish()
        return Asked(
            run.answers(), run.store, run.ledger.lost(run.questions) if run.ledger else 0.0
        )


class _AskingRun(Generic[T]):
    """The state of one `ask`, or of a count of what it would send.

    Attributes:
        questions: by the request's key.
        model: the model that is asked.
        retries: further tries of a question whose reply cannot be read.
        price: of the model's tokens; None where unknown.
        store: the store of the replies.
        fresh: replies of this run, counted by key.
        verdicts: by key, the verdict on the last reply.
        unfit: by key, prompts that do not fit the model.
        ledger: what the requests may cost; None if the model is free or has no known price.
        scale: how many times as many tokens as possible a server may bill, read and written.
        estimated: replies of this run whose cost is an estimate, as the server reports no tokens.
        exhausted: whether an attempt was not sent because it might exceed the budget.
    """

    def __init__(
        self, questions: Sequence[Question[T]], model: Model, runtime: Runtime, retries: int
    ) -> None:
        self.questions = {question.request.key: question for question in questions}
        self.model, self.runtime, self.retries = model, runtime, retries
        self.table = model_table(runtime)
        # A model in this process is free.
        named = self.table.price(model.name, batch=runtime.batch)
        self.price = FREE if model.backend == "vllm" else named
        self.store = Replies()
        self.bar = Bar()
        self.fresh = Counter[str]()
        self.verdicts: dict[str, T | Failure] = {}
        self.unfit: dict[str, Failure] = {}
        self.ledger: Ledger | None = None
        self.scale: tuple[float, ...] = (1.0, 1.0)
        self.estimated = 0
        self.exhausted = False

    @cached_property
    def counter(self) -> TokenCounter:
        """The counter of the model's tokens; loading its tokenizer takes seconds."""
        sampling = next((q.request.sampling for q in self.questions.values()), {})
        thinking = sampling.get("thinking")
        return counter_for(self.model.name, None if thinking is None else bool(thinking))

    def waiting(self) -> list[Attempt]:
        """Return the attempts that have to be made, first ones and retries."""
        attempts = (self._next(question) for question in self.questions.values())
        return [attempt for attempt in attempts if attempt is not None]

    def claim(self, attempts: Sequence[Attempt]) -> int:
        """Return how many of the attempts fit the budget, and record that these are sent."""
        if self.ledger is None:
            return len(attempts)
        spending, cap = self.runtime.spending, self.runtime.max_cost
        room = math.inf if cap is None else cap - spending.known - spending.unknown
        costs: dict[str, float] = {}
        for attempt in attempts:
            costs[attempt.name] = most = self._most(attempt)
            if most > room:
                del costs[attempt.name]
                self.exhausted = True
                break
            room -= most
        self.ledger.claim(costs)
        return len(costs)

    def release(self, attempt: Attempt) -> None:
        """Count an attempt no more that was not billed."""
        if self.ledger is not None:
            self.ledger.release(attempt.name)

    def _tokens(self, attempt: Attempt) -> tuple[int, int]:
        """Return the most tokens that an attempt may read and write."""
        # A token has at least one byte. Servers also show the schema to the model.
        schema = json.dumps(attempt.request.schema)
        texts = [schema, *(message["content"] for message in attempt.request.messages)]
        read = sum(_FORMAT_TOKENS + len(text.encode("utf-8", "surrogatepass")) for text in texts)
        return read, attempt.max_tokens

    def _most(self, attempt: Attempt) -> float:
        """Return the most that an attempt may cost, as far as the replies so far show."""
        assert self.price is not None
        read, written = self._tokens(attempt)
        return self.price.cost(self.scale[0] * read, self.scale[1] * written)

    def _charge(self, attempt: Attempt, reply: Reply) -> Reply:
        """Return a reply with its cost."""
        if self.ledger is None:
            return reply
        if reply.counted:
            counted = reply.input_tokens, reply.output_tokens
            shares = [n / most for n, most in zip(counted, self._tokens(attempt), strict=True)]
            self.scale = tuple(
                max(scale, _MARGIN * share if share > 1 else 1)
                for scale, share in zip(self.scale, shares, strict=True)
            )
        else:
            self.estimated += 1
            reply = replace(reply, cost=self._most(attempt))
        return replace(reply, prices=self.table.date)

    def deliver(self, attempt: Attempt, reply: Reply) -> Attempt | None:
        """Store and read a reply, and return the attempt to make next because of it, if any."""
        key = attempt.request.key
        if reply.finish == TOO_LONG:
            # There is no answer to store: with a longer window the question is asked again.
            self.unfit[key] = Failure(TOO_LONG, reply.text)
            self.bar.advance(1)
            return None
        self.verdicts.pop(key, None)
        reply = self._charge(attempt, reply)
        # A reply is stored before it is read, which may raise an error.
        self.store.append(attempt.request, reply)
        if self.ledger is not None:
            self.ledger.settle(attempt.name, reply.cost)
        self.fresh[key] += 1
        following = self._next(self.questions[key])
        self.bar.advance(0 if following else 1)
        if self.ledger is not None:
            self.bar.note(self._spent)
        return following

    def _next(self, question: Question[T]) -> Attempt | None:
        """Return the question's next attempt; None if the question is answered or given up."""
        replies = self.store.replies(question.request.key)
        if not replies:
            return Attempt(question.request)
        verdict = self._verdict(question, replies)
        if not isinstance(verdict, Failure) or len(replies) > self.retries:
            return None
        return Attempt(question.request, len(replies), _overrides(question, replies, verdict))

    def _verdict(self, question: Question[T], replies: Sequence[Reply]) -> T | Failure:
        """Return the verdict on the last reply."""
        key = question.request.key
        if key not in self.verdicts:
            self.verdicts[key] = read_reply(question.read, replies[-1])
        return self.verdicts[key]

    @property
    def _spent(self) -> str:
        spending, currency = self.runtime.spending, self.table.currency
        shown = f"{spending.known:.4f} {currency} spent"
        shown += f" (an estimate: {NO_USAGE})" if self.estimated else ""
        if spending.unknown:
            shown += f", at most {spending.unknown:.4f} {currency} more for requests without reply"
        return shown

    def finish(self) -> None:
        """Report questions that did not fit the budget.

        Raises:
            IncompleteError: there is such a question.
        """
        if not self.exhausted:
            return
        if left := sum(attempt.request.key not in self.unfit for attempt in self.waiting()):
            earlier = " with earlier runs" if self.runtime.use_cache else ""
            raise IncompleteError(
                f"stopped before `max_cost={self.runtime.max_cost:g}` was exceeded{earlier}: "
                f"{self._spent}, {left} of {len(self.questions)} questions left. Everything "
                "answered is kept: run the same command with a higher cap to continue"
            )

    def answers(self) -> dict[str, Answer[T]]:
        """Return the outcome of every question, by its request's key."""
        answers = {}
        for key, question in self.questions.items():
            replies = self.store.replies(key)
            nothing = self.unfit.get(key, Failure("empty", "not asked"))
            verdict = self._verdict(question, replies) if replies else nothing
            answers[key] = Answer(verdict, tuple(replies), self.fresh[key])
        return answers


def _overrides(question: Question[object], replies: Sequence[Reply], failure: Failure) -> Sampling:
    """Return the settings in which a retry differs from the request; see the module."""
    sampling = question.request.sampling
    # Settings that were left out are a list.
    changed = {n: v for n, v in replies[-1].sent.items() if isinstance(v, float | int | str)}
    if failure.kind == "truncated":
        changed["max_tokens"] = 2 * int(changed.get("max_tokens", sampling["max_tokens"]))
    elif "seed" in sampling:
        changed["seed"] = int(sampling["seed"]) + 1000 * len(replies)
        if not sampling.get("temperature"):
            changed["temperature"] = 0.5
    return changed


def plan_work(
    questions: Sequence[Question[object]], model: Model, runtime: Runtime, retries: int
) -> Plan:
    """Count what `ask` would send, sending nothing and changing no store.

    Returns:
        Distinct requests that no stored reply answers, with the tokens that the model would read
        and write, if every answer is typical, and in the details how many requests are answered
        already (`stored`) and how tokens were counted (`counted`). If the model reasons, tokens and
        cost also have the range of `reasoning_range`. The time is known if the store has replies
        of a server, which say how long it took to answer.
    """
    run = _AskingRun(questions, model, runtime, retries)
    if questions and runtime.use_cache:
        identity = Identity.of(questions[0].request)
        path = store_path(runtime.cache_folder("judgments"), identity)
        run.store = Replies(read_store(path).records if path.exists() else ())
    todo = [attempt.request for attempt in run.waiting()]
    read = sum(run.counter.prompt(request.messages) for request in todo)
    written = sum(run.counter.text(request.expect) + 1 for request in todo)  # and the end mark
    amount = None if run.price is None else run.price.cost(read, written)
    tokens = {"input": read, "output": written}
    cost = {"amount": amount, "currency": run.table.currency, "prices": run.table.date}
    thinking = bool(questions and questions[0].request.sampling.get("thinking"))
    least, most = (len(todo) * bound for bound in reasoning_range(model, thinking=thinking))
    if most:
        tokens |= {"reasoning_least": least, "reasoning_most": most}
        for name, thoughts in (("least", least), ("most", most)):
            spent = written + thoughts
            cost[name] = None if run.price is None else run.price.cost(read, spent)
    latencies = [reply.latency for reply in run.store if reply.latency]
    seconds = None
    # The latency of a model in this process or of a batch of requests is that of all of them.
    if latencies and model.backend == "openai" and not runtime.batch:
        seconds = len(todo) * sum(latencies) / len(latencies) / runtime.concurrency
    return Plan(
        len(todo),
        tokens,
        cost,
        seconds,
        {
            "posed": len(questions),
            "stored": len(run.questions) - len(todo),
            "counted": run.counter.how,
        },
    )
