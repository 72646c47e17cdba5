"""Steps of training on processors: what each change of a step is worth, and the memory kept.

    python -m speed training

A step fine-tunes an encoder of MPNet's size with random weights: forward and backward in bfloat16,
the limit of the gradient's norm, and AdamW, as in `gecjury train`. The usual one has 16 sentences,
trains all weights and keeps the memory that it frees; the other side differs in one thing. Both
sides run in separate processes, in turns; the medians of the milliseconds a sentence are compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median

from speed.harness import ROOT, Claim, Options, faster, needs

ROUNDS = 3
_SHAPE = {"vocab_size": 30527}  # and MPNet's usual sizes
_QUICK_SHAPE = {"vocab_size": 100, "hidden_size": 24, "num_attention_heads": 2,
                "intermediate_size": 24, "num_hidden_layers": 1}  # fmt: skip
_USUAL = {"kept": True, "batch": 16, "parts": 1, "frozen": False, "fused": True, "attention": 0.1,
          "bits": 16}  # fmt: skip

# What the usual step does, with what the other side does instead.
_DONE: dict[str, dict[str, object]] = {
    "keeping the memory that a step frees": {"kept": False},
    "AdamW in a single kernel": {"fused": False},
}
# What else could be done.
_TRIED: dict[str, dict[str, object]] = {
    "two batches a step (accumulation 2)": {"parts": 2},
    "batches of 32": {"batch": 32},
    "frozen word embeddings": {"frozen": True},
    "no dropout of attention": {"attention": 0.0},
    "32 bits": {"bits": 32},
}

# Prints the median milliseconds a sentence of a step.
_RUN = """
import statistics, time
import torch, transformers
from gecjury.refless.training.trainer import keep_freed_memory
if {kept}:
    keep_freed_memory()
torch.manual_seed(0)
config = transformers.MPNetConfig(
    **{shape}, num_labels=3, attention_probs_dropout_prob={attention}
)
model = transformers.MPNetForSequenceClassification(config).train()
model.get_input_embeddings().requires_grad_(not {frozen})
weights = [one for one in model.parameters() if one.requires_grad]
optimiser = torch.optim.AdamW(weights, lr=1e-5, fused={fused})
pieces, wanted = torch.randint(3, config.vocab_size, ({batch}, 24)), torch.randn({batch}, 3)
seconds = []
for _ in range({steps}):
    start = time.perf_counter()
    for _ in range({parts}):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled={bits} == 16):
            logits = model(input_ids=pieces).logits
        torch.nn.functional.mse_loss(logits.float(), wanted).backward()
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    optimiser.step()
    optimiser.zero_grad()
    seconds.append(time.perf_counter() - start)
print(1000 * statistics.median(seconds[len(seconds) // 3:]) / {batch} / {parts})
"""


def measure(options: Options) -> list[Claim]:
    """Return what each change is worth."""
    needs("torch", "transformers")
    done = [_compared(name, {}, change, options.quick) for name, change in _DONE.items()]
    tried = [_compared(name, change, {}, options.quick) for name, change in _TRIED.items()]
    return done + tried


def _compared(name: str, ours: dict[str, object], theirs: dict[str, object], quick: bool) -> Claim:
    sides: list[list[float]] = [[], []]
    for _ in range(1 if quick else ROUNDS):
        for change, rounds in zip((ours, theirs), sides, strict=True):
            shape = _QUICK_SHAPE if quick else _SHAPE
            program = _RUN.format(**{**_USUAL, **change}, shape=shape, steps=9)
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                encoding="utf-8",
                check=True,
            )
            rounds.append(float(done.stdout))
    with_it, without = map(median, sides)
    return faster(
        f"a sentence of a training step, {name}",
        with_it / 1000,
        without / 1000,
        lines=(f"{with_it:.0f} and {without:.0f} ms a sentence",),
    )
