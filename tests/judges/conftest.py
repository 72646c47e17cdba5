"""A small corpus, a fault server, and judges that ask it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.judges import Judge
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.exchange import Attempt, Reply
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable
from tests.judges.faultserver import Behaviour, FaultServer, score_of, sound_reply

SOURCES = ("She go to school .", "I likes cats .", "He is here .")
SYSTEMS = {
    "a": ("She goes to school .", "I like cats .", "He is here ."),
    "b": ("She go to the school .", "I like cats .", "He is here ."),
    "c": ("She goes to school .", "I likes a cats .", "He was here ."),
}


SOURCE = "She go home ."
A, B, C = "She goes home .", "She go home .", "She went  to home ."


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-of-nobody")


@pytest.fixture
def corpus() -> Corpus:
    """Three sources, three systems: 2, 2 and 2 distinct corrections."""
    return Corpus(SOURCES, {name: Version(lines) for name, lines in SYSTEMS.items()})


@pytest.fixture
def runtime(tmp_path: Path) -> Runtime:
    """Few concurrent requests, and a cache for this test only."""
    return Runtime(concurrency=4, cache=tmp_path / "cache")


@pytest.fixture
def serve() -> Iterator[Callable[..., FaultServer]]:
    """Start fault servers, and stop them after the test."""
    pytest.importorskip("openai")
    with ExitStack() as stack:

        def start(behave: Behaviour | None = None, latency: float = 0.0) -> FaultServer:
            return stack.enter_context(FaultServer(behave, latency))

        yield start


@pytest.fixture
def judge() -> Callable[..., Scorer]:
    """Load a judge that asks a server."""

    def make(server: FaultServer, name: str = "llm-s", **options: object) -> Scorer:
        return load(name, **{"base_url": server.url, "model": "tiny", **options})

    return make


def expected(corpus: Corpus) -> FloatArray:
    """Return the score of every text by the server's rule."""
    return np.array([[score_of(x) for x in v.lines] for v in corpus.systems.values()], dtype=float)


def member(table: ScoreTable) -> dict[str, Any]:
    """Return the audit of a judge's only model."""
    audit: dict[str, Any] = table.statistics.details["audit"]["members"][0]
    return audit


class Bench:
    """The small corpus, a judge that scores it, and the server that the judge asks."""

    def __init__(
        self,
        serve: Callable[..., FaultServer],
        judge: Callable[..., Scorer],
        corpus: Corpus,
        runtime: Runtime,
    ) -> None:
        self.judge, self.corpus, self.runtime = judge, corpus, runtime
        self._serve = serve
        self.server: FaultServer = serve()

    def start(self, behave: Behaviour | None = None, latency: float = 0.0) -> FaultServer:
        """Start another server, which is asked from now on."""
        self.server = self._serve(behave, latency)
        return self.server

    def score(self, connect: Any = None, **options: Any) -> ScoreTable:
        """Score the corpus; `runtime` or its fields are options, too."""
        names = ("concurrency", "cache", "max_cost", "spending", "api_key_env", "batch")
        fields = {name: options.pop(name) for name in names if name in options}
        scorer: Any = self.judge(self.server, **options)
        scorer = scorer if connect is None else scorer.asking(connect)
        table: ScoreTable = scorer.score_corpus(self.corpus, replace(self.runtime, **fields))
        return table

    def set_price(self, read: float, written: float, currency: str = "USD") -> None:
        """Write a table with the price of a million tokens of the judge's model."""
        path = self.runtime.cache_folder("prices.json")
        path.parent.mkdir(exist_ok=True)
        models = {"tiny": {"input": read, "output": written}}
        path.write_text(json.dumps({"date": "2020-01-01", "currency": currency, "models": models}))

    @property
    def store(self) -> Path:
        """The only store."""
        (path,) = self.runtime.cache_folder("judgments").glob("*.jsonl")
        return path


@pytest.fixture
def bench(
    serve: Callable[..., FaultServer],
    judge: Callable[..., Scorer],
    corpus: Corpus,
    runtime: Runtime,
) -> Bench:
    """Provide a judge and a server without faults."""
    return Bench(serve, judge, corpus, runtime)


Say = Callable[[Attempt], Reply]


def sound(attempt: Attempt) -> Reply:
    """The reply of a fault server without faults."""
    return Reply(sound_reply({"messages": attempt.request.messages}), "stop", 10, 5, None, 0.0, 0.1)


class FakeModel:
    """A model that answers within the process and records its questions."""

    def __init__(self, runtime: Runtime | None = None) -> None:
        self.say: Say = sound
        self.attempts: list[Attempt] = []
        self.runtime = runtime or Runtime(use_cache=False)

    def score(self, name: str, corpus: Corpus, **options: object) -> ScoreTable:
        """Score a corpus with a judge that asks this model; see `load`."""
        return self.load(name, **options).score_corpus(corpus, self.runtime)

    def load(self, name: str, **options: object) -> Judge:
        """Load a judge that asks this model, by default as `m` at a separate address."""
        if "model" not in options and "model=" not in name:
            options["model"] = "m"
            if not {"base_url", "backend"} & {*options} and not re.search(
                r"base_url=|backend=", name
            ):
                options["base_url"] = "http://judge.example/v1"
        judge = load(name, **options)
        assert isinstance(judge, Judge)
        return judge.asking(lambda model, *, batch=False: self)

    def run(self, work: Assignment) -> None:
        waiting = list(work.attempts)
        while waiting:
            attempt = waiting.pop(0)
            self.attempts.append(attempt)
            following = work.deliver(attempt, self.say(attempt))
            if following is not None:
                waiting.append(following)

    @property
    def prompts(self) -> list[str]:
        return [str(attempt.request.messages[0]["content"]) for attempt in self.attempts]


@pytest.fixture
def model(runtime: Runtime) -> FakeModel:
    """Provide a model without faults."""
    return FakeModel(runtime)
