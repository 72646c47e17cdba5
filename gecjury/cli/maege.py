"""`gecjury maege`: metrics against chains of one annotator's edits, whose order is known."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from gecjury.cli.inputs import add_metrics, dry_run, load_scorers, refuse_fixed

if TYPE_CHECKING:
    from gecjury.arrays import FloatArray
    from gecjury.experiments.maege.chains import Annotated, Sampled
    from gecjury.experiments.maege.scores import Pool, PoolScores
    from gecjury.report.tables import Table

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's options."""
    parser.add_argument(
        "corpus",
        metavar="M2",
        nargs="+",
        help="conll14, or M2 files of the same sentences (their annotators are put together)",
    )
    add_metrics(parser)
    parser.add_argument(
        "--references",
        nargs="+",
        default=[],
        metavar="SET",
        help="others (each chain against the other annotators), all (every annotator of the "
        "corpus), for conll14 8refs, 10refs or 18refs, or files; default: 8refs for conll14, "
        "otherwise others",
    )
    parser.add_argument(
        "--source",
        choices=("original", "random", "released"),
        default="original",
        help="what metrics see as the source: the learner's sentence (default), a random text of "
        "the chain, or those texts sorted, as the released program leaves them",
    )
    parser.add_argument(
        "--aggregate",
        choices=("corpus", "mean"),
        default="corpus",
        help="a corpus' score: the metric's own (default), or the mean over its sentences, as in "
        "the released program",
    )
    parser.add_argument("--by-type", action="store_true", help="also score change by error type")
    parser.add_argument("--seeds", type=int, default=3, metavar="K", help="draws (default: 3)")
    parser.add_argument("--seed", type=int, default=0, help="the first seed (default: 0)")
    parser.add_argument(
        "--chains", type=int, default=1, metavar="K", help="chains an annotation (default: 1)"
    )
    parser.add_argument(
        "--sentences", type=int, metavar="N", help="use N sentences, drawn with the first seed"
    )
    parser.add_argument(
        "--means",
        type=float,
        nargs="+",
        metavar="X",
        help="mean edits a sentence of the corpora compared (default: 0 1 2 ... 10)",
    )
    parser.add_argument(
        "--variance", type=float, default=0.9, help="of the number of edits (default: 0.9)"
    )
    parser.add_argument(
        "--resamples", type=int, default=1000, metavar="B", help="for intervals (default: 1000)"
    )
    parser.add_argument("-o", "--output", metavar="DIR", help="keep one score file a metric")


def run(args: argparse.Namespace) -> int:
    """Draw, score, measure, print."""
    from gecjury.cli.inputs import runtime_from
    from gecjury.experiments.maege.scores import pool_texts, score_pool
    from gecjury.report.tables import print_result
    from gecjury.scoring.score_files import check_writable

    scorers = load_scorers(args.metrics)
    refuse_fixed(scorers, "maege")
    corpus, draws, references = _prepare(args)
    pool = pool_texts(corpus.sources, draws, references)
    runtime = runtime_from(args)
    if runtime.dry_run:
        plans = [
            plan
            for scorer in scorers
            if (plan := scorer.plan(pool.corpus(scorer.joint, False, runtime)[0], runtime))
        ]
        dry_run([], pool.corpus(False, False, runtime)[0], runtime, plans)
        return 0
    if args.output:
        check_writable(args.output)
    found = [
        score_pool(
            scorer, pool, draws, mean=args.aggregate == "mean", folder=args.output, runtime=runtime
        )
        for scorer in scorers
    ]
    weights = _weights(args, len(corpus))
    rows = [_row(scores, pool, corpus, draws, weights) for scores in found]
    document = {**_about(args, corpus, draws, pool), "rows": rows}
    shown = [_main_table(rows, document, found)]
    if args.by_type:
        shown.append(_type_table(found, pool, draws, weights, document))
    print_result(shown, document, args.format)
    return 1 if any(scores.unanswered for scores in found) else 0


def _prepare(args: argparse.Namespace) -> tuple[Annotated, list[Sampled], Any]:
    """The sentences, what each seed draws of them, and the references."""
    import numpy as np

    from gecjury.errors import OptionError
    from gecjury.experiments.maege.chains import MEANS, annotated, sample
    from gecjury.experiments.maege.references import CORPORA, choose_references, read_blocks

    for name in ("seeds", "resamples", "sentences"):
        value = getattr(args, name)
        if value is not None and value < 1:
            raise OptionError(f"--{name} {value}: expected 1 or more")
    blocks = read_blocks(args.corpus, args.data, args.cache)
    corpus = annotated(blocks)
    if args.sentences is not None and args.sentences < len(corpus):
        chosen = np.random.default_rng([args.seed, 1]).choice(
            len(corpus), args.sentences, replace=False
        )
        corpus = corpus.take(sorted(chosen.tolist()))
    references = choose_references(
        args.references,
        corpus,
        len(blocks),
        named=all(name in CORPORA for name in args.corpus),
        data=args.data,
        cache=args.cache,
    )
    draws = [
        sample(
            corpus,
            np.random.default_rng(seed),
            chains=args.chains,
            source=args.source,
            means=args.means or MEANS,
            variance=args.variance,
        )
        for seed in range(args.seed, args.seed + args.seeds)
    ]
    return corpus, draws, references


def _weights(args: argparse.Namespace, sentences: int) -> FloatArray:
    """How often each sentence stands in each resample."""
    import numpy as np

    from gecjury.arrays import draw_weights

    rng = np.random.default_rng([args.seed, 2])
    return draw_weights(rng.integers(sentences, size=(args.resamples, sentences)), sentences)


