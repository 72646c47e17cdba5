"""`gecjury attack`: damaged corrections beside the undamaged, to see which metrics are fooled."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from gecjury.cli.inputs import (
    add_metrics,
    add_references,
    benchmark_or_files,
    dry_run,
    load_scorers,
    runtime_from,
)
from gecjury.cli.numbers import MOST_DRAWS, up_to
from gecjury.cli.parsers import CommandParser
from gecjury.cli.streams import tell
from gecjury.errors import OptionError
from gecjury.experiments.attack import (
    Attacked,
    AttackSettings,
    MetricAttack,
    attack,
    attack_plans,
    expected_seconds,
)
from gecjury.metaeval.effort import duration
from gecjury.report.result import Column, Table
from gecjury.report.tables import print_tables
from gecjury.rewards.guards import GUARDS
from gecjury.rewards.hackability import Hackability, alarms, hackability
from gecjury.wording import number

_TOLD = 60.0  # seconds from which it is said


def add_arguments(parser: CommandParser) -> None:
    """Declare the command's options."""
    parser.needs = ("texts", "judges", "plans", "data")
    usual = AttackSettings()
    parser.add_argument(
        "inputs",
        metavar="BENCHMARK|SOURCE HYP",
        nargs="+",
        help="a benchmark (seeda, ..., sample), or a source file and system outputs",
    )
    add_metrics(parser)
    add_references(parser)
    parser.add_argument(
        "--system",
        dest="victims",
        action="append",
        metavar="NAME",
        help="damage this system's output; repeat for more (default: every system)",
    )
    parser.add_argument(
        "--attack",
        dest="attacks",
        action="append",
        metavar="NAME",
        help="a perturbation, named in the second table; repeat for more (default: all, those "
        "that speak to language models only where a judge is asked)",
    )
    parser.add_argument(
        "--perturbed",
        action="append",
        default=[],
        metavar="NAME=FILE",
        help="your own damaged version of the one system that is damaged",
    )
    parser.add_argument(
        "--share",
        type=float,
        default=usual.share,
        help="share of the sentences that are damaged (default: 1)",
    )
    parser.add_argument(
        "--seed", type=int, default=usual.seed, help="seed of the damage and of the resamples"
    )
    parser.add_argument(
        "--resamples",
        type=up_to(MOST_DRAWS, least=0),
        default=usual.resamples,
        metavar="B",
        help=f"for intervals (default: {usual.resamples})",
    )
    parser.add_argument(
        "--as-reward",
        action="store_true",
        help="also how often the damage raises the score as a reward, with and without guards",
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep score files")


def run(args: argparse.Namespace) -> int:
    """Damage, score, sum up, print."""
    scorers = load_scorers(args.metrics)
    settings = AttackSettings(
        attacks=tuple(args.attacks or ()),
        systems=tuple(args.victims or ()),
        own=_own(args.perturbed),
        share=args.share,
        resamples=args.resamples,
        seed=args.seed,
    )
    corpus, _ = benchmark_or_files(
        args, args.inputs, args.references, args.reference_files, args.m2
    )
    runtime = runtime_from(args)
    if runtime.dry_run:
        dry_run([], corpus, runtime, attack_plans(scorers, corpus, settings, runtime))
        return 0
    seconds = expected_seconds(scorers, corpus, settings, runtime)
    if seconds >= _TOLD and not args.quiet:
        tell(
            f"scoring {number(len(corpus))} sentences of each damaged system will take about "
            f"{duration(seconds)}; quicker: fewer --attack, one --system. Ctrl-C stops it"
        )
    found = attack(corpus, metrics=scorers, settings=settings, folder=args.output, runtime=runtime)
    shown, printed = tables(found, args.inputs), document(found, args.inputs)
    if args.as_reward:
        rises, rate = hackability(found, corpus), alarms(corpus)
        shown += reward_tables(rises, rate)
        printed |= {"rewards": [each.row() for each in rises], "alarms": rate}
    print_tables(shown, printed, args.format)
    return 1 if found.missing else 0


def _own(given: list[str]) -> dict[str, str]:
    """Files by the names of `--perturbed NAME=FILE`."""
    found: dict[str, str] = {}
    for each in given:
        name, equals, path = each.partition("=")
        if not (name and equals and path):
            raise OptionError(f"--perturbed {each!r}: expected NAME=FILE")
        if name in found:
            raise OptionError(f"--perturbed {each}: the name {name} is taken")
        found[name] = path
    return found


def document(found: Attacked, inputs: list[str]) -> dict[str, Any]:
    """What JSON shows.

    Args:
        found: the result.
        inputs: what was damaged, as the user named it.
    """
    return {
        "inputs": inputs,
        "sentences": found.sentences,
        "systems": list(found.systems),
        "share": found.settings.share,
        "seed": found.settings.seed,
        "resamples": found.settings.resamples,
        "attacks": _attacks(found),
        "rows": found.rows(),
        "seconds": {one.scores.label: one.scores.seconds for one in found.metrics},
        "verdicts": {one.scores.label: one.verdicts for one in found.metrics},
    }


def _attacks(found: Attacked) -> list[dict[str, str]]:
    return [
        {"name": each.name, "summary": each.summary, "origin": each.origin}
        for each in found.attacks
    ]


def tables(found: Attacked, inputs: list[str]) -> list[Table]:
    """What people see: a table of effects, and what each attack does."""
    columns = [Column("metric"), Column("attack")]
    columns += [Column(key, f"{key} %", 1) for key in ("higher", "equal", "lower")]
    columns += [
        Column("net", "higher - lower, 95%"),
        Column("change", "mean change", 4),
        Column("before", digits=4),
        Column("after", digits=4),
        Column("outranks", "> undamaged"),
        Column("outranks_source", "> source"),
        Column("verdict"),
    ]
    systems = len(found.systems)
    shown = [
        {
            **row,
            **{key: 100 * row[key] for key in ("higher", "equal", "lower")},
            "net": "{:.2f} to {:.2f}".format(*row["ci95"]["net"]),
            "before": _mean(row, "before"),
            "after": _mean(row, "after"),
            "outranks": f"{row['outranks']}/{systems}",
            "outranks_source": f"{row['outranks_source']}/{systems}",
        }
        for row in found.rows()
    ]
    title = (
        f"Damaged beside undamaged, {found.sentences} sentences, {systems} systems "
        f"({' '.join(inputs)})"
    )
    notes = [_verdict(one) for one in found.metrics]
    notes.append(
        "higher, equal, lower: share of the damaged texts whose sentence score is above, at, below "
        "that of the undamaged; before, after: corpus scores, mean over systems; > undamaged, "
        "> source: for how many systems the damaged output would stand above"
    )
    notes += found.notes
    notes += [one.scores.signature for one in found.metrics]
    both = [Table(columns, shown, title, notes)]
    if found.attacks:
        keys = [Column("name"), Column("summary", "what it does"), Column("origin", "idea from")]
        both.append(Table(keys, _attacks(found), "Attacks"))
    return both


def reward_tables(
    rises: Sequence[Hackability], rate: Mapping[str, Mapping[str, float]]
) -> list[Table]:
    """How often damage raises a reward, and how often guards hit what is not damaged.

    Args:
        rises: one a metric and kind of damage.
        rate: shares by guard, of outputs and of references.
    """
    columns = [
        Column("metric"),
        Column("attack"),
        Column("compared"),
        Column("unguarded", "rises, no guards %", 1),
        Column("guarded", "rises, guards %", 1),
        Column("caught", "caught %", 1),
        Column("by", "mostly by"),
    ]
    shares = ("unguarded", "guarded", "caught")
    rows = [{**each.row(), **{key: 100 * getattr(each, key) for key in shares}} for each in rises]
    notes = [
        "rises: share of the damaged texts whose reward lies above the undamaged text's; with "
        "guards the range of the undamaged scores is 0 to 1, and what lies beyond is cut off"
    ]
    keys = [Column("guard"), Column("outputs", "undamaged outputs %", 2)]
    keys += [Column("references", "references %", 2), Column("summary", "when it takes effect")]
    told = [
        {
            "guard": name,
            **{key: 100 * share for key, share in shares_of.items()},
            "summary": GUARDS[name].summary,
        }
        for name, shares_of in rate.items()
    ]
    return [
        Table(columns, rows, "As a reward", notes),
        Table(keys, told, "Guards, and how often they hit texts that nobody damaged"),
    ]


def _mean(row: dict[str, Any], key: str) -> float:
    values = [system[key] for system in row["systems"].values()]
    return float(sum(values) / len(values))


def _verdict(one: MetricAttack) -> str:
    """A line of words on one metric."""
    verdicts = one.verdicts
    parts = [
        f"{verdict}: {', '.join(verdicts[verdict])}"
        for verdict in ("prefers the damage", "does not see it", "undecided")
        if verdict in verdicts
    ]
    parts = parts or ["sees all of it"]
    if one.lifting:
        parts.append(f"ranks most systems higher when damaged: {', '.join(one.lifting)}")
    return f"{one.scores.label} " + "; ".join(parts)
