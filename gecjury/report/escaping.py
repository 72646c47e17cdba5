"""Escapes for names and sentences of others within Markdown, LaTeX, TSV, JSON and pages.

First `gecjury.wording.visible` replaces what terminals obey and what ends a line; then each
format's own special characters are escaped. Characters without a meaning at their place are left,
so that signatures and figures look as they are.
"""

from __future__ import annotations

import json
import re

from gecjury.wording import visible

# What CommonMark and GitHub's dialect act on within a line, and only where they do: `[.84, .96]`,
# `per_sentence` and `p < .05` are text.
_MARKDOWN = re.compile(
    r"""
      [\\`*~]
    | <(?=\S)                       # tags, comments, addresses in angle brackets
    | &(?=\#?\w+;)                  # entities
    | \](?=\() | \[(?=\^)           # links and images, whatever their address; footnotes
    | (?<![^\W_])_ | _(?![^\W_])    # emphasis, not the underscore within a word
    | :(?=//) | (?<=www)\.        # addresses that GitHub makes links of
    """,
    re.VERBOSE | re.IGNORECASE,
)
# What makes of a line a heading, a list, a quotation, a rule or a table.
_MARKDOWN_START = re.compile(
    r"""
      \#{1,6}(?=\s|$) | > | [-+](?=\s|$) | (?=[-=:|\s]+$)
    """,
    re.VERBOSE,
)
_NUMBERED = re.compile(r"\d{1,9}(?=[.)](?:\s|$))")


def markdown(text: str) -> str:
    """Return text for use within a line of Markdown."""
    return _MARKDOWN.sub(r"\\\g<0>", visible(text))


def markdown_cell(text: str) -> str:
    """Return text for a table's cell, which a bar would end."""
    return markdown(text).replace("|", "\\|")


def markdown_line(text: str) -> str:
    """Return text that is a line of Markdown by itself."""
    line = visible(text).strip()
    number = _NUMBERED.match(line)
    if number:
        return f"{number[0]}\\{markdown(line[number.end() :])}"
    escaped = markdown(line)
    starts = line and not escaped.startswith("\\")
    acts = starts and (_MARKDOWN_START.match(line) or _is_address(line))
    return f"\\{escaped}" if acts else escaped


def _is_address(line: str) -> bool:
    """Return True if a line can begin the address of a link: `[name]: address "title"`."""
    if not line.startswith("["):
        return False
    # A bracket before another is escaped; without any more the name goes on in the next line.
    _, bracket, rest = line.replace("](", "").partition("]")
    words = rest[1:].split(None, 2)
    title = words[1] if len(words) > 1 else ""
    return not bracket or (rest.startswith(":") and (not title or title[0] in "\"'("))


_LATEX = str.maketrans(
    {c: f"\\{c}" for c in "&%$#_{}"}
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    | {"–": "--", "α": "$\\alpha$", "β": "$\\beta$", "γ": "$\\gamma$", "ε": "$\\varepsilon$"}
    | {"κ": "$\\kappa$", "λ": "$\\lambda$", "ρ": "$\\rho$", "τ": "$\\tau$", "∅": "$\\emptyset$"}
    | {"→": "$\\rightarrow$", "↓": "$\\downarrow$", "±": "$\\pm$", "<": "$<$", ">": "$>$"}
    | {"≤": "$\\leq$", "≥": "$\\geq$", "×": "$\\times$", "−": "$-$", "|": "\\textbar{}"}
)
# In a comment only the end of the line acts. These, with which commands are written, would act
# where somebody takes the comment's sign away; the others stay, so that signatures can be copied.
_LATEX_COMMENT = str.maketrans({sign: _LATEX[ord(sign)] for sign in "\\{}^"})


def latex(text: str) -> str:
    """Return text for LaTeX, its special characters escaped."""
    return visible(text).translate(_LATEX)


def latex_comment(text: str) -> str:
    """Return text as a comment of LaTeX, on one line."""
    return f"% {visible(text).translate(_LATEX_COMMENT)}"


# Valid within JSON's strings, but obeyed by terminals, or no text at all.
_JSON = re.compile(
    "[\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def json_text(text: str, encoding: str = "utf-8") -> str:
    r"""Return JSON with the same values, in which nothing acts on a terminal.

    Characters that change the direction of text, DEL, the control characters from U+0080 on and
    halves of surrogate pairs are escaped, as `\u202e`; so are characters that an encoding lacks.

    Args:
        text: JSON.
        encoding: the encoding of the output.
    """
    safe = _JSON.sub(_json_code, text)
    try:
        safe.encode(encoding)
    except UnicodeEncodeError:
        return _NOT_ASCII.sub(_json_code, safe)
    return safe


def _json_code(character: re.Match[str]) -> str:
    # json.dumps leaves DEL as it is, and makes a pair of what is above U+FFFF.
    return json.dumps(character[0])[1:-1].replace("\x7f", "\\u007f")


# Control characters are not allowed in HTML, surrogates not in UTF-8; a reader sees that
# something stood there.
_REPLACED = dict.fromkeys((*range(9), 11, *range(14, 32), *range(127, 160)), "�")
_REPLACED |= dict.fromkeys(range(55296, 57344), "�")


def clean(text: str) -> str:
    """Replace characters that a page must not hold by U+FFFD."""
    return text.translate(_REPLACED)
