r"""Matches of grammar checkers: spans of a text, with suggestions and the rule that matched.

These formats are read:

    LanguageTool   the reply of `/v2/check`: `matches` with `offset` and `length` in UTF-16 code
                   units, as Java counts, `replacements`, `rule` and `context`
                   (https://languagetool.org/http-api/)
    Harper         `lints` with `span`, `suggestions` and `lint_kind`: as `harper-cli lint --format
                   json` prints them and as `Lint.to_json()` of harper.js gives them, whose outer
                   span is in UTF-16 code units and whose inner one is in characters

The JSON is one reply for the whole text, its lines joined by `\n`, or one reply per line, also as
one list.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from gecjury.core.errors import InputError
from gecjury.core.textfiles import MOST_JSON, JsonValue, parse_json, shown_path
from gecjury.corpus.corpus import ReferenceMark, Version
from gecjury.corpus.files.forms import json_or_none
from gecjury.corpus.languages.language import Language

_FORMS = "LanguageTool's `matches` or Harper's `lints`"
_WIDE = re.compile("[\U00010000-\U0010ffff]")

# Splits English text into tokens of the Penn Treebank (its tokenizer.sed of 1995): punctuation and
# clitics are separate, hyphens and slashes stay within words. Used only for a checker's own text.
_TOKEN = re.compile(
    r"(?:[^\W\d_]\.){2,}|\b(?:etc|vs|Mr|Mrs|Ms|Dr|Prof|St)\.|\w+(?=n['’]t\b)|n['’]t\b"
    r"|['’](?:s|re|ve|ll|d|m)\b|\w+(?:[-/@_]\w+|[.,:]\d+|['’](?!(?:s|re|ve|ll|d|m|t)\b)\w+)*"
    r"|\.{2,}|-{2,}|\S",
    re.IGNORECASE,
)


class Match(NamedTuple):
    """A span of a line that a checker marks.

    Attributes:
        start: first character, from 0.
        end: character after the last one.
        suggestions: texts to replace it, the checker's first choice first; "" deletes the span.
        rule: `category:rule`, or the one of them that the checker names.
    """

    start: int
    end: int
    suggestions: tuple[str, ...]
    rule: str


class Matches(NamedTuple):
    """The matches of a text.

    Attributes:
        by_line: matches of each line, in the order of the file.
        crossing: number of matches left out because they extend beyond the end of a line.
    """

    by_line: list[list[Match]]
    crossing: int = 0


class _Raw(NamedTuple):
    """A match with the offsets of the checker.

    Attributes:
        start: start of its span.
        end: end of its span.
        utf16: True if the span counts UTF-16 code units, not characters.
        suggestions: texts, each with whether it is inserted after the span or replaces it.
        rule: as in `Match`.
        quoted: the text of the span; None where the reply does not quote it.
    """

    start: int
    end: int
    utf16: bool
    suggestions: list[tuple[str, bool]]
    rule: str
    quoted: str | None


def read_matches(
    path: str | Path, lines: Sequence[str], texts: Sequence[str], name: str
) -> Matches:
    """Read the matches of a file, by line of the text that was checked.

    Args:
        texts: the lines that the checker read.
        name: name of their file, for messages.

    Raises:
        InputError: the format is unknown, the number of lines differs, or a match does not fit the
            text: beyond its end, inside a surrogate pair, or with another quoted text.
    """
    where = shown_path(path)
    replies = _replies(lines, where)
    if len(replies) == 1:
        return _of_whole(replies[0], where, texts, name)
    if len(replies) != len(texts):
        raise InputError(
            f"{where}: {len(replies)} replies, but {name} has {len(texts)} lines; expected one "
            "reply a line, or one for the whole text"
        )
    by_line = []
    for row, (reply, text) in enumerate(zip(replies, texts, strict=True), 1):
        wide = _wide(text)
        of_line = f"{where}, line {row}"
        raws = enumerate(_raws(reply, of_line), 1)
        by_line.append([_fitted(raw, text, wide, f"{of_line}, match {n}", name) for n, raw in raws])
    return Matches(by_line)


def _replies(lines: Sequence[str], where: str) -> list[object]:
    """Return one reply for the whole text, or one a line."""
    if len(lines) > 1 and isinstance(json_or_none(lines[0]), dict):
        # Contexts are cut at code units, so they may end in half a surrogate pair.
        return [
            parse_json(line, f"{where}, line {row}", "one reply a line", halves=True)
            for row, line in enumerate(lines, 1)
        ]
    text = "\n".join(lines)
    if len(text) > MOST_JSON:
        raise InputError(
            f"{where}: a reply of more than {MOST_JSON // 1_000_000} MB; check the text line by "
            "line and write one reply a line"
        )
    value = parse_json(text, where, _FORMS, halves=True)
    values = value if isinstance(value, list) else [value]
    # LanguageTool answers for one text, here a line; Harper writes a list of files.
    if len(values) != 1 and not all(isinstance(one, dict) and "matches" in one for one in values):
        raise InputError(
            f"{where}: a list of {len(values)} values, which are not all replies with `matches`; "
            "expected one reply a line (e.g. `jq -c '.[]'`), or one for the whole text"
        )
    return values


def _raws(reply: object, where: str) -> Iterator[_Raw]:
    """Yield the matches of one reply.

    Raises:
        InputError: a field is missing or of another type; names the match, from 1.
    """
    reply = reply if isinstance(reply, dict) else {}
    of_tool = isinstance(reply.get("matches"), list)
    listed = reply.get("matches" if of_tool else "lints")
    if not isinstance(listed, list):
        raise InputError(f"{where}: no matches; expected {_FORMS}")
    for number, match in enumerate(listed, 1):
        place = f"{where}, match {number}"
        try:
            raw = _of_languagetool(match) if of_tool else _of_harper(match, place)
            if not isinstance(raw.quoted, str | None):
                raise TypeError
        except InputError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError):
            fields = "offset, length, replacements, rule" if of_tool else "span, suggestions"
            raise InputError(
                f"{place}: a field is missing or of another type; expected {fields}"
            ) from None
        if type(raw.start) is not int or type(raw.end) is not int:
            raise InputError(f"{place}: its span is not two whole numbers")
        if any("\ud800" <= c <= "\udfff" for text, _ in raw.suggestions for c in text):
            raise InputError(f"{place}: a suggestion has half a surrogate pair")
        yield raw


def _of_languagetool(match: Mapping[str, JsonValue]) -> _Raw:
    start, length = match["offset"], match["length"]
    rule = match.get("rule") or {}
    context, quoted = match.get("context"), None
    if context:
        # The offsets in the excerpt count code units, like those in the text.
        units = context["text"].encode("utf-16-le", "surrogatepass")
        first = 2 * context["offset"]
        quoted = units[first : first + 2 * context["length"]].decode("utf-16-le", "surrogatepass")
    suggestions = [(text["value"] + "", False) for text in match.get("replacements") or ()]
    named = _rule((rule.get("category") or {}).get("id"), rule.get("id"))
    return _Raw(start, start + length, True, suggestions, named, quoted)


def _of_harper(lint: Mapping[str, JsonValue], place: str) -> _Raw:
    inner = lint.get("inner", lint)
    span = lint["span"]
    start, end = (span.get(f"char_{edge}", span.get(edge)) for edge in ("start", "end"))
    suggestions = [_suggestion(value, place) for value in inner["suggestions"]]
    rule = _rule(inner.get("lint_kind") or lint.get("kind"), lint.get("rule"))
    quoted = lint.get("problem_text", lint.get("matched_text"))
    return _Raw(start, end, "inner" in lint, suggestions, rule, quoted)


def _suggestion(value: JsonValue, place: str) -> tuple[str, bool]:
    """Return a suggestion of Harper's as text, and whether it is inserted after the span.

    Raises:
        InputError: it has another wording, from which nobody knows whether it replaces, inserts or
            removes.
    """
    if value in ("Remove", "Remove error"):
        return "", False
    if isinstance(value, str):
        # harper-cli prints suggestions for people.
        if shown := re.fullmatch(r"(Replace with:|Insert) “(.*)”", value, re.DOTALL):
            return shown[2], shown[1] == "Insert"
    else:
        ((kind, characters),) = value.items()
        if kind in ("ReplaceWith", "InsertAfter"):
            return "".join(characters), kind == "InsertAfter"
    raise InputError(
        f"{place}: suggestion {value!r:.60} has an unknown form; expected the English wording of "
        "harper-cli (Replace with: “a”, Insert “a”, Remove error) or the JSON of harper.js"
    )


def _rule(category: object, name: object) -> str:
    return ":".join(part for part in (category, name) if isinstance(part, str) and part)


def _wide(text: str) -> list[int]:
    """Return the UTF-16 offsets at which characters of two code units begin."""
    if text.isascii():
        return []
    return [found.start() + number for number, found in enumerate(_WIDE.finditer(text))]


def _fitted(raw: _Raw, text: str, wide: Sequence[int], where: str, name: str) -> Match:
    """Return a match in characters, checked against the text."""
    start, end = raw.start, raw.end
    if raw.utf16 and wide:
        edges = []
        for offset in (start, end):
            before = bisect_left(wide, offset)
            if before and wide[before - 1] + 1 == offset:
                raise InputError(
                    f"{where}: offset {offset} is inside a surrogate pair; expected offsets in "
                    f"UTF-16 code units of {name}"
                )
            edges.append(offset - before)
        start, end = edges
    if not 0 <= start <= end <= len(text):
        raise InputError(
            f"{where}: its span {raw.start} to {raw.end} is not within the {len(text)} characters "
            f"of {name}; name the text that was checked (`source_text=FILE`)"
        )
    covered = text[start:end]
    # LanguageTool writes a space for a line break in its context.
    if raw.quoted is not None and covered.split() != raw.quoted.split():
        raise InputError(
            f"{where}: its span {raw.start} to {raw.end} of {name} has another text than the "
            "match quotes; name the text that was checked (`source_text=FILE`)"
        )
    suggestions = (covered + new if behind else new for new, behind in raw.suggestions)
    return Match(start, end, tuple(" ".join(s.split("\n")) for s in suggestions), raw.rule)


def _of_whole(reply: object, where: str, texts: Sequence[str], name: str) -> Matches:
    text = "\n".join(texts)
    starts = list(accumulate((len(line) + 1 for line in texts), initial=0))
    wide = _wide(text)
    by_line: list[list[Match]] = [[] for _ in texts]
    crossing = 0
    for number, raw in enumerate(_raws(reply, where), 1):
        match = _fitted(raw, text, wide, f"{where}, match {number}", name)
        row = bisect_right(starts, match.start, hi=len(texts)) - 1
        if match.end > starts[row] + len(texts[row]):
            crossing += 1
            continue
        start, end = match.start - starts[row], match.end - starts[row]
        by_line[row].append(match._replace(start=start, end=end))
    return Matches(by_line, crossing)


def corrected_version(
    matches: Matches, texts: Sequence[str], language: Language, sources: Sequence[str]
) -> Version:
    """Return a checker's matches as a hypothesis.

    If matches overlap, the first in this order is kept and the others are left out: those with a
    suggestion before those without, then by offset, then longer ones first, then as in the file.

    Args:
        matches: matches of all lines.
        texts: the lines that the checker read.
        language: language of the texts; if it has a tokeniser, corrected lines are tokenised later.
        sources: the same lines as tokens, perhaps with neutral signs.

    Returns:
        A version whose marks are the spans of the matches.
    """

    def place(offset: int) -> int:
        # Signs may change their length, so an offset is that of the text before it as it is read.
        return len(language.token_text(text[:offset]))

    counts: Counter[str] = Counter()
    lines = list(sources if language.tokens == "space" else texts)
    marks: list[tuple[ReferenceMark, ...]] = [()] * len(lines)
    for row, of_line in enumerate(matches.by_line):
        if not of_line:
            continue
        text = texts[row]
        shown, tokens = text, sources[row].split()
        if "".join(text.split()) != "".join(tokens):
            # The source has been read, so that its signs are neutral.
            shown = language.token_text(text)
        spans = _spans(shown, tokens)
        kept = _kept(of_line, text, counts)
        if language.tokens == "space":
            kept, new_tokens = _in_tokens(kept, text, tokens, spans, counts)
            if any(new is not None for _, new in kept):
                lines[row] = " ".join(new_tokens)
        else:
            lines[row] = _written(text, 0, len(text), kept)
        if shown != text:
            kept = [
                (match._replace(start=place(match.start), end=place(match.end)), new)
                for match, new in kept
            ]
        marks[row] = tuple(
            ReferenceMark(*_touched(match.start, match.end, *spans), match.rule, new is not None)
            for match, new in kept
        )
    total = sum(map(len, matches.by_line)) + matches.crossing
    counts["beyond the end of a line, left out"] = matches.crossing
    details = ", ".join(f"{count} {what}" for what, count in counts.items() if count)
    note = f"{total} matches{details and ': '}{details}"
    return Version(tuple(lines), marks=tuple(marks), note=note)


_Choice = tuple[Match, "str | None"]
"""A match with the text that replaces it; None where it is only marked."""


def _kept(matches: Sequence[Match], text: str, counts: Counter[str]) -> list[_Choice]:
    """Return the matches of a line that do not overlap, from left to right."""
    choices: list[_Choice] = []
    for match in matches:
        new = match.suggestions[0] if match.suggestions else None
        if new == text[match.start : match.end]:
            counts["changing nothing"] += 1
            continue
        choices.append((match, new))
    choices.sort(key=lambda choice: (choice[1] is None, choice[0].start, -choice[0].end))
    kept: list[_Choice] = []
    spans: list[tuple[int, int]] = []
    for match, new in choices:
        start, end = match.start, match.end
        place = bisect_right(spans, (start, end))
        # Kept matches do not overlap, so only the neighbours can overlap a new one.
        near = spans[max(place - 1, 0) : place + 1]
        if any(start < other_end and other_start < end for other_start, other_end in near):
            counts["overlapping another, left out"] += 1
            continue
        if new is None:
            counts["without a suggestion (counted by errant:mode=span and mode=token)"] += 1
        kept.insert(place, (match, new))
        spans.insert(place, (start, end))
    return kept


def _written(text: str, start: int, end: int, kept: Sequence[_Choice]) -> str:
    """Return a part of a line with the suggestions applied."""
    parts = []
    for match, new in kept:
        if new is not None:
            parts += [text[start : match.start], new]
            start = match.end
    return "".join([*parts, text[start:end]])


def _spans(text: str, tokens: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return where tokens start and end in a text that differs only in its spaces."""
    places = [index for index, character in enumerate(text) if not character.isspace()]
    counts = list(accumulate(map(len, tokens), initial=0))
    starts = [places[count] for count in counts[:-1]]
    return starts, [places[count - 1] + 1 for count in counts[1:]]


