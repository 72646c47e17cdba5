"""Speed of GREEN, GLEU and TrueSkill against gec-metrics, with the scores of both sides compared.

    python -m benchmarks.green_gleu_speed [--data DIR] [--peer-venv DIR]

SEEDA: 15 systems × 391 sentences × 2 references (`official-as-published`). Imports and reading are
left out on both sides; every run begins with a new scorer, so neither side profits from what it
cached before. gec-metrics gives corpus and sentence scores by separate calls, gecjury both by one:
the targets are held against the peer's corpus scores alone, and against the smaller of the ratios
of elapsed and of CPU seconds. Exit status 1 if a target is missed.
"""

from __future__ import annotations

import argparse
import os
import platform
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.peer import ONE_THREAD, add_peer_option, peer_python, peer_versions, run_in_peer

__all__ = ["Texts", "add_data_option", "read_seeda"]

_DRAWS = 500

_SPEED_TARGETS = {"GREEN": 20.0, "GLEU": 50.0, "TrueSkill": 15.0}
_EXACT = 1e-9
# Fifteen correlated differences, each of two independent means over the draws.
_STANDARD_ERRORS = 4.0

_PEER = """
    import time
    from itertools import combinations
    import trueskill
    from gec_metrics import get_metric

    sources, references = data["sources"], data["references"]
    systems = list(data["systems"].values())
    seconds = {}
    result = {"seconds": seconds}

    def timed(label, call):
        start, start_cpu = time.perf_counter(), time.process_time()
        value = call()
        spent = time.perf_counter() - start, time.process_time() - start_cpu
        seconds.setdefault(label, []).append(spent)
        return value

    def fresh(name, **settings):
        metric = get_metric(name)
        return metric(metric.Config(**settings))

    metrics = (("GREEN", "green", {}), ("GLEU", "gleu", {"iter": data["draws"]}))
    for label, name, settings in metrics:
        for _ in range(data["runs"]):
            metric = fresh(name, **settings)
            totals = timed(label, lambda: metric.rank_systems(sources, systems, references))
            metric = fresh(name, **settings)
            sentences = timed(
                label + " sentences",
                lambda: [metric.score_sentence(sources, h, references) for h in systems],
            )
        result[label] = {"totals": totals, "sentences": sentences}

    green = result["GREEN"]["sentences"]
    metric = fresh("green")
    for _ in range(data["runs"]):
        skills = timed(
            "TrueSkill", lambda: metric.run_trueskill(metric.make_pairwise_scores(green))
        )
    result["TrueSkill"] = skills

    # The spread of the draws, from a pass of its own that is not timed.
    class Recorder(get_metric("gleu")):
        def aggregate_score(self, *arguments, **named):
            score = super().aggregate_score(*arguments, **named)
            recorded.append(score)
            return score

    result["draw deviations"] = []
    for hypotheses in systems:
        recorded = []
        Recorder(Recorder.Config(iter=data["draws"])).score_corpus(sources, hypotheses, references)
        mean = sum(recorded) / len(recorded)
        variance = sum((score - mean) ** 2 for score in recorded) / (len(recorded) - 1)
        result["draw deviations"].append(variance**0.5)

    # The package's default normal distribution is an approximation; SciPy's is not.
    game = trueskill.TrueSkill(
        mu=0.0, sigma=0.5, beta=0.25, tau=0.0, draw_probability=0.25, backend="scipy"
    )
    skills = [game.create_rating() for _ in systems]
    for scores in zip(*green):
        for a, b in combinations(range(len(systems)), 2):
            if scores[a] == scores[b]:
                skills[a], skills[b] = game.rate_1vs1(skills[a], skills[b], drawn=True)
            elif scores[a] > scores[b]:
                skills[a], skills[b] = game.rate_1vs1(skills[a], skills[b])
            else:
                skills[b], skills[a] = game.rate_1vs1(skills[b], skills[a])
    result["TrueSkill scipy"] = [skill.mu for skill in skills]
"""


