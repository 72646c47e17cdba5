"""Models of real size with random weights on a GPU: sentences a second, and an epoch of a training.

    python -m speed gpu

The texts are made up, as many and as long as TMU-GFM's. The share is that of the rate of a large
product of matrices in the same number format. Only the products of layers and of attention count as
work, padding does not. Nothing but torch, transformers and this repository is needed. With
`--quick`, the models are tiny, and run on the CPU if there is no GPU.
"""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.models.batching import pick_device, rooms
from speed.bare import stand_in
from speed.harness import Claim, Lacking, Options, checked, needs, timed

TEXTS, SCORED, ROUNDS, SIDE = 4_221, 2_000, 2, 8192
QUICK_TEXTS, QUICK_SIDE = 30, 128

_LARGE = {
    "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096,
}  # fmt: skip
_QWEN = {"vocab_size": 151_936, "num_key_value_heads": 2, "tie_word_embeddings": True}
SIZES: dict[str, tuple[str, dict[str, Any]]] = {
    "BERT-base": ("bert", {}),
    "ELECTRA-large": ("electra", {**_LARGE, "embedding_size": 1024}),
    "DeBERTa-large": ("deberta-v2", {
        **_LARGE, "vocab_size": 128_100, "relative_attention": True, "position_buckets": 256,
        "norm_rel_ebd": "layer_norm", "share_att_key": True, "pos_att_type": ["p2c", "c2p"],
        "position_biased_input": False, "type_vocab_size": 0,
    }),
    "decoder of 0.5B": ("qwen2", {
        **_QWEN, "hidden_size": 896, "num_hidden_layers": 24, "num_attention_heads": 14,
        "intermediate_size": 4864,
    }),
    "decoder of 1.5B": ("qwen2", {
        **_QWEN, "hidden_size": 1536, "num_hidden_layers": 28, "num_attention_heads": 12,
        "intermediate_size": 8960,
    }),
}  # fmt: skip
QUICK = {
    "vocab_size": 4_100, "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 64, "embedding_size": 64, "num_key_value_heads": 2,
}  # fmt: skip


