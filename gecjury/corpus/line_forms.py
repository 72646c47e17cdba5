"""Forms of lines that outputs have and their source has not, such as list numbers or word pieces.

Models number their sentences, repeat the source before the correction, or leave in the text what
only they understand. A form is taken off where it is clear what the line is without it.
"""

from __future__ import annotations

import html
import re
import string
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gecjury.core.wording import shortened

# Least share of lines that have a form: signs that no learner writes, marks and remarks on some
# words or sentences, and what is around every line.
_CLEAR, _SOME, _REMARKED, _MOST = 0.01, 0.05, 0.2, 0.6
_MOST_OF_SOURCE = 0.2  # share of source lines that may look like lines with a form around them
_LOOKED = 16  # lines in which such a form is looked for before all others
_COLUMN_LINES = 100  # lines by which the column of the corrections is chosen
_COLUMN = 0.6  # share of the source's letter groups that it has at least
_COPY = 0.95  # share of cells of a column that are lines of the source
_LONGEST = 20_000  # characters of a line that are compared
_CUT = 0.05  # least share of lines that are cut off
_SHORTER = 0.9  # share of its source's letters that a line has at most if it is cut off

_USUAL = (string.ascii_letters + string.digits + " .,;!?$%").encode()
_WORDS = re.compile(r"\w+")
_CLOSING = " \t\"'”’»」』)）]"
_SIGNS = ".!?…。！？।؟۔"


@dataclass(frozen=True)
class LineForm:
    """A form of lines.

    Attributes:
        name: its name in messages.
        pattern: is in every line that has the form; in a table, what divides columns.
        mend: returns a line without the form; None if what is missing is unknown, and in a table.
        share: the least share of lines that have it.
        remedy: what to do about it.
        signs: characters, one of which is in every such line; empty if they are too many.
        around: whether it begins or encloses lines, which lines of the source may look like.
            Any other form must not contain what the source contains.
        agree: returns whether its matches belong together.
        columns: the fewest columns of a table; 0 for other forms.
    """

    name: str
    pattern: re.Pattern[str]
    mend: Callable[[str], str] | None
    share: float
    remedy: str = "delete them"
    signs: str = ""
    around: bool = False
    agree: Callable[[Sequence[re.Match[str]]], bool] = bool
    columns: int = 0


@dataclass(frozen=True)
class FoundForm:
    """A form that lines of a text have.

    Attributes:
        form: the form.
        count: number of lines.
        example: how one of them has it; empty if the name says it.
    """

    form: LineForm
    count: int
    example: str = ""

    @property
    def mended(self) -> bool:
        """True if the form can be taken off."""
        return self.form.mend is not None or self.form.columns > 0

    @property
    def message(self) -> str:
        """How many lines have the form, and what to do."""
        such = f" such as {shortened(self.example, 30)!r}" if self.example else ""
        name = self.form.name
        return f"{self.count} lines have {name}{such} that the source has not: {self.form.remedy}"


def key_of(line: str) -> str:
    """Return the letters of a line in lower case; its other characters if it has no letters.

    Lines are not sentences beyond some length, at which they are cut.
    """
    line = line[:_LONGEST]
    return "".join(_WORDS.findall(line.casefold())) or "".join(line.split())


def without_forms(
    sources: Sequence[str], lines: Sequence[str]
) -> tuple[Sequence[str], tuple[FoundForm, ...]]:
    """Take off the forms that many lines have, and no source; name those that stay, too."""
    found: list[FoundForm] = []
    texts = len(lines) - lines.count("")
    rare = _rare(lines)
    for form in _FORMS:
        least = max(2, form.share * texts)
        if form.signs and sum(map(rare.count, form.signs)) < least:
            continue
        find = _in_columns if form.columns else _around if form.around else _inside
        count, example, made = find(form, sources, lines)
        if count >= least:
            found.append(FoundForm(form, count, example))
            lines, rare = made, _rare(made)
    return lines, tuple(found)


_FormedLine = tuple[int, str, Sequence[str]]
"""The number of lines that have a form, how one of them has it, and all lines without it."""


def _rare(lines: Sequence[str]) -> str:
    """Return the characters of lines that are not usual in English: for most texts, few."""
    data = "".join(lines).encode("utf-8", "surrogatepass")
    return data.translate(None, _USUAL).decode("utf-8", "surrogatepass")


def _inside(form: LineForm, sources: Sequence[str], lines: Sequence[str]) -> _FormedLine:
    anywhere = re.compile(form.pattern.pattern.removesuffix(r"\s*$"))
    of_sources = [m[0] for line in sources for m in anywhere.finditer(line)]
    kept = {"".join(text.split()) for text in of_sources}
    matches = [m[0].strip() if (m := form.pattern.search(line)) else "" for line in lines]
    own = ["" if "".join(text.split()) in kept else text for text in matches]
    if len(of_sources) > _MOST_OF_SOURCE * sum(map(bool, own)):
        return 0, "", lines
    pairs = zip(lines, own, strict=True)
    made = [form.mend(line) if form.mend and text else line for line, text in pairs]
    return sum(map(bool, own)), next(filter(None, own), ""), made


