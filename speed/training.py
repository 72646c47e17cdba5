"""Steps of training on processors: the memory that a step frees is kept, or given back.

    python -m speed training

A step fine-tunes an encoder of MPNet's size with random weights and frozen word embeddings: forward
and backward in bfloat16, the limit of the gradient's norm, and AdamW, as in `gecjury train`. Both
sides run in separate processes, in turns; the medians of all rounds are compared.
"""

from __future__ import annotations

import os
import subprocess
import sys
from statistics import median

from speed.harness import ROOT, Claim, Options, faster, needs

ROUNDS = 5
BATCHES = (16, 32)
_SHAPE = {"vocab_size": 30527}  # and MPNet's usual sizes
_QUICK_SHAPE = {"vocab_size": 100, "hidden_size": 24, "num_attention_heads": 2,
                "intermediate_size": 24, "num_hidden_layers": 1}  # fmt: skip

# Prints the median seconds of a step.
_RUN = """
import statistics, time
import torch, transformers
from gecjury.refless.training.trainer import keep_freed_memory
if {kept}:
    keep_freed_memory()
torch.manual_seed(0)
config = transformers.MPNetConfig(**{shape}, num_labels=3)
model = transformers.MPNetForSequenceClassification(config).train()
model.get_input_embeddings().requires_grad_(False)
weights = [one for one in model.parameters() if one.requires_grad]
optimiser = torch.optim.AdamW(weights, lr=1e-5, fused=True)
pieces, wanted = torch.randint(3, config.vocab_size, ({batch}, 24)), torch.randn({batch}, 3)
seconds = []
for _ in range({steps}):
    start = time.perf_counter()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(input_ids=pieces).logits
    torch.nn.functional.mse_loss(logits.float(), wanted).backward()
    torch.nn.utils.clip_grad_norm_(weights, 1.0)
    optimiser.step()
    optimiser.zero_grad()
    seconds.append(time.perf_counter() - start)
print(statistics.median(seconds[len(seconds) // 3:]))
"""


def measure(options: Options) -> list[Claim]:
    """Run both sides for each batch size."""
    needs("torch", "transformers")
    batches = BATCHES[:1] if options.quick else BATCHES
    return [_compared(batch, options.quick) for batch in batches]


def _compared(batch: int, quick: bool) -> Claim:
    seconds: dict[bool, list[float]] = {True: [], False: []}
    for _ in range(1 if quick else ROUNDS):
        for kept, rounds in seconds.items():
            program = _RUN.format(
                kept=kept, batch=batch, shape=_QUICK_SHAPE if quick else _SHAPE, steps=9
            )
            done = subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONPATH": str(ROOT)},
                stdout=subprocess.PIPE,
                encoding="utf-8",
                check=True,
            )
            rounds.append(float(done.stdout))
    ours, theirs = (median(seconds[kept]) for kept in (True, False))
    return faster(
        f"a step of {batch} sentences on MPNet-base, bfloat16",
        ours,
        theirs,
        lines=(f"{1000 * ours / batch:.0f} and {1000 * theirs / batch:.0f} ms a sentence",),
    )
