"""Scoring of a whole dataset: planning, distribution to workers, and collection of results.

Example:
    >>> import json, pathlib, tempfile
    >>> from gecjury import score_dataset
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     rows = pathlib.Path(folder, "rows.jsonl")
    ...     _ = rows.write_text(json.dumps({"source": "He go .", "hypothesis": "He goes ."}))
    ...     result = score_dataset(str(rows), f"{folder}/scores", metrics="changes")
    >>> result.results.read, result.results.bad
    (1, 0)
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.fingerprints import fingerprint
from gecjury.corpus.languages.language import Language, language_of
from gecjury.corpus.tokens import SHOWING, in_language, settled
from gecjury.datasets import folder as place
from gecjury.datasets import ray_engine
from gecjury.datasets.engines import Engine, LocalEngine
from gecjury.datasets.files import counted, dataset_files, open_rows
from gecjury.datasets.output import finished_summary
from gecjury.datasets.rows import RowReader
from gecjury.datasets.shards import (
    ColumnNames,
    InputFile,
    Shard,
    ShardJob,
    ShardSummary,
    columns_among,
    parse_columns,
    shards_of,
)
from gecjury.datasets.work import MANY_REFERENCES, column_name
from gecjury.report.tables import records_text
from gecjury.scoring.abilities import Sums, adds_up, part_names
from gecjury.scoring.conditions import parse_condition
from gecjury.scoring.registry import Metric, load, load_all, name_elsewhere
from gecjury.scoring.result_folder import RESULTS, ConditionCount, Results, read_results
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.signature import Signature


@dataclass(frozen=True, repr=False)
class DatasetScores:
    """The result of scoring a dataset; the scores of its rows are in the folder.

    Attributes:
        folder: folder of the results.
        results: corpus scores, counts and notes.
        done: rows scored by this run; fewer than all if it continued an earlier run.
        seconds: duration of this run.
    """

    folder: Path
    results: Results
    done: int = 0
    seconds: float = 0.0

    def rows(self) -> list[dict[str, object]]:
        """Return one record per metric and system, as in the JSON output."""
        return [dict(row) for row in self.results.rows]

    @property
    def unanswered(self) -> int:
        """The number of missing scores of good rows."""
        missing = self.results.nulls.values()
        return sum(sum(reasons.values()) - self.results.bad for reasons in missing)

    def __str__(self) -> str:
        """The corpus scores as a table of text."""
        return records_text(self.rows())

    def __repr__(self) -> str:
        """Return the kind of result and its size."""
        return f"<DatasetScores: {self.results.read} rows in {self.folder}>"


def score_dataset(
    data: str | Path | Sequence[str | Path],
    folder: str | Path,
    *,
    metrics: Metric | Sequence[Metric],
    columns: Mapping[str, str | Sequence[str]] | Sequence[str] = (),
    keep: str = "",
    shard_rows: int | None = None,
    engine: Engine | str = "local",
    address: str | None = None,
    lang: str | Language = "en",
    tokens: str = "auto",
    fold: str = "auto",
    runtime: Runtime | None = None,
    tell: Callable[[str], None] | None = None,
) -> DatasetScores:
    """Score rows of files of any size; scores go to a folder, and memory does not grow with rows.

    If a run was interrupted, the same call skips what is finished and gives the same rows.

    Args:
        data: Parquet files, JSON lines (also `.gz`), folders of them, globs, or
            `hf:NAME[:SPLIT]`.
        folder: folder of results; new, or of the same run.
        metrics: names, with options as on the command line, or scorers.
        columns: `{"source": "original", "hypothesis": ["mine", "other"]}`, or `ROLE=NAME` each.
        keep: condition of rows that are written to `folder/kept`, e.g. `some >= .8`.
        shard_rows: rows that are finished together; by default a thousandth of all, 10,000 at
            least and 200,000 at most.
        engine: `local`, `ray`, or one of your own.
        address: address of a Ray cluster, see `RayEngine`; by default that of `$RAY_ADDRESS`,
            or else `local`.
        lang: language of the texts: a code, or `auto` for that of the sources.
        tokens: how texts are split into tokens; `auto` decides by the first rows for all of them.
        fold: how signs are read; `auto` counts the forms of a sign as equal.
        tell: function that gets the lines for the user before the work begins; none by default.

    Raises:
        OptionError: an unknown metric, option, column role or name in the condition, or a metric
            that needs the whole corpus.
        InputError: files that cannot be read or lack a column.
        OutputError: a folder that cannot be written, or that contains another run's results.
    """
    runtime = runtime or Runtime()
    start = time.perf_counter()
    inputs = [str(d) for d in ([data] if isinstance(data, str | Path) else data)]
    if not inputs:
        raise OptionError("no dataset is named: give a file, a folder, a glob or hf:NAME")
    named = parse_columns(columns)
    scorers = _scorers(metrics)
    _check_runtime(runtime, engine)
    if shard_rows is not None and shard_rows < 1:
        raise OptionError(f"shard_rows = {shard_rows}: expected 1 or more")
    paths = dataset_files(inputs)
    target = Path(folder).absolute()
    _check_apart(target, inputs, paths)
    with place.held(target):
        old = place.manifest_of(target)
        earlier = {}
        if old is not None:
            shard_rows = shard_rows or old.shard_rows
            earlier = {file.path: file for file in old.files}
        with runtime.progress.task("files looked at", len(paths)) as bar:
            files, shard_rows = counted(paths, str(target), shard_rows, earlier, bar)
        first = next(file for file in files if file.rows)
        wanted = any("references" in scorer.needs for scorer in scorers)
        names = open_rows(first.path, str(target)).column_names
        read = columns_among(named, names, first.path, references=wanted)
        job = ShardJob(
            **vars(read),
            folder=str(target),
            metrics=tuple(map(_typed, scorers)),
            labels=(),
            signatures=(),
            files=tuple(files),
            shard_rows=shard_rows,
            keep=keep,
            runtime=_runtime_record(runtime),
            language=language_of(lang, tokens, fold),
        )
        language = _read_alike(job, files.index(first))
        signatures = [_signature(one, read, files, language, runtime) for one in scorers]
        labels = _labels(scorers, signatures)
        _check_names(scorers, labels, list(read.hypotheses), keep)
        job = replace(job, labels=tuple(labels), signatures=tuple(signatures), language=language)
        place.begin(job, old)
        shards = list(shards_of(files, shard_rows))
        results = target / RESULTS
        stored = ((shard.number, finished_summary(job, shard)) for shard in shards)
        summaries = {number: one for number, one in stored if one is not None}
        if len(summaries) < len(shards) and results.exists():
            # Parts of a finished run were removed, and so were the records of bad rows.
            summaries = {number: one for number, one in summaries.items() if not one.nulls}
        left = [shard for shard in shards if shard.number not in summaries]
        if tell is not None:
            _tell_plan(job, scorers, shards, left, tell)
        if left:
            results.unlink(missing_ok=True)
            _finish(_engine(engine, address, runtime, tell), job, left, summaries, runtime)
        done = sum(shard.stop - shard.start for shard in left)
        if not results.exists():
            place.write_results(job, _put_together(job, scorers, shards, summaries))
        place.tidy(job)
        return DatasetScores(target, read_results(target), done, time.perf_counter() - start)


def _read_alike(job: ShardJob, file: int) -> Language:
    """Return the language with what `auto` means for the first rows, as for a file's first lines.

    All parts are read alike, so signs are neutral whether or not the first rows have any.
    """
    texts: list[tuple[str, ...]] = []
    for batch in RowReader(job).batches(Shard(0, file, 0, min(job.files[file].rows, SHOWING))):
        for row, references in enumerate(batch.references):
            outputs = (lines[row] for lines in batch.hypotheses)
            texts.append((batch.sources[row], *outputs, *references))
    width = max(map(len, texts), default=1)
    # A row with fewer references than another repeats its source.
    columns = [*zip(*(row + row[:1] * (width - len(row)) for row in texts), strict=True)]
    systems = {str(place): Version(lines) for place, lines in enumerate(columns[1:])}
    language = replace(job.language, fold=job.language.fold.replace("auto", "quotes"))
    return settled(Corpus(columns[0], systems), language)


def _scorers(metrics: Metric | Sequence[Metric]) -> list[Scorer]:
    """Return the metrics, each once; every worker must be able to load them by name."""
    scorers = load_all(metrics)
    for scorer in scorers:
        if load(_typed(scorer)) != scorer:
            raise OptionError(
                f"{scorer.name}: cannot be loaded by its name and options in another process; "
                "give it by name"
            )
    return scorers


def _typed(scorer: Scorer) -> str:
    """Return a metric as given on the command line, with every option that is not the default."""
    from gecjury.scoring.options import metric_options, typed_metric

    options = {}
    for name, option in metric_options(type(scorer)).items():
        value = getattr(scorer, option.path)
        if option.required or value != option.default:
            written = str(value).lower() if isinstance(value, bool) else str(value)
            options[name] = "none" if value is None else written
    return typed_metric(name_elsewhere(scorer), options)


def _check_runtime(runtime: Runtime, engine: Engine | str) -> None:
    if runtime.dry_run:
        raise OptionError("`dry_run=`: is for texts; for a dataset try a file with a few rows")
    if runtime.max_cost is not None and (runtime.workers > 1 or engine != "local"):
        raise OptionError("`max_cost=`: is counted by one process; use it only with `workers=1`")


def _check_apart(target: Path, inputs: Sequence[str], paths: Sequence[str]) -> None:
    place = target.resolve()
    around = next((name for name in inputs if Path(name).resolve() in place.parents), "")
    if around:
        raise OptionError(
            f"-o {target}: is inside {around}, which is read; results need a folder outside it"
        )
    files = (path for path in paths if not path.startswith("hf:"))
    inside = next((file for file in files if place in Path(file).resolve().parents), "")
    if inside:
        raise OptionError(
            f"-o {target}: contains {inside}, which is read; results need a separate folder"
        )


def _check_names(
    scorers: Sequence[Scorer], labels: Sequence[str], systems: Sequence[str], keep: str
) -> None:
    """Refuse two columns of the same name, and a condition on columns that do not exist."""
    names = [
        column_name(system, label, part)
        for system in systems
        for scorer, label in zip(scorers, labels, strict=True)
        for part in ("", *part_names(scorer))
    ]
    if twice := next((name for at, name in enumerate(names) if name in names[:at]), None):
        raise OptionError(f"two columns of results would have the name {twice}: rename a column")
    if keep:
        parse_condition(keep).check(names)


def _labels(scorers: Sequence[Scorer], signatures: Sequence[Signature]) -> list[str]:
    """Return the metrics' names, with options where several metrics have the same name."""
    count = Counter(scorer.name for scorer in scorers)
    labels = [
        scorer.name if count[scorer.name] == 1 else signature.label
        for scorer, signature in zip(scorers, signatures, strict=True)
    ]
    if len(set(labels)) < len(labels):
        return [_typed(scorer) for scorer in scorers]
    return labels


