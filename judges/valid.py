"""valid: any edit metric, with the edits counted as right that people or a judge call valid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isnan, nan
from pathlib import Path
from typing import ClassVar

import numpy as np

from gecjury.core.addresses import masked
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.wording import single_spaced
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits, apply_edits, counted_edits, overlapping_edits
from gecjury.scoring.abilities import (
    EditCase,
    EditJudge,
    HasParts,
    NamesMetrics,
    ReadsEdits,
    RunsReferences,
)
from gecjury.scoring.registry import inner_metric, load
from gecjury.scoring.scorer import Scorer, setting
from gecjury.scoring.scores import Plan, Scores, Statistics
from gecjury.scoring.signature import Setting, Signature, file_digest

_Place = tuple[int, int, str]
"""Start, end and new text of an edit."""
_Verdicts = Mapping[tuple[str, str, _Place], float]
"""By source, correction and edit: 1 for a valid edit and 0 for another."""
_Said = Sequence[Sequence[tuple[Edit, float]]]
"""The edits of each output of a system, with the verdict on each; NaN where there is none."""


@dataclass(frozen=True)
class Valid(Scorer, HasParts, NamesMetrics):
    """An edit metric that counts edits as right that a reference lacks, but a verdict calls valid.

    Range and direction are those of the metric. A reference that lacks a valid edit of an output is
    compared with this output as if it had the edit; where a metric divides sentences at edits, the
    reference's own edits of the same words give way to it. An output without words has no valid
    edits. Several people's verdicts on an edit are combined by majority; a tie is no verdict.

    Attributes:
        by: the edit metric, such as errant or cleme[option=value,...].
        judge: a judge of single edits, edit-verdict[option=value,...], or people's verdicts: a
            table, or a folder such as SEEDA's EditEval_Step1.
    """

    name: ClassVar[str] = "valid"
    family: ClassVar[str] = "judges"
    summary: ClassVar[str] = "an edit metric that counts valid edits as right"
    paper: ClassVar[str] = "this package"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    divides: ClassVar[bool] = True

    by: str = "errant"
    judge: str = setting("", names="verdicts")

    def __post_init__(self) -> None:
        super().__post_init__()
        _edit_metric(self.by)
        _edit_judge(self.judge)

    @classmethod
    def named_metrics(cls, options: Mapping[str, str], home: Path) -> Iterable[tuple[str, Path]]:
        """Return the metrics that the options name, with the folder of the file that names them."""
        named = [inner_metric(options.get(key, "")) for key in ("by", "judge")]
        return [(metric, home) for metric in named if metric]

    @property
    def fixed(self) -> bool:
        """True with people's verdicts, which are on the corrections that were judged."""
        return _edit_judge(self.judge) is None

    @property
    def asks(self) -> bool:
        """True if a judge gives the verdicts."""
        return not self.fixed

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The models that the metric loads."""
        return _edit_metric(self.by).loaded_models

    def settings(self) -> dict[str, Setting]:
        """Return metric and verdicts; a judge may name a server with a key."""
        return {"by": self.by, "judge": masked(self.judge)}

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, with everything that decides edits, counts and verdicts."""
        runtime = runtime or Runtime()
        inner = _edit_metric(self.by).signature(corpus, runtime)
        digest = hashlib.sha256(f"{inner.own} {self._decisive(runtime)}".encode()).hexdigest()[:12]
        return replace(
            super().signature(corpus, runtime),
            packages=inner.packages,
            extra={**inner.extra, "verdicts": digest},
        )

    def _decisive(self, runtime: Runtime) -> str:
        """Return everything that decides the verdicts.

        Raises:
            OptionError: no verdicts are named.
            InputError: there is no such file.
        """
        judge, path = _edit_judge(self.judge), Path(self.judge)
        if judge is not None:
            extra = dict(judge.extra_signature(runtime))
            return json.dumps([judge.version, judge.settings(), extra], sort_keys=True)
        if self.judge and path.is_dir():
            files = sorted(path.glob("annotator*/*.txt"))
            return json.dumps([[str(file.relative_to(path)), file_digest(file)] for file in files])
        if path.is_file():
            return file_digest(path)
        if not self.judge:
            raise OptionError(
                "valid: no verdicts are named: give -m valid:judge=FILE, or judge=edit-verdict[...]"
            )
        raise InputError(
            f"judge={self.judge}: no such file; expected a table of verdicts (`gecjury annotate "
            "--task edits` writes one), a folder such as SEEDA's EditEval_Step1, or "
            "edit-verdict[...]"
        )

    def check(self, corpus: Corpus) -> None:
        """Check the corpus, and the verdicts before any work is done."""
        _edit_metric(self.by).check(corpus)
        self._decisive(Runtime())
        if (judge := _edit_judge(self.judge)) is not None:
            judge.check(corpus)

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan | None:
        """Return the requests to the judge, if there is one."""
        if (judge := _edit_judge(self.judge)) is None:
            return None
        assert isinstance(judge, EditJudge)  # `_edit_judge` returns no other
        return judge.plan_edits(output_cases(self._with_edits(corpus, runtime)[0]), runtime)

    def _with_edits(self, corpus: Corpus, runtime: Runtime) -> tuple[Corpus, tuple[str, ...]]:
        """Return the corpus with all edits as the metric reads them, and notes on these."""
        from gecjury.extraction.retyping import typed_corpus_edits

        metric = _edit_metric(self.by)
        assert isinstance(metric, ReadsEdits)  # `_edit_metric` returns no other
        extracted = typed_corpus_edits(corpus, *metric.extraction, runtime)
        systems = {
            n: replace(v, edits=tuple(extracted.systems[n])) for n, v in corpus.systems.items()
        }
        pairs = zip(corpus.references, extracted.references, strict=True)
        references = tuple(replace(version, edits=tuple(lines)) for version, lines in pairs)
        return replace(corpus, systems=systems, references=references), extracted.notes

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the metric's statistics, each system's with references that have its valid edits.

        The details also have the numbers of valid edits by system (`valid`).
        """
        metric = _edit_metric(self.by)
        corpus, notes = self._with_edits(corpus, runtime)
        if "types" in metric.settings():
            metric = load(metric, types="gold")  # the edits have their types
        assert isinstance(metric, RunsReferences)  # `_edit_metric` returns no other
        verdicts, report = self._verdicts(corpus, runtime)
        before = metric.corpus_scores(metric.counted(corpus, runtime)).score.tolist()
        parts, details = [], {}
        for name, score in zip(corpus.systems, before, strict=True):
            one, said = corpus.alone(name), list(_said(corpus, name, verdicts))
            gold = _places(one)
            parts.append(metric.statistics(_with_valid(one, name, said, gold, metric), runtime))
            chosen = metric.run_references(parts[-1])[0].tolist()  # −1: none
            wrong = [
                verdict
                for row, of_row in enumerate(said)
                for edit, verdict in of_row
                if _place(edit) not in gold[max(chosen[row], 0)][row]
            ]
            details[name] = {
                "false_positives": len(wrong),
                "valid": wrong.count(1.0),
                "unjudged": sum(map(isnan, wrong)),
                "score_without": score,
            }
        counted = Statistics.joined(parts)
        after = metric.corpus_scores(counted).score.tolist()
        moves = (f"{n} {b:.4f} → {a:.4f}" for n, b, a in zip(details, before, after, strict=True))
        counts = [list(one.values())[:3] for one in details.values()]
        wrong_count, valid, unjudged = map(sum, zip(*counts, strict=True))
        note = (
            f"judge={self.settings()['judge']}: {valid} of {wrong_count} "
            f"false positives are called valid and count as true positives; {unjudged} "
            f"have no verdict and stay false. Scores without and with them: {', '.join(moves)}"
        )
        return replace(
            counted,
            details={**counted.details, "valid": details, **report.details},
            notes=tuple(dict.fromkeys((note, *report.notes, *notes, *counted.notes))),
        )

    def _verdicts(self, corpus: Corpus, runtime: Runtime) -> tuple[_Verdicts, Statistics]:
        """Return the verdicts, and the judge's audit and notes.

        Raises:
            InputError: the file cannot be used.
        """
        votes: dict[tuple[str, str, _Place], FloatArray] = {}
        report = Statistics(np.empty(0))
        if (judge := _edit_judge(self.judge)) is not None:
            assert isinstance(judge, EditJudge)  # `_edit_judge` returns no other
            cases = output_cases(corpus)
            scores, report = judge.edit_scores(cases, runtime)
            unanswered = int(np.isnan(scores).sum())
            report = replace(report, details={**report.details, "unanswered": unanswered})
            for case, score in zip(cases, scores.tolist(), strict=True):
                key = single_spaced(case.source), single_spaced(case.correction), _place(case.edit)
                votes[key] = np.array([score > 0.5, score < 0.5], dtype=np.float64)
        else:
            # Only a file of verdicts needs the readers of benchmarks.
            from gecjury.benchmarks.edit_verdicts import read_edit_verdicts
            from gecjury.benchmarks.own.judgments import read_own_verdicts

            path = Path(self.judge)
            read = read_edit_verdicts(path) if path.is_dir() else read_own_verdicts(
                path, corpus, skip_unknown=True
            )  # fmt: skip
            for v in read[0]:
                key = (
                    single_spaced(v.sentence),
                    single_spaced(v.correction),
                    (v.start, v.end, v.new),
                )
                votes[key] = votes.get(key, np.zeros(2)) + np.array([v.valid, not v.valid])
        return {key: float(yes > no) for key, (yes, no) in votes.items() if yes != no}, report

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the metric's scores of the sentences."""
        return _edit_metric(self.by).sentence_scores(statistics)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return the metric's scores of the corpus."""
        return _edit_metric(self.by).corpus_scores(statistics, draws)


