"""`gecjury train jury`: combine metrics of any family by learning from human preferences."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, cast

from gecjury.benchmarks.table import BENCHMARKS, View
from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import option
from gecjury.core.wording import duration
from gecjury.report.result import Column, Result, Table
from gecjury.studies.inputs import Benchmarks, Inputs, Need
from gecjury.studies.making.training import rehearsed
from gecjury.studies.study import Output, Study, Work, kept_by

if TYPE_CHECKING:
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus
    from gecjury.jury.model import JuryModel, Member
    from gecjury.jury.training import TrainingPairs
    from gecjury.scoring.registry import Metric
    from gecjury.scoring.scorer import Scorer

_MEASURED = 20
"""Sentences of each benchmark on which the time of scoring is measured."""


@dataclass(frozen=True, kw_only=True)
class Jury(Study):
    """Any metrics combined by a model of human preferences (see docs/guides/jury.md).

    Attributes:
        exclude: do not train on sources in these benchmarks or files of sentences.
        scores: folder of score files to read and add to.
        human: which judgments.
        seed: seed of the folds.
        dry_run: count the pairs and the judges' requests, and say how long the scoring takes; write
            and send nothing.
    """

    inputs: ClassVar[Inputs] = Benchmarks("one benchmark or several")
    needs: ClassVar[tuple[Need, ...]] = ("judges", "texts")
    keeps: ClassVar[Output | None] = Output("file for the jury", "PATH", required=True)
    logs: ClassVar[bool] = True
    metrics: ClassVar[str | None] = (
        "a member: `name`, `name:option=value`, or `name@SET:...` for one that always reads the "
        "references of a set, e.g. gleu@10refs; repeat"
    )
    epilog: ClassVar[str] = """\
example:
  gecjury train jury gjg15 -m gleu@10refs -m green -m errant --exclude seeda -o my-jury.json
"""
    exclude: tuple[str, ...] = option((), metavar="WHAT", several=True)
    scores: str | None = option(None, metavar="DIR")
    human: View | None = None
    seed: int = option(0, least=0, most=2**32 - 1)
    dry_run: bool = False

    @property
    def view(self) -> View | None:
        """The judgments that benchmarks are loaded with."""
        return self.human

    def load(self, metric: Metric) -> Scorer:
        """Return the metric of a member.

        Raises:
            OptionError: an unknown metric or option, or one that a jury's file cannot name.
        """
        from gecjury.jury.model import Member

        member = Member.parse(str(metric))
        scorer = member.scorer()
        context = getattr(scorer, "context", "none")
        if context not in ("corpus", "neighbours", "none"):
            raise OptionError(
                f"{member.label}: a jury's file cannot name a file of sentences to send "
                f"(context={context}); use corpus, neighbours or none"
            )
        return scorer

    def check(self, work: Work) -> None:
        """Refuse a jury without members, and a file that cannot be written.

        Members may lack scores of a benchmark, so their own check is left out.
        """
        if not work.typed:
            raise OptionError("train jury: name the members with -m METRIC, e.g. -m gleu -m green")
        if Path(cast(str, work.folder)).is_dir():
            raise OptionError(f"{work.folder} is a folder; a jury is one file: -o FILE.json")

    def kept(self, work: Work) -> str:
        """Return what an interrupted run keeps, and how to continue it."""
        return kept_by(work, self.scores)

    def run(self, work: Work) -> Result:
        """Score the benchmarks, train on people's pairs, and write the jury."""
        from gecjury.jury.model import write_jury
        from gecjury.jury.training import train_jury
        from gecjury.scoring.score_files import check_writable

        file, runtime = cast(str, work.folder), work.runtime
        # Scoring may take hours, so an unwritable path is reported first.
        check_writable(Path(file).parent)
        if self.scores:
            check_writable(self.scores)
            runtime = replace(runtime, scores=Path(self.scores))
        members = _members(work)
        parts = []
        for part in self._parts(work, members, runtime):
            parts.append(part)
            for label, why in part.record["absent"].items():
                runtime.tell(f"{part.name}: {label} cannot score it ({why})")
        model = train_jury(parts, members, runtime, seed=self.seed)
        # The file lists what was excluded, so that a jury's figures can be judged without its
        # command.
        model = replace(model, record={**model.record, "exclude": list(self.exclude)})
        write_jury(file, model)
        return Result(tuple(_tables(file, model)), dict(model.record) | {"file": file})

    def rehearse(self, work: Work) -> Result:
        """Count pairs and requests, and estimate the time of scoring from some sentences."""
        from gecjury.scoring.abilities import plan_of
        from gecjury.scoring.scores import Plan

        seconds, plans = 0.0, []
        for benchmark in work.benchmarks:
            for member in _members(work):
                scorer = member.scorer()
                # A member may lack scores of a benchmark.
                with suppress(InputError):
                    corpus = member.corpus(benchmark.corpus)
                    scorer.check(corpus)
                    if (plan := plan_of(scorer, corpus, work.runtime)) is not None:
                        plans.append(plan)
                    else:
                        seconds += _seconds(scorer, corpus, work.runtime)
        keys = ("benchmark", "pairs", "sources", "ties", "excluded_sources")
        rows = [
            {key: part.record[key] for key in keys} for part in self._parts(work, (), work.runtime)
        ]
        total = Plan.total(plans)
        asked = f" and, for the judges, {total.in_words()}" if plans else ""
        text = (
            f"The training takes about {duration(seconds)} (estimated from {_MEASURED} sentences "
            f"of each benchmark on this machine){asked}, on {rehearsed(rows)}; nothing was "
            "written.\n"
        )
        columns = [Column(key, digits=0) for key in keys]
        facts = {"seconds": seconds, "requests": total.requests, "cost": total.cost}
        return Result((Table(columns, rows, name="parts"),), facts, text=text)

    def _parts(
        self, work: Work, members: Sequence[Member], runtime: Runtime
    ) -> Iterator[TrainingPairs]:
        """Yield the pairs of every benchmark, with the members' scores."""
        from gecjury.corpus.leakage import sentence_key
        from gecjury.jury.training import collect_pairs

        # Hashes are sufficient to exclude sentences.
        excluded = frozenset(map(sentence_key, self._excluded(runtime)))
        for benchmark in work.benchmarks:
            yield collect_pairs(benchmark, members, benchmark.view, excluded, runtime)

    def _excluded(self, runtime: Runtime) -> Iterator[str]:
        """Yield the sources of the benchmarks or files that must not be trained on."""
        from gecjury.benchmarks.load import load_benchmark
        from gecjury.corpus.files.reading import read_source

        for name in self.exclude:
            if name not in BENCHMARKS and Path(name).is_file():
                yield from read_source(name).lines
            else:
                benchmark = load_benchmark(name, data=runtime.data, cache=runtime.cache)
                yield from benchmark.corpus.sources


