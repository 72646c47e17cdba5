"""Batches of word pieces, and the threads and the device that process them.

Encoders read batches of texts of equal length, which need no padding. Networks with heads read
texts sorted by falling length, padded to the longest of their batch. These batches are fewer and
larger, which saves such models and accelerators more than padding costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from gecjury.core.errors import OptionError

_T = TypeVar("_T")

# Batch sizes are given in texts; a text longer than this counts as more than one.
_PIECES_PER_TEXT = 32
_PADDED_PIECES_PER_TEXT = 64


def equal_batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Return the positions of texts in batches of equal length, the largest batches first.

    Args:
        lengths: word pieces of each text.
        most: texts of 32 word pieces in a batch; a batch of longer texts has proportionally fewer.
    """
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    batches = []
    for length, places in by_length.items():
        room = max(1, min(most, most * _PIECES_PER_TEXT // max(length, 1)))
        count = -(-len(places) // room)
        # Split evenly: a last batch of only a few texts would cost as much as half a full one.
        batches += [places[part::count] for part in range(count)]
    return sorted(batches, key=lambda batch: -len(batch) * lengths[batch[0]])


def padded_batches(lengths: Sequence[int], most: int) -> list[list[int]]:
    """Return the positions of texts by falling length, in batches to be padded to the longest text.

    Args:
        lengths: word pieces of each text.
        most: texts of 64 word pieces in a batch; more if they are shorter, fewer if longer.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batches = []
    start = 0
    while start < len(order):
        size = max(1, most * _PADDED_PIECES_PER_TEXT // max(lengths[order[start]], 1))
        batches.append(order[start : start + size])
        start += size
    return batches


def cpu_threads(device: str) -> int:
    """Return how many batches are processed at once: one for each of torch's CPU threads."""
    import torch

    return torch.get_num_threads() if device == "cpu" else 1


def work_through(
    batches: Sequence[list[int]], work: Callable[[list[int]], _T], threads: int
) -> Iterator[tuple[list[int], _T]]:
    """Process batches in parallel, each in its own thread.

    Batches of short texts are small. Threads that share one wait for each other at every layer,
    especially if the machine is busy with other work.

    Yields:
        Each batch and its result, in order.
    """
    if threads < 2 or len(batches) < 2:
        for batch in batches:
            yield batch, work(batch)
        return
    import torch

    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=torch.set_num_threads, initargs=(1,)) as pool:
            yield from zip(batches, pool.map(work, batches), strict=True)
    finally:
        # The workers' call also sets the default for threads that start later.
        torch.set_num_threads(before)


def pick_device(wanted: str) -> str:
    """Return the torch device that `auto`, `cpu`, `cuda`, `cuda:N` or `mps` means here.

    Raises:
        OptionError: not a device, or one that this machine does not have.
    """
    import torch

    cuda, mps = torch.cuda.is_available(), torch.backends.mps.is_available()
    if wanted == "auto":
        return "cuda" if cuda else "mps" if mps else "cpu"
    kind, _, number = wanted.partition(":")
    if kind not in ("cpu", "cuda", "mps") or (number and not (kind == "cuda" and number.isdigit())):
        raise OptionError(f"device {wanted!r}: expected auto, cpu, cuda, cuda:N or mps")
    present = {"cpu": True, "cuda": cuda, "mps": mps}[kind]
    if present and number:
        present = int(number) < torch.cuda.device_count()
    if not present:
        raise OptionError(f"device {wanted!r} is not on this machine; use --device auto or cpu")
    return wanted
