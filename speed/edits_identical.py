"""Compare our edits with the errant package's on every pair of SEEDA and GJG15.

    python -m speed edits-identical --data DIR

Both sides use the same parses. Every source of CoNLL-2014 is paired with 15 SEEDA systems, 12 GJG15
systems and the 2 official references: 38,048 pairs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from gecjury.extraction.parsing import Parser
from gecjury.extraction.pipeline import errant_extractor
from gecjury.extraction.tagger import load_tagger
from speed.extraction import gjg15
from speed.harness import Claim, Options, checked, faster, needs
from speed.seeda import read_seeda


def measure(options: Options) -> list[Claim]:
    """Extract every pair on both sides; no edit may differ."""
    needs("errant", "spacy")
    import errant
    from spacy.tokens import Doc

    nlp = load_tagger("embedded")
    annotator = errant.load("en", nlp)
    parser = Parser(nlp)
    extractor = replace(errant_extractor(nlp), parse=parser.parse)
    counts = dict.fromkeys(("pairs", "changed", "distinct", "edits", "different"), 0)
    seconds = {"errant": 0.0, "ours": 0.0}
    for source, *versions in islice(columns(options), 8 if options.quick else None):
        counts["pairs"] += len(versions)
        changed = [version for version in versions if version != source]
        counts["changed"] += len(changed)
        sentences = [source, *dict.fromkeys(changed)]
        # Both sides use the same parses, so that only the extraction of edits is compared.
        docs = list(nlp.pipe(Doc(nlp.vocab, words=sentence.split()) for sentence in sentences))
        parsed = [parser.reduce(doc) for doc in docs]
        for doc, parse in zip(docs[1:], parsed[1:], strict=True):
            counts["distinct"] += 1
            begin = time.perf_counter()
            theirs = [
                (e.o_start, e.o_end, " ".join(token.text for token in e.c_toks), e.type)
                for e in annotator.annotate(docs[0], doc)
            ]
            middle = time.perf_counter()
            edits = extractor.pair(parsed[0], parse).edits
            seconds["errant"] += middle - begin
            seconds["ours"] += time.perf_counter() - middle
            counts["edits"] += len(theirs)
            if theirs != [(e.start, e.end, e.correction, e.type) for e in edits]:
                counts["different"] += 1
                print(source, doc.text, theirs, edits, sep="\n", end="\n\n")
    lines = [", ".join(f"{name} {count:,}" for name, count in counts.items())]
    wrong = counts["different"]
    return [
        checked(
            f"edits that differ, of {counts['pairs']:,} pairs",
            str(wrong),
            "0",
            wrong == 0,
            agreement=True,
        ),
        faster("align, merge and type", seconds["ours"], seconds["errant"], lines=lines),
    ]


def columns(options: Options) -> Iterator[list[str]]:
    """Yield every source and all its corrected versions, tokens joined by single spaces."""
    sources, submissions = gjg15(options.need_data())
    texts = read_seeda(options, "all")
    for row in zip(sources, *texts.systems.values(), *submissions, *texts.references, strict=True):
        yield [" ".join(line.split()) for line in row]