def _signature(
    scorer: Scorer,
    columns: ColumnNames,
    files: Sequence[InputFile],
    language: Language,
    runtime: Runtime,
) -> Signature:
    """Return a metric's signature, with the dataset instead of texts.

    Raises:
        OptionError: the metric cannot score these rows.
    """
    if why := scorer.needs_all():
        raise OptionError(
            f"{scorer.name}: cannot score rows of a dataset: {why}; score it as text files"
        )
    if "rivals" in scorer.needs and len(columns.hypotheses) < 2:
        raise OptionError(
            f"{scorer.name}: compares systems with each other; name several columns with "
            "`columns=hypothesis=NAME`"
        )
    # A corpus of one sentence with the parts of the rows is enough for checks and a signature.
    text = Version(("a",))
    references = (text,) if columns.references else ()
    hypotheses = dict.fromkeys(columns.hypotheses, text)
    corpus = in_language(Corpus(("a",), hypotheses, references), language)
    scorer.check(corpus)
    made = scorer.signature(corpus, runtime)
    parts = [f"{file.name}:{file.rows}:{file.mark}" for file in files]
    read = f"column:{columns.references}" if made.references else ""
    data = {"dataset": fingerprint([*parts, columns.source, *columns.hypotheses.values(), read])}
    return replace(made, data=data, references=read)


