"""The edit level of `compare`: metrics' credits for single edits against annotators' verdicts."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from gecjury.arrays import FloatArray, IntArray
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.metaeval.edits.measures import EditAgreement
    from gecjury.report.tables import Table
    from gecjury.runtime import Runtime
    from gecjury.scoring.by_edit import EditCase
    from gecjury.scoring.scorer import Plan, Scorer

    Task = tuple[Scorer, str]
    """A metric and how its credits are made."""

__all__ = ["add_edit_options", "compare_edits", "edit_tasks", "plan_edits"]

_KINDS = ("counts", "any", "share", "leave-one-out", "add-one", "shapley")
_RESAMPLES = 1000


def add_edit_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of the edit level."""
    parser.add_argument(
        "--credit",
        nargs="+",
        choices=_KINDS,
        metavar="KIND",
        help="how metrics credit single edits: counts (a metric's own, under the reference it "
        "takes), any or share (of the references), leave-one-out, add-one or shapley (change of "
        "the sentence score); default: counts, and leave-one-out for metrics without",
    )


def edit_tasks(
    scorers: list[Scorer], benchmark: Benchmark, level: str, credit: list[str] | None
) -> tuple[list[Task], list[str]]:
    """What is to be tried at the edit level, where the benchmark has verdicts on edits.

    With `--level all` only what costs little is tried unasked: metrics that count edits without a
    neural model, and scorers that judge edits. The second list names the others.

    Raises:
        OptionError: credits asked for at another level, or of a kind that a metric cannot give.
        DataError: the level was asked for and the benchmark has no verdicts.
    """
    from gecjury.cli.inputs import refuse_fixed
    from gecjury.errors import OptionError
    from gecjury.metaeval.edits.credit import CREDITS, credit_kind
    from gecjury.metaeval.edits.variants import check_attribution
    from gecjury.scoring.by_edit import EditScorer

    if credit and level not in ("edit", "all"):
        raise OptionError(f"--credit is for --level edit or all, not {level}")
    asked = level == "edit" or bool(credit)
    if asked:
        refuse_fixed(scorers, "the edit level")
        benchmark.verdicts()
    if level not in ("edit", "all") or not benchmark.has_verdicts:
        return [], []
    tasks: list[Task] = []
    others: list[str] = []
    for scorer in scorers:
        if scorer.fixed:
            continue
        cheap = scorer.name in CREDITS and "torch" not in scorer.packages
        if asked or cheap or isinstance(scorer, EditScorer):
            kinds = dict.fromkeys(credit_kind(scorer, kind) for kind in credit or ["counts"])
            for kind in kinds:
                check_attribution(scorer, kind)
            tasks += [(scorer, kind) for kind in kinds]
        else:
            others.append(scorer.name)
    return tasks, list(dict.fromkeys(others))


def plan_edits(tasks: list[Task], benchmark: Benchmark, runtime: Runtime) -> list[Plan]:
    """What the edit level would send to a paid service."""
    from gecjury.metaeval.edits.cases import edit_cases
    from gecjury.metaeval.edits.credit import plan_credit

    if not tasks:
        return []
    cases = edit_cases(benchmark)
    plans = [plan_credit(s, cases, benchmark.corpus, runtime, kind) for s, kind in tasks]
    return [plan for plan in plans if plan is not None]


