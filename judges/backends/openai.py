"""The OpenAI backend: the official client against OpenAI or any server that speaks its protocol.

This module implements its own retries, so that one place decides which requests are sent again:
those that end in a rate limit, a server error, a broken connection or a body that is not JSON, but
not those with a wrong key, an unknown model or an error that calls the request invalid. It does not
use tenacity: a complaint slows all requests down before its own place is free, all requests wait at
a common entrance, and the number of tries depends on whether the server ever answered, so that
every part of the loop would be custom code. Nor does it use aiolimiter, whose rate is fixed in
advance: here one limit, shared by all requests, follows the server's answers.
"""

from __future__ import annotations

import asyncio
import random
import re
import time
import urllib.parse
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NoReturn

from gecjury.core.addresses import (
    KEY_VARIABLE,
    OPENAI_ADDRESS,
    check_address,
    is_loopback,
    key_variable,
    masked,
    proxy_for,
    public_address,
    read_key,
    secrets_of,
)
from gecjury.core.errors import (
    IncompleteError,
    InputError,
    MissingExtraError,
    OptionError,
    install_hint,
)
from gecjury.core.textfiles import parse_json
from gecjury.core.wording import visible
from gecjury.judges.backends.backend import Assignment, no_template
from gecjury.judges.backends.bounded import Limits, Moved, Unusable, bounded_client, run_to_end
from gecjury.judges.backends.completion import (
    error_in,
    error_message,
    error_status,
    read_completion,
)
from gecjury.judges.backends.window import capped, said_window, says_too_long, too_long
from gecjury.judges.exchange import Attempt, Model, Reply
from gecjury.judges.models import capabilities
from gecjury.judges.replies.reply import ignores_schema

if TYPE_CHECKING:
    from openai import APIStatusError, AsyncOpenAI
    from openai._legacy_response import LegacyAPIResponse
    from openai.types.chat import ChatCompletion

_LONGEST_WAIT = 120.0


class RequestPace:
    """A limit on concurrent requests: halved when the server complains, raised when it does not.

    It works by additive increase and multiplicative decrease. A Retry-After delays all requests,
    since it applies to the account, not to one request.

    Attributes:
        limit: requests allowed at once now.
    """

    def __init__(self, most: int) -> None:
        self.limit = float(most)
        self._most = most
        self._under_way = 0
        self._not_before = 0.0
        self._last_cut = float("-inf")
        self._changed = asyncio.Condition()
        self._over = asyncio.Event()

    async def enter(self) -> None:
        """Wait for a place and for the end of any pause."""
        async with self._changed:
            await self._changed.wait_for(lambda: self._under_way < int(self.limit))
            self._under_way += 1
        while self.pause > 0 and not self._over.is_set():
            await self.rest(self.pause)

    async def rest(self, seconds: float) -> None:
        """Wait, or return earlier if the run ends."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._over.wait()

    def end(self) -> None:
        """Wake all waiting requests: the run is over."""
        self._over.set()

    @property
    def pause(self) -> float:
        """Seconds for which nothing may be sent."""
        return self._not_before - time.monotonic()

    async def leave(self, *, answered: bool) -> None:
        """Free the place; as many good answers as the limit raise it by about one."""
        async with self._changed:
            self._under_way -= 1
            if answered:
                self.limit = min(self._most, self.limit + 1 / self.limit)
            self._changed.notify_all()

    def slow_down(self, wait: float) -> None:
        """Lower the limit, as the server wants it, and send nothing for `wait` seconds."""
        now = time.monotonic()
        self._not_before = max(self._not_before, now + wait)
        # Requests sent together are refused together: that is one reason to slow down, not many.
        if now >= self._last_cut + 0.5:
            self._last_cut = now + wait
            self.limit = max(1.0, self.limit / 2)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a server asks to wait; None if its headers do not say."""
    with suppress(KeyError, ValueError):
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    value = headers.get("retry-after", "")
    with suppress(ValueError):
        return max(0.0, float(value))
    # A value that is neither a number nor a valid date is ignored.
    with suppress(ValueError, TypeError, OverflowError, OSError):
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    return None


