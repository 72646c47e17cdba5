"""Which line of a file corrects which line of the source: merged, split, lost and added lines.

Lines are compared by the letter groups of their words, without punctuation, case and blanks, so
tokenised and raw text are alike, and languages without blanks need no tokeniser.
"""

from __future__ import annotations

import re
import shlex
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Literal, NamedTuple

from gecjury.core.errors import InputError
from gecjury.core.textfiles import FileLines, shown_path
from gecjury.core.wording import named_lines
from gecjury.corpus.line_forms import FoundForm, cut_off, key_of, without_forms

# Below, values that were set on JFLEG's dev part and half of the CoNLL-2014 systems
# (`tools/make_damaged_texts.py --evaluate`).
_FITS = 0.5  # likeness of a line to its source at which nothing else is tried
_BASE = 0.15  # a line stays in place even if it shares nothing with its source
_JOINED = 0.4  # what a merged or split line must gain over leaving one of the parts out
_BROKEN = 0.1  # the same, if the first part has no full stop but the source line has one
PART = 0.3  # share of a part that a merged line must hold
_DOUBTFUL = 0.25  # likeness of a neighbour below which a place is not sure
_TAIL = 3  # most words of an added line that may be the end of the line before it
_REACH = 60  # lines after a misfit within which the next fitting lines are looked for
_CELLS = 40_000  # size of a region beyond which its lines are not placed
_SAMPLE = 1_000  # lines that are looked at for a shift before a result
_NEAR = 6  # lines around one that does not fit in which it is looked for, and others that do not
_AHEAD = 80  # lines after the first that do not fit in which the place of the shift is looked for
_SAME = 16  # characters at the beginning or the end by which a line is known to fit
_LONGEST = 2_000  # characters by which a line is compared before a result

# Scripts without blanks between words, in which two characters say more than three letters.
DENSE = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
ENDS = re.compile(r"[.!?…。！？]\s?[\"'”’»」』)\]]*\s*$")
_WORDS = re.compile(r"\w+")
_FENCE = re.compile(r"\s*(?:```|~~~)[\w-]*\s*$")

Kind = Literal["merged", "split", "dropped", "added", "empty", "unplaced"]


class LineStep(NamedTuple):
    """Neighbouring lines of a file, and the lines of the source that they correct.

    Attributes:
        sources: rows of the source, from 0; empty if the lines correct none.
        lines: rows of the file; empty if the source lines are missing.
    """

    sources: range
    lines: range


@dataclass(frozen=True)
class MisfitLines:
    """Lines that do not fit the source.

    Attributes:
        kind: what happened to them.
        step: where they are.
        shift: how many lines later (negative: earlier) than the source's the following lines are.
        edge: True for added lines before the first or after the last correction.
        sure: True if the lines around it leave no doubt.
        text: beginning of an added line.
    """

    kind: Kind
    step: LineStep
    shift: int
    edge: bool
    sure: bool
    text: str

    @property
    def moved(self) -> str:
        """From which line on the file is shifted against the source; empty if it is not."""
        return self.moved_by(0)

    def moved_by(self, before: int) -> str:
        """Return the same for a part of a file, with that many lines before it."""
        by = "one line" if abs(self.shift) == 1 else f"{abs(self.shift)} lines"
        way = "later" if self.shift > 0 else "earlier"
        lines = self.step.lines
        at = lines.start if self.kind in ("added", "dropped") else lines.stop
        return f"from line {before + at + 1} on the output is {by} {way}" if self.shift else ""

    @property
    def message(self) -> str:
        """The place, and for lines that are too many the remedy."""
        ours, theirs = _named(self.step.sources), _named(self.step.lines)
        one = len(self.step.lines) == 1
        is_, it = ("is", "it") if one else ("are", "them")
        has = "has" if len(self.step.sources) == 1 else "have"
        what = "no correction" if self.edge else "no line of the source"
        text = {
            "merged": f"{theirs} holds {ours} of the source",
            "split": f"{theirs} hold {ours} of the source",
            "unplaced": f"{theirs} share too little with {ours} of the source to be placed",
            "empty": f"{theirs} {is_} empty: delete {it}",
            "added": f"{theirs} {is_} {what} ({self.text!r}): delete {it}",
            "dropped": f"{ours} of the source {has} no line here",
        }[self.kind]
        told = self.kind in ("added", "dropped") and not self.edge
        return f"{self.moved}: {text}" if told and self.shift else text


