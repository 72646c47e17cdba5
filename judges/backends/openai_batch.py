"""The OpenAI Batch API: submit, poll, collect; half the price, up to a day.

Nothing has to be remembered here: every batch carries the run's mark in its metadata and every
line the request's key as `custom_id`, so that a run that was killed finds its batches again. What
an expired or partial batch leaves unanswered is submitted anew; lines may come in any order, and
of several answers to one request the first counts.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gecjury.errors import GecjuryError, InputError, OptionError
from gecjury.judges.asking.exchange import Attempt, Model, Reply, key_of
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.backends.openai import (
    make_client,
    mask_reply,
    read_completion,
    refused_key,
    request_body,
)
from gecjury.runtime import key_variable, masked, read_key, secrets_of

__all__ = ["BatchBackend"]

_MARK = "gecjury"
# The service's limits are 50,000 lines and 200 MB.
_MOST_LINES = 50_000
_MOST_BYTES = 150_000_000
_DONE = ("completed", "failed", "expired", "cancelled")
# How often what batches leave unanswered is submitted again.
_ROUNDS = 4
_FIRST_PAUSE = 5.0
_LONGEST_PAUSE = 120.0


class BatchBackend:
    """Asks by batches; see `gecjury.judges.backends.backend.Backend`."""

    def __init__(self, model: Model, pause: float = _FIRST_PAUSE) -> None:
        if "+" in model.base_url:
            raise OptionError("--batch takes one base_url: a batch lies on one server")
        self.model, self._pause = model, pause
        self._refused = ""
        self._secrets = secrets_of(model.base_url)

    def run(self, work: Assignment) -> None:
        """See `Backend.run`."""
        url, named = self.model.base_url, work.runtime.api_key_env
        if variable := key_variable(url, named):
            self._secrets += (read_key(variable),)
        client = make_client(url, named, asynchronous=False)
        import openai

        try:
            with client:
                self._all(client, work)
        except GecjuryError:
            raise
        except openai.AuthenticationError:
            raise OptionError(f"the server {refused_key(url, named)}") from None
        except openai.OpenAIError as error:
            reason = " ".join(masked(str(error), self._secrets).split())[:200]
            raise InputError(
                f"batch: {reason}. Batches go on by themselves; run the same command again to "
                "collect them"
            ) from None

    def _all(self, client: Any, work: Assignment) -> None:
        waiting = {_custom_id(attempt): attempt for attempt in work.attempts}
        mark = key_of({"model": self.model.name, "prompt": work.attempts[0].request.prompt})
        fruitless = 0
        while waiting:
            before = len(waiting)
            running = self._collect(client, mark, waiting, work)
            todo = [attempt for name, attempt in waiting.items() if name not in running]
            allowed = [attempt for attempt in todo if work.may_send(attempt)]
            for part in _parts([self._line(attempt) for attempt in allowed]):
                self._submit(client, mark, part)
            if not allowed and not running:
                return  # the budget is used up
            if allowed:
                fruitless = 0 if len(waiting) < before else fruitless + 1
                if fruitless > _ROUNDS:
                    raise InputError(
                        f"{len(todo)} requests came back unanswered from {_ROUNDS} batches"
                        f"{self._refused and f' ({self._refused})'}; try without --batch"
                    )
            self._wait(client, mark)

    def _line(self, attempt: Attempt) -> str:
        body = request_body(self.model, attempt, set())
        body |= body.pop("extra_body", {})
        record = {
            "custom_id": _custom_id(attempt),
            "method": "POST",
            "url": "/v1/chat/completions",
            "body": body,
        }
        return json.dumps(record)

    def _submit(self, client: Any, mark: str, lines: Sequence[str]) -> None:
        data = "\n".join(lines).encode() + b"\n"
        file = client.files.create(file=("gecjury.jsonl", data), purpose="batch")
        client.batches.create(
            input_file_id=file.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={_MARK: mark},
        )

    def _batches(self, client: Any, mark: str) -> list[Any]:
        return [b for b in client.batches.list(limit=100) if (b.metadata or {}).get(_MARK) == mark]

    def _wait(self, client: Any, mark: str) -> None:
        """Until no batch of ours is under way."""
        pause = self._pause
        while any(batch.status not in _DONE for batch in self._batches(client, mark)):
            time.sleep(pause)
            pause = min(_LONGEST_PAUSE, 1.5 * pause)

    def _collect(
        self,
        client: Any,
        mark: str,
        waiting: dict[str, Attempt],
        work: Assignment,
    ) -> set[str]:
        """Deliver what finished batches answered; the names of what others still work on."""
        running: set[str] = set()
        for batch in self._batches(client, mark):
            if batch.status not in _DONE:
                lines = _lines(client, batch.input_file_id)
                running |= {str(line.get("custom_id")) for line in lines}
                continue
            for file in (batch.output_file_id, batch.error_file_id):
                for line in _lines(client, file) if file else ():
                    self._take(line, waiting, work)
        return running

    def _take(
        self,
        line: Mapping[str, Any],
        waiting: dict[str, Attempt],
        work: Assignment,
    ) -> None:
        """Deliver one line, unless its request is answered already or the line is an error."""
        name = str(line.get("custom_id"))
        response = line.get("response") or {}
        if name not in waiting:
            return
        if response.get("status_code") != 200 or not isinstance(response.get("body"), Mapping):
            error = line.get("error") or (response.get("body") or {}).get("error") or {}
            said = str(error.get("message") or error.get("code") or "")
            self._refused = masked(said, self._secrets)[:120]
            return
        attempt = waiting.pop(name)
        reply = mask_reply(read_completion(response["body"], work.price, 0.0), self._secrets)
        sent = {**attempt.overrides, "batch": True}
        following = work.deliver(attempt, Reply(**{**vars(reply), "sent": sent}))
        if following is not None:
            waiting[_custom_id(following)] = following


def _custom_id(attempt: Attempt) -> str:
    return f"{attempt.request.key}-{attempt.number}"


def _parts(lines: Sequence[str]) -> Iterator[list[str]]:
    """Lines in portions that one batch may hold."""
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


def _lines(client: Any, file: str) -> Iterator[dict[str, Any]]:
    """The JSON objects of a file; a line cut off in transfer is no answer."""
    for line in client.files.content(file).text.splitlines():
        try:
            record = json.loads(line)
        except ValueError:
            continue
        if isinstance(record, dict):
            yield record
