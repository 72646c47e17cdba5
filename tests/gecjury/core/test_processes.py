"""Worker processes that answer questions: errors, crashes, shutdown."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from gecjury.core.errors import InputError
from gecjury.core.processes import (
    ForkedProcess,
    Pool,
    WorkerDied,
    WorkerProcess,
    answered,
    failure,
    in_forks,
    may_fork,
)

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks processes")


def start() -> Callable[[Any], Any]:
    def answer(question: Any) -> Any:
        if question == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if question == "refuse":
            raise InputError("line 3: not what was expected\n☃")
        return [question, os.getpid()]

    return answer


def test_answers_and_errors_arrive() -> None:
    process = ForkedProcess(start)
    question = {"a": [1, None, "é\udc80\n"]}
    answer, pid = process.ask(question)
    assert answer == question
    assert pid != os.getpid()
    with pytest.raises(InputError, match=r"^line 3: not what was expected\n☃$"):
        process.ask("refuse")
    assert process.ask(2) == [2, pid]
    with pytest.raises(WorkerDied, match=r"status -9"):
        process.ask("die")
    process.close()


def test_unexpected_errors_keep_their_type_and_message() -> None:
    try:
        raise ZeroDivisionError("by zero")
    except ZeroDivisionError as error:
        record = failure(error)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: by zero"):
        answered(record)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def test_a_pool_uses_every_process() -> None:
    def feed(process: WorkerProcess) -> None:
        pool.results.put(process.ask(1)[1])

    with closing(Pool[int]()) as pool:
        pool.fill(3, lambda: ForkedProcess(start, pool.processes))
        pool.work(feed)
        pids = {pool.result() for _ in range(3)}
    assert len(pids) == 3
    assert all(map(is_gone, pids))


def test_an_error_in_one_process_ends_all() -> None:
    pids: list[int] = []

    def feed(process: WorkerProcess) -> None:
        pids.append(process.ask(1)[1])
        process.ask("refuse")

    def take(pool: Pool[int]) -> None:
        with closing(pool):
            pool.fill(2, lambda: ForkedProcess(start, pool.processes))
            pool.work(feed)
            pool.result()

    with pytest.raises(InputError, match="line 3"):
        take(Pool())
    assert pids
    assert all(map(is_gone, pids))


def test_forks_share_the_work_if_no_other_thread_runs() -> None:
    idle = threading.Event()
    timer = threading.Timer(60, print)
    timer.start()  # such as that of a progress bar
    others = threading.active_count() > 2
    results = in_forks(lambda number: [number, os.getpid()], 3)
    timer.cancel()
    assert [number for number, _ in results] == [0, 1, 2]
    assert len({pid for _, pid in results}) == (1 if others else 3)
    assert results[2][1] == os.getpid()
    thread = threading.Thread(target=idle.wait)
    thread.start()
    try:
        assert not may_fork()
        assert in_forks(lambda number: os.getpid(), 2) == [os.getpid()] * 2
    finally:
        idle.set()
        thread.join()


def test_an_error_in_a_fork_arrives() -> None:
    def refuse(number: int) -> int:
        if number == 0:
            raise InputError("not what was expected")
        return number

    with pytest.raises(InputError, match=r"^not what was expected$"):
        in_forks(refuse, 2)
