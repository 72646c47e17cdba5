"""Time the I-measure on real outputs, and check its alignments against the full table.

    python -m speed imeasure --data DIR

15 systems × 391 sentences × 2 references (SEEDA) and 12 × 1,312 × 2 (GJG15). Every alignment of
three different sentences of the SEEDA set is compared with that of the full table (one minute).
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np

from gecjury.corpus.edits import Edit, apply_edits
from gecjury.refbased.imeasure import alignment as threeway
from gecjury.refbased.imeasure import metric as imeasure
from speed.harness import Claim, Options, checked, peak_memory

Lines = list[list[str]]


def read_lines(path: Path) -> Lines:
    text = path.read_text(encoding="utf-8").rstrip("\n")
    return [line.split() for line in text.replace("\r\n", "\n").split("\n")]


def read_references(path: Path) -> tuple[Lines, list[Lines]]:
    """Return sources and both annotators' corrections; one without a line agrees with the other."""
    sources: Lines = []
    references: list[Lines] = [[], []]
    for block in path.read_text(encoding="utf-8").strip().split("\n\n"):
        first, *rest = block.split("\n")
        source = first[2:].split()
        edits: dict[int, list[Edit]] = {}
        for line in rest:
            span, kind, correction, _, _, annotator = line[2:].split("|||")
            start, end = (int(n) for n in span.split())
            mine = edits.setdefault(int(annotator), [])
            if kind != "noop":
                mine.append(Edit(start, end, correction.split("||")[0], kind))
        agreed = edits.get(0, edits.get(1, []))
        sources.append(source)
        for n in (0, 1):
            references[n].append(apply_edits(source, edits.get(n, agreed)))
    return sources, references


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
    sources, references = read_references(data / "conll14" / "official-2014.combined.m2")
    folder = data / "SEEDA" / "outputs" / "subset"
    judged = read_lines(folder / "INPUT.txt")
    kept = {tuple(line) for line in judged}
    rows = [n for n, source in enumerate(sources) if tuple(source) in kept]
    few = [[reference[n] for n in rows] for reference in references]
    systems = [read_lines(path) for path in sorted(folder.glob("*.txt"))]
    submissions = data / "GJG15" / "data" / "original" / "official_submissions"
    twelve = [read_lines(path) for path in sorted(submissions.iterdir()) if path.name != "INPUT"]
    if options.quick:
        judged, few = judged[:8], [reference[:8] for reference in few]
        systems, twelve = [lines[:8] for lines in systems], [lines[:8] for lines in twelve[:3]]
        sources, references = sources[:8], [reference[:8] for reference in references]
    return [
        scored("SEEDA's subset", judged, systems, few),
        scored("GJG15", sources, twelve, references),
        aligned(judged, systems, few),
    ]
