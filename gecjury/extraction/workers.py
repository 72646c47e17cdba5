"""Extraction of edits in several processes: this one works too, the others answer batches.

Where the system can, the others are forks of this process, made once the tagger is loaded, and
cost nothing to start. That is so on Linux, with the embedded tagger or none, while nothing else
runs in this process (another thread, spaCy on a GPU). Elsewhere, as in a notebook, they are plain
child processes that load the tagger while this one works; so they start alike on every system and
in scripts without a guarded main part. Both kinds read and write JSON lines.

Not loky, which does that too: for 800 pairs and two workers with the embedded tagger it took 5.1 s
of processor time where plain child processes took 4.2 s and as much memory, and what it sends is
pickled.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any

from gecjury import errors
from gecjury.corpus.edits import Edit
from gecjury.errors import GecjuryError
from gecjury.extraction.pipeline import ExtractedEdits, Extractor, TextPair
from gecjury.extraction.taggers import analyser_of

_SMALLEST, _LARGEST = 50, 2000


def extract_in_workers(
    pairs: list[TextPair],
    tagger: str,
    pos_scheme: str,
    workers: int,
    load: Callable[[], Any] | None = None,
) -> Iterator[tuple[TextPair, ExtractedEdits]]:
    """Yield the edits of distinct pairs, batch by batch as they are done.

    The processes are started at once, before the first result is asked for.

    Args:
        pairs: distinct pairs; neighbours share sentences, which one worker then parses once.
        tagger: name of the tagger.
        pos_scheme: its parts of speech.
        workers: number of processes, this one included.
        load: gives this process's pipeline; None loads it anew.

    Raises:
        GecjuryError: what a worker raised, or that one ended unexpectedly.
    """

    def extractor() -> Extractor:
        return Extractor(_load(tagger, pos_scheme) if load is None else load())

    batches = _Batches(pairs, workers)
    others = min(workers - 1, max(len(pairs) - 1, 0) // _SMALLEST)
    pool: list[_Process] = []
    try:
        if others and not _may_fork(tagger):
            _start(pool, others, lambda: _Spawned(tagger, pos_scheme))
        local = extractor()
        if _may_fork(tagger):
            _start(pool, others, lambda: _Forked(local, [process.streams for process in pool]))
    except BaseException:
        _end(pool)
        raise
    return _with_own_share(_together(batches, local, pool), len(pool) + 1)


def _with_own_share(
    found: Iterator[tuple[TextPair, ExtractedEdits]], processes: int
) -> Iterator[tuple[TextPair, ExtractedEdits]]:
    """Pass on results while matrix products use only this process's share of the processors."""
    with _own_share(processes):
        yield from found


