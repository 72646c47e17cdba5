"""Mean norms of UOT-ERRANT's edit vectors by error type, for any corpus (`gecjury analyse norms`).

They repeat table 3 of Goto et al. 2026, the paper of UOT-ERRANT.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from gecjury.core.errors import InputError, OptionError, nearest
from gecjury.core.settings import option
from gecjury.report.result import Column, Result, Table
from gecjury.stats.figure import figures_by, records
from gecjury.studies.inputs import FilesOrBenchmark, Inputs, Need
from gecjury.studies.study import Study, Work

if TYPE_CHECKING:
    from gecjury.core.arrays import FloatArray
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.edits import Edit


@runtime_checkable
class GivesVectors(Protocol):
    """A metric that gives the vectors of edits, such as UOT-ERRANT."""

    def vectors_of(
        self, corpus: Corpus, runtime: Runtime
    ) -> tuple[list[tuple[str, int, Edit]], FloatArray]:
        """Return the edits of all systems (system, line, edit) and their vectors, edits × d."""


@dataclass(frozen=True, kw_only=True)
class Norms(Study):
    """Mean norm of edit vectors by error type.

    Attributes:
        only: analyse only these systems.
        min_count: leave out error types with fewer than N edits.
    """

    inputs: ClassVar[Inputs] = FilesOrBenchmark(
        "a benchmark's name, or SOURCE and HYP...", "CORPUS"
    )
    needs: ClassVar[tuple[Need, ...]] = ("texts", "models")
    metrics: ClassVar[str | None] = "default: uot-errant"
    only: tuple[str, ...] = option((), metavar="SYSTEM")
    min_count: int = option(50, metavar="N")

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return the metric of edit vectors."""
        return ("uot-errant",), ""

    def check(self, work: Work) -> None:
        """Refuse unknown systems and metrics without edit vectors; references are not needed."""
        for name in self.only:
            if name not in work.corpus.systems:
                hint = nearest(name, work.corpus.systems)
                raise OptionError(f"`only={name}`: no such system; {hint}")
        if not isinstance(work.scorer, GivesVectors):
            raise OptionError(
                "analyse norms needs edit vectors: expected -m uot-errant[:options], not "
                f"{work.scorer.name}"
            )

    def run(self, work: Work) -> Result:
        """Measure the edit vectors, the smallest mean first."""
        assert isinstance(work.scorer, GivesVectors)  # checked
        corpus = work.corpus.with_systems(self.only) if self.only else work.corpus
        edits, vectors = work.scorer.vectors_of(corpus, work.runtime)
        norms = type_norms([short_type(edit.type) for _, _, edit in edits], vectors, self.min_count)
        figures = figures_by("part", norms, level="norms")
        rows = records(figures, names={"part": "type"})
        columns = [Column("type"), Column("edits"), Column("mean"), Column("stdev")]
        note = f"{len(edits)} edits of {len(corpus.systems)} systems; types with "
        note += f"{self.min_count} or more"
        return Result(
            (Table(columns, rows, "Norms of edit vectors", [note], "rows"),),
            {"analysis": "norms", "corpus": list(work.inputs), "edits": len(edits)},
            numbers=tuple(figures),
        )


def type_norms(
    types: Sequence[str], vectors: FloatArray, least: int
) -> dict[str, dict[str, float]]:
    """Return the norms of edits by error type, the smallest mean first.

    Of each type: the number of its `edits`, `mean` and standard deviation, `stdev`.

    Args:
        types: types of the edits.
        vectors: edits × d.
        least: types that occur less often are left out.

    Raises:
        InputError: no type occurs that often.
    """
    import numpy as np

    counts = Counter(types)
    common = sorted(kind for kind, count in counts.items() if count >= least)
    if not common:
        raise InputError(
            f"no error type occurs {least} times among {len(types)} edits; lower `min_count=`"
        )
    lengths = np.linalg.norm(vectors, axis=1)
    of_types = {kind: lengths[np.array(types) == kind] for kind in common}
    return {
        kind: {"edits": len(own), "mean": float(own.mean()), "stdev": float(own.std())}
        for kind, own in sorted(of_types.items(), key=lambda item: item[1].mean())
    }


def short_type(kind: str) -> str:
    """Return an ERRANT type without its operation: `VERB:TENSE` for `R:VERB:TENSE`."""
    return kind[2:] if kind[:2] in ("M:", "R:", "U:") else kind