def _named(rows: range) -> str:
    first, last = rows.start + 1, rows.stop
    if first >= last:
        return f"line {first}"
    return f"lines {first} {'and' if last == first + 1 else 'to'} {last}"


@dataclass(frozen=True)
class LineLayout:
    """How the lines of a file lie against those of its source.

    Attributes:
        sources: lines of the source.
        as_read: lines of the file.
        lines: the same without the forms that can be taken off.
        forms: forms that many lines have and the source has not.
        fences: rows with only a code fence.
        steps: every line of both, in order.
        unfit: rows of the file that were placed by the lines around them.
    """

    sources: Sequence[str]
    as_read: Sequence[str]
    lines: Sequence[str]
    forms: tuple[FoundForm, ...]
    fences: tuple[int, ...]
    steps: tuple[LineStep, ...]
    unfit: frozenset[int]

    @property
    def marks(self) -> tuple[tuple[str, int], ...]:
        """Forms that were taken off, with the number of lines."""
        return tuple((one.form.name, one.count) for one in self.forms if one.mended)

    @cached_property
    def flaws(self) -> tuple[str, ...]:
        """Remarks on what cannot be repaired: unknown characters, lines that are cut off."""
        ones = [(i.start, j.start) for i, j in self.steps if len(i) == len(j) == 1]
        cut = cut_off([self.sources[i] for i, _ in ones], [self.lines[j] for _, j in ones])
        return tuple(filter(None, [*(f.message for f in self.forms if not f.mended), cut]))

    @cached_property
    def places(self) -> tuple[MisfitLines, ...]:
        """Lines that do not fit, in order; neighbouring ones of one kind are one place."""
        return tuple(_places(self))

    @cached_property
    def unlike(self) -> tuple[int, ...]:
        """Rows of the file that share almost nothing with the one source line they stand for."""
        fit = likeness_of(self.sources)
        return tuple(
            lines.start
            for sources, lines in self.steps
            if lines.start in self.unfit
            and len(sources) == len(lines) == 1
            and len(key_of(self.sources[sources.start])) > 10
            and self.lines[lines.start].strip()
            and fit(self.sources[sources.start], self.lines[lines.start]) < _BASE
        )

    @cached_property
    def refusal(self) -> str:
        """Why the lines cannot be brought into the order of the source; empty if they can."""
        held = sum(bool(line.strip()) for line in self.lines) - len(self.fences)
        texts = sum(bool(line.strip()) for line in self.sources)
        # Remarks around the text are deleted without a doubt, however short the text is.
        wrong = [
            p for p in self.places if p.kind != "empty" and not (p.edge and len(p.step.lines) < 4)
        ]
        misfits = sum(len(p.step.sources or p.step.lines) for p in wrong) + len(self.unlike)
        if not held:
            return "no line has any text"
        if 3 * misfits <= max(texts, 1):
            return ""
        return (
            f"{misfits} lines do not fit the {texts} lines of the source, too many to be repaired: "
            "is it another text, in another order, or not one sentence to a line?"
        )

    @cached_property
    def out_of_order(self) -> tuple[tuple[int, int], ...]:
        """Rows of added lines that correct a source line that has none, and rows of these."""
        fit = likeness_of(self.sources)
        lost = [
            row for place in self.places if place.kind == "dropped" for row in place.step.sources
        ]
        added = [row for place in self.places if place.kind == "added" for row in place.step.lines]
        if len(lost) * len(added) > _CELLS:
            return ()
        pairs = ((row, source) for row in added for source in lost)
        return tuple(p for p in pairs if fit(self.sources[p[1]], self.lines[p[0]]) >= _FITS)

    @property
    def messages(self) -> Iterator[str]:
        """Remarks on forms, then on the places, five of each kind."""
        yield from (one.message for one in self.forms if one.mended)
        if self.fences:
            yield f"{named_lines([row + 1 for row in self.fences])}: code fences; delete them"
        for row, source in self.out_of_order[:5]:
            yield f"line {row + 1} is out of order: it fits line {source + 1} of the source"
        kinds: dict[str, list[MisfitLines]] = {}
        for place in self.places:
            kinds.setdefault(place.kind, []).append(place)
        for kind, places in kinds.items():
            if kind == "empty" and len(places) > 1:
                empty = [row + 1 for place in places for row in place.step.lines]
                yield f"{named_lines(empty)} are empty: delete them"
                continue
            yield from (place.message for place in places[:5])
            if more := [place.step.lines.start + 1 for place in places[5:]]:
                yield f"{kind} lines at {len(more)} more places ({named_lines(more)})"


