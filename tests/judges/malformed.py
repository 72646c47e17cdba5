"""Malformed replies of a judge's server: the same seed gives the same reply.

For a fuzzer. The replies are `Said` objects for
`FaultServer`; `on_the_wire` returns them as bytes for another server.
"""

from __future__ import annotations

import copy
import functools
import gzip
import json
import random
from collections.abc import Callable
from typing import Any

from tests.judges.faultserver import Said

DEEP = 50_000
LONG = 20_000
OVERSIZED = 3_000_000
BOMB = 30_000_000

# JSON texts for any place in a completion, some of which json.dumps would not write.
ODD = (
    "null", "true", "false", "0", "-1", "1e999", "-1e999", "NaN", "-Infinity", "0.5", "1e308",
    "123456789012345678901234567890", "-5", '""', '"x"', '"\\ud800"', '"\\u0000"', '"5"', "[]",
    "[[]]", "[null]", '["x"]', "[1, 2, 3]", "{}", '{"a": null}', '[{"text": 5}]', "[{}, 7]",
    '[{"type": "text", "text": "{\\"score\\": 3}"}]', '{"content": {"content": []}}',
    "9" * 5_000, "[" * DEEP, "[" * 300 + "]" * 300, '{"a":' * 300 + "1" + "}" * 300,
    '"' + "{/*" * 5_000 + '"', '"\x1b]0;title\x07"',
)  # fmt: skip

PIECES = (
    "{", "{/*", "[", '"', "\\", "```", '{"a":', "9", "{'", "//", "/*", "#", "<think>", "</think>",
    '{"target1_score":', "{a:", "[[", "{[", ",", " ", "\n", "}", "{}", '"\\', "1e", ":", "{//\n",
    '{"score": 3}', "<think></think>", "target", "score", "1.", "'", "`", "\u2028", "\ud800", "\0",
    "valid:", "- ", "{ /* */ ", "é", "𝒳", "\x1b[2J",
)  # fmt: skip

PAGES = (
    b"", b" ", b"\n\n", b"null", b"7", b'"words"', b"[]", b"{}", b"<html>gateway</html>",
    b"data: {\"choices\": []}\n\ndata: [DONE]\n\n", b": keep-alive\n\n", b"\xff\xfe{}", b"\x80abc",
    b"\xef\xbb\xbf{}", b"\0" * 500, b"nan", b"{\"choices\"", b"{\"a\": \"\xc3\"}", b"[" * DEEP,
    b'{"a":' * DEEP, b"1" * 100_000, b"{/*" * 7_000, "{}".encode("utf-16"), b"\x1f\x8b\x08junk",
)  # fmt: skip

WAITS = (
    "nan", "inf", "-inf", "-1", "1e308", "99999999999", "9" * 400, "soon", "", "0", "601", "86400",
    "Fri, 31 Dec 9999 23:59:59 GMT", "Mon, 01 Jan 0001 00:00:00 -2359", "1, 2", "\u00bd",
    "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 99 Foo 2020", "0x10", "1_0000",
)  # fmt: skip

PLACES = (
    "file:///etc/passwd", "ftp://127.0.0.1/x", "/v1/chat/completions", "http://[", "//", "",
    "http://127.0.0.1:99999/x", "javascript:alert(1)", "http://127.0.0.1:1/x", "\x7f", "?" * 3_000,
)  # fmt: skip


def malformed(seed: int) -> Said:
    """Return a malformed reply of any kind."""
    source = random.Random(f"malformed-{seed}")
    kind = source.choice(tuple(KINDS))
    return KINDS[kind](source)


