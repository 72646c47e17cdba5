"""Time the I-measure on real outputs, and check its alignments against the full table.

    python -m speed imeasure --data DIR

15 systems × 391 sentences × 2 references (SEEDA) and 12 × 1,312 × 2 (GJG15). Every alignment of
three different sentences of the SEEDA set is compared with that of the full table (one minute).
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import numpy as np

from gecjury.corpus.m2 import read_m2
from gecjury.refbased.imeasure import alignment as threeway
from gecjury.refbased.imeasure import metric as imeasure
from speed.extraction import gjg15
from speed.harness import Claim, Options, checked, peak_memory
from speed.seeda import read_seeda

Lines = list[list[str]]


def scored(name: str, sources: Lines, systems: list[Lines], references: list[Lines]) -> Claim:
    """Time one set."""
    start = time.perf_counter()
    rows = [
        imeasure.sentence_counts(source, [s[n] for s in systems], [r[n] for r in references])
        for n, source in enumerate(sources)
    ]
    counts = np.stack(rows, axis=1)
    best = imeasure.choose_references(counts)
    seconds = time.perf_counter() - start
    chosen = np.take_along_axis(counts, best[..., None, None], axis=2)[:, :, 0]
    scores = imeasure.improvement(chosen.sum(axis=1))
    return checked(
        f"I-measure of {name}, {len(systems)} × {len(sources)} × {len(references)}",
        f"{seconds:.2f} s",
        ours=seconds,
        peak=peak_memory(),
        lines=(f"I from {scores.min():.3f} to {scores.max():.3f}",),
    )


def aligned(sources: Lines, systems: list[Lines], references: list[Lines]) -> Claim:
    """Compare every alignment of three different sentences with that of the full table."""
    triples = {
        tuple(threeway._encode([source, system[n], reference[n]]))
        for n, source in enumerate(sources)
        for system in systems
        for reference in references
        if len({tuple(source), tuple(system[n]), tuple(reference[n])}) == 3
    }
    wrong = 0
    for s, h, r in triples:
        tables = threeway._tables_for([(s, h, r)])
        full = threeway._full_path(s, h, r, np.asarray(tables[h, r]))
        wrong += threeway._path(s, h, r, tables) != full
    return checked(
        f"I-measure, alignments that differ of {len(triples)}",
        str(wrong),
        "0",
        wrong == 0,
        agreement=True,
    )


def measure(options: Options) -> list[Claim]:
    """Time two sets, and check the alignments of the first."""
    data = options.need_data()
    texts = read_seeda(options, "subset")
    sources, submissions = gjg15(data)
    blocks = {b.source: b for b in read_m2(data / "conll14" / "official-2014.combined.m2")}
    lines, twelve = (8, 3) if options.quick else (None, None)

    def tokens(sources: Sequence[str], systems: Sequence[Sequence[str]]) -> list[list[Lines]]:
        few = sources[:lines]
        # An annotator without a line agrees with the other.
        references = [
            [blocks[s].text(n if n in blocks[s].annotators else 0) for s in few] for n in (0, 1)
        ]
        return [
            [[line.split() for line in version[:lines]] for version in versions]
            for versions in ([few], systems, references)
        ]

    [judged], outputs, references = tokens(texts.sources, list(texts.systems.values()))
    [everything], others, both = tokens(sources, submissions[:twelve])
    return [
        scored("SEEDA's subset", judged, outputs, references),
        scored("GJG15", everything, others, both),
        aligned(judged, outputs, references),
    ]
