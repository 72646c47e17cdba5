"""The audit of judges: what they prefer that people do not, and how reliable their replies are.

In a pair of corrections of one source, one side may have more edits, have more tokens, or come from
a system of the judge's own model family. A preference for that side is not a bias in itself: people
may share it. The bias is the share of the pairs in which the judge prefers it minus the share in
which people do.

A judge also records an audit of itself, such as replies that change with the order of corrections.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, cast

import numpy as np

from gecjury.benchmarks.table import View
from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import JsonValue
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.edits import counted_edits
from gecjury.extraction.extract import corpus_edits
from gecjury.metaeval.study import AgreementRow, MetaEvaluation
from gecjury.scoring.scores import ScoreTable, StoredAudit
from gecjury.stats.correlation import signs
from gecjury.stats.counts import ratio

SYSTEM_FAMILIES: Mapping[str, Mapping[str, str]] = {
    # These are the systems of SEEDA (Kobayashi, Mita and Komachi 2024) whose own papers name the
    # model that they were built from: GPT-3.5 (Coyne et al. 2023), T5 (Rothe et al. 2021), T5-large
    # (TransGEC, Fang et al. 2023), BART (Katsumata and Komachi 2020) and BERT (BERT-fuse, Kaneko
    # et al. 2020; GECToR, Omelianchuk et al. 2020; PIE, Awasthi et al. 2019). GECToR-ens mixes
    # three encoders, TemplateGEC was published with several models, and the others were trained
    # from scratch or written by people.
    "seeda": {
        "GPT-3.5": "gpt",
        "T5": "t5",
        "TransGEC": "t5",
        "BART": "bart",
        "BERT-fuse": "bert",
        "GECToR-BERT": "bert",
        "PIE": "bert",
    },
    # People wrote the systems of the sample.
    "sample": {},
}
"""Families of systems by benchmark and system; systems that have no model family are absent."""

_NAMES = (
    ("gpt", r"chatgpt|gpt-?\d|gpt-oss|o\d|davinci"),
    ("claude", "claude"),
    ("gemini", "gemini"),
    ("gemma", "gemma"),
    ("qwen", r"qwen|qwq"),
    ("llama", r"llama"),
    ("mistral", r"mistral|mixtral|ministral|magistral"),
    ("deepseek", "deepseek"),
    ("phi", r"phi-?\d"),
    ("smollm", "smollm"),
    ("olmo", "olmo"),
    ("command", r"command|aya"),
    ("grok", "grok"),
    ("t5", r"m?t5|flan-?t5|byt5|ul2"),
    ("bart", r"m?bart"),
    ("bert", r"m?bert"),
)
# A family's name must be at the start of the model's name or after a separator:
# DeepSeek-R1-Distill-Qwen-7B has two families, and roberta does not belong to bert.
_PATTERNS = [(family, re.compile(rf"(?:^|[-_.])(?:{names})")) for family, names in _NAMES]


def model_families(model: str) -> tuple[str, ...]:
    """Return the families that a model's name shows, e.g. `gpt` for `ft:gpt-4o:me::x`.

    Args:
        model: the model's name on a server or the hub, or a folder.

    Returns:
        Names of families; none if the name shows none.
    """
    # The second part of a fine-tuned model's name is the model that it was trained from.
    name = model.split(":")[1] if model.startswith("ft:") else model
    name = name.rstrip("/").rpartition("/")[2].lower()
    return tuple(family for family, pattern in _PATTERNS if pattern.search(name))


BiasSide = Literal["more edits", "longer text", "own family"]
"""The side of a pair for which a preference is measured."""


def measure_biases(study: MetaEvaluation, tables: Sequence[ScoreTable]) -> tuple[AgreementRow, ...]:
    """Return the biases of judges, or of all metrics if the settings ask for it, view by view.

    A bias is a metric's preference for one side of judged pairs, against people's on the same
    pairs. Of the `values`, `preferred` and `people` are the shares of the pairs in which the metric
    and people prefer that side, ties one half, and `difference` is the first minus the second: 0
    without a bias, NaN without pairs. `pairs` and `missing` count the pairs whose sides differ,
    with both scores and without.

    A panel of judges has the families of all its models.

    Args:
        study: the benchmark and the settings.
        tables: scores, one table per metric.
    """
    corpus = study.benchmark.corpus
    how = study.settings
    audited = [table for table in tables if how.audit or table.audit]
    judged = [view for view in study.views if study.benchmark.rankings.get(view)]
    if not audited or not judged or how.level not in ("sentence", "all"):
        return ()
    sizes = _sizes(corpus, study.runtime)
    rows = []
    for table in audited:
        sides: dict[BiasSide, tuple[IntArray, tuple[str, ...]]] = {
            side: (size, ()) for side, size in sizes.items()
        }
        if table.audit:
            own = _own_systems(study, table.audit)
            inside = np.array([name in own for name in corpus.names], dtype=np.int64)
            sides["own family"] = np.repeat(inside[:, None], len(corpus), axis=1), own
        for view in judged:
            rows += _rows(study, view, table, sides)
    return tuple(rows)


def _sizes(corpus: Corpus, runtime: Runtime) -> Mapping[BiasSide, IntArray]:
    """Return the number of edits and of tokens of every correction, systems × sentences.

    Edits come from the files if they have some; otherwise they are extracted between tokens without
    a tagger: an audit only needs their number, in any language and without spaCy.
    """
    edits = corpus_edits(replace(corpus, references=()), "none", runtime).systems
    lines = [version.lines for version in corpus.systems.values()]
    return {
        "more edits": np.array(
            [[len(counted_edits(of_line)) for of_line in edits[name]] for name in edits]
        ),
        "longer text": np.array([[len(line.split()) for line in of_one] for of_one in lines]),
    }


def _own_systems(study: MetaEvaluation, audit: StoredAudit) -> tuple[str, ...]:
    """Return the systems that were built from a model of a judge's family."""
    models = [str(member.get("model", "")) for member in audit.members]
    families = {family for model in models for family in model_families(model)}
    family_of = SYSTEM_FAMILIES.get(study.benchmark.name, {})
    return tuple(name for name in study.benchmark.corpus.names if family_of.get(name) in families)


