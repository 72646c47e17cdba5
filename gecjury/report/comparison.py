"""The tables of a comparison for people, and its document for programs. Nothing is computed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from gecjury.core.wording import listed, number
from gecjury.metaeval.chance import COPY_SOURCE, simplest_rival
from gecjury.metaeval.edits.comparison import EditComparison
from gecjury.metaeval.edits.corrections import ANY, LabelComparison
from gecjury.metaeval.edits.measures import EditRow
from gecjury.metaeval.result import (
    SENTENCE_STATISTICS,
    SYSTEM_STATISTICS,
    Annotators,
    Comparison,
    Uncertainty,
    edit_rows,
    sentence_key,
)
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import AgreementRow, MetaEvaluation, SystemAgreement
from gecjury.metaeval.uncertainty import Significance
from gecjury.report.audit import audit_sentences, audit_tables
from gecjury.report.paper import chosen_columns, with_columns
from gecjury.report.result import Column, Record, Table
from gecjury.report.words import BESIDE, CAN_WAIT, ComparisonWords
from gecjury.stats.catalogue import statistic

# Intervals are shown for the two correlations that people quote and for the accuracy: with those of
# all statistics the table would be too wide for a terminal. JSON has them all.
_BOUNDED = ("pearson", "spearman", "accuracy")
_OVER_SOURCES = "[low, high]: bootstrap over sources, each with all its corrections"
_EDIT_LEGEND = (
    "AUC: how often a valid edit has more credit than an invalid one; AP invalid: precision in "
    "finding invalid edits; 95%: interval over sources"
)
_TESTS = {"perm-systems": "PERM-SYS", "perm-both": "PERM-BOTH"}
_CEILING = ("accuracy", "decided", "with_ties", "pairs", "perfect")
_SAME = 0.0005  # accuracies that differ by less look equal
_SENTENCE = ("tied", "tied_share", "pairs", "missing", "epsilon")
_EDIT_KEYS = (
    "metric", "family", "credit", "auc", "auc_ci95", "auc_there", "average_precision",
    "average_precision_invalid", "average_precision_invalid_ci95", "accuracy", "balanced", "kappa",
    "cases", "valid", "missing", "seconds",
)  # fmt: skip


def tables(comparison: Comparison, chosen: Sequence[str] = ()) -> list[Table]:
    """Return the tables of a comparison, that with the figures that matter most first.

    At level `edit` there is no main table, since only single edits were scored.

    Args:
        comparison: the comparison.
        chosen: names of the columns that people see of the leading table; by default the most
            important ones.
    """
    # First the levels, from systems down to single edits, then the tables requested by options.
    parts = [_main_table(comparison)] if comparison.tables else []
    if comparison.edits is not None:
        parts.append(_edit_table(comparison, comparison.edits))
    if comparison.ratings:
        parts.append(_rating_table(comparison))
    if comparison.segments:
        parts.append(_segment_table(comparison))
    if comparison.labels is not None:
        parts.append(_label_table(comparison, comparison.labels))
    # A terminal shows only the first table, with the cautions.
    leading = _leading(parts)
    brief = leading.instead.get("brief", leading)
    brief = replace(brief, notes=[*brief.notes, *_to_heed(comparison)])
    if chosen:
        brief = with_columns(brief, chosen_columns(chosen, leading.columns))
    rest = [part for part in parts if part is not leading]
    parts = [replace(leading, instead={**leading.instead, "brief": brief}), *rest]
    if comparison.people:
        parts.append(_people_table(comparison))
    audits = audit_tables(comparison)
    asked, sample = comparison.settings.audit, comparison.benchmark.sample
    # Nobody paid for the replies that come with the sample.
    parts += [replace(audit, asked=asked, gist="" if sample else audit.gist) for audit in audits]
    if comparison.settings.windows:
        parts.append(replace(_window_table(comparison), asked=True))
    return parts


def check_columns(chosen: Sequence[str], study: MetaEvaluation) -> None:
    """Refuse names of columns that the leading table of a comparison does not have.

    Raises:
        OptionError: lists the columns.
    """
    benchmark, level = study.benchmark, study.settings.level
    # Which table leads depends on the data if the judgments are not of systems.
    if chosen and not benchmark.places:
        single = level == "edit"
        columns = _columns(*_EDIT_KEYS, mixed=False) if single else _main_columns(level)
        chosen_columns(chosen, columns)


def _leading(parts: Sequence[Table]) -> Table:
    """Return the first table in which people see figures of agreement."""
    for part in parts:
        shown = part.seen_by("brief")
        for column in shown.columns:
            values = [column.cell(row) for row in shown.rows]
            if column.statistic.better and any(isinstance(v, float) and v == v for v in values):
                return part
    return parts[0]


def terminal_columns(comparison: Comparison) -> set[str]:
    """Return the keys of the columns of the main table that a terminal shows, at most eight."""
    shown = {"metric", "family", comparison.settings.statistic, "accuracy"}
    if len(comparison.views) > 1:
        shown.add("human")
    if comparison.uncertainty and any(comparison.uncertainty.tests.values()):
        shown |= {"system_cluster", "sentence_cluster"}
    return shown


def document(answer: ComparisonWords) -> dict[str, Any]:
    """Return a comparison as in its JSON output; docs/reference/statistics.md has its keys."""
    comparison = answer.comparison
    benchmark, settings = comparison.benchmark, comparison.settings
    names, uncertainty = benchmark.corpus.names, comparison.uncertainty
    record: dict[str, Any] = {
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
        **_fields(settings, "aggregate", "seed", "ties"),
        "opponents": comparison.study.opponents,
        "fingerprint": benchmark.fingerprint,
        "notes": list(benchmark.notes),
        "rows": _result_rows(comparison),
        "ceiling": {
            view: _fields(people.agreement, *_CEILING)
            for view, people in comparison.annotators.items()
        },
        "annotators": {view: _kappas(people) for view, people in comparison.annotators.items()},
        "chance": _chance(comparison.chance),
        "uncertainty": uncertainty and _how(settings, uncertainty),
        "significance": [
            _test(test, view)
            for view, tests in (uncertainty.tests.items() if uncertainty else ())
            for test in tests
        ],
        "differences": [vars(gap) for gap in (uncertainty.differences if uncertainty else ())],
        "caveats": [caution.text for caution in comparison.cautions],
    }
    # The keys from here on are present only if they were requested or the data has them.
    if comparison.people:
        record["people"] = [_person(row) for row in comparison.people]
    if benchmark.places:
        record["places"] = True
    if benchmark.drawn_from is not None:
        record["limit"] = {
            "sentences": settings.limit,
            "of": benchmark.drawn_from,
            "lines": [line + 1 for line in benchmark.sentence_ids],
        }
    if comparison.edits is not None:
        record |= _edit_record(comparison.edits)
    if comparison.ratings:
        record["ratings"] = [{"aspect": row.human, **_agreed(row)} for row in comparison.ratings]
    if comparison.segments:
        rows = [{"human": row.human, **_agreed(row)} for row in comparison.segments]
        record["segment"] = {"rows": rows}
    if comparison.labels is not None:
        record["labels"] = {
            **_fields(comparison.labels.labels, "true", "false", "others"),
            "counts": comparison.labels.counts,
            "rows": [_labelled(row) for row in comparison.labels.rows],
        }
    if comparison.audits:
        record["audits"] = {
            audit.signature: {
                "members": audit.members,
                "humans": {
                    view: {
                        "accuracy": accuracy,
                        "ceiling": ceiling,
                        "with_invalid": audit.with_invalid[view],
                    }
                    for view, (accuracy, ceiling) in audit.humans.items()
                },
                **({} if audit.panel is None else {"panel": audit.panel}),
            }
            for audit in comparison.audits
        }
    if comparison.biases:
        record["biases"] = [
            {**_fields(row, "human", "side", "systems"), **_agreed(row)}
            for row in comparison.biases
        ]
    if sentences := dict(audit_sentences(comparison)):
        record["audit_verdict"] = sentences
    if settings.windows:
        record["windows"] = [vars(window) for window in comparison.windows]
    return {**record, "verdict": answer.verdict}


# ---- the main table, and the same results in the document


def _main_table(comparison: Comparison) -> Table:
    """Return the main table: a row for each metric and view, then chance, then people."""
    level = comparison.settings.level
    # If the systems are unknown (`places`), there may be no preferences between corrections.
    preferred = any(result.sentence for result in comparison.results)
    columns = _main_columns(level, preferred or not comparison.benchmark.places)
    rows = []
    for record in comparison.rows():
        bounded = [key for key in _BOUNDED if f"{key}_low" in record]
        ends = {key: (record[f"{key}_low"], record[f"{key}_high"]) for key in bounded}
        rows.append(_with_intervals(record, ends))
    notes = [
        *_setting_notes(comparison),
        *_annotator_notes(comparison),
        *_resampling_notes(comparison),
    ]
    notes += list(dict.fromkeys(result.signature for result in comparison.results))
    notes += [caution.text for caution in comparison.cautions]
    # People look for the best metric, programs for the order of the command line.
    sorted_rows = _best_first(rows, comparison.settings.statistic, "accuracy")
    shown = terminal_columns(comparison)
    brief = Table(
        [column for column in columns if column.key in shown],
        _without_weak_baselines(sorted_rows),
        comparison.title,
        legend="".join(_legend(comparison)),
    )
    table = Table(columns, rows, comparison.title, notes)
    return replace(table, instead={"brief": brief, "verbose": replace(table, rows=sorted_rows)})


def _main_columns(level: str, preferred: bool = True) -> list[Column]:
    """Return the columns of the main table; those of preferences only if there are any."""
    keys = ["metric", "family", "human"]
    keys += [*SYSTEM_STATISTICS, "system_cluster"] if level in ("system", "all") else []
    if level in ("sentence", "all") and preferred:
        keys += [*map(sentence_key, SENTENCE_STATISTICS), "sentence_cluster", "tied", "pairs"]
    return _columns(*keys, "missing", "seconds")


def _without_weak_baselines(rows: Sequence[Record]) -> list[Record]:
    """Return records with only the chance baselines that say something about the metrics.

    They are the simplest rival of each view, and `constant` if its accuracy is not that of chance.
    """
    copied = {
        row.get("human"): row.get("accuracy", 0.0)
        for row in rows
        if (row["family"], row["metric"]) == ("chance", COPY_SOURCE)
    }

    def says_something(row: Record) -> bool:
        if row["metric"] == "constant":
            return bool(abs(row.get("accuracy", 0.5) - 0.5) > _SAME)
        return bool(row["metric"] == simplest_rival(copied[row.get("human")]))

    return [row for row in rows if row["family"] != "chance" or says_something(row)]


def _best_first(rows: Sequence[Record], *keys: str) -> list[Record]:
    """Return records by view, the best metric first, then chance, then people.

    Args:
        rows: records with `family` and, if there are several kinds of judgments, `human` or
            `aspect`.
        *keys: keys of the value to sort by: the first that a record has.
    """

    def judged(row: Record) -> Any:
        return row.get("human", row.get("aspect"))

    views = list(dict.fromkeys(map(judged, rows)))

    def place(row: Record) -> tuple[int, int, float]:
        values = [row[key] for key in keys if row.get(key) is not None]
        value = next((value for value in values if not math.isnan(value)), -math.inf)
        beside = BESIDE.index(row["family"]) + 1 if row["family"] in BESIDE else 0
        # Chance and people stay in their own order.
        return beside, views.index(judged(row)), 0.0 if beside else -value

    return sorted(rows, key=place)


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


def _columns(
    *keys: str, mixed: bool = True, headings: Mapping[str, str] | None = None
) -> list[Column]:
    """Return the columns for keys, with their intervals if rows have them.

    Args:
        *keys: keys of the cells.
        mixed: whether the table has figures of systems and of sentences.
        headings: headings by key, if the data name them.
    """
    return [
        Column(
            key,
            (headings or {}).get(key, ""),
            interval=f"{key}_ci",
            place=_LEVEL_OF.get(key, "") if mixed else "",
        )
        for key in keys
    ]


def _with_intervals(
    record: Mapping[str, Any], intervals: Mapping[str, tuple[float, float]]
) -> dict[str, Any]:
    """Return a record with intervals under the keys that columns look for."""
    return {**record, **{f"{key}_ci": bounds for key, bounds in intervals.items()}}


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
        if not any(result.sentence for result in comparison.results):
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


def _kappas(people: Annotators) -> dict[str, Any]:
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


def _how(settings: Settings, uncertainty: Uncertainty) -> dict[str, Any]:
    record = {**asdict(settings.resampling), "seed": settings.seed}
    record["aggregate_resampled"] = settings.resampling.draws_sentences
    return {**record, "human_resampled": uncertainty.human_resampled}


def _test(test: Significance, view: str) -> dict[str, Any]:
    record = {"human": view, "correction": "holm", **vars(test)}
    # The document calls permutations `resamples`.
    record["resamples"] = record.pop("permutations")
    return record


def _result_rows(comparison: Comparison) -> list[dict[str, Any]]:
    """Return rows of the metrics; figures of the edit level are in the row of their metric."""
    level, names = comparison.settings.level, comparison.benchmark.corpus.names
    rows: list[dict[str, Any]] = [
        {
            "metric": result.label,
            "family": result.family,
            "signature": result.signature,
            "human": result.view,
            **({} if level == "sentence" else {"system": _system(result)}),
            **({} if level == "system" else {"sentence": _sentence(result)}),
            "scores": dict(zip(names, result.scores.tolist(), strict=True)),
            "seconds": result.seconds,
            "missing": result.missing,
        }
        for result in comparison.results
    ]
    for part in comparison.edits.results if comparison.edits else ():
        entry = {"credit": part.credit, **_credited(part), "seconds": part.seconds}
        # A way to credit belongs to the metric, and so to its row for every view.
        of_metric = [row for row in rows if row["metric"] == part.label]
        if not of_metric:
            of_metric = [{"metric": part.label, "family": part.family, "human": "edit"}]
            rows += of_metric
        for row in of_metric:
            row.setdefault("edit", entry)
            row.setdefault("edit_by_credit", {})[part.credit] = entry
    return rows


def _chance(results: Sequence[SystemAgreement]) -> dict[str, Any]:
    levels: dict[str, Any] = {}
    for result in results:
        entry = levels.setdefault(result.metric, {"accuracy": None, "human": {}})
        record = {"system": _system(result), "sentence": _sentence(result)}
        entry["human"][result.view] = record
        # The document format has one accuracy per baseline, that against the first view.
        if entry["accuracy"] is None and result.sentence is not None:
            entry["accuracy"] = result.sentence.accuracy
    return levels


def _fields(value: object, *names: str) -> dict[str, Any]:
    return {name: getattr(value, name) for name in names}


def _system(result: SystemAgreement) -> dict[str, Any]:
    return {**result.system, "ci95": result.system_ci95, "cluster": result.system_cluster}


def _sentence(result: SystemAgreement) -> dict[str, Any] | None:
    twice = result.doubly_judged
    if result.sentence is None:
        return None
    return {
        **_fields(result.sentence, *SENTENCE_STATISTICS, *_SENTENCE),
        "ci95": result.sentence_ci95,
        "cluster": result.sentence_cluster,
        "doubly_judged": twice and _fields(twice, "accuracy", "pairs"),
    }


def _agreed(row: AgreementRow) -> dict[str, Any]:
    """Return a metric's agreement with people on single corrections."""
    about = {"metric": row.label, "family": row.family}
    return {**about, **row.values, "ci95": row.intervals}


