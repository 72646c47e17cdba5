"""The OpenAI Batch API: submit, poll, collect; half the price, up to a day.

No state is kept here: every batch carries the run's mark in its metadata and every line the
request's key as `custom_id`, so that the next run finds the batches of a run that was killed.
Requests that an expired or partial batch leaves unanswered are submitted again. Lines may come in
any order; of several equal answers to one request the first counts, and different ones are none.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from gecjury.core.errors import GecjuryError, IncompleteError, InputError, OptionError
from gecjury.core.textfiles import parse_json
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.backends.bounded import Moved, Unusable, run_to_end
from gecjury.judges.backends.completion import details, error_in, error_message, read_completion
from gecjury.judges.backends.openai import ServerBackend, request_body
from gecjury.judges.exchange import Attempt, Model, key_of

if TYPE_CHECKING:
    from openai import AsyncOpenAI
    from openai.types import Batch

_MARK = "gecjury"
# The service's limits are 50,000 lines and 200 MB.
_MOST_LINES = 50_000
_MOST_BYTES = 150_000_000
_DONE = ("completed", "failed", "expired", "cancelled")
# How often requests that batches leave unanswered are submitted again.
_ROUNDS = 4
# With a cap on the cost the first batch has one request, and each further one as many times more.
_GROWTH = 10
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 120.0
# A batch's window is a day; one that is still running after that never completes.
_LONGEST_WAIT = 26 * 3600.0
# An account has fewer; without a limit, a server could extend its list forever.
_MOST_BATCHES = 5_000


class BatchBackend(ServerBackend):
    """Asks in batches; see `gecjury.judges.backends.backend.Backend`."""

    def __init__(self, model: Model) -> None:
        if "+" in model.base_url:
            raise OptionError("`batch=` accepts one base_url: a batch is on one server")
        super().__init__(model)
        self._refused = ""
        self._submitted: set[str] = set()  # batches of this run
        self._asked: set[str] = set()  # names of the requests in them

    def run(self, work: Assignment) -> None:
        """Answer all attempts in batches; see `Backend.run`."""
        (client,) = self._connect(work, self.limits)
        run_to_end(self._all(client, work))

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Turn every error of a call of the client into one of ours."""
        import openai

        try:
            yield
        except openai.AuthenticationError:
            raise self._wrong_key() from None
        except (openai.APIConnectionError, Unusable, Moved) as error:
            raise self._failed(self._broken(error)) from None
        except openai.OpenAIError as error:
            raise self._failed(str(error)) from None
        except GecjuryError:
            raise
        except Exception as error:  # any error of the client while it reads an odd answer
            raise self._failed(f"an answer that cannot be read ({type(error).__name__})") from None

    def _failed(self, reason: str) -> InputError:
        return InputError(
            f"batch: {self._clean(reason)[:200]}. Batches continue on the server; run the "
            "same command again to collect them"
        )

    async def _all(self, client: AsyncOpenAI, work: Assignment) -> None:
        waiting = {attempt.name: attempt for attempt in work.attempts}
        mark = key_of({"model": self.model.name, "prompt": work.attempts[0].request.prompt})
        fruitless = 0
        capped = work.runtime.max_cost is not None
        most = 1 if capped else len(waiting)
        async with client:
            while waiting:
                before = len(waiting)
                running = await self._collect(client, mark, waiting, work)
                todo = [attempt for name, attempt in waiting.items() if name not in running]
                most *= _GROWTH if len(waiting) < before else 1
                # With a cap, the cost of a batch is known before the next one is sent.
                allowed = [] if capped and running else todo[: work.claim(todo[:most])]
                self._asked.update(attempt.name for attempt in allowed)
                for part in _parts([self._line(attempt) for attempt in allowed]):
                    await self._submit(client, mark, part)
                if not allowed and not running:
                    return  # the budget is used up
                if allowed:
                    fruitless = 0 if len(waiting) < before else fruitless + 1
                    if fruitless > _ROUNDS:
                        raise InputError(
                            f"{len(todo)} requests came back unanswered from {_ROUNDS} batches"
                            f"{self._refused and f' ({self._refused})'}; try without `batch=`"
                        )
                await self._wait(client, mark)

    def _line(self, attempt: Attempt) -> str:
        body = request_body(self.model, attempt, set())
        body |= details(body, "extra_body")
        body.pop("extra_body", None)
        record = {
            "custom_id": attempt.name,
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": body,
        }
        return json.dumps(record)

    async def _submit(self, client: AsyncOpenAI, mark: str, lines: Sequence[str]) -> None:
        data = "\n".join(lines).encode() + b"\n"
        with self._asking():
            file = await client.files.create(file=("gecjury.jsonl", data), purpose="batch")
            if not _name(file, "id"):
                raise self._failed("the server returned no file id for the requests")
            batch = await client.batches.create(
                input_file_id=file.id,
                endpoint="/v1/chat/completions",
                completion_window="24h",
                metadata={_MARK: mark},
            )
        self._submitted.add(_name(batch, "id"))

    async def _batches(self, client: AsyncOpenAI, mark: str) -> list[Batch]:
        """Return the batches that carry a run's mark."""
        listed: list[Batch] = []
        with self._asking():
            async for batch in client.batches.list(limit=100):
                listed.append(batch)
                if len(listed) == _MOST_BATCHES:
                    break
        marked = ((batch, getattr(batch, "metadata", None)) for batch in listed)
        return [b for b, its in marked if isinstance(its, Mapping) and its.get(_MARK) == mark]

    async def _wait(self, client: AsyncOpenAI, mark: str) -> None:
        """Wait until none of our batches is running."""
        pause = _FIRST_PAUSE
        end = time.monotonic() + _LONGEST_WAIT
        while any(_name(b, "status") not in _DONE for b in await self._batches(client, mark)):
            if time.monotonic() > end:
                raise IncompleteError(
                    f"batch: not done after {_LONGEST_WAIT / 3600:g} hours. Replies so far are "
                    "kept; run the same command again to collect the rest"
                )
            await asyncio.sleep(pause)
            pause = min(_LONGEST_PAUSE, 1.5 * pause)

    async def _collect(
        self, client: AsyncOpenAI, mark: str, waiting: dict[str, Attempt], work: Assignment
    ) -> set[str]:
        """Deliver the answers of finished batches, and return the names of running requests."""
        running: set[str] = set()
        for batch in await self._batches(client, mark):
            if _name(batch, "status") not in _DONE:
                if sent_file := _name(batch, "input_file_id"):
                    lines = await self._lines(client, sent_file)
                    running |= {str(line.get("custom_id")) for line in lines}
                continue
            # Why the server failed the batch as a whole, e.g. an unknown model.
            errors = getattr(getattr(batch, "errors", None), "data", None)
            first = errors[0] if isinstance(errors, list) and errors else None
            refusal = _name(first, "message") or _name(first, "code")
            self._refused = self._clean(refusal)[:120] or self._refused
            for kind in ("output_file_id", "error_file_id"):
                if file := _name(batch, kind):
                    lines = await self._lines(client, file)
                    if _name(batch, "id") in self._submitted:
                        self._check_names(lines)
                    for line in self._undisputed(lines):
                        self._take(line, waiting, work)
        return running

    def _check_names(self, lines: Sequence[Mapping[str, object]]) -> None:
        """Refuse the output of a batch of this run in which no line names a request of the run."""
        names = [str(line.get("custom_id")) for line in lines]
        if names and self._asked.isdisjoint(names):
            raise InputError(
                f"batch: the server's output has the custom_id {self._clean(names[0])[:60]!r}, but "
                f"requests such as {min(self._asked)!r} were sent, and replies are matched by it; "
                "try without `batch=`"
            )

    def _undisputed(self, lines: Sequence[dict[str, object]]) -> list[dict[str, object]]:
        """Return the lines of a file, without requests that several lines answer differently."""
        said: dict[str, list[object]] = {}
        for line in lines:
            body = details(details(line, "response"), "body")
            said.setdefault(str(line.get("custom_id")), []).append(body.get("choices"))
        disputed = {name for name, choices in said.items() if any(c != choices[0] for c in choices)}
        if ours := sorted(disputed & self._asked):
            self._refused = f"the output has different answers to {ours[0]!r}"
        return [line for line in lines if str(line.get("custom_id")) not in disputed]

    def _take(
        self, line: Mapping[str, object], waiting: dict[str, Attempt], work: Assignment
    ) -> None:
        """Deliver one line, unless its request is answered already or the line is an error."""
        name = str(line.get("custom_id"))
        response = details(line, "response")
        if name not in waiting:
            return
        body = details(response, "body")
        error = error_in(line) or error_in(body)
        if error or response.get("status_code") != 200 or not body:
            self._refused = self._clean(error_message(error))[:120]
            return
        attempt = waiting.pop(name)
        reply = read_completion(body, attempt, work.price, self._secrets, batch=True)
        following = work.deliver(attempt, reply)
        if following is not None:
            waiting[following.name] = following

    async def _lines(self, client: AsyncOpenAI, file: str) -> list[dict[str, object]]:
        """Return the JSON objects of a file; a line that was cut off in transfer is skipped."""
        with self._asking():
            data = (await client.files.content(file)).content
        records = []
        # `splitlines` would also split at characters that JSON does not escape.
        for number, line in enumerate(data.split(b"\n"), 1):
            try:
                text = line.decode("utf-8", "replace")
                record = parse_json(text, f"line {number}", "an answer", halves=True)
            except InputError:
                continue
            if isinstance(record, dict):
                records.append(record)
        return records


def _name(thing: object, attribute: str) -> str:
    """Return an attribute of a server's object if it is a string; else an empty string."""
    value = getattr(thing, attribute, None)
    return value if isinstance(value, str) else ""


def _parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield lines in portions that fit one batch."""
    part: list[str] = []
    size = 0
    for line in lines:
        if part and (len(part) == _MOST_LINES or size + len(line) > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(line)
        size += len(line) + 1
    if part:
        yield part
