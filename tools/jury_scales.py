"""Measure the scales of a jury's members: means and deviations of sentence scores.

    python tools/jury_scales.py DATA [NAME:OPTION=VALUE...] > gecjury/jury/scales.tsv

DATA contains GMEG. Every metric that needs neither a trained model nor gold edits scores the source
and the six systems of the dev parts of GMEG (FCE and Wikipedia) on 72 drawn sentences
of each, 1,008 corrections. A metric may be given with options, such as a folder of its default
model. Metrics whose model is absent are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent.parent)]

from gecjury.benchmarks.load import load_benchmark  # noqa: E402
from gecjury.core.errors import GecjuryError  # noqa: E402
from gecjury.core.runtime import Runtime  # noqa: E402
from gecjury.scoring.registry import METRICS, load  # noqa: E402
from gecjury.scoring.scorer import required_options  # noqa: E402
from gecjury.stats.bootstrap import limited_rows  # noqa: E402

DOMAINS = ("fce", "wiki")
SENTENCES = 72


def main(data: str, *given: str) -> None:
    """Print the table."""
    corpora = []
    for domain in DOMAINS:
        whole = load_benchmark(f"gmeg-dev-{domain}", data=data)
        rows = limited_rows(range(len(whole.corpus)), SENTENCES, seed=0)
        corpora.append(whole.take(rows).corpus)
    count = sum(len(corpus) * len(corpus.names) for corpus in corpora)
    print(
        f"# mean and deviation of {count} corrections of GMEG dev ({', '.join(DOMAINS)}; "
        "tools/jury_scales.py)"
    )
    print("metric\tmean\tdeviation")
    named = {text.partition(":")[0]: text for text in given}
    for name in METRICS:
        scorer = load(named.get(name, name))
        if scorer.family not in ("refbased", "refless") or "gold" in scorer.needs:
            continue
        if required_options(type(scorer)) and name not in named:
            continue
        runtime = Runtime(workers=1)
        try:
            tables = [scorer.score_corpus(corpus, runtime) for corpus in corpora]
        except GecjuryError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        scores = np.concatenate([table.sentences.ravel() for table in tables])
        print(f"{name}\t{np.nanmean(scores):.4f}\t{np.nanstd(scores):.4f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