def _members(work: Work) -> list[Member]:
    from gecjury.jury.model import Member

    return [Member.parse(name) for name in work.typed]


def _seconds(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> float:
    """Return how long the scoring of a corpus takes, from that of some of its sentences."""
    some = corpus.take(range(min(_MEASURED, len(corpus))))
    # Cached edits and vectors would not take their time.
    runtime = replace(runtime, use_cache=False)
    start = time.perf_counter()
    scorer.score_corpus(some, runtime)
    return (time.perf_counter() - start) * len(corpus) / len(some)


def _tables(file: str, model: JuryModel) -> list[Table]:
    record = model.record
    members = [
        Column("member"),
        Column("weight"),
        Column("alone", place="jury"),
        Column("worth", place="jury"),
        Column("worth_error", place="jury"),
        Column("scored", place="jury"),
    ]
    # The member with the largest absolute weight comes first.
    rows: list[dict[str, Any]] = sorted(
        record["members"], key=lambda row: abs(row["weight"]), reverse=True
    )
    sets = [Column(key) for key in ("benchmark", "pairs", "sources")]
    sets += [Column("ties", place="jury"), Column("excluded_sources", place="jury")]
    sets += [Column("accuracy", digits=4), Column("from_others", place="jury")]
    # One row per benchmark: what was read of it, and how well its pairs are ordered.
    merged = [
        {**part, **figures}
        for part, figures in zip(record["benchmarks"], record["by_benchmark"], strict=True)
    ]
    strengths = [Column("strength", digits=0), Column("accuracy", digits=4)]
    strengths += [Column("error", place="jury")]
    notes = [
        f"cross-validated accuracy {record['accuracy']:.4f} ± {record['error']:.4f} over "
        f"{record['pairs']} pairs of {record['sources']} sources ({record['folds']} folds by "
        f"source); strength {record['strength']:g}",
        f"jury: {file}; score with -m jury:file={file}",
    ]
    return [
        Table(members, rows, "Members", notes),
        Table(sets, merged, "Trained on"),
        Table(strengths, record["strengths"], "Pull towards equal weights"),
    ]
