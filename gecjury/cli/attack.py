"""`gecjury attack`: damaged corrections beside the undamaged, to see which metrics are fooled."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import add_metrics, benchmark_or_files, dry_run, load_scorers, refuse_fixed

if TYPE_CHECKING:
    from gecjury.corpus.corpus import Corpus
    from gecjury.experiments.attack import AttackScores, Damaged, Effect
    from gecjury.experiments.perturbations import Perturbation
    from gecjury.report.tables import Table
    from gecjury.scoring.scorer import Scorer

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "inputs",
        metavar="BENCHMARK|SOURCE HYP",
        nargs="+",
        help="a benchmark (seeda, ..., sample), or a source file and system outputs",
    )
    add_metrics(parser)
    parser.add_argument(
        "-r",
        "--reference",
        dest="reference_files",
        metavar="REF",
        action="append",
        default=[],
        help="with files: a reference, text or M2; repeat for more",
    )
    parser.add_argument("--m2", metavar="GOLD", help="with files: gold edits in the M2 format")
    parser.add_argument(
        "--references",
        nargs="+",
        metavar="SET",
        help="with a benchmark: a reference set, or files (default: official)",
    )
    parser.add_argument("--systems", help="with a benchmark: base (default), fluency, input or all")
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
        "--share", type=float, default=1.0, help="of the sentences that are damaged (default: 1)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the damage and the resamples")
    parser.add_argument(
        "--resamples", type=int, default=1000, metavar="B", help="for intervals (default: 1000)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep score files")


def run(args: argparse.Namespace) -> int:
    """Damage, score, sum up, print."""
    import numpy as np

    from gecjury.arrays import draw_weights
    from gecjury.cli.inputs import runtime_from
    from gecjury.experiments.attack import attack_corpora, score_attacks
    from gecjury.report.tables import print_result
    from gecjury.scoring.score_files import check_writable

    scorers = load_scorers(args.metrics)
    refuse_fixed(scorers, "attack")
    attacks = _attacks(args, scorers)
    corpus, _ = benchmark_or_files(
        args, args.inputs, args.references, args.reference_files, args.m2
    )
    for scorer in scorers:
        scorer.check(corpus)
    damaged = _damaged(args, corpus, attacks)
    runtime = runtime_from(args)
    if runtime.dry_run:
        plans = [
            plan
            for scorer in scorers
            for given, _ in attack_corpora(scorer, corpus, damaged)
            if (plan := scorer.plan(given, runtime)) is not None
        ]
        dry_run([], corpus, runtime, plans)
        return 0
    if args.output:
        check_writable(args.output)
    found = [
        score_attacks(scorer, corpus, damaged, folder=args.output, runtime=runtime)
        for scorer in scorers
    ]
    size = len(corpus)
    rng = np.random.default_rng([args.seed, 1])
    weights = draw_weights(rng.integers(size, size=(args.resamples, size)), size)
    effects = [(scores, _effects(scores, weights)) for scores in found]
    document = _document(args, corpus, damaged, attacks, effects)
    print_result(_tables(document, effects, attacks), document, args.format)
    return 1 if any(each.missing for _, some in effects for each in some) else 0


def _attacks(args: argparse.Namespace, scorers: list[Scorer]) -> list[Perturbation]:
    """The perturbations asked for; those for language models only if one reads the texts."""
    from gecjury.errors import OptionError, nearest
    from gecjury.experiments.perturbations import PERTURBATIONS

    if args.resamples < 1:
        raise OptionError(f"--resamples {args.resamples}: expected 1 or more")
    if args.attacks:
        for name in args.attacks:
            if name not in PERTURBATIONS:
                raise OptionError(f"unknown attack {name!r}: {nearest(name, PERTURBATIONS)}")
        return [PERTURBATIONS[name] for name in dict.fromkeys(args.attacks)]
    if args.perturbed:
        return []
    judged = any(scorer.family == "judges" for scorer in scorers)
    return [each for each in PERTURBATIONS.values() if judged or not each.for_judges]


def _damaged(
    args: argparse.Namespace, corpus: Corpus, attacks: list[Perturbation]
) -> list[Damaged]:
    """Damaged outputs, the user's own among them."""
    from gecjury.corpus.reading import read_versions
    from gecjury.errors import InputError, OptionError, nearest
    from gecjury.experiments.attack import Damaged, damage

    victims = list(dict.fromkeys(args.victims or corpus.names))
    for name in victims:
        if name not in corpus.systems:
            raise OptionError(f"--system {name!r}: {nearest(name, corpus.names)}")
    found = damage(corpus, victims, attacks, share=args.share, seed=args.seed)
    for given in args.perturbed:
        name, equals, path = given.partition("=")
        if not (name and equals and path):
            raise OptionError(f"--perturbed {given!r}: expected NAME=FILE")
        if len(victims) != 1:
            raise OptionError(
                f"--perturbed {given}: a file is the damaged version of one system, but "
                f"{len(victims)} are damaged: choose one with --system"
            )
        if any(each.attack == name for each in found):
            raise OptionError(f"--perturbed {given}: the name {name} is taken")
        lines = read_versions(path)[0].lines
        if len(lines) != len(corpus):
            raise InputError(
                f"{path} has {len(lines)} lines, but there are {len(corpus)} sentences: a damaged "
                "version must have a line for each"
            )
        found.append(Damaged(victims[0], name, lines))
    return found


