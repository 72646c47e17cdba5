"""Write the scores of the packaged trained metric on the sample, for installations without torch.

python -m tools.make_sample_scores gecjury/benchmarks/sample/scores
"""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

from gecjury import load
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.runtime import Runtime
from gecjury.scoring.score_files import file_name, write_table


def main(folder: Path) -> None:
    """Replace the score file in the folder."""
    corpus = load_benchmark("sample").corpus
    table = load("some", model="embedded").score_corpus(corpus, Runtime(device="cpu"))
    # The signature of an installation without the packages; where they are installed, the metric
    # is computed.
    signature = table.signature
    versions = {name: "missing" for name in signature.packages if name != "gecjury"}
    signature = replace(
        signature,
        packages={**signature.packages, **versions},
        extra={**signature.extra, "base": "missing"},
    )
    table = replace(table, signature=signature)
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.json"):
        path.unlink()
    write_table(folder / file_name("some", table.signature.key, ending=".json"), table)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
