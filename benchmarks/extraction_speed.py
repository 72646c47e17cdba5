"""Time our edit extraction against the errant package used plainly, with the same tagger.

    python -m benchmarks.extraction_speed --data ../shared/data [--workers 1 2]

- `gjg15`: 12 systems × 1,312 sentences, as `errant_parallel` does it: each source parsed once,
  each changed hypothesis parsed and annotated where it stands.
- `seeda`: 15 systems and 2 references × 391 sentences, as gec-metrics does it: every sentence
  parsed and every pair annotated when it is first met.

Both sides load the tagger within the time. Prints seconds by the clock and of the processor (other
work on the machine moves only the former), their ratios, peak memory, and how many pairs differ.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from gecjury.corpus.edits import Edit
from gecjury.corpus.m2 import read_m2
from gecjury.extraction.extract import extract_edits
from gecjury.extraction.tagger import load_tagger
from gecjury.runtime import Runtime
from gecjury.textfiles import read_lines

Edits = list[list[tuple[Edit, ...]]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--only", choices=["gjg15", "seeda"])
    parser.add_argument("--limit", type=int, help="sentences of each set")
    arguments = parser.parse_args()
    # Imports count on neither side.
    load_tagger()
    import errant  # noqa: F401

    different = 0
    for name, read, plain in (("gjg15", gjg15, as_parallel), ("seeda", seeda, as_gec_metrics)):
        if arguments.only in (None, name):
            sources, versions = read(arguments.data)
            sources = sources[: arguments.limit]
            versions = [version[: arguments.limit] for version in versions]
            different += compare(name, sources, versions, plain, arguments.workers)
    return 1 if different else 0


def compare(
    name: str,
    sources: list[str],
    versions: list[list[str]],
    plain: Callable[[Sequence[str], Sequence[Sequence[str]]], Edits],
    workers: Sequence[int],
) -> int:
    """Time both sides on one set; the number of pairs that differ."""
    theirs, clock, processor = timed(lambda: plain(sources, versions))
    print(f"{name}: {len(versions)} versions of {len(sources)} sentences")
    print(f"  errant            {clock:7.1f} s, processor {processor:7.1f} s")
    different = 0
    for count in workers:
        runtime = Runtime(use_cache=False, workers=count)
        ours, seconds, used = timed(
            lambda runtime=runtime: extract_edits(sources, versions, runtime=runtime)
        )
        wrong = sum(
            a != b
            for one, other in zip(theirs, ours, strict=True)
            for a, b in zip(one, other, strict=True)
        )
        different += wrong
        print(
            f"  ours, {count} worker(s) {seconds:7.1f} s, processor {used:7.1f} s: "
            f"{clock / seconds:.1f} times as fast, {processor / used:.1f} times less work; "
            f"{wrong} pairs differ; peak memory {peak():.0f} MB"
        )
    return different


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    """A result, seconds by the clock, and processor seconds of this process and its children."""
    begin, used = time.perf_counter(), processor_seconds()
    result = run()
    return result, time.perf_counter() - begin, processor_seconds() - used


def processor_seconds() -> float:
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def peak() -> float:
    """Megabytes of this process or, if larger, of its largest child."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return max(resource.getrusage(kind).ru_maxrss for kind in kinds) / 1024


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


def seeda(data: Path) -> tuple[list[str], list[list[str]]]:
    outputs = data / "SEEDA" / "outputs"
    judged = set(read_lines(outputs / "subset" / "INPUT.txt"))
    everything = read_lines(outputs / "all" / "INPUT.txt")
    rows = [i for i, line in enumerate(everything) if line in judged]
    blocks = read_m2(data / "conll14" / "official-2014.combined.m2", overlaps="keep")
    versions = [
        [lines[i] for i in rows]
        for lines in map(read_lines, sorted((outputs / "all").glob("*.txt")))
    ]
    versions += [[blocks[i].text(annotator) for i in rows] for annotator in (0, 1)]
    return [everything[i] for i in rows], versions


if __name__ == "__main__":
    sys.exit(main())
