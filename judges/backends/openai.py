"""The OpenAI backend: the official client against OpenAI or any server that speaks its protocol.

Retries are this module's own, so that one place decides what is worth asking again: a rate limit,
a server's fault, a broken connection and a body that is no JSON are; a wrong key, an unknown
model and a request that the server calls invalid are not. The loop is not tenacity's: a complaint
slows all requests down before its own place is free, waits are kept at the common entrance, and how
often is tried depends on whether the server ever answered, so that every part of it would be ours.
"""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
import urllib.parse
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any

from gecjury.errors import GecjuryError, InputError, MissingExtraError, OptionError
from gecjury.judges.asking.exchange import Attempt, Model, Reply, TokenLogprob
from gecjury.judges.asking.prices import Price
from gecjury.judges.backends.backend import Assignment
from gecjury.judges.backends.capabilities import capabilities, no_template
from gecjury.judges.backends.pacing import Pace, backoff, retry_after
from gecjury.runtime import KEY_VARIABLE, key_variable, masked, public_address, read_key, secrets_of

__all__ = ["OpenAIBackend", "make_client", "mask_reply", "read_completion", "request_body"]

_TRIES = 8
# A server that has never answered is probably not there: say so soon.
_FIRST_TRIES = 3
# Settings that some servers refuse and an answer can do without.
_OPTIONAL = ("temperature", "seed", "response_format", "chat_template_kwargs", "max_tokens")