@lru_cache(maxsize=32)
def _edit_metric(by: str) -> Scorer:
    """Return the metric that `by` names.

    Raises:
        OptionError: the metric is unknown, or does not compare edits with references.
    """
    metric = load(inner_metric(by) or by)
    if not (isinstance(metric, ReadsEdits) and isinstance(metric, RunsReferences)):
        raise OptionError(
            f"valid: by={metric.name}: expected a metric that compares edits with those of a "
            "reference, such as errant"
        )
    return metric


@lru_cache(maxsize=32)
def _edit_judge(judge: str) -> Scorer | None:
    """Return the judge that `judge` names; None for a file.

    Raises:
        OptionError: the metric is unknown, or does not judge single edits.
    """
    scorer = load(named) if (named := inner_metric(judge)) else None
    if not isinstance(scorer, EditJudge | None):
        raise OptionError(
            f"valid: judge={scorer.name}: {scorer.name} does not judge single edits; expected "
            "edit-verdict[option=value,...] or a file of verdicts"
        )
    return scorer


def output_cases(corpus: Corpus) -> list[EditCase]:
    """Return cases for a judge: edits of every distinct correction that some reference lacks.

    Args:
        corpus: outputs and references with their edits.
    """
    shared = [set.intersection(*sets) for sets in zip(*_places(corpus), strict=True)]
    # A drawn part of a corpus uses the contexts of the whole text.
    whole, rows = corpus.drawn or (corpus, tuple(range(len(corpus))))
    cases: dict[tuple[int, str, Edits], list[EditCase]] = {}
    for version in corpus.systems.values():
        for row, (text, line) in enumerate(zip(version.lines, version.edits or (), strict=True)):
            own = tuple(sorted(counted_edits(line)))
            context = whole.contexts[rows[row]] if whole.contexts else None
            cases[row, text, own] = [
                EditCase(row, corpus.sources[row], context, edit, own, nan, text, corpus.language)
                for edit in own
                if _place(edit) not in shared[row]
            ]
    return [case for of_text in cases.values() for case in of_text]


