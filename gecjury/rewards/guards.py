"""Rules that take a reward away from texts which fool metrics: one table, a few lines each.

What is guarded against is what `gecjury attack` found: some metric or other scores it higher than
an honest correction. A rule looks at words separated by blanks, never at a model.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from types import MappingProxyType

from gecjury.errors import OptionError, nearest

__all__ = ["GUARDS", "Guard", "Guards", "Rule", "guards_from"]

Rule = Callable[[str, str, Sequence[str]], bool]
"""Source, text and references (none where there are none): whether the text is to lose."""

_ADDED = 4  # words in a row, added at an end, that no correction adds
_SHORTEST = 4  # words of a source below which little can be told from words shared
_KEPT = 0.5  # of the source's words, in order, that a correction keeps
_RATIO = 2.0  # times as long or as short
_SLACK = 3  # words more or fewer that are always allowed


@dataclass(frozen=True)
class Guard:
    """A rule, and what it costs a text.

    Attributes:
        name: as typed.
        summary: when it takes effect.
        rule: tells it.
        penalty: is taken off the scaled reward, once; 0 or more.
    """

    name: str
    summary: str
    rule: Rule
    penalty: float = 1.0

    def __str__(self) -> str:
        """As it stands in a signature."""
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
    """Most words that stand twice, one stretch right after the other."""
    words = [word for word in text.lower().split() if any(map(str.isalnum, word))]
    for size in range(len(words) // 2, 0, -1):
        run = 0
        for one, two in zip(words, words[size:], strict=False):
            run = run + 1 if one == two else 0
            if run == size:
                return size
    return 0


def _appended(source: str, text: str, references: Sequence[str]) -> bool:
    mine, theirs = source.lower().split(), text.lower().split()
    if len(theirs) - len(mine) < _ADDED:
        return False
    blocks = [b for b in SequenceMatcher(None, mine, theirs, autojunk=False).get_matching_blocks()
              if b.size]  # fmt: skip
    if not blocks:
        return False
    first, last = blocks[0], blocks[-1]
    after = len(theirs) - last.b - last.size - (len(mine) - last.a - last.size)
    return after >= _ADDED or first.b - first.a >= _ADDED


def _unrelated(source: str, text: str, references: Sequence[str]) -> bool:
    mine, theirs = source.lower().split(), text.lower().split()
    if len(mine) < _SHORTEST or not theirs:
        return False
    matcher = SequenceMatcher(None, mine, theirs, autojunk=False)
    shared = sum(block.size for block in matcher.get_matching_blocks())
    near = any(text.split() == reference.split() for reference in references)
    return shared < _KEPT * len(mine) and not near


def _foreign(source: str, text: str, references: Sequence[str]) -> bool:
    known = {*source, *(letter for reference in references for letter in reference)}
    scripts = {_script(letter) for letter in known} | {""}
    return any(
        letter not in known and (_script(letter) not in scripts or _odd(letter)) for letter in text
    )


def _script(letter: str) -> str:
    """The first word of a letter's name, which tells its script; empty for what is no letter."""
    return unicodedata.name(letter, "?").split()[0] if letter.isalpha() else ""


def _odd(letter: str) -> bool:
    """Whether a character is none that is seen: a control, a format mark, an unassigned one."""
    return unicodedata.category(letter) in ("Cc", "Cf", "Cn", "Co", "Cs")


def _length(source: str, text: str, references: Sequence[str]) -> bool:
    mine, theirs = len(source.split()), len(text.split())
    allowed = any(len(reference.split()) == theirs for reference in references)
    low, high = mine / _RATIO - _SLACK, mine * _RATIO + _SLACK
    return not low <= theirs <= high and not allowed


_TABLE = (
    Guard("empty", "no word at all", _empty),
    # Dear copies would make any change, for the worse too, better than none.
    Guard("copied", "the source as it is, though every reference changes it", _copied, 0.1),
    Guard("doubled", "words right after the same words, more of them than in the source", _doubled),
    Guard("appended", f"{_ADDED} words or more added in a row at an end", _appended),
    Guard(
        "unrelated",
        "fewer than half of the source's words, in order, and no reference's text",
        _unrelated,
    ),
    Guard(
        "foreign",
        "letters of a script that neither source nor references have, or unseen characters",
        _foreign,
    ),
    Guard(
        "length",
        f"{_RATIO:g} times as long or as short as the source, and {_SLACK} words beyond",
        _length,
    ),
)

GUARDS: Mapping[str, Guard] = MappingProxyType({guard.name: guard for guard in _TABLE})
"""Every guard by name."""

Guards = str | Guard | Sequence[str | Guard] | Mapping[str, float] | None
"""What is guarded: `all`, `none` (None), names, rules of one's own, or penalties by name."""


def guards_from(given: Guards, penalty: float = 1.0) -> tuple[Guard, ...]:
    """The guards that were asked for, each once.

    Args:
        given: see `Guards`.
        penalty: what the penalties of the table are multiplied by, where none is named.

    Raises:
        OptionError: an unknown guard, or a penalty that is no number from 0.
    """
    if given is None or (isinstance(given, str) and given == "none"):
        return ()
    if isinstance(given, Mapping):
        found = [_named(name, value) for name, value in given.items()]
    elif isinstance(given, str) and given == "all":
        found = [_named(guard.name, penalty * guard.penalty) for guard in _TABLE]
    else:
        each = [given] if isinstance(given, str | Guard) else list(given)
        found = [one if isinstance(one, Guard) else _named(one, penalty * _usual(one))
                 for one in each]  # fmt: skip
    names = [guard.name for guard in found]
    for guard in found:
        if names.count(guard.name) > 1:
            raise OptionError(f"guard {guard.name}: named twice")
        cost = guard.penalty
        if isinstance(cost, bool) or not isinstance(cost, int | float) or not 0 <= cost < math.inf:
            raise OptionError(f"guard {guard.name}: penalty {cost!r}; expected a number from 0")
    return tuple(found)


def _usual(name: str) -> float:
    return GUARDS[name].penalty if name in GUARDS else 1.0


def _named(name: str, penalty: float) -> Guard:
    if name not in GUARDS:
        raise OptionError(f"unknown guard {name!r}: {nearest(name, [*GUARDS, 'all', 'none'])}")
    return replace(GUARDS[name], penalty=penalty)
