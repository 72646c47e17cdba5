"""The environment of templates: all text is escaped, and a missing value is an error."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined
from jinja2.ext import Extension
from jinja2.lexer import Token, TokenStream
from markupsafe import Markup

from gecjury.report.escaping import clean
from gecjury.report.page.svg import mark
from gecjury.report.words import FAMILY_NAMES

_BREAK_BETWEEN_WORDS = re.compile(r"(?<=[^\s>])\s*\n\s*(?=[^\s<])")
_BREAK = re.compile(r"\s*\n\s*")


class _Joined(Extension):
    """An extension that removes the line breaks and indentation of templates.

    They only make templates readable; the size of a page is limited, and each table cell is on a
    separate line. A break between two words or attributes becomes a space. A break next to a tag,
    an expression or a statement is removed, so a space that is needed there must be within a line.
    """

    def filter_stream(self, stream: TokenStream) -> Iterator[Token]:
        for token in stream:
            if token.type == "data":
                text = _BREAK.sub("", _BREAK_BETWEEN_WORDS.sub(" ", token.value))
                token = Token(token.lineno, token.type, text)
            yield token


def finalize(value: object) -> object:
    """Return the value of an expression as it is written, before it is escaped."""
    if value is None:
        return ""
    if isinstance(value, str) and not isinstance(value, Markup):
        return clean(value)
    return value


def templates_of(package: str) -> Environment:
    """Return the environment of a package's templates; all text is escaped."""
    return Environment(
        loader=PackageLoader(package),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        auto_reload=False,
    )


@cache
def environment() -> Environment:
    """Return the environment of all pages, with the names and marks of families."""
    made = templates_of("gecjury.report.page")
    made.add_extension(_Joined)
    # JSON for programs keeps the order of the document.
    made.policies["json.dumps_kwargs"] = {
        "ensure_ascii": True,
        "separators": (",", ":"),
        "allow_nan": False,
        "sort_keys": False,
    }
    made.globals |= {"mark": mark, "family_names": FAMILY_NAMES}
    return made
