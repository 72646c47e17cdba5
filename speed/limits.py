"""How near each family of metrics comes to what the machine can do.

    python -m speed limits --data DIR [--mpnet DIR]

- Encoders and trainings: floating-point operations per processor second, compared with those of a
  single large matrix product in the same precision. Padding, tokenisation and repeated texts count
  as time, not as work. The work of a training is the multiplications for the word pieces of its
  examples.
- String metrics: bytes of text per processor second, compared with reading the same files and
  splitting their lines at blanks.
- Judges: requests per second, compared with a bare loop that posts the same number of requests to
  the same server, the same number at a time, and drops the replies.

Lines below the table show what takes the remaining time. One thread, models loaded before; the
limit is measured before and after each path, since the rate of a shared machine changes, and the
higher one counts.
"""

from __future__ import annotations

import contextlib
import cProfile
import io
import platform
import pstats
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from speed.harness import Claim, Options, checked, needs, timed
from speed.judges_server import apart, served
from speed.seeda import read_seeda

T = TypeVar("T")

_SHARE = 0.7  # of the matrix rate, the target for encoders
_USEFUL = 0.6  # of a training's time
_TEXTS, _QUICK_TEXTS = 1_500, 20
_REQUESTS, _QUICK_REQUESTS, _AT_ONCE = 3_000, 100, 64
_RATINGS, _QUICK_RATINGS = 1_000, 20
_TIMES, _QUICK_TIMES = 20, 1
_LISTED = 4  # names listed for the remaining time

_PRODUCTS = ("aten::addmm", "aten::mm", "aten::bmm", "aten::baddbmm", "mkldnn::_linear_pointwise")
_ATTENTION = "aten::_scaled_dot_product"


def measure(options: Options) -> list[Claim]:
    """Return the share of its limit that each path reaches."""
    needs("torch", "transformers", "openai")
    import torch

    torch.set_num_threads(1)
    return [
        _processor(),
        *_encoders(options),
        *_trainings(options),
        *_string_metrics(options),
        _judge(options),
    ]


def _processor() -> Claim:
    """Return the name of the processor and the instructions that multiply bfloat16."""
    import torch

    names: list[str] = []
    with contextlib.suppress(OSError):  # the file of Linux
        names = re.findall(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text("utf-8"))
    if torch.cpu._is_amx_tile_supported():
        instructions = "AMX"
    elif torch.cpu._is_avx512_bf16_supported():
        instructions = "AVX-512 BF16"
    else:
        instructions = "neither AMX nor AVX-512 BF16"
    name = names[0] if names else platform.processor()
    return checked("processor", f"{name}; {instructions} for bfloat16")


def matrix_rate(numbers: str) -> float:
    """Return the operations per processor second of a large product, the best of five."""
    import torch

    left, right = (torch.randn(shape).to(getattr(torch, numbers)) for shape in _PRODUCT)
    rows, inner, columns = len(left), len(right), right.shape[1]
    best = 0.0
    for _ in range(5):
        _, _, seconds = timed(lambda: [left @ right for _ in range(4)])
        best = max(best, 4 * 2 * rows * inner * columns / max(seconds, 1e-9))
    return best


_PRODUCT = ((2048, 768), (768, 3072))


_NO_BFLOAT16 = "not tried: this processor has no products of bfloat16"


def _beside_rate(numbers: str, call: Callable[[], T]) -> tuple[T, float, float]:
    """Return a result, its processor seconds, and the matrix rate before or after it."""
    before = matrix_rate(numbers)
    result, _, seconds = timed(call)
    return result, seconds, max(before, matrix_rate(numbers))


