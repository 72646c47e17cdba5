"""Encoders before and after: separate passes in 32 bits, one pass by oneDNN or in bfloat16.

    python -m speed encoders --data DIR [--mpnet DIR] [--smollm2 DIR] [--some DIR]

MPNet (`sentence-transformers/all-mpnet-base-v2`), SmolLM2 (`SmolLM2-135M-Instruct`) and a trained
SOME by kernel regression on MPNet are given as folders; missing ones are reported as not tried. One
thread; every round runs both sides in turn, without caches, with models loaded before. The best
processor seconds of all rounds are compared.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.arrays import FloatArray
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.settings import Settings
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable, Statistics
from speed.harness import Claim, Options, checked, faster, needs, timed

ROUNDS, TEXTS, SENTENCES = 3, 400, 391
QUICK_ROUNDS, QUICK_TEXTS, QUICK_SENTENCES = 1, 10, 5
TARGET = 2.5
MOST = 0.002  # change of an accuracy or a correlation
_RUNTIME = Runtime(device="cpu", use_cache=False)
_ASPECTS = ("grammaticality", "fluency", "meaning")

Sides = Mapping[str, Callable[[], Any]]


def measure(options: Options) -> list[Claim]:
    """Measure texts per second of each available model, and the changes of scores."""
    data = str(options.need_data())
    needs("torch", "transformers")
    seeda = load_benchmark("seeda", systems="base", references=["official"], data=data)
    corpus = seeda.corpus
    lines = (corpus.sources, *(version.lines for version in corpus.systems.values()))
    texts = list(dict.fromkeys(text for side in lines for text in side))
    sample = texts[:: max(1, len(texts) // (QUICK_TEXTS if options.quick else TEXTS))]
    rounds = QUICK_ROUNDS if options.quick else ROUNDS
    claims = []
    for label, name in (("MiniLM", "embedded"), ("MPNet", options.mpnet)):
        claims.append(_encoder(label, str(name), sample, rounds) if name else _absent(label))
    claims += _language_model(options, sample, rounds, seeda)
    claims += _some(options, seeda, data)
    return claims


def _absent(what: str, how: str = "") -> Claim:
    option = how or f"--{what.lower()} DIR"
    return checked(what, f"not tried: no model; name its folder with {option}")


def _in_turn(sides: Sides, rounds: int) -> tuple[dict[str, Any], dict[str, float]]:
    """Return the result of each side, and the least processor seconds that it took."""
    from gecjury.models.encoder import forget

    found: dict[str, Any] = {}
    seconds: dict[str, float] = {}
    for _ in range(rounds):
        for name, call in sides.items():
            forget()
            found[name], _, used = timed(call)
            seconds[name] = min(used, seconds.get(name, used))
    return found, seconds


def _speeds(seconds: Mapping[str, float], texts: int) -> str:
    return ", ".join(f"{name} {texts / used:.1f} texts a second" for name, used in seconds.items())


def _encoder(label: str, name: str, texts: Sequence[str], rounds: int) -> Claim:
    """Compare the layers that a SOME by kernel regression reads: at two thirds, and the last."""
    from gecjury.models.encoder import EncoderSpec, load_encoder
    from gecjury.models.precision import DType

    top = load_encoder(EncoderSpec(name), _RUNTIME).layer
    below = round(2 / 3 * top)

    def apart(texts: Sequence[str]) -> list[FloatArray]:
        specs = (EncoderSpec(name, layer=layer) for layer in (below, top))
        return [load_encoder(spec, _RUNTIME).encode(texts).vectors for spec in specs]

    def together(dtype: DType) -> Callable[[Sequence[str]], list[FloatArray]]:
        def call(texts: Sequence[str]) -> list[FloatArray]:
            encoder = load_encoder(EncoderSpec(name, layer=top, dtype=dtype), _RUNTIME)
            return [found.vectors for found in encoder.encode_layers(texts, (below, top))]

        return call

    sides = {
        "two passes, float32": apart,
        "one pass, float32-onednn": together("float32-onednn"),
        "one pass, bfloat16": together("bfloat16"),
    }
    for call in sides.values():
        call(texts[:1])
    found, seconds = _in_turn(
        {key: (lambda call=call: call(texts)) for key, call in sides.items()}, rounds
    )
    before, plain, rough = sides
    # Some numbers of a vector hardly vary at all, so their deviation is no yardstick.
    spread = found[before][1].std(axis=0).mean()
    gaps = [np.abs(found[side][1] - found[before][1]) / spread for side in (plain, rough)]
    return faster(
        f"{label}: {len(texts)} texts at layers {below} and {top}",
        seconds[rough],
        seconds[before],
        TARGET if label == "MPNet" else None,
        lines=(
            _speeds(seconds, len(texts)),
            f"by oneDNN {seconds[before] / seconds[plain]:.2f} times as fast, largest "
            f"change in a vector {gaps[0].max():.1e} of the mean deviation over texts; in "
            f"bfloat16 {gaps[1].max():.3f}, {gaps[1].mean():.4f} in the mean",
        ),
    )


def _language_model(
    options: Options, texts: Sequence[str], rounds: int, seeda: Benchmark
) -> list[Claim]:
    """Compare mean log probabilities, and Scribendi's scores from them."""
    if options.smollm2 is None:
        return [_absent("SmolLM2")]
    from gecjury.models.precision import DType
    from gecjury.refless.nets.language import mean_log_probabilities
    from gecjury.refless.scribendi import Scribendi

    model = str(options.smollm2)

    def side(dtype: DType) -> Callable[[], FloatArray]:
        return lambda: mean_log_probabilities(model, texts, _RUNTIME, dtype)

    found: dict[str, FloatArray] = {}
    seconds: dict[str, float] = {}
    corpus = _part(seeda.corpus, options)
    tables = []
    # Only one language model is in memory at a time, so the two sides cannot alternate by text.
    for dtype in ("float32", "bfloat16"):
        mean_log_probabilities(model, texts[:1], _RUNTIME, dtype)
        now, used = _in_turn({dtype: side(dtype)}, rounds)
        found |= now
        seconds |= used
        tables.append(Scribendi(model, dtype=dtype).score_corpus(corpus, _RUNTIME))
    gap = np.abs(found["bfloat16"] - found["float32"])
    moved = float((tables[0].sentences != tables[1].sentences).mean())
    return [
        faster(
            f"SmolLM2: log probabilities of {len(texts)} texts",
            seconds["bfloat16"],
            seconds["float32"],
            lines=(
                _speeds(seconds, len(texts)),
                f"largest change of a mean log probability {gap.max():.4f}, "
                f"{gap.mean():.4f} in the mean; {moved:.2%} of Scribendi's scores change",
            ),
        ),
        *_accuracies("scribendi", tables, seeda, options),
    ]