def layout(sources: Sequence[str], as_read: Sequence[str]) -> LineLayout:
    """Find out which line of a file corrects which line of the source."""
    fenced = any(map(_FENCE.match, sources))
    fences = () if fenced else tuple(row for row, line in enumerate(as_read) if _FENCE.match(line))
    lines, forms = without_forms(sources, as_read)
    left_out = set(fences)
    rows = [row for row, line in enumerate(lines) if line.strip() and row not in left_out]
    texts = [row for row, line in enumerate(sources) if line.strip()]
    walk = _Walk([sources[row] for row in texts], [lines[row] for row in rows])
    solid = [
        LineStep(
            range(texts[step.sources.start], texts[step.sources.stop - 1] + 1),
            range(rows[step.lines.start], rows[step.lines.stop - 1] + 1),
        )
        for step in walk.steps()
        if step.sources and step.lines
    ]
    with_gaps = _with_gaps(solid, len(sources), lines, left_out)
    steps = tuple(_with_fragments(with_gaps, sources, lines))
    return LineLayout(
        sources, as_read, lines, forms, fences, steps, frozenset(rows[j] for j in walk.unfit)
    )


def wrong_count(
    name: str, lines: Sequence[str], source: str, sources: Sequence[str], *, files: bool
) -> InputError:
    """Return the error for a text that has more or fewer lines than its source.

    Args:
        lines: its lines; files that stay on disk are not searched for the place.
        sources: lines of the source.
        files: whether the names are those of files.
    """
    message = f"{name} has {len(lines)} lines, but {source} has {len(sources)}"
    if isinstance(sources, FileLines) or isinstance(lines, FileLines):
        return InputError(f"{message}: expected a line for each source line")
    view = layout(sources, lines)
    message = f"{message}; {view.refusal or next(view.messages)}"
    if view.refusal or not files:
        return InputError(message)
    fill = ["--fill"] * any(place.kind == "dropped" for place in view.places)
    paths = ["-" if text == shown_path("-") else text for text in (source, name)]
    command = shlex.join(["gecjury", "check", *paths, "--fix", "FOLDER", *fill])
    return InputError(f"{message}. `{command}` shows each place and writes a repaired copy")


def misfit(sources: Sequence[str], lines: Sequence[str]) -> str:
    """Return why equally many lines do not fit their source, for a remark; empty if they do.

    About 1,000 lines are looked at, so a short run of shifted lines in a long file may be missed.
    """
    bare, forms = without_forms(sources[:_SAMPLE], lines[:_SAMPLE])
    shifted = _shifted(sources, lines)
    cut = cut_off(sources[:_SAMPLE], bare)
    mended = shifted or any(form.mended for form in forms)
    parts = [shifted, *(form.message for form in forms), cut]
    return "; ".join(filter(None, [*parts, _REMEDY if mended else ""]))