def _own_share(processes: int) -> AbstractContextManager[Any]:
    """Limit the threads of matrix products, which would otherwise be one for each core.

    Args:
        processes: that work at the same time.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:  # then there are no spaCy and no matrix products either
        return contextlib.nullcontext()
    share = max((os.cpu_count() or 1) // processes, 1)
    limited: AbstractContextManager[Any] = threadpool_limits(limits=share, user_api="blas")
    return limited


def _load(tagger: str, pos_scheme: str) -> Any:
    return analyser_of(tagger, pos_scheme)


def _may_fork(tagger: str) -> bool:
    """Return True if a fork of this process would find everything that a worker needs."""
    return (
        sys.platform == "linux"
        and tagger in ("embedded", "none")
        and "cupy" not in sys.modules
        and threading.active_count() == 1
        and threading.current_thread() is threading.main_thread()
    )


class _Batches:
    """Pairs in batches that grow shorter, so that all workers end together."""

    def __init__(self, pairs: list[TextPair], workers: int) -> None:
        self._pairs = pairs
        self._shares = 2 * workers
        self._begin = 0
        self._lock = threading.Lock()
        self.sent = 0

    def take(self, send: bool = False) -> list[TextPair]:
        """Return the next batch, empty if none is left; `send` counts it as sent elsewhere."""
        with self._lock:
            left = len(self._pairs) - self._begin
            size = min(max(left // self._shares + 1, _SMALLEST), _LARGEST)
            batch = self._pairs[self._begin : self._begin + size]
            self._begin += len(batch)
            self.sent += bool(batch) and send
            return batch


_Result = tuple[list[TextPair], list[ExtractedEdits]]


def _together(
    batches: _Batches, own: Extractor, pool: Sequence[_Process]
) -> Iterator[tuple[TextPair, ExtractedEdits]]:
    """Work beside the other processes until every batch is done."""
    done: SimpleQueue[_Result | BaseException] = SimpleQueue()
    threads = [threading.Thread(target=_feed, args=(process, batches, done)) for process in pool]
    for thread in threads:
        thread.start()
    received = 0
    try:
        while True:
            batch = batches.take()
            # A process that has not loaded yet when nothing is left has nothing to wait for.
            while not done.empty() or (not batch and received < batches.sent):
                result = done.get()
                if isinstance(result, BaseException):
                    raise result
                received += 1
                yield from zip(*result, strict=True)
            if not batch:
                return
            yield from own.extract(batch)
    finally:
        _end(pool, threads)


def _feed(process: _Process, batches: _Batches, done: SimpleQueue[_Result | BaseException]) -> None:
    """Feed one process with batches; runs in a thread of its own."""
    try:
        process.ask(None)
        while batch := batches.take(send=True):
            done.put((batch, [_read(row) for row in process.ask(batch)]))
    except BaseException as error:
        done.put(error)


def _read(row: list[Any]) -> ExtractedEdits:
    coarse, *edits = row
    return ExtractedEdits(tuple(Edit(*edit) for edit in edits), coarse)


def _start(pool: list[_Process], count: int, start: Callable[[], _Process]) -> None:
    """Fill the pool as far as the system allows; fewer processes only take more time."""
    with contextlib.suppress(OSError):
        while len(pool) < count:
            pool.append(start())


def _end(pool: Sequence[_Process], threads: Sequence[threading.Thread] = ()) -> None:
    for process in pool:
        process.kill()
    for thread in threads:
        thread.join()
    for process in pool:
        process.close()


class _Process(ABC):
    """A worker process; requests and answers are lines of JSON."""

    streams: tuple[IO[str], IO[str]]
    """What it is asked by, and what it answers by: our ends."""

    def ask(self, pairs: list[TextPair] | None) -> list[list[Any]]:
        """Send pairs to the process; None waits until it is ready.

        Returns:
            For each pair whether it was too long to be aligned exactly, and its edits as rows.
        """
        asked, answers = self.streams
        try:
            if pairs is not None:
                asked.write(json.dumps(pairs) + "\n")
                asked.flush()
            line = answers.readline()
        except (OSError, ValueError):  # ValueError: closed
            line = ""
        if not line.endswith("\n"):
            raise GecjuryError(
                f"a worker process ended unexpectedly (status {self.wait()}): "
                "see its message above, or run with one worker"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            kind = getattr(errors, answer["error"], GecjuryError)
            raise kind(answer["message"])
        rows: list[list[Any]] = answer["found"]
        return rows

    @abstractmethod
    def kill(self) -> None:
        """End the process, if it has not ended."""

    @abstractmethod
    def wait(self) -> int:
        """Return the exit status once the process has ended; negative for a signal."""

    def close(self) -> None:
        """Forget a process that was killed."""
        self.wait()
        for stream in self.streams:
            # What was not sent cannot be any more.
            with contextlib.suppress(OSError):
                stream.close()


class _Spawned(_Process):
    """A child process that loads the tagger first."""

    def __init__(self, tagger: str, pos_scheme: str) -> None:
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        # The processes share the processor already: no further threads within one.
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gecjury.extraction.workers", tagger, pos_scheme],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            encoding="utf-8",
            errors="surrogatepass",
        )
        if self._process.stdin is None or self._process.stdout is None:
            raise GecjuryError("a worker process has no streams")
        self.streams = self._process.stdin, self._process.stdout

    def kill(self) -> None:
        self._process.kill()

    def wait(self) -> int:
        return self._process.wait()


class _Forked(_Process):
    """A copy of this process."""

    def __init__(self, extractor: Extractor, others: Sequence[tuple[IO[str], IO[str]]]) -> None:
        """Fork; the child closes `others`, our ends of the pipes to earlier forks."""
        theirs, ours = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns of threads; the ones there are belong to OpenBLAS, which sees to it.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                self._pid = os.fork()
            except OSError:
                for descriptor in (*theirs, *ours):
                    os.close(descriptor)
                raise
        self._status: int | None = None
        self._lock = threading.Lock()
        if not self._pid:
            for streams in others:
                for stream in streams:
                    os.close(stream.fileno())
            os.close(theirs[1])
            os.close(ours[0])
            _serve_and_end(extractor, theirs[0], ours[1])
        os.close(theirs[0])
        os.close(ours[1])
        self.streams = _text(theirs[1], "w"), _text(ours[0], "r")

    def kill(self) -> None:
        with self._lock:
            if self._status is None:
                os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        with self._lock:
            if self._status is None:
                try:
                    self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
                except ChildProcessError:  # somebody else in this process waits for all children
                    self._status = 0
            return self._status


def _text(descriptor: int, mode: str) -> IO[str]:
    return os.fdopen(descriptor, mode, encoding="utf-8", errors="surrogatepass")


def _serve_and_end(extractor: Extractor, asked: int, answers: int) -> None:
    """Serve as a fork and end the process; inherited state is left as it is."""
    status = 1
    try:
        # The one who interrupts or ends this run means the process that we are a copy of.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.freeze()
        # Whatever a library prints must not come among what the run prints.
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        with _own_share(os.cpu_count() or 1):
            _serve(lambda: extractor, _text(asked, "r"), _text(answers, "w"))
        status = 0
    except BrokenPipeError:
        pass
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(status)


def _serve(load: Callable[[], Extractor], asked: IO[str], answers: IO[str]) -> None:
    """Say that the extractor is loaded, then answer batches of pairs, until the input ends."""
    extractor: Extractor | None = None
    line = "[]"
    while line:
        try:
            extractor = extractor or load()
            pairs = [(source, corrected) for source, corrected in json.loads(line)]
            rows = [
                [edits.coarse, *((e.start, e.end, e.correction, e.type) for e in edits.edits)]
                for _, edits in extractor.extract(pairs)
            ]
            answer: dict[str, Any] = {"found": rows}
        except GecjuryError as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        line = asked.readline()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the process that started this one
    # Whatever a library prints must not mix with the answers.
    _answers, sys.stdout = sys.stdout, sys.stderr
    _serve(lambda: Extractor(_load(*sys.argv[1:3])), sys.stdin, _answers)
