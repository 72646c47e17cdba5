"""The inputs and results of measurements, how they are run, and the table of all results.

A measurement is a module with `measure(options) -> list[Claim]` and a line in `SCRIPTS`. Each runs
in a separate process, so that its memory and its threads are its own.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parent.parent
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")

T = TypeVar("T")


class Lacking(Exception):  # not an error: something is missing
    """A measurement cannot be run here; the message says what is missing."""


@dataclass(frozen=True)
class Options:
    """The options of every measurement.

    Attributes:
        data: folder that contains `SEEDA/`, `conll14/` and so on.
        peer_venv: the peer's environment, created if missing; None if no peer is wanted.
        scores: folder of score files, kept and reused; None scores again.
        quick: small sizes, for a trial run; the figures are meaningless.
        mpnet: folder of MPNet; None if it is not available, like the two below.
        smollm2: folder of SmolLM2.
        some: folder of a trained SOME.
    """

    data: Path | None = None
    peer_venv: Path | None = None
    scores: Path | None = None
    quick: bool = False
    mpnet: Path | None = None
    smollm2: Path | None = None
    some: Path | None = None

    def need_data(self) -> Path:
        """Return the data folder.

        Raises:
            Lacking: no folder is named, or it does not exist.
        """
        if self.data is None:
            raise Lacking("no data: name the folder with --data or $GECJURY_DATA")
        if not self.data.is_dir():
            raise Lacking(f"no data: {self.data} is not a folder")
        return self.data

    def need_peer(self) -> Path:
        """Return the folder of the peer's environment.

        Raises:
            Lacking: no folder is named.
        """
        if self.peer_venv is None:
            raise Lacking("no peer: name its environment with --peer-venv (created if missing)")
        return self.peer_venv


@dataclass(frozen=True)
class Claim:
    """One claimed figure, and what was found.

    Attributes:
        claim: what was measured.
        ours: seconds of our side.
        theirs: seconds of the other side, if there is one.
        ratio: how many times as fast; None if the claim is not about speed.
        found: the figure in words, if it is not a ratio.
        target: the target in words; empty if there is none.
        met: whether the target was met; None if there is none, or nothing was measured.
        peak: peak memory of our side in MB, if measured.
        lines: further remarks.
        agreement: whether it is about equal results, which are required at any size.
    """

    claim: str
    ours: float | None = None
    theirs: float | None = None
    ratio: float | None = None
    found: str = ""
    target: str = ""
    met: bool | None = None
    peak: float | None = None
    lines: tuple[str, ...] = ()
    agreement: bool = False

    def without_verdict(self) -> Claim:
        """Return the claim for small sizes, whose figures mean nothing apart from agreement."""
        return self if self.agreement else replace(self, met=None)


@dataclass(frozen=True)
class Script:
    """A measurement.

    Attributes:
        module: module in this folder.
        compares: one line about both sides and the size.
        takes: approximate duration.
        one_thread: whether numerical libraries are limited to one thread.
    """

    module: str
    compares: str
    takes: str
    one_thread: bool = False


SCRIPTS: Mapping[str, Script] = {
    "green-gleu": Script(
        "green_gleu",
        "GREEN, GLEU (500 draws) and TrueSkill with gec-metrics: 15 systems × 391 sentences × 2 "
        "references of SEEDA",
        "1–2 minutes",
        one_thread=True,
    ),
    "green-scaling": Script(
        "green_scaling",
        "nothing: time and peak memory of GREEN and GLEU on 125,000 to 1,000,000 sentence pairs",
        "4–6 minutes, 2 GB",
        one_thread=True,
    ),
    "errant": Script(
        "errant",
        "ERRANT with gec-metrics, same tagger: 15 systems × 391 sentences × 2 references",
        "1–2 minutes",
    ),
    "starting": Script(
        "starting",
        "the whole command for ten sentences by ERRANT with itself as it imported before",
        "1 minute",
    ),
    "extraction": Script(
        "extraction",
        "edit extraction with the errant package used plainly: 12 × 1,312 and 17 × 391",
        "3–5 minutes",
    ),
    "edits-identical": Script(
        "edits_identical",
        "every edit with the errant package's on 38,048 pairs",
        "3–5 minutes",
    ),
    "m2": Script("m2", "nothing: M2 over 15 × 1,312 sentences, and its slowest pair", "1 minute"),
    "imeasure": Script(
        "imeasure", "I-measure over real outputs; alignments with the full table's", "2 minutes"
    ),
    "uot": Script(
        "uot",
        "UOT-ERRANT with the published procedure, timed on a sample: 12 systems × 391 sentences; "
        "and what `dtype` changes (`--mpnet DIR`)",
        "5–10 minutes",
    ),
    "pt-errant": Script(
        "pt_errant", "PT-ERRANT with the bert-score package called as gec-metrics does", "5 minutes"
    ),
    "refless": Script(
        "refless", "SOME, IMPARA and Scribendi with gec-metrics on one random model", "10 minutes"
    ),
    "encoders": Script(
        "encoders",
        "MiniLM, MPNet, SmolLM2 and a SOME on MPNet with themselves: separate passes in 32 bits, "
        "one pass by oneDNN or in bfloat16",
        "10 minutes",
        one_thread=True,
    ),
    "training": Script(
        "training",
        "a training step on MPNet's sizes with itself, with one thing changed",
        "16 minutes",
    ),
    "trueskill": Script(
        "trueskill", "TrueSkill with the `trueskill` package alone, made-up scores", "seconds"
    ),
    "trueskill-draws": Script(
        "trueskill_draws",
        "TrueSkill of 1,000 resampled corpora side by side with one after another (GJG15)",
        "1 minute",
    ),
    "running": Script(
        "running",
        "the running choice of references in `rank`'s tests with a replay sentence by sentence",
        "2 minutes",
    ),
    "ranking": Script(
        "ranking",
        "`rank`'s intervals and tests of CLEME2 (dependent) and UOT-ERRANT with asking the rule "
        "for every choice: 15 × 1,312",
        "2 minutes from score files, else 10",
        one_thread=True,
    ),
    "uncertainty": Script(
        "uncertainty",
        "nothing: intervals, tests and clusters of twelve metrics on SEEDA",
        "1 minute from score files",
    ),
    "calibration": Script(
        "calibration",
        "nothing: how often tests and intervals are right, by simulation",
        "5 minutes",
        one_thread=True,
    ),
    "estimates": Script(
        "estimates",
        "nothing: how often intervals of estimates from few labels hold the truth, by simulation",
        "3 minutes",
        one_thread=True,
    ),
    "many-systems": Script(
        "many_systems",
        "nothing: seconds and peak memory of comparing 2,000 systems",
        "15 minutes",
    ),
    "scale": Script(
        "scale",
        "`score` on two nodes of Ray with plain Ray Data around the same function, and with two "
        "local workers: GREEN over 1 million rows; and 10 million",
        "15 minutes, 5 GB of disk",
        one_thread=True,
    ),
    "scale-kills": Script(
        "scale_kills",
        "a run on a Ray cluster of two nodes, killed in the middle, with an unbroken one",
        "10 minutes",
        one_thread=True,
    ),
    "scale-many": Script(
        "scale_many",
        "nothing: costs a row and a shard, and the driver's ceiling",
        "10 minutes",
        one_thread=True,
    ),
    "costs": Script(
        "costs",
        "nothing: seconds of a core and of a GPU for a thousand corrections by every metric, and "
        "judges' prices (`--smollm2 DIR`)",
        "25 minutes",
        one_thread=True,
    ),
    "gpu": Script(
        "gpu",
        "models of real size with the GPU's rate of a matrix product, and seconds of an epoch",
        "5 minutes, a GPU",
    ),
    "limits": Script(
        "limits",
        "each family of metrics with what the machine can do: products of matrices, reading and "
        "splitting, a bare loop of requests (`--mpnet DIR`)",
        "10 minutes",
        one_thread=True,
    ),
    "judges": Script(
        "judges", "the judges' backends with themselves: one call at a time, and many", "5 minutes"
    ),
    "judges-prefixes": Script(
        "judges_prefixes",
        "vLLM with shared prefixes in one batch with itself one by one, and without its cache "
        "(`--smollm2 DIR`)",
        "5 minutes",
    ),
    "judges-server": Script(
        "judges_server",
        "the openai backend at concurrency 64 with itself at 1, on a fake server that takes 50 ms; "
        "and the memory of 100,000 questions",
        "15 minutes",
    ),
}


@dataclass(frozen=True)
class Outcome:
    """The outcome of a measurement.

    Attributes:
        name: name in `SCRIPTS`.
        claims: its results.
        lacking: what is missing; empty if it could be run.
        error: why it failed; empty if it did not.
        made: commit, day and duration, for a stored outcome.
    """

    name: str
    claims: tuple[Claim, ...] = ()
    lacking: str = ""
    error: str = ""
    made: str = ""

    @property
    def failed(self) -> bool:
        """Return whether it failed or missed a target; a measurement not tried has not failed."""
        return bool(self.error) or any(claim.met is False for claim in self.claims)


def faster(
    claim: str,
    ours: float,
    theirs: float,
    target: float | None = None,
    *,
    ratio: float | None = None,
    peak: float | None = None,
    lines: Iterable[str] = (),
) -> Claim:
    """Return the claim to be a number of times as fast.

    Args:
        claim: what was measured.
        ours: seconds.
        theirs: seconds.
        target: least ratio; None if there is no target.
        ratio: the ratio, if it is not that of the seconds shown.
        peak: memory in MB.
        lines: further remarks.
    """
    found = theirs / ours if ratio is None else ratio
    aim, met = ("", None) if target is None else (f"≥ {target:g}×", found >= target)
    return Claim(claim, ours, theirs, found, "", aim, met, peak, tuple(lines))


def checked(
    claim: str,
    found: str,
    target: str = "",
    met: bool | None = None,
    *,
    ours: float | None = None,
    peak: float | None = None,
    lines: Iterable[str] = (),
    agreement: bool = False,
) -> Claim:
    """Return a claim of any other kind."""
    return Claim(claim, ours, None, None, found, target, met, peak, tuple(lines), agreement)


def timed(call: Callable[[], T]) -> tuple[T, float, float]:
    """Return a result, seconds by the clock, and processor seconds including child processes."""
    start, cpu = time.perf_counter(), _processor()
    result = call()
    return result, time.perf_counter() - start, _processor() - cpu


def _processor() -> float:
    import resource

    parts = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(part.ru_utime + part.ru_stime for part in parts)


def peak_memory() -> float:
    """Return the peak memory in MB of this process or, if larger, of its largest child."""
    import resource

    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return max(resource.getrusage(kind).ru_maxrss for kind in kinds) / unit


def needs(*packages: str) -> None:
    """Refuse to continue without some packages.

    Raises:
        Lacking: names the packages that are not installed.
    """
    gone = [name for name in packages if importlib.util.find_spec(name) is None]
    if gone:
        raise Lacking(f"not installed here: {', '.join(gone)}")


Run = Callable[[str, Options], Outcome]


def run_here(name: str, options: Options) -> Outcome:
    """Run a measurement in this process."""
    module = importlib.import_module(f"speed.{SCRIPTS[name].module}")
    try:
        claims = tuple(module.measure(options))
    except Lacking as lack:
        return Outcome(name, lacking=str(lack))
    return Outcome(name, tuple(c.without_verdict() for c in claims) if options.quick else claims)


def run_apart(name: str, options: Options) -> Outcome:
    """Run a measurement in a separate process, whose output goes to stderr."""
    environment = {**os.environ, **(ONE_THREAD if SCRIPTS[name].one_thread else {})}
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "outcome.json"
        command = [sys.executable, "-m", "speed", name, "--result", str(result), *words(options)]
        done = subprocess.run(command, cwd=ROOT, env=environment, stdout=sys.stderr, check=False)
        if done.returncode or not result.exists():
            return Outcome(name, error=f"failed with status {done.returncode}; see above")
        return from_json(result.read_text(encoding="utf-8"))


def words(options: Options) -> list[str]:
    """Return the options as command-line words, with absolute paths."""
    typed = ["--quick"] if options.quick else []
    for key, path in (
        ("--data", options.data),
        ("--peer-venv", options.peer_venv),
        ("--scores", options.scores),
        ("--mpnet", options.mpnet),
        ("--smollm2", options.smollm2),
        ("--some", options.some),
    ):
        typed += [] if path is None else [key, str(path.resolve())]
    return typed


def to_json(outcome: Outcome) -> str:
    """Return an outcome as JSON, for another process."""
    return json.dumps(asdict(outcome))


def from_json(text: str) -> Outcome:
    """The inverse of `to_json`."""
    record = json.loads(text)
    claims = tuple(Claim(**{**c, "lines": tuple(c["lines"])}) for c in record.pop("claims"))
    return Outcome(claims=claims, **record)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return all claims as one Markdown table, with further remarks below it."""
    lines = [
        "| measurement | claim | theirs, s | ours, s | found | target | met | peak, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for outcome in outcomes:
        if outcome.lacking or outcome.error:
            why = f"failed: {outcome.error}" if outcome.error else f"not tried: {outcome.lacking}"
            told = "no" if outcome.error else "–"
            lines.append(_line(outcome.name, why, "–", "–", "–", "–", told, "–"))
        for claim in outcome.claims:
            found = claim.found or ("–" if claim.ratio is None else f"{claim.ratio:.1f}×")
            met = {True: "yes", False: "NO", None: "–"}[claim.met]
            lines.append(
                _line(
                    outcome.name, claim.claim, _seconds(claim.theirs), _seconds(claim.ours),
                    found, claim.target or "–", met,
                    "–" if claim.peak is None else f"{claim.peak:.0f}",
                )
            )  # fmt: skip
    more = [
        f"- {outcome.name}, {claim.claim}: {line}"
        for outcome in outcomes
        for claim in outcome.claims
        for line in claim.lines
    ]
    when = [f"- {outcome.name}: {outcome.made}" for outcome in outcomes if outcome.made]
    return "\n".join([*lines, *(["", *more] if more else []), *(["", *when] if when else [])])


def _line(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.3g}" if value < 100 else f"{value:.0f}"


def listing() -> str:
    """Return a Markdown table of all measurements, what they compare and how long they take."""
    rows = [_line(name, each.compares, each.takes) for name, each in SCRIPTS.items()]
    return "\n".join(["| measurement | compares | takes |", "|---|---|---|", *rows])
