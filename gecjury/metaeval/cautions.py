"""Cautions about a comparison, and checks that refuse comparisons that cannot be made.

There is one list of cautions. The tables, the JSON document and the page all show it. A message
before the run says how long it will take if that is minutes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import JudgedEntries, JudgmentPairs
from gecjury.benchmarks.table import BENCHMARKS, View
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.core.wording import duration, listed, number, percent
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.stats.choices import TieRule
from gecjury.stats.trueskill import sampled_opponents

_LEAST = 3  # systems, for a correlation
_FEW_SENTENCES = 20  # draws of fewer sentences do not represent other sentences
_MANY_SYSTEMS = 20  # a correlation over at least so many needs no caution
_SHOWN = 4  # names and groups in a note
_MANY_TIES = 0.1  # share of the pairs
_FEW = 100  # pairs
_UNLIKE = 0.35  # `changes` then agrees with about 0.65 of the pairs, as most metrics do

SAMPLE = (
    "These figures come from a small sample made to demonstrate the program. They are never "
    "evidence about a metric."
)
_NO_INTERVALS = "No intervals were computed: small differences may be due to the choice of data."
_NO_TESTS = "Differences between metrics were not tested."

_TIES: Mapping[TieRule, str] = {
    "half": "each counts as half right",
    "official": "each goes to the system that comes later in the fixed order",
    "loss": "each counts as wrong",
    "drop": "they are left out, so metrics are compared on different pairs",
    "calibrated": "a tie counts as an answer like the others",
}


@dataclass(frozen=True, slots=True)
class Caution:
    """A caution about the figures of a comparison.

    Attributes:
        heading: the topic; several cautions may share one.
        text: a sentence or two.
    """

    heading: str
    text: str


def count_repeats(pairs: JudgmentPairs | JudgedEntries) -> tuple[int, int]:
    """Count comparisons that one annotator made more than once; pairs of equal texts are left out.

    Returns:
        The number of combinations of annotator, sentence and pair of systems that were judged twice
        or more, and in how many of these each system was preferred at least once.
    """
    if isinstance(pairs, JudgedEntries):
        counts = [count_repeats(part) for part in pairs.repeated(within=True)]
        return sum(repeated for repeated, _ in counts), sum(opposite for _, opposite in counts)
    judged = pairs.select(~pairs.shared)
    if not len(judged):
        return 0, 0
    # Comparisons are the same if annotator, sentence and both systems are the same.
    keys = np.stack([judged.annotator, judged.sentence, judged.first, judged.second])
    _, inverse, times = np.unique(keys, axis=1, return_inverse=True, return_counts=True)
    least, most = np.zeros((2, len(times)), dtype=np.int64)
    np.minimum.at(least, inverse.ravel(), judged.preference)
    np.maximum.at(most, inverse.ravel(), judged.preference)
    return int(np.count_nonzero(times > 1)), int(np.count_nonzero((least < 0) & (most > 0)))


def need_message(needs: frozenset[str], metric: str, benchmark: Benchmark) -> str:
    """Return a message on what a metric needs and a benchmark lacks; empty if it lacks nothing."""
    if "references" in needs and not benchmark.corpus.references:
        return (
            f"{metric} needs references, and {benchmark.name} has none: name files with "
            f"`references=FILE...`,{_folder(benchmark, 'references/')} or use a metric that needs "
            "none"
        )
    if "gold" in needs and benchmark.corpus.gold is None:
        return (
            f"{metric} needs gold edits in M2, and {benchmark.name} has none:"
            f"{_folder(benchmark, 'gold.m2')}{' or' * (benchmark.name not in BENCHMARKS)} use a "
            "metric that needs none"
        )
    return ""


def _folder(benchmark: Benchmark, part: str) -> str:
    """Return advice on the file that the folder of a user's own benchmark lacks."""
    return "" if benchmark.name in BENCHMARKS else f" put {part} into its folder,"


