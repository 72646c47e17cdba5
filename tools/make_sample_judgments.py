"""Create the judgments of the embedded sample benchmark from its table of qualities.

The judgments are simulated, by the rule described here and in the sample's `README.md`; they are
not evidence about any metric. Run from the repository root:

    python tools/make_sample_judgments.py            write judgments_{edit,sentence}.xml
    python tools/make_sample_judgments.py --check    exit 1 unless the files on disk are just those

Every draw is a SHA-256 digest of the seed and the purpose of the draw, so the result does not
depend on the Python version, the platform or the order of the work.
"""

from __future__ import annotations

import argparse
import hashlib
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

SEED = "gecjury sample 1"
SHOWN = 5  # corrections in one item, as many as SEEDA shows
RATERS = ("rater1", "rater2")
# Chance that a rater misses one error of a correction; the chance of seeing one too many is equal.
SLIP = {"rater1": 0.10, "rater2": 0.20}
# The raters of a line by its number modulo 4; a quarter of the lines is not judged.
TURNS: Mapping[int, tuple[str, ...]] = {1: ("rater1",), 2: ("rater2",), 3: RATERS, 0: ()}
ERROR = 2  # cost of one remaining error, hence the size of a slip
TOP_FLUENCY = 2

_SAMPLE = Path(__file__).resolve().parent.parent / "gecjury" / "benchmarks" / "sample"


class Quality(NamedTuple):
    """The faults and merits of one system's version of one line."""

    remaining: int
    introduced: int
    meaning: int
    fluency: int


class Weights(NamedTuple):
    """Cost of one remaining error, introduced error, shifted meaning and missing fluency point."""

    remaining: int
    introduced: int
    meaning: int
    fluency: int

    def cost(self, quality: Quality) -> int:
        """Return the weighted cost, 0 or more; lower is better."""
        return (
            self.remaining * quality.remaining
            + self.introduced * quality.introduced
            + self.meaning * quality.meaning
            + self.fluency * (TOP_FLUENCY - quality.fluency)
        )


# In edit-based judgments, a harmful edit weighs more than a remaining error and style does not
# count; in sentence-based judgments, every error weighs the same and style counts.
WEIGHTS: Mapping[str, Weights] = {
    "edit": Weights(ERROR, 3, 3, 0),
    "sentence": Weights(ERROR, 2, 2, 1),
}


def _uniform(*what: object) -> float:
    """Return a number in [0, 1) that depends only on the seed and on `what`."""
    digest = hashlib.sha256("|".join(map(str, (SEED, *what))).encode()).digest()
    return int.from_bytes(digest[:6], "big") / 2**48


def read_quality(path: Path) -> dict[str, list[Quality]]:
    """Read `quality.tsv` into one list of qualities, in line order, for each system."""
    table: dict[str, list[Quality]] = {}
    for row in path.read_text(encoding="utf-8").splitlines()[1:]:
        system, line, *values = row.split("\t")
        rows = table.setdefault(system, [])
        if int(line) != len(rows) + 1:
            raise ValueError(f"{path}: {system} has line {line}; expected line {len(rows) + 1}")
        rows.append(Quality(*map(int, values)))
    return table


def corrections(outputs: Mapping[str, Sequence[str]], line: int) -> dict[str, list[str]]:
    """Return the distinct versions of a line, each with all systems that wrote it.

    Args:
        outputs: the lines of each system.
        line: the line's number, from 1.
    """
    merged: dict[str, list[str]] = {}
    for system in sorted(outputs):
        merged.setdefault(outputs[system][line - 1], []).append(system)
    return merged


def noise(kind: str, rater: str, line: int, text: str) -> int:
    """Return a rater's slip on one correction: an error missed, none, or an error too many."""
    draw = _uniform(kind, rater, line, text)
    if draw < SLIP[rater]:
        return -ERROR
    return ERROR if draw >= 1 - SLIP[rater] else 0


def ranks(costs: Sequence[int]) -> list[int]:
    """Return dense ranks, 1 for the lowest cost; equal costs share a rank."""
    order = sorted(set(costs))
    return [1 + order.index(cost) for cost in costs]


def _item(
    kind: str, rater: str, line: int, merged: Mapping[str, Sequence[str]], costs: Mapping[str, int]
) -> list[str]:
    """Return the `translation` elements of one item."""
    # The draw is the same for every rater and kind, so all see the same corrections of a line.
    shown = sorted(merged, key=lambda text: _uniform("shown", line, text))[:SHOWN]
    seen = [max(0, costs[text] + noise(kind, rater, line, text)) for text in shown]
    return [
        f'\t\t<translation system="{" ".join(merged[text])}" rank="{rank}" />'
        for text, rank in zip(shown, ranks(seen), strict=True)
    ]


def judgments(
    kind: str,
    outputs: Mapping[str, Sequence[str]],
    quality: Mapping[str, Sequence[Quality]],
    documents: Sequence[str],
) -> str:
    """Return the judgments of one kind as an Appraise result file.

    Args:
        kind: `edit` or `sentence`.
        outputs: the lines of each system, including INPUT.
        quality: the quality of each of those lines.
        documents: the document of each line.
    """
    head = f'source-language="err" id="sample-{kind}" target-language="cor"'
    rows = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        "<appraise-results>",
        f"<error-correction-ranking-result {head}>",
    ]
    for rater in RATERS:
        number = 0
        for line, document in enumerate(documents, 1):
            if rater not in TURNS[line % len(TURNS)]:
                continue
            number += 1
            merged = corrections(outputs, line)
            costs = {
                text: WEIGHTS[kind].cost(quality[systems[0]][line - 1])
                for text, systems in merged.items()
            }
            # The format requires a duration; nobody was timed, so it is zero.
            rows += [
                f'\t<ranking-item src-id="{line}" doc-id="{document}" id="{number}"'
                f' duration="00:00:00" user="{rater}">',
                *_item(kind, rater, line, merged, costs),
                "\t</ranking-item>",
            ]
    rows += ["</error-correction-ranking-result>", "</appraise-results>"]
    return "\n".join(rows) + "\n"


def sample_files(folder: Path = _SAMPLE) -> dict[str, str]:
    """Return the text of both judgment files, by file name, from the other files in `folder`."""
    outputs = {
        path.stem: path.read_text(encoding="utf-8").splitlines()
        for path in (folder / "outputs").glob("*.txt")
    }
    quality = read_quality(folder / "quality.tsv")
    table = (folder / "documents.tsv").read_text(encoding="utf-8").splitlines()[1:]
    documents = [row.split("\t")[1] for row in table]
    return {
        f"judgments_{kind}.xml": judgments(kind, outputs, quality, documents) for kind in WEIGHTS
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or with `--check` compare them; return the exit status."""
    parser = argparse.ArgumentParser(description="Create the sample benchmark's judgments.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check: bool = parser.parse_args(arguments).check
    stale = False
    for name, text in sample_files().items():
        path = _SAMPLE / name
        if not check:
            path.write_text(text, encoding="utf-8", newline="\n")
        elif not path.is_file() or path.read_bytes() != text.encode():
            print(f"{path} is stale: run tools/make_sample_judgments.py", file=sys.stderr)
            stale = True
    return int(stale)


if __name__ == "__main__":
    sys.exit(main())