@dataclass(frozen=True)
class Texts:
    """Sources, system outputs and references held in memory."""

    sources: list[str]
    systems: dict[str, list[str]]
    references: list[list[str]]


def add_data_option(parser: argparse.ArgumentParser) -> None:
    """Add `--data DIR`."""
    parser.add_argument(
        "--data",
        type=Path,
        default=os.environ.get("GECJURY_DATA"),
        metavar="DIR",
        help="folder with SEEDA/ and conll14/ (default: $GECJURY_DATA)",
    )


def read_seeda(data: Path | None, part: str) -> Texts:
    """Read SEEDA's outputs with the two official references.

    A sentence on which the second annotator has no line keeps its source as second reference, as
    in the published tables (`official-as-published`).

    Args:
        data: the folder of `--data`.
        part: `subset` (391 sentences) or `all` (1,312).

    Raises:
        SystemExit: the folder is not given or holds no such data.
    """
    from gecjury.corpus.m2 import read_m2
    from gecjury.textfiles import read_lines

    folder = Path(data or ".") / "SEEDA" / "outputs" / part
    if data is None or not folder.is_dir():
        raise SystemExit(f"no SEEDA data at {folder}: name the folder with --data or $GECJURY_DATA")
    systems = {path.stem: read_lines(path) for path in sorted(folder.glob("*.txt"))}
    sources = systems["INPUT"]
    blocks = {s.source: s for s in read_m2(data / "conll14" / "official-2014.combined.m2")}
    references = [[blocks[source].text(number) for source in sources] for number in (0, 1)]
    return Texts(sources, systems, references)


def _timed(call: Callable[[], Any], runs: int) -> tuple[list[tuple[float, float]], Any]:
    """Elapsed and CPU seconds of each run, and what the last one returned."""
    seconds, value = [], None
    for _ in range(runs):
        start, start_cpu = time.perf_counter(), time.process_time()
        value = call()
        seconds.append((time.perf_counter() - start, time.process_time() - start_cpu))
    return seconds, value


def _best(runs: list[tuple[float, float]]) -> tuple[float, float]:
    """Least elapsed and least CPU seconds."""
    return min(elapsed for elapsed, _ in runs), min(cpu for _, cpu in runs)


def measure(texts: Texts, peer: dict[str, Any], runs: int) -> dict[str, Any]:
    """Run our side; TrueSkill ranks the peer's sentence scores, so that both rank the same."""
    import numpy as np

    import gecjury
    from gecjury.stats.ranking import trueskill

    for name in ("green", "gleu"):
        gecjury.load(name)  # imports the metric's module, which is not to be timed
    given = (texts.sources, texts.systems, texts.references)
    green_seconds, green = _timed(lambda: gecjury.load("green").score(*given), runs)
    gleu_seconds, gleu = _timed(lambda: gecjury.load("gleu", draws=_DRAWS).score(*given), runs)
    table = np.array(peer["GREEN"]["sentences"])
    skill_seconds, ranking = _timed(lambda: trueskill(table), runs)

    def difference(ours: Any, theirs: Any) -> Any:
        return np.abs(np.asarray(ours) - np.asarray(theirs))

    gleu_total = difference(list(gleu.totals), peer["GLEU"]["totals"])
    error = np.array(peer["draw deviations"]) * np.sqrt(2 / _DRAWS)
    return {
        "seconds": {"GREEN": green_seconds, "GLEU": gleu_seconds, "TrueSkill": skill_seconds},
        "GREEN corpus": difference(list(green.totals), peer["GREEN"]["totals"]).max(),
        "GREEN sentences": difference(green.sentences, peer["GREEN"]["sentences"]).max(),
        "GLEU corpus": gleu_total.max(),
        "GLEU errors": (gleu_total / error).max(),
        "GLEU sentences": difference(gleu.sentences, peer["GLEU"]["sentences"]).max(),
        "TrueSkill": difference(ranking.scores, peer["TrueSkill scipy"]).max(),
        "TrueSkill default": difference(ranking.scores, peer["TrueSkill"]).max(),
    }


