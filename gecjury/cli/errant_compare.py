"""`gecjury errant-compare`: `errant_compare` of the errant package, with its options and output.

Edits are interpreted as by that program: every annotator of a block is a candidate, on both sides;
keys contain the fields as written in the file; F is rounded to four digits by Python's `round`
before candidates are compared.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from gecjury.cli.options import add_options, settings_of
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data, tell
from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import REQUIRED, option
from gecjury.corpus.edits import NOOP
from gecjury.corpus.m2 import M2Annotation, M2Sentence, read_m2

CompareUnit = Literal["tokens", "spans", "corrections", "typed"]
"""Criteria of a match: the tokens to change, the spans, spans and corrections, or spans,
corrections and types."""

_TITLES: dict[CompareUnit, str] = {
    "tokens": " Token-Based Detection ",
    "spans": " Span-Based Detection ",
    "corrections": " Span-Based Correction ",
    "typed": " Span-Based Correction + Classification ",
}
_NOTHING = M2Annotation(-1, -1, NOOP, "-NONE-")
_RULE = "-" * 40

_MatchKey = tuple[int, int] | tuple[int, int, str] | tuple[int, int, str, str]
_EditsByKey = dict[_MatchKey, list[str]]
_TpFpFn = tuple[int, int, int]
_Categories = dict[str, list[int]]


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """The options of `errant_compare`.

    With β = 0 the F-score is precision if recall is above 0, and otherwise 0.

    Attributes:
        hyp: M2 file of a system.
        ref: M2 file of the references.
        unit: the unit that is compared.
        beta: weight of recall.
        verbose: show every sentence and pair of annotators.
        single: only edits of single tokens.
        multi: only edits of several tokens.
        left_out: error types that do not count.
        categories: scores by error type: 1 operations (R), 2 main types (NOUN), 3 all (R:NOUN).

    Raises:
        OptionError: β is negative or too large.
    """

    hyp: str = option(REQUIRED, "-hyp", metavar="HYP")
    ref: str = option(REQUIRED, "-ref", metavar="REF")
    unit: CompareUnit = option("corrections", hidden=True)
    beta: float = option(0.5, "-b", "--beta", metavar="X", least=0, most=1e100)
    verbose: bool = option(False, "-v", "--verbose")
    single: bool = option(False, "-single")
    multi: bool = option(False, "-multi")
    left_out: tuple[str, ...] = option((), "-filt", metavar="TYPE", several=True)
    categories: Literal[1, 2, 3] | None = option(None, "-cat")


def add_arguments(parser: CommandParser) -> None:
    """Declare the options of errant_compare."""
    parser.usage = "%(prog)s [options] -hyp HYP -ref REF"
    add_options(parser, CompareOptions)
    # errant_compare accepts one of these flags, each without a value.
    unit = parser.add_mutually_exclusive_group()
    for flag, value, words in (
        ("-dt", "tokens", "detection of tokens"),
        ("-ds", "spans", "detection of spans"),
        ("-cs", "corrections", "correction (the default)"),
        ("-cse", "typed", "correction with its error type"),
    ):
        unit.add_argument(flag, dest="unit", action="store_const", const=value, help=words)


def run(args: argparse.Namespace) -> int:
    """Compare two files and print what `errant_compare` prints."""
    if args.format != "table":
        raise OptionError(
            f"--format {args.format}: errant-compare has the output of errant_compare; for other "
            "formats use `gecjury score -m errant:compat=official`"
        )
    options = replace(settings_of(CompareOptions, args), unit=args.unit or "corrections")
    hypothesis, reference = (read_m2(path, overlaps="keep") for path in (args.hyp, args.ref))
    lines = list(compare_lines(hypothesis, reference, options))
    # It compares blocks by position; a shifted file must not go unnoticed.
    for number, (mine, gold) in enumerate(zip(hypothesis, reference, strict=True), 1):
        if mine.source.split() != gold.source.split():
            tell(
                f"gecjury: block {number} has different sources in {args.hyp} and {args.ref}: "
                "edits of different sentences are compared"
            )
            break
    print_data("".join(f"{line}\n" for line in lines))
    return 0


def compare_lines(
    hypothesis: Sequence[M2Sentence], reference: Sequence[M2Sentence], options: CompareOptions
) -> Iterator[str]:
    """Yield the lines that `errant_compare` prints, without their line ends.

    Args:
        reference: the same number of blocks of the gold file.
        options: the edits that count, and the lines to print.

    Raises:
        InputError: the files have different numbers of blocks.
    """
    from gecjury.refbased.errant import count_edits, count_types

    if len(hypothesis) != len(reference):
        raise InputError(
            f"the hypothesis file has {len(hypothesis)} blocks, the reference file "
            f"{len(reference)}: expected the same sentences in both"
        )
    total = (0, 0, 0)
    categories: _Categories = {}
    for number, (block, gold) in enumerate(zip(hypothesis, reference, strict=True)):
        lines = [_RULE, f"Original sentence {number}: {block.source}"]
        mine, wanted = _by_coder(block, options), _by_coder(gold, options)
        rank: tuple[float, int, int, int] | None = None
        # For each sentence the pair of annotators is chosen that gives the best F over all
        # sentences so far.
        for coder, other in itertools.product(mine, wanted):
            counts = count_edits(_counted(mine[coder]), _counted(wanted[other]))
            now = _sum(total, counts)
            tp, fp, fn = counts
            score = (_scores(now, options.beta)[2], tp, -fp, -fn)
            # The first of several equal pairs is kept, as in the original.
            if rank is None or score > rank:
                rank, best, chosen = score, now, (coder, other)
            if options.verbose:
                lines += [
                    _RULE,
                    f"SENTENCE {number} - HYP {coder} - REF {other}",
                    f"HYPOTHESIS EDITS : {_listed(mine[coder])}",
                    f"REFERENCE EDITS  : {_listed(wanted[other])}",
                    *_told("Local", counts, options.beta),
                    *_told("Global", now, options.beta),
                ]
        total = best
        types: _Categories = {}
        pair = _counted(mine[chosen[0]]), _counted(wanted[chosen[1]])
        for (kind, column), count in count_types(*pair).items():
            for table in (types, categories):
                table.setdefault(kind, [0, 0, 0])[column] += int(count)
        if options.verbose:
            yield from lines
            yield _RULE
            yield f"^^ HYP {chosen[0]}, REF {chosen[1]} chosen for sentence {number}"
            yield "Local results:"
            yield from _aligned(["Category", "TP", "FP", "FN"], types)
    yield from _results(total, categories, options)


def _by_coder(block: M2Sentence, options: CompareOptions) -> dict[int, _EditsByKey]:
    """Return the edits of every annotator that count, with the types behind each key.

    An annotator whose edits are all left out is kept, without edits; a block without edit lines has
    annotator 0, without edits.
    """
    coders: dict[int, _EditsByKey] = {}
    for edit in block.annotations or (_NOTHING,):
        keys = coders.setdefault(edit.annotator, {})
        if not _is_left_out(edit, options):
            for key in _keys(edit, options.unit):
                keys.setdefault(key, []).append(edit.type)
    return coders


def _is_left_out(edit: M2Annotation, options: CompareOptions) -> bool:
    if edit.type == "UNK" and options.unit in ("corrections", "typed"):
        return True  # an error without a correction can only be detected
    several = edit.end - edit.start >= 2 or len(edit.correction.split()) >= 2
    # These options name the edits to keep, so each leaves out the other kind.
    unfit = options.single if several else options.multi
    return unfit or edit.type in options.left_out


def _keys(edit: M2Annotation, unit: CompareUnit) -> list[_MatchKey]:
    start, end = edit.start, edit.end
    if unit == "tokens":
        if start == -1:
            return [(start, start)]
        # An insertion belongs to the token on its right.
        return [(token, token + 1) for token in range(start, max(end, start + 1))]
    if unit == "spans":
        return [(start, end)]
    if unit == "corrections":
        return [(start, end, edit.correction)]
    return [(start, end, edit.type, edit.correction)]


def _counted(edits: _EditsByKey) -> _EditsByKey:
    """Return the edits without those that mark a sentence as correct."""
    return {key: types for key, types in edits.items() if types[0] != NOOP}


def _sum(one: _TpFpFn, two: _TpFpFn) -> _TpFpFn:
    return one[0] + two[0], one[1] + two[1], one[2] + two[2]


def _scores(counts: Sequence[int], beta: float) -> tuple[float, float, float]:
    """Return precision, recall and F, each rounded to four digits.

    If β and recall are 0, F is 0, its limit for β to 0; `errant_compare` divides by zero.
    """
    tp, fp, fn = counts
    precision = tp / (tp + fp) if fp else 1.0
    recall = tp / (tp + fn) if fn else 1.0
    both = (beta**2 * precision) + recall
    score = (1 + beta**2) * precision * recall / both if both else 0.0
    return round(precision, 4), round(recall, 4), round(score, 4)


def _listed(edits: _EditsByKey) -> list[tuple[int | str, ...]]:
    """Return keys with their first type, as they are shown; none if the first is `noop`."""
    rows: list[tuple[int | str, ...]] = [(*key, edits[key][0]) for key in sorted(edits)]
    return [] if rows and rows[0][0] == -1 else rows


def _told(which: str, counts: _TpFpFn, beta: float) -> list[str]:
    return [
        f"{which} TP/FP/FN".ljust(17) + f": {counts[0]} {counts[1]} {counts[2]}",
        f"{which} P/R/F{beta}  : " + " ".join(map(str, _scores(counts, beta))),
    ]


def _aligned(heading: Sequence[str], categories: _Categories) -> list[str]:
    rows = [list(heading), *([kind, *map(str, row)] for kind, row in categories.items())]
    widths = [max(map(len, column)) + 3 for column in zip(*rows, strict=True)]
    return ["".join(cell.rjust(w) for cell, w in zip(row, widths, strict=True)) for row in rows]


def _grouped(categories: _Categories, level: int) -> _Categories:
    """Return counts of full types by operation (1) or main type (2); `UNK` stays separate."""
    grouped: _Categories = {}
    for kind, row in categories.items():
        name = kind if kind == "UNK" or level == 3 else kind[:1] if level == 1 else kind[2:]
        grouped[name] = [a + b for a, b in zip(grouped.get(name, (0, 0, 0)), row, strict=True)]
    return grouped


def _results(total: _TpFpFn, categories: _Categories, options: CompareOptions) -> Iterator[str]:
    title, beta = _TITLES[options.unit], options.beta
    if options.categories:
        yield ""
        yield f"{title:=^66}"
        heading = ("Category".ljust(14), *(name.ljust(8) for name in ("TP", "FP", "FN", "P", "R")))
        yield " ".join((*heading, f"F{beta}"))
        for kind, row in sorted(_grouped(categories, options.categories).items()):
            *both, score = _scores(row, beta)
            cells = [str(cell).ljust(8) for cell in (*row, *both)]
            yield " ".join((kind.ljust(14), *cells, str(score)))
    yield ""
    yield f"{title:=^46}"
    yield "\t".join(("TP", "FP", "FN", "Prec", "Rec", f"F{beta}"))
    yield "\t".join(map(str, (*total, *_scores(total, beta))))
    yield "=" * 46
    yield ""