def backoff(attempt: int, asked: float | None, source: random.Random) -> float:
    """Return how many seconds to wait before a retry.

    Args:
        attempt: 0 for the first retry.
        asked: the wait that the server asked for, which is honoured in full, plus up to a tenth.
        source: random source of the jitter.
    """
    if asked is not None:
        return asked * (1 + 0.1 * source.random())
    return min(_LONGEST_WAIT, 0.5 * 2.0**attempt) * (0.5 + 0.5 * source.random())


_TRIES = 8
# A server that has never answered is probably not there: say so soon.
_FIRST_TRIES = 3
# Settings that some servers refuse and that an answer does not need.
_OPTIONAL = (
    "temperature",
    "seed",
    "response_format",
    "chat_template_kwargs",
    "reasoning_effort",
    "max_tokens",
)
_DEEPSEEK = "://api.deepseek.com"
# The name of a schema in OpenAI's protocol; llama-cpp-python expects it next to "json_object".
_SCHEMA = "json_schema"
# The limit on the length of a reason in a schema.
_BOUND = "maxLength"
# Other words with which servers refuse a setting; those of the last are Gemini's and Ollama's.
_WORDS = {
    "response_format": (_SCHEMA,),
    "reasoning_effort": ("thinking level", "does not support thinking"),
}
# Bytes that a server needs to write the probabilities of one token and of its alternatives.
_TOKEN_BYTES = 5_000
_MOST_MESSAGE = 4_000
# Statuses of requests that were not processed; others may be billed.
_UNBILLED = (401, 403, 404, 413, 422, 429)
_UNSENT = ("ConnectError", "ConnectTimeout", "PoolTimeout", "ProxyError", Moved.__name__)
_END_OF_STREAM = "[DONE]"
# Seconds of waiting from which on people are told, and for how long they are not told again.
_TOLD_FROM, _TOLD_AGAIN = 5.0, 60.0
# How servers that do not answer 404 say that they do not know a model.
_UNKNOWN_CODES = ("model_not_found", "invalid_model")
_UNKNOWN = re.compile(r"model.{0,80}(not found|not exist|not a valid model)|invalid model")


class _Transient(Exception):
    """A fault that is worth another try."""

    def __init__(self, reason: str, wait: float | None = None, *, limited: bool = False) -> None:
        super().__init__(reason)
        self.wait, self.limited = wait, limited


class _TooLong(Exception):
    """The prompt and the room for its answer do not fit the model's window."""

    def __init__(self, window: int | None) -> None:
        super().__init__()
        self.window = window


class _RefusedByServer(Exception):
    """The server does not know a setting that the request can do without."""


class ServerBackend:
    """Base of the backends that ask a server: its clients, and messages that are safe to show."""

    def __init__(self, model: Model, limits: Limits | None = None) -> None:
        self.model, self.limits = model, limits or Limits()
        self._named: str | None = None
        self._secrets = tuple(s for url in model.base_url.split("+") for s in secrets_of(url))

    def _connect(self, work: Assignment, limits: Limits) -> list[AsyncOpenAI]:
        """Return a client for each address; from now on their keys are masked."""
        urls, named = self.model.base_url.split("+"), work.runtime.api_key_env
        self._named = named
        self._secrets += tuple(read_key(key) for url in urls if (key := key_variable(url, named)))
        return [make_client(url, named, limits) for url in urls]

    def _wrong_key(self) -> OptionError:
        """Return the error for a server that answers 401."""
        variable = key_variable(self.model.base_url, self._named)
        fault = f"refuses the key in ${variable} (401); set a valid one"
        if variable is None:
            fault = (
                "requires a key (401), and none was sent: a key is sent only to the server that it "
                f"was given for. Name the variable of its key, e.g. `api_key_env={KEY_VARIABLE}`"
            )
        return OptionError(f"{self._server()} {fault}")

    def _sent_on(self, moved: Moved) -> OptionError:
        """Return the error for a server that redirects to another address."""
        shown = public_address(self._clean(str(moved)))
        return OptionError(
            f"{self._server()} redirects requests to {shown!r}, which is not followed: sentences "
            "and keys go only to the address that was named. If you trust the other one, name it "
            "with base_url"
        )

    def _broken(self, error: Exception) -> str:
        """Return why a server's reply did not arrive completely.

        Raises:
            OptionError: the server redirects to another address.
        """
        # Newer versions of the client raise directly what older ones set as the cause.
        reason = error.__cause__ or error
        if isinstance(reason, Moved):
            raise self._sent_on(reason) from None
        said = self._clean(str(reason)) or type(reason).__name__
        return said if isinstance(reason, Unusable) else f"no connection ({said})"

    def _server(self) -> str:
        urls = (self.model.base_url or OPENAI_ADDRESS).split("+")
        proxy = next(filter(None, map(proxy_for, urls)), "")
        through = f" (through the proxy {public_address(proxy)})" if proxy else ""
        return (public_address(self.model.base_url) or "OpenAI") + through

    def _clean(self, text: str) -> str:
        """Return a server's message on one line of at most 300 characters, without the key."""
        # Keys are masked first, because a key that was cut or lost its blanks would not be
        # recognized any more. Addresses are searched only in the beginning, because that takes
        # quadratic time on a hostile text.
        text = masked(text, self._secrets, addresses=False)[:_MOST_MESSAGE]
        return visible(" ".join(masked(text, self._secrets).split())[:300])


