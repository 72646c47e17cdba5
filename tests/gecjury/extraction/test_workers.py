"""Worker processes that extract edits, forked or spawned, together with this process."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gecjury.core.errors import GecjuryError, InputError, OptionError

pytest.importorskip("spacy")
pytest.importorskip("errant")

from gecjury.core.processes import ForkedProcess, SpawnedProcess, may_fork
from gecjury.corpus.edits import Edit, ExtractedEdits, TextPair
from gecjury.extraction import workers
from gecjury.extraction.pipeline import errant_extractor
from gecjury.extraction.tagger import load_tagger
from gecjury.extraction.workers import _answers, _Batches, extract_in_workers


def children() -> set[str]:
    """Return the ids of this process's children; the package `datasets` may have left one."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for path in lists for pid in path.read_text().split()}


LINUX = pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux alone")
PAIRS = [
    (f"{who} go to {what} yesterday {sign}", f"{who} went to {what} yesterday .")
    for who in ("I", "He", "My friend", "Zoë")
    for what in ("school", "the “cinema”", "wrok")
    for sign in (".", "!")
]


class Fake:
    """An extractor that records its process id in the edits, and fails on request."""

    def extract(self, pairs: Any) -> Iterator[tuple[TextPair, ExtractedEdits]]:
        for pair in pairs:
            if pair[1] == "input":
                raise InputError("line 3: not what was expected\n\N{SNOWMAN}")
            if pair[1] == "fault":
                raise ZeroDivisionError("a fault of the program's")
            yield pair, ExtractedEdits((Edit(0, 1, pair[1], str(os.getpid())),), pair[1] == "long")


@pytest.fixture(scope="module")
def nlp() -> Any:
    return load_tagger()


@pytest.fixture
def another_thread() -> Iterator[None]:
    end = threading.Event()
    thread = threading.Thread(target=end.wait)
    thread.start()
    yield
    end.set()
    thread.join()


@pytest.fixture
def forked() -> Iterator[ForkedProcess]:
    process = ForkedProcess(partial(_answers, Fake()))  # type: ignore[arg-type]
    yield process
    process.kill()
    process.close()


def made(pairs: list[TextPair], nlp: Any) -> dict[TextPair, ExtractedEdits]:
    return dict(errant_extractor(nlp).extract(pairs))


@pytest.mark.parametrize(
    "start",
    [
        pytest.param(
            lambda nlp: ForkedProcess(partial(_answers, errant_extractor(nlp))),
            marks=LINUX,
            id="fork",
        ),
        pytest.param(
            lambda nlp: SpawnedProcess("gecjury.extraction.workers", "embedded", environment={}),
            id="plain",
        ),
    ],
)
def test_a_worker_gives_the_same_edits_as_this_process(
    start: Callable[[Any], Any], nlp: Any
) -> None:
    process = start(nlp)
    try:
        assert process.ask([]) == []
        rows = process.ask(PAIRS)
        expected = made(PAIRS, nlp)
        assert [ExtractedEdits.of_rows(row) for row in rows] == [expected[pair] for pair in PAIRS]
        assert process.ask(PAIRS[:1]) == rows[:1]
        # It exits when its input is closed.
        process.streams[0].close()
        assert process.wait() == 0
    finally:
        process.kill()
        process.close()


@LINUX
def test_errors_in_a_worker_are_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    with (tmp_path / "stderr.txt").open("a") as stderr:
        monkeypatch.setattr(sys, "stderr", stderr)
        forked: ForkedProcess = request.getfixturevalue("forked")
        monkeypatch.undo()
    forked.ask([])
    with pytest.raises(InputError, match=r"^line 3: not what was expected\n☃$"):
        forked.ask([("a", "input")])
    assert forked.ask([("a", "\udc80")])[0][0][2] == "\udc80"
    with pytest.raises(GecjuryError, match=r"ended unexpectedly \(status 1\): see its message"):
        forked.ask([("a", "fault")])
    assert "ZeroDivisionError: a fault of the program's" in (tmp_path / "stderr.txt").read_text()


@LINUX
def test_a_killed_worker_is_reported(forked: ForkedProcess) -> None:
    forked.ask([])
    forked.kill()
    with pytest.raises(GecjuryError, match=r"ended unexpectedly \(status -9\)"):
        forked.ask([("a", "b")])
    forked.kill()  # a finished process is not killed again: its id may be reused


def test_batches_shrink_and_contain_every_pair_once() -> None:
    pairs = [(str(number), "") for number in range(9000)]
    batches = _Batches(pairs, 2)
    taken = [batches.take(send=number % 3 == 0) for number in range(40)]
    sizes = [len(batch) for batch in taken]
    assert [pair for batch in taken for pair in batch] == pairs
    assert sizes[0] == workers._LARGEST
    assert sizes == sorted(sizes, reverse=True)
    full = [size for size in sizes if size]
    assert min(full[:-1]) == workers._SMALLEST
    assert batches.sent == -(-len(full) // 3)


@pytest.mark.parametrize("threads", [False, True], ids=["forks", "plain"])
def test_workers_together_give_each_pair_once(
    threads: bool, nlp: Any, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if threads:
        request.getfixturevalue("another_thread")
    monkeypatch.setattr(workers, "_SMALLEST", 2)
    # Other tests in this process may have left library threads running.
    alone = threading.active_count() == 1
    assert not (threads and alone)
    assert may_fork() == (sys.platform == "linux" and alone)
    before = children()
    found = list(extract_in_workers(PAIRS, "embedded", 3))
    assert len(found) == len(PAIRS)
    assert dict(found) == made(PAIRS, nlp)
    assert children() <= before


@LINUX
def test_this_process_works_alone_if_none_can_be_started(
    nlp: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fork() -> int:
        raise BlockingIOError("no more processes")

    monkeypatch.setattr(workers, "_SMALLEST", 2)
    monkeypatch.setattr(os, "fork", fork)
    before = len(list(Path("/proc/self/fd").iterdir()))
    found = dict(extract_in_workers(PAIRS, "embedded", 3))
    assert found == made(PAIRS, nlp)
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_missing_tagger_is_reported_before_any_result(another_thread: None) -> None:
    before = children()
    with pytest.raises(OptionError, match="no_such_model"):
        extract_in_workers([("a", "b")] * 200, "no_such_model", 2)
    assert children() <= before
