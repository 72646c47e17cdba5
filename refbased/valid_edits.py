"""Verdicts on a system's edits, from a file of human verdicts or from a judge of single edits."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import Edit, Edits, counted_edits
from gecjury.extraction.extract import CorpusEdits
from gecjury.scoring.abilities import EditJudge
from gecjury.scoring.by_edit import EditCase
from gecjury.scoring.options import nested
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Statistics
from gecjury.scoring.signature import file_digest

_VerdictPlace = tuple[int, int, str]
"""Start, end and new text of an edit."""


@lru_cache(maxsize=32)
def edit_judge(valid: str) -> Scorer | None:
    """Return the judge that `edit-verdict[option=value,...]` names; None for a file.

    Raises:
        OptionError: the metric is unknown, or does not judge single edits.
    """
    metric = nested(valid)
    if metric is None:
        return None
    judge = load(metric)
    if not isinstance(judge, EditJudge):
        raise OptionError(
            f"valid={judge.name}[...]: {judge.name} does not judge single edits; expected "
            "edit-verdict[option=value,...] or a file of verdicts"
        )
    return judge


def verdicts_digest(valid: str, runtime: Runtime) -> str:
    """Return a digest, 12 hexadecimal digits, of everything that decides the verdicts.

    Raises:
        InputError: there is no such file.
    """
    judge, path = edit_judge(valid), Path(valid)
    if judge is not None:
        extra = dict(judge.extra_signature(runtime))
        decisive = json.dumps([judge.version, judge.settings(), extra], sort_keys=True)
    elif path.is_dir():
        files = sorted(path.glob("annotator*/*.txt"))
        decisive = json.dumps([[str(file.relative_to(path)), file_digest(file)] for file in files])
    elif path.is_file():
        return file_digest(path)
    else:
        raise InputError(
            f"valid={valid}: no such file; expected a table of verdicts (`gecjury annotate --task "
            "edits` writes one), a folder such as SEEDA's EditEval_Step1, or edit-verdict[...]"
        )
    return hashlib.sha256(decisive.encode()).hexdigest()[:12]


@dataclass(frozen=True)
class ValidityVerdicts:
    """Verdicts on edits of systems.

    Attributes:
        values: systems × sentences, the edits of each output with 1 for a valid one, 0 for an
            invalid one and NaN where there is no verdict.
        report: notes and audit of the judge, without values; None for a file.
        unanswered: number of edits on which the judge gave no readable verdict.
    """

    values: Sequence[Sequence[Mapping[Edit, float]]]
    report: Statistics | None = None
    unanswered: int = 0


def output_cases(corpus: Corpus, edits: CorpusEdits) -> list[EditCase]:
    """Return cases for a judge: edits of every distinct correction that some reference lacks.

    Args:
        edits: the edits of its systems and references.
    """
    shared = [
        set.intersection(*({_place(edit) for edit in line} for line in lines))
        for lines in zip(*edits.references, strict=True)
    ]
    # A drawn part of a corpus uses the contexts of the whole text.
    whole, rows = corpus.drawn or (corpus, tuple(range(len(corpus))))
    cases: dict[tuple[int, str, Edits], list[EditCase]] = {}
    for version, lines in zip(corpus.systems.values(), edits.systems.values(), strict=True):
        for row, (text, line) in enumerate(zip(version.lines, lines, strict=True)):
            own = tuple(sorted(counted_edits(line, detected=True)))
            context = whole.contexts[rows[row]] if whole.contexts else None
            cases[row, text, own] = [
                EditCase(
                    row, corpus.sources[row], context, edit, own, np.nan, text, corpus.language
                )
                for edit in own
                if _place(edit) not in shared[row]
            ]
    return [case for of_text in cases.values() for case in of_text]


def verdicts_on(
    valid: str, corpus: Corpus, edits: CorpusEdits, runtime: Runtime
) -> ValidityVerdicts:
    """Return verdicts on the edits of a corpus' systems.

    Several human verdicts on the same edit of a correction are combined by majority; a tie counts
    as no verdict.

    Args:
        valid: a judge or a file, see `ERRANT`.
        edits: the edits of its systems and references.
        runtime: used by the judge.

    Raises:
        InputError: the file cannot be used.
    """
    votes: dict[tuple[str, str, _VerdictPlace], FloatArray] = {}
    judge, report, unanswered = edit_judge(valid), None, 0
    if judge is not None:
        assert isinstance(judge, EditJudge)  # `edit_judge` returns no other metric
        cases = output_cases(corpus, edits)
        scores, report = judge.edit_scores(cases, runtime)
        unanswered = int(np.isnan(scores).sum())
        for case, score in zip(cases, scores.tolist(), strict=True):
            place = _key(case.source, case.correction, _place(case.edit))
            votes[place] = np.array([score > 0.5, score < 0.5], dtype=np.float64)
    else:
        # Only a file of verdicts needs the readers of benchmarks.
        from gecjury.benchmarks.edit_verdicts import read_edit_verdicts
        from gecjury.benchmarks.own.judgments import read_own_verdicts

        path = Path(valid)
        read = read_edit_verdicts(path) if path.is_dir() else read_own_verdicts(
            path, corpus, skip_unknown=True
        )  # fmt: skip
        for v in read[0]:
            place = _key(v.sentence, v.correction, (v.start, v.end, v.new))
            votes[place] = votes.get(place, np.zeros(2)) + np.array([v.valid, not v.valid])

    def verdict(source: str, text: str, edit: Edit) -> float:
        accepted, rejected = votes.get(_key(source, text, _place(edit)), (0.0, 0.0))
        return float(accepted > rejected) if accepted != rejected else np.nan

    values = [
        [
            {edit: verdict(source, text, edit) for edit in counted_edits(line, detected=True)}
            for source, text, line in zip(corpus.sources, version.lines, lines, strict=True)
        ]
        for version, lines in zip(corpus.systems.values(), edits.systems.values(), strict=True)
    ]
    return ValidityVerdicts(values, report, unanswered)


def _place(edit: Edit) -> _VerdictPlace:
    return edit.start, edit.end, edit.correction


def _key(source: str, correction: str, place: _VerdictPlace) -> tuple[str, str, _VerdictPlace]:
    """Return the key of a verdict, with texts as tokens joined by single blanks."""
    return " ".join(source.split()), " ".join(correction.split()), place
