"""Batches of word pieces: the memory, the threads and the device that process them.

Encoders read batches of texts of equal length, which need no padding. Networks with heads read
texts sorted by falling length, padded to the longest of their batch. These batches are fewer and
larger, which saves such models and accelerators more than padding costs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

from gecjury.core.errors import OptionError
from gecjury.models.foreign import Network

_T = TypeVar("_T")

MOST = 64  # texts in a batch, unless memory holds fewer or a GPU gains from more
# A text longer than this counts as more than one.
_PIECES_PER_TEXT = 32
_PADDED_PIECES_PER_TEXT = 64
# The rest is for fragments, for libraries and for other processes.
_USED = 0.75
_FIRST = 4096  # word pieces of a GPU's first batch, on which its memory is measured

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


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
    kind, colon, number = wanted.partition(":")
    numbered = kind == "cuda" and number.isascii() and number.isdecimal()
    if kind not in ("cpu", "cuda", "mps") or (colon and not numbered):
        raise OptionError(f"device {wanted!r}: expected auto, cpu, cuda, cuda:N or mps")
    present = {"cpu": True, "cuda": cuda, "mps": mps}[kind]
    if present and number:
        present = int(number) < torch.cuda.device_count()
    if not present:
        raise OptionError(f"device {wanted!r} is not on this machine; use `device=auto` or cpu")
    return wanted


def cpu_pieces(model: Network, length: int) -> float:
    """Return how many word pieces of texts of a length memory holds, estimated from the layers."""
    config = getattr(model, "config", None)
    hidden, layers, heads = (
        int(getattr(config, name, None) or 0)
        for name in ("hidden_size", "num_hidden_layers", "num_attention_heads")
    )
    # The widest layer is the second of a block, or the output matrix of a language model: its
    # outputs, what they are turned into, and a copy. Besides, the states of every layer may be
    # kept, and some attention computes all its weights.
    widths = (getattr(module, "out_features", 0) for module in model.modules())
    numbers = 3 * max(widths, default=0) + (layers + 6) * hidden + 4 * heads * length
    return _USED * free_memory() / max(4 * numbers, 1)


def free_memory() -> float:
    """Return the bytes that this process can still use; infinite where Linux does not tell."""
    try:
        lines = (_PROC / "meminfo").read_text().splitlines()
        fields = dict(line.split(":", 1) for line in lines)
        free = 1024.0 * int(fields["MemAvailable"].split()[0])
        groups = (_PROC / "self" / "cgroup").read_text().splitlines()
    except (OSError, KeyError, ValueError):
        return math.inf
    for _, kinds, path in (line.split(":", 2) for line in groups):
        if kinds == "":
            root, names = _CGROUPS, ("memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            root = _CGROUPS / "memory"
            names = ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file")
        else:
            continue
        # A limit of an outer group counts, too. A container sees its own group as the root.
        folder = root / path.lstrip("/")
        for group in (folder, *folder.parents):
            free = min(free, _group_memory(group, *names))
            if group == root:
                break
    return free


def _group_memory(folder: Path, limit: str, usage: str, cached: str) -> float:
    """Return the bytes that a control group leaves to its processes; infinite without a limit."""
    try:
        room = int((folder / limit).read_text()) - int((folder / usage).read_text())
        stats = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return room + int(stats[cached])  # files that memory caches, and that give way
    except (OSError, KeyError, ValueError):  # no such group, or the limit is `max`
        return math.inf


class Room:
    """How many word pieces of a model's texts a GPU holds at once, measured on its batches.

    Attributes:
        pieces: number of padded word pieces.
        length: longest text for which this holds; attention takes longer ones more memory a piece.
    """

    def __init__(self, device: object) -> None:
        self.device = device
        self.pieces = float(_FIRST)
        self.length = math.inf
        self._measured = 0
        self._before = 0
        self._ran_out = False

    def texts(self, length: int) -> int:
        """Return how many texts of a length fit, at least one."""
        length = max(length, 1)
        return max(1, int(self.pieces * min(1.0, self.length / length)) // length)

    def begin(self) -> None:
        """Begin to measure a batch."""
        import torch

        torch.cuda.reset_peak_memory_stats(self.device)
        self._before = torch.cuda.memory_allocated(self.device)

    def end(self, count: int, length: int) -> None:
        """Measure what a batch took, if its texts are longer or more than those measured before."""
        import torch

        pieces = count * length
        longer = length > self.length or math.isinf(self.length)
        if self._ran_out or not (longer or pieces > self._measured):
            return
        taken = torch.cuda.max_memory_allocated(self.device) - self._before
        unused = torch.cuda.memory_reserved(self.device) - torch.cuda.memory_allocated(self.device)
        free = torch.cuda.mem_get_info(self.device)[0] + unused
        self.pieces = _USED * free * pieces / max(taken, 1)
        self.length, self._measured = length, pieces

    def halve(self, count: int, length: int) -> None:
        """Keep to half a batch that memory was too small for.

        Raises:
            OptionError: it is a single text.
        """
        import torch

        torch.cuda.empty_cache()
        if count == 1:
            raise OptionError(
                f"the GPU's memory is too small for one text of {length} word pieces: free memory, "
                "or use another `device=` or a smaller model"
            )
        self.pieces, self.length, self._ran_out = count // 2 * length, length, True
