"""Time our edit extraction against plain use of the errant package, with the same tagger.

    python -m speed extraction --data DIR

- `gjg15`: 12 systems × 1,312 sentences, as `errant_parallel` does it: each source parsed once, each
  changed hypothesis parsed and annotated when it is reached.
- `seeda`: 15 systems and 2 references × 391 sentences, as gec-metrics does it: every sentence
  parsed and every pair annotated when it is first met.

The time includes loading the tagger on both sides. Other work on the machine changes the seconds by
the clock, but not those of the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_lines
from gecjury.corpus.edits import Edit
from gecjury.corpus.m2 import read_m2
from gecjury.extraction.extract import extract
from gecjury.extraction.tagger import load_tagger
from speed.harness import Claim, Options, checked, faster, needs, peak_memory, timed
from speed.seeda import read_seeda

Edits = list[list[tuple[Edit, ...]]]


def measure(options: Options) -> list[Claim]:
    """Measure both sets with one and two workers."""
    needs("errant", "spacy")
    data = options.need_data()
    # Imports count on neither side.
    load_tagger()
    import errant  # noqa: F401

    few = 8 if options.quick else None
    texts = read_seeda(options, "subset")
    judged = texts.sources, [*texts.systems.values(), *texts.references]
    claims = []
    for name, (sources, versions), plain in (
        ("gjg15", gjg15(data), as_parallel),
        ("seeda", judged, as_gec_metrics),
    ):
        claims += compare(name, sources[:few], [version[:few] for version in versions], plain)
    return claims


def compare(
    name: str,
    sources: list[str],
    versions: list[list[str]],
    plain: Callable[[Sequence[str], Sequence[Sequence[str]]], Edits],
) -> list[Claim]:
    """Time both sides on one set; no pair may differ."""
    theirs, clock, processor = timed(lambda: plain(sources, versions))
    size = f"{name}, {len(versions)} × {len(sources)}"
    claims = []
    for count in (1, 2):
        runtime = Runtime(use_cache=False, workers=count)
        ours, seconds, used = timed(
            lambda runtime=runtime: extract(sources, versions, runtime=runtime).edits
        )
        wrong = sum(
            a != b
            for one, other in zip(theirs, ours, strict=True)
            for a, b in zip(one, other, strict=True)
        )
        what = f"edits of {size}, {count} worker(s)"
        lines = [f"processor {processor:.1f} and {used:.1f} s, {processor / used:.1f}× less work"]
        claims.append(faster(what, seconds, clock, peak=peak_memory(), lines=lines))
        claims.append(
            checked(f"{what}: pairs that differ", str(wrong), "0", wrong == 0, agreement=True)
        )
    return claims


def as_parallel(sources: Sequence[str], versions: Sequence[Sequence[str]]) -> Edits:
    import errant

    annotator = errant.load("en", load_tagger())
    result: Edits = [[] for _ in versions]
    for i, source in enumerate(sources):
        parsed = annotator.parse(source)
        for edits, lines in zip(result, versions, strict=True):
            line = lines[i].strip()
            if parsed.text.strip() == line:
                edits.append(())
            else:
                edits.append(converted(annotator.annotate(parsed, annotator.parse(line))))
    return result


def as_gec_metrics(sources: Sequence[str], versions: Sequence[Sequence[str]]) -> Edits:
    import errant

    annotator = errant.load("en", load_tagger())
    parses: dict[str, Any] = {}
    found: dict[tuple[str, str], tuple[Edit, ...]] = {}
    result: Edits = []
    for lines in versions:
        result.append([])
        for pair in zip(sources, lines, strict=True):
            if pair not in found:
                for sentence in pair:
                    if sentence not in parses:
                        parses[sentence] = annotator.parse(sentence)
                found[pair] = converted(annotator.annotate(*(parses[s] for s in pair)))
            result[-1].append(found[pair])
    return result


def converted(edits: Sequence[Any]) -> tuple[Edit, ...]:
    return tuple(
        Edit(e.o_start, e.o_end, " ".join(token.text for token in e.c_toks), e.type) for e in edits
    )


def gjg15(data: Path) -> tuple[list[str], list[list[str]]]:
    blocks = read_m2(data / "conll14" / "official-2014.combined.m2", overlaps="keep")
    folder = data / "GJG15" / "data" / "original" / "official_submissions"
    files = [path for path in sorted(folder.iterdir()) if path.name != "INPUT"]
    return [block.source for block in blocks], [read_lines(path) for path in files]