_REMEDY = "`gecjury check` shows each place, and with --fix FOLDER it writes a repaired copy"


def _shifted(sources: Sequence[str], lines: Sequence[str]) -> str:
    """Return from where on lines are shifted, or that most fit no source line near them."""
    count = len(sources)
    # An odd step does not always meet the same line of texts that repeat themselves.
    step = count // _SAMPLE | 1

    def fits(row: int) -> bool:
        return _fits(sources[row], lines[row], sources)

    def elsewhere(row: int) -> bool:
        line = lines[row][:_LONGEST]
        fit, near = likeness_of(sources), sources[max(0, row - _NEAR) : row + _NEAR + 1]
        return bool(line.strip()) and any(fit(source[:_LONGEST], line) >= _FITS for source in near)

    # Every run of three rows has one of these.
    part = slice(2 * step, count, 3 * step)
    pairs = zip(range(count)[part], sources[part], lines[part], strict=True)
    apart = [
        row
        for row, source, line in pairs
        # As in `_fits`, which is not called for nearly all lines.
        if source[:_SAME] != line[:_SAME] and not _fits(source, line, sources)
    ]
    for row in apart:
        before, after = range(row - step, -1, -step)[:_NEAR], range(row + step, count, step)[:_NEAR]
        run = [*takewhile(lambda at: not fits(at), before)][::-1]
        run += [row, *takewhile(lambda at: not fits(at), after)]
        if len(run) > 2 and sum(map(elsewhere, run)) > 2:
            start = max(0, run[0] - step - 3)
            here = slice(start, run[0] + _AHEAD)
            places = layout(sources[here], lines[here]).places
            shifts = (place.moved_by(start) for place in places if place.shift)
            return next(shifts, f"at about line {run[0] + 1}, lines fit other source lines better")
    if 2 * len(apart) > max(4, len(range(count)[part])):
        return "most lines share little with their source: is it another text, or in another order?"
    return ""


def _fits(source: str, line: str, sources: Sequence[str]) -> bool:
    """Return True if a line may correct a source line; an empty one may."""
    if len(source) > _LONGEST or len(line) > _LONGEST:
        source, line = source[:_LONGEST], line[:_LONGEST]
    # Nearly all lines keep their beginning, their end, or half of their tokens: faster to see.
    if source[:_SAME] == line[:_SAME] or source[-_SAME:] == line[-_SAME:]:
        return True
    words, kept = set(line.split()), _tokens(source)
    if not words or 2 * len(words & kept) > max(len(words), len(kept)):
        return True
    return likeness_of(sources)(source, line) >= PART


@lru_cache(maxsize=4096)
def _tokens(source: str) -> frozenset[str]:
    return frozenset(source.split())


def likeness_of(sources: Sequence[str]) -> Callable[[str, str], float]:
    """Return a function of two lines, 0 to 1: the share of letter groups that they have in common.

    Args:
        sources: lines whose script determines the size of the groups.
    """
    size = size_of(sources)
    return lambda one, two: _likeness(key_of(one), key_of(two), size)


def size_of(sources: Sequence[str]) -> int:
    """Return the size of letter groups: two characters in scripts without blanks, else three."""
    return 2 if DENSE.search("".join(sources[:20])) else 3


def _groups(key: str, size: int) -> Iterable[tuple[str, ...]]:
    return zip(*(key[at:] for at in range(size)), strict=False) if len(key) >= size else [(key,)]


@lru_cache(maxsize=4096)
def _grams(key: str, size: int) -> frozenset[tuple[str, ...]]:
    return frozenset(_groups(key, size))


@lru_cache(maxsize=1024)
def _counted(key: str, size: int) -> Counter[tuple[str, ...]]:
    return Counter(_groups(key, size))


def _likeness(one: str, two: str, size: int) -> float:
    if one == two:
        return 1.0
    a, b = _grams(one, size), _grams(two, size)
    return 2 * len(a & b) / (len(a) + len(b))


