"""Ten sentences by ERRANT, from start to end of the command: with its imports, and plain ones.

    python -m speed starting

The command is `gecjury score -m errant` without a cache. The other side is the same command with a
plain import of spaCy, which includes torch and spaCy's command line, and the embedded model read by
`spacy.load`. Both run in separate processes, in turns, after one run of each that reads all files
once; Python's compiled files are kept, as in any installation. The least seconds of each side
count. Target: a third of the processor's and of the clock's seconds, by the smaller ratio.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from speed.harness import ROOT, Claim, Options, checked, faster, needs

TARGET = 3.0
ROUNDS = 5
_SOURCES = (
    "He go home yesterday .",
    "I have many informations about it .",
    "She is interesting in musics .",
    "They was happy to saw me .",
    "We discussed about the problems yesterday .",
    "The peoples in this city is friendly .",
    "I look forward to hear from you .",
    "He suggested me to take a bus .",
    "There is a lot of thing to do here .",
    "I am living here since three year .",
)
_CORRECTED = (
    "He went home yesterday .",
    "I have a lot of information about it .",
    "She is interested in music .",
    "They were happy to see me .",
    "We discussed the problems yesterday .",
    "The people in this city are friendly .",
    "I look forward to hearing from you .",
    "He suggested that I take a bus .",
    "There are a lot of things to do here .",
    "I have lived here for three years .",
)

# Prints, after the command's output, the resources used and whether torch was imported.
_RUN = """
import json, resource, sys
{before}
from gecjury.cli import main
status = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
sys.stdout.flush()
print(json.dumps([status, used.ru_utime + used.ru_stime, used.ru_maxrss, "torch" in sys.modules]))
"""
_PLAINLY = """
import spacy
from gecjury.extraction import tagger, taggers
taggers._loaded = lambda *_: spacy.load(tagger._MODEL)
"""


def measure(options: Options) -> list[Claim]:
    """Run both sides."""
    needs("errant", "spacy")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for file, lines in (("source.txt", _SOURCES), ("mine.txt", _CORRECTED)):
            (folder / file).write_text("\n".join(lines) + "\n", encoding="utf-8")
        (folder / "ref.txt").write_text("\n".join(_CORRECTED[:5] + _SOURCES[5:]) + "\n", "utf-8")
        for before in () if options.quick else (_PLAINLY, ""):
            _run(folder, before)
        runs: dict[str, list[_Run]] = {_PLAINLY: [], "": []}
        for _ in range(1 if options.quick else ROUNDS):
            for before, found in runs.items():
                found.append(_run(folder, before))
    theirs, ours = runs[_PLAINLY], runs[""]
    used = [min(run.processor for run in side) for side in (theirs, ours)]
    clock = [min(run.seconds for run in side) for side in (theirs, ours)]
    torch = "with" if theirs[0].torch else "WITHOUT"
    same = {run.printed for run in (*theirs, *ours)}
    return [
        faster(
            "`gecjury score -m errant` of ten sentences",
            clock[1],
            clock[0],
            TARGET if theirs[0].torch else None,
            ratio=min(clock[0] / clock[1], used[0] / used[1]),
            peak=max(run.memory for run in ours),
            lines=(
                f"processor seconds {used[0]:.2f} ({torch} torch) and {used[1]:.2f}, "
                f"{used[0] / used[1]:.1f}×; by the clock {clock[0] / clock[1]:.1f}×",
                f"peak memory {max(run.memory for run in theirs):.0f} and "
                f"{max(run.memory for run in ours):.0f} MB",
            ),
        ),
        checked(
            "what both print",
            "the same" if len(same) == 1 else "not the same",
            "the same",
            len(same) == 1,
            agreement=True,
        ),
    ]


class _Run:
    """One run of the command."""

    def __init__(self, output: str, seconds: float) -> None:
        self.printed, _, last = output.rstrip().rpartition("\n")
        status, self.processor, memory, self.torch = json.loads(last)
        self.seconds = seconds
        self.memory = memory / (1e6 if sys.platform == "darwin" else 1e3)
        if status or "errant" not in self.printed:
            raise SystemExit(f"the command failed: {output}")


def _run(folder: Path, before: str) -> _Run:
    # As in an installation, Python keeps compiled files.
    drop = {"PYTHONDONTWRITEBYTECODE", "PYTHONPATH"}
    environment = {key: value for key, value in os.environ.items() if key not in drop}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "compiled"), "PYTHONPATH": str(ROOT)}
    words = ["score", "source.txt", "mine.txt", "-r", "ref.txt", "-m", "errant", "--no-cache"]
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", _RUN.format(before=before), *words],
        cwd=folder, env=environment, stdout=subprocess.PIPE, encoding="utf-8", check=True,
    )  # fmt: skip
    return _Run(done.stdout, time.perf_counter() - start)
