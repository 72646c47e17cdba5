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
_U = TypeVar("_U")

# Batch sizes are given in texts; a text longer than this counts as more than one.
_PIECES_PER_TEXT = 32
_PADDED_PIECES_PER_TEXT = 64


def equal_room(length: int, most: int) -> int:
    """Return how many texts of a length are in a full batch of `equal_batches`."""
    return max(1, min(most, most * _PIECES_PER_TEXT // max(length, 1)))


def padded_room(length: int, most: int) -> int:
    """Return how many texts up to a length are in a full batch of `padded_batches`."""
    return max(1, most * _PADDED_PIECES_PER_TEXT // max(length, 1))


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
        room = equal_room(length, most)
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
        size = padded_room(lengths[order[start]], most)
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


def run_batch(work: Callable[[Sequence[_U]], _T], batch: Sequence[_U], most: int, room: int) -> _T:
    """Process a batch on the device.

    Args:
        work: processes a batch.
        batch: the items of the batch.
        most: the run's batch size, as the user gave it.
        room: how many such items are in a full batch of that size.

    Raises:
        OptionError: the GPU's memory is too small for the batch; names the batch size that fits.
    """
    import torch

    try:
        return work(batch)
    except torch.OutOfMemoryError:
        pass  # What the failed call holds is only freed outside of this handler.
    part = fitting_part(work, batch)
    if not part:
        raise OptionError(
            "the GPU's memory is too small even for --batch-size 1: use another --device or a "
            "smaller model"
        )
    # Half of what fits: longer texts need more memory for attention than as many word pieces of
    # shorter ones, and smaller batches cost a GPU hardly any time.
    raise OptionError(
        f"the GPU's memory is too small for --batch-size {most}: use --batch-size "
        f"{max(1, most * part // (2 * room))}, which fits"
    )


def fitting_part(work: Callable[[Sequence[_U]], object], batch: Sequence[_U]) -> int:
    """Return how many items of a batch fit in the GPU's memory, found by halving; 0 if none."""
    import torch

    part = len(batch) // 2
    while part:
        torch.cuda.empty_cache()
        try:
            work(batch[:part])
        except torch.OutOfMemoryError:
            part //= 2
        else:
            break
    return part


def pick_device(wanted: str) -> str:
    """Return the torch device that `auto`, `cpu`, `cuda`, `cuda:N` or `mps` means here.

    On GPUs, attention is no longer computed by cuDNN.

    Raises:
        OptionError: not a device, or one that this machine does not have.
    """
    import torch

    # cuDNN prepares its attention anew for every length of a batch, which takes longer than the
    # batch itself. torch's own kernels need no preparation.
    torch.backends.cuda.enable_cudnn_sdp(False)

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