def on_the_wire(said: Said) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of a reply, without its delays and cut connections."""
    raw = said.raw if said.raw is not None else json.dumps(said.body).encode()
    return said.status, dict(said.headers), raw


def _completion() -> dict[str, Any]:
    text = json.dumps({"target1_score": 3, "target2_score": 4, "score": 3, "valid": True})
    top = [{"token": "3", "logprob": -0.1}, {"token": "4", "logprob": -2.0}]
    return {
        "id": "x",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": text, "refusal": None},
                "logprobs": {"content": [{"token": "3", "logprob": -0.1, "top_logprobs": top}]},
            }
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15},
    }


def _paths(value: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    paths = [before] if before else []
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in items if isinstance(value, (dict, list)) else ():
        paths += (
            _paths(part, (*before, key)) if isinstance(part, (dict, list)) else [(*before, key)]
        )
    return paths


def _shape(source: random.Random) -> Said:
    """A completion with one to three values replaced by odd ones or removed."""
    record = copy.deepcopy(_completion())
    marks: dict[str, str] = {}
    for number in range(source.choice((1, 1, 1, 2, 3))):
        path = source.choice(_paths(record))
        place = record
        for key in path[:-1]:
            place = place[key]
        if source.random() < 0.15:
            del place[path[-1]]
        else:
            marks[f'"odd-{number}"'] = source.choice(ODD)
            place[path[-1]] = f"odd-{number}"
    text = json.dumps(record)
    for mark, odd in marks.items():
        text = text.replace(mark, odd)
    return Said(raw=text.encode("utf-8", "surrogatepass"))


def _bytes(source: random.Random) -> Said:
    """A valid completion with a few bytes changed, removed or added."""
    data = bytearray(json.dumps(_completion()).encode())
    for _ in range(source.randrange(1, 9)):
        at = source.randrange(len(data))
        what = source.randrange(4)
        if what == 0:
            data[at] = source.randrange(256)
        elif what == 1:
            del data[at : at + source.randrange(1, 20)]
        elif what == 2:
            data[at:at] = bytes(source.randrange(256) for _ in range(source.randrange(1, 6)))
        else:
            data[at:at] = data[at : at + source.randrange(1, 60)]
        if not data:
            break
    return Said(raw=bytes(data))


def _page(source: random.Random) -> Said:
    kinds = (
        "application/json",
        "text/html",
        "text/event-stream",
        "text/plain; charset=utf-7",
        "application/json; charset=nonsense",
        "application/json; charset=hex",
        "",
        "\u00e9",
    )
    return Said(raw=source.choice(PAGES), headers={"content-type": source.choice(kinds)})


def _text(source: random.Random) -> str:
    if source.random() < 0.5:
        pattern = "".join(source.choice(PIECES) for _ in range(source.randrange(1, 4)))
        text = (pattern * LONG)[:LONG]
    else:
        text = "".join(source.choice(PIECES) for _ in range(source.randrange(1, 400)))
    if source.random() < 0.3:
        text = source.choice(('{"score": ', '{"target1_score": 3, "x": ', "```json\n")) + text
    return text


def _said_text(source: random.Random) -> Said:
    record = _completion()
    record["choices"][0]["message"]["content"] = _text(source)
    record["choices"][0]["finish_reason"] = source.choice(("stop", "length", "tool_calls"))
    return Said(body=record)


def _oversized(source: random.Random) -> Said:
    filler = source.choice((b" ", b"x", b"[", b"{", b"9"))
    start = source.choice((b"", b'{"choices": "'))
    return Said(source.choice((200, 200, 400, 500)), raw=start + filler * OVERSIZED)


def _bomb(source: random.Random) -> Said:
    if source.random() < 0.3:
        return Said(raw=gzip.compress(_packed(), 9), headers={"content-encoding": "gzip, gzip"})
    return Said(raw=_packed(), headers={"content-encoding": "gzip"})


@functools.cache
def _packed() -> bytes:
    return gzip.compress(b" " * BOMB + json.dumps(_completion()).encode(), 9)


def _coded(source: random.Random) -> Said:
    """A content encoding that does not match the bytes, or damaged bytes."""
    data = json.dumps(_completion()).encode()
    packed = gzip.compress(data)
    choices = (data, packed[: len(packed) // 2], packed[:-4], b"", packed + b"rest", packed[10:])
    names = ("gzip", "deflate", "br", "zstd", "gzip, deflate", "nonsense", "identity", "gzip" * 99)
    return Said(raw=source.choice(choices), headers={"content-encoding": source.choice(names)})


def _status(source: random.Random) -> Said:
    """An error status with a body of any shape."""
    status = source.choice((400, 401, 403, 404, 408, 409, 413, 416, 418, 422, 429, 451, 500, 503,
                            520, 599, 600, 999))  # fmt: skip
    odd = source.choice(ODD)
    bodies = (
        odd,
        f'{{"error": {odd}}}',
        f'{{"error": {{"message": {odd}, "param": {source.choice(ODD)}, "code": {odd}}}}}',
        '{"error": {"message": "\\u001b[31m' + "x" * 5_000 + '"}}',
    )
    headers = {"retry-after": source.choice(WAITS)} if source.random() < 0.3 else {}
    return Said(status, raw=source.choice(bodies).encode("utf-8", "surrogatepass"), headers=headers)


def _wait(source: random.Random) -> Said:
    name = source.choice(("retry-after", "retry-after", "retry-after-ms"))
    status = source.choice((429, 429, 503, 500))
    return Said(status, {"error": {"message": "later"}}, {name: source.choice(WAITS)})


def _moved(source: random.Random) -> Said:
    """A redirect or another status without a completion."""
    status = source.choice((301, 302, 303, 307, 308, 300, 304, 305, 201, 202, 204, 205, 206, 226))
    place = source.choice((*PLACES, None))
    raw = source.choice((b"", b"{}"))
    return Said(status, raw=raw, headers={} if place is None else {"location": place})


def _length(source: random.Random) -> Said:
    """A declared length that is invalid or wrong."""
    length = source.choice(("abc", "-1", "5", "0", "1e3", "9" * 30, "", "10, 20", "0x10", "+5"))
    return Said(body=_completion(), length=length, close=True)


def _wire(source: random.Random) -> Said:
    """Bytes that are not HTTP, or only just."""
    sound = json.dumps(_completion()).encode()
    return Said(
        wire=source.choice(
            (
                b"",
                b"\0\0\0\0",
                b"hello\r\n\r\n",
                b"HTTP/1.1\r\n\r\n",
                b"HTTP/1.1 abc OK\r\n\r\n",
                b"HTTP/1.1 99999 OK\r\n\r\n",
                b"HTTP/9.9 200 OK\r\n\r\n{}",
                b"HTTP/1.1 200 OK\r\n" + b"x: y\r\n" * 50_000 + b"\r\n",
                b"HTTP/1.1 200 OK\r\nx: " + b"y" * 300_000 + b"\r\n\r\n",
                b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n{}",
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n-5\r\n{}\r\n0\r\n\r\n",
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nffffffffff\r\n{}",
                b"HTTP/1.1 200 OK\r\ntransfer-encoding: nonsense\r\n\r\n{}",
                b"HTTP/1.1 100 Continue\r\n\r\n" * 20 + b"HTTP/1.1 200 OK\r\n\r\n" + sound,
                b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n",
                b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
                b"HTTP/1.1 200 \xff\xfe\r\n\r\n" + sound,
                b"HTTP/1.0 200 OK\n\n" + sound,
                b"\x16\x03\x01\x02\x00\x01\x00",
            )
        )
    )


KINDS: dict[str, Callable[[random.Random], Said]] = {
    "shape": _shape,
    "bytes": _bytes,
    "page": _page,
    "text": _said_text,
    "oversized": _oversized,
    "bomb": _bomb,
    "coded": _coded,
    "status": _status,
    "wait": _wait,
    "moved": _moved,
    "length": _length,
    "cut": lambda source: Said(body=_completion(), cut=True),
    "drip": lambda source: Said(body=_completion(), drip=source.choice((0.0, 0.0005))),
    "wire": _wire,
}
"""Kinds of malformed replies, each created from a random source."""
