"""A small corpus, a fault server, and judges that ask it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import date
from pathlib import Path

import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.judges import judge as judge_module
from gecjury.judges.asking import models
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from tests.judges.faultserver import Behaviour, FaultServer

SOURCES = ("She go to school .", "I likes cats .", "He is here .")
SYSTEMS = {
    "a": ("She goes to school .", "I like cats .", "He is here ."),
    "b": ("She go to the school .", "I like cats .", "He is here ."),
    "c": ("She goes to school .", "I likes a cats .", "He was here ."),
}


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test-key-of-nobody")


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fix the date, so that the model table is recent and its notes never change."""
    for module in (models, judge_module):
        monkeypatch.setattr(module, "today", lambda: date(2026, 11, 20))


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
