"""What the user may have meant: the nearest known names to one that is unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

__all__ = ["nearest", "nearest_of"]


def nearest(name: str, known: Iterable[str]) -> str:
    """A clause naming what the user may have meant, or all that is known."""
    import difflib

    names = sorted(known)
    close = difflib.get_close_matches(name.lower(), names, n=3, cutoff=0.5)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"known: {', '.join(names)}" if names else "there are none"


def nearest_of(name: str, known: Sequence[str]) -> str:
    """A clause naming what the user may have meant, and all that is known in the order given."""
    every = f"there are: {', '.join(known)}" if known else "there are none"
    clause = nearest(name, known)
    return f"{clause} {every[0].upper()}{every[1:]}" if clause.startswith("did") else every