def _rows(
    study: MetaEvaluation,
    view: View,
    table: ScoreTable,
    sides: Mapping[BiasSide, tuple[IntArray, tuple[str, ...]]],
) -> list[AgreementRow]:
    """Return a metric's biases against one view; a judge without own systems has no pairs there."""
    lines = len(study.benchmark.corpus)
    # By side and sentence: sums of metric and people (as −1, 0, 1), pairs, pairs without a score.
    sums = {side: np.zeros((4, lines)) for side in sides}
    for pairs in study.parts(view):
        first, second = study.sides(view, table, pairs)
        preferred, present = signs(first, second), ~(np.isnan(first) | np.isnan(second))
        for side, (size, _) in sides.items():
            toward = np.sign(size[pairs.first, pairs.sentence] - size[pairs.second, pairs.sentence])
            # Systems with the same text do not differ, so neither can be preferred.
            differ = (toward != 0) & ~pairs.shared
            scored = differ & present
            columns = (toward * preferred, toward * pairs.preference, scored, differ & ~scored)
            for total, column, kept in zip(
                sums[side], columns, (scored, scored, scored, differ), strict=True
            ):
                total += np.bincount(
                    pairs.sentence[kept], column[kept].astype(np.float64), minlength=lines
                )
    rows = []
    for side, (_, systems) in sides.items():
        metric, people, count, missing = sums[side]
        # A sign of −1, 0 or 1 is a share of 0, ½ or 1.
        shares = ((ratio(part.sum(), count.sum(), np.nan) + 1) / 2 for part in (metric, people))
        of_metric, of_people = (float(share) for share in shares)
        values = {
            "difference": of_metric - of_people,
            "preferred": of_metric,
            "people": of_people,
            "pairs": int(count.sum()),
            "missing": int(missing.sum()),
        }
        drawn: dict[str, FloatArray] = {}
        if (counts := study.drawn_counts) is not None and count.any():
            gaps = counts @ (metric - people) / 2
            drawn["difference"] = ratio(gaps, counts @ count, np.nan)
        row = study.row("bias", table, view, values, drawn)
        rows.append(replace(row, side=side, systems=systems))
    return rows


@dataclass(frozen=True)
class AuditedAccuracy:
    """A metric's agreement with people in one view.

    Attributes:
        accuracy: at sentence level.
        ceiling: that of two annotators; NaN if it is not known.
        with_invalid: the accuracy if pairs without a valid reply count as wrong.
    """

    accuracy: float
    ceiling: float
    with_invalid: float


@dataclass(frozen=True)
class Audit:
    """A scorer's audit of itself, and its agreement with people.

    Attributes:
        label: the metric's label.
        signature: the metric's signature in one line.
        stored: the audit that it stored with its scores.
        humans: by view the metric's agreement with people.
    """

    label: str
    signature: str
    stored: StoredAudit
    humans: Mapping[str, AuditedAccuracy]


def judges_audits(
    study: MetaEvaluation,
    tables: Sequence[ScoreTable],
    results: Sequence[AgreementRow],
    ceilings: Mapping[str, float],
) -> Iterator[Audit]:
    """Yield the audits of the metrics that have one, with their agreement with people.

    Args:
        study: the benchmark and the settings.
        tables: scores, one table per metric.
        results: the metrics' results against every view.
        ceilings: by view, how often two annotators agree; views where this is not known are absent.
    """
    for table in tables:
        if (stored := table.audit) is None:
            continue
        humans = {
            row.human: AuditedAccuracy(
                row.accuracy,
                # The agreement of two annotators is the yardstick for a scorer's own audit.
                ceilings.get(row.human, float("nan")),
                accuracy_with_invalid(study, table, row, stored.members),
            )
            for row in results
            if (row.signature, row.level) == (str(table.signature), "sentence")
        }
        signature = table.signature
        yield Audit(signature.label, str(signature), stored, humans)


def accuracy_with_invalid(
    study: MetaEvaluation,
    table: ScoreTable,
    result: AgreementRow,
    members: Sequence[Mapping[str, JsonValue]],
) -> float:
    """Return the accuracy at sentence level if pairs without a valid reply count as wrong.

    Such a pair lacks a score, and a reply about its sentence stayed invalid. Pairs that the judge
    was never asked about stay left out.

    Args:
        study: the benchmark and the settings.
        table: the judge's scores.
        result: its agreement with one view at sentence level.
        members: the audits of its models, with the lines of `missing` replies.

    Returns:
        0 to 1, at most the accuracy over valid replies; NaN without pairs.
    """
    view, ties = cast(View, result.human), study.settings.ties
    entries = [entry for member in members for entry in member.get("missing", ())]
    rows = sorted({entry["line"] - 1 for entry in entries})
    invalid = 0
    for pairs in study.parts(view) if rows else ():
        first, second = study.sides(view, table, pairs)
        # As for the accuracy, pairs that people tied count only under `calibrated`.
        counting = (pairs.preference != 0) | (ties == "calibrated")
        lacking = counting & (np.isnan(first) | np.isnan(second))
        invalid += int(np.count_nonzero(lacking & np.isin(pairs.sentence, rows)))
    counted = result.pairs - (result.tied if ties == "drop" else 0)
    if not counted + invalid:
        return float("nan")
    return (result.accuracy * counted if counted else 0.0) / (counted + invalid)