# ---- people among the metrics


def _person(row: AgreementRow) -> dict[str, Any]:
    clusters = {f"{level}_cluster": cluster for level, cluster in row.clusters.items()}
    return {"human": row.human, **_agreed(row), **clusters}


def _people_table(comparison: Comparison) -> Table:
    """Return a table of metrics and people against single annotators."""
    systems = {row.values["annotators"] for row in comparison.people if row.values["annotators"]}
    pairs = any(row.values["judgments"] for row in comparison.people)
    keys = ["metric", "family", "human"]
    keys += [*SYSTEM_STATISTICS[:-1], "system_cluster"] if systems else []
    keys += ["accuracy", "sentence_cluster", "relative", "judgments"] if pairs else []
    rows = []
    for row in comparison.people:
        # Intervals of two ratios would make the table wider than a terminal; JSON has them.
        shown = {key: row.intervals[key] for key in _BOUNDED if key in row.intervals}
        rows.append(_with_intervals(_person(row), shown))
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
    table = Table(_columns(*keys), rows, "People among the metrics", notes)
    sorted_rows = _best_first(rows, "accuracy" if pairs else "pearson")
    return replace(table, instead={"verbose": replace(table, rows=sorted_rows)})


# ---- single edits


def _edit_record(edits: EditComparison) -> dict[str, Any]:
    return {
        "edit_ceiling": _credited(edits.ceiling),
        "edit_chance": {name: _credited(baseline) for name, baseline in edits.chance.items()},
        "edit_untried": edits.untried,
        "edit_notes": edits.notes,
    }


