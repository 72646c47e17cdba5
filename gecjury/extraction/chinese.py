"""Chinese edits by ChERRANT's rules without its dictionaries: `tagger=cherrant`.

ChERRANT (Zhang et al. 2022, MuCGEC, `scorers/ChERRANT`) aligns by ERRANT's recursion and then
divides the alignment by its operations only: adjacent operations are one edit, transpositions stay
separate, and two edits that move text across unchanged text are one edit of word order.

Its cost of a substitution depends on a thesaurus (HIT's Cilin), a list of confusable characters and
pinyin. The thesaurus may not be redistributed, so two tokens count as unrelated here, as nearly all
are. The costs matter only where two alignments compete. See docs/guides/languages.md for the share.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate, chain, groupby
from string import punctuation

from gecjury.extraction.merging import SPELLED, Span, common_prefix
from gecjury.extraction.parsing import Operation, Parsed, mark
from gecjury.extraction.pipeline import Extractor, Typer
from gecjury.extraction.plain import RULES, PlainAligner, PlainReader

# The version of these rules in signatures and caches, increased when an edit or a type changes.
VERSION = "1"

# ChERRANT's list of punctuation. The ideographic full stop 。 is not in it.
_PUNCTUATION = punctuation + (
    "！？｡＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣､、〃》「」『』【】〔〕"
    "〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘'‛“”„‟…‧﹏"
)
# ChERRANT's costs of a substitution: for another class in the thesaurus; for another class of
# characters (both words, or a word and punctuation); for the share of different characters.
_MEANING, _WORDS, _MIXED, _SPELLING = 1.0, 0.25, 0.499, 0.5

_ChinesePiece = tuple[str, int, int, int, int]
"""An edit or unchanged text (M): kind, start and end in the source, and in the correction."""


class ChineseReader(PlainReader):
    """A reader whose tokens are equal only if all their characters are."""

    def _add(self, token: str) -> tuple[str, int, int, int]:
        word = self._words[token] = token, 0, len(self._words), mark(token)
        return word


class ChineseAligner(PlainAligner):
    """ERRANT's recursion with ChERRANT's cost of a substitution, between 1 and 1.999."""

    def substitution(self, source: Parsed, i: int, corrected: Parsed, j: int) -> float:
        """Return the cost of replacing one token by another."""
        return _cost(source.texts[i], corrected.texts[j])


def _cost(one: str, other: str) -> float:
    """Return ChERRANT's cost of a substitution of tokens that are unrelated in the thesaurus."""
    marks = (one in _PUNCTUATION) + (other in _PUNCTUATION)
    spelling = _SPELLING
    if _is_chinese(one) and _is_chinese(other):
        shorter, longer = sorted((one[:SPELLED], other[:SPELLED]), key=len)
        spelling *= sum(character not in longer for character in shorter) / len(shorter)
    return _MEANING + (_WORDS, _MIXED, 0.0)[marks] + spelling


def _is_chinese(token: str) -> bool:
    return all("一" <= character <= "鿿" for character in token)


class ChineseTyper(Typer):
    """A typer of edits by form: M missing, R redundant, W word order, S substitution."""

    def _type(self, span: Span, source: Parsed, corrected: Parsed) -> str:
        start, end, first, last = span
        old, new = source.texts[start:end], corrected.texts[first:last]
        if old == new:
            return "UNK"
        if not old or not new:
            return "R" if old else "M"
        return "W" if sorted(old) == sorted(new) else "S"


class ChineseExtractor(Extractor):
    """An extractor of ChERRANT's edits.

    Adjacent substitutions are one edit of characters but several edits of words, as in ChERRANT's
    two granularities. Tokens are words if any token of the pair has two Chinese characters.
    """

    def divided(
        self, operations: Sequence[Operation], source: Parsed, corrected: Parsed
    ) -> list[tuple[Span, str]]:
        """Return the spans of edits from left to right, with their types."""
        words = any(
            len(token) > 1 and _is_chinese(token) for token in chain(source.texts, corrected.texts)
        )
        edits: list[tuple[Span, str]] = []
        for piece in _reordered(_pieces(operations, source, words), source.texts, corrected.texts):
            kind, start, end, first, last = piece
            if kind == "S":
                start, end, first, last = _stripped(piece, source.texts, corrected.texts)
                kind = "I" if start == end else "D" if first == last else "S"
            # Words that are divided differently may contain the same characters.
            if "".join(source.texts[start:end]) != "".join(corrected.texts[first:last]):
                edits.append(((start, end, first, last), _TYPES[kind]))
        return edits


