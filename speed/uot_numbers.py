"""UOT-ERRANT's seconds and scores if the encoder computes in another precision.

Part of `python -m speed uot`: every distinct text of the corpus is encoded under each `dtype` in
one run, models loaded and edits extracted before the clock starts; processor seconds of encoding,
scores, and their correlation with people's are compared with those of `float32`.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.settings import Settings
from gecjury.models.encoder import forget, load_encoder
from gecjury.models.precision import DType
from gecjury.refbased.uot_errant.metric import UOTERRANT
from gecjury.refbased.uot_errant.vectors import all_texts
from gecjury.scoring.scores import ScoreTable
from gecjury.stats.resampling import Resampling
from speed.harness import Claim, checked, faster, timed

PLAIN: DType = "float32"
OTHERS: tuple[DType, ...] = ("float32-onednn", "bfloat16")
_FIGURES = ("pearson", "spearman", "accuracy")


def measure_numbers(label: str, encoder: str, corpus: Corpus, seeda: Benchmark) -> list[Claim]:
    """Measure encoding time, sentence scores and agreement with people under each `dtype`.

    Args:
        label: label of the encoder.
        encoder: its name or folder.
        corpus: the scored corpus: all of `seeda`'s, or a part, without a comparison with people.
        seeda: SEEDA with people's judgments.
    """
    tables: dict[DType, ScoreTable] = {}
    seconds: dict[DType, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        # Edits, which are common to all, and the vectors of each are cached.
        runtime = Runtime(device="cpu", cache=Path(folder))
        plain = UOTERRANT(encoder=encoder)
        tally = plain.tally(corpus, runtime)
        sets = dict.fromkeys(edits for pair in tally.distinct(range(len(corpus))) for edits in pair)
        _, texts = all_texts(list(sets), plain.vectorise)
        for dtype in (PLAIN, *OTHERS):
            scorer = replace(plain, dtype=dtype)
            loaded = load_encoder(scorer.encoder_spec, runtime)
            loaded.encode(["Warm ."])
            _, _, seconds[dtype] = timed(lambda loaded=loaded: loaded.encode(texts))  # type: ignore[misc]
            tables[dtype] = scorer.score_corpus(corpus, runtime)
            forget()
    people = {} if corpus is not seeda.corpus else _agreement(seeda, tables)
    size = f"{label}: {len(texts)} texts"
    claims = []
    for dtype in OTHERS:
        claims.append(
            faster(
                f"{size}, encoded with dtype={dtype}",
                seconds[dtype],
                seconds[PLAIN],
                lines=("seconds of processor time, float32 and then this",),
            )
        )
        claims.append(_gaps(label, dtype, tables))
        claims += _changes(label, dtype, people)
    return claims


def _gaps(label: str, dtype: DType, tables: Mapping[DType, ScoreTable]) -> Claim:
    """Compare sentence scores with those of float32."""
    one, two = (tables[each].sentences.ravel() for each in (PLAIN, dtype))
    known = ~np.isnan(one + two)
    gap = np.abs(one - two)[known]
    corpus = np.abs(tables[PLAIN].by_system.score - tables[dtype].by_system.score)
    return checked(
        f"{label}, dtype={dtype}: sentence scores within .01 of float32's",
        f"{(gap <= 1e-2).mean():.2%}",
        lines=(
            f"{(gap <= 1e-4).mean():.2%} within 1e-4, mean gap {gap.mean():.5f}, largest "
            f"{gap.max():.4f}, Pearson {np.corrcoef(one[known], two[known])[0, 1]:.6f}; "
            f"corpus scores: largest gap {corpus.max():.5f}",
        ),
    )


Agreement = Mapping[DType, Mapping[str, tuple[float, ...]]]
"""By `dtype` and human view: Pearson and Spearman by TrueSkill, and accuracy at sentence level."""


def _agreement(seeda: Benchmark, tables: Mapping[DType, ScoreTable]) -> Agreement:
    settings = Settings(human="both", resampling=Resampling(over="none"))
    found: dict[DType, dict[str, tuple[float, ...]]] = {}
    for dtype, table in tables.items():
        rows = compare(seeda, [table], settings).rows()
        own = [row for row in rows if row["signature"] == str(table.signature)]
        found[dtype] = {row["human"]: tuple(row[name] for name in _FIGURES) for row in own}
    return found


def _changes(label: str, dtype: DType, people: Agreement) -> list[Claim]:
    """Return the changes of the agreement with people; nothing if it was not measured."""
    if not people:
        return []
    before, after = people[PLAIN], people[dtype]
    change = max(abs(after[view][0] - before[view][0]) for view in before)

    def told(view: str) -> str:
        pairs = zip(_FIGURES, before[view], after[view], strict=True)
        return f"{view}: " + ", ".join(f"{name} {a:.4f} → {b:.4f}" for name, a, b in pairs)

    return [
        checked(
            f"{label}, dtype={dtype}: largest change of Pearson's r with people",
            f"{change:.4f}",
            lines=tuple(map(told, before)),
        )
    ]
