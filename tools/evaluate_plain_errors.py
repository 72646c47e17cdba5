"""Print the share of plain errors in which a metric prefers the right sentence, by kind.

    python tools/evaluate_plain_errors.py METRIC...

`plain_errors.tsv` has 200 pairs of sentences that differ in one error. Both are scored as
corrections of the wrong one; a tie is a half. `longer` and `shorter` are the pairs whose right
sentence has more or fewer tokens.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent.parent)]

from gecjury.core.runtime import Runtime  # noqa: E402
from gecjury.corpus.files.rows import read_table  # noqa: E402
from gecjury.corpus.texts import corpus_of_texts  # noqa: E402
from gecjury.scoring.registry import load  # noqa: E402


def main(*metrics: str) -> None:
    """Print one line for each metric and group of pairs."""
    rows = read_table(Path(__file__).with_name("plain_errors.tsv")).rows
    wrong, right = ([row[side] for row in rows] for side in ("wrong", "right"))
    corpus = corpus_of_texts(wrong, {"wrong": wrong, "right": right})
    gains = [len(r.split()) - len(w.split()) for w, r in zip(wrong, right, strict=True)]
    groups = {"all": [True] * len(rows)}
    groups |= {
        k: [row["kind"] == k for row in rows] for k in dict.fromkeys(r["kind"] for r in rows)
    }
    groups |= {"longer": [gain > 0 for gain in gains], "shorter": [gain < 0 for gain in gains]}
    print("metric\tpairs\tcount\tshare")
    for metric in metrics:
        before, after = load(metric).score_corpus(corpus, Runtime()).sentences
        preferred = (np.sign(after - before) + 1) / 2
        for name, members in groups.items():
            print(f"{metric}\t{name}\t{sum(members)}\t{preferred[members].mean():.3f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