def report(ours: dict[str, Any], peer: dict[str, Any]) -> bool:
    """Print seconds, ratios and differences; tell whether every target was met."""
    met = True

    def verdict(reached: bool) -> str:
        nonlocal met
        met &= reached
        return "met" if reached else "MISSED"

    print(f"{'best of the runs':30}{'gec-metrics':>17}{'gecjury':>19}{'ratio':>14}")
    print(f"{'':30}" + f"{'elapsed':>9}{'CPU s':>9}" * 2 + f"{'elapsed':>9}{'CPU':>7}")
    for name, target in _SPEED_TARGETS.items():
        best, theirs = _best(ours["seconds"][name]), _best(peer["seconds"][name])
        ratio = min(theirs[0] / best[0], theirs[1] / best[1])
        aim = f"  target {target:.0f}x: {verdict(ratio >= target)}"
        lines = [(name if name == "TrueSkill" else f"{name} corpus", theirs, aim)]
        if f"{name} sentences" in peer["seconds"]:
            more = _best(peer["seconds"][f"{name} sentences"])
            both = theirs[0] + more[0], theirs[1] + more[1]
            lines.append((f"{name} corpus and sentences", both, ""))
        for label, (elapsed, cpu), note in lines:
            print(
                f"{label:30}{elapsed:9.2f}{cpu:9.2f}{best[0]:9.4f}{best[1]:9.4f}"
                f"{elapsed / best[0]:8.1f}x{cpu / best[1]:6.1f}x{note}"
            )
    print("\ngreatest difference between the two sides")
    for name in ("GREEN corpus", "GREEN sentences"):
        print(f"{name:30}{ours[name]:12.1e}  target {_EXACT:.0e}: {verdict(ours[name] <= _EXACT)}")
    errors = ours["GLEU errors"]
    print(
        f"{'GLEU corpus':30}{ours['GLEU corpus']:12.1e}  = {errors:.1f} standard errors of "
        f"{_DRAWS} draws, target {_STANDARD_ERRORS:.0f}: {verdict(errors <= _STANDARD_ERRORS)}"
    )
    print(f"{'GLEU sentences':30}{ours['GLEU sentences']:12.1e}")
    skill = ours["TrueSkill"]
    print(
        f"{'TrueSkill, backend scipy':30}{skill:12.1e}  target {_EXACT:.0e}: "
        f"{verdict(skill <= _EXACT)}"
    )
    print(f"{'TrueSkill, backend default':30}{ours['TrueSkill default']:12.1e}")
    return met


def main() -> int:
    parser = argparse.ArgumentParser(description="GREEN, GLEU and TrueSkill against gec-metrics.")
    add_data_option(parser)
    add_peer_option(parser)
    parser.add_argument("--runs", type=int, default=3, help="runs of our side (default 3)")
    parser.add_argument("--peer-runs", type=int, default=2, help="runs of the peer (default 2)")
    options = parser.parse_args()
    os.environ.update(ONE_THREAD)  # before numpy is imported

    texts = read_seeda(options.data, "subset")
    versions = peer_versions(peer_python(options.peer_venv))
    peer = run_in_peer(
        options.peer_venv, _PEER, {**asdict(texts), "draws": _DRAWS, "runs": options.peer_runs}
    )
    ours = measure(texts, peer, options.runs)
    print(
        f"{len(texts.systems)} systems x {len(texts.sources)} sentences x "
        f"{len(texts.references)} references; one process and one thread a side\n"
        f"gec-metrics {versions['gec-metrics']}, trueskill {versions['trueskill']}, "
        f"Python {versions['Python']}; our side on Python {platform.python_version()}\n"
    )
    return 0 if report(ours, peer) else 1


if __name__ == "__main__":
    raise SystemExit(main())
