"""`gecjury explain`: why a hypothesis scored what it did, edit by edit."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Version
    from gecjury.corpus.edits import Edit
    from gecjury.metaeval.edits.attribution import Attribution
    from gecjury.report.tables import Table
    from gecjury.scoring.by_edit import Explanation

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument("source", metavar="SOURCE", help="a sentence, or a file with --line")
    parser.add_argument("hypothesis", metavar="HYP", help="its correction: a sentence or a file")
    parser.add_argument(
        "references", metavar="REF", nargs="*", default=[], help="references: sentences or files"
    )
    parser.add_argument("-m", "--metric", default="uot-errant", help="default: uot-errant")
    parser.add_argument(
        "--line", type=int, default=1, metavar="N", help="which line of files, from 1 (default: 1)"
    )
    parser.add_argument(
        "--attribution",
        choices=("remove", "add", "shapley"),
        help="share the score out among the edits; works with any metric that scores sentences",
    )
    parser.add_argument(
        "--samples", type=int, default=200, metavar="K", help="orders drawn beyond 10 edits"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the orders drawn")
    parser.add_argument("--html", metavar="FILE", help="write the plan as a page (uot-errant)")
    parser.add_argument("--png", metavar="FILE", help="draw the plan (uot-errant)")


def run(args: argparse.Namespace) -> int:
    """Explain, print, draw."""
    from gecjury.cli.inputs import refuse_fixed, runtime_from
    from gecjury.errors import InputError, OptionError
    from gecjury.report.figures import check_figure
    from gecjury.report.heat_map import EXPLAINERS, explainer
    from gecjury.report.tables import print_result
    from gecjury.scoring.registry import load

    scorer = load(args.metric)
    refuse_fixed([scorer], "explain")
    alignment = args.attribution is None or scorer.name in EXPLAINERS
    if alignment:
        explainer(scorer)
    elif args.html or args.png:
        raise OptionError(f"{args.metric} has no plan to draw; --html and --png need uot-errant")
    if args.png:
        check_figure(args.png)
    source, hypothesis, references = _texts(args)
    if alignment and not references:
        raise InputError(f"{scorer.name} compares with references: give at least one REF")
    runtime = runtime_from(args)
    edits, *others = _edits(scorer, source, [hypothesis, *references], runtime)
    document: dict[str, Any] = {
        "metric": str(args.metric),
        "source": source,
        "hypothesis": hypothesis.lines[0],
        "references": [version.lines[0] for version in references],
    }
    tables: list[Table] = []
    missing = False
    if alignment:
        found = [explainer(scorer)(scorer, source, edits, other, runtime) for other in others]
        document["explanations"] = [_explanation(one) for one in found]
        best = max(range(len(found)), key=lambda i: _order(found[i].scores["score"]))
        document["chosen"] = best
        for number, one in enumerate(found):
            tables += _tables(one, f"reference {number + 1}", number == best and len(found) > 1)
        missing = any(one.scores["score"] != one.scores["score"] for one in found)
        _draw(args, found[best], document)
    if args.attribution:
        tables.append(_attribution(args, scorer, source, edits, references, runtime, document))
    print_result(tables, document, args.format)
    return 1 if missing else 0


def _texts(args: argparse.Namespace) -> tuple[str, Version, list[Version]]:
    """The source, its correction and the references, each a sentence or a line of a file."""
    from gecjury.corpus.reading import read_sources
    from gecjury.errors import InputError

    given = [args.source, args.hypothesis, *args.references]
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
    references = [version for text in args.references for version in _lines(text, args.line)]
    source = args.source
    if _is_file(source):
        source = _take(source, read_sources(source), args.line)
    return source, hypotheses[0], references


def _lines(text: str, line: int) -> list[Version]:
    """A sentence given as such, or one line of a file; of M2 one version an annotator."""
    from gecjury.corpus.corpus import Version
    from gecjury.corpus.reading import read_versions

    if not _is_file(text):
        return [Version((text,))]
    versions = read_versions(text)
    _take(text, versions[0].lines, line)
    return [version.take([line - 1]) for version in versions]


def _take(path: str, lines: tuple[str, ...], line: int) -> str:
    from gecjury.errors import InputError

    if not 1 <= line <= len(lines):
        raise InputError(f"{path} has {len(lines)} lines; --line {line} is not among them")
    return lines[line - 1]


def _is_file(text: str) -> bool:
    from pathlib import Path

    try:
        return Path(text).is_file()
    except OSError:  # a sentence longer than any file name
        return False


def _edits(
    scorer: Any, source: str, versions: list[Version], runtime: Any
) -> list[tuple[Edit, ...]]:
    """Each version's edits: its own, or extracted as the metric would."""
    from gecjury.corpus.corpus import Corpus
    from gecjury.extraction.extract import corpus_edits

    corpus = Corpus((source,), {"hypothesis": versions[0]}, tuple(versions[1:]))
    tagger = getattr(scorer, "tagger", "embedded")
    pos = getattr(scorer, "pos", "spacy2")
    found = corpus_edits(corpus, tagger, pos, runtime)
    return [found.systems["hypothesis"][0], *(lines[0] for lines in found.references)]


