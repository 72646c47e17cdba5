"""Escape untrusted names and sentences for Markdown, LaTeX, TSV, JSON and HTML pages.

First `core.wording.visible` replaces control characters and line breaks; then each format's own
special characters are escaped. Characters that have no special meaning where they occur are left
alone, so that signatures and figures stay readable.
"""

from __future__ import annotations

import json
import re

from gecjury.core.wording import visible

# Special characters of CommonMark and GitHub's dialect within a line, only where they have an
# effect: `[.84, .96]`, `per_sentence` and `p < .05` are plain text.
_MARKDOWN = re.compile(
    r"""
      [\\`*~]
    | <(?=\S)                       # tags, comments, addresses in angle brackets
    | &(?=\#?\w+;)                  # entities
    | \](?=\() | \[(?=\^)           # links and images, whatever their address; footnotes
    | (?<![^\W_])_ | _(?![^\W_])    # emphasis, not the underscore within a word
    | :(?=//) | (?<=www)\.        # addresses that GitHub turns into links
    """,
    re.VERBOSE | re.IGNORECASE,
)
# Starts of a line that turn it into a heading, a list, a quotation, a rule or a table.
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
    """Return text for the cell of a table, where `|` is escaped because it would end the cell."""
    return markdown(text).replace("|", "\\|")


def markdown_line(text: str) -> str:
    """Return text for a whole line of Markdown."""
    line = visible(text).strip()
    number = _NUMBERED.match(line)
    if number:
        return f"{number[0]}\\{markdown(line[number.end() :])}"
    escaped = markdown(line)
    starts = line and not escaped.startswith("\\")
    acts = starts and (_MARKDOWN_START.match(line) or _is_address(line))
    return f"\\{escaped}" if acts else escaped


def _is_address(line: str) -> bool:
    """Return True if a line can start a link reference definition: `[name]: address "title"`."""
    if not line.startswith("["):
        return False
    # `](` is escaped anyway; without another closing bracket the name continues on the next line.
    _, bracket, rest = line.replace("](", "").partition("]")
    words = rest[1:].split(None, 2)
    title = words[1] if len(words) > 1 else ""
    return not bracket or (rest.startswith(":") and (not title or title[0] in "\"'("))


_LATEX = str.maketrans(
    {"&": "\\&", "%": "\\%", "$": "\\$", "#": "\\#", "_": "\\_", "{": "\\{", "}": "\\}"}
    | {"\\": "\\textbackslash{}", "~": "\\textasciitilde{}", "^": "\\textasciicircum{}"}
    | {"–": "--", "α": "$\\alpha$", "β": "$\\beta$", "γ": "$\\gamma$", "ε": "$\\varepsilon$"}
    | {"κ": "$\\kappa$", "λ": "$\\lambda$", "ρ": "$\\rho$", "τ": "$\\tau$", "∅": "$\\emptyset$"}
    | {"→": "$\\rightarrow$", "↓": "$\\downarrow$", "±": "$\\pm$", "<": "$<$", ">": "$>$"}
    | {"≤": "$\\leq$", "≥": "$\\geq$", "×": "$\\times$", "−": "$-$", "|": "\\textbar{}"}
)
# In a comment only the end of the line has an effect. The characters of commands are escaped in
# case somebody uncomments the line; the others are kept, so that signatures can be copied.
_LATEX_COMMENT = str.maketrans(
    {"\\": "\\textbackslash{}", "{": "\\{", "}": "\\}", "^": "\\textasciicircum{}"}
)


# Characters that pdflatex sets with its default fonts, as tried with TeX Live 2022.
_BEYOND_PDFLATEX = re.compile(r"[^\x00-\x7e¡-ª¬-º¼-ÏÑ-ÝßÀ-ïñ-ýÿ–—‘’“”…•€]")
_MINUS = re.compile(r"(?<![\w.])-(?=[\d.])")


def latex(text: str, number: bool = False) -> str:
    """Return text for LaTeX with its special characters escaped.

    Args:
        text: text of one line; letters of other scripts are kept.
        number: whether it is a number, in which `-` is a minus sign and not a hyphen.
    """
    escaped = visible(text).translate(_LATEX)
    return _MINUS.sub("$-$", escaped) if number else escaped


def needs_fonts(source: str) -> bool:
    """Return True if LaTeX source has letters that pdflatex lacks, such as Japanese ones."""
    return _BEYOND_PDFLATEX.search(source) is not None


def latex_comment(text: str) -> str:
    """Return text as a LaTeX comment on one line."""
    return f"% {visible(text).translate(_LATEX_COMMENT)}"


# Valid within JSON strings, but interpreted by terminals, or not valid text.
_JSON = re.compile(
    "[\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")


def json_text(text: str, encoding: str = "utf-8") -> str:
    r"""Return JSON with the same values that is safe to print on a terminal.

    Characters that change the direction of text, DEL, the control characters from U+0080 on and
    lone surrogates are escaped, as `\u202e`; so are characters that the encoding lacks.

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
    # json.dumps leaves DEL as it is, and writes characters above U+FFFF as surrogate pairs.
    return json.dumps(character[0])[1:-1].replace("\x7f", "\\u007f")


# HTML does not allow control characters, and UTF-8 does not allow surrogates. Characters that
# override or embed a direction can make two different corrections look alike. The replacement shows
# the reader that there was something.
_REPLACED = dict.fromkeys((*range(9), 11, *range(14, 32), *range(127, 160)), "�")
_REPLACED |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), "�")
_REPLACED |= dict.fromkeys(range(55296, 57344), "�")


def clean(text: str) -> str:
    """Replace characters that a page must not contain with U+FFFD."""
    return text.translate(_REPLACED)
