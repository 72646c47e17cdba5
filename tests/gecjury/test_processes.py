"""Processes that answer questions: their errors, their death, their end."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest

from gecjury.errors import InputError
from gecjury.processes import ForkedProcess, Pool, WorkerDied, WorkerProcess, answered, failure

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux alone")


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


def test_errors_nobody_foresaw_name_their_place() -> None:
    try:
        raise ZeroDivisionError("by zero")
    except ZeroDivisionError as error:
        record = failure(error)
    with pytest.raises(RuntimeError, match="ZeroDivisionError: by zero"):
        answered(record)


def test_a_pool_keeps_every_process_at_work() -> None:
    def feed(process: WorkerProcess) -> None:
        pool.results.put(process.ask(1)[1])

    with closing(Pool[int]()) as pool:
        pool.fill(3, lambda: ForkedProcess(start, pool.processes))
        pool.work(feed)
        assert len({pool.result() for _ in range(3)}) == 3
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)


def test_an_error_of_one_process_ends_all() -> None:
    def take(pool: Pool[int]) -> None:
        with closing(pool):
            pool.fill(2, lambda: ForkedProcess(start, pool.processes))
            pool.work(lambda process: process.ask("refuse"))
            pool.result()

    with pytest.raises(InputError, match="line 3"):
        take(Pool())
    with pytest.raises(ChildProcessError):
        os.waitpid(-1, os.WNOHANG)