def overlap(one: str, two: str, size: int) -> int:
    """Return the number of letter groups, with repeats, that two keys have in common."""
    return (_counted(one, size) & _counted(two, size)).total()


class _Walk:
    """Aligns two texts without empty lines, in order."""

    def __init__(self, sources: Sequence[str], lines: Sequence[str]) -> None:
        self.sources, self.lines = sources, lines
        self.ours, self.theirs = [*map(key_of, sources)], [*map(key_of, lines)]
        self.size = size_of(sources)
        self.unfit: set[int] = set()

    def steps(self) -> list[LineStep]:
        """Return steps that together have every row of both texts."""
        steps: list[LineStep] = []
        i = j = 0
        n, m = len(self.ours), len(self.theirs)
        while i < n or j < m:
            if i < n and j < m and self.fits(i, j):
                steps.append(LineStep(range(i, i + 1), range(j, j + 1)))
                i, j = i + 1, j + 1
                continue
            i2, j2 = self._next_fit(i, j)
            # A merged line still resembles its first source line, and the second half of a split
            # line its whole source line, so the neighbours are placed anew.
            again = 2
            # Among similar sentences, lines fit long after a shift, but fit better without it.
            while steps and (again > 0 or self._fits_better(steps[-1], i2 - j2)):
                i, j = steps[-1].sources.start, steps[-1].lines.start
                steps.pop()
                again -= 1
            i2, j2 = (i2 + 1, j2 + 1) if i2 < n and j2 < m else (n, m)
            steps += self._placed(range(i, i2), range(j, j2))
            self.unfit.update(range(j, j2))
            i, j = i2, j2
        return steps

    def fits(self, i: int, j: int) -> bool:
        one, two = self.ours[i], self.theirs[j]
        same = 2 * max(len(one), len(two)) // 3 + 1
        return one[:same] == two[:same] or _likeness(one, two, self.size) >= _FITS

    def _fits_better(self, step: LineStep, shift: int) -> bool:
        """Return True if the only line of a step is more like the source line after a shift."""
        i, j = step.sources.start, step.lines.start
        if len(step.sources) != 1 or len(step.lines) != 1 or not 0 <= j + shift < len(self.ours):
            return False
        shifted = _likeness(self.ours[j + shift], self.theirs[j], self.size)
        return shifted > _likeness(self.ours[i], self.theirs[j], self.size)

    def _next_fit(self, i: int, j: int) -> tuple[int, int]:
        """Return the nearest rows from which three lines in succession fit; else both ends."""
        n, m = len(self.ours), len(self.theirs)
        a_most, b_most = min(_REACH, n - i), min(_REACH, m - j)
        for total in range(1, a_most + b_most):
            for a in sorted(
                range(max(0, total - b_most + 1), min(total, a_most - 1) + 1),
                key=lambda a: abs(2 * a - total),
            ):
                if all(
                    self.fits(i + a + k, j + total - a + k)
                    for k in range(3)
                    if i + a + k < n and j + total - a + k < m
                ):
                    return i + a, j + total - a
        best = (n, m)
        rows = [row for row, _ in self._anchors]
        for i2, j2 in self._anchors[bisect_left(rows, i) :]:
            if i2 - i > sum(best) - i - j:
                break
            if j2 >= j:
                best = min(best, (i2, j2), key=sum)
        return best

    @cached_property
    def _anchors(self) -> list[tuple[int, int]]:
        """Rows of long lines that occur once in both texts."""
        once = [Counter(keys) for keys in (self.ours, self.theirs)]
        place = {key: row for row, key in enumerate(self.theirs) if once[1][key] == 1}
        return [
            (row, place[key])
            for row, key in enumerate(self.ours)
            if len(key) > 10 and once[0][key] == 1 and key in place
        ]

    def _placed(self, ours: range, theirs: range) -> list[LineStep]:
        """Return the best steps for a region."""
        if not ours or not theirs:
            return [LineStep(ours, theirs)]
        if len(ours) * len(theirs) > _CELLS:
            if len(ours) != len(theirs):
                return [LineStep(ours, theirs)]
            pairs = zip(ours, theirs, strict=True)
            return [LineStep(range(i, i + 1), range(j, j + 1)) for i, j in pairs]
        moves = ((1, 1), (1, 0), (0, 1), (2, 1), (1, 2), (3, 1), (1, 3))
        best: dict[tuple[int, int], tuple[float, tuple[int, int]]] = {
            (ours.start, theirs.start): (0.0, (0, 0))
        }
        for i in range(ours.start, ours.stop + 1):
            for j in range(theirs.start, theirs.stop + 1):
                before, _ = best[i, j]
                for a, b in moves:
                    end = i + a, j + b
                    if end[0] > ours.stop or end[1] > theirs.stop:
                        continue
                    gain = self._gain(range(i, i + a), range(j, j + b))
                    if gain is not None and (end not in best or before + gain > best[end][0]):
                        best[end] = before + gain, (a, b)
        steps = []
        i, j = ours.stop, theirs.stop
        while (i, j) != (ours.start, theirs.start):
            a, b = best[i, j][1]
            steps.append(LineStep(range(i - a, i), range(j - b, j)))
            i, j = i - a, j - b
        return steps[::-1]

    def _gain(self, ours: range, theirs: range) -> float | None:
        """Return how well lines fit together: a share of 1 for each; None if they cannot."""
        if not ours or not theirs:
            return 0.0
        keys, other = [self.ours[i] for i in ours], [self.theirs[j] for j in theirs]
        if len(keys) == len(other) == 1:
            a, b = _grams(keys[0], self.size), _grams(other[0], self.size)
            return _BASE + len(a & b) / len(a) + len(a & b) / len(b)
        parts, whole = (keys, other[0]) if len(other) == 1 else (other, keys[0])
        grams = _grams(whole, self.size)
        # A sentence broken off before its full stop, as short as its parts may be.
        ended = [bool(ENDS.search(self.lines[j])) for j in theirs]
        broken = len(other) > 1 and ended[-1] and not any(ended[:-1])
        broken = broken and bool(ENDS.search(self.sources[ours.start]))
        if not broken and any(
            len((part := _grams(key, self.size)) & grams) < PART * len(part) for key in parts
        ):
            return None
        # A part counts by what it adds: letters that the other parts explain are not its own.
        size = self.size
        common = overlap("".join(parts), whole, size)
        gain = common / _counted(whole, size).total() - (len(parts) - 1) * (
            _BROKEN if broken else _JOINED
        )
        for n, key in enumerate(parts):
            rest = "".join(parts[:n] + parts[n + 1 :])
            gain += (common - overlap(rest, whole, size)) / _counted(key, size).total()
        return gain


