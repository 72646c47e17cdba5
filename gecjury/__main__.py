"""Run the command line as `python -m gecjury`, or as the program `gecjury`."""

from __future__ import annotations

import os
import sys


def run() -> int:
    """Run the command line; an interruption during its import prints one line."""
    # The matrix products of statistics and of the tagger are so small that a second thread of
    # numpy's library would only wait, at full load. torch has threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from gecjury.cli import main
    except KeyboardInterrupt:
        print("gecjury: interrupted", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(run())
