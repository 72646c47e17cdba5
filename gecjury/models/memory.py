"""Memory for batches of texts: what is free on a device, and how many word pieces it holds."""

from __future__ import annotations

import math
from pathlib import Path

from gecjury.core.errors import OptionError
from gecjury.models.foreign import Network

# The rest is for fragments, for libraries and for other processes.
_USED = 0.75
_FIRST = 4096  # word pieces of a GPU's first batch, on which its memory is measured

_PROC = Path("/proc")
_CGROUPS = Path("/sys/fs/cgroup")


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
