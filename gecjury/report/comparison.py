"""The tables of a comparison for people, and its document for programs. Computes nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from gecjury.metaeval.edits.comparison import EditComparison
from gecjury.metaeval.edits.corrections import ANY, LabelComparison
from gecjury.metaeval.edits.measures import EditAgreement
from gecjury.metaeval.result import (
    SENTENCE_STATISTICS,
    Annotators,
    Comparison,
    IntervalsAndTests,
    sentence_key,
)
from gecjury.metaeval.segments import SegmentLevel
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Result
from gecjury.metaeval.uncertainty import Significance
from gecjury.report.result import Column, Table
from gecjury.report.tables import audit_table
from gecjury.wording import listed, number

# Metrics named beside the annotators; the others stand in JSON.
_BESIDE = 6
_TESTS = {"perm-systems": "PERM-SYS", "perm-both": "PERM-BOTH"}
_STATISTICS = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ",
    "pairwise_accuracy": "pairwise accuracy",
    "spa": "SPA",
}
"""How a note calls what metrics are told apart by at system level."""


HEADINGS: Mapping[str, str] = {
    "pearson": "r",
    "spearman": "ρ",
    "kendall": "τ sys",
    "pairwise_accuracy": "pair acc",
    "spa": "SPA",
    "system_cluster": "cl sys",
    "accuracy": "sent acc",
    "sentence_kendall": "τ sent",
    "sentence_cluster": "cl sent",
    "tied": "tied %",
    "seconds": "s",
    "average_precision": "AP valid",
    "average_precision_invalid": "AP invalid",
    "kappa": "κ",
}
"""How the figures of the main table, and of that of single edits, are headed."""


def tables(found: Comparison) -> list[Table]:
    """Return the tables of a comparison, the main one first.

    At level `edit` there is no main table: nothing above single edits was scored.
    """
    parts = [_main_table(found)] if found.tables else []
    if found.edits is not None:
        parts += _edit_tables(found, found.edits)
    parts += _rating_tables(found)
    if found.segments is not None:
        parts.append(_segment_table(found, found.segments))
    if found.labels is not None:
        parts.append(_label_table(found, found.labels))
    parts += _audit_tables(found)
    if found.settings.windows:
        parts.append(_window_table(found))
    parts += _pairwise_tables(found)
    return parts


def document(found: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON has it; its keys are documented."""
    benchmark, settings = found.benchmark, found.settings
    record: dict[str, Any] = {
        "benchmark": benchmark.name,
        "sample": benchmark.sample,
        "human": found.human,
        "human_scores": found.human_kinds,
        "human_values": {
            view: dict(zip(benchmark.corpus.names, found.study.human(view).tolist(), strict=True))
            for view in found.views
        },
        "systems": list(benchmark.corpus.names),
        "sentences": len(benchmark.corpus),
        "references": benchmark.references,
        "aggregate": settings.aggregate,
        "shuffles": settings.shuffles,
        "seed": settings.seed,
        "ties": settings.ties,
        "fingerprint": benchmark.fingerprint,
        "notes": list(benchmark.notes),
        "rows": _result_rows(found),
        "ceiling": {
            view: {
                "accuracy": people.agreement.accuracy,
                "decided": people.agreement.decided,
                "with_ties": people.agreement.with_ties,
                "pairs": people.agreement.pairs,
                "perfect": people.agreement.perfect,
            }
            for view, people in found.annotators.items()
        },
        "annotators": {view: _kappas(people) for view, people in found.annotators.items()},
        "chance": _chance(found.chance),
        "uncertainty": None if found.uncertainty is None else _how(found, found.uncertainty),
        "significance": [] if found.uncertainty is None else _tests(found.uncertainty),
        "differences": [
            {
                "level": gap.level,
                "human": gap.human,
                "statistic": gap.statistic,
                "first": gap.first,
                "second": gap.second,
                "difference": gap.difference,
                "ci95": {over: list(bounds) for over, bounds in gap.ci95.items()},
            }
            for gap in (found.uncertainty.differences if found.uncertainty else ())
        ],
        "caveats": [caution.text for caution in found.cautions],
    }
    # From here on keys are there only where they were asked for or the data has them.
    if benchmark.places:
        record["places"] = True
    if found.edits is not None:
        record |= _edit_record(found.edits)
    if found.ratings:
        record["ratings"] = _rating_rows(found)
    if found.segments is not None:
        record["segment"] = {
            "grouping": found.segments.grouping,
            "humans": found.segments.humans,
            "rows": _segment_rows(found.segments),
        }
    if found.labels is not None:
        record["labels"] = {
            "true": found.labels.labels.true,
            "false": dict(found.labels.labels.false),
            "others": dict(found.labels.labels.others),
            "counts": dict(found.labels.counts),
            "rows": _label_rows(found.labels),
        }
    if found.audits:
        record["audits"] = {
            audit.signature: {
                "members": audit.members,
                "humans": {
                    view: {"accuracy": accuracy, "ceiling": best}
                    for view, (accuracy, best) in audit.humans.items()
                },
            }
            for audit in found.audits
        }
    if settings.windows:
        record["windows"] = [
            {**row, "systems": row["systems"].split()} for row in _window_rows(found)
        ]
    if settings.pairwise:
        record["pairwise"] = [
            {
                "metric": grid.label,
                "human": grid.view,
                "by": grid.by,
                "labels": list(grid.names),
                "accuracy": grid.table.accuracy,
                "pairs": grid.table.counts,
            }
            for grid in found.pairwise
        ]
    return record


