"""Speed of GREEN, GLEU and TrueSkill against gec-metrics, with the scores of both sides compared.

    python -m speed green-gleu --data DIR --peer-venv DIR

SEEDA: 15 systems × 391 sentences × 2 references (`official-as-published`). Imports and reading are
not timed on either side; every run begins with a new scorer, so neither side benefits from earlier
caches. Building the corpus (are texts raw, which signs have they) and looking for lines that do
not fit are timed by themselves, since texts that are scored again are known. gec-metrics computes
corpus and sentence scores by separate calls, gecjury both by one: the targets compare with the
peer's corpus scores alone, by the smaller of the ratios of elapsed and of CPU seconds.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from gecjury.corpus.corpus import Corpus
from speed.harness import Claim, Options, checked, faster, timed
from speed.peer import peer_python, peer_versions, run_in_peer
from speed.seeda import Texts, read_seeda

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

    # The spread of the draws, from a separate pass that is not timed.
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


def _best(runs: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Return the least elapsed and the least CPU seconds."""
    return min(elapsed for elapsed, _ in runs), min(cpu for _, cpu in runs)


def ours_of(texts: Texts, peer: dict[str, Any], runs: int) -> dict[str, Any]:
    """Run our side; TrueSkill ranks the peer's sentence scores, so that both rank the same."""
    import numpy as np

    import gecjury
    from gecjury.corpus.texts import corpus_of_texts
    from gecjury.stats.ranking import trueskill

    for name in ("green", "gleu"):
        gecjury.load(name)  # imports the metric's module, which is not timed
    given = (texts.sources, texts.systems, texts.references)
    greens = [timed(lambda: gecjury.load("green").score(*given)) for _ in range(runs)]
    gleus = [timed(lambda: gecjury.load("gleu", draws=_DRAWS).score(*given)) for _ in range(runs)]
    # The peer counts forms of quotation marks as different tokens.
    green = gecjury.load("green").score(*given, fold="none")
    gleu = gecjury.load("gleu", draws=_DRAWS).score(*given, fold="none")
    table = np.array(peer["GREEN"]["sentences"])
    skills = [timed(lambda: trueskill(table)) for _ in range(runs)]

    def built(row: int) -> Corpus:
        """Return a corpus of texts that begin with another line, and so are new."""
        sources, *others = ([*lines[row:], *lines[:row]] for lines in every)
        systems = dict(zip(texts.systems, others, strict=False))
        return corpus_of_texts(sources, systems, others[len(systems) :])

    every = texts.sources, *texts.systems.values(), *texts.references
    building = [timed(partial(built, row)) for row in range(1, 3 * runs)]
    looking = [timed(partial(getattr, corpus, "misfits"))[1:] for corpus, *_ in building]

    def difference(ours: Any, theirs: Any) -> Any:
        return np.abs(np.asarray(ours) - np.asarray(theirs))

    gleu_total = difference(list(gleu.totals), peer["GLEU"]["totals"])
    error = np.array(peer["draw deviations"]) * np.sqrt(2 / _DRAWS)
    return {
        "seconds": {
            name: [run[1:] for run in each]
            for name, each in (("GREEN", greens), ("GLEU", gleus), ("TrueSkill", skills))
        },
        "building": [run[1:] for run in building],
        "looking": looking,
        "GREEN corpus": difference(list(green.totals), peer["GREEN"]["totals"]).max(),
        "GREEN sentences": difference(green.sentences, peer["GREEN"]["sentences"]).max(),
        "GLEU corpus": gleu_total.max(),
        "GLEU errors": (gleu_total / error).max(),
        "GLEU sentences": difference(gleu.sentences, peer["GLEU"]["sentences"]).max(),
        "TrueSkill": difference(skills[0][0], peer["TrueSkill scipy"]).max(),
        "TrueSkill default": difference(skills[0][0], peer["TrueSkill"]).max(),
    }


def measure(options: Options) -> list[Claim]:
    """Run both sides."""
    texts = read_seeda(options, "subset")
    # The peer gives an output without words more than 0, we do not; SEEDA has one.
    filled = {
        name: [line or source for line, source in zip(lines, texts.sources, strict=True)]
        for name, lines in texts.systems.items()
    }
    texts = replace(texts, systems=filled)
    runs, peer_runs = 3, 2
    if options.quick:
        texts, runs, peer_runs = texts.few(30, 4), 1, 1
    versions = peer_versions(peer_python(options.need_peer()))
    given = {**asdict(texts), "draws": _DRAWS, "runs": peer_runs}
    peer = run_in_peer(options.need_peer(), _PEER, given)
    return report(ours_of(texts, peer, runs), peer, texts, versions)


def report(
    ours: dict[str, Any], peer: dict[str, Any], texts: Texts, versions: dict[str, str]
) -> list[Claim]:
    """Return ratios to the peer's corpus call alone, and the differences of the two sides."""
    size = f"{len(texts.systems)} × {len(texts.sources)} × {len(texts.references)}"
    about = (
        f"gec-metrics {versions['gec-metrics']}, trueskill {versions['trueskill']}, Python "
        f"{versions['Python']}; our side on Python {platform.python_version()}"
    )
    claims = []
    for name, target in _SPEED_TARGETS.items():
        best, theirs = _best(ours["seconds"][name]), _best(peer["seconds"][name])
        lines = [f"CPU seconds {theirs[1]:.2f} and {best[1]:.4f}, {theirs[1] / best[1]:.1f}×"]
        if f"{name} sentences" in peer["seconds"]:
            more = _best(peer["seconds"][f"{name} sentences"])
            elapsed, cpu = theirs[0] + more[0], theirs[1] + more[1]
            lines.append(
                f"the same work, sentence scores too: {elapsed:.2f} s, {elapsed / best[0]:.1f}× "
                f"by the clock, {cpu / best[1]:.1f}× by CPU"
            )
        if name == "GREEN":
            building, looking = (_best(ours[name])[1] / best[1] for name in ("building", "looking"))
            lines.append(
                f"of our CPU seconds, building the corpus takes {building:.2f} and looking for "
                f"lines that do not fit {looking:.2f}"
            )
        # If clock and processor disagree, the less flattering ratio counts.
        ratio = min(theirs[0] / best[0], theirs[1] / best[1])
        claims.append(
            faster(f"{name}, {size}", best[0], theirs[0], target, ratio=ratio, lines=lines)
        )
    for name in ("GREEN corpus", "GREEN sentences", "TrueSkill"):
        what = f"{name}, greatest difference"
        if name == "TrueSkill":
            what += " (peer with backend scipy)"
        found = ours[name]
        claims.append(
            checked(what, f"{found:.1e}", f"≤ {_EXACT:.0e}", bool(found <= _EXACT), agreement=True)
        )
    errors = ours["GLEU errors"]
    claims.append(
        checked(
            f"GLEU corpus, greatest difference in standard errors of {_DRAWS} draws",
            f"{errors:.1f}",
            f"≤ {_STANDARD_ERRORS:.0f}",
            bool(errors <= _STANDARD_ERRORS),
            agreement=True,
            lines=(
                f"that is {ours['GLEU corpus']:.1e}; sentences {ours['GLEU sentences']:.1e}; "
                f"TrueSkill of the default backend {ours['TrueSkill default']:.1e}",
                about,
            ),
        )
    )
    return claims
