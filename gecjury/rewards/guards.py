"""Rules that reduce the reward of texts that fool metrics: one table, a few lines each.

The guards answer the findings of `gecjury attack`: damaged texts that some metric scores higher
than an honest correction. A rule compares the words and characters of a text with those of its
source and references; no rule uses a model. Every rule takes nearly linear time.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from types import MappingProxyType

import numpy as np

from gecjury.core.errors import OptionError, nearest

Rule = Callable[[str, str, Sequence[str]], bool]
"""From source, text and references (possibly none): whether the text should lose reward."""

# Chosen on the corrections of JFLEG's and GMEG's dev parts: no rule hits 1% of the references.
_ADDED = 4  # words added at the ends together
_NEW = 5  # words in a row that neither source nor references have
_STEM = 4  # first letters that forms of a word share
_SHORTEST = 4  # words of a source below which shared words say little
_KEPT = 0.5  # of the source's words, in order, that a correction keeps
_RATIO = 2.0  # times as long or as short
_SLACK = 3  # words more or fewer that are always allowed
_LETTERS = 20  # letters more or fewer that are always allowed
_CAPITALS = 4  # more capitals than the source that are always allowed
_CAPITAL = 0.6  # share of a text's letters that may be such capitals, if that is more
# More than a score of 1 plus the .1 that an unchanged copy may cost, so that with a range as scale
# a damaged text is below the copy.
_OUTWEIGHS = 1.2
_MOST = 5_000  # words that are compared; `length` sees all


@dataclass(frozen=True)
class Guard:
    """A rule and its penalty.

    Attributes:
        name: name on the command line.
        summary: condition under which it takes effect.
        rule: returns True if it takes effect on a text.
        penalty: subtracted from the scaled reward, once; 0 or more.
    """

    name: str
    summary: str
    rule: Rule
    penalty: float = _OUTWEIGHS

    def __str__(self) -> str:
        """Return the guard as it is written in signatures."""
        return f"{self.name}={self.penalty:g}"


def _empty(source: str, text: str, references: Sequence[str]) -> bool:
    return not text.split()


def _copied(source: str, text: str, references: Sequence[str]) -> bool:
    words = source.split()
    return (
        bool(references)
        and text.split() == words
        and all(reference.split() != words for reference in references)
    )


def _doubled(source: str, text: str, references: Sequence[str]) -> bool:
    return _repeats(text) > _repeats(source)


def _repeats(text: str) -> int:
    """Return the length of the longest run of words that is repeated right after itself."""
    words = [word for word in text.lower().split() if any(map(str.isalnum, word))][:_MOST]
    places = {word: number for number, word in enumerate(words)}
    codes = np.array([places[word] for word in words])
    for size in range(len(words) // 2, 0, -1):
        # A word that differs from the one `size` words later ends a stretch that repeats.
        parts = np.flatnonzero(codes[:-size] != codes[size:])
        if np.diff(parts, prepend=-1, append=len(words) - size).max() > size:
            return size
    return 0


@dataclass(frozen=True)
class _Compared:
    """A text compared with its source and references, words in lower case.

    Attributes:
        kept: the largest share of the source's or of a reference's words that the text has in
            order.
        added: number of words before the first and after the last stretch that is shared with the
            source, less those that the source has there.
        new: largest number of words in a row that are neither the source's nor a reference's. A
            word counts as theirs if it is shared in order next to another shared word, or is a form
            of any of their words.
        size: words of the source.
    """

    kept: float
    added: int
    new: int
    size: int


@lru_cache(maxsize=64)
def _compared(source: str, text: str, references: tuple[str, ...]) -> _Compared:
    words = text.lower().split()[:_MOST]
    bases = [base.lower().split()[:_MOST] for base in (source, *references)]
    shared = [_in_order(base, words) for base in bases]
    original = bases[0]
    ends = _stretches(shared[0]) or shared[0]
    added = 0
    if ends:
        (first, start), (last, end) = ends[0], ends[-1]
        added = max(0, start - first) + max(0, (len(words) - end) - (len(original) - last))
    marked = np.zeros(
        len(words) + 2, dtype=bool
    )  # with a place before the first word and one after the last
    for pairs in shared:
        marked[[place + 1 for _, place in pairs]] = True
        marked[0] |= (0, 0) in pairs[:1]
    beside = marked[1:-1] & (marked[:-2] | marked[2:])
    stems = {word[:_STEM] for base in bases for word in base if len(word) >= _STEM}
    run = new = 0
    for word, is_theirs in zip(words, beside, strict=True):
        run = 0 if is_theirs or (len(word) >= _STEM and word[:_STEM] in stems) else run + 1
        new = max(new, run)
    kept = max(len(p) / len(b) if b else 0.0 for p, b in zip(shared, bases, strict=True))
    return _Compared(kept, added, new, len(original))


def _stretches(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the pairs that follow or precede another one without a gap."""
    places = set(pairs)
    return [(i, j) for i, j in pairs if {(i - 1, j - 1), (i + 1, j + 1)} & places]


