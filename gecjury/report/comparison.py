"""The tables of a comparison for people, and its document for programs. Nothing is computed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from gecjury.core.wording import listed, number
from gecjury.metaeval.chance import COPY_SOURCE, simplest_rival
from gecjury.metaeval.edits.comparison import JUDGE, EditComparison
from gecjury.metaeval.edits.corrections import ANY
from gecjury.metaeval.result import (
    SYSTEM_STATISTICS,
    Annotators,
    Comparison,
    Uncertainty,
    row_key,
)
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import MetaEvaluation
from gecjury.report.audit import audit_sentences, audit_tables
from gecjury.report.keys import keyed
from gecjury.report.paper import chosen_columns, with_columns
from gecjury.report.result import Column, Record, Table
from gecjury.report.words import BESIDE, CAN_WAIT, ComparisonWords
from gecjury.stats.catalogue import statistic
from gecjury.stats.correlation import MEASURES
from gecjury.stats.figure import ABOUT, Figure, grouped, records
from gecjury.stats.preferences import SENTENCE_STATISTICS

# Intervals are shown for the two correlations that people quote and for the accuracy: with those of
# all statistics the table would be too wide for a terminal. JSON has them all.
_BOUNDED = ("pearson", "spearman", "accuracy")
_OVER_SOURCES = "[low, high]: bootstrap over sources, each with all its corrections"
_EDIT_LEGEND = (
    "AUC: how often a valid edit has more credit than an invalid one; AP invalid: precision in "
    "finding invalid edits; [low, high]: bootstrap over sources"
)
_TESTS = {"perm-systems": "PERM-SYS", "perm-both": "PERM-BOTH"}
_SAME = 0.0005  # accuracies that differ by less look equal
_EDIT_KEYS = (
    "metric", "family", "credit", "auc", "auc_there", "average_precision",
    "average_precision_invalid", "accuracy", "balanced", "kappa",
    "cases", "valid", "missing", "seconds",
)  # fmt: skip
_LISTS = {
    "annotators": "people", "rating": "ratings", "segment": "segment", "label": "labels",
    "bias": "biases", "window": "windows",
}  # fmt: skip
"""Levels that are lists of records in JSON, and their keys."""
_THERE = {"sentence": "doubly_judged", "edit": "ceiling_edits"}
"""Keys of the figures with the suffix `_there`, by level."""


def tables(comparison: Comparison, chosen: Sequence[str] = ()) -> list[Table]:
    """Return the tables of a comparison, that with the figures that matter most first.

    At level `edit` there is no main table, since only single edits were scored.

    Args:
        comparison: the comparison.
        chosen: names of the columns that people see of the leading table; by default the most
            important ones.
    """
    # First the levels, from systems down to single edits, then the tables requested by options.
    at = {group[0].level: group for group in grouped(comparison.figures(), ("level",))}
    parts = []
    if comparison.tables:
        main = (figure for level in ("system", "sentence", "") for figure in at.get(level, ()))
        parts.append(_main_table(comparison, [*main]))
    if comparison.edits is not None:
        parts.append(_edit_table(comparison, comparison.edits, at.get("edit", ())))
    single = {"rating": _rating_table, "segment": _segment_table, "label": _label_table}
    parts += [made(comparison, at[level]) for level, made in single.items() if level in at]
    # A terminal shows only the first table, with the cautions.
    leading = _leading(parts)
    brief = leading.instead.get("brief", leading)
    brief = replace(brief, notes=[*brief.notes, *_to_heed(comparison)])
    if chosen:
        brief = with_columns(brief, chosen_columns(chosen, leading.columns))
    rest = [part for part in parts if part is not leading]
    parts = [replace(leading, instead={**leading.instead, "brief": brief}), *rest]
    if people := at.get("annotators"):
        parts.append(_people_table(comparison, people))
    audits = audit_tables(comparison)
    asked, sample = comparison.settings.audit, comparison.benchmark.sample
    # Nobody paid for the replies that come with the sample.
    parts += [replace(audit, asked=asked, gist="" if sample else audit.gist) for audit in audits]
    if comparison.settings.windows:
        parts.append(replace(_window_table(comparison, at.get("window", ())), asked=True))
    return parts


def check_columns(chosen: Sequence[str], study: MetaEvaluation) -> None:
    """Refuse names of columns that the leading table of a comparison does not have.

    Raises:
        OptionError: lists the columns.
    """
    benchmark, level = study.benchmark, study.settings.level
    # Which table leads depends on the data if the judgments are not of systems.
    if chosen and not benchmark.places:
        columns = _columns(*_EDIT_KEYS) if level == "edit" else _main_columns(level)
        chosen_columns(chosen, columns)


def _leading(parts: Sequence[Table]) -> Table:
    """Return the first table in which people see figures of agreement."""
    for part in parts:
        shown = part.seen_by("brief")
        for column in shown.columns:
            values = [column.cell(row) for row in shown.rows]
            agreement = column.statistic.better or column.interval
            if agreement and any(isinstance(v, float) and v == v for v in values):
                return part
    return parts[0]


def document(answer: ComparisonWords) -> dict[str, object]:
    """Return a comparison as in its JSON output; docs/reference/statistics.md has its keys."""
    comparison, figures = answer.comparison, answer.comparison.figures()
    benchmark, settings = comparison.benchmark, comparison.settings
    names, uncertainty = benchmark.corpus.names, comparison.uncertainty
    record: dict[str, object] = {
        "benchmark": benchmark.name,
        "sample": benchmark.sample,
        "human": comparison.human,
        "human_scores": comparison.human_kinds,
        "human_values": {
            view: dict(zip(names, comparison.study.human(view).tolist(), strict=True))
            for view in comparison.views
        },
        "systems": list(names),
        "sentences": len(benchmark.corpus),
        "references": benchmark.references,
        **keyed("settings", settings),
        "opponents": comparison.study.opponents,
        "fingerprint": benchmark.fingerprint,
        "notes": answer.notes,
        "rows": _json_rows(comparison, figures),
        "ceiling": {v: keyed("ceiling", p.agreement) for v, p in comparison.annotators.items()},
        "annotators": {view: _kappas(people) for view, people in comparison.annotators.items()},
        "chance": _chance(figures),
        "uncertainty": uncertainty and _resampled(settings, uncertainty),
        "significance": [
            {"human": view, "correction": "holm", **keyed("test", test)}
            for view, tests in (uncertainty.tests.items() if uncertainty else ())
            for test in tests
        ],
        "differences": [
            keyed("difference", gap) for gap in (uncertainty.differences if uncertainty else ())
        ],
        "caveats": [caution.text for caution in answer.cautions],
    }
    return {**record, **_requested(comparison, figures), "verdict": answer.verdict}


def _resampled(settings: Settings, uncertainty: Uncertainty) -> dict[str, object]:
    """Return how intervals and tests were made."""
    how = settings.resampling
    return {
        **keyed("resampling", how),
        "seed": settings.seed,
        "aggregate_resampled": how.draws_sentences,
        "human_resampled": uncertainty.human_resampled,
    }


def _requested(comparison: Comparison, figures: Sequence[Figure]) -> dict[str, object]:
    """Return the keys that are present only if they were requested or the data has them."""
    benchmark, settings = comparison.benchmark, comparison.settings
    record: dict[str, object] = {"places": True} if benchmark.places else {}
    if benchmark.drawn_from is not None:
        lines = [line + 1 for line in benchmark.sentence_ids]
        limit = {"sentences": settings.limit, "of": benchmark.drawn_from, "lines": lines}
        record |= {"limit": limit}
    if (edits := comparison.edits) is not None:
        record |= {"edit_untried": edits.untried, "edit_notes": edits.notes}
    edit_chance: dict[str, object] = {}
    for entry, (first, *_) in _entries(figures, "edit"):
        if first.family == "chance":
            edit_chance[first.metric] = entry
            record |= {"edit_chance": edit_chance}
        elif first.family == "humans":
            record |= {"edit_ceiling": entry}
    record |= _listed(comparison, figures)
    if comparison.audits:
        audits = {
            audit.signature: {
                "members": audit.stored.members,
                "humans": {view: keyed("audited", one) for view, one in audit.humans.items()},
            }
            | ({} if audit.stored.panel is None else {"panel": audit.stored.panel})
            for audit in comparison.audits
        }
        record |= {"audits": audits}
    if sentences := dict(audit_sentences(comparison)):
        record |= {"audit_verdict": sentences}
    return record


def _listed(comparison: Comparison, figures: Sequence[Figure]) -> dict[str, object]:
    """Return the levels that are lists of records, by their keys."""
    lists: dict[str, list[dict[str, object]]] = {}
    if comparison.settings.windows:
        lists |= {"windows": []}
    for entry, (first, *_) in _entries(figures, *_LISTS):
        if first.level == "label":
            entry |= {"corrections": {key: entry.pop(key) for key in ("good", "bad")}}
        lists.setdefault(_LISTS[first.level], []).append(keyed(first.level, first) | entry)
    labels = keyed("labels", comparison.benchmark.labels) if "labels" in lists else {}
    return {
        key: {**(labels if key == "labels" else {}), "rows": rows}
        if key in ("segment", "labels")
        else rows
        for key, rows in lists.items()
    }


def _entries(
    figures: Sequence[Figure], *levels: str
) -> Iterator[tuple[dict[str, object], list[Figure]]]:
    """Yield the figures at some levels as records for JSON, one for everything that they are about.

    A record has each figure under its statistic, and the intervals under `ci95`.
    """
    bounded = {(figure.level, figure.statistic) for figure in figures if figure.interval}
    for group in grouped((f for f in figures if f.level in levels), ("level", *ABOUT)):
        level = group[0].level
        # People may have no draws; otherwise an undefined interval is `null`.
        drawn = group[0].family != "humans" or any(figure.interval for figure in group)
        own = {f.statistic: f for f in group if not f.statistic.endswith("_there")}
        entry: dict[str, object] = {key: figure.value for key, figure in own.items()} | {
            "ci95": {
                key: (figure.low, figure.high)
                for key, figure in own.items()
                if drawn and (level, key) in bounded
            }
        }
        if level in ("system", "sentence"):
            entry |= {"cluster": group[0].cluster}
        if level == "annotators":
            entry |= {f"{_of(figure)}_cluster": figure.cluster for figure in group}
        if level in _THERE:
            there = [figure for figure in group if figure.statistic not in own]
            by_key = {figure.statistic.removesuffix("_there"): figure.value for figure in there}
            entry[_THERE[level]] = by_key or None
        yield entry, group


def _of(figure: Figure) -> str:
    """Return the level that a figure against single annotators is of."""
    return "system" if figure.statistic in MEASURES else "sentence"


def _json_rows(comparison: Comparison, figures: Sequence[Figure]) -> list[dict[str, object]]:
    """Return rows of the metrics; figures of the edit level are in the row of their metric."""
    names, level = comparison.benchmark.corpus.names, comparison.settings.level
    levels = dict.fromkeys(one for one in ("system", "sentence") if level in (one, "all"))
    rows: dict[tuple[str, str, str], dict[str, object]] = {}
    metrics = [figure for figure in figures if figure.family not in BESIDE]
    for row in comparison.at("") if comparison.tables else ():
        if row.family not in BESIDE:
            scores = dict(zip(names, row.scores.tolist(), strict=True))
            place = row.metric, row.human, row.signature
            rows[place] = {**keyed("metric", row), **levels, "scores": scores, **row.values}
    for entry, (first, *_) in _entries(metrics, "system", "sentence"):
        rows[first.metric, first.human, first.signature][first.level] = entry
    for entry, (first, *_) in _entries(metrics, "edit"):
        entry = {"credit": first.credit, **entry}
        # A way to credit belongs to the metric, and so to its row for every view.
        of_metric = [row for place, row in rows.items() if place[0] == first.metric]
        if not of_metric:
            of_metric = [{"metric": first.metric, "family": first.family, "human": "edit"}]
            rows[first.metric, "edit", ""] = of_metric[0]
        for row_of_view in of_metric:
            row_of_view |= {"edit": entry}
    return [*rows.values()]


def _chance(figures: Sequence[Figure]) -> dict[str, object]:
    of_baselines: dict[str, dict[str, dict[str, object]]] = {}
    # The document format has one accuracy per baseline, that against the first view.
    accuracy: dict[str, object] = {}
    chance = [figure for figure in figures if figure.family == "chance"]
    for entry, (first, *_) in _entries(chance, "system", "sentence"):
        of_baseline = of_baselines.setdefault(first.metric, {})
        of_baseline.setdefault(first.human, {})[first.level] = entry
        if "accuracy" in entry:
            accuracy.setdefault(first.metric, entry["accuracy"])
    return {
        name: {"accuracy": accuracy.get(name), "human": by_human}
        for name, by_human in of_baselines.items()
    }


# ---- the main table


def _main_table(comparison: Comparison, figures: Sequence[Figure]) -> Table:
    """Return the main table: a row for each metric and view, then chance, then people."""
    settings = comparison.settings
    # If the systems are unknown (`places`), there may be no preferences between corrections.
    preferred = bool(comparison.at("sentence")) or not comparison.benchmark.places
    columns = _main_columns(settings.level, preferred)
    notes = [
        *_setting_notes(comparison),
        *_annotator_notes(comparison),
        *_resampling_notes(comparison),
    ]
    notes += list(dict.fromkeys(str(table.signature) for table in comparison.tables))
    notes += [caution.text for caution in comparison.cautions]
    # People look for the best metric, programs for the order of the command line.
    best = _best_first(figures, ("system", settings.statistic), ("sentence", "accuracy"))
    shown = {"metric", "family", settings.statistic, "accuracy"}
    shown |= {"human"} if len(comparison.views) > 1 else set()
    if comparison.uncertainty and any(comparison.uncertainty.tests.values()):
        shown |= {"system_cluster", "sentence_cluster"}
    brief = Table(
        [column for column in columns if column.key in shown],
        records(_without_weak_baselines(best), row_key),
        comparison.title,
        legend="".join(_legend(comparison)),
    )
    table = Table(columns, records(figures, row_key), comparison.title, notes)
    verbose = replace(table, rows=records(best, row_key))
    return replace(table, instead={"brief": brief, "verbose": verbose})


def _main_columns(level: str, preferred: bool = True) -> list[Column]:
    """Return the columns of the main table; those of preferences only if there are any."""
    keys = ["metric", "family", "human"]
    keys += [*SYSTEM_STATISTICS, "system_cluster"] if level in ("system", "all") else []
    if level in ("sentence", "all") and preferred:
        named = (Figure(level="sentence", statistic=key, value=0) for key in SENTENCE_STATISTICS)
        keys += [*map(row_key, named), "sentence_cluster", "tied", "pairs"]
    return _columns(*keys, "missing", "seconds", mixed=True, bounded=_BOUNDED)


def _without_weak_baselines(figures: Sequence[Figure]) -> list[Figure]:
    """Return figures with only the chance baselines that say something about the metrics.

    They are the simplest rival of each view, and `constant` if its accuracy is not that of chance.
    """
    accuracy = {
        (figure.metric, figure.human): figure.value
        for figure in figures
        if (figure.family, figure.level, figure.statistic) == ("chance", "sentence", "accuracy")
    }

    def says_something(figure: Figure) -> bool:
        if figure.metric == "constant":
            return abs(accuracy.get((figure.metric, figure.human), 0.5) - 0.5) > _SAME
        return figure.metric == simplest_rival(accuracy.get((COPY_SOURCE, figure.human), 0.0))

    return [figure for figure in figures if figure.family != "chance" or says_something(figure)]


def _best_first(figures: Sequence[Figure], *keys: tuple[str, str]) -> list[Figure]:
    """Return figures by view, those of the best metric first, then chance, then people.

    Args:
        figures: figures of one kind of table.
        *keys: levels and statistics to sort by: the first with a value.
    """
    views = list(dict.fromkeys(figure.human for figure in figures))

    def place(group: Sequence[Figure]) -> tuple[int, int, float]:
        values = {(f.level, f.statistic): f.value for f in group if not math.isnan(f.value)}
        value = next((values[key] for key in keys if key in values), -math.inf)
        family = group[0].family
        beside = BESIDE.index(family) + 1 if family in BESIDE else 0
        # Chance and people stay in their own order.
        return beside, views.index(group[0].human), 0.0 if beside else -value

    return [figure for group in sorted(grouped(figures), key=place) for figure in group]


def _legend(comparison: Comparison) -> Iterator[str]:
    """Yield a line that explains the intervals and clusters of the main table."""
    if comparison.uncertainty is None:
        return
    how = comparison.settings.resampling
    text = f"[low, high]: {how.confidence:.0%} bootstrap over {drawn(how.over)}"
    if any(comparison.uncertainty.tests.values()):
        text += "; cl: significance clusters, 1 is best"
    yield text


def _to_heed(comparison: Comparison) -> list[str]:
    """Return the cautions that affect what a reader should do and are not in the verdict."""
    said = () if comparison.benchmark.sample or comparison.uncertainty is None else ("Chance",)
    cautions = comparison.cautions
    return [caution.text for caution in cautions if caution.heading not in (*CAN_WAIT, *said)]


# In tables with figures of both levels, headings say which one they are of.
_LEVEL_OF = {"kendall": "system", "accuracy": "sentence"}


def _share(key: str) -> Callable[[Record], float | None]:
    """Return a function that computes a percentage from a share."""
    return lambda row: 100 * row[key] if key in row else None


_VALUES: Mapping[str, Callable[[Record], object]] = {
    "aspect": itemgetter("human"),
    "systems": lambda row: " ".join(row.get("systems", ())),
    "tied": _share("tied_share"),
    "human_tied": _share("human_tied_share"),
}
"""Cells that are not the value of a key."""


def _columns(*keys: str, mixed: bool = False, bounded: Sequence[str] | None = None) -> list[Column]:
    """Return the columns for keys.

    Args:
        *keys: keys of the cells.
        mixed: whether the table has figures of systems and of sentences.
        bounded: keys with intervals; None for all that have one.
    """
    return [
        Column(
            key,
            interval=f"{key}_ci95" if bounded is None or key in bounded else "",
            value=_VALUES.get(key),
            place=_LEVEL_OF.get(key, "") if mixed else "",
        )
        for key in keys
    ]


def aggregation(aggregate: str, opponents: int | None, seed: int) -> str:
    """Return in words how sentence scores were aggregated to system scores."""
    if aggregate != "trueskill":
        return aggregate
    how = "one pass in file order"
    if opponents is not None:
        how += f"; on each sentence a system plays {opponents} of the others, drawn by seed {seed}"
    return f"{aggregate} ({how})"


def _setting_notes(comparison: Comparison) -> list[str]:
    settings = comparison.settings
    how = aggregation(settings.aggregate, comparison.study.opponents, settings.seed)
    kinds = ", ".join(sorted(set(comparison.human_kinds.values())))
    judged = "the pairs that humans decided"
    if settings.ties == "calibrated":
        judged = "all judged pairs of different texts, human ties count (two annotators: also)"
    above = f"system level: metric by {how}, human {kinds}; "
    if comparison.benchmark.places:
        above = "no system level: it is not known which system made a correction"
        if not comparison.at("sentence"):
            return [above, *map(str, comparison.benchmark.notes)]
        above += "; "
    above += f"sentence level: ties={settings.ties}, tied % of {judged}"
    return [above, *map(str, comparison.benchmark.notes)]


def _annotator_notes(comparison: Comparison) -> list[str]:
    """Return notes on the agreement of two annotators, and of metrics, at sentence level."""
    if comparison.settings.level not in ("sentence", "all"):
        return []
    # κ is over all ranked systems, as in the papers, not over those compared here.
    parts = [
        f"{number(people.between.mean, 2)} and {number(people.within.mean, 2)} ({view})"
        for view, people in comparison.annotators.items()
    ]
    if not parts:
        return []
    kappas = (
        "κ between annotators and within one, over all ranked systems (Scott's π: chance from the "
        f"pooled labels): {', '.join(parts)}"
    )
    if comparison.benchmark.directed_kappa:
        kappas += "; as published, with each pair only in the alphabetical order of its systems"
    notes = [*_beside_annotators(comparison), kappas]
    alphas = [
        f"{number(people.alpha, 2)} ({view})"
        for view, people in comparison.annotators.items()
        if not math.isnan(people.alpha)
    ]
    if alphas:
        notes.append(f"Krippendorff's α of ranks, over all ranked systems: {', '.join(alphas)}")
    return notes


def _beside_annotators(comparison: Comparison) -> list[str]:
    """Return notes on metrics on doubly judged pairs, and on the bounds implied by them."""
    notes = []
    for view, people in comparison.annotators.items():
        agreement = people.agreement
        if not agreement.decided:
            notes.append(
                f"two annotators ({view}): no pair was decided by two annotators that the data "
                "distinguish, so people cannot be ranked among the metrics"
            )
            continue
        note = (
            f"two annotators ({view}) agree on {number(agreement.accuracy)} of "
            f"{agreement.decided} pairs"
        )
        if not math.isnan(agreement.perfect):
            note += (
                "; that is not an upper bound: a metric that is always right would have "
                f"{number(agreement.accuracy)} to {number(agreement.perfect)} there, "
                "the more, the less often the two make the same errors"
            )
        notes.append(note)
    return notes


def _kappas(people: Annotators) -> dict[str, object]:
    """Return κ and α over all ranked systems, and κ on the pairs compared here."""
    kinds, ceiling = {"between": people.between, "within": people.within}, people.agreement
    counts = {name: sum(kappa.counts.values()) for name, kappa in kinds.items()}
    return {
        "kappa": {name: k.mean for name, k in kinds.items()} | {"ceiling": ceiling.kappa},
        "weighted": {name: kappa.weighted for name, kappa in kinds.items()},
        "comparisons": counts | {"ceiling": ceiling.pairs},
        "alpha": people.alpha,
    }


def _resampling_notes(comparison: Comparison) -> list[str]:
    settings, uncertainty = comparison.settings, comparison.uncertainty
    if uncertainty is None:
        return []
    how = settings.resampling
    notes = [
        f"[low, high]: {how.confidence:.0%} bias-corrected bootstrap over {drawn(how.over)}, "
        f"{how.resamples} resamples, seed {settings.seed}"
    ]
    # Intervals with fixed human scores are too narrow, which the reader has to know.
    fixed = [view for view, resampled in uncertainty.human_resampled.items() if not resampled]
    if fixed and how.draws_sentences and not comparison.benchmark.places:
        notes.append(
            f"human scores ({', '.join(fixed)}) are held fixed: there is no data to recompute them"
        )
    if any(uncertainty.tests.values()):
        notes.append(
            f"cl: significance clusters, 1 is best, Holm-corrected at "
            f"{how.level}: system level by {_TESTS[settings.cluster_test]} on "
            f"{statistic(settings.statistic).words} ({_swapped(settings)}), sentence level by "
            "paired permutation of sources (holds for other sentences by these systems), "
            f"{how.permutations} permutations each"
        )
    return notes + [
        f"{view}: {dropped} of {uncertainty.drawn} resampled statistics were not "
        "defined (constant scores, fewer than 3 different systems, a system without "
        "judgments) and left out"
        for view, dropped in uncertainty.dropped.items()
        if dropped and not comparison.benchmark.places
    ]


def drawn(over: str) -> str:
    """Return in words what the bootstrap draws."""
    return {"both": "sentences and systems"}.get(over, over)


def _swapped(settings: Settings) -> str:
    """Return what the test at system level swaps, and what its result generalises to."""
    if settings.cluster_test == "perm-systems":
        return "whole systems swapped: holds for other systems as well"
    cells = "each sentence's share of systems beaten swapped"
    if settings.aggregate == "mean" or settings.statistic == "spa":
        cells = "sentence scores swapped"
    return f"{cells}: holds for other sentences by these systems"


# ---- people among the metrics


def _people_table(comparison: Comparison, figures: Sequence[Figure]) -> Table:
    """Return a table of metrics and people against single annotators."""
    systems = {f.value for f in figures if f.statistic == "annotators" and f.value}
    pairs = any(figure.statistic == "judgments" and figure.value for figure in figures)
    keys = ["metric", "family", "human"]
    keys += [*SYSTEM_STATISTICS[:-1], "system_cluster"] if systems else []
    keys += ["accuracy", "sentence_cluster", "relative", "judgments"] if pairs else []
    notes = [
        "r, ρ, τ, pair acc: scores of systems against those by the judgments of all annotators but "
        f"one, mean over {listed(sorted(map(str, systems)))}; two annotators: the scores of that "
        "one annotator"
    ] * bool(systems)
    notes += [
        "accuracy: on pairs that two annotators judged, against each of them; two annotators: one "
        "against the other; relative: accuracy divided by that of two annotators"
    ] * pairs
    if comparison.uncertainty is not None:
        notes.append(
            "cl: clusters of metrics and people, Holm-corrected: system level by PERM-SYS, p twice "
            "the mean over the annotators; sentence level by paired permutation of sources"
        )
    of_level = [replace(figure, level=_of(figure)) for figure in figures]
    best = _best_first(of_level, ("sentence", "accuracy") if pairs else ("system", "pearson"))
    # Intervals of two ratios would make the table wider than a terminal; JSON has them.
    columns = _columns(*keys, mixed=True, bounded=_BOUNDED)
    table = Table(columns, records(of_level), "People among the metrics", notes)
    return replace(table, instead={"verbose": replace(table, rows=records(best))})


# ---- single edits


def _edit_table(comparison: Comparison, edits: EditComparison, figures: Sequence[Figure]) -> Table:
    """Return a table of credits against verdicts: metrics, then chance, then people."""
    benchmark = comparison.benchmark
    title = (
        f"{benchmark.name}: single edits against the annotators' verdicts, "
        f"references {benchmark.references or 'none'}"
    )
    # If whole corrections are compared, the benchmark's notes are below their table.
    of_benchmark = [] if comparison.tables else benchmark.notes
    notes = list(dict.fromkeys([*_edit_notes(edits), *of_benchmark, *edits.notes]))
    essential = ("metric", "family", "credit", "auc", "average_precision_invalid")
    table = Table(
        _columns(*_EDIT_KEYS, bounded=("auc", "average_precision_invalid")), (), title, notes
    )
    brief = [_EDIT_LEGEND, *_untried(edits)]
    return _for_people(table, figures, (*essential, "cases"), "auc", brief)


def _for_people(
    table: Table,
    figures: Sequence[Figure],
    essential: Sequence[str],
    key: str,
    notes: Sequence[str] | None = None,
) -> Table:
    """Return a table of figures in which people see the best metric and important columns first.

    Args:
        table: the table for programs, without rows.
        figures: figures of one level.
        essential: keys of the columns shown without `--verbose`.
        key: the statistic by which rows are sorted.
        notes: the legend and the notes shown without `--verbose`; None for all.
    """
    best = _best_first(figures, (figures[0].level, key))
    columns = [column for column in table.columns if column.key in essential]
    few = _without_weak_baselines(best) if key != "auc" else best
    # The first of the usual notes explains the columns.
    legend, *below = table.notes if notes is None else notes
    full = replace(table, rows=records(best))
    brief = replace(full, columns=columns, rows=records(few), legend=legend, notes=below)
    return replace(table, rows=records(figures), instead={"brief": brief, "verbose": full})


def _edit_notes(edits: EditComparison) -> list[str]:
    rows = {row.metric: row for row in edits.rows}
    constant, ceiling = (rows[name] for name in ("constant", JUDGE))
    notes = [
        f"{edits.edits} judged edits in {edits.corrections} corrections of {edits.sources} "
        f"sources; {constant.split} on which annotators are evenly split are left out",
        "accuracy, balanced, κ: threshold chosen on one half of the sources and applied to the "
        f"other, both ways; calling every edit valid has an accuracy of {constant.accuracy:.3f}",
        f"one annotator by another: {ceiling.edits} edits with verdicts of more than one, "
        "each compared with each of the others; `AUC there` is a metric on the same verdicts"
        if ceiling.pairs
        else "no edit has verdicts of more than one annotator: how far people agree is not known",
    ]
    if edits.resamples:
        notes.append(f"intervals: 95%, {edits.resamples} resamples of sources with all their edits")
    return [*notes, *_untried(edits)]


def _untried(edits: EditComparison) -> list[str]:
    """Return the note on metrics that were not compared on single edits, if there are any."""
    if not edits.untried:
        return []
    return [
        f"not compared on single edits, which costs as much as scoring again: "
        f"{', '.join(edits.untried)}; to compare them, use `level=edit`"
    ]


# ---- single corrections: ratings, and the segment level


def _rating_table(comparison: Comparison, figures: Sequence[Figure]) -> Table:
    """Return a table of correlations with ratings by aspect."""
    keys = ["metric", "family", "aspect", "pearson", "spearman", "kendall", "within"]
    keys += ["sources", "outputs", "missing"]
    keys += [] if comparison.benchmark.places else ["system_pearson", "system_spearman"]
    notes = [
        "over single corrections and their mean ratings; a correction that several systems made "
        "counts once; τ in source: mean over the sources"
    ]
    if comparison.settings.resampling.draws_sentences:
        notes.append(_OVER_SOURCES)
    if any(figure.family == "humans" for figure in figures):
        notes.append("one rater: against the mean of the others, which is noisier than that of all")
    table = Table(_columns(*keys), (), "Ratings of single corrections", notes)
    essential = ("metric", "family", "aspect", "pearson", "spearman", "within", "outputs")
    return _for_people(table, figures, (*essential, "system_pearson"), "pearson")


def _segment_table(comparison: Comparison, figures: Sequence[Figure]) -> Table:
    """Return a table of accuracy with ties and correlations by source."""
    keys = ["metric", "family", "human", "acc_eq", "epsilon", "acc_exact", "kendall"]
    keys += ["pearson", "pdp", "groups", "pairs", "tied", "human_tied", "missing"]
    notes = [
        "acc_eq: pairs of corrections of one source, human ties count, scores at most ε apart are "
        "a tie, with the best ε for these pairs; acc ε=0: only equal scores are a tie; means over "
        "the sources, for τ and r over those in which they are defined",
        "a correction that several systems made counts once",
    ]
    if comparison.settings.resampling.draws_sentences:
        notes.append("[low, high]: bootstrap over sources, ε chosen again in every draw")
    if any(len(raters) > 1 for raters in comparison.benchmark.raters.values()):
        notes.append("one rater: against the mean of the others, averaged over the raters")
    # Intervals of acc ε=0 and PDP would make the table wider than a terminal; JSON has them.
    columns = _columns(*keys, bounded=("acc_eq", "kendall", "pearson"))
    table = Table(columns, (), "Segment level: corrections of one source", notes)
    essential = ("metric", "family", "human", "acc_eq", "epsilon", "kendall", "pearson", "pdp")
    return _for_people(table, figures, essential, "acc_eq")


# ---- labels of whole corrections


def _label_table(comparison: Comparison, figures: Sequence[Figure]) -> Table:
    """Return a table of AUC of good against bad corrections, one column per class of bad ones."""
    # A record is of one class; people compare classes, so they become the columns. All classes
    # share the good corrections, so no class lacks more scores than all together.
    by_class = [replace(f, human="", statistic=f.human) for f in figures if f.statistic == "auc"]
    by_class += [
        replace(figure, human="")
        for figure in figures
        if (figure.statistic, figure.human) == ("missing", ANY)
    ]
    classes = dict.fromkeys(figure.human for figure in figures)
    columns = [
        *_columns("metric", "family"),
        *(Column(name, f"{name}, AUC", interval=f"{name}_ci95") for name in classes),
        *_columns("missing"),
    ]
    about = comparison.benchmark.labels
    assert about is not None  # nothing else has this level
    counts = about.counts
    meant = "; ".join(f"{name}: {text} ({counts[name]})" for name, text in about.false.items())
    notes = [
        f"AUC: probability that a good correction ({about.true}, {counts[about.true]}) scores "
        f"above a bad one, ties one half; {ANY}: all bad ones together; {meant}",
    ]
    if about.others:
        left = "; ".join(f"{name}: {text} ({counts[name]})" for name, text in about.others.items())
        notes.append(f"left out: {left}")
    if comparison.settings.resampling.draws_sentences:
        notes.append(_OVER_SOURCES)
    title = f"{comparison.benchmark.name}: labels of whole corrections"
    table = Table(columns, records(by_class), title, notes)
    shown = records(_without_weak_baselines(by_class))
    brief = replace(table, columns=columns[:-1], rows=shown, legend=notes[0], notes=notes[1:])
    return replace(table, instead={"brief": brief})


# ---- windows


def _window_table(comparison: Comparison, figures: Sequence[Figure]) -> Table:
    """Return a table of correlations over runs of systems adjacent in the human ranking."""
    columns = _columns("metric", "human", "size", "start", "pearson", "spearman", "systems")
    systems = len(comparison.benchmark.corpus.names)
    notes = [] if figures else [f"a window has 4 or 8 systems; there are {systems} here"]
    title = "Windows of systems adjacent in the human ranking, best first"
    return Table(columns, records(figures), title, notes)