def _credited(row: EditRow) -> dict[str, Any]:
    record = {**row.values, **_fields(row, "threshold", "thresholds", "drawn")}
    record["ci95"] = row.intervals
    return {**record, "ceiling_edits": row.beside_ceiling} if row.beside_ceiling else record


def _edit_table(comparison: Comparison, edits: EditComparison) -> Table:
    """Return a table of credits against verdicts: metrics, then chance, then people."""
    rows = edit_rows(edits)
    for row in rows:
        # Intervals have separate columns. Chance and people took no time and credit nothing.
        for key in ("auc", "average_precision_invalid"):
            if f"{key}_low" in row:
                row[f"{key}_ci95"] = f"{row[f'{key}_low']:.3f}–{row[f'{key}_high']:.3f}"
        if not row["credit"]:
            row |= {"credit": None, "seconds": None}
    benchmark = comparison.benchmark
    title = (
        f"{benchmark.name}: single edits against the annotators' verdicts, "
        f"references {benchmark.references or 'none'}"
    )
    # If whole corrections are compared, the benchmark's notes are below their table.
    of_benchmark = [] if comparison.tables else benchmark.notes
    notes = list(dict.fromkeys([*_edit_notes(edits), *of_benchmark, *edits.notes]))
    essential = ("metric", "family", "credit", "auc", "auc_ci95", "average_precision_invalid")
    table = Table(_columns(*_EDIT_KEYS, mixed=False), rows, title, notes)
    return _for_people(table, (*essential, "cases"), "auc", [_EDIT_LEGEND, *_untried(edits)])