class _Transient(Exception):
    """Worth another try."""

    def __init__(self, reason: str, wait: float | None = None, *, limited: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.limited = wait, limited


class _Refused(Exception):
    """The server does not know a setting that the request can do without."""


class OpenAIBackend:
    """Asks a server, many requests at once; see `gecjury.judges.backends.backend.Backend`."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.left_out: set[str] = set()
        self.pace: Pace | None = None
        self._answered = 0
        self._random = random.Random(0)
        self._stop: BaseException | None = None
        self._full = False
        self._named: str | None = None
        self._secrets = tuple(s for url in model.base_url.split("+") for s in secrets_of(url))

    def run(self, work: Assignment) -> None:
        """See `Backend.run`."""
        _run_to_end(self._all(work))

    async def _all(self, work: Assignment) -> None:
        waiting = deque(work.attempts)
        self.pace = Pace(work.runtime.concurrency)
        urls = self.model.base_url.split("+")
        named = self._named = work.runtime.api_key_env
        keys = [read_key(name) for url in urls if (name := key_variable(url, named))]
        self._secrets += tuple(keys)
        clients = [make_client(url, named, asynchronous=True) for url in urls]
        self._stop, self._full = None, False

        async def answer(number: int) -> None:
            client = clients[number % len(clients)]
            while waiting and self._stop is None and not self._full:
                attempt: Attempt | None = waiting.popleft()
                while attempt is not None and self._stop is None:
                    if not work.may_send(attempt):
                        self._full = True
                        break
                    reply = await self._answer(client, attempt, work.price)
                    if reply is None:
                        break
                    attempt = work.deliver(attempt, reply)

        async def guarded(number: int) -> None:
            # One failure ends the run, but what others have under way is paid for: it is awaited
            # and kept.
            try:
                await answer(number)
            except Exception as error:
                self._stop = self._stop or error

        count = min(work.runtime.concurrency, len(waiting))
        try:
            await asyncio.gather(*(guarded(number) for number in range(count)))
        finally:
            for client in clients:
                await client.close()
        if self._stop is not None:
            raise self._stop

    async def _answer(self, client: Any, attempt: Attempt, price: Price | None) -> Reply | None:
        """One reply, tried as often as it is worth; None if another request ended the run."""
        assert self.pace is not None
        tries = 0
        while True:
            await self.pace.enter()
            answered = False
            try:
                if self._stop is not None:
                    return None
                reply = await self._once(client, attempt, price)
                answered = True
                self._answered += 1
                return reply
            except _Refused:
                continue
            except _Transient as error:
                tries += 1
                if tries >= (_TRIES if self._answered else _FIRST_TRIES) and not (
                    error.limited and tries < 2 * _TRIES
                ):
                    raise InputError(
                        f"{self._server()} gives no answer: {error} ({tries} tries). Replies so "
                        "far are kept; run the same command again to continue"
                    ) from None
                wait, limited = backoff(tries - 1, error.wait, self._random), error.limited
                if limited:
                    self.pace.slow_down(wait)
            finally:
                await self.pace.leave(answered=answered)
            if not limited:  # a pause for all is kept at the entrance
                await asyncio.sleep(wait)

    async def _once(self, client: Any, attempt: Attempt, price: Price | None) -> Reply:
        import openai

        body = request_body(self.model, attempt, self.left_out)
        start = time.perf_counter()
        try:
            raw = await client.chat.completions.with_raw_response.create(
                **body, extra_headers={"Idempotency-Key": _idempotency(attempt)}
            )
            text = raw.http_response.text
        except openai.APIStatusError as error:
            self._raise_status(error, attempt, body)
            raise
        except openai.APITimeoutError:
            raise _Transient("the time for an answer ran out") from None
        except openai.APIConnectionError as error:
            reason = error.__cause__ or error
            said = self._clean(str(reason)) or type(reason).__name__
            raise _Transient(f"no connection ({said})") from None
        except openai.OpenAIError as error:
            raise InputError(f"{self._server()}: {self._clean(str(error))}") from None
        try:
            record = json.loads(text)
        except ValueError:
            raise _Transient(f"not JSON but {self._clean(text)[:40]!r}") from None
        if not isinstance(record, dict):
            raise _Transient(f"not a completion but {self._clean(text)[:40]!r}")
        seconds = time.perf_counter() - start
        reply = mask_reply(read_completion(record, price, seconds), self._secrets)
        sent = dict(attempt.overrides)
        if self.left_out:
            sent["left_out"] = sorted(self.left_out)
        return Reply(**{**vars(reply), "sent": sent})

    def _raise_status(self, error: Any, attempt: Attempt, body: Mapping[str, Any]) -> None:
        """Turn an error status into a retry, a request without a setting, or the end."""
        said = error.body.get("message") if isinstance(error.body, dict) else None
        status, text = error.status_code, self._clean(str(said or error.message))
        lowered = text.lower()
        if status == 429 and error.code != "insufficient_quota":
            wait = retry_after(error.response.headers)
            raise _Transient(f"rate limit (429): {text}", wait, limited=True) from None
        if status in (408, 409, 425) or status >= 500:
            wait = retry_after(error.response.headers)
            raise _Transient(f"status {status}", wait, limited=status == 503) from None
        if status == 400 and "context" in lowered and ("length" in lowered or "long" in lowered):
            raise InputError(
                f"a prompt is longer than the context of {self.model.name}: {text}; choose a "
                "model with a longer one, or leave out context with context=none"
            ) from None
        if status == 400 and "chat template" in lowered:
            raise InputError(no_template(self.model.name)) from None
        if status in (400, 422) and (refused := self._refused(error, lowered, body)):
            self.left_out.add(refused)
            raise _Refused from None
        raise self._fatal(error, text) from None

    def _refused(self, error: Any, text: str, body: Mapping[str, Any]) -> str:
        """The setting that a request was refused for, if the answer can do without it."""
        structured = self.model.structured == "schema"
        sent = {**body, **body.get("extra_body", {})}
        for name in _OPTIONAL:
            if name not in sent or (name == "response_format" and structured):
                continue
            if name == error.param or name in text or name.replace("_", " ") in text:
                return name
        return ""

    def _fatal(self, error: Any, text: str) -> GecjuryError:
        status = error.status_code
        if status == 401:
            return OptionError(f"{self._server()} {refused_key(self.model.base_url, self._named)}")
        if status == 403:
            return OptionError(f"{self._server()} does not allow this (403): {text}")
        if status == 404:
            return OptionError(
                f"{self._server()} knows no model {self.model.name!r} (404): {text}; check "
                "model=..., and that base_url ends as the server wants it (usually /v1)"
            )
        if status == 429:
            return OptionError(f"{self._server()}: the account's quota is used up: {text}")
        return InputError(f"{self._server()} refuses the request ({status}): {text}")

    def _server(self) -> str:
        return public_address(self.model.base_url) or "OpenAI"

    def _clean(self, text: str) -> str:
        """A server's message on one line, without the key."""
        # Masked first: what is cut off or closed up would not be known for a key any more.
        return " ".join(masked(text, self._secrets).split())[:300]


def _run_to_end(work: Coroutine[Any, Any, None]) -> None:
    """Run a coroutine from ordinary code, inside a notebook's event loop as well."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        asyncio.run(work)
        return
    failure: list[BaseException] = []

    def target() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:
            failure.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    thread.join()
    if failure:
        raise failure[0]


def refused_key(url: str, named: str | None) -> str:
    """What to say of a server that answers 401."""
    variable = key_variable(url, named)
    if variable is None:
        return (
            "wants a key (401), and none was sent: keys go only where they were given for. Name "
            f"the variable of its key, e.g. --api-key-env {KEY_VARIABLE}"
        )
    return f"refuses the key in ${variable} (401); set a valid one"


def make_client(url: str, named: str | None = None, *, asynchronous: bool) -> Any:
    """The official client for a server; the key comes from the environment alone.

    Args:
        url: of the server; empty for OpenAI.
        named: see `gecjury.runtime.key_variable`.
        asynchronous: which of the two clients.

    Raises:
        OptionError: there is no key where one belongs, or it or the address cannot be one.
        MissingExtraError: the client is not installed.
    """
    try:
        import openai
    except ImportError as error:
        raise MissingExtraError(
            f"backend=openai needs the package {error.name}, which is not installed: "
            "pip install 'gecjury[judges]'"
        ) from None
    variable = key_variable(url, named)
    key = read_key(variable) if variable else ""
    if not key:
        if variable and variable == named:
            raise OptionError(f"--api-key-env {variable}: the variable is not set")
        if not url:
            raise OptionError(
                f"no key for OpenAI: set ${KEY_VARIABLE}, or name a server of your own with "
                "base_url=http://HOST:PORT/v1"
            )
        key = "none"
    kind = openai.AsyncOpenAI if asynchronous else openai.OpenAI
    timeout = openai.Timeout(600.0, connect=10.0)
    place, _, query = url.partition("?")
    try:
        return kind(
            api_key=key,
            base_url=place or None,
            # The client would hang its paths on behind a query.
            default_query=dict(urllib.parse.parse_qsl(query)) or None,
            max_retries=0,
            timeout=timeout,
        )
    except Exception as error:  # the HTTP library's own error for an address that is none
        raise OptionError(
            f"base_url {public_address(url)!r} is not an address ({masked(str(error), [url])}); "
            "expected http://HOST:PORT/v1"
        ) from None


def _idempotency(attempt: Attempt) -> str:
    """Lets a server that knows the header answer a repeated request without paying twice."""
    return f"{attempt.request.key}-{attempt.number}"


def request_body(model: Model, attempt: Attempt, left_out: set[str]) -> dict[str, Any]:
    """The settings of `chat.completions.create` for a attempt, less what the server refused."""
    able = capabilities(model)
    sampling = attempt.sampling
    body: dict[str, Any] = {
        "model": model.name,
        "messages": [dict(message) for message in attempt.request.messages],
    }
    if sampling.get("temperature") is not None:
        body["temperature"] = sampling["temperature"]
    if sampling.get("seed") is not None:
        body["seed"] = sampling["seed"]
    cap = able.cap
    if "max_tokens" in left_out:
        cap = "max_completion_tokens"
    body[cap] = sampling["max_tokens"]
    if attempt.request.schema is not None:
        form = {"name": "verdict", "strict": True, "schema": dict(attempt.request.schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    if sampling.get("logprobs"):
        body["logprobs"], body["top_logprobs"] = True, sampling["logprobs"]
    if able.template_options and "thinking" in sampling:
        options = {"enable_thinking": sampling["thinking"]}
        if "chat_template_kwargs" not in left_out:
            body["extra_body"] = {"chat_template_kwargs": options}
    return {name: value for name, value in body.items() if name not in left_out}


def read_completion(record: Mapping[str, Any], price: Price | None, latency: float) -> Reply:
    """A server's completion as a reply; whatever is missing in it is empty, never an error."""
    usage = record.get("usage") or {}
    tokens = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
    cost = None if price is None else price.cost(*tokens)
    choices = record.get("choices") or []
    if not choices:
        return Reply("", "empty", *tokens, None, cost, latency)
    choice = choices[0]
    message = choice.get("message") or {}
    if message.get("refusal"):
        return Reply(str(message["refusal"]), "refusal", *tokens, None, cost, latency)
    text = _content(message.get("content"))
    if not text.strip():
        # Some servers put the whole answer where the thinking belongs.
        hidden = message.get("reasoning_content") or message.get("reasoning") or ""
        text = hidden if "{" in str(hidden) else text
    finish = str(choice.get("finish_reason") or "stop")
    return Reply(text, finish, *tokens, _logprobs(choice), cost, latency)


def mask_reply(reply: Reply, secrets: Sequence[str]) -> Reply:
    """A reply as it may be kept: a server that repeats what it was sent may repeat the key."""
    text, finish = (masked(said, secrets, addresses=False) for said in (reply.text, reply.finish))
    if (text, finish) == (reply.text, reply.finish):
        return reply
    # The tokens would spell the key.
    return replace(reply, text=text, finish=finish, logprobs=None)


def _content(content: Any) -> str:
    if isinstance(content, list):
        return "".join(str(part.get("text", "")) for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)


def _logprobs(choice: Mapping[str, Any]) -> tuple[TokenLogprob, ...] | None:
    content = (choice.get("logprobs") or {}).get("content")
    if not content:
        return None
    return tuple(
        TokenLogprob(
            str(token["token"]),
            tuple((str(t["token"]), float(t["logprob"])) for t in token.get("top_logprobs") or ()),
        )
        for token in content
    )
