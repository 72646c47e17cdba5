"""valid: any edit metric, with the edits counted as right that people or a judge call valid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isnan, nan
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits, apply_edits, counted_edits, overlapping_edits
from gecjury.scoring.abilities import EditJudge, HasParts, NamesMetrics, ReadsEdits, RunsReferences
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.options import inner_metric
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer, changed_settings, setting
from gecjury.scoring.scores import Plan, Scores, Statistics
from gecjury.scoring.signature import Setting, Signature, file_digest

_Key = tuple[str, str, tuple[int, int, str]]
"""A source, a correction of it, and start, end and new text of an edit."""
_Verdicts = Mapping[_Key, float]
"""1 for a valid edit and 0 for one that is not."""


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
        """Return metric and verdicts; a judge is named without its server."""
        named = {"by": (self.by, _edit_metric(self.by)), "judge": (self.judge, self._judge)}
        return {key: _label(text, scorer) for key, (text, scorer) in named.items()}

    @property
    def _judge(self) -> Scorer | None:
        return _edit_judge(self.judge)

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, with everything that decides edits, counts and verdicts."""
        runtime, metric = runtime or Runtime(), _edit_metric(self.by)
        inner, signature = metric.signature(corpus, runtime), super().signature(corpus, runtime)
        decisive = [metric.version, inner.settings, self._verdicts_identity(runtime)]
        digest = hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()
        return replace(
            signature, packages=inner.packages, extra={**inner.extra, "verdicts": digest[:12]}
        )

    def _verdicts_identity(self, runtime: Runtime) -> Any:
        """Return everything that decides the verdicts, as JSON values.

        Raises:
            InputError: there is no such file.
        """
        judge, path = self._judge, Path(self.judge)
        if judge is not None:
            return [judge.version, judge.settings(), dict(judge.extra_signature(runtime))]
        if self.judge and path.is_dir():
            files = sorted(path.glob("annotator*/*.txt"))
            return [[str(file.relative_to(path)), file_digest(file)] for file in files]
        if path.is_file():
            return file_digest(path)
        raise InputError(
            f"judge={self.judge}: no such file; expected a table of verdicts (`gecjury annotate "
            "--task edits` writes one), a folder such as SEEDA's EditEval_Step1, or "
            "edit-verdict[...]"
        )

    def check(self, corpus: Corpus) -> None:
        """Check the corpus, and the verdicts before any work is done."""
        super().check(corpus)
        _edit_metric(self.by).check(corpus)
        self._verdicts_identity(Runtime())
        if self._judge is not None:
            self._judge.check(corpus)

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan | None:
        """Return the requests to the judge, if there is one."""
        if (judge := self._judge) is None:
            return None
        assert isinstance(judge, EditJudge)  # `_edit_judge` returns no other
        return judge.plan_edits(output_cases(self._whole(corpus, runtime)[0]), runtime)

    def _whole(self, corpus: Corpus, runtime: Runtime) -> tuple[Corpus, tuple[str, ...]]:
        """Return the corpus with all edits as the metric reads them, and notes on these."""
        from gecjury.extraction.retyping import typed_corpus_edits

        metric = _edit_metric(self.by)
        assert isinstance(metric, ReadsEdits)  # `_edit_metric` returns no other
        found = typed_corpus_edits(corpus, *metric.extraction, runtime)
        systems = {
            name: replace(version, edits=tuple(found.systems[name]))
            for name, version in corpus.systems.items()
        }
        references = tuple(
            replace(version, edits=tuple(lines))
            for version, lines in zip(corpus.references, found.references, strict=True)
        )
        return replace(corpus, systems=systems, references=references), found.notes

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the metric's statistics, each system's with references that have its valid edits.

        The details also have the numbers of valid edits by system (`valid`).
        """
        metric = _edit_metric(self.by)
        whole, notes = self._whole(corpus, runtime)
        if "types" in metric.settings():
            metric = load(metric, types="gold")  # the edits have their types
        assert isinstance(metric, RunsReferences)  # `_edit_metric` returns no other
        verdicts, report, unanswered = self._verdicts(whole, runtime)
        plain = metric.statistics(whole, runtime)
        credited = [metric.statistics(_with_valid(whole, n, verdicts, metric), runtime)
                    for n in whole.systems]  # fmt: skip
        without, details = metric.corpus_scores(plain).score.tolist(), {}
        for name, part, before in zip(whole.systems, credited, without, strict=True):
            said = _on_false_positives(whole, name, metric.run_references(part)[0], verdicts)
            details[name] = {
                "false_positives": len(said),
                "valid": said.count(1.0),
                "unjudged": sum(map(isnan, said)),
                "score_without": before,
            }
        values = np.concatenate([part.values for part in credited])
        merged: dict[str, Any] = {}
        for part in credited:
            for key, value in part.details.items():
                merged[key] = {**merged.get(key, {}), **value}
        after = metric.corpus_scores(Statistics(values)).score.tolist()
        types = [part.sentence_types for part in credited]
        return Statistics(
            values,
            None,
            {**merged, "valid": details, **report.details, **unanswered},
            tuple(dict.fromkeys((
                self._note(details, after),
                *report.notes,
                *notes,
                *(note for part in credited for note in part.notes),
            ))),
            lambda system, row: of_one(0, row) if (of_one := types[system]) else {},
        )  # fmt: skip

    def _note(self, details: Mapping[str, Mapping[str, float]], scores: Sequence[float]) -> str:
        """Return how many false positives are valid, and how far that moves each system."""
        total = {
            key: int(sum(of_system[key] for of_system in details.values()))
            for key in ("false_positives", "valid", "unjudged")
        }
        moves = (
            f"{name} {row['score_without']:.4f} → {score:.4f}"
            for (name, row), score in zip(details.items(), scores, strict=True)
        )
        return (
            f"judge={self.settings()['judge']}: {total['valid']} of {total['false_positives']} "
            f"false positives are called valid and count as true positives; {total['unjudged']} "
            f"have no verdict and stay false. Scores without and with them: {', '.join(moves)}"
        )

    def _verdicts(
        self, corpus: Corpus, runtime: Runtime
    ) -> tuple[_Verdicts, Statistics, dict[str, int]]:
        """Return the verdicts, the judge's audit and notes, and how many edits have no answer.

        Raises:
            InputError: the file cannot be used.
        """
        votes: dict[_Key, FloatArray] = {}
        report = Statistics(np.empty(0))
        unanswered: dict[str, int] = {}
        if (judge := self._judge) is not None:
            assert isinstance(judge, EditJudge)  # `_edit_judge` returns no other
            cases = output_cases(corpus)
            scores, report = judge.edit_scores(cases, runtime)
            unanswered = {"unanswered": int(np.isnan(scores).sum())}
            for case, score in zip(cases, scores.tolist(), strict=True):
                key = _key(case.source, case.correction, _place(case.edit))
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
                key = _key(v.sentence, v.correction, (v.start, v.end, v.new))
                votes[key] = votes.get(key, np.zeros(2)) + np.array([v.valid, not v.valid])
        decided = {key: float(yes > no) for key, (yes, no) in votes.items() if yes != no}
        return decided, report, unanswered

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
    named = inner_metric(judge)
    if named is None:
        return None
    scorer = load(named)
    if not isinstance(scorer, EditJudge):
        raise OptionError(
            f"valid: judge={scorer.name}: {scorer.name} does not judge single edits; expected "
            "edit-verdict[option=value,...] or a file of verdicts"
        )
    return scorer


def _label(text: str, scorer: Scorer | None) -> str:
    """Return a metric as in the option that names it, without its server."""
    if scorer is None:
        return text
    changed = (f"{k}={v}" for k, v in changed_settings(scorer).items() if k != "base_url")
    name, options = text.partition("[")[0], ",".join(changed)
    return f"{name}[{options}]" if options else name


def output_cases(corpus: Corpus) -> list[EditCase]:
    """Return cases for a judge: edits of every distinct correction that some reference lacks.

    Args:
        corpus: outputs and references with their edits.
    """
    golds = [version.edits or () for version in corpus.references]
    shared = [
        set.intersection(*(set(map(_place, line)) for line in lines))
        for lines in zip(*golds, strict=True)
    ]
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
    for source, text, line in zip(corpus.sources, version.lines, version.edits or (), strict=True):
        yield [
            (edit, verdicts.get(_key(source, text, _place(edit)), nan))
            for edit in counted_edits(line)
        ]


def _with_valid(corpus: Corpus, system: str, verdicts: _Verdicts, metric: Scorer) -> Corpus:
    """Return a system with references that have its valid edits as well."""
    apart, version = bool(getattr(metric, "apart", False)), corpus.systems[system]
    right = [
        [edit for edit, verdict in said if verdict == 1 and text.strip()]
        for said, text in zip(_said(corpus, system, verdicts), version.lines, strict=True)
    ]
    references = []
    for reference in corpus.references:
        lines, edits = list(reference.lines), list(reference.edits or ())
        for row, valid in enumerate(right):
            gold = edits[row]
            if more := [e for e in valid if _place(e) not in set(map(_place, gold))]:
                if apart:
                    gold = tuple(e for e in gold if not overlapping_edits((*more, e)))
                edits[row] = tuple(sorted((*gold, *more)))
                if apart:
                    lines[row] = " ".join(apply_edits(corpus.sources[row].split(), edits[row]))
        references.append(replace(reference, lines=tuple(lines), edits=tuple(edits)))
    return replace(corpus, systems={system: version}, references=tuple(references))


def _on_false_positives(
    corpus: Corpus, system: str, chosen: IntArray, verdicts: _Verdicts
) -> list[float]:
    """Return the verdicts on a system's edits that the chosen references lack.

    Args:
        chosen: the reference of each sentence; −1 for none.
    """
    found = []
    for row, said in enumerate(_said(corpus, system, verdicts)):
        golds = corpus.references[max(int(chosen[row]), 0)].edits or ()
        gold = set(map(_place, counted_edits(golds[row])))
        found += [verdict for edit, verdict in said if _place(edit) not in gold]
    return found


def _place(edit: Edit) -> tuple[int, int, str]:
    return edit.start, edit.end, edit.correction


def _key(source: str, correction: str, place: tuple[int, int, str]) -> _Key:
    """Return the key of a verdict, with texts as tokens joined by single blanks."""
    return " ".join(source.split()), " ".join(correction.split()), place
