"""Fingerprints of texts: 16 hexadecimal digits, which signatures and stored files contain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence

from gecjury.core.textfiles import FileLines

_ESCAPED = bytes(range(32)) + b"\\"  # what JSON escapes besides the quotation mark
_HASHED = 1000  # lines whose JSON text is hashed at once


def fingerprint(parts: Iterable[str]) -> str:
    """Return the SHA-256 over length-prefixed strings, shortened to 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        # With the length in front, no two lists of strings give the same bytes.
        digest.update(b"%d:%b" % (len(data), data))
    return digest.hexdigest()[:16]


def texts_print(texts: Iterable[tuple[Sequence[str], list[object]]]) -> str:
    """Return the fingerprint of texts, each as one JSON list: its lines, then what belongs to them.

    Args:
        texts: the lines of each, which may stay on disk, and values for JSON.
    """
    digest = hashlib.sha256()
    for lines, rest in texts:
        # The length comes first, so texts on disk are read twice and never held in memory.
        pieces = [] if isinstance(lines, FileLines) else list(_json_pieces(lines, rest))
        digest.update(b"%d:" % sum(map(len, pieces or _json_pieces(lines, rest))))
        for piece in pieces or _json_pieces(lines, rest):
            digest.update(piece)
    return digest.hexdigest()[:16]


def _json_pieces(lines: Sequence[str], rest: list[object]) -> Iterator[bytes]:
    before = b"[["
    for start in range(0, len(lines), _HASHED):
        part = lines[start : start + _HASHED]
        data = "\n".join(part).encode("utf-8", "surrogatepass")
        # Where only quotation marks need escaping, joining the lines is four times as fast.
        if len(data.translate(None, _ESCAPED)) == len(data) - len(part) + 1:
            strings = b'"%b"' % data.replace(b'"', b'\\"').replace(b"\n", b'", "')
        else:
            text = json.dumps(part, ensure_ascii=False)[1:-1]
            strings = text.encode("utf-8", "surrogatepass")
        yield before + strings
        before = b", "
    end = json.dumps(rest, ensure_ascii=False)[1:]
    yield f"{'' if lines else '[['}], {end}".encode("utf-8", "surrogatepass")
