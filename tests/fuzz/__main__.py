"""Run mutated inputs and report the outcomes: `python -m tests.fuzz --inputs 10000 --seed 1`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from tests.fuzz.kinds import KINDS
from tests.fuzz.run import Outcome, run, tell


def main() -> int:
    """Run the inputs and return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--inputs", type=int, default=1000, help="number of inputs over all kinds")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first input")
    parser.add_argument(
        "--kind", choices=list(KINDS), action="append", help="kind of input; repeat for more"
    )
    parser.add_argument("--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--keep", metavar="DIR", help="folder for the inputs, which is kept")
    parser.add_argument("--show", action="store_true", help="print every input as it runs")
    parser.add_argument("--json", metavar="FILE", help="write failures here, one per line")
    parser.add_argument("--no-confirm", action="store_true", help="do not rerun failures alone")
    args = parser.parse_args()
    kinds = args.kind or list(KINDS)

    def show(outcome: Outcome) -> None:
        if args.show or outcome.problems:
            what = "; ".join(f"{p['what']}: {p['where']}" for p in outcome.problems)
            print(f"{outcome.kind} {outcome.seed} {outcome.status} {outcome.seconds:.2f} s {what}",
                  flush=True)  # fmt: skip

    result = run(kinds, args.inputs, args.seed, jobs=args.jobs, keep=args.keep, each=show,
                 confirm=not args.no_confirm)  # fmt: skip
    print(tell(result))
    if args.json:
        lines = [json.dumps(vars(one)) + "\n" for one in result.failures]
        Path(args.json).write_text("".join(lines), encoding="utf-8")
    return 1 if result.failures else 0


if __name__ == "__main__":
    sys.exit(main())