def _effects(scores: AttackScores, weights: Any) -> list[Effect]:
    """One effect an attack, in order."""
    from gecjury.experiments.attack import effect

    names = dict.fromkeys(pair.damaged.attack for pair in scores.pairs)
    return [
        effect([pair for pair in scores.pairs if pair.damaged.attack == name], weights)
        for name in names
    ]


def _document(
    args: argparse.Namespace,
    corpus: Corpus,
    damaged: list[Damaged],
    attacks: list[Perturbation],
    effects: list[tuple[AttackScores, list[Effect]]],
) -> dict[str, Any]:
    rows = [
        {
            "metric": scores.label,
            "family": scores.family,
            "signature": scores.signature,
            **asdict(each),
            "outranks": sum(s.outranks for s in each.systems.values()),
            "outranks_source": sum(s.outranks_source for s in each.systems.values()),
        }
        for scores, some in effects
        for each in some
    ]
    return {
        "inputs": args.inputs,
        "sentences": len(corpus),
        "systems": list(dict.fromkeys(each.system for each in damaged)),
        "share": args.share,
        "seed": args.seed,
        "resamples": args.resamples,
        "attacks": [
            {"name": each.name, "summary": each.summary, "origin": each.origin} for each in attacks
        ],
        "rows": rows,
        "seconds": {scores.label: scores.seconds for scores, _ in effects},
        "verdicts": {
            scores.label: {
                verdict: [each.attack for each in some if each.verdict == verdict]
                for verdict in dict.fromkeys(each.verdict for each in some)
            }
            for scores, some in effects
        },
    }


def _tables(
    document: dict[str, Any],
    effects: list[tuple[AttackScores, list[Effect]]],
    attacks: list[Perturbation],
) -> list[Table]:
    from gecjury.report.tables import Column, Table

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
    systems = len(document["systems"])
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
        for row in document["rows"]
    ]
    title = (
        f"Damaged beside undamaged, {document['sentences']} sentences, {systems} systems "
        f"({' '.join(document['inputs'])})"
    )
    notes = [_verdict(scores.label, some) for scores, some in effects]
    notes.append(
        "higher, equal, lower: share of the damaged texts whose sentence score is above, at, below "
        "that of the undamaged; before, after: corpus scores, mean over systems; > undamaged, "
        "> source: for how many systems the damaged output would stand above"
    )
    notes += dict.fromkeys(note for scores, _ in effects for note in scores.notes)
    notes += [scores.signature for scores, _ in effects]
    tables = [Table(columns, shown, title, notes)]
    if attacks:
        keys = [Column("name"), Column("summary", "what it does"), Column("origin", "idea from")]
        tables.append(Table(keys, document["attacks"], "Attacks"))
    return tables


def _mean(row: dict[str, Any], key: str) -> float:
    values = [system[key] for system in row["systems"].values()]
    return float(sum(values) / len(values))


def _verdict(label: str, effects: list[Effect]) -> str:
    """A line of words on one metric."""
    parts = []
    for verdict in ("prefers the damage", "does not see it", "undecided"):
        named = [each.attack for each in effects if each.verdict == verdict]
        parts += [f"{verdict}: {', '.join(named)}"] if named else []
    parts = parts or ["sees all of it"]
    lifted = [
        each.attack
        for each in effects
        if 2 * sum(system.outranks for system in each.systems.values()) > len(each.systems)
    ]
    parts += [f"ranks most systems higher when damaged: {', '.join(lifted)}"] if lifted else []
    return f"{label} " + "; ".join(parts)