def _order(score: float) -> float:
    return score if score == score else float("-inf")


def _explanation(found: Explanation) -> dict[str, Any]:
    document: dict[str, Any] = {"scores": dict(found.scores), "rows": list(found.rows)}
    if found.heat_map is not None:
        document["plan"] = {
            "rows": list(found.heat_map.rows),
            "columns": list(found.heat_map.columns),
            "values": found.heat_map.values,
        }
    return document


def _tables(found: Explanation, name: str, chosen: bool) -> list[Table]:
    from gecjury.report.tables import Column, Table

    scores = ", ".join(f"{key} {value:.4f}" for key, value in found.scores.items())
    title = f"{name}{' (the best, which counts)' if chosen else ''}: {scores}"
    tables = [Table([Column(key) for key in found.columns], found.rows, title, found.notes)]
    if found.heat_map is not None and found.heat_map.values.size:
        content = found.heat_map
        rows = [
            {"hypothesis ↓ reference →": label, **dict(zip(content.columns, line, strict=True))}
            for label, line in zip(content.rows, content.values.tolist(), strict=True)
        ]
        columns = ["hypothesis ↓ reference →", *content.columns]
        tables.append(Table([Column(key) for key in columns], rows, content.title))
    return tables


def _draw(args: argparse.Namespace, found: Explanation, document: dict[str, Any]) -> None:
    from gecjury.errors import OptionError
    from gecjury.report.figures import heat_map
    from gecjury.report.heat_map import heat_map_html
    from gecjury.textfiles import write_text

    if not args.html and not args.png:
        return
    if found.heat_map is None:
        raise OptionError(f"{args.metric} has no plan to draw; --html and --png need uot-errant")
    lines = [("Source", document["source"]), ("Hypothesis", document["hypothesis"])]
    lines.append(("Reference", document["references"][document["chosen"]]))
    lines += [(key, f"{value:.4f}") for key, value in found.scores.items()]
    if args.html:
        write_text(args.html, heat_map_html(found.heat_map, f"{args.metric}: alignment", lines))
    if args.png:
        heat_map(found.heat_map, args.png)


def _attribution(
    args: argparse.Namespace,
    scorer: Any,
    source: str,
    edits: tuple[Edit, ...],
    references: list[Version],
    runtime: Any,
    document: dict[str, Any],
) -> Table:
    from gecjury.metaeval.edits.attribution import attribute
    from gecjury.report.tables import Column, Table
    from gecjury.scoring.by_edit import edit_label

    found: Attribution = attribute(
        scorer,
        source,
        edits,
        references,
        method=args.attribution,
        samples=args.samples,
        seed=args.seed,
        runtime=runtime,
    )
    rows = [
        {"edit": edit_label(edit), "type": edit.type, "value": value, "error": error}
        for edit, value, error in zip(
            found.edits, found.values.tolist(), found.errors.tolist(), strict=True
        )
    ]
    document["attribution"] = {
        "method": found.method,
        "exact": found.exact,
        "edits": rows,
        "source_score": found.empty,
        "hypothesis_score": found.full,
        "difference": found.difference,
        "gap": found.gap,
        "faithful": found.faithful,
        "scored": found.scored,
    }
    how = "" if found.exact else f", sampled with seed {args.seed}: errors are standard errors"
    notes = [
        f"score of the source {found.empty:.4f}, of the hypothesis {found.full:.4f}; "
        f"attributions sum to {float(found.values.sum()):.4f} of {found.difference:.4f} "
        f"({'faithful' if found.faithful else f'gap {found.gap:.4f}'})",
        f"{found.scored} sets of edits scored{how}",
    ]
    columns = [Column("edit"), Column("type"), Column("value", digits=4), Column("error", digits=4)]
    return Table(columns, rows, f"Attribution by {found.method}", notes)