_TYPES = {"I": "M", "D": "R", "S": "S", "T": "W"}


def _pieces(operations: Sequence[Operation], source: Parsed, words: bool) -> list[_ChinesePiece]:
    """Return the pair cut into edits and the unchanged text between them."""
    whole: list[_ChinesePiece] = []
    i = j = 0
    for operation in (*operations, ("T", len(source), 0, 0, 0)):
        if operation[1] > i:
            # Unchanged text is equally long on both sides.
            whole.append(("M", i, operation[1], j, j + operation[1] - i))
        whole.append(operation)
        i, j = operation[2], operation[4]
    pieces: list[_ChinesePiece] = []
    for group, members in groupby(whole[:-1], lambda piece: piece[0] if piece[0] in "MT" else ""):
        run = list(members)
        kinds = {piece[0] for piece in run}
        # A deletion next to an insertion stays separate: text may have moved (see `_reordered`).
        if group or len(run) == 1 or kinds == {"D", "I"} or (words and kinds == {"S"}):
            pieces += run
        else:
            kind = kinds.pop() if len(kinds) == 1 else "S"
            pieces.append((kind, run[0][1], run[-1][2], run[0][3], run[-1][4]))
    return pieces


def _reordered(
    pieces: Sequence[_ChinesePiece], source: Sequence[str], corrected: Sequence[str]
) -> Iterator[_ChinesePiece]:
    """Yield the edits; two become one if they move text across unchanged or reordered text."""
    place = 0
    while place < len(pieces):
        kind, start, _, first, _ = pieces[place]
        if place + 2 < len(pieces) and _exchange(pieces[place : place + 3], source, corrected):
            _, _, end, _, last = pieces[place + 2]
            yield "T", start, end, first, last
            place += 3
            continue
        if kind != "M":
            yield pieces[place]
        place += 1


def _exchange(
    pieces: Sequence[_ChinesePiece], source: Sequence[str], corrected: Sequence[str]
) -> bool:
    """Return True if the outer two of three pieces show that text moved across the middle one."""
    left, middle, right = pieces
    kinds = left[0] + middle[0] + right[0]
    old_left, old_right = ("".join(source[piece[1] : piece[2]]) for piece in (left, right))
    new_left, new_right = ("".join(corrected[piece[3] : piece[4]]) for piece in (left, right))
    if kinds == "SMS":
        if min(map(len, (old_left, old_right, new_left, new_right))) == 1:
            return old_left == new_right and new_left == old_right
        return _near(old_left, new_right) and _near(new_left, old_right)
    if kinds not in ("DMI", "DTI", "IMD", "ITD"):
        return False
    # One side of each is empty, so these are the deleted and the inserted text.
    shorter, longer = sorted((old_left + old_right, new_left + new_right), key=len)
    if shorter in _PUNCTUATION or longer in _PUNCTUATION or len(longer) - len(shorter) > 1:
        return False
    if len(shorter) == 1:
        return longer == shorter
    turned = len(shorter) == len(longer) and shorter in longer + longer
    return turned or _near(longer, shorter)


def _near(one: str, other: str) -> bool:
    """Return True if at most one character has to be inserted, deleted or replaced."""
    from rapidfuzz.distance import Levenshtein

    distance: int = Levenshtein.distance(one, other, score_cutoff=1)
    return distance <= 1


def _stripped(piece: _ChinesePiece, source: Sequence[str], corrected: Sequence[str]) -> Span:
    """Return the span of an edit without equal text at its start and at its end."""
    _, start, end, first, last = piece
    i, j = _same_start(source[start:end], corrected[first:last])
    start, first = start + i, first + j
    old, new = source[start:end], corrected[first:last]
    i, j = _same_start([t[::-1] for t in reversed(old)], [t[::-1] for t in reversed(new)])
    return start, end - i, first, last - j


def _same_start(left: Sequence[str], right: Sequence[str]) -> tuple[int, int]:
    """Return how many first tokens of each side consist of the same characters."""
    shared = common_prefix("".join(left), 0, "".join(right), 0)
    ends = [
        {width: n for n, width in enumerate(accumulate(map(len, tokens), initial=0))}
        for tokens in (left, right)
    ]
    width = max(width for width in ends[0].keys() & ends[1] if width <= shared)
    return ends[0][width], ends[1][width]


@cache
def chinese_extractor() -> ChineseExtractor:
    """Return the extractor of Chinese edits, one for all metrics of a run."""
    return ChineseExtractor(ChineseReader().parse, ChineseAligner(), RULES, ChineseTyper())