def _touched(start: int, end: int, starts: Sequence[int], ends: Sequence[int]) -> tuple[int, int]:
    """Return the tokens that a span covers or cuts; an empty range where it is between tokens."""
    first = bisect_right(ends, start)
    return first, max(first, bisect_left(starts, end))


def _in_tokens(
    kept: Sequence[_Choice],
    text: str,
    tokens: list[str],
    spans: tuple[list[int], list[int]],
    counts: Counter[str],
) -> tuple[list[_Choice], list[str]]:
    """Put suggestions into a tokenised line; tokens that no suggestion touches stay as they are.

    Returns:
        The choices that change a token or only mark, and the tokens of the corrected line.
    """
    starts, ends = spans
    result: list[str] = []
    done = 0
    idle: set[Match] = set()
    for first, last, choices in _by_tokens(kept, text, tokens, spans):
        low, high = choices[0][0].start, choices[-1][0].end
        if first < last:
            low, high = min(low, starts[first]), max(high, ends[last - 1])
        new_tokens = _TOKEN.findall(_written(text, low, high, choices))
        if new_tokens == tokens[first:last]:
            counts["changing nothing"] += len(choices)
            idle.update(match for match, _ in choices)
        result += [*tokens[done:first], *new_tokens]
        done = last
    return [choice for choice in kept if choice[0] not in idle], [*result, *tokens[done:]]


def _by_tokens(
    kept: Sequence[_Choice], text: str, tokens: Sequence[str], spans: tuple[list[int], list[int]]
) -> list[tuple[int, int, list[_Choice]]]:
    """Return the first token, the end and the choices of each stretch of tokens that changes."""
    starts, ends = spans
    groups: list[tuple[int, int, list[_Choice]]] = []
    for choice in kept:
        match, new = choice
        if new is None:
            continue
        first, last = _touched(match.start, match.end, starts, ends)
        # A word that is joined to its neighbour is written and tokenised together with it.
        before, after = text[: match.start][-1:], text[match.end :][:1]
        to_left = before.isalnum() and (new or after)[:1].isalnum()
        to_right = after.isalnum() and (new or before)[-1:].isalnum()
        if to_left and first and ends[first - 1] == match.start:
            first -= 1
        if to_right and last < len(tokens) and starts[last] == match.end:
            last += 1
        if groups and first < groups[-1][1]:
            first, so_far, choices = groups.pop()
            groups.append((first, max(so_far, last), [*choices, choice]))
        else:
            groups.append((first, last, [choice]))
    return groups