def _for_people(
    table: Table, essential: Sequence[str], key: str, notes: Sequence[str] | None = None
) -> Table:
    """Return a table in which people see the best metric first and the most important columns.

    Args:
        table: the table for programs.
        essential: keys of the columns shown without `--verbose`.
        key: key of the value by which rows are sorted.
        notes: the legend and the notes shown without `--verbose`; None for all.
    """
    full = replace(table, rows=_best_first(table.rows, key))
    columns = [column for column in table.columns if column.key in essential]
    rows = _without_weak_baselines(full.rows) if key != "auc" else full.rows
    # The first of the usual notes explains the columns.
    legend, *below = table.notes if notes is None else notes
    brief = replace(full, columns=columns, rows=rows, legend=legend, notes=below)
    return replace(table, instead={"brief": brief, "verbose": full})


def _edit_notes(edits: EditComparison) -> list[str]:
    constant, ceiling = edits.chance["constant"].values, edits.ceiling.values
    notes = [
        f"{edits.edits} judged edits in {edits.corrections} corrections of {edits.sources} "
        f"sources; {edits.results[0].values['split']} on which annotators are evenly split are "
        "left out",
        "accuracy, balanced, κ: threshold chosen on one half of the sources and applied to the "
        f"other, both ways; calling every edit valid has an accuracy of {constant['accuracy']:.3f}",
        f"one annotator by another: {ceiling['edits']} edits with verdicts of more than one, "
        "each compared with each of the others; `AUC there` is a metric on the same verdicts"
        if ceiling["pairs"]
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
        f"{', '.join(edits.untried)}; to compare them, use --level edit"
    ]