def _in_order(one: Sequence[str], two: Sequence[str]) -> list[tuple[int, int]]:
    """Return the places of a longest common subsequence.

    The bits of an integer are the columns of the usual table (Hyyrö 2004), so that the time is
    nearly linear for sentences and a few milliseconds for a thousand words.
    """
    # The common beginning and end, which is most of a correction, belongs to a longest subsequence.
    start, stop = 0, 0
    shorter = min(len(one), len(two))
    while start < shorter and one[start] == two[start]:
        start += 1
    while stop < shorter - start and one[-1 - stop] == two[-1 - stop]:
        stop += 1
    above, beside = one[start : len(one) - stop], two[start : len(two) - stop]
    places: dict[str, int] = {}
    for column, word in enumerate(beside):
        places[word] = places.get(word, 0) | 1 << column
    every = (1 << len(beside)) - 1
    row, rows = every, []
    for word in above:
        equal = row & places.get(word, 0)
        row = (row + equal | row - equal) & every
        rows.append(row)
    pairs = [(len(one) - n, len(two) - n) for n in range(1, stop + 1)]
    i, j = len(above), len(beside)
    while i and j:
        if rows[i - 1] >> (j - 1) & 1:
            j -= 1  # the subsequence does not use this word of `two`
            continue
        i -= 1
        if not i or rows[i - 1] >> (j - 1) & 1:
            j -= 1
            pairs.append((start + i, start + j))
    pairs += [(n, n) for n in reversed(range(start))]
    return pairs[::-1]


def _appended(source: str, text: str, references: Sequence[str]) -> bool:
    return _compared(source, text, tuple(references)).added >= _ADDED


def _unrelated(source: str, text: str, references: Sequence[str]) -> bool:
    compared = _compared(source, text, tuple(references))
    return compared.size >= _SHORTEST and compared.kept < _KEPT and bool(text.split())


def _strange(source: str, text: str, references: Sequence[str]) -> bool:
    return _compared(source, text, tuple(references)).new >= _NEW


def _foreign(source: str, text: str, references: Sequence[str]) -> bool:
    bases = [unicodedata.normalize("NFC", base) for base in (source, *references)]
    familiar = {*(character for base in bases for character in base + base.lower())}
    scripts = {_script(character) for character in familiar}
    accented = 0
    for character in unicodedata.normalize("NFC", text):
        if character in familiar or character.lower() in familiar or character.isascii():
            continue
        kind = unicodedata.category(character)
        if kind[0] in "LM":
            if _script(character) not in scripts:
                return True
            accented += _script(character) == "LATIN"
        elif kind[0] == "C" or (scripts <= {"", "LATIN"} and kind not in _USUAL):
            return True
    return accented > max(sum(map(_is_accented, base)) for base in bases)


# Quotation marks, dashes, blanks and currency: characters beyond ASCII that a correction may add.
_USUAL = ("Pi", "Pf", "Ps", "Pe", "Pd", "Zs", "Sc")


def _script(character: str) -> str:
    """Return the first word of a letter's or mark's name, its script; empty for all others."""
    if unicodedata.category(character)[0] not in "LM":
        return ""
    return unicodedata.name(character, "?").split()[0]


def _is_accented(character: str) -> bool:
    """Return True if a character is a Latin letter beyond ASCII."""
    return not character.isascii() and _script(character) == "LATIN"


