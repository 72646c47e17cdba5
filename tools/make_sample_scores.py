"""Write the scores of the packaged trained metric on the sample, which `gecjury demo` reads.

python -m tools.make_sample_scores gecjury/benchmarks/sample/scores.json
"""

from __future__ import annotations

import sys
from pathlib import Path

from gecjury import load
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.runtime import Runtime
from gecjury.scoring.score_files import write_table


def main(path: Path) -> None:
    """Write the score file."""
    corpus = load_benchmark("sample").corpus
    write_table(path, load("some", model="embedded").score_corpus(corpus, Runtime(device="cpu")))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