class OpenAIBackend(ServerBackend):
    """Asks a server, many requests at once; see `gecjury.judges.backends.backend.Backend`."""

    def __init__(self, model: Model, limits: Limits | None = None) -> None:
        super().__init__(model, limits)
        self.left_out: set[str] = set()
        self._obeys = False  # whether a reply has had the form of its schema
        self.pace = RequestPace(1)  # until it is known how many requests there may be at once
        self._answered = 0
        self._told = float("-inf")  # when people were last told of a wait
        self._random = random.Random(0)
        self._stop: BaseException | None = None

    def run(self, work: Assignment) -> None:
        """Answer all attempts, many at once; see `Backend.run`."""
        run_to_end(self._all(work))

    async def _all(self, work: Assignment) -> None:
        attempts = work.attempts
        # The first question is sent alone if its reply decides whether the others are paid for: a
        # server may return no probabilities, or bill more tokens than there can be.
        capped = work.runtime.max_cost is not None
        alone = attempts and (attempts[0].sampling.get("logprobs") or capped)
        first = 1 if alone else len(attempts)
        waiting = deque(attempts[:first])
        self.pace = RequestPace(work.runtime.concurrency)
        clients = self._connect(work, limits_for(self.limits, work.attempts))
        self._stop = None

        async def answer(number: int) -> None:
            client = clients[number % len(clients)]
            while waiting and self._stop is None:
                attempt: Attempt | None = waiting.popleft()
                while attempt is not None and self._stop is None:
                    reply = await self._answer(client, attempt, work)
                    if reply is None:
                        # The budget has no room for it beside the requests in progress, which may
                        # leave some: whoever makes these tries it again.
                        waiting.appendleft(attempt)
                        return
                    attempt = work.deliver(attempt, reply)

        async def guarded(number: int) -> None:
            # One failure ends the run, but the other requests in progress are paid for, so their
            # replies are awaited and stored.
            try:
                await answer(number)
            except Exception as error:
                self._stop = self._stop or error
                self.pace.end()

        async def answer_all() -> None:
            count = min(work.runtime.concurrency, len(waiting))
            await asyncio.gather(*(guarded(number) for number in range(count)))

        try:
            await answer_all()
            waiting.extend(attempts[first:])
            await answer_all()
        finally:
            for client in clients:
                await client.close()
        if self._stop is not None:
            raise self._stop

    async def _answer(
        self, client: AsyncOpenAI, attempt: Attempt, work: Assignment
    ) -> Reply | None:
        """Return a reply, after retries if necessary.

        Returns:
            None if another request ended the run, or the budget has no room.
        """
        tries = 0
        while True:
            await self.pace.enter()
            answered = False
            try:
                if self._stop is not None or not work.claim([attempt]):
                    return None
                reply = await self._once(client, attempt, work)
                self._watch_schema(attempt, reply)
                answered = True
                self._answered += 1
                return reply
            except _RefusedByServer:
                continue  # at once, without the setting that was refused
            except _TooLong as error:
                # A refusal is an answer: the server is there, and no slowdown is needed.
                answered = True
                self._answered += 1
                less = capped(attempt)
                if less is None:
                    return too_long(error.window)
                attempt = less
                continue
            except _Transient as error:
                tries += 1
                # The user decides whether to wait for hours.
                if error.wait is not None and error.wait > self.limits.wait:
                    raise IncompleteError(
                        f"{self._server()} asks to wait {error.wait / 60:.0f} minutes ({error}), "
                        f"more than {self.limits.wait / 60:.0f}: the run stops here. "
                        "Replies so far are kept; run the same command again later to continue"
                    ) from None
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
                now = time.monotonic()
                if wait >= _TOLD_FROM and now >= self._told + _TOLD_AGAIN:
                    self._told = now
                    work.runtime.tell(
                        f"{self._server()}: {error}; waiting {wait:.0f} s before asking again"
                    )
            finally:
                await self.pace.leave(answered=answered)
            if not limited:  # `RequestPace.enter` waits for the end of a pause for all requests
                await self.pace.rest(wait)

    def _watch_schema(self, attempt: Attempt, reply: Reply) -> None:
        """Stop sending schemas if the first replies show that the server ignores them.

        Such servers do not refuse a schema. Replies are read tolerantly, and the prompt asks for
        the form in its own words.
        """
        ignored = ignores_schema(attempt.request, reply)
        self._obeys |= ignored is False
        if ignored and not self._obeys and self.model.structured != "schema":
            self.left_out.add("response_format")

    async def _once(self, client: AsyncOpenAI, attempt: Attempt, work: Assignment) -> Reply:
        import openai

        def fail(error: APIStatusError) -> NoReturn:
            try:
                self._raise_status(error, body)
            except Exception as fault:
                if isinstance(fault, _RefusedByServer) or error.status_code in _UNBILLED:
                    work.release(attempt)
                raise

        body = request_body(self.model, attempt, self.left_out)
        # A copy, since other requests may be refused while this one is in progress.
        left_out = {"left_out": sorted(self.left_out)} if self.left_out else {}
        start = time.perf_counter()
        try:
            create: Callable[..., Awaitable[LegacyAPIResponse[ChatCompletion]]] = (
                client.chat.completions.with_raw_response.create
            )
            raw = await create(**body, extra_headers={"Idempotency-Key": attempt.name})
            data = raw.http_response.content
        except openai.APIStatusError as error:
            fail(error)
        except openai.APITimeoutError as error:
            if _unsent(error):
                work.release(attempt)
            # Desktop servers process one request at a time, and the others wait in a queue.
            self.pace.slow_down(0.0)
            raise _Transient("the request timed out") from None
        except (openai.APIConnectionError, Unusable, Moved) as error:
            if _unsent(error):
                work.release(attempt)
            raise _Transient(self._broken(error)) from None
        except openai.OpenAIError as error:
            raise InputError(f"{self._server()}: {self._clean(str(error))}") from None
        except Exception as error:  # any error of the client while it reads an odd answer
            raise _Transient(f"an answer that cannot be read ({type(error).__name__})") from None
        record = self._record(data)
        if said := error_in(record):
            sent = openai.APIStatusError("", response=raw.http_response, body=said)
            sent.status_code = error_status(said)
            fail(sent)
        seconds = time.perf_counter() - start
        return read_completion(record, attempt, work.price, self._secrets, seconds, **left_out)

    def _record(self, data: bytes) -> dict[str, object]:
        """Return the JSON object in the body of a reply."""
        text = _without_marks(data.decode("utf-8", "replace").removeprefix("\ufeff"))
        try:
            record = parse_json(text, "the reply", "a completion", halves=True)
        except InputError:
            shown = self._clean(text)[:40]
            raise _Transient(f"not JSON but {shown!r}" if text else "an empty reply") from None
        if not isinstance(record, dict):
            raise _Transient(f"not a completion but {self._clean(text)[:40]!r}")
        return record

    def _raise_status(self, error: APIStatusError, body: Mapping[str, object]) -> NoReturn:
        """Turn an error status into a retry, a request without a setting, or the end."""
        body_said = error.body if isinstance(error.body, dict) else {}
        status = error.status_code
        text = self._clean(error_message(body_said) or error.message)
        lowered = text.lower()
        # The order matters: several refusals share a status, and only their words differ.
        if status == 429 and error.code != "insufficient_quota":
            wait = retry_after(error.response.headers)
            raise _Transient(f"rate limit (429): {text}", wait, limited=True) from None
        if says_too_long(status, body_said, text):
            raise _TooLong(said_window(body_said, text)) from None
        # Some servers report an unknown setting as an internal error.
        if status == 500:
            self._drop_refused(error, lowered, body, ("response_format",))
        if status in (400, 500) and "logprobs" in body and "logprobs" in lowered:
            raise OptionError(
                f"{self._server()} returns no token probabilities ({text}), which "
                "scoring=expected needs: start it so that it does (llama-cpp-python: --logits_all "
                "true), or use scoring=argmax"
            ) from None
        unknown = error.code in _UNKNOWN_CODES or _UNKNOWN.search(lowered)
        if status == 404 or (status in (400, 422) and unknown):
            raise OptionError(
                f"{self._server()} has no model {self.model.name!r} ({status}): {text}; check "
                "model=..., and that base_url ends as the server expects it (usually /v1)"
            ) from None
        if status in (408, 409, 425) or status >= 500:
            wait = retry_after(error.response.headers)
            reason = f"status {status}: {text}" if body_said else f"status {status}"
            if status == 500 and not body_said:
                # transformers serve answers so if it cannot load a model.
                reason += f" without a reason; see its log and check model={self.model.name}"
            raise _Transient(reason, wait, limited=status == 503) from None
        if status == 400 and "chat template" in lowered:
            raise InputError(no_template(self.model.name)) from None
        if status in (400, 422):
            self._drop_refused(error, lowered, body, _OPTIONAL)
        if status == 401:
            raise self._wrong_key() from None
        if status == 403:
            raise OptionError(f"{self._server()} does not allow this (403): {text}") from None
        if status == 429:
            raise OptionError(f"{self._server()}: the account's quota is used up: {text}") from None
        raise InputError(f"{self._server()} refuses the request ({status}): {text}") from None

    def _drop_refused(
        self, error: APIStatusError, text: str, body: Mapping[str, object], names: Sequence[str]
    ) -> None:
        """Leave out, from now on, the setting for which a request was refused.

        Raises:
            _Refused: there is such a setting, and the request should be sent again without it.
        """
        extra, form = body.get("extra_body"), body.get("response_format")
        sent = {*body, *(extra if isinstance(extra, Mapping) else ())}
        # Some servers do not know limits on length; a schema without them is better than none.
        if _BOUND.lower() in text and "response_format" in sent and _BOUND not in self.left_out:
            self.left_out.add(_BOUND)
            raise _RefusedByServer
        for name in names:
            words = [name, name.replace("_", " "), *_WORDS.get(name, ())]
            if name not in sent or not (name == error.param or any(w in text for w in words)):
                continue
            if name == "reasoning_effort" and self.model.effort != "auto":
                # Otherwise scores would be labelled with an effort that was not used.
                raise OptionError(
                    f"{self._server()} refuses effort={self.model.effort} for {self.model.name} "
                    f"({error.status_code}): {self._clean(text)}; use another effort, or leave it "
                    "out"
                ) from None
            if name != "response_format":
                self.left_out.add(name)
            elif isinstance(form, Mapping) and _SCHEMA in form and name not in self.left_out:
                # Some servers know only another way to ask for the same schema.
                self.left_out.add(_SCHEMA)
            elif self.model.structured != "schema":
                self.left_out.add(name)
                self.left_out.discard(_SCHEMA)  # it is a form of the setting that was left out
            else:
                continue
            raise _RefusedByServer from None


