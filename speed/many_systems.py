"""Seconds and peak memory of `gecjury compare` for very many systems, such as checkpoints.

    python -m speed many-systems

Generates benchmarks, 2,000 systems with 10,000 preferences on 1,000 sentences, and compares two
settings: the default, with `changes` and scores given in a file, below 2 GB and 10 minutes, and
`--aggregate mean` with `changes`. A third benchmark has 20 sentences on which all systems were
ranked, 40 million pairs, with 100 resamples. The latter two must stay below 1 GB.
"""

from __future__ import annotations

import os
import random
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from speed.harness import Claim, Options, checked, timed

SYSTEMS = 2000
PREFERENCES = 5  # for each system
TARGET = 1000.0  # MB
DEFAULT_TARGET, SECONDS = 2000.0, 600.0  # of default settings
_WORDS = tuple("abcdefghijklmnopqrst")


def make_benchmark(folder: Path, systems: int, sentences: int, *, ranked: bool = False) -> Path:
    """Write a benchmark of systems that differ in quality, and scores that follow it.

    Args:
        folder: folder for the files, created if missing.
        systems: number of systems.
        sentences: number of sentences.
        ranked: all systems are ranked on every sentence; otherwise some are preferred to others.

    Returns:
        The file of scores, one column per system.
    """
    rng = random.Random(0)
    names = [f"checkpoint-{number:05d}" for number in range(systems)]
    quality = [rng.random() for _ in names]
    source = [[rng.choice(_WORDS) for _ in range(10)] for _ in range(sentences)]
    (folder / "outputs").mkdir(parents=True, exist_ok=True)
    _write(folder / "source.txt", [" ".join(words) for words in source])
    for name in names:
        lines = []
        for words in source:
            changed = list(words)
            changed[rng.randrange(len(words))] = rng.choice(_WORDS)
            lines.append(" ".join(changed))
        _write(folder / "outputs" / f"{name}.txt", lines)
    judged = ["sentence,system_a,system_b,preference,annotator"]
    for number in range(PREFERENCES * systems):
        one, two = rng.sample(range(systems), 2)
        better = "a" if quality[one] + rng.gauss(0, 0.3) > quality[two] else "b"
        line = rng.randrange(sentences) + 1
        judged.append(f"{line},{names[one]},{names[two]},{better},annotator-{number % 2}")
    if ranked:
        judged = ["sentence,system,rank"]
        for line in range(sentences):
            for name, each in zip(names, quality, strict=True):
                judged.append(f"{line + 1},{name},{max(1, round(10 - 5 * each - rng.random()))}")
    _write(folder / "judgments.csv", judged)
    scores = [names, *([f"{each + rng.gauss(0, 0.5):.4f}" for each in quality] for _ in source)]
    _write(folder / "scores.tsv", ["\t".join(row) for row in scores])
    return folder / "scores.tsv"


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _run(command: Sequence[str]) -> tuple[int, float]:
    """Return exit status and peak MB of a separate process, without its output."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(command[0], command, os.environ, file_actions=quiet)
    _, status, used = os.wait4(child, 0)
    return os.waitstatus_to_exitcode(status), used.ru_maxrss / (
        1e6 if sys.platform == "darwin" else 1e3
    )


def measure(options: Options) -> list[Claim]:
    """Generate both benchmarks and compare them in separate processes."""
    systems, few, many = (4, 3, 5) if options.quick else (SYSTEMS, 20, 1000)
    claims = []
    with tempfile.TemporaryDirectory() as made:
        for sentences, judged, metrics, words in (
            (many, "preferred", "changes scores", ""),
            (many, "preferred", "changes", "--aggregate mean"),
            (few, "ranked", "scores", "--aggregate mean --resamples 100"),
        ):
            folder = Path(made) / f"{judged}-{sentences}"
            scores = make_benchmark(folder, systems, sentences, ranked=judged == "ranked")
            named = {"changes": "changes", "scores": f"scores:file={scores},label=given"}
            command = [sys.executable, "-m", "gecjury", "compare", str(folder), *words.split()]
            for metric in metrics.split():
                command += ["-m", named[metric]]
            command += ["--no-cache", "--quiet", "--format", "json"]
            (status, peak), wall, _ = timed(lambda command=command: _run(command))  # type: ignore[misc]
            most, seconds = (TARGET, float("inf")) if words else (DEFAULT_TARGET, SECONDS)
            claims.append(
                checked(
                    f"compare {systems} systems × {sentences} sentences, {judged}, "
                    f"{words or 'default settings'}",
                    f"{wall:.0f} s, {peak:.0f} MB",
                    f"< {most:.0f} MB" + ("" if words else f" and {seconds:.0f} s"),
                    status == 0 and peak < most and wall < seconds,
                    ours=wall,
                    peak=peak,
                )
            )
    return claims
