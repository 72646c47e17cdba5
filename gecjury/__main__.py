"""Run the command line as `python -m gecjury`, or as the program `gecjury`."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def run() -> int:
    """Run the command line; an interruption during its import prints one line."""
    # The matrix products of statistics and of the tagger are so small that a second thread of
    # numpy's library would only wait, at full load. torch has threads of its own.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Libraries start processes, too (`python -c`), which must not import from somebody's data.
    os.environ.setdefault("PYTHONSAFEPATH", "1")
    try:
        from gecjury.cli import main
    except KeyboardInterrupt:
        print("gecjury: interrupted", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    # `-m` searches the working directory first, where files may be called like modules.
    if not sys.flags.safe_path and sys.path[0] != str(Path(__file__).parents[1]):
        del sys.path[0]
    sys.exit(run())