# ---- the main table, and what the document says of the same results


def _main_table(found: Comparison) -> Table:
    """Return the main table: a row for each metric and view, then chance, then people."""
    level = found.settings.level
    system = [
        _column("pearson", interval="pearson_ci"),
        _column("spearman", interval="spearman_ci"),
        *(_column(key) for key in ("kendall", "pairwise_accuracy", "spa", "system_cluster")),
    ]
    sentence = [
        _column("accuracy", interval="accuracy_ci"),
        *(_column(sentence_key(name)) for name in SENTENCE_STATISTICS[1:]),
        _column("sentence_cluster"),
        _column("tied", 1),
        Column("pairs"),
    ]
    columns = [Column("metric"), Column("family"), Column("human")]
    columns += system if level in ("system", "all") else []
    if found.benchmark.places and not any(result.sentence for result in found.results):
        sentence = []  # Nobody preferred a correction to another.
    columns += sentence if level in ("sentence", "all") else []
    columns += [Column("missing"), _column("seconds", 1)]
    rows = [_with_bounds(record) for record in found.rows()]
    notes = [*_setting_notes(found), *_annotator_notes(found), *_resampling_notes(found)]
    notes += list(dict.fromkeys(result.signature for result in found.results))
    notes += [caution.text for caution in found.cautions]
    return Table(columns, rows, found.title, notes)


def _column(key: str, digits: int = 3, interval: str = "") -> Column:
    return Column(key, HEADINGS.get(key, key), digits, interval)