def _said(corpus: Corpus, system: str, verdicts: _Verdicts) -> Iterator[list[tuple[Edit, float]]]:
    """Yield the edits of each output with the verdict on each; NaN where there is none."""
    version = corpus.systems[system]
    for source, text, edits in zip(corpus.sources, version.lines, version.edits or (), strict=True):
        texts = single_spaced(source), single_spaced(text)
        yield [(edit, verdicts.get((*texts, _place(edit)), nan)) for edit in counted_edits(edits)]


def _with_valid(
    corpus: Corpus, system: str, said: _Said, gold: Sequence[Sequence[set[_Place]]], metric: Scorer
) -> Corpus:
    """Return a system with references that have its valid edits as well.

    Args:
        said: the system's edits with the verdicts on them.
        gold: the references' own edits.
        metric: the metric that compares them.
    """
    apart, version = bool(getattr(metric, "apart", False)), corpus.systems[system]
    references = []
    for reference, known in zip(corpus.references, gold, strict=True):
        lines, edits = list(reference.lines), list(reference.edits or ())
        for row, of_row in enumerate(said):
            more = [e for e, verdict in of_row if verdict == 1 and _place(e) not in known[row]]
            if not more or not version.lines[row].strip():
                continue
            kept = [e for e in edits[row] if not (apart and overlapping_edits((*more, e)))]
            edits[row] = tuple(sorted((*kept, *more)))
            if apart:
                lines[row] = " ".join(apply_edits(corpus.sources[row].split(), edits[row]))
        references.append(replace(reference, lines=tuple(lines), edits=tuple(edits)))
    return replace(corpus, systems={system: version}, references=tuple(references))


def _places(corpus: Corpus) -> list[list[set[_Place]]]:
    """Return the edits of each reference, without their types."""
    return [
        [set(map(_place, counted_edits(line))) for line in version.edits or ()]
        for version in corpus.references
    ]


def _place(edit: Edit) -> _Place:
    return edit.start, edit.end, edit.correction
