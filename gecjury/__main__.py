"""Run the command line as `python -m gecjury`, or as the program `gecjury`."""

from __future__ import annotations

import os
import sys


def run() -> int:
    """Run the command line; an interruption during its import prints one line."""
    # `python -m` looks for modules in the working folder first, which may hold somebody's data.
    if not sys.flags.safe_path and __name__ == "__main__" and not _holds_us(sys.path[0]):
        del sys.path[0]
    # The matrix products of statistics and of the tagger are so small that a second thread of
    # numpy's library would only wait, at full load. torch has threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from gecjury.cli import main
    except KeyboardInterrupt:
        print("gecjury: interrupted", file=sys.stderr)
        return 130
    return main()


def _holds_us(folder: str) -> bool:
    """Return True if a folder is where this package is imported from, as in a checkout."""
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
    return os.path.realpath(folder) == os.path.realpath(here)


if __name__ == "__main__":
    sys.exit(run())