def _with_bounds(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return a record whose intervals are one cell each, as columns name them."""
    ends = {key.removesuffix("_low") for key in record if key.endswith("_low")}
    return {**record, **{f"{k}_ci": (record[f"{k}_low"], record[f"{k}_high"]) for k in ends}}


def _setting_notes(found: Comparison) -> list[str]:
    settings = found.settings
    how: str = settings.aggregate
    if how == "trueskill":
        how += (
            f" (mean of {settings.shuffles} shuffles, seed {settings.seed})"
            if settings.shuffles
            else " (one pass in file order)"
        )
    kinds = ", ".join(sorted(set(found.human_kinds.values())))
    judged = "the pairs that humans decided"
    if settings.ties == "calibrated":
        judged = "all judged pairs of different texts, human ties are answers (two annotators: too)"
    above = f"system level: metric by {how}, human {kinds}; "
    if found.benchmark.places:
        above = "no system level: nobody knows which system made a correction"
        if not any(result.sentence for result in found.results):
            return [above, *map(str, found.benchmark.notes)]
        above += "; "
    notes = [
        f"{above}sentence level: ties={settings.ties}, tied % of {judged}",
    ]
    return notes + [str(note) for note in found.benchmark.notes]


def _annotator_notes(found: Comparison) -> list[str]:
    """Return notes on the agreement of two annotators, and of metrics, at sentence level."""
    if found.settings.level not in ("sentence", "all"):
        return []
    parts = [
        f"{number(people.between.mean, 2)} and {number(people.within.mean, 2)} ({view})"
        for view, people in found.annotators.items()
    ]
    if not parts:
        return []
    kappas = f"κ between annotators and within one, over all ranked systems: {', '.join(parts)}"
    if found.benchmark.directed_kappa:
        kappas += "; as published, each pair in the alphabetical order of its systems alone"
    return [*_beside_annotators(found), kappas]


def _beside_annotators(found: Comparison) -> list[str]:
    """Return notes on metrics on doubly judged pairs, and on the bounds that follow."""
    notes = []
    for view, people in found.annotators.items():
        agreement = people.agreement
        if not agreement.decided:
            continue
        note = (
            f"two annotators ({view}) agree on {number(agreement.accuracy)} of "
            f"{agreement.decided} pairs"
        )
        if not math.isnan(agreement.perfect):
            note += (
                "; that is no upper bound: a metric that is always right would have "
                f"{number(agreement.accuracy)} to {number(agreement.perfect)} there, "
                "more the less the two err together"
            )
        shares = {
            result.label: result.doubly_judged.accuracy
            for result in found.results
            if result.view == view and result.doubly_judged is not None
        }
        best = sorted(shares, key=lambda label: -shares[label])[:_BESIDE]
        if best:
            note += f"; there {listed([f'{label} has {number(shares[label])}' for label in best])}"
            note += f" ({len(shares) - len(best)} more in JSON)" * (len(shares) > len(best))
        notes.append(note)
    return notes


def _kappas(people: Annotators) -> dict[str, Any]:
    """Return κ over all ranked systems, and on the pairs compared here."""
    between, within, ceiling = people.between, people.within, people.agreement
    return {
        "kappa": {"between": between.mean, "within": within.mean, "ceiling": ceiling.kappa},
        "weighted": {"between": between.weighted, "within": within.weighted},
        "comparisons": {
            "between": sum(between.counts.values()),
            "within": sum(within.counts.values()),
            "ceiling": ceiling.pairs,
        },
    }


def _resampling_notes(found: Comparison) -> list[str]:
    settings, uncertainty = found.settings, found.uncertainty
    if uncertainty is None:
        return []
    how = settings.resampling
    drawn = {"both": "sentences and systems"}.get(how.over, how.over)
    notes = [
        f"[low, high]: {how.confidence:.0%} bias-corrected bootstrap over {drawn}, "
        f"{how.resamples} resamples, seed {settings.seed}"
    ]
    fixed = [view for view, anew in uncertainty.human_resampled.items() if not anew]
    if fixed and how.draws_sentences and not found.benchmark.places:
        notes.append(
            f"human scores ({', '.join(fixed)}) are held fixed: nothing to compute them from"
        )
    if any(uncertainty.tests.values()):
        notes.append(
            f"cl: significance clusters, 1 is best, Holm-corrected at "
            f"{how.level}: system level by {_TESTS[settings.cluster_test]} on "
            f"{_STATISTICS[settings.statistic]} ({_swapped(settings)}), sentence level by paired "
            "permutation of sources (holds for other sentences by these systems), "
            f"{how.permutations} permutations each"
        )
        notes += _leading_differences(found, uncertainty)
    return notes + [
        f"{view}: {dropped} of {uncertainty.drawn} resampled statistics were not "
        "defined (constant scores, fewer than 3 different systems, a system without "
        "judgments) and left out"
        for view, dropped in uncertainty.dropped.items()
        if dropped and not found.benchmark.places
    ]


def _swapped(settings: Settings) -> str:
    """Return what the test at system level swaps, and to what its result extends."""
    if settings.cluster_test == "perm-systems":
        return "whole systems swapped: holds for other systems as well"
    cells = "each sentence's share of systems beaten swapped"
    if settings.aggregate == "mean" or settings.statistic == "spa":
        cells = "sentence scores swapped"
    return f"{cells}: holds for other sentences by these systems"


def _leading_differences(found: Comparison, uncertainty: IntervalsAndTests) -> Iterator[str]:
    """Yield how far the best metric of each view is ahead, with paired intervals."""
    settings = found.settings
    level, statistic = "system", str(settings.statistic)
    if settings.level == "sentence":
        level, statistic = "sentence", "accuracy"
    over = settings.resampling.over
    drawn = {"both": "sentences and systems"}.get(over, over)
    for view in found.views:
        leading = [
            gap
            for gap in uncertainty.differences
            if (gap.level, gap.human, gap.statistic) == (level, view, statistic)
            and over in gap.ci95
            and not math.isnan(gap.difference)
        ]
        # The best is ahead of all others: whose differences are all 0 or more, either way round.
        ahead: dict[str, dict[str, tuple[float, float, float]]] = {}
        for gap in leading:
            low, high = gap.ci95[over]
            ahead.setdefault(gap.first, {})[gap.second] = (gap.difference, low, high)
            ahead.setdefault(gap.second, {})[gap.first] = (-gap.difference, -high, -low)
        best = next((k for k, v in ahead.items() if min(d for d, _, _ in v.values()) >= 0), None)
        if best is None:
            continue
        nearest = sorted(ahead[best].items(), key=lambda item: item[1][0])[:_BESIDE]
        leads = ", ".join(
            f"{name} {number(gap)} [{number(low)}, {number(high)}]"
            for name, (gap, low, high) in nearest
        )
        yield (
            f"{best} ({view}) is ahead in {_STATISTICS.get(statistic, statistic)} by, paired over "
            f"{drawn}: {leads}" + " (more in JSON)" * (len(ahead[best]) > len(nearest))
        )


def _how(found: Comparison, uncertainty: IntervalsAndTests) -> dict[str, Any]:
    how = found.settings.resampling
    return {
        "resamples": how.resamples,
        "over": how.over,
        "seed": found.settings.seed,
        "confidence": how.confidence,
        "aggregate_resampled": how.draws_sentences,
        "human_resampled": dict(uncertainty.human_resampled),
        "permutations": how.permutations,
        "level": how.level,
    }


def _tests(uncertainty: IntervalsAndTests) -> list[dict[str, Any]]:
    return [_test(test, view) for view, tests in uncertainty.tests.items() for test in tests]


def _test(test: Significance, view: str) -> dict[str, Any]:
    return {
        "human": view,
        "level": test.level,
        "test": test.test,
        "statistic": test.statistic,
        "metrics": list(test.metrics),
        "values": test.values,
        "p": test.p,
        "adjusted": test.adjusted,
        "correction": "holm",
        "resamples": test.permutations,
        "clusters": list(test.clusters),
    }


def _result_rows(found: Comparison) -> list[dict[str, Any]]:
    """Return rows of the metrics; figures of the edit level stand in the row of their metric."""
    level, names = found.settings.level, found.benchmark.corpus.names
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
        for result in found.results
    ]
    for part in found.edits.results if found.edits else ():
        entry = _edit_entry(part.credit, part.agreement, part.beside_ceiling, part.seconds)
        of_metric = [row for row in rows if row["metric"] == part.label]
        if not of_metric:
            of_metric = [{"metric": part.label, "family": part.family, "human": "edit"}]
            rows += of_metric
        for row in of_metric:
            row.setdefault("edit", entry)
            row.setdefault("edit_by_credit", {})[part.credit] = entry
    return rows


def _chance(results: Sequence[Result]) -> dict[str, Any]:
    levels: dict[str, Any] = {}
    for result in results:
        entry = levels.setdefault(result.metric, {"accuracy": None, "human": {}})
        record = {"system": _system(result), "sentence": _sentence(result)}
        entry["human"][result.view] = record
        if entry["accuracy"] is None and result.sentence is not None:
            entry["accuracy"] = result.sentence.accuracy
    return levels


def _system(result: Result) -> dict[str, Any]:
    system = result.system
    return {
        "pearson": system.pearson,
        "spearman": system.spearman,
        "kendall": system.kendall,
        "pairwise_accuracy": system.pairwise_accuracy,
        "spa": system.spa,
        "ci95": {name: list(bounds) for name, bounds in system.ci95.items()},
        "cluster": system.cluster,
    }


def _sentence(result: Result) -> dict[str, Any] | None:
    sentence = result.sentence
    if sentence is None:
        return None
    return {
        **{name: getattr(sentence, name) for name in SENTENCE_STATISTICS},
        "tied": sentence.tied,
        "tied_share": sentence.tied_share,
        "pairs": sentence.pairs,
        "missing": sentence.missing,
        "epsilon": sentence.epsilon,
        "ci95": {name: list(bounds) for name, bounds in result.sentence_ci95.items()},
        "cluster": result.sentence_cluster,
        "doubly_judged": None
        if result.doubly_judged is None
        else {"accuracy": result.doubly_judged.accuracy, "pairs": result.doubly_judged.pairs},
    }


# ---- single edits


def _edit_record(edits: EditComparison) -> dict[str, Any]:
    ceiling = edits.ceiling
    return {
        "edit_ceiling": {
            "edits": ceiling.edits,
            "pairs": ceiling.pairs,
            **_agreement(ceiling.agreement),
        },
        "edit_chance": {
            name: _agreement(baseline.agreement) | {"ceiling_edits": dict(baseline.beside_ceiling)}
            for name, baseline in edits.chance.items()
        },
        "edit_untried": list(edits.untried),
        "edit_notes": list(edits.notes),
    }


def _edit_entry(
    credit: str, agreement: EditAgreement, beside: Mapping[str, float], seconds: float
) -> dict[str, Any]:
    return {
        "credit": credit,
        **_agreement(agreement),
        "ceiling_edits": dict(beside),
        "seconds": seconds,
    }


def _agreement(agreement: EditAgreement) -> dict[str, Any]:
    """Return an agreement as JSON values."""
    record = asdict(agreement)
    if not record["by_type"]:
        del record["by_type"]
    return record


def _edit_tables(found: Comparison, edits: EditComparison) -> list[Table]:
    """Return tables of credits against verdicts; by error type at the edit level."""
    edit_tables = [_edit_table(found, edits)]
    if edits.typed and (found.settings.level == "edit" or found.settings.credit):
        edit_tables.append(_type_table(edits))
    return edit_tables


def _edit_table(found: Comparison, edits: EditComparison) -> Table:
    record = _edit_record(edits)
    rows = [
        _edit_row(
            result.label,
            result.family,
            _edit_entry(result.credit, result.agreement, result.beside_ceiling, result.seconds),
        )
        for result in edits.results
    ]
    rows += [_edit_row(name, "chance", entry) for name, entry in record["edit_chance"].items()]
    rows.append(_edit_row("one annotator by another", "humans", record["edit_ceiling"]))
    columns = [
        Column("metric"),
        Column("family"),
        Column("credit"),
        Column("auc"),
        Column("auc_ci95", "95%"),
        Column("auc_there", "AUC there"),
        _column("average_precision"),
        _column("average_precision_invalid"),
        Column("average_precision_invalid_ci95", "95%"),
        Column("accuracy"),
        Column("balanced"),
        _column("kappa"),
        *(Column(key) for key in ("cases", "valid", "missing")),
        _column("seconds", 1),
    ]
    benchmark = found.benchmark
    title = (
        f"{benchmark.name}: single edits against the annotators' verdicts, "
        f"references {benchmark.references or 'none'}"
    )
    # Where whole corrections are compared, the benchmark's notes stand below their table.
    of_benchmark = [] if found.tables else benchmark.notes
    notes = dict.fromkeys([*_edit_notes(edits), *of_benchmark, *edits.notes])
    return Table(columns, rows, title, list(notes))


def _edit_row(name: str, family: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    ci95 = entry["ci95"]
    return {
        "metric": name,
        "family": family,
        **{key: value for key, value in entry.items() if not isinstance(value, dict | tuple)},
        "auc_there": entry.get("ceiling_edits", entry)["auc"],
        **{
            f"{key}_ci95": f"{ci95[key][0]:.3f}–{ci95[key][1]:.3f}"
            for key in ("auc", "average_precision_invalid")
            if key in ci95
        },
    }


def _edit_notes(edits: EditComparison) -> list[str]:
    constant = edits.chance["constant"].agreement
    notes = [
        f"{edits.edits} judged edits in {edits.corrections} corrections of {edits.sources} "
        f"sources; {edits.results[0].agreement.split} on which annotators are evenly split are "
        "left out",
        "accuracy, balanced, κ: threshold chosen on one half of the sources and tried on the "
        f"other, both ways; calling every edit valid is right in {constant.accuracy:.3f}",
        f"one annotator by another: {edits.ceiling.edits} edits with verdicts of more than one, "
        "each annotator held against each other; `AUC there` is a metric on the same verdicts"
        if edits.ceiling.pairs
        else "no edit has verdicts of more than one annotator: how far people agree is not known",
    ]
    if edits.resamples:
        notes.append(f"intervals: 95%, {edits.resamples} resamples of sources with all their edits")
    if edits.untried:
        notes.append(
            f"not tried on single edits, which costs as much as scoring again: "
            f"{', '.join(edits.untried)}; ask with --level edit or --credit"
        )
    return notes


def _type_table(edits: EditComparison) -> Table:
    """Return a table of AUC by error type, one metric a column."""
    pairs = [(f"{part.label} ({part.credit})", part.agreement) for part in edits.results]
    rows: list[dict[str, Any]] = []
    for kind in pairs[0][1].by_type:
        row: dict[str, Any] = {"type": kind.type, "edits": 0, "invalid": 0}
        row |= {"edits": kind.cases, "invalid": kind.cases - kind.valid}
        for name, agreement in pairs:
            row[name] = {error.type: error.auc for error in agreement.by_type}.get(kind.type)
        rows.append(row)
    columns = [Column("type"), Column("edits"), Column("invalid")]
    columns += [Column(name, digits=2) for name, _ in pairs]
    return Table(columns, rows, "AUC by error type (rare types together as `rest`)")


# ---- single corrections: ratings, and the segment level


def _rating_rows(found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "metric": rated.label,
            "family": rated.family,
            **asdict(rated.agreement),
            "ci95": dict(rated.intervals),
        }
        for rated in found.ratings
    ]


def _rating_tables(found: Comparison) -> list[Table]:
    """Return tables of correlations with ratings by aspect; none without ratings."""
    if not found.ratings:
        return []
    columns = [
        Column("metric"),
        Column("family"),
        Column("aspect"),
        Column("pearson", "r", interval="pearson_ci"),
        Column("spearman", "ρ", interval="spearman_ci"),
        Column("kendall", "τ"),
        Column("within", "τ in source", interval="within_ci"),
        Column("sources"),
        Column("outputs"),
        Column("missing"),
    ]
    if not found.benchmark.places:
        columns += [Column("system_pearson", "r sys"), Column("system_spearman", "ρ sys")]
    rows = [
        {**row, **{f"{k}_ci": v for k, v in row["ci95"].items()}} for row in _rating_rows(found)
    ]
    notes = [
        "over single corrections and their mean ratings; a correction that several systems made "
        "counts once; τ in source: mean over the sources"
    ]
    if found.settings.resampling.draws_sentences:
        notes.append("[low, high]: bootstrap over sources, each with all its corrections")
    if any(rated.family == "humans" for rated in found.ratings):
        notes.append("one rater: against the mean of the others, which is less steady than of all")
    return [Table(columns, rows, "Ratings of single corrections", notes)]


def _segment_rows(segments: SegmentLevel) -> list[dict[str, Any]]:
    return [
        {
            "metric": row.label,
            "family": row.family,
            "human": row.human,
            **asdict(row.agreement),
            "ci95": {name: list(bounds) for name, bounds in row.intervals.items()},
        }
        for row in segments.rows
    ]


def _segment_table(found: Comparison, segments: SegmentLevel) -> Table:
    """Return a table of accuracy with ties and correlations by group."""
    rated = segments.humans == "ratings"
    columns = [
        Column("metric"),
        Column("family"),
        Column("human"),
        Column("acc_eq", interval="acc_eq_ci"),
        Column("epsilon", "ε", 4),
        Column("acc_exact", "acc ε=0"),
        Column("kendall", "τ", interval="kendall_ci"),
        *([Column("pearson", "r", interval="pearson_ci")] if rated else []),
        Column("groups"),
        Column("pairs"),
        Column("tied", "tied %", 1),
        Column("human_tied", "human tied %", 1),
        Column("missing"),
    ]
    rows = []
    for row in _segment_rows(segments):
        ends = {f"{key}_ci": bounds for key, bounds in row["ci95"].items()}
        shares = {"tied": 100 * row["tied_share"], "human_tied": 100 * row["human_tied_share"]}
        rows.append({**row, **ends, **shares})
    title = f"Segment level by {segments.humans}, grouping: {segments.grouping}"
    return Table(columns, rows, title, _segment_notes(found, segments))


def _segment_notes(found: Comparison, segments: SegmentLevel) -> list[str]:
    compared = {
        "item": "pairs of corrections of one source",
        "system": "pairs of outputs of one system",
        "none": "all pairs of corrections",
    }[segments.grouping]
    ranked = segments.humans == "rankings"
    if ranked:
        compared = "pairs of corrections in one ranking"
    notes = [
        f"acc_eq: {compared}, human ties count, scores at most ε apart are a tie, ε the best for "
        "these pairs; acc ε=0: only equal scores are a tie; means over the groups, of τ and r over "
        "those that define it"
    ]
    if segments.grouping != "system":
        notes.append("a correction that several systems made counts once")
    if ranked:
        notes.append(
            "no r, and no other grouping: ranks are comparable within one ranking only; two "
            "annotators: equal judgments of the same two corrections, over all at once"
        )
    if found.settings.resampling.draws_sentences:
        notes.append(
            "[low, high]: bootstrap over sources, ε chosen anew in every draw"
            if segments.grouping == "item"
            else "[low, high]: bootstrap over sources, of r alone"
        )
    if any(len(raters) > 1 for raters in found.benchmark.raters.values()):
        notes.append("one rater: against the mean of the others, averaged over the raters")
    return notes


# ---- labels of whole corrections


def _label_rows(labels: LabelComparison) -> list[dict[str, Any]]:
    return [
        {
            "metric": row.label,
            "family": row.family,
            "score": row.score,
            "bad": row.human,
            "auc": row.agreement.auc,
            "corrections": {"good": row.agreement.good, "bad": row.agreement.bad},
            "missing": row.agreement.missing,
            "ci95": {name: list(bounds) for name, bounds in row.intervals.items()},
        }
        for row in labels.rows
    ]


def _label_table(found: Comparison, labels: LabelComparison) -> Table:
    """Return a table of AUC of good against bad corrections, a class of bad ones a column."""
    classes = list(dict.fromkeys(row.human for row in labels.rows))
    columns = [Column("metric"), Column("family"), Column("score")]
    columns += [Column(name, f"{name}, AUC", interval=f"{name}_ci") for name in classes]
    columns.append(Column("missing"))
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    for labelled in labels.rows:
        row = rows.setdefault(
            (labelled.label, labelled.score),
            {"metric": labelled.label, "family": labelled.family, "score": labelled.score},
        )
        row[labelled.human] = labelled.agreement.auc
        if "auc" in labelled.intervals:
            row[f"{labelled.human}_ci"] = labelled.intervals["auc"]
        row["missing"] = max(labelled.agreement.missing, row.get("missing", 0))
    about, counts = labels.labels, labels.counts
    meant = "; ".join(f"{name}: {text} ({counts[name]})" for name, text in about.false.items())
    notes = [
        f"AUC: probability that a good correction ({about.true}, {counts[about.true]}) scores "
        f"above a bad one, ties one half; {ANY}: all bad ones together; {meant}",
        "gain: over the score of the source, of metrics that score single texts",
    ]
    if about.others:
        left = "; ".join(f"{name}: {text} ({counts[name]})" for name, text in about.others.items())
        notes.append(f"left out: {left}")
    if found.settings.resampling.draws_sentences:
        notes.append("[low, high]: bootstrap over sources, each with all its corrections")
    title = f"{found.benchmark.name}: labels of whole corrections"
    return Table(columns, list(rows.values()), title, notes)


# ---- audits, windows, pairs of systems


def _audit_tables(found: Comparison) -> Iterator[Table]:
    """Yield the audits of metrics that have one, beside their agreement with people."""
    for audit in found.audits:
        rows = [dict(row) for row in audit.rows]
        for view, (accuracy, best) in audit.humans.items():
            value = f"{accuracy:.3f}, two annotators {best:.3f}"
            what = f"agreement with humans ({view})"
            rows.append({"model": "", "what": what, "value": value})
        yield audit_table(audit.label, rows)


def _window_rows(found: Comparison) -> list[dict[str, Any]]:
    return [
        {
            "metric": window.label,
            "human": window.view,
            "size": window.size,
            "start": window.start,
            "systems": " ".join(window.systems),
            "pearson": window.pearson,
            "spearman": window.spearman,
        }
        for window in found.windows
    ]


def _window_table(found: Comparison) -> Table:
    """Return a table of correlations over runs of systems adjacent in the human ranking."""
    rows = _window_rows(found)
    columns = [Column(key) for key in ("metric", "human", "size", "start")]
    columns += [Column("pearson", "r"), Column("spearman", "ρ"), Column("systems")]
    systems = len(found.benchmark.corpus.names)
    notes = [] if rows else [f"a window holds 4 or 8 systems; here are {systems}"]
    return Table(
        columns, rows, "Windows of systems adjacent in the human ranking, best first", notes
    )


def _pairwise_tables(found: Comparison) -> Iterator[Table]:
    """Yield tables of agreement by pair of systems and of ranks."""
    for grid in found.pairwise:
        rows = [
            {"": name, **dict(zip(grid.names, line.tolist(), strict=True))}
            for name, line in zip(grid.names, grid.table.accuracy, strict=True)
        ]
        title = f"{grid.metric}, {grid.view}: sentence accuracy by pair of {grid.by}s"
        yield Table([Column(""), *(Column(name, digits=2) for name in grid.names)], rows, title)
