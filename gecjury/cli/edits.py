"""`gecjury edits`: the edits between a source and its corrections, as M2."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gecjury.cli.options import arguments_of, runtime_from
from gecjury.cli.parsers import declares
from gecjury.cli.streams import tell, write_data
from gecjury.core.settings import REQUIRED, option
from gecjury.core.wording import as_note

if TYPE_CHECKING:
    from gecjury.corpus.m2 import M2Sentence
    from gecjury.extraction.extract import CorpusEdits


@dataclass(frozen=True, kw_only=True)
class Corrections:
    """Outputs whose edits are extracted.

    Attributes:
        source: sentences to correct.
        corrections: corrected versions; each becomes an annotator, numbered from 0.
        source_text: the text that grammar checkers read, if it is not the source: the same lines
            with other blanks.
        tagger: embedded (English, its default), cherrant (Chinese, its default), none (the default
            of other languages), or spacy:NAME.
        output: write M2 here instead of stdout.
    """

    source: str = option(REQUIRED, "SOURCE")
    corrections: tuple[str, ...] = option(REQUIRED, "HYP")
    source_text: str | None = option(None, metavar="FILE")
    tagger: str | None = option(None, metavar="NAME")
    output: str | None = option(None, "-o", "--output", metavar="FILE.m2")


add_arguments = declares(Corrections, needs=("texts", "edits"))


def run(args: argparse.Namespace) -> int:
    """Extract and write edits; with a format other than table, print counts by type instead."""
    from collections import Counter

    from gecjury.corpus.files.reading import read_corpus, system_name
    from gecjury.corpus.m2 import format_m2
    from gecjury.corpus.remarks import remarks_on
    from gecjury.extraction.extract import corpus_edits
    from gecjury.extraction.taggers import extraction_signature
    from gecjury.report.tables import print_table
    from gecjury.studies.inputs import Shared, language_from

    language = language_from(arguments_of(Shared, args), args.tagger)
    # An unknown tagger is refused before any file is read.
    if args.tagger:
        extraction_signature(args.tagger)
    # Two files may have the same name, since annotators are distinguished by number.
    files = args.corrections
    systems = {f"{n} {system_name(path)}": path for n, path in enumerate(files)}
    corpus = read_corpus(args.source, systems, lang=language, source_text=args.source_text)
    for remark in () if args.quiet else remarks_on(corpus, ()):
        tell(args.parser.as_typed(as_note(remark)))
    edits = corpus_edits(corpus, corpus.language.tagger, runtime_from(args))
    # The counts by type are printed in addition to a file of M2, or instead of it.
    if args.output or args.format == "table":
        write_data(format_m2(_blocks(corpus.sources, edits, files)), args.output)
    if args.format == "table" and not args.output:
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


def _blocks(sources: Sequence[str], edits: CorpusEdits, files: Sequence[str]) -> list[M2Sentence]:
    """Return the edits as M2, with an annotator for each file."""
    from gecjury.corpus.m2 import M2Sentence, m2_annotations

    blocks = []
    for row, source in enumerate(sources):
        sets = enumerate(lines[row] for lines in edits.systems.values())
        lines_of_row = [
            line
            for number, made in sets
            for line in m2_annotations(made, number, f"{files[number]}, line {row + 1}")
        ]
        blocks.append(M2Sentence(" ".join(source.split()), tuple(lines_of_row)))
    return blocks
