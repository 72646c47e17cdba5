"""Measure the scales of a jury's members: means and deviations of sentence scores.

    python tools/jury_scales.py DATA [NAME:OPTION=VALUE...] > gecjury/jury/scales.tsv

DATA contains TMU-GFM-Dataset and GMEG. A metric that needs neither a trained model nor gold edits
scores the dev part of TMU-GFM as `gecjury train some` splits it, 422 corrections; one that needs
references scores 1,008 corrections: the base systems of GMEG's dev parts of FCE and Wikipedia on 72
drawn sentences each. A metric may be given with options, such as a folder of its default model.
Metrics whose model is absent are left out.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).parent.parent)]

from gecjury.benchmarks.data_folder import open_data  # noqa: E402
from gecjury.benchmarks.load import load_benchmark  # noqa: E402
from gecjury.core.errors import GecjuryError  # noqa: E402
from gecjury.core.runtime import Runtime  # noqa: E402
from gecjury.corpus.corpus import Corpus  # noqa: E402
from gecjury.corpus.texts import corpus_of_texts  # noqa: E402
from gecjury.refless.data.rated_sets import read_named, split_by_source  # noqa: E402
from gecjury.scoring.registry import METRICS, load  # noqa: E402
from gecjury.scoring.scorer import required_options  # noqa: E402
from gecjury.stats.bootstrap import limited_rows  # noqa: E402

SENTENCES = 72


def main(data: str, *given: str) -> None:
    """Print the table."""
    corpora = {"TMU-GFM dev": [rated(data)], "GMEG dev": [judged(data, x) for x in ("fce", "wiki")]}
    print("# means and deviations of the scores of corrections, by tools/jury_scales.py")
    print("metric\tmean\tdeviation\tmeasured on")
    named = {text.partition(":")[0]: text for text in given}
    for name in METRICS:
        scorer = load(named.get(name, name))
        if scorer.family not in ("refbased", "refless") or "gold" in scorer.needs:
            continue
        if required_options(type(scorer)) and name not in named:
            continue
        where = "GMEG dev" if "references" in scorer.needs else "TMU-GFM dev"
        try:
            tables = [scorer.score_corpus(part, Runtime(workers=1)) for part in corpora[where]]
        except GecjuryError as error:
            print(f"{name}: {error}", file=sys.stderr)
            continue
        scores = np.concatenate([table.sentences.ravel() for table in tables])
        print(f"{name}\t{np.nanmean(scores):.4f}\t{np.nanstd(scores):.4f}\t{where}", flush=True)


def rated(data: str) -> Corpus:
    """Return the dev part of TMU-GFM, one correction a row."""
    rows = read_named("tmu-gfm", open_data(data))
    dev = rows.take(split_by_source(rows).dev)
    return corpus_of_texts(dev.sources, {"outputs": dev.outputs})


def judged(data: str, domain: str) -> Corpus:
    """Return drawn sentences of a part of GMEG."""
    whole = load_benchmark(f"gmeg-dev-{domain}", data=data)
    return whole.take(limited_rows(range(len(whole.corpus)), SENTENCES, seed=0)).corpus


if __name__ == "__main__":
    main(*sys.argv[1:])
