"""Credit of judged edits: from a metric's own counts if it has some, otherwise by attribution.

A metric that counts edits has a method `credit`. It returns the credit that a judged edit gets from
each reference, and from the metric's own use of all references. Credits can be stored in files, so
that nothing is scored twice.
"""

from __future__ import annotations

import base64
import hashlib
import json
import time
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.records import read_record
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import MOST_BYTES, file_name, write_text
from gecjury.corpus.corpus import Corpus, fingerprint
from gecjury.metaeval.edits.variants import METHODS, attribute_edits, plan_attribution
from gecjury.scoring.by_edit import EditCase, EditJudge
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Plan

COUNTED = ("counts", "any", "share")
CREDIT_KINDS = (*COUNTED, *METHODS)
CREDIT_FORMAT = "gecjury-edit-credits/1"
# Increased when credits change although no metric did.
_VERSION = 2


@dataclass(frozen=True)
class Credited:
    """Credits of judged edits.

    Attributes:
        values: shape (N,), higher for better edits, NaN where there is none.
        notes: remarks for the user.
        seconds: time taken; 0 if the credits were read from a file.
    """

    values: FloatArray
    notes: tuple[str, ...] = ()
    seconds: float = 0.0


def credit_kind(scorer: Scorer, wanted: str = "counts") -> str:
    """Return how a scorer's credits are computed.

    Args:
        scorer: the metric.
        wanted: one of `CREDIT_KINDS`. A metric without counts uses `leave-one-out` instead of
            them; a scorer that judges edits always uses its verdicts.
    """
    if isinstance(scorer, EditJudge):
        return "verdicts"
    return "leave-one-out" if wanted in COUNTED and not scorer.can("credit") else wanted


def credit_edits(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    runtime: Runtime,
    kind: str,
    folder: str | Path | None = None,
    seed: int = 0,
) -> Credited:
    """Credit every judged edit, or read a file with the credits of the same metric and data.

    Incomplete credits are not stored, so that failed requests are tried again.

    Args:
        scorer: any metric.
        cases: N judged edits.
        corpus: the benchmark's corpus, with references, gold edits and contexts.
        runtime: device, workers and the like.
        kind: the result of `credit_kind`.
        folder: folder of the files of credits; None to neither read nor write one.
        seed: the seed of the orders drawn for long corrections' Shapley values.

    Raises:
        InputError: the corpus lacks what the metric needs, or a file is damaged or contains other
            credits.
        OptionError: the scorer cannot be credited in this way.
        OutputError: a file cannot be written.
    """
    # `any` and `share` are computed from the columns that `counts` stores.
    stored = "counts" if kind in COUNTED else kind
    key = "" if folder is None else _key(scorer, cases, corpus, runtime, stored, seed)
    path = Path(folder or "") / file_name("edits", scorer.name, stored, key, ending=".json")
    if folder is not None and path.exists():
        columns, notes = _read(path, key, len(cases))
        return Credited(_combined(columns, kind), notes)
    start = time.perf_counter()
    columns, notes = _columns(scorer, cases, corpus, runtime, stored, seed)
    if folder is not None and not np.isnan(columns[:, 0]).any():
        data = zlib.compress(np.ascontiguousarray(columns).astype("<f8").tobytes(), 6)
        signature = scorer.signature(corpus, runtime).to_json()
        values = base64.b64encode(data).decode()
        record = asdict(_Stored(CREDIT_FORMAT, key, signature, stored, notes, values))
        write_text(path, json.dumps(record, allow_nan=False) + "\n")
    return Credited(_combined(columns, kind), notes, time.perf_counter() - start)


