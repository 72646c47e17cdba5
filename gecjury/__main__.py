"""Run the command line as `python -m gecjury`, or as the program `gecjury`."""

from __future__ import annotations

import sys


def run() -> int:
    """Run the command line; an interruption during its import prints one line."""
    try:
        from gecjury.cli import main
    except KeyboardInterrupt:
        print("gecjury: interrupted", file=sys.stderr)
        return 130
    return main()


if __name__ == "__main__":
    sys.exit(run())