def _with_gaps(
    solid: Sequence[LineStep], count: int, lines: Sequence[str], left_out: set[int]
) -> Iterator[LineStep]:
    """Add the steps of lines that have no counterpart; an empty line may stand for a source line.

    Args:
        solid: steps with lines on both sides.
        count: number of source lines.
        left_out: rows that belong to no step.
    """
    empty = sum(not line.strip() for line in lines)
    # Empty lines between all sentences are layout; they answer nothing.
    layout_only = empty >= 0.4 * (len(lines) - empty)
    i = j = 0
    for step in (*solid, LineStep(range(count, count), range(len(lines), len(lines)))):
        ours, theirs = range(i, step.sources.start), range(j, step.lines.start)
        rows = [row for row in theirs if row not in left_out]
        all_answer = len(ours) == len(rows)
        for row in rows:
            empty_answers = not layout_only and not lines[row].strip()
            answered = ours[: all_answer or empty_answers]
            ours = ours[len(answered) :]
            yield LineStep(answered or range(0), range(row, row + 1))
        if ours:
            yield LineStep(ours, range(step.lines.start, step.lines.start))
        if step.sources or step.lines:
            yield step
        i, j = step.sources.stop, step.lines.stop


def _with_fragments(
    steps: Iterable[LineStep], sources: Sequence[str], lines: Sequence[str]
) -> Iterator[LineStep]:
    """Join the steps of lines that are the beginning or the end of a sentence in the next line."""
    before: LineStep | None = None
    for step in steps:
        if before is not None and _one_sentence(before, step, sources, lines):
            before = LineStep(
                before.sources or step.sources, range(before.lines.start, step.lines.stop)
            )
            continue
        if before is not None:
            yield before
        before = step
    if before is not None:
        yield before