def _unsent(error: Exception) -> bool:
    """Return whether a request never reached the server, or only one that sent it elsewhere."""
    # By name, since the client chooses between two HTTP libraries.
    return type(error.__cause__ or error).__name__ in _UNSENT


def _without_marks(text: str) -> str:
    """Return a body without the marks of a stream, which some servers put around a whole reply."""
    body = text.rstrip()
    if body.endswith(_END_OF_STREAM):
        body = body.removesuffix(_END_OF_STREAM).rstrip().removesuffix("data:")
        return body.lstrip().removeprefix("data:")
    return text


def limits_for(limits: Limits, attempts: Iterable[Attempt]) -> Limits:
    """Return the limits, with room for the probabilities of tokens if these are requested."""
    tokens = [a.max_tokens for a in attempts if a.sampling.get("logprobs")]
    # A question is asked again with twice the tokens, up to the number of tries.
    more = 4 * _TOKEN_BYTES * max(tokens, default=0)
    return replace(limits, reply_bytes=limits.reply_bytes + min(more, limits.file_bytes))


def make_client(url: str, named: str | None = None, limits: Limits | None = None) -> AsyncOpenAI:
    """Return the official client for a server; the key comes only from the environment.

    Args:
        url: address of the server; empty for OpenAI.
        named: see `gecjury.core.addresses.key_variable`.
        limits: limits on the server's replies.

    Raises:
        OptionError: a key is needed and missing, or the key or the address is invalid.
        MissingExtraError: the client is not installed.
    """
    try:
        import openai
    except ImportError as error:
        raise MissingExtraError(
            f"backend=openai needs the package {error.name}, which is not installed: "
            f"{install_hint('judges')}"
        ) from None
    if url and (wrong := check_address(url)):
        raise _no_address(url, wrong)
    key = _key_for(url, named)
    place, _, query = url.partition("?")
    bounded = bounded_client(limits or Limits(), proxies=not is_loopback(url))
    try:
        return openai.AsyncOpenAI(
            api_key=key,
            # Named even for OpenAI: otherwise the client would read it from the environment, which
            # is not part of the request's key and its store.
            base_url=place or OPENAI_ADDRESS,
            # The client would append its paths after a query.
            default_query=dict(urllib.parse.parse_qsl(query)) or None,
            max_retries=0,
            timeout=openai.Timeout(600.0, connect=10.0),
            http_client=bounded,
        )
    except Exception as error:  # the HTTP library's own error for an invalid address
        raise _no_address(url, masked(str(error), [url])) from None