def compare_edits(
    tasks: tuple[list[Task], list[str]],
    benchmark: Benchmark,
    runtime: Runtime,
    document: dict[str, Any],
    args: argparse.Namespace,
) -> tuple[list[Table], int]:
    """Credit every judged edit; the tables, and how many credits are missing.

    The document's rows of a metric take an entry `edit` (and `edit_by_credit`, where several
    kinds were asked for); with no rows at all they are made. The document takes `edit_ceiling`
    and `edit_chance`.
    """
    from gecjury.metaeval.edits.credit import credit_with_files

    if not tasks[0]:
        return [], 0
    trial = _Trial.load(benchmark, runtime, args)
    rows: list[dict[str, Any]] = []
    found: list[tuple[str, EditAgreement]] = []
    for scorer, kind in tasks[0]:
        credited = credit_with_files(
            scorer, trial.cases, benchmark.corpus, runtime, kind, args.output, args.seed
        )
        agreement = trial.agreement(credited.values, 0.5 if kind == "verdicts" else None)
        entry = {
            "credit": kind,
            **_plain(agreement),
            "ceiling_edits": trial.beside_ceiling(credited.values),
            "seconds": credited.seconds,
        }
        label = scorer.signature(benchmark.corpus, runtime).label
        _enter(document, label, scorer, entry)
        rows.append(_row(label, scorer.family, entry))
        found.append((f"{label} ({kind})", agreement))
        trial.notes.extend(credited.notes)
    document |= {"edit_ceiling": trial.ceiling(), "edit_chance": trial.chance()}
    document["edit_untried"] = tasks[1]
    rows += [_row(name, "chance", entry) for name, entry in document["edit_chance"].items()]
    rows.append(_row("one annotator by another", "ceiling", document["edit_ceiling"]))
    notes = dict.fromkeys([*_notes(document, found[0][1], trial, tasks[1]), *trial.notes])
    tables = [_main_table(benchmark, rows, list(notes))]
    if trial.types and (args.level == "edit" or args.credit):
        tables.append(_type_table(found))
    return tables, sum(agreement.missing for _, agreement in found)


@dataclass(frozen=True)
class _Trial:
    """What every metric is tried on.

    Attributes:
        cases: judged edits.
        types: ERRANT's types of them; empty where no tagger is installed.
        pairs: see `gecjury.metaeval.edits.cases.annotator_pairs`.
        resamples: for intervals.
        seed: of halves, resamples and the random row.
        notes: remarks for the user.
    """

    cases: list[EditCase]
    types: tuple[str, ...]
    pairs: tuple[list[EditCase], FloatArray, IntArray]
    resamples: int
    seed: int
    notes: list[str]

    @classmethod
    def load(cls, benchmark: Benchmark, runtime: Runtime, args: argparse.Namespace) -> _Trial:
        from gecjury.errors import MissingExtraError
        from gecjury.metaeval.edits.cases import annotator_pairs, edit_cases, edit_types

        cases = edit_cases(benchmark)
        types: tuple[str, ...] = ()
        notes: list[str] = []
        short = {(c.source, c.correction) for c in cases if not c.complete}
        if short:
            notes.append(
                f"{len(short)} corrections have an edit whose verdict cannot be read; their other "
                "edits are credited without it"
            )
        try:
            types = edit_types(cases, runtime)
        except MissingExtraError as error:
            notes.append(f"no table by error type: {error}")
        resamples = getattr(args, "resamples", None)
        resamples = _RESAMPLES if resamples is None else int(resamples)
        pairs = annotator_pairs(benchmark, cases)
        return cls(cases, types, pairs, resamples, args.seed, notes)

    def agreement(self, scores: FloatArray, threshold: float | None) -> EditAgreement:
        from gecjury.metaeval.edits.measures import edit_agreement, pooled_types

        types = pooled_types(self.types, self.cases) if self.types else ()
        return edit_agreement(
            self.cases,
            scores,
            threshold=threshold,
            types=types,
            resamples=self.resamples,
            seed=self.seed,
        )

    def beside_ceiling(self, scores: FloatArray) -> dict[str, Any]:
        """A metric on the edits and verdicts that the ceiling is made of."""
        from gecjury.metaeval.edits.measures import edit_agreement

        pairs, _, place = self.pairs
        found = edit_agreement(pairs, scores[place], threshold=None, seed=self.seed)
        keys = ("auc", "average_precision", "average_precision_invalid", "balanced")
        return {key: getattr(found, key) for key in keys}

    def ceiling(self) -> dict[str, Any]:
        from gecjury.metaeval.edits.measures import edit_agreement

        pairs, verdicts, place = self.pairs
        agreed = edit_agreement(pairs, verdicts, resamples=self.resamples, seed=self.seed)
        edits = len(set(place.tolist()))
        return {"edits": edits, "pairs": len(pairs), **_plain(agreed)}

    def chance(self) -> dict[str, Any]:
        from gecjury.metaeval.edits.cases import baselines

        return {
            name: _plain(self.agreement(scores, None))
            | {"ceiling_edits": self.beside_ceiling(scores)}
            for name, scores in baselines(self.cases, self.types, self.seed).items()
        }


