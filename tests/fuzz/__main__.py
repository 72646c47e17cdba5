"""Run mutated inputs and report the outcomes: `python -m tests.fuzz --inputs 10000 --seed 1`."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz.kinds import KINDS
from tests.fuzz.run import Outcome, run, tell


def main() -> int:
    """Run the inputs and return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="number of inputs over all kinds")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first input")
    parser.add_argument("--kind", choices=list(KINDS), action="append", help="repeat for more")
    parser.add_argument("--keep", metavar="DIR", help="folder for the inputs, which is kept")
    args = parser.parse_args()

    def show(outcome: Outcome) -> None:
        if outcome.problems:
            print(outcome.kind, outcome.seed, outcome.status, outcome.problems, flush=True)

    outcomes = run(args.kind or list(KINDS), args.inputs, args.seed, keep=args.keep, each=show)
    print(tell(outcomes))
    return int(any(one.problems for one in outcomes))


if __name__ == "__main__":
    sys.exit(main())