def _columns(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    runtime: Runtime,
    kind: str,
    seed: int,
) -> tuple[FloatArray, tuple[str, ...]]:
    """Return credits, N × 1, or N × (1 + R) if a metric counts: its own, then by reference."""
    if isinstance(scorer, EditJudge):
        values, report = scorer.edit_scores(cases, runtime)
        return values[:, None], report.notes
    if kind not in COUNTED:
        values, notes = attribute_edits(scorer, cases, corpus, runtime, METHODS[kind], seed=seed)
        return values[:, None], notes
    scorer.check(corpus)
    # For a source outside the corpus there are no references that could give credit.
    in_corpus = [number for number, case in enumerate(cases) if case.row >= 0]
    credited = scorer.credit([cases[number] for number in in_corpus], corpus, runtime)
    shapes = np.shape(credited.own), np.shape(credited.by_reference)[:1]
    if shapes != ((len(in_corpus),),) * 2 or np.ndim(credited.by_reference) != 2:
        raise OptionError(
            f"{scorer.name} credits {len(in_corpus)} edits in shapes {np.shape(credited.own)} and "
            f"{np.shape(credited.by_reference)}; expected one number per edit, and one per edit "
            "and reference"
        )
    columns = np.full((len(cases), 1 + credited.by_reference.shape[1]), np.nan)
    columns[in_corpus] = np.column_stack([credited.own, credited.by_reference])
    return columns, credited.notes


def _combined(columns: FloatArray, kind: str) -> FloatArray:
    """Return one credit per edit from the columns of `_columns`."""
    if kind not in ("any", "share"):
        return columns[:, 0]
    by_reference = columns[:, 1:]
    absent = np.isnan(by_reference)
    # A missing credit must not be the largest or add to the sum.
    held = np.where(absent, -np.inf if kind == "any" else 0.0, by_reference)
    count = np.maximum((~absent).sum(axis=1), 1)
    combined = held.max(axis=1) if kind == "any" else held.sum(axis=1) / count
    result: FloatArray = np.where(absent.all(axis=1), np.nan, combined)
    return result


def plan_credit(
    scorer: Scorer, cases: Sequence[EditCase], corpus: Corpus, runtime: Runtime, kind: str
) -> Plan | None:
    """Return the requests that `credit_edits` would send to a paid service; None if none."""
    if isinstance(scorer, EditJudge):
        return scorer.plan_edits(cases, runtime)
    if kind in COUNTED:
        return None
    return plan_attribution(scorer, cases, corpus, runtime, METHODS[kind])


def _key(
    scorer: Scorer,
    cases: Sequence[EditCase],
    corpus: Corpus,
    runtime: Runtime,
    kind: str,
    seed: int,
) -> str:
    """Return a hash of everything that determines the credits."""
    # The credits depend on the judged edits and their corrections, but not on the verdicts.
    judged = fingerprint(repr((c.row, c.source, c.context, c.edit, c.edits)) for c in cases)
    parts = [scorer.signature(corpus, runtime).key, kind, judged, corpus.source_print]
    parts += [corpus.context_print, str(_VERSION), str(seed if kind == "shapley" else 0)]
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class _Stored:
    """Credits as stored in a file; `values` are packed columns, see `_columns`."""

    format: str
    key: str
    signature: Mapping[str, Any]
    credit: str
    notes: tuple[str, ...]
    values: str


def _read(path: Path, key: str, count: int) -> tuple[FloatArray, tuple[str, ...]]:
    """Return the columns and notes of a file."""
    what, advice = "a file of edit credits", "delete it to have it created again"
    stored = read_record(_Stored, path, what, advice)
    if (stored.format, stored.key) != (CREDIT_FORMAT, key):
        raise InputError(
            f"{path}: contains credits of other settings, references or edits (format "
            f"{stored.format!r:.60}, key {stored.key:.60}; expected {CREDIT_FORMAT!r}, {key}); "
            f"{advice}"
        )
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(stored.values), MOST_BYTES)
        values = np.frombuffer(data, dtype="<f8").astype(np.float64).reshape(count, -1)
    except (ValueError, zlib.error) as error:
        raise InputError(f"{path}: is not {what} of {count} edits ({error}): {advice}") from None
    if not values.size:
        raise InputError(f"{path}: is not {what} of {count} edits (it is empty): {advice}")
    return values, stored.notes
