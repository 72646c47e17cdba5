"""Batches of word pieces, and the threads and the device that process them.

Encoders read batches of texts of equal length, which need no padding. Networks with heads read
texts sorted by falling length, padded to the longest of their batch. These batches are fewer and
larger, which saves such models and accelerators more than padding costs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar
from weakref import WeakKeyDictionary

from gecjury.core.errors import OptionError
from gecjury.models.foreign import Network
from gecjury.models.memory import Room, cpu_pieces

_T = TypeVar("_T")

MOST = 64  # texts in a batch, unless memory holds fewer or a GPU gains from more
# A text longer than this counts as more than one.
_PIECES_PER_TEXT = 32
_PADDED_PIECES_PER_TEXT = 64


def equal_batches(lengths: Sequence[int], most: int | None) -> list[list[int]]:
    """Return the positions of texts in batches of equal length, the largest batches first.

    Args:
        lengths: word pieces of each text.
        most: texts of 32 word pieces in a batch; a batch of longer texts has proportionally fewer.
            With None, all texts of a length are a batch.
    """
    by_length: dict[int, list[int]] = {}
    for place, length in enumerate(lengths):
        by_length.setdefault(length, []).append(place)
    batches = []
    for length, places in by_length.items():
        room = len(places)
        if most is not None:
            room = max(1, min(most, most * _PIECES_PER_TEXT // max(length, 1)))
        count = -(-len(places) // room)
        # Split evenly: a last batch of only a few texts would cost as much as half a full one.
        batches += [places[part::count] for part in range(count)]
    return sorted(batches, key=lambda batch: -len(batch) * lengths[batch[0]])


def padded_batches(lengths: Sequence[int], most: int | None) -> list[list[int]]:
    """Return the positions of texts by falling length, in batches to be padded to the longest text.

    Args:
        lengths: word pieces of each text.
        most: texts of 64 word pieces in a batch; more if they are shorter, fewer if longer. With
            None, a batch goes on after 64 as long as padding is at most a sixteenth of a text.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batches = []
    start = 0
    while start < len(order):
        longest = lengths[order[start]]
        end = start + max(1, (most or MOST) * _PADDED_PIECES_PER_TEXT // max(longest, 1))
        while most is None and end < len(order) and 16 * lengths[order[end]] >= 15 * longest:
            end += 1
        batches.append(order[start:end])
        start = end
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


def in_batches(
    model: Network,
    lengths: Sequence[int],
    work: Callable[[list[int]], _T],
    most: int | None,
    *,
    equal: bool = False,
    threads: int = 1,
) -> Iterator[tuple[list[int], _T]]:
    """Process texts in batches that memory holds.

    A GPU gets the largest batches that its memory holds. On other devices larger batches are not
    faster, so they have 64 texts, or fewer if memory is short.

    Args:
        model: the model that reads the texts; what its batches take of a GPU's memory is kept.
        lengths: word pieces of each text.
        work: processes the texts at some positions.
        most: the most texts in a batch (see `padded_batches` and `equal_batches`); None for as
            many as are useful.
        equal: whether a batch has texts of equal length, so that none is padded.
        threads: batches processed at once on a CPU.

    Yields:
        The positions of each batch, and its result.

    Raises:
        OptionError: the GPU's memory is too small for a single text.
    """
    device = next(model.parameters()).device
    per_text = _PIECES_PER_TEXT if equal else _PADDED_PIECES_PER_TEXT
    plan = equal_batches if equal else padded_batches
    if device.type != "cuda":
        fit = cpu_pieces(model, max(lengths, default=0)) / (threads * per_text)
        yield from work_through(plan(lengths, max(1, int(min(most or MOST, fit)))), work, threads)
        return
    room = rooms.setdefault(model, Room(device))
    yield from _as_many_as_fit(plan(lengths, most), lengths, work, room)


def _as_many_as_fit(
    batches: Iterable[list[int]],
    lengths: Sequence[int],
    work: Callable[[list[int]], _T],
    room: Room,
) -> Iterator[tuple[list[int], _T]]:
    """Process batches on a GPU, in parts where its memory does not hold them whole."""
    import torch

    for batch in batches:
        while batch:
            longest = lengths[batch[0]]
            part = batch[: room.texts(longest)]
            room.begin()
            full = False
            try:
                result = work(part)
            except torch.OutOfMemoryError:
                full = True  # What the failed call holds is only freed outside of this handler.
            if full:
                room.halve(len(part), longest)
                continue
            room.end(len(part), longest)
            yield part, result
            batch = batch[len(part) :]


rooms: WeakKeyDictionary[Network, Room] = WeakKeyDictionary()
"""Measured memory of a GPU, by loaded model."""


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
        raise OptionError(f"device {wanted!r} is not on this machine; use `device=auto` or cpu")
    return wanted