def check_study(study: MetaEvaluation) -> None:
    """Refuse a comparison that cannot give a single figure.

    Args:
        study: benchmark and settings.

    Raises:
        OptionError: the benchmark lacks the human scores of systems asked for.
        InputError: there are fewer than three systems for correlations, or no decided pair of the
            systems.
    """
    for view in study.views:
        study.human(view)
    names, level = study.benchmark.corpus.names, study.settings.level
    if level == "system" and study.benchmark.places:
        raise InputError(
            f"{study.benchmark.name} names no systems, so `level=system` is not available; "
            "use `level=sentence`"
        )
    if level == "system" and len(names) < _LEAST:
        raise InputError(
            f"{study.benchmark.name} ({study.benchmark.systems}) has {len(names)} systems "
            f"({', '.join(names)}): a correlation needs three or more; choose another set with "
            "`systems=`, or `level=sentence`"
        )
    for view in study.views:
        if level != "sentence" or not study.benchmark.rankings.get(view):
            continue
        if not any(len(part.decided) for part in study.judged[view].parts()):
            raise InputError(
                f"{study.benchmark.name}: no sentence has a judgment ({view}) that prefers one of "
                f"the systems {', '.join(names)} to another; choose another set with `systems=`"
            )


def check_scored(results: Sequence[AgreementRow]) -> None:
    """Refuse results in which no metric scored anything that was judged.

    Raises:
        InputError: no pair is both judged and scored.
    """
    judged = [row for row in results if row.level == "sentence"]
    missing = [row.missing_pairs for row in judged]
    if missing and all(row.pairs == 0 and row.missing_pairs for row in judged):
        labels = ", ".join(dict.fromkeys(row.metric for row in results))
        raise InputError(
            f"{labels}: none of the {max(missing)} pairs that humans decided was scored on both "
            "sides, so no sentence is both judged and scored"
        )


def cautions(
    study: MetaEvaluation,
    results: Sequence[AgreementRow],
    chance: Sequence[AgreementRow] = (),
    *,
    tested: bool = False,
    noted: Sequence[str] = (),
) -> tuple[Caution, ...]:
    """Return the cautions that a comparison calls for.

    Args:
        study: the benchmark, and the settings of the levels and intervals.
        results: the results of the metrics, with their intervals.
        chance: the results of the chance baselines.
        tested: True if differences between metrics were tested.
        noted: remarks of the metrics on their own scores.
    """
    settings = study.settings
    # Figures that are not shown need no caution.
    systems, sentences = (
        [row for row in results if row.level == level and settings.level in (level, "all")]
        for level in ("system", "sentence")
    )
    compared = {row.metric for row in (*systems, *sentences)}
    bounds = [row.intervals for row in (*systems, *sentences)]
    # The order is that in which a reader should see them, the most serious first.
    topics = {
        "Sample data": SAMPLE if study.benchmark.sample else "",
        **_of_few_systems(study, systems),
        "Not judged": _of_unjudged(study) if systems else "",
        "Few sentences": _of_few_sentences(study),
        "Ties": _of_ties(study, sentences),
        "Missing scores": _of_gaps(results),
        "Undefined": _of_undefined(study, systems),
        "Chance": _not_above_chance(sentences, chance),
        "No intervals": _NO_INTERVALS if compared and not any(bounds) else "",
        "No significance tests": _NO_TESTS if not tested and len(compared) > 1 else "",
    }
    notes = [
        *(note for view in study.views for note in _of_judgments(study, view)),
        *(note for result in chance if (note := _of_change(result))),
        *(note for result in results for note in _of_result(study, result)),
    ]
    raised = [Caution("Judgments", text) for text in study.benchmark.warnings]
    raised += [Caution(heading, text) for heading, text in topics.items() if text]
    # Remarks of a metric on its own scores may invalidate them, so they have a separate heading.
    # If several metrics make the same remark, it is shown once, under its first heading.
    headed = {"Metrics": noted, "Notes": notes}
    once = {text: heading for heading, texts in reversed(headed.items()) for text in texts}
    ordered = dict.fromkeys((*noted, *notes))
    return (*raised, *(Caution(once[text], text) for text in ordered))