def measure(options: Options) -> list[Claim]:
    """Measure every model in 32 and 16 bits, and an epoch of a training of BERT-base."""
    needs("torch", "transformers")
    import torch

    from speed.refless import make_models

    if not options.quick and not torch.cuda.is_available():
        raise Lacking("no GPU here: torch sees no CUDA device")
    stand_in()
    with tempfile.TemporaryDirectory() as made:
        folder, quick = Path(made), options.quick
        outputs = _texts(QUICK_TEXTS if quick else TEXTS)
        table = folder / "rated.csv"
        with table.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("source", "output", "grammaticality", "fluency", "meaning"))
            for number, text in enumerate(outputs):
                # Three corrections of a source, as in TMU-GFM.
                ratings = (1 + number * part % 4 for part in (1, 2, 3))
                writer.writerow((outputs[number // 3], text, *ratings))
        make_models(folder, outputs, 16, 1)
        texts = outputs[:SCORED]
        scored = (claim for label in SIZES for claim in _scoring(folder, quick, label, texts))
        return [*scored, *_trainings(folder, quick, table)]


def _texts(count: int) -> tuple[str, ...]:
    """Return texts of made-up words, with lengths distributed as those of TMU-GFM's outputs."""
    draw = np.random.default_rng(0)
    words = ["".join(draw.choice(list("abcdefghij"), 6)) for _ in range(3_000)]
    lengths = np.exp(draw.normal(2.89, 0.46, count)).clip(3, 85).astype(int)
    return tuple(" ".join(draw.choice(words, length)) for length in lengths)


def _matrix_rate(side: int, numbers: str) -> float:
    """Return the operations a second of a product of square matrices of random numbers."""
    import torch

    left, right = torch.randn(2, side, side, device=pick_device("auto")).to(getattr(torch, numbers))
    # Reading a number waits for the GPU.
    seconds = [timed(lambda: [left @ right for _ in range(4)][3][0, 0].item())[1] for _ in range(5)]
    return 4 * 2 * side**3 / min(seconds)


def _network(quick: bool, label: str, kind: str) -> Any:
    """Return a network with random weights."""
    import torch
    import transformers

    name, shape = SIZES[label]
    shape = {**shape, **(QUICK if quick else {}), "num_labels": 1}
    config = transformers.AutoConfig.for_model(name, **shape)
    torch.manual_seed(0)
    with torch.device(pick_device("auto")):
        return getattr(transformers, f"AutoModelFor{kind}").from_config(config)


def _scoring(folder: Path, quick: bool, label: str, texts: tuple[str, ...]) -> Iterator[Claim]:
    """Yield sentences a second of a network in 32 and in 16 bits."""
    import torch
    from transformers import AutoTokenizer

    from gecjury.core.runtime import Runtime
    from gecjury.models.precision import DType, placed
    from gecjury.refless.nets.language import mean_log_probabilities
    from gecjury.refless.nets.regressor import Regressor

    causal = label.startswith("decoder")
    network = _network(quick, label, "CausalLM" if causal else "SequenceClassification")
    weights = sum(m.weight.numel() for m in network.modules() if isinstance(m, torch.nn.Linear))
    width, layers = network.config.hidden_size, network.config.num_hidden_layers
    tokenizer = AutoTokenizer.from_pretrained(folder / ("language" if causal else "encoder"))
    lengths = [len(ids) for ids in tokenizer(list(texts))["input_ids"]]
    work = sum(2 * weights * n + 4 * layers * width * n * n for n in lengths)
    saved = str(folder / label)
    if causal:
        network.to(torch.bfloat16).save_pretrained(saved)
        tokenizer.save_pretrained(saved)
    runtime = Runtime(use_cache=False)
    numbers: tuple[DType, ...] = ("float32", "bfloat16")
    for dtype in numbers:
        read = (
            None
            if causal
            else Regressor(placed(network, dtype, pick_device("auto")), tokenizer, ("x",))
        )

        def score(some: tuple[str, ...], dtype: DType = dtype, read: Any = read) -> None:
            if read is None:
                mean_log_probabilities(saved, some, runtime, dtype)
            else:
                read.predict(some, None, runtime)

        rooms.clear()
        score(texts[:64])
        seconds = min(timed(lambda: score(texts))[1] for _ in range(ROUNDS))
        rate = _matrix_rate(QUICK_SIDE if quick else SIDE, dtype)
        held = [f"{room.pieces:,.0f} word pieces" for room in rooms.values()]
        yield checked(
            f"{label}, {dtype}: sentences a second",
            f"{len(texts) / seconds:.0f}",
            lines=(
                f"{work / seconds / rate:.0%} of the matrix rate, {rate / 1e12:.0f} TFLOP/s",
                f"memory holds batches of {' and '.join(held) or 'the usual size'}",
            ),
        )


def _trainings(folder: Path, quick: bool, table: Path) -> Iterator[Claim]:
    """Yield the seconds of one epoch of `train some --shared` with BERT-base."""
    from transformers import AutoTokenizer

    from gecjury.cli import main

    start = folder / "start"
    _network(quick, "BERT-base", "SequenceClassification").save_pretrained(start)
    AutoTokenizer.from_pretrained(folder / "encoder").save_pretrained(start)
    for name, options in (("float32", ()), ("bfloat16", ("--bf16",))):
        model = folder / name
        command = ["train", "some", str(table), "--encoder", str(start), "--shared", "-o"]
        command += [str(model), "--epochs", "1", "--leakage", "none", "-q"]
        command += ["--cache", str(folder / "cache")]
        status, seconds, _ = timed(partial(main, [*command, *options]))
        assert status == 0, command
        yield checked(
            f"train some --shared, BERT-base, {name}: seconds of an epoch",
            f"{seconds:.1f}",
            lines=("with loading, a checkpoint and the evaluation",),
        )
