"""Worker processes that answer questions: forks of this process, and plain child processes.

Questions and answers are JSON values, one per line. Plain children communicate over their standard
streams; they start the same way on every system, in scripts without a guarded main part and in
notebooks. Forks are cheap to start, and have everything that this process has loaded.

loky, which does the same, is not used: for 800 pairs of sentences and two workers with the embedded
tagger it took 5.1 s of processor time where plain child processes took 4.2 s and as much memory,
and it pickles what it sends.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import traceback
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import IO, Any, Generic, TypeVar

from gecjury.core import errors
from gecjury.core.errors import GecjuryError
from gecjury.core.textfiles import JsonValue

_T = TypeVar("_T")

Start = Callable[[], Callable[[JsonValue], object]]
"""Loads what a worker needs, and returns the function that answers its questions; called once."""


def own_command() -> str:
    """Return how this program was called, so that the commands it prints work as they are."""
    called = sys.argv[0] if sys.argv else ""
    if Path(called).parts[-2:] == ("gecjury", "__main__.py"):
        return f"{shlex.quote(sys.executable)} -m gecjury"
    name = Path(called).name
    # A name without a folder is enough for a program on the path. Elsewhere, as in a notebook, the
    # name of the process is not ours.
    if not name.startswith("gecjury") or shutil.which(name) == str(Path(called).absolute()):
        return "gecjury"
    return shlex.quote(called)


def child_environment() -> dict[str, str]:
    """Return the variables with which a child imports this code, and none beside somebody's data.

    `python -m` and `python -c` search the working directory first, where `json.py` may be.
    """
    root = str(Path(__file__).parents[2])
    # An empty entry of PYTHONPATH is the working directory, too.
    entries = root, *os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return {"PYTHONPATH": os.pathsep.join(filter(None, entries)), "PYTHONSAFEPATH": "1"}


class WorkerDied(GecjuryError):
    """A worker process ended before it answered.

    Attributes:
        status: exit status; negative for a signal.
    """

    def __init__(self, status: int) -> None:
        super().__init__(
            f"a worker process ended unexpectedly (status {status}): "
            "see its message above, or run with one worker"
        )
        self.status = status


def failure(error: Exception) -> dict[str, object]:
    """Return an error in the form of a worker's answer; see `answered`."""
    trace = "" if isinstance(error, GecjuryError) else traceback.format_exc()
    return {"error": type(error).__name__, "message": str(error), "trace": trace}


def answered(record: Mapping[str, JsonValue]) -> JsonValue:
    """Return what a worker answered.

    Raises:
        GecjuryError: the worker raised it; class and message are kept.
        RuntimeError: the worker raised another, unexpected error.
    """
    if "error" not in record:
        return record["answer"]
    kind = getattr(errors, record["error"], None)
    if isinstance(kind, type) and issubclass(kind, GecjuryError):
        raise kind(record["message"])
    raise RuntimeError(f"in a worker:\n{record['trace'] or record['message']}")


class WorkerProcess(ABC):
    """A process that answers questions one after the other.

    Attributes:
        streams: this process's ends of the streams for questions and answers.
    """

    streams: tuple[IO[str], IO[str]]

    def ask(self, question: object) -> JsonValue:
        """Return the answer to a question; both are JSON values.

        Raises:
            WorkerDied: the process ended before it answered.
            GecjuryError: the error that it raised.
        """
        asked, answers = self.streams
        try:
            asked.write(json.dumps(question) + "\n")
            asked.flush()
            line = answers.readline()
        except (OSError, ValueError):  # ValueError: closed
            line = ""
        if not line.endswith("\n"):
            raise WorkerDied(self.wait())
        return answered(json.loads(line))

    @abstractmethod
    def kill(self) -> None:
        """End the process, if it has not ended."""

    @abstractmethod
    def wait(self) -> int:
        """Return the exit status once the process has ended; negative for a signal."""

    def close(self) -> None:
        """Release the streams of a process that has ended or was killed."""
        self.wait()
        for stream in self.streams:
            # Unsent data can no longer be sent.
            with contextlib.suppress(OSError):
                stream.close()