def _encoders(options: Options) -> Iterator[Claim]:
    from gecjury.core.runtime import Runtime
    from gecjury.models.encoder import EncoderSpec, forget, load_encoder
    from gecjury.models.networks import read_config
    from gecjury.models.precision import DType, multiplies_bfloat16

    texts = read_seeda(options, "subset")
    lines = [line for side in (*texts.systems.values(), *texts.references) for line in side]
    sample = lines[:: max(1, len(lines) // (_QUICK_TEXTS if options.quick else _TEXTS))]
    numbers: tuple[DType, ...] = ("float32", "float32-onednn", "bfloat16")
    for label, name in (("MiniLM", "embedded"), ("MPNet", options.mpnet)):
        if name is None:
            yield checked(label, "not tried: no model; name its folder with --mpnet DIR")
            continue
        for dtype in numbers:
            if dtype == "bfloat16" and not multiplies_bfloat16():
                yield checked(f"{label}, {dtype}", _NO_BFLOAT16)
                continue
            forget()
            spec = EncoderSpec(str(name), dtype=dtype)
            encoder = load_encoder(spec, Runtime(device="cpu", use_cache=False))
            config = read_config(spec.checkpoint())
            encoder.encode(sample[:2])
            encoder.clear()
            # Equal texts, and texts of equal word pieces, are read once: only these count as work.
            read = {tuple(ids) for ids in encoder.tokenise(sample)[0]}
            work = sum(_operations(config, encoder.layer, len(ids)) for ids in read)
            kind = dtype.removesuffix("-onednn")
            _, seconds, rate = _beside_rate(kind, partial(encoder.encode, sample))
            encoder.clear()
            rest = _profiled(partial(encoder.encode, sample))
            share = work / seconds / rate
            yield checked(
                f"{label}, {dtype}: share of the matrix rate on SEEDA",
                f"{share:.0%} of {rate / 1e9:.0f} GFLOP/s",
                f"≥ {_SHARE:.0%}",
                share >= _SHARE,
                ours=seconds,
                lines=(f"{len(read)} texts of {sum(map(len, read))} word pieces; {rest}",),
            )


def _operations(config: Any, layers: int, pieces: int) -> float:
    """Return the floating-point operations of some layers of a BERT for a text of a given length.

    Four square matrices and two of the feed-forward layer multiply every word piece; attention
    multiplies every pair of them twice. A multiplication with its addition counts as two.
    """
    width, inner = config.hidden_size, config.intermediate_size
    of_piece = 2 * (4 * width**2 + 2 * width * inner) + 4 * pieces * width
    return float(layers * pieces * of_piece)


def _profiled(call: Callable[[], Any]) -> str:
    """Return the shares of a call's time by torch's operations, the largest first."""
    shares, outside = _operation_shares(call)
    several = sorted(shares.items(), key=lambda item: -item[1])[:_LISTED]
    parts = [f"{name.removeprefix('aten::')[:32]} {share:.0%}" for name, share in several]
    return f"time: {', '.join(parts)}, outside of torch {outside:.0%}"


def _operation_shares(call: Callable[[], Any]) -> tuple[dict[str, float], float]:
    """Return the share of a call's time by torch's operation, and the share outside of torch."""
    from torch.profiler import ProfilerActivity, profile

    with profile(activities=[ProfilerActivity.CPU]) as record:
        _, seconds, _ = timed(call)
    spent = {event.key: event.self_cpu_time_total / 1e6 for event in record.key_averages()}
    return {name: value / seconds for name, value in spent.items()}, max(
        0.0, 1 - sum(spent.values()) / seconds
    )


def _trainings(options: Options) -> Iterator[Claim]:
    """Yield the share of trainings' time in multiplications of word pieces, in 32 and 16 bits."""
    from gecjury.models.encoder import forget
    from gecjury.models.precision import multiplies_bfloat16

    rows = _QUICK_RATINGS if options.quick else _RATINGS
    texts = read_seeda(options, "all")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rated = folder / "rated.tsv"
        # Only the time counts, so any numbers can be ratings.
        body = [f"{s}\t{1 + 3 * (row % 7) / 6:.3f}" for row, s in enumerate(texts.sources[:rows])]
        rated.write_text("\n".join(["output\tgrammaticality", *body]) + "\n", encoding="utf-8")
        for side, lines in (("source", texts.sources), ("ref", texts.references[0])):
            (folder / side).write_text("\n".join(lines) + "\n", encoding="utf-8")
        some = ("some", str(rated), "--encoder", "embedded", "--epochs", "1")
        sides = f"{folder / 'source'},{folder / 'ref'}"
        impara = ("impara", sides, "--epochs", "1", "--pairs", str(rows))
        frozen = (*impara, "--encoder", "embedded", "--freeze-layers", "0")
        commands = {
            "train some --encoder embedded": some,
            "train some --encoder embedded --bf16": (*some, "--bf16"),
            "train impara --encoder embedded --freeze-layers 0": frozen,
            "train impara --encoder embedded --freeze-layers 0 --bf16": (*frozen, "--bf16"),
        }
        for number, (label, argv) in enumerate(commands.items()):
            if not multiplies_bfloat16() and "--bf16" in argv:
                yield checked(f"gecjury {label}", _NO_BFLOAT16)
                continue
            quiet = ["-o", str(folder / f"out{number}"), "--leakage", "none", "--no-cache", "-q"]
            # Otherwise this training would reuse the edits that an earlier one weighed.
            forget()
            shares, padding, outside = _trained(["train", *argv, *quiet])
            products = sum(
                share
                for name, share in shares.items()
                if name in _PRODUCTS or name.startswith(_ATTENTION)
            )
            useful = products * (1 - padding)
            others = sorted(
                (item for item in shares.items() if item[0] not in _PRODUCTS),
                key=lambda item: -item[1],
            )[:_LISTED]
            rest = ", ".join(f"{n.removeprefix('aten::')[:32]} {s:.0%}" for n, s in others)
            yield checked(
                f"gecjury {label}: share of the time that is useful multiplication",
                f"{useful:.0%}",
                f"≥ {_USEFUL:.0%}",
                useful >= _USEFUL,
                lines=(
                    f"products {products:.0%} of the time, {padding:.1%} of the word pieces are "
                    f"padding; {rest}, outside of torch {outside:.0%}",
                ),
            )


def _trained(argv: Sequence[str]) -> tuple[dict[str, float], float, float]:
    """Return shares of time by operation, the share of padding, and the share outside of torch."""
    import transformers.trainer  # noqa: F401  (its import takes seconds, and is no training)

    from gecjury.cli import main
    from gecjury.refless.training import trainer

    pieces = {"read": 0, "padded": 0}
    plain = trainer.padded

    def counting(tokenizer: Any, inputs: Sequence[Any]) -> Any:
        batch = plain(tokenizer, inputs)
        pieces["read"] += int(batch["attention_mask"].sum())
        pieces["padded"] += batch["attention_mask"].numel()
        return batch

    def train() -> None:
        with contextlib.redirect_stdout(io.StringIO()):
            assert main(list(argv)) == 0, argv

    trainer.padded = counting
    try:
        shares, outside = _operation_shares(train)
    finally:
        trainer.padded = plain
    return shares, 1 - pieces["read"] / max(pieces["padded"], 1), outside


def _string_metrics(options: Options) -> Iterator[Claim]:
    from gecjury import load
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus, Version

    texts = read_seeda(options, "all")
    times = _QUICK_TIMES if options.quick else _TIMES
    # Every line ends with a unique token, so that no two lines are equal and none is skipped.
    sources, mine, *references = (
        [f"{line} #{number}" for number, line in enumerate(lines * times)]
        for lines in (texts.sources, texts.systems["GPT-3.5"], *texts.references)
    )
    sides = (sources, mine, *references)
    size = sum(len(line.encode()) + 1 for side in sides for line in side)
    with tempfile.TemporaryDirectory() as name:
        paths = []
        for number, side in enumerate(sides):
            paths.append(Path(name) / f"{number}.txt")
            paths[-1].write_text("\n".join(side) + "\n", encoding="utf-8")

        def read_and_split() -> int:
            count = 0
            for path in paths:
                with path.open(encoding="utf-8") as lines:
                    count += sum(len(line.split()) for line in lines)
            return count

        limit = size / min(timed(read_and_split)[2] for _ in range(3))
    runtime = Runtime(use_cache=False)
    for metric in ("changes", "green", "gleu", "i-measure", "errant", "cleme"):
        # Metrics that take milliseconds per sentence are measured on fewer sentences.
        rows = len(sources) if metric in ("changes", "green", "gleu") else len(texts.sources)
        corpus = Corpus(
            tuple(sources[:rows]),
            {"mine": Version(tuple(mine[:rows]))},
            tuple(Version(tuple(side[:rows])) for side in references),
        )
        scorer = load(metric)
        # Models are loaded before.
        scorer.score_corpus(corpus.take(range(2)), runtime)
        score = partial(scorer.score_corpus, corpus, runtime)
        _, _, seconds = timed(score)
        watch = cProfile.Profile()
        watch.runcall(score)
        share = size * rows / len(sources) / seconds / limit
        yield checked(
            f"{metric}: bytes a second beside reading and splitting",
            f"{share:.1%} of {limit / 1e6:.0f} MB/s",
            ours=seconds,
            lines=(f"{rows:,} pairs, {rows / seconds:,.0f} a second; {_longest(watch)}",),
        )


def _longest(watch: cProfile.Profile) -> str:
    """Return the functions with the most own time in Python's profiler."""
    rows: dict[Any, Any] = pstats.Stats(watch).stats  # type: ignore[attr-defined]
    total = sum(row[2] for row in rows.values())
    several = sorted(rows.items(), key=lambda item: -item[1][2])[:_LISTED]
    names = (f"{name.strip('<>')[:48]} {row[2] / total:.0%}" for (_, _, name), row in several)
    return f"time: {', '.join(names)}"


_LOOP = """
import asyncio, sys, time
import httpx

async def loop(url, count, at_once):
    body = {"model": "fake", "messages": [{"role": "user", "content": sys.stdin.read()}]}
    async with httpx.AsyncClient(limits=httpx.Limits(max_connections=at_once)) as client:
        left = iter(range(count))
        async def post():
            for _ in left:
                (await client.post(url + "/chat/completions", json=body)).read()
        start = time.perf_counter()
        await asyncio.gather(*(post() for _ in range(at_once)))
        return time.perf_counter() - start

print(asyncio.run(loop(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
"""


def _judge(options: Options) -> Claim:
    count = _QUICK_REQUESTS if options.quick else _REQUESTS
    with served(0.0) as url:
        argv = [sys.executable, "-c", _LOOP, url, str(count), str(_AT_ONCE)]
        # A question of usual length, with the marks that the server looks for.
        fence = "=== 0123456789ab ==="
        question = "\n".join(
            [fence, "He go to school . " * 20, fence, "He goes to school .", fence]
        )
        done = subprocess.run(argv, input=question, capture_output=True, text=True, check=True)
        bare = count / float(done.stdout)
        judged = count / apart("score", count, url, _AT_ONCE)["seconds"]
    return checked(
        f"openai backend, {_AT_ONCE} at once: requests a second beside a bare loop",
        f"{judged / bare:.0%} of {bare:.0f} a second",
        ours=count / judged,
        lines=("the bare loop posts by httpx; the rest: the openai client, checks, the store",),
    )
