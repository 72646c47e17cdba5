"""The effect of keeping rows by a condition: ERRANT's F0.5 of kept rows and of random parts.

    PYTHONPATH=. python tools/evaluate_keeping.py --data DIR --some MODEL [--dtype float32-onednn]

The outputs of SEEDA's base systems are rows; each condition keeps some of them without using
references. A random part has the same number of rows, drawn from all or, if the condition contains
`changes`, from those that satisfy that part. Its table is `keeping` in
docs/measured/statistics.csv.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.arrays import BoolArray, FloatArray, IntArray
from gecjury.datasets.run import score_dataset
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer

_RANDOM = 20


def main() -> int:
    """Score the rows, keep parts of them, print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", required=True, help="folder with benchmark data")
    parser.add_argument("--some", required=True, help="a trained SOME")
    parser.add_argument("--dtype", default="float32-onednn", help="precision of SOME's encoder")
    args = parser.parse_args()
    rows = _rows(args.data)
    some, changes = _scores(rows, args.some, args.dtype)
    few: BoolArray = (changes >= 1) & (changes <= 6)
    everything = np.ones(len(rows), dtype=np.bool_)
    parts: list[tuple[str, BoolArray, BoolArray]] = [
        ("changes >= 1 and changes <= 6", few, everything)
    ]
    for share in (0.5, 0.75):
        bound = round(float(np.quantile(some, share)), 2)
        above: BoolArray = some >= bound
        parts.append((f"some >= {bound}", above, everything))
        parts.append((f"some >= {bound} and changes >= 1 and changes <= 6", above & few, few))
    parts.append(("the better half of each source", _better_half(rows, some), everything))
    errant = load("errant")
    f, precision, recall = _judged(errant, rows, np.arange(len(rows)))
    print("| condition | rows kept | F0.5 | precision | recall | random F0.5 |")
    print("|---|---:|---:|---:|---:|---:|")
    print(f"| none | {len(rows):,} | {f:.3f} | {precision:.3f} | {recall:.3f} | |")
    rng = np.random.default_rng(0)
    for name, kept, pool in parts:
        own, drawn = np.flatnonzero(kept), np.flatnonzero(pool)
        f, precision, recall = _judged(errant, rows, own)
        chance = [
            _judged(errant, rows, rng.choice(drawn, len(own), replace=False))[0]
            for _ in range(_RANDOM)
        ]
        print(
            f"| `{name}` | {len(own):,} | {f:.3f} | {precision:.3f} | {recall:.3f} "
            f"| {np.mean(chance):.3f} ± {np.std(chance):.3f} |"
        )
    return 0


def _rows(data: str) -> list[dict[str, object]]:
    corpus = load_benchmark("seeda", data=data).corpus
    return [
        {
            "id": f"{name}:{line}",
            "source": source,
            "hypothesis": version.lines[line],
            "references": [reference.lines[line] for reference in corpus.references],
        }
        for name, version in corpus.systems.items()
        for line, source in enumerate(corpus.sources)
    ]


def _scores(rows: list[dict[str, object]], model: str, dtype: str) -> tuple[FloatArray, FloatArray]:
    """Return SOME's score and the number of edits of each row."""
    with tempfile.TemporaryDirectory(prefix="gecjury-keeping-") as folder:
        path = Path(folder, "outputs.jsonl")
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        metrics = [load("some", model=model, dtype=dtype), load("changes")]
        score_dataset(path, Path(folder, "scores"), metrics=metrics)
        parts = sorted(Path(folder, "scores").glob("part-*.parquet"))
        lines = [row for part in parts for row in parquet.read_table(part).to_pylist()]
    by_id = {line["id"]: line for line in lines}
    found = [by_id[str(row["id"])] for row in rows]
    return np.array([r["some"] for r in found]), np.array([r["changes"] for r in found])


def _judged(
    errant: Scorer, rows: list[dict[str, object]], kept: IntArray
) -> tuple[float, float, float]:
    """Return ERRANT's F0.5, precision and recall of some rows as one corpus."""
    chosen = [rows[row] for row in kept]
    references = list(zip(*(row["references"] for row in chosen), strict=True))
    table = errant.score(
        [str(row["source"]) for row in chosen],
        {"kept": [str(row["hypothesis"]) for row in chosen]},
        references,
    )
    scores = table.by_system
    assert scores.precision is not None
    assert scores.recall is not None
    return float(scores.score[0]), float(scores.precision[0]), float(scores.recall[0])


def _better_half(rows: list[dict[str, object]], some: FloatArray) -> BoolArray:
    places: dict[object, list[int]] = defaultdict(list)
    for place, row in enumerate(rows):
        places[row["source"]].append(place)
    kept = np.zeros(len(rows), dtype=np.bool_)
    for same in places.values():
        kept[sorted(same, key=lambda place: -some[place])[: len(same) // 2]] = True
    return kept


if __name__ == "__main__":
    sys.exit(main())
