"""`gecjury explain`: why a hypothesis scored what it did, edit by edit."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from gecjury.cli.inputs import add_reference, language_from, runtime_from
from gecjury.cli.numbers import MOST_DRAWS, up_to
from gecjury.cli.parsers import CommandParser
from gecjury.cli.score import worst_table
from gecjury.corpus.corpus import Version
from gecjury.corpus.reading import read_corpus, read_sources, read_versions
from gecjury.errors import InputError, OptionError
from gecjury.experiments.explain import Explained, check_explainable, explain
from gecjury.experiments.score import costly_sentences, score
from gecjury.metaeval.edits.attribution import Method
from gecjury.report.figures import check_figure, heat_map
from gecjury.report.heat_map import heat_map_html
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables
from gecjury.scoring.by_edit import Explanation
from gecjury.scoring.registry import load
from gecjury.textfiles import write_text


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges")
    parser.add_argument("source", metavar="SOURCE", help="a sentence, or a file with --line")
    parser.add_argument("hypothesis", metavar="HYP", help="its correction: a sentence or a file")
    parser.add_argument(
        "references", metavar="REF", nargs="*", default=[], help="as -r, without a flag"
    )
    add_reference(parser, "a reference: a sentence or a file; repeat for more", "named_references")
    parser.add_argument("-m", "--metric", default="uot-errant", help="default: uot-errant")
    parser.add_argument(
        "--line", type=int, default=1, metavar="N", help="which line of files, from 1 (default: 1)"
    )
    parser.add_argument(
        "--worst", type=up_to(1_000), metavar="N", help="the N lines of files that cost most"
    )
    parser.add_argument(
        "--attribution",
        choices=get_args(Method),
        help="share the score out among the edits; works with any metric that scores sentences",
    )
    parser.add_argument(
        "--samples",
        type=up_to(MOST_DRAWS, least=0),
        default=200,
        metavar="K",
        help="orders drawn beyond 10 edits",
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the orders drawn")
    parser.add_argument("--html", metavar="FILE", help="write the plan as a page (uot-errant)")
    parser.add_argument("--png", metavar="FILE", help="draw the plan (uot-errant)")


def run(args: argparse.Namespace) -> int:
    """Explain, print, draw."""
    scorer = load(args.metric)
    if not check_explainable(scorer, args.attribution) and (args.html or args.png):
        raise _no_plan(args.metric)
    if args.png:
        check_figure(args.png)
    if args.worst:
        return _explain_worst(args)
    found = _explained(args)
    if args.html or args.png:
        _draw(found, args.html, args.png, language_from(args).code)
    print_tables(tables(found), document(found), args.format)
    return 1 if found.missing else 0


def _explained(args: argparse.Namespace) -> Explained:
    source, hypothesis, references = _texts(args)
    return explain(
        source,
        hypothesis,
        references,
        metric=args.metric,
        attribution=args.attribution,
        samples=args.samples,
        seed=args.seed,
        runtime=runtime_from(args),
        language=language_from(args),
    )


def _explain_worst(args: argparse.Namespace) -> int:
    """Explain the lines of files that cost most, behind a table of them."""
    if args.html or args.png:
        raise OptionError("--worst explains several lines; --html and --png draw one: give --line")
    for text in (args.source, args.hypothesis, *args.references):
        if not _is_file(text):
            raise InputError(f"{text:.60}: no such file; --worst is for files")
    language = language_from(args)
    corpus = read_corpus(args.source, [args.hypothesis], args.references, language=language)
    scorer = load(args.metric)
    scored = score(corpus, metrics=[scorer], runtime=runtime_from(args))
    worst = costly_sentences(scored, [scorer], corpus, args.worst)
    shown, documents, missing = [worst_table(worst)], [], False
    for each in worst:
        found = _explained(argparse.Namespace(**{**vars(args), "line": each.line}))
        missing = missing or found.missing
        shown += [replace(t, title=f"line {each.line}, {t.title}") for t in tables(found)]
        documents.append({**vars(each), **document(found)})
    print_tables(shown, {"worst": documents, "notes": list(scored.notes)}, args.format)
    return 1 if missing or scored.unanswered else 0


def _texts(args: argparse.Namespace) -> tuple[str, Version, list[Version]]:
    """The source, its correction and the references, each a sentence or a line of a file."""
    reference_texts = [*args.references, *args.named_references]
    given = [args.source, args.hypothesis, *reference_texts]
    for text in given:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(
                f"{text!r:.60}: is not UTF-8, as a sentence has to be; set the terminal to UTF-8, "
                "or give files and --line"
            ) from None
    files = [text for text in given if _is_file(text)]
    for text in given:
        if files and text not in files and not any(character.isspace() for character in text):
            raise InputError(
                f"{text}: no such file; check the path ({files[0]} is one, so that a word without "
                "blanks is no sentence)"
            )
    hypotheses = _lines(args.hypothesis, args.line)
    if len(hypotheses) != 1:
        raise InputError(
            f"{args.hypothesis}: an M2 file of {len(hypotheses)} annotators; "
            "a hypothesis file holds the edits of one"
        )
    references = [version for text in reference_texts for version in _lines(text, args.line)]
    source = args.source
    if _is_file(source):
        source = _take(source, read_sources(source), args.line)
    return source, hypotheses[0], references


def _lines(text: str, line: int) -> list[Version]:
    """A sentence given as such, or one line of a file; of M2 one version an annotator."""
    if not _is_file(text):
        return [Version((text,))]
    versions = read_versions(text)
    _take(text, versions[0].lines, line)
    return [version.take([line - 1]) for version in versions]


def _take(path: str, lines: tuple[str, ...], line: int) -> str:
    if not 1 <= line <= len(lines):
        raise InputError(f"{path} has {len(lines)} lines; --line {line} is not among them")
    return lines[line - 1]


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except OSError:  # a sentence longer than any file name
        return False


def document(found: Explained) -> dict[str, Any]:
    """What JSON shows."""
    result: dict[str, Any] = {
        "metric": found.metric,
        "source": found.source,
        "hypothesis": found.hypothesis,
        "references": list(found.references),
    }
    if found.chosen is not None:
        result["explanations"] = [_explanation(one) for one in found.explanations]
        result["chosen"] = found.chosen
    if found.attribution is not None:
        shares = found.attribution
        result["attribution"] = {
            "method": shares.method,
            "exact": shares.exact,
            "edits": found.attribution_rows(),
            "source_score": shares.empty,
            "hypothesis_score": shares.full,
            "difference": shares.difference,
            "gap": shares.gap,
            "faithful": shares.faithful,
            "scored": shares.scored,
        }
    return result


def _explanation(one: Explanation) -> dict[str, Any]:
    result: dict[str, Any] = {"scores": dict(one.scores), "rows": list(one.rows)}
    if one.heat_map is not None:
        result["plan"] = {
            "rows": list(one.heat_map.rows),
            "columns": list(one.heat_map.columns),
            "values": one.heat_map.values,
        }
    return result


def tables(found: Explained) -> list[Table]:
    """What people see: by reference how edits were matched, and what each edit is worth."""
    several = len(found.explanations) > 1
    shown = []
    for number, one in enumerate(found.explanations):
        shown += _tables(one, f"reference {number + 1}", several and number == found.chosen)
    return [*shown, *_attribution(found)]


def _tables(one: Explanation, name: str, chosen: bool) -> list[Table]:
    scores = ", ".join(f"{key} {value:.4f}" for key, value in one.scores.items())
    title = f"{name}{' (the best, which counts)' if chosen else ''}: {scores}"
    shown = [Table([Column(key) for key in one.columns], one.rows, title, one.notes)]
    if one.heat_map is not None and one.heat_map.values.size:
        content = one.heat_map
        rows = [
            {"hypothesis ↓ reference →": label, **dict(zip(content.columns, line, strict=True))}
            for label, line in zip(content.rows, content.values.tolist(), strict=True)
        ]
        columns = ["hypothesis ↓ reference →", *content.columns]
        shown.append(Table([Column(key) for key in columns], rows, content.title))
    return shown


def _attribution(found: Explained) -> list[Table]:
    shares = found.attribution
    if shares is None:
        return []
    how = "" if shares.exact else f", sampled with seed {found.seed}: errors are standard errors"
    notes = [
        f"score of the source {shares.empty:.4f}, of the hypothesis {shares.full:.4f}; "
        f"attributions sum to {float(shares.values.sum()):.4f} of {shares.difference:.4f} "
        f"({'faithful' if shares.faithful else f'gap {shares.gap:.4f}'})",
        f"{shares.scored} sets of edits scored{how}",
    ]
    columns = [Column("edit"), Column("type"), Column("value", digits=4), Column("error", digits=4)]
    return [Table(columns, found.attribution_rows(), f"Attribution by {shares.method}", notes)]


def _draw(found: Explained, html: str | None, png: str | None, language: str) -> None:
    """Draw the plan of the reference that counts."""
    best = None if found.chosen is None else found.explanations[found.chosen]
    if found.chosen is None or best is None or best.heat_map is None:
        raise _no_plan(found.metric)
    lines = [("Source", found.source), ("Hypothesis", found.hypothesis)]
    lines.append(("Reference", found.references[found.chosen]))
    lines += [(key, f"{value:.4f}") for key, value in best.scores.items()]
    if html:
        title = f"{found.metric}: alignment"
        write_text(html, heat_map_html(best.heat_map, title, lines, language))
    if png:
        heat_map(best.heat_map, png)


def _no_plan(metric: str) -> OptionError:
    return OptionError(f"{metric} has no plan to draw; --html and --png need uot-errant")
