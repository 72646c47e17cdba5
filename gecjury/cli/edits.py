"""`gecjury edits`: the edits between a source and corrections of it, as M2."""

from __future__ import annotations

import argparse

from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import print_data


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "edits")
    parser.add_argument("source", metavar="SOURCE", help="sentences to correct")
    parser.add_argument(
        "corrections",
        metavar="HYP",
        nargs="+",
        help="corrected versions; each becomes an annotator, numbered from 0",
    )
    parser.add_argument("-o", "--output", metavar="FILE.m2", help="write M2 here, not to stdout")
    parser.add_argument("--pos", choices=("spacy2", "spacy3"), default="spacy2")


def run(args: argparse.Namespace) -> int:
    """Extract and write edits; with any other format than table, count them by type instead."""
    from collections import Counter

    from gecjury.cli.inputs import language_from, runtime_from
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.m2 import M2Sentence, format_m2, m2_annotations
    from gecjury.corpus.reading import read_sources, read_versions, system_name
    from gecjury.corpus.tokens import in_language
    from gecjury.errors import InputError
    from gecjury.extraction.extract import corpus_edits
    from gecjury.extraction.taggers import extraction_signature
    from gecjury.report.tables import print_table
    from gecjury.textfiles import write_text

    language = language_from(args)
    # An unknown tagger is refused before any file is read.
    extraction_signature(language.tagger, args.pos)
    sources = read_sources(args.source)
    systems = {}
    for number, path in enumerate(args.corrections):
        versions = read_versions(path)
        if len(versions) != 1:
            raise InputError(
                f"{path}: holds {len(versions)} annotators; give one correction a file"
            )
        systems[f"{number} {system_name(path)}"] = versions[0]
    labels = {"source": args.source}
    for name, path in zip(systems, args.corrections, strict=True):
        labels[f"system {name}"] = str(path)
    corpus = in_language(Corpus(sources, systems, _labels=labels), language)
    edits = corpus_edits(corpus, language.tagger, args.pos, runtime_from(args))
    blocks = []
    for row, source in enumerate(corpus.sources):
        sets = enumerate(lines[row] for lines in edits.systems.values())
        lines_of_row = [line for number, made in sets for line in m2_annotations(made, number)]
        blocks.append(M2Sentence(" ".join(source.split()), tuple(lines_of_row)))
    text = format_m2(blocks)
    if args.output:
        write_text(args.output, text)
    if args.format == "table" and not args.output:
        print_data(text)
        return 0
    rows = []
    for name, lines in edits.systems.items():
        types = Counter(edit.type for line in lines for edit in line)
        rows += [
            {"system": name.partition(" ")[2], "type": kind, "edits": count}
            for kind, count in types.most_common()
        ]
    print_table(["system", "type", "edits"], rows, args.format)
    return 0
