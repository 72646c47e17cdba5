"""Batches for training: order, padding, and the losses of the objectives."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

__all__ = ["EpochOrder", "Example", "Objective", "collator", "length_of", "losses"]

Objective = Literal["regression", "ranking", "detection"]
Example = Mapping[str, Any]


def losses(kind: str) -> dict[str, Callable[[Any, Any], Any]]:
    """Mean loss of a batch's outputs and labels, by objective.

    Args:
        kind: of the regression, `mse` or `huber` (δ = 1); cells without a rating do not count.
    """
    import torch
    from torch.nn import functional

    def regression(logits: Any, labels: Any) -> Any:
        rated = ~labels.isnan()
        # Adding nothing keeps every head in the graph, as distributed training expects.
        if not bool(rated.any()):
            return 0.0 * logits.sum()
        pointwise = functional.huber_loss if kind == "huber" else functional.mse_loss
        return pointwise(logits[rated], labels[rated]) + 0.0 * logits.sum()

    def ranking(logits: Any, labels: Any) -> Any:
        better, worse = logits[labels > 0], logits[labels < 0]
        return torch.sigmoid(worse - better).mean()

    def detection(logits: Any, labels: Any) -> Any:
        return functional.cross_entropy(
            logits.reshape(-1, logits.shape[-1]), labels.reshape(-1), ignore_index=-100
        )

    return {"regression": regression, "ranking": ranking, "detection": detection}


def collator(tokenizer: Any, objective: Objective) -> Callable[[Sequence[Example]], Any]:
    """A function that pads examples into a batch; pairs become better ones, then worse ones."""
    import torch

    def pad(texts: Sequence[Example]) -> dict[str, Any]:
        keys = [key for key in texts[0] if key != "labels"]
        return dict(
            tokenizer.pad({k: [text[k] for text in texts] for k in keys}, return_tensors="pt")
        )

    def collate(examples: Sequence[Example]) -> dict[str, Any]:
        if objective == "ranking":
            batch = pad([e["better"] for e in examples] + [e["worse"] for e in examples])
            batch["labels"] = torch.tensor([1.0] * len(examples) + [-1.0] * len(examples))
            return batch
        batch = pad(examples)
        if objective == "regression":
            batch["labels"] = torch.tensor([e["labels"] for e in examples], dtype=torch.float32)
        else:
            width = batch["input_ids"].shape[1]
            batch["labels"] = torch.tensor(
                [list(e["labels"]) + [-100] * (width - len(e["labels"])) for e in examples]
            )
        return batch

    return collate


def length_of(example: Example) -> int:
    """Word pieces of an example; of a pair those of the longer sentence."""
    if "better" in example:
        return max(len(example[side]["input_ids"]) for side in ("better", "worse"))
    return len(example["input_ids"])


class EpochOrder:
    """Row numbers in an order drawn from seed and epoch; rows of like length stand together.

    Shuffled rows are cut into stretches of fifty batches, each sorted by length and its batches
    shuffled, so that little is padded.
    """

    def __init__(self, lengths: Sequence[int], batch: int, seed: int) -> None:
        self.lengths = np.array(lengths)
        self.batch = batch
        self.seed = seed
        self.epoch = 0

    def set_epoch(self, epoch: int) -> None:
        """Called by the Trainer before each epoch."""
        self.epoch = epoch

    def __len__(self) -> int:
        return len(self.lengths)

    def __iter__(self) -> Iterator[int]:
        rng = np.random.default_rng([self.seed, self.epoch])
        order = rng.permutation(len(self.lengths))
        stretch = 50 * self.batch
        batches = []
        for start in range(0, len(order), stretch):
            rows = order[start : start + stretch]
            rows = rows[np.argsort(-self.lengths[rows], kind="stable")]
            batches += [rows[i : i + self.batch] for i in range(0, len(rows), self.batch)]
        # The short batch must stay last, or batches would be cut at other places.
        full = [batch for batch in batches if len(batch) == self.batch]
        rest = [batch for batch in batches if len(batch) < self.batch]
        rng.shuffle(full)
        for batch in [*full, *rest]:
            yield from batch.tolist()
