"""Which device of this machine a neural model runs on."""

from __future__ import annotations

from gecjury.errors import OptionError

__all__ = ["pick_device"]


def pick_device(wanted: str) -> str:
    """The torch device that `auto`, `cpu`, `cuda`, `cuda:N` or `mps` means here.

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
    there = {"cpu": True, "cuda": cuda, "mps": mps}[kind]
    if there and number:
        there = int(number) < torch.cuda.device_count()
    if not there:
        raise OptionError(f"device {wanted!r} is not on this machine; use --device auto or cpu")
    return wanted