def _row(
    scores: PoolScores,
    pool: Pool,
    corpus: Annotated,
    draws: list[Sampled],
    weights: FloatArray,
) -> dict[str, Any]:
    """A metric's results as JSON."""
    import numpy as np

    from gecjury.experiments.maege.measures import (
        agreement,
        agreement_interval,
        chain_sums,
        gold_scores,
    )
    from gecjury.stats.correlation import pearson, spearman

    sums = [
        chain_sums(
            corpus,
            drawn.chains,
            [scores.values[pool.chain(chain)] for chain in drawn.chains],
            gold_scores(corpus, drawn.chains),
        )
        for drawn in draws
    ]
    found = agreement(sums)
    level: dict[str, list[float]] = {"pearson": [], "spearman": []}
    for drawn, totals in zip(draws, scores.corpora, strict=True):
        means = np.array(drawn.means)
        level["pearson"].append(pearson(means, totals))
        level["spearman"].append(spearman(means, totals))
    spread = 1 if len(draws) > 1 else 0
    return {
        "metric": scores.label,
        "family": scores.family,
        "signature": scores.signature,
        "corpus": {
            **{key: float(np.mean(values)) for key, values in level.items()},
            "sd": {key: float(np.std(values, ddof=spread)) for key, values in level.items()},
            "by_seed": level,
            "scores": [totals.tolist() for totals in scores.corpora],
        },
        "sentence": {
            **asdict(found),
            "tied_share": found.tied / found.pairs if found.pairs else float("nan"),
            "by_seed": {
                key: [getattr(agreement([each]), key) for each in sums]
                for key in ("pearson", "kendall", "kendall_ties_agree")
            },
            "ci95": agreement_interval(sums, weights),
        },
        "seconds": scores.seconds,
        "missing": scores.unanswered,
    }


def _about(
    args: argparse.Namespace, corpus: Annotated, draws: list[Sampled], pool: Pool
) -> dict[str, Any]:
    references = next(iter(pool.references.values()))
    return {
        "corpus": args.corpus,
        "sentences": len(corpus),
        "annotators": corpus.annotators,
        "left_out": dict(corpus.left_out),
        "references": references.name if -1 in pool.references else "other annotators",
        "reference_count": len(references.texts),
        "source": args.source,
        "aggregate": args.aggregate,
        "means": draws[0].means,
        "variance": args.variance,
        "seed": args.seed,
        "seeds": args.seeds,
        "resamples": args.resamples,
        "chains": len(draws[0].chains),
        "texts": sum(len(chain.texts) for chain in draws[0].chains),
        "scored": len(pool.keys),
    }


def _main_table(
    rows: list[dict[str, Any]], about: dict[str, Any], found: list[PoolScores]
) -> Table:
    from gecjury.report.tables import Column, Table

    columns = [
        Column("metric"),
        Column("family"),
        Column("corpus_pearson", "r corpus"),
        Column("corpus_spearman", "ρ corpus"),
        Column("pearson", "r sent"),
        Column("r95", "95%"),
        Column("kendall", "τ sent"),
        Column("t95", "95%"),
        Column("kendall_ties_agree", "τ, ties agree"),
        Column("tied", "tied %", 1),
        Column("missing"),
        Column("seconds", "s", 1),
    ]
    shown = [
        {
            **row,
            **row["sentence"],
            "missing": row["missing"],
            "corpus_pearson": row["corpus"]["pearson"],
            "corpus_spearman": row["corpus"]["spearman"],
            "r95": _range(row["sentence"]["ci95"]["pearson"]),
            "t95": _range(row["sentence"]["ci95"]["kendall"]),
            "tied": 100 * row["sentence"]["tied_share"],
        }
        for row in rows
    ]
    left = "; ".join(f"{count} {reason}" for reason, count in about["left_out"].items())
    notes = [
        f"{about['chains']} chains with {about['texts']} texts a seed, {about['seeds']} seeds "
        f"averaged, {about['scored']} distinct texts scored; references "
        f"{about['references']} ({about['reference_count']}), source {about['source']}",
        f"corpus level: {len(about['means'])} corpora of growing quality, scored by "
        f"{'the mean of their sentences' if about['aggregate'] == 'mean' else 'the metric itself'}"
        f"; intervals: {about['resamples']} resamples of the sentences",
        *([f"left out: {left}"] if left else []),
        *dict.fromkeys(note for scores in found for note in scores.notes),
        *(scores.signature for scores in found),
    ]
    title = f"MAEGE on {' '.join(about['corpus'])}, {about['sentences']} sentences"
    return Table(columns, shown, title, notes)


def _range(bounds: Any) -> str:
    low, high = bounds
    return f"{low:.3f} to {high:.3f}"


def _type_table(
    found: list[PoolScores],
    pool: Pool,
    draws: list[Sampled],
    weights: FloatArray,
    document: dict[str, Any],
) -> Table:
    """Score change by error type, types × metrics; the document takes an entry `by_type`."""
    from gecjury.experiments.maege.measures import type_changes
    from gecjury.report.tables import Column, Table

    chains = [chain for drawn in draws for chain in drawn.chains]
    places = [pool.chain(chain) for chain in chains]
    rows: dict[str, dict[str, Any]] = {}
    document["by_type"] = []
    columns = [Column("type"), Column("edits")]
    for number, scores in enumerate(found):
        columns += [Column(f"m{number}", scores.label), Column(f"e{number}", "±")]
        changes = type_changes(chains, [scores.values[each] for each in places], weights)
        for kind, change in changes.items():
            row = rows.setdefault(kind, {"type": kind, "edits": change.edits})
            row[f"m{number}"] = change.mean
            row[f"e{number}"] = change.error
            document["by_type"].append({"metric": scores.label, "type": kind, **asdict(change)})
    title = "Mean score change when one edit of a type is applied, with its standard error"
    return Table(columns, list(rows.values()), title)