def _of_few_systems(study: MetaEvaluation, systems: Sequence[AgreementRow]) -> dict[str, str]:
    """Return a caution on correlations over few systems, with the interval of the highest one."""
    count = len(study.compared)
    if study.benchmark.places:
        return {}
    if count < _LEAST:
        text = f"correlations over {count} systems are not defined: three or more are needed"
        return {"Too few systems": text}
    if not systems or count >= _MANY_SYSTEMS:
        return {}
    text = f"Correlations are computed over {count} systems."
    known = [row for row in systems if not math.isnan(row.pearson)]
    if known and count > 3:
        best = max(reversed(known), key=lambda row: row.pearson)
        top, bounds = best.pearson, best.intervals.get("pearson", (math.nan, math.nan))
        how = f"{100 * study.settings.resampling.confidence:g}% interval"
        # Fisher's z of a perfect correlation is infinite, so it has no interval.
        if any(math.isnan(bound) for bound in bounds) and abs(top) < 1:
            # Without draws, use the standard error of Fisher's z, 1/√(n − 3).
            half = 1.96 / math.sqrt(count - 3)
            bounds = (math.tanh(math.atanh(top) - half), math.tanh(math.atanh(top) + half))
            how = "Fisher's 95% interval"
        low, high = (number(float(bound), 2) for bound in bounds)
        text += f" With so few, r = {number(float(top))} is compatible with "
        # Draws of systems that are all in line with people are in line as well.
        text += "much less" if low == high else f"anything from {low} to {high}"
        text += ", but no interval can be given." if low == high else f" ({how})."
    return {"Few systems": text}


def _of_unjudged(study: MetaEvaluation) -> str:
    """Return a caution on systems that have outputs but no human score."""
    names = study.benchmark.corpus.names
    parts = []
    for view in () if study.benchmark.places else study.views:
        scores = zip(names, study.human(view), strict=True)
        if absent := [name for name, score in scores if math.isnan(score)]:
            parts.append(f"No human score ({view}) for {listed(absent)}: left out at system level.")
    return " ".join(parts)


def _of_few_sentences(study: MetaEvaluation) -> str:
    """Return a caution on figures, intervals and tests over a handful of sentences."""
    count = len(study.benchmark.corpus)
    if study.settings.resampling.over == "none" or count >= _FEW_SENTENCES:
        return ""
    if count == 1:
        why = "a single one cannot be resampled, so there are no intervals."
    else:
        why = "with so few, figures, intervals and tests are only guesses."
    return f"Everything here is computed from {count} sentence{'s' * (count > 1)}: {why}"


def _islands(study: MetaEvaluation, view: View) -> list[list[str]]:
    """Return groups of scored systems that no judgment connects; one group if all are connected.

    A tie also connects two systems.
    """
    names = study.benchmark.corpus.names
    index = {name: number for number, name in enumerate(names)}
    above = list(range(len(names)))

    def top(number: int) -> int:
        while above[number] != number:
            above[number] = number = above[above[number]]
        return number

    for item in study.benchmark.rankings[view]:
        members = [index[name] for group in item.groups for name in group if name in index]
        # All systems of a ranking are connected, so linking each with the first is enough.
        for member in members:
            above[top(member)] = top(members[0])
    label = map(top, above)
    scored = ~np.isnan(study.human(view))
    groups: dict[int, list[str]] = {}
    for name, human, group in zip(names, scored, label, strict=True):
        if human:
            groups.setdefault(int(group), []).append(name)
    return list(groups.values())


def _of_ties(study: MetaEvaluation, sentences: Sequence[AgreementRow]) -> str:
    """Return a caution on metrics that tie many pairs, and on how the tie rule counts those."""
    ties: dict[str, float] = {}
    for row in sentences:
        if (share := row.tied_share) >= _MANY_TIES:
            ties[row.metric] = max(share, ties.get(row.metric, 0.0))
    if not ties:
        return ""
    rule = study.settings.ties
    tied = [f"{name} {percent(share)}" for name, share in sorted(ties.items(), key=lambda t: -t[1])]
    return (
        f"Pairs that a metric scores equally: {listed(tied)}. Under the rule “{rule}” "
        f"{_TIES[rule]}."
    )


def _of_gaps(results: Sequence[AgreementRow]) -> str:
    missing = {row.metric: row.missing for row in results if row.missing}
    counts = listed([f"{name} {number(count)}" for name, count in missing.items()])
    return f"Sentence scores that are missing and left out: {counts}." if missing else ""


def _of_undefined(study: MetaEvaluation, systems: Sequence[AgreementRow]) -> str:
    """Return a caution on metrics without a correlation, unless a note gives the reason."""
    if len(study.compared) < _LEAST:
        return ""
    names = [
        row.metric
        for row in systems
        if math.isnan(row.pearson)
        and not _constant(row.scores)
        and not _constant(study.human(cast(View, row.human)))
    ]
    who = listed(list(dict.fromkeys(names)))
    text = f"No correlation is defined for {who}: the system scores are constant or missing."
    return text if names else ""