def _part(corpus: Corpus, options: Options) -> Corpus:
    """Return the corpus, or only its first sentences with --quick."""
    rows = range(QUICK_SENTENCES if options.quick else SENTENCES)
    return Corpus(
        corpus.sources[: len(rows)],
        {name: version.take(rows) for name, version in corpus.systems.items()},
    )


def _accuracies(
    name: str,
    tables: Sequence[ScoreTable],
    seeda: Benchmark,
    options: Options,
    *,
    asked: bool = False,
) -> list[Claim]:
    """Compare the accuracy over SEEDA's judged pairs, with official ties, before and after."""
    if options.quick:
        return []
    settings = Settings(human="both", level="sentence", ties="official")
    before, after = (
        {
            row.human: row.values["accuracy"]
            for row in compare(seeda, [table], settings).at("sentence")
            if row.family == table.signature.family
        }
        for table in tables
    )
    change = max(abs(after[view] - before[view]) for view in before)
    told = ", ".join(f"{view} {before[view]:.4f} → {after[view]:.4f}" for view in before)
    return [
        checked(
            f"{name}: change of accuracy on SEEDA",
            f"{change:.4f}",
            f"≤ {MOST}" if asked else "",
            change <= MOST if asked else None,
            lines=(told,),
        )
    ]