def _runtime_record(runtime: Runtime) -> dict[str, object]:
    """Return fields of a runtime as JSON values, without the driver's bars and sums of costs."""
    names = ("device", "batch_size", "concurrency", "use_cache", "max_cost", "api_key_env", "batch")
    values = {name: getattr(runtime, name) for name in names}
    # A worker may run in another folder.
    return values | {"cache": runtime.cache and str(runtime.cache.absolute())}


def _engine(
    engine: Engine | str,
    address: str | None,
    runtime: Runtime,
    tell: Callable[[str], None] | None,
) -> Engine:
    if not isinstance(engine, str):
        return engine
    if engine == "local":
        return LocalEngine(runtime.workers)
    if engine == "ray":
        address = address or os.environ.get("RAY_ADDRESS") or "local"
        return ray_engine.RayEngine(address, runtime.workers, tell=tell or (lambda line: None))
    raise OptionError(f"unknown engine {engine!r:.60}; expected local or ray")


def _tell_plan(
    job: ShardJob,
    scorers: Sequence[Scorer],
    shards: Sequence[Shard],
    left: Sequence[Shard],
    tell: Callable[[str], None],
) -> None:
    """Report the plan to the user before the work begins."""
    rows = sum(file.rows for file in job.files)
    count = len(shards) - len(left)
    tell(
        f"{rows} rows in {len(job.files)} file{'s' if len(job.files) > 1 else ''}, "
        f"{len(shards)} part{'s' if len(shards) > 1 else ''}"
        + (f"; {count} of them finished before, {len(left)} left" if count else "")
    )
    empty = [file.name for file in job.files if not file.rows]
    if empty:
        more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        tell(f"note: files without any row: {', '.join(empty[:3])}{more}")
    without = [s.name for s in scorers if "references" in s.needs and not adds_up(s, 2)]
    if without and job.references:
        names = ", ".join(without)
        tell(f"note: {names}: rows are scored, but perhaps not the corpus: {MANY_REFERENCES}")