def _key_for(url: str, named: str | None) -> str:
    """Return the key for a server; `none` for one that needs no key."""
    variable = key_variable(url, named)
    if key := read_key(variable) if variable else "":
        return key
    if variable and variable == named:
        raise OptionError(f"`api_key_env={variable}`: the variable is not set")
    if not url:
        raise OptionError(
            f"no key for OpenAI: set ${KEY_VARIABLE}, or name a server of your own with "
            "base_url=http://HOST:PORT/v1"
        )
    return "none"


def _no_address(url: str, why: str) -> OptionError:
    return OptionError(
        f"base_url {public_address(url)!r} is not an address ({why}); expected http://HOST:PORT/v1"
    )


def request_body(model: Model, attempt: Attempt, left_out: set[str]) -> dict[str, object]:
    """Return the settings of `chat.completions.create`, except those that the server refused."""
    able, sampling = capabilities(model), attempt.sampling
    cap = "max_completion_tokens" if "max_tokens" in left_out else able.cap
    body: dict[str, object] = {
        "model": model.name,
        "messages": [dict(message) for message in attempt.request.messages],
        "temperature": sampling.get("temperature"),
        "seed": sampling.get("seed"),
        cap: attempt.max_tokens,
        "reasoning_effort": sampling.get("reasoning_effort"),
    }
    if attempt.request.schema is not None:
        schema: Mapping[str, object] = attempt.request.schema
        if _BOUND in left_out:
            properties = {
                key: {name: value for name, value in of_key.items() if name != _BOUND}
                for key, of_key in attempt.request.schema["properties"].items()
            }
            schema = {**schema, "properties": properties}
        form = {"name": "verdict", "strict": True, "schema": schema}
        body["response_format"] = {"type": _SCHEMA, _SCHEMA: form}
        if _SCHEMA in left_out:
            body["response_format"] = {"type": "json_object", "schema": schema}
    if sampling.get("logprobs"):
        body["logprobs"], body["top_logprobs"] = True, sampling["logprobs"]
    if able.template_options and "thinking" in sampling:
        extra: dict[str, object] = {}
        if "chat_template_kwargs" not in left_out:
            extra["chat_template_kwargs"] = {"enable_thinking": sampling["thinking"]}
        # DeepSeek turns reasoning off with a separate setting; its efforts begin at low.
        if model.effort != "auto" and _DEEPSEEK in model.base_url:
            kind = "enabled" if sampling["thinking"] else "disabled"
            extra["thinking"] = {"type": kind}
            if not sampling["thinking"]:
                del body["reasoning_effort"]
        body["extra_body"] = extra or None
    return {n: value for n, value in body.items() if value is not None and n not in left_out}
