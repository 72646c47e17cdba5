"""PT-ERRANT compared with the way gec-metrics computes it: seconds, and agreement of scores.

The baseline scores systems one after another and, like gec-metrics, calls the bert-score package
twice for every sentence and reference: for the source, and for the source with each edit alone.
Both sides use the same edits, encoder, layer and threads.

    python -m speed pt-errant --data DIR
"""

from __future__ import annotations

import contextlib
import io
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.extraction.extract import corpus_edits
from gecjury.models.checkpoints import quiet_transformers
from gecjury.refbased.bertscore import BERTScore
from gecjury.refbased.pt_errant import PTERRANT
from speed.harness import Claim, Options, faster, needs, peak_memory

MODEL, LAYER, THREADS, SENTENCES = "embedded", 6, 2, 40


def published(
    scorer: Any, source: str, mine: Sequence[Edit], theirs: Sequence[Edit], reference: str
) -> tuple[float, float, float]:
    """Return weighted TP, FP, FN of one sentence against one reference."""
    keys = list(dict.fromkeys((e.start, e.end, e.correction) for e in (*mine, *theirs)))
    if not keys:
        return 0.0, 0.0, 0.0
    texts = [" ".join(apply_edits(source.split(), [Edit(*key)])) for key in keys]
    with contextlib.redirect_stderr(io.StringIO()):
        plain = scorer.score([source], [reference])[2].tolist()[0]
        scores = scorer.score(texts, [reference] * len(texts))[2].tolist()
    weights = {key: abs(score - plain) for key, score in zip(keys, scores, strict=True)}
    own = {(e.start, e.end, e.correction) for e in mine}
    gold = {(e.start, e.end, e.correction) for e in theirs}
    return (
        sum(weights[key] for key in own & gold),
        sum(weights[key] for key in own - gold),
        sum(weights[key] for key in gold - own),
    )


def measure(options: Options) -> list[Claim]:
    """Run both sides on some sentences of SEEDA."""
    data = str(options.need_data())
    needs("bert_score", "torch")
    import bert_score
    import torch

    torch.set_num_threads(THREADS)
    warnings.simplefilter("ignore")
    quiet_transformers()
    whole = load_benchmark("seeda", data=data).corpus
    count = 2 if options.quick else SENTENCES
    rows = np.linspace(0, len(whole) - 1, count).astype(int).tolist()
    corpus = Corpus(
        tuple(whole.sources[row] for row in rows),
        {name: version.take(rows) for name, version in whole.systems.items()},
        tuple(Version(version.lines).take(rows) for version in whole.references),
    )
    runtime = Runtime(device="cpu", use_cache=False)
    edits = corpus_edits(corpus, "embedded", runtime)
    # Edits are the same work on both sides and are passed to both, so that only weights are timed.
    ready = Corpus(
        corpus.sources,
        {n: Version(v.lines, tuple(edits.systems[n])) for n, v in corpus.systems.items()},
        tuple(
            Version(v.lines, tuple(e))
            for v, e in zip(corpus.references, edits.references, strict=True)
        ),
    )
    ours = PTERRANT(model=MODEL, layer=LAYER)
    folder = BERTScore(MODEL).encoder_spec.checkpoint().folder
    scorer = bert_score.BERTScorer(model_type=str(folder), num_layers=LAYER, device="cpu")
    ours.weight_model.score([("He go .", "He goes .")], runtime)
    start = time.perf_counter()
    values = ours.statistics(ready, runtime).values
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    theirs = np.zeros_like(values)
    for system, lines in enumerate(edits.systems.values()):
        for row, source in enumerate(corpus.sources):
            for index, reference in enumerate(corpus.references):
                theirs[system, row, index] = published(
                    scorer, source, lines[row], edits.references[index][row], reference.lines[row]
                )
    baseline = time.perf_counter() - start
    size = f"{len(corpus.systems)} × {len(corpus)} × {len(corpus.references)}"
    gap = float(np.abs(values - theirs).max())
    return [
        faster(
            f"PT-ERRANT, weights of {size}, {THREADS} threads",
            seconds,
            baseline,
            peak=peak_memory(),
            lines=(f"largest gap of weights {gap:.1e}",),
        )
    ]