def _disguised(source: str, text: str, references: Sequence[str]) -> bool:
    bases = (source, *references)
    capitals = sum(map(str.isupper, text)) - max(sum(map(str.isupper, base)) for base in bases)
    if capitals > max(_CAPITALS, _CAPITAL * sum(map(str.isalpha, text))):
        return True
    words = {word for base in bases for word in base.lower().split()}
    return any(_DIGIT_IN_WORD.search(word) and word not in words for word in text.lower().split())


_DIGIT_IN_WORD = re.compile(r"[^\W\d_]\d")  # after a letter; `1st` and `90s` are common


def _length(source: str, text: str, references: Sequence[str]) -> bool:
    words = len(source.split()), len(text.split()), _SLACK
    letters = len(source), len(text), _LETTERS
    allowed = any(len(reference.split()) == words[1] for reference in references)
    longest = max(map(len, (source, *references)))
    return (
        (_is_far(*words) and not allowed)
        or (_is_far(*letters) and len(text) > longest)
        or (
            _longest_word(text) > _RATIO * max(map(_longest_word, (source, *references))) + _LETTERS
        )
    )


def _is_far(one: int, two: int, slack: int) -> bool:
    """Return True if a text is `_RATIO` times as long or as short as another, beyond some slack."""
    return not one / _RATIO - slack <= two <= one * _RATIO + slack


def _longest_word(text: str) -> int:
    return max(map(len, text.split()), default=0)


_TABLE = (
    Guard("empty", "no word at all", _empty),
    # With a high penalty on copies, any change would be better than none, even a bad one.
    Guard("copied", "the unchanged source, though every reference changes it", _copied, 0.1),
    Guard("doubled", "words repeated right after themselves, more than in the source", _doubled),
    Guard("appended", f"{_ADDED} words or more added at the two ends together", _appended),
    Guard(
        "unrelated",
        "fewer than half of the source's or of a reference's words, in order",
        _unrelated,
    ),
    Guard(
        "strange",
        f"{_NEW} words or more in a row that neither source nor references have",
        _strange,
    ),
    Guard(
        "foreign",
        "characters of another script, accents and symbols that neither source nor references have",
        _foreign,
    ),
    Guard(
        "disguised",
        "capitals throughout, or digits in words, that neither source nor references have",
        _disguised,
    ),
    Guard(
        "length",
        f"{_RATIO:g} times as long or as short as the source, and {_SLACK} words or {_LETTERS} "
        "letters beyond",
        _length,
    ),
)

GUARDS: Mapping[str, Guard] = MappingProxyType({guard.name: guard for guard in _TABLE})
"""Every guard by name."""

Guards = str | Guard | Sequence[str | Guard] | Mapping[str, float] | None
"""Guards to apply: `all`, `none` (None), names, your own rules, or penalties by name."""


def guards_from(asked: Guards, penalty: float = 1.0) -> tuple[Guard, ...]:
    """Return the guards that were asked for, each once.

    Args:
        asked: a value of `Guards`.
        penalty: factor for the table's penalties, which apply where no penalty is given.

    Raises:
        OptionError: an unknown guard, or a penalty that is not a number from 0.
    """
    if asked is None or (isinstance(asked, str) and asked == "none"):
        return ()
    if isinstance(asked, Mapping):
        guards = [_named(name, value) for name, value in asked.items()]
    elif isinstance(asked, str) and asked == "all":
        guards = [_named(guard.name, penalty * guard.penalty) for guard in _TABLE]
    else:
        wanted = [asked] if isinstance(asked, str | Guard) else list(asked)
        guards = [guard if isinstance(guard, Guard) else _named(guard, penalty * _usual(guard))
                 for guard in wanted]  # fmt: skip
    names = [guard.name for guard in guards]
    for guard in guards:
        if names.count(guard.name) > 1:
            raise OptionError(f"guard {guard.name}: named twice")
        cost = guard.penalty
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < math.inf:
            raise OptionError(f"guard {guard.name}: penalty {cost!r}; expected a number from 0")
    return tuple(guards)


def _usual(name: str) -> float:
    return GUARDS[name].penalty if name in GUARDS else 1.0


def _named(name: str, penalty: float) -> Guard:
    if name not in GUARDS:
        raise OptionError(f"unknown guard {name!r}: {nearest(name, [*GUARDS, 'all', 'none'])}")
    return replace(GUARDS[name], penalty=penalty)