def _not_above_chance(sentences: Sequence[AgreementRow], chance: Sequence[AgreementRow]) -> str:
    """Return a caution on metrics whose accuracy (lower bound) is not above a constant metric's."""
    floors = {
        row.human: row.accuracy
        for row in chance
        if (row.metric, row.level) == ("constant", "sentence")
    }
    weak = []
    for row in sentences:
        # Use the lower bound if there is one, so that luck does not lift a metric above chance.
        low = row.intervals.get("accuracy", (math.nan, math.nan))[0]
        low = row.accuracy if math.isnan(low) else low
        if low <= floors.get(row.human, math.nan):
            weak.append(f"{row.metric} ({row.human}-based judgments)")
    return f"Not above chance at the sentence level: {listed(weak)}." if weak else ""


def _of_result(study: MetaEvaluation, result: AgreementRow) -> Iterator[str]:
    """Yield the reason why a metric has no figure."""
    judged = result.level == "sentence"
    if result.level == "system" and len(study.compared) >= _LEAST and _constant(result.scores):
        yield (
            f"{result.metric} gives all systems the same score ({result.human}): its "
            "correlations over systems are not defined"
        )
    if judged and not result.pairs and result.missing_pairs:
        yield (
            f"{result.metric} scored none of the {result.missing_pairs} pairs that humans decided "
            f"({result.human}): its sentence level is not defined"
        )


def _of_judgments(study: MetaEvaluation, view: View) -> list[str]:
    names = study.benchmark.corpus.names
    human = study.human(view)
    notes = []
    if len(names) >= _LEAST and _constant(human):
        notes.append(
            f"humans give all systems the same score ({view}): correlations over systems are not "
            "defined"
        )
    if study.benchmark.rankings.get(view):
        islands = _islands(study, view)
        if len(islands) > 1:
            groups = " | ".join(", ".join(names[:_SHOWN]) + ", …" * (len(names) > _SHOWN)
                              for names in islands[:_SHOWN])  # fmt: skip
            notes.append(
                f"the judgments ({view}) fall into {len(islands)} groups of systems that nobody "
                f"compared with each other ({groups}{' | …' * (len(islands) > _SHOWN)}): human "
                "scores of different groups cannot be compared, so the correlations over all "
                "systems mean nothing"
            )
        if not any(len(part.decided) for part in study.judged[view].parts()):
            notes.append(
                f"no judgment ({view}) prefers one of these systems to another: the sentence level "
                "is not defined"
            )
        repeated, opposite = count_repeats(study.judged[view])
        if repeated:
            notes.append(
                f"{repeated} comparisons ({view}) were made more than once by one annotator, "
                f"{opposite} of them with opposite preferences; all count"
            )
    return notes


def _of_change(result: AgreementRow) -> str:
    """Return a note if people prefer the systems that change more; empty otherwise."""
    if (result.metric, result.level) != ("copy-source", "sentence"):
        return ""
    accuracy = result.accuracy
    if result.pairs < _FEW or accuracy > _UNLIKE:
        return ""
    return (
        "systems that change more of the text are preferred on this benchmark "
        f"({result.human}): similarity to the source agrees with only {accuracy:.3f} of "
        "the pairs, so counting the changes (-m changes) agrees with most of them; a metric that "
        "agrees with fewer may not distinguish good changes from bad"
    )


def _constant(scores: FloatArray) -> bool:
    present = scores[~np.isnan(scores)]
    return len(present) > 1 and bool((present == present[0]).all())


# ---- how long a comparison takes: many systems have very many pairs

# The figures are rough and were measured on one processor of 2020. They cover the parts that grow
# with the pairs of systems, but not the metrics themselves.
_CHANCE = 4  # number of chance baselines
_SPA_PERMUTATIONS = 1000
_TOLD = 300.0  # the least seconds that are reported
_SHARE = 0.1  # the least share of the time for which a part is named

# Seconds of one processor for one array element.
_GAME = 8e-7
_RESAMPLED_GAME = 1.5e-8
_PRODUCT = 2e-10
_CONFIDENCE = 3e-8
_WINS = 2e-8
_SUM = 1e-8
_DENSE_SUM = 1e-9
_CALIBRATED = 1e-7
_SWAPPED_PAIR = 1e-6
_RANKED = 5e-9