def _finish(
    engine: Engine,
    job: ShardJob,
    left: Sequence[Shard],
    summaries: dict[int, ShardSummary],
    runtime: Runtime,
) -> None:
    """Have the remaining shards finished."""
    # Progress counts all rows of the dataset, speed only those of this run.
    finished = sum(summary.rows for summary in summaries.values())
    total = finished + sum(shard.stop - shard.start for shard in left)
    begin, scored = time.perf_counter(), 0
    with runtime.progress.task("rows", total) as bar:
        bar.advance(finished)

        def done(summary: ShardSummary) -> None:
            nonlocal scored
            # An engine may finish a shard twice, which writes the same bytes.
            if summary.number in summaries:
                return
            summaries[summary.number] = summary
            scored += summary.rows
            seconds = max(time.perf_counter() - begin, 1e-9)
            bar.note(f"{scored / seconds:,.0f} rows/s")
            bar.advance(summary.rows)

        engine.finish(job, left, done)
    if missing := [shard for shard in left if shard.number not in summaries]:
        raise InputError(
            f"{len(missing)} parts are not finished, the first of them {missing[0].name}; run the "
            "command again"
        )


def _condition_counts(keep: str, summaries: Sequence[ShardSummary]) -> tuple[ConditionCount, ...]:
    """Return how many rows each part of a condition removed, and how many failed it."""
    return tuple(
        ConditionCount(
            part.text,
            sum(summary.kept.removed[number] for summary in summaries),
            sum(summary.kept.failed[number] for summary in summaries),
        )
        for number, part in enumerate(parse_condition(keep).parts if keep else ())
    )


def _put_together(
    job: ShardJob,
    scorers: Sequence[Scorer],
    shards: Sequence[Shard],
    summaries: Mapping[int, ShardSummary],
) -> Results:
    """Return corpus scores, counts and notes of all shards, including those of earlier runs."""
    # In the order of shards, so that sums do not depend on which shard was finished first.
    ordered = [summaries[shard.number] for shard in shards]
    nulls: dict[str, Counter[str]] = {}
    notes: dict[str, None] = {}
    for summary in ordered:
        for column, reasons in summary.nulls.items():
            nulls.setdefault(column, Counter()).update(reasons)
        notes |= dict.fromkeys(summary.notes)
    records: list[dict[str, object]] = []
    for scorer, label, signature in zip(scorers, job.labels, job.signatures, strict=True):
        made, why = _corpus_scores(scorer, label, list(job.hypotheses), ordered)
        of_metric = {"metric": label, "family": scorer.family, "signature": str(signature)}
        records += [{"system": system, **of_metric, **made[system]} for system in made]
        if why:
            notes[f"{label}: no corpus score: {why}"] = None
    # Notes on rows come after the notes on scores, which they explain.
    bad_rows = place.gather_bad_rows(job, shards)
    if bad_rows:
        notes[f"{bad_rows} rows lack some or all scores: see bad-rows.jsonl"] = None
    return Results(
        rows=tuple(records),
        read=sum(summary.rows for summary in ordered),
        bad=sum(summary.bad for summary in ordered),
        nulls={column: dict(sorted(reasons.items())) for column, reasons in sorted(nulls.items())},
        kept=sum(summary.kept.rows for summary in ordered) if job.keep else None,
        conditions=_condition_counts(job.keep, ordered),
        notes=tuple(notes),
    )


def _corpus_scores(
    scorer: Scorer, label: str, systems: Sequence[str], ordered: Sequence[ShardSummary]
) -> tuple[dict[str, dict[str, float | None]], str]:
    """Return corpus scores by system, and why there are none."""
    totals = [summary.totals[label] for summary in ordered]
    why = next((total.why for total in totals if total.why), "")
    sums = [total.sums for total in totals if total.sums]
    if why or not sums:
        return {s: {"score": None} for s in systems}, why or "no row could be scored"
    # Added shard by shard: `np.sum` would add in another order, which rounds differently.
    whole = sum(np.array([list(one[system]) for system in systems]) for one in sums)
    assert isinstance(scorer, Sums)  # otherwise there are no sums
    scores = scorer.total_scores(np.asarray(whole))
    by_system: dict[str, dict[str, float | None]] = {}
    parts = {"score": scores.score, "precision": scores.precision, "recall": scores.recall}
    for row, system in enumerate(systems):
        values = {key: float(part[row]) for key, part in parts.items() if part is not None}
        by_system[system] = {k: None if math.isnan(v) else v for k, v in values.items()}
    return by_system, ""
