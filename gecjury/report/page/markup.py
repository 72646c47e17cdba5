"""HTML as text: an element builder that escapes whatever is not marked as HTML already."""

from __future__ import annotations

import html
import json
from collections.abc import Iterable
from typing import Any

__all__ = ["Markup", "data_block", "element", "join", "void"]

# Control characters are not allowed in HTML, surrogates not in UTF-8; a reader sees that
# something stood there.
_REPLACED = dict.fromkeys((*range(9), 11, *range(14, 32), *range(127, 160)), "�")
_REPLACED |= dict.fromkeys(range(55296, 57344), "�")


class Markup(str):
    """A string that is HTML; every other string is escaped when it becomes part of one."""

    __slots__ = ()


Child = str | None | Iterable["Child"]


def join(*children: Child) -> Markup:
    """Children as HTML: text escaped, HTML kept, None left out, iterables flattened."""
    parts: list[str] = []
    for child in children:
        if child is None:
            continue
        if isinstance(child, Markup):
            parts.append(child)
        elif isinstance(child, str):
            parts.append(html.escape(child.translate(_REPLACED), quote=False))
        else:
            parts.append(join(*child))
    return Markup("".join(parts))


def element(name: str, /, *children: Child, **attributes: object) -> Markup:
    """An element with its end tag.

    Args:
        name: of the element.
        *children: see `join`.
        **attributes: `class_` is written `class`, `data_x` is written `data-x`; None and False
            leave the attribute out, True writes it without a value.
    """
    return Markup(f"<{name}{_attributes(attributes)}>{join(*children)}</{name}>")


def void(name: str, /, **attributes: object) -> Markup:
    """An element that has no end tag, such as `meta` and `input`."""
    return Markup(f"<{name}{_attributes(attributes)}>")


def _attributes(given: dict[str, object]) -> str:
    parts = []
    for key, value in given.items():
        if value is None or value is False:
            continue
        name = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(f" {name}")
        else:
            text = html.escape(str(value).translate(_REPLACED), quote=True)
            parts.append(f' {name}="{text}"')
    return "".join(parts)


def data_block(identifier: str, value: Any) -> Markup:
    """A value as a JSON data block, which nothing inside can end early.

    Args:
        identifier: the element's id.
        value: plain values without NaN.
    """
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(f'<script type="application/json" id="{html.escape(identifier)}">{text}</script>')