# ---- single corrections: ratings, and the segment level


def _rating_table(comparison: Comparison) -> Table:
    """Return a table of correlations with ratings by aspect."""
    keys = ["metric", "family", "aspect", "pearson", "spearman", "kendall", "within"]
    keys += ["sources", "outputs", "missing"]
    keys += [] if comparison.benchmark.places else ["system_pearson", "system_spearman"]
    rows = [
        _with_intervals({"aspect": row.human, **_agreed(row)}, row.intervals)
        for row in comparison.ratings
    ]
    notes = [
        "over single corrections and their mean ratings; a correction that several systems made "
        "counts once; τ in source: mean over the sources"
    ]
    if comparison.settings.resampling.draws_sentences:
        notes.append(_OVER_SOURCES)
    if any(rated.family == "humans" for rated in comparison.ratings):
        notes.append("one rater: against the mean of the others, which is noisier than that of all")
    table = Table(_columns(*keys, mixed=False), rows, "Ratings of single corrections", notes)
    essential = ("metric", "family", "aspect", "pearson", "spearman", "within", "outputs")
    return _for_people(table, (*essential, "system_pearson"), "pearson")


def _segment_table(comparison: Comparison) -> Table:
    """Return a table of accuracy with ties and correlations by source."""
    keys = ["metric", "family", "human", "acc_eq", "epsilon", "acc_exact", "kendall"]
    keys += ["pearson", "pdp", "groups", "pairs", "tied", "human_tied", "missing"]
    rows = []
    for row in comparison.segments:
        record = {"human": row.human, **_agreed(row)}
        for key in ("tied", "human_tied"):
            record[key] = 100 * record[f"{key}_share"]
        # Intervals of acc ε=0 and PDP would make the table wider than a terminal; JSON has them.
        shown = {k: ends for k, ends in row.intervals.items() if k not in ("acc_exact", "pdp")}
        rows.append(_with_intervals(record, shown))
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
    table = Table(
        _columns(*keys, mixed=False), rows, "Segment level: corrections of one source", notes
    )
    essential = ("metric", "family", "human", "acc_eq", "epsilon", "kendall", "pearson", "pdp")
    return _for_people(table, essential, "acc_eq")