def warning(benchmark: Benchmark, metrics: int, settings: Settings) -> str:
    """Return a line on how long a comparison takes and what is quicker; empty if it is short.

    Args:
        benchmark: the benchmark with its judgments.
        metrics: number of metrics compared.
        settings: settings of the comparison.
    """
    seconds, quicker = _effort(benchmark, metrics, settings)
    total = sum(seconds.values())
    if total < _TOLD:
        return ""
    longest = [
        f"{what} {duration(took)}"
        for what, took in sorted(seconds.items(), key=lambda part: -part[1])
        if took >= _SHARE * total
    ]
    remedy = f"; quicker: {', or '.join(quicker)}" if quicker else ""
    return (
        f"{benchmark.name}: {number(len(benchmark.corpus.names))} systems × "
        f"{number(len(benchmark.corpus))} sentences will take about {duration(total)} "
        f"({listed(longest)}){remedy}. Ctrl-C stops it"
    )


def _effort(
    benchmark: Benchmark, metrics: int, settings: Settings
) -> tuple[dict[str, float], list[str]]:
    """Return the seconds of each part of a comparison, and options that would take less."""
    views = settings.views(benchmark.view, benchmark.views)
    systems, lines = len(benchmark.corpus.names), len(benchmark.corpus)
    share = min(1.0, (settings.limit or lines) / lines)
    lines = round(share * lines)
    pairs, how = math.comb(systems, 2), settings.resampling
    draws = 0 if how.over == "none" else how.resamples
    resampled = draws if how.draws_sentences else 0
    every = metrics + _CHANCE
    judged = sum(
        math.comb(sum(map(len, item.groups)), 2)
        for view in views
        for item in benchmark.rankings.get(view, ())
    )
    judged = round(share * judged)
    # Pairs of systems that nobody compared are left out of soft pairwise accuracy.
    compared = min(pairs, judged) if judged or not benchmark.rated else pairs
    seconds: dict[str, float] = {}
    quicker: list[str] = []
    if settings.aggregate == "trueskill":
        opponents = sampled_opponents(systems, lines)
        games = lines * (pairs if opponents is None else systems * opponents / 2)
        seconds["TrueSkill"] = games * every * _GAME
        seconds["TrueSkill of resampled sentences"] = games * every * resampled * _RESAMPLED_GAME
        quicker.append("`aggregate=mean`")
    elif settings.aggregate == "expected-wins":
        seconds["Expected Wins of resampled sentences"] = (
            2 * pairs * every * resampled * (_WINS + lines * _PRODUCT)
        )
        quicker.append("`aggregate=mean`")
    # SPA needs permutations even without resampling, since it compares p-values.
    tests = max(draws, _SPA_PERMUTATIONS)
    seconds["soft pairwise accuracy"] = (
        compared * (every + 1) * tests * (_CONFIDENCE + 3 * lines * _PRODUCT)
    )
    seconds["correlations"] = pairs * every * draws * _RANKED
    # If most systems were compared on a sentence, their pairs are summed as a matrix.
    a_sum = _DENSE_SUM if judged > systems * lines else _SUM
    if settings.ties == "calibrated":
        a_sum = _CALIBRATED
        quicker.append("`ties=half`")
    seconds["judged pairs"] = judged * every * draws * a_sum
    if benchmark.rated and settings.level in ("sentence", "all"):
        aspects = len(benchmark.rated)
        seconds["segment level"] = judged * every * aspects * (1 + resampled) * _CALIBRATED
        quicker.append("`level=system`")
    # Chance baselines are not tested against metrics.
    duels = math.comb(metrics, 2)
    if draws and duels and settings.statistic == "spa":
        seconds["tests of soft pairwise accuracy"] = (
            compared * how.permutations * duels * (_SWAPPED_PAIR + 6 * lines * _PRODUCT)
        )
        quicker.append("`statistic=pearson`")
    elif draws and duels:
        seconds["tests"] = systems * how.permutations * duels * (_SUM * 10 + 2 * lines * _PRODUCT)
    if draws:
        quicker += [f"fewer `resamples=` than {number(how.resamples)}", "`resample=none`"]
    return seconds, quicker