def _some(options: Options, seeda: Benchmark, data: str) -> list[Claim]:
    """Compare a SOME by kernel regression on SEEDA's Base systems and TMU-GFM's dev and test."""
    if options.some is None:
        return [_absent("SOME", "--some DIR")]
    from gecjury.models.encoder import forget
    from gecjury.refless.nets.bundle import Bundle, open_bundle
    from gecjury.refless.some import SOME, distinct_pairs

    folder = str(options.some)
    corpus = _part(seeda.corpus, options)
    exact, fast, rough = (
        open_bundle(folder, dtype=dtype) for dtype in ("float32", "float32-onednn", "bfloat16")
    )
    texts, pairs, text_of, pair_of = distinct_pairs(corpus)

    def apart(texts: Any, pairs: Any) -> dict[str, FloatArray]:
        """Score each aspect separately, without reusing what another has read."""
        parts = (_ASPECTS[:2], _ASPECTS[2:])
        return {k: v for part in parts for k, v in
                exact.predict(texts, pairs, _RUNTIME, part).items()}  # fmt: skip

    def together(bundle: Bundle) -> Callable[[Any, Any], dict[str, FloatArray]]:
        return lambda texts, pairs: bundle.predict(texts, pairs, _RUNTIME)

    sides = {
        "two passes, float32": apart,
        "one pass, float32-onednn": together(fast),
        "one pass, bfloat16": together(rough),
    }
    for call in sides.values():
        call(texts[:1], (pairs[0][:1], pairs[1][:1]))
    found, seconds = _in_turn(
        {key: (lambda call=call: call(texts, pairs)) for key, call in sides.items()}, 1
    )
    low, high = exact.scale
    scorer: Scorer = SOME(folder)
    tables = []
    for predicted in found.values():
        columns = [
            predicted[aspect][pair_of if aspect in exact.pair_aspects else text_of]
            for aspect in _ASPECTS
        ]
        values = (np.stack(columns, axis=-1) - low) / (high - low)
        tables.append(scorer.table(corpus, Statistics(values), _RUNTIME, 0.0))
    first, plain, last = (table.sentences for table in tables)
    before, middle, after = sides
    claims = [
        faster(
            f"SOME on SEEDA, {len(corpus.systems)} × {len(corpus)}",
            seconds[middle],
            seconds[before],
            TARGET,
            lines=(
                _speeds(seconds, len(set(texts) | set(corpus.sources))),
                f"in bfloat16 {seconds[before] / seconds[after]:.2f} times as fast; by oneDNN, of "
                f"{first.size} sentence scores {(np.abs(plain - first) > 1e-9).sum()} change, by "
                f"{np.abs(plain - first).max():.1e} at most",
                f"in bfloat16 sentence scores change by {np.abs(last - first).max():.4f} at most, "
                f"{np.abs(last - first).mean():.5f} in the mean",
            ),
        ),
        *_accuracies("some by oneDNN", (tables[0], tables[1]), seeda, options, asked=True),
        *_accuracies("some in bfloat16", (tables[0], tables[2]), seeda, options),
    ]
    forget()
    claims += _ratings("some by oneDNN", exact, fast, data, options, asked=True)
    return claims + _ratings("some in bfloat16", exact, rough, data, options)


def _ratings(
    name: str, exact: Any, other: Any, data: str, options: Options, *, asked: bool = False
) -> list[Claim]:
    """Compare Pearson's r with TMU-GFM's ratings, before and after."""
    from gecjury.refless.data.annotations import read_annotations
    from gecjury.refless.data.rated_sets import NAMED_SETS, split_by_source
    from gecjury.stats.correlation import pearson

    rated = read_annotations(Path(data) / NAMED_SETS["tmu-gfm"][0])
    split = split_by_source(rated)
    lines = []
    worst = 0.0
    for part, rows in (("dev", split.dev), ("test", split.test)):
        chosen = rated.take(rows[:QUICK_SENTENCES] if options.quick else rows)
        inputs = chosen.outputs, (chosen.sources, chosen.outputs)
        old, new = (bundle.predict(*inputs, _RUNTIME) for bundle in (exact, other))
        for column, aspect in enumerate(rated.aspects):
            before, after = (pearson(chosen.ratings[:, column], p[aspect]) for p in (old, new))
            worst = max(worst, abs(after - before))
            lines.append(f"{part}, {aspect} {before:.4f} → {after:.4f}")
    return [
        checked(
            f"{name}: change of Pearson on TMU-GFM",
            f"{worst:.4f}",
            f"≤ {MOST}" if asked else "",
            worst <= MOST if asked else None,
            lines=("; ".join(lines),),
        )
    ]