def _around(form: LineForm, sources: Sequence[str], lines: Sequence[str]) -> _FormedLine:
    # Most texts have no such form, which few of their lines show.
    some = lines[:: max(1, len(lines) // _LOOKED)]
    if 3 * len([*filter(form.pattern.match, some)]) < form.share * (len(some) - some.count("")):
        return 0, "", lines
    matches = [match for line in lines if line.strip() and (match := form.pattern.match(line))]
    of_sources = sum(map(bool, map(form.pattern.match, sources)))
    if not matches or of_sources > _MOST_OF_SOURCE * len(sources) or not form.agree(matches):
        return 0, "", lines
    return len(matches), "", [form.mend(line) if form.mend else line for line in lines]


def _in_columns(form: LineForm, sources: Sequence[str], lines: Sequence[str]) -> _FormedLine:
    """Find the corrections in a table; a line that is no row may be a sentence without errors."""
    rows = [form.pattern.split(line) for line in lines]
    widths = Counter(len(row) for row in rows if len(row) > 1)
    of_sources = sum(map(bool, map(form.pattern.search, sources)))
    if not widths or of_sources > _MOST_OF_SOURCE * len(sources):
        return 0, "", lines
    width, count = widths.most_common(1)[0]
    pairs = zip(rows, lines, strict=True)
    rows = [row if len(row) == width else [line] * width for row, line in pairs]
    columns = [*zip(*rows[:_COLUMN_LINES], strict=True)]
    ours, keys = _groups(sources[:_COLUMN_LINES]), set(map(key_of, sources))
    fits = [(_groups(cells) & ours).total() / max(1, ours.total()) for cells in columns]
    copied = [sum(key_of(cell) in keys for cell in cells) / len(cells) for cells in columns]
    # A copy of the source fits it perfectly, and must not keep out a column that changes much.
    others = [fit for fit, share in zip(fits, copied, strict=True) if share < _COPY]
    texts = [n for n, fit in enumerate(fits) if fit >= max(_COLUMN, 0.8 * max(others or fits))]
    if len(texts) < form.columns:
        return 0, "", lines
    best = min(reversed(texts), key=copied.__getitem__)
    if others and copied[best] >= _COPY:
        return 0, "", lines
    return count, "", ["" if _RULE.match(row[best]) else row[best] for row in rows]


def _groups(lines: Iterable[str]) -> Counter[tuple[str, ...]]:
    key = "".join(map(key_of, lines))
    return Counter(zip(key, key[1:], key[2:], strict=False))


def cut_off(sources: Sequence[str], lines: Sequence[str]) -> str:
    """Return a message if many lines end before their source does, as at a limit of a model.

    Args:
        sources: lines of the source.
        lines: the line that corrects each of them.
    """
    texts = len(lines) - lines.count("")
    open_ = [
        (source, line)
        for source, line in zip(sources, lines, strict=True)
        # An empty line ends with "", which every text has.
        if line[-1:] not in _SIGNS
        and line.rstrip(_CLOSING)[-1:] not in _SIGNS
        and source.rstrip(_CLOSING)[-1:] in _SIGNS
    ]
    if len(open_) < max(3, _CUT * texts):
        return ""
    # A line that only lacks its full stop has the last word of the source near its end.
    keys = [(key_of(source), key_of(line)) for source, line in open_]
    cut = sum(len(b) < _SHORTER * len(a) and a[-4:] not in b[-12:] for a, b in keys)
    if 2 * cut < len(open_):
        return ""
    after = ""
    for what, sizes in (
        ("characters", (len(line) for _, line in open_)),
        ("tokens", (len(line.split()) for _, line in open_)),
    ):
        ((most, count),) = Counter(sizes).most_common(1)
        after = f", after {most} {what}" if count > 0.9 * len(open_) else after
    return (
        f"{len(open_)} of {texts} lines end without their last sign{after}: cut by a limit "
        "of the model?"
    )


def _without(pattern: re.Pattern[str], new: str = "") -> Callable[[str], str]:
    return lambda line: pattern.sub(new, line).strip()


def _inner(pattern: re.Pattern[str]) -> Callable[[str], str]:
    return lambda line: pattern.sub(lambda match: match[match.lastindex or 0], line).strip()


def _of_pieces(line: str) -> str:
    """Return the text of word pieces: ▁ and Ġ begin words, </w> ends them, the others join."""
    if re.search("[▁Ġ]|</w>", line):
        return re.sub("[▁Ġ]|</w>", " ", "".join(line.split())).strip()
    return _JOINERS.sub("", line).strip()


def _in_order(matches: Sequence[re.Match[str]]) -> bool:
    numbers = [int(match[1]) for match in matches]
    return sum(b == a + 1 for a, b in pairwise(numbers)) >= 0.8 * (len(numbers) - 1)


def _are_one(matches: Sequence[re.Match[str]]) -> bool:
    labels = Counter("".join(match[0].split()).casefold() for match in matches)
    return labels.most_common(1)[0][1] >= 0.8 * len(matches)


_RULE = re.compile(r"[-:\s]+$")
_TOKENS = re.compile(
    r"<\|[^<>|\s]{1,40}\|>|</?(?:s|pad|bos|eos|sep|cls|mask|(?:start|end)_of_turn)>|"
    r"<extra_id_\d+>|\[(?:PAD|CLS|SEP|BOS|EOS|/?INST)\]|\\[nrt](?=\s|$)"
)
_JOINERS = re.compile(r"@@(?:\s+|$)|\s+##(?=\w)|\s*￭\s*")
_PIECES = re.compile(r"[▁Ġ￭]|</w>|@@(?=\s|$)|(?<=\s)##(?=\w)")
_UNKNOWN = re.compile(r"⁇|<unk>|\[UNK\]")
_ESCAPED = re.compile(r"&(?:#\d{2,5}|#x[\da-f]{2,4}|amp|lt|gt|quot|apos|nbsp);|(?<= )@-@(?= )")
_BOLD = re.compile(
    # Numbers in bold are list numbers.
    r"(?<![A-Za-z0-9*_])(\*{1,3}(?!\*)|__)(?!\d+[.):\]]+\1)(?=\S)(.+?)(?<=\S)\1(?![A-Za-z0-9*_])|"
    r"^\s*(\*\*|__)\s+(.+)\s+\3\s*$|\*{4}()"
)
_NUMBER = re.compile(
    r"^\s*[\[(*]*(?:[^\W\d]+\s)?(\d{1,6})\s?(?:[.):\]*]+(?:\s+|$)|[、．]\s*)(?=\S|$)"
)
_BULLET = re.compile(r"^\s*[-*•‣◦·–—](?:\s+(?=\S)|\s*$)")
_LABEL = re.compile(r"^\s*(?:\w+\s){0,3}\w+\s?(?::(?:\s+|$)|：\s*)")
_REMARK = re.compile(r"\s*(?:[(（](?:[^()（）]|\([^()]*\))+[)）]|[\[【][^\[\]【】]+[\]】])\s*$")
_QUOTED = re.compile(
    r"""^\s*(?:"(.*)"|``(.*)''|'(.*)'|`(.*)`|“(.*)”|„(.*)[“”]|«(.*)»|»(.*)«|‘(.*)’|「(.*)」|『(.*)』)\s*$"""
)
_CELLS, _TABS = re.compile(r"\s*\|\s*"), re.compile(r"\s*\t\s*")
_ARROWS = re.compile(r"\s+(?:-+>|=+>|[→⇒➔➜⟶])(?:\s+|$)")

# What is inside comes after what is around it: `1. "He goes ." (tense)`.
_FORMS = (
    LineForm(
        "special tokens",
        _TOKENS,
        _without(re.compile(rf"\s*(?:{_TOKENS.pattern})\s*"), " "),
        _CLEAR,
        signs="<[\\",
    ),
    LineForm("word pieces", _PIECES, _of_pieces, _CLEAR, "join them", "▁Ġ<@#￭"),
    LineForm(
        "unknown characters",
        _UNKNOWN,
        None,
        _CLEAR,
        "the model does not know a character of its input",
        "⁇<[",
    ),
    LineForm(
        "escaped signs",
        _ESCAPED,
        lambda line: html.unescape(line).replace(" @-@ ", "-"),
        _CLEAR,
        "replace them",
        "&@",
    ),
    LineForm("table cells", _CELLS, None, _MOST, "keep the corrections", "|", columns=1),
    LineForm("tabs", _TABS, None, _MOST, "keep the corrections", "\t", columns=1),
    LineForm("arrows", _ARROWS, None, _MOST, "keep the corrections", ">→⇒➔➜⟶", columns=2),
    LineForm("bold type", _BOLD, _inner(_BOLD), _SOME, signs="*_"),
    LineForm("list numbers", _NUMBER, _without(_NUMBER), _MOST, around=True, agree=_in_order),
    LineForm("bullets", _BULLET, _without(_BULLET), _MOST, signs="-*•‣◦·–—", around=True),
    LineForm("labels", _LABEL, _without(_LABEL), _MOST, signs=":：", around=True, agree=_are_one),
    LineForm("remarks", _REMARK, _without(_REMARK), _REMARKED, signs=")）]】"),
    LineForm(
        "quotation marks", _QUOTED, _inner(_QUOTED), _MOST, signs="\"`'“„«»‘「『", around=True
    ),
)