def _one_sentence(
    one: LineStep, two: LineStep, sources: Sequence[str], lines: Sequence[str]
) -> bool:
    """Return True if a line that corrects no source line completes a sentence beside it."""
    if len(one.sources) + len(two.sources) != 1 or not one.lines or not two.lines:
        return False
    left, right = lines[one.lines.stop - 1], lines[two.lines.start]
    if ENDS.search(left) or not left.strip() or not right.strip():
        return False
    source = sources[(one.sources or two.sources).start]
    # The rest of a sentence may be new to it, but then it begins with a small letter.
    if one.sources and right.lstrip()[0].islower() and ENDS.search(source):
        return True
    fit = likeness_of(sources)
    alone, both = (
        [lines[row] for row in rows]
        for rows in ((one if one.sources else two).lines, range(one.lines.start, two.lines.stop))
    )
    return fit(source, " ".join(both)) > fit(source, " ".join(alone))


def _places(view: LineLayout) -> Iterator[MisfitLines]:
    sources, lines, steps = view.sources, view.lines, view.steps
    fit = likeness_of(sources)

    def doubtful(step: LineStep) -> bool:
        if len(step.sources) != 1 or len(step.lines) != 1:
            return False
        line = lines[step.lines.start]
        return bool(line.strip()) and fit(sources[step.sources.start], line) < _DOUBTFUL

    def may_end(before: LineStep, step: LineStep) -> bool:
        """Return True if added words may be the end of the sentence in the line before them."""
        if not before.sources or not before.lines or len(step.lines) != 1:
            return False
        source, line = sources[before.sources.stop - 1], lines[before.lines.stop - 1]
        text = lines[step.lines.start]
        whole = ENDS.search(line) or not ENDS.search(source) or not ENDS.search(text)
        return not whole and len(_WORDS.findall(text)) <= _TAIL

    last = max((n for n, s in enumerate(steps) if s.sources and s.lines), default=-1)
    first = next((n for n, s in enumerate(steps) if s.sources and s.lines), len(steps))
    n, at = 0, 0
    while n < len(steps):
        step = steps[n]
        at = step.sources.stop if step.sources else at
        kind = _kind(step, lines)
        start = n
        n += 1
        if kind is None:
            continue
        while n < len(steps) and kind in ("added", "empty") and _kind(steps[n], lines) == kind:
            n += 1
        step = LineStep(step.sources, range(step.lines.start, steps[n - 1].lines.stop))
        after = steps[n] if n < len(steps) else None
        shift = 0
        if kind != "empty" and after is not None and after.sources and after.lines:
            shift = after.lines.start - after.sources.start
        around = [steps[k] for k in (start - 1, n) if 0 <= k < len(steps)]
        text = lines[step.lines.start][:40].strip() if step.lines else ""
        edge = kind == "added" and (start < first or start > last)
        sure = kind in ("merged", "split", "empty") or (
            kind != "unplaced"
            and not any(map(doubtful, around))
            and not (start and may_end(steps[start - 1], step))
        )
        yield MisfitLines(kind, step, shift, edge, sure, text)


def _kind(step: LineStep, lines: Sequence[str]) -> Kind | None:
    ours, theirs = len(step.sources), len(step.lines)
    if ours == theirs == 1:
        return None
    if not theirs:
        return "dropped"
    if not ours:
        return "added" if lines[step.lines.start].strip() else "empty"
    if theirs == 1:
        return "merged"
    return "split" if ours == 1 else "unplaced"