# ---- labels of whole corrections


def _labelled(row: AgreementRow) -> dict[str, Any]:
    record = _agreed(row)
    record["corrections"] = {"good": record.pop("good"), "bad": record["bad"]}
    return {**record, "bad": row.human}


def _label_table(comparison: Comparison, labels: LabelComparison) -> Table:
    """Return a table of AUC of good against bad corrections, one column per class of bad ones."""
    # There is one row per class; people compare classes, so they become the columns.
    rows: dict[str, dict[str, Any]] = {}
    for row in labels.rows:
        record = rows.setdefault(row.label, _labelled(row))
        record |= {row.human: row.values["auc"], f"{row.human}_ci": row.intervals.get("auc")}
        # All classes share the good corrections, so the largest count is that of the metric.
        record["missing"] = max(row.values["missing"], record["missing"])
    classes = dict.fromkeys(row.human for row in labels.rows)
    headings = {name: f"{name}, AUC" for name in classes}
    columns = _columns("metric", "family", *classes, "missing", headings=headings)
    about, counts = labels.labels, labels.counts
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
    table = Table(columns, list(rows.values()), title, notes)
    rows_shown = _without_weak_baselines(table.rows)
    brief = replace(table, columns=columns[:-1], rows=rows_shown, legend=notes[0], notes=notes[1:])
    return replace(table, instead={"brief": brief})


# ---- windows


def _window_table(comparison: Comparison) -> Table:
    """Return a table of correlations over runs of systems adjacent in the human ranking."""
    columns = _columns("metric", "human", "size", "start", "pearson", "spearman")
    columns.append(Column("systems", value=lambda row: " ".join(row["systems"])))
    systems = len(comparison.benchmark.corpus.names)
    notes = [] if comparison.windows else [f"a window has 4 or 8 systems; there are {systems} here"]
    title = "Windows of systems adjacent in the human ranking, best first"
    return Table(columns, [vars(window) for window in comparison.windows], title, notes)