class SpawnedProcess(WorkerProcess):
    """A child process that runs a module, which calls `serve_standard_streams`.

    Args:
        *arguments: arguments of its command line.
        environment: variables that it gets in addition to those of this process.
    """

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str]) -> None:
        self._command = [sys.executable, "-P", "-m", module, *arguments]
        self._environment = {**os.environ, **child_environment(), **environment}
        self._lock = threading.Lock()
        self._over = False
        self._begin()

    def _begin(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self._environment,
            encoding="utf-8",
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.streams = self._process.stdin, self._process.stdout

    def begin_again(self) -> None:
        """Start another process to replace one that died.

        Raises:
            WorkerDied: another thread has called `kill`, so no more work is wanted.
        """
        self.close()
        with self._lock:
            if self._over:
                raise WorkerDied(self.wait())
            self._begin()

    def kill(self) -> None:
        """See `WorkerProcess.kill`."""
        with self._lock:
            self._over = True
            self._process.kill()

    def wait(self) -> int:
        """See `WorkerProcess.wait`."""
        return self._process.wait()


class ForkedProcess(WorkerProcess):
    """A copy of this process, for systems that can fork and a process without other threads.

    Args:
        others: earlier forks, whose pipes the copy closes.
    """

    def __init__(self, start: Start, others: Sequence[WorkerProcess] = ()) -> None:
        theirs, ours = os.pipe(), os.pipe()
        with warnings.catch_warnings():
            # Python 3.12 warns about threads; these belong to OpenBLAS, which handles forks.
            warnings.simplefilter("ignore", DeprecationWarning)
            try:
                self._pid = os.fork()
            except OSError:
                # A system that has no room for another process needs these descriptors back.
                for descriptor in (*theirs, *ours):
                    os.close(descriptor)
                raise
        self._status: int | None = None
        self._lock = threading.Lock()
        if not self._pid:
            # The reader of a pipe sees its end only when every copy of the other end is closed.
            for stream in (stream for process in others for stream in process.streams):
                os.close(stream.fileno())
            os.close(theirs[1])
            os.close(ours[0])
            _serve_and_end(start, theirs[0], ours[1])
        os.close(theirs[0])
        os.close(ours[1])
        self.streams = os.fdopen(theirs[1], "w"), os.fdopen(ours[0])

    def kill(self) -> None:
        """See `WorkerProcess.kill`."""
        with self._lock:
            if self._status is None:
                os.kill(self._pid, signal.SIGKILL)

    def wait(self) -> int:
        """See `WorkerProcess.wait`."""
        with self._lock:
            if self._status is None:
                try:
                    self._status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
                except ChildProcessError:  # other code in this process waits for all children
                    self._status = 0
            return self._status


class Pool(Generic[_T]):
    """Processes that are each kept busy by a thread.

    Attributes:
        processes: started by `fill`.
        results: results of the threads, and the errors that ended them.
    """

    def __init__(self) -> None:
        self.processes: list[WorkerProcess] = []
        self.results: SimpleQueue[_T | BaseException] = SimpleQueue()
        self._threads: list[threading.Thread] = []

    def fill(self, count: int, start: Callable[[], WorkerProcess]) -> None:
        """Start processes, as many as the system allows.

        Args:
            count: number of processes; fewer only take longer.
        """
        with contextlib.suppress(OSError):
            while len(self.processes) < count:
                self.processes.append(start())

    def work(self, feed: Callable[[Any], None]) -> None:
        """Start a thread for each process that calls a function with it.

        Args:
            feed: asks the process questions, and puts its answers into `results`.
        """

        def run(process: WorkerProcess) -> None:
            try:
                feed(process)
            except BaseException as error:
                self.results.put(error)

        self._threads = [threading.Thread(target=run, args=(child,)) for child in self.processes]
        for thread in self._threads:
            thread.start()

    def result(self) -> _T:
        """Wait for the next result and return it.

        Raises:
            BaseException: the error that ended a thread.
        """
        result = self.results.get()
        if isinstance(result, BaseException):
            raise result
        return result

    def close(self) -> None:
        """Kill all processes, even busy ones, and end their threads."""
        for process in self.processes:
            process.kill()
        for thread in self._threads:
            thread.join()
        for process in self.processes:
            process.close()


def may_fork() -> bool:
    """Return True if a fork of this process can work safely: on Linux, with no other thread."""
    # A timer, such as that of a progress bar, only waits.
    others = (t for t in threading.enumerate() if not isinstance(t, threading.Timer))
    return (
        sys.platform == "linux"
        and "cupy" not in sys.modules
        and list(others) == [threading.main_thread()]
        and threading.current_thread() is threading.main_thread()
    )


def in_forks(work: Callable[[int], _T], count: int) -> list[_T]:
    """Return the results for the numbers below `count`, computed at once by forks and this process.

    numpy's loops release the global interpreter lock, but threads that make many short calls wait
    for it longer than they work. If this process cannot be forked, it computes all results.

    Args:
        work: returns the result for a number, a JSON value.

    Raises:
        GecjuryError: a fork raised an error or ended unexpectedly.
    """
    pool: Pool[tuple[int, _T]] = Pool()

    def feed(process: ForkedProcess) -> None:
        number = pool.processes.index(process)
        pool.results.put((number, process.ask(number)))

    with contextlib.closing(pool):
        if may_fork():
            pool.fill(count - 1, lambda: ForkedProcess(lambda: work, pool.processes))
        forks = len(pool.processes)
        pool.work(feed)
        own = [work(number) for number in range(forks, count)]
        others = dict(pool.result() for _ in range(forks))
    return [others[number] for number in range(forks)] + own


def _serve(start: Start, asked: IO[str], answers: IO[str]) -> None:
    """Answer questions until there are no more."""
    answer_to: Callable[[JsonValue], object] | None = None
    # The process that asked may have ended.
    with contextlib.suppress(BrokenPipeError):
        while line := asked.readline():
            try:
                answer_to = answer_to or start()
                answer: dict[str, object] = {"answer": answer_to(json.loads(line))}
            except GecjuryError as error:
                answer = failure(error)
            answers.write(json.dumps(answer) + "\n")
            answers.flush()


def serve_standard_streams(start: Start) -> None:
    """Answer the questions of the parent process until there are no more.

    Args:
        start: called at the first question, so that its errors are sent as an answer.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # meant for the parent process
    # Output of libraries must not mix with the answers.
    answers, sys.stdout = sys.stdout, sys.stderr
    _serve(start, sys.stdin, answers)


def _serve_and_end(start: Start, asked: int, answers: int) -> None:
    """Serve in a fork, then exit without running any cleanup of the copied state."""
    status = 1
    try:
        # Interrupts and terminations are meant for the process that this one is a copy of.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        gc.freeze()
        # Output of libraries must not mix with the output of the run.
        os.dup2(2, 1)
        sys.stdout = sys.stderr
        _serve(start, os.fdopen(asked), os.fdopen(answers, "w"))
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(BaseException):
            sys.stderr.flush()
        os._exit(status)