def _enter(document: dict[str, Any], label: str, scorer: Scorer, entry: dict[str, Any]) -> None:
    """Put one metric's result into the document's rows."""
    mine = [row for row in document["rows"] if row["metric"] == label]
    if not mine:
        mine = [{"metric": label, "family": scorer.family, "human": "edit"}]
        document["rows"] += mine
    for row in mine:
        row.setdefault("edit", entry)
        row.setdefault("edit_by_credit", {})[entry["credit"]] = entry


def _plain(agreement: EditAgreement) -> dict[str, Any]:
    """An agreement as JSON values."""
    from dataclasses import asdict

    record = asdict(agreement)
    if not record["by_type"]:
        del record["by_type"]
    return record


def _row(name: str, family: str, entry: dict[str, Any]) -> dict[str, Any]:
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


def _notes(
    document: dict[str, Any], agreement: EditAgreement, trial: _Trial, untried: list[str]
) -> list[str]:
    ceiling = document["edit_ceiling"]
    constant = document["edit_chance"]["constant"]
    cases = trial.cases
    corrections = len({(case.source, case.correction) for case in cases})
    sources = len({case.source for case in cases})
    notes = [
        f"{len(cases)} judged edits in {corrections} corrections of {sources} sources; "
        f"{agreement.split} on which annotators are evenly split are left out",
        "accuracy, balanced, κ: threshold chosen on one half of the sources and tried on the "
        f"other, both ways; calling every edit valid is right in {constant['accuracy']:.3f}",
        f"ceiling: {ceiling['edits']} edits with verdicts of more than one annotator, each "
        "annotator held against each other; `AUC there` is a metric on the same verdicts",
    ]
    if trial.resamples:
        notes.append(f"intervals: 95%, {trial.resamples} resamples of sources with all their edits")
    if untried:
        notes.append(
            f"not tried on single edits, which costs as much as scoring again: "
            f"{', '.join(untried)}; ask with --level edit or --credit"
        )
    return notes


def _main_table(benchmark: Benchmark, rows: list[dict[str, Any]], notes: list[str]) -> Table:
    from gecjury.report.tables import Column, Table

    columns = [
        Column("metric"),
        Column("family"),
        Column("credit"),
        Column("auc"),
        Column("auc_ci95", "95%"),
        Column("auc_there", "AUC there"),
        Column("average_precision", "AP valid"),
        Column("average_precision_invalid", "AP invalid"),
        Column("average_precision_invalid_ci95", "95%"),
        Column("accuracy"),
        Column("balanced"),
        Column("kappa", "κ"),
        *(Column(key) for key in ("cases", "valid", "missing")),
        Column("seconds", "s", 1),
    ]
    title = (
        f"{benchmark.name}: single edits against the annotators' verdicts, "
        f"references {benchmark.references}"
    )
    return Table(columns, rows, title, notes)


def _type_table(found: list[tuple[str, EditAgreement]]) -> Table:
    """AUC by error type, one metric a column."""
    from gecjury.report.tables import Column, Table

    rows: list[dict[str, Any]] = []
    for kind in found[0][1].by_type:
        row: dict[str, Any] = {"type": kind.type, "edits": 0, "invalid": 0}
        row |= {"edits": kind.cases, "invalid": kind.cases - kind.valid}
        for name, agreement in found:
            row[name] = {one.type: one.auc for one in agreement.by_type}.get(kind.type)
        rows.append(row)
    columns = [Column("type"), Column("edits"), Column("invalid")]
    columns += [Column(name, digits=2) for name, _ in found]
    return Table(columns, rows, "AUC by error type (rare types together as `rest`)")
