"""Metrics of other packages, put on the path like an installed distribution."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

MODULE = '''\
"""Which words of the references a hypothesis has."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gecjury.scoring import EditCounts, Explanation, MeanScorer, Statistics


@dataclass(frozen=True)
class Copies(MeanScorer):
    """Share of a reference's words that the hypothesis has, 0 to 1, higher is better.

    Attributes:
        factor: what shares are multiplied with.
    """

    name: ClassVar[str] = "copies"
    family: ClassVar[str] = "refbased"
    summary: ClassVar[str] = "share of the references' words"
    paper: ClassVar[str] = "Doe et al. 2027"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})
    packages: ClassVar[tuple[str, ...]] = ("gec-copies",)

    factor: float = 1.0

    def share(self, text, reference):
        wanted = set(reference.split())
        return self.factor * len(wanted & set(text.split())) / max(len(wanted), 1)

    def statistics(self, corpus, runtime):
        return Statistics(np.array([
            [max(self.share(line, r.lines[row]) for r in corpus.references)
             for row, line in enumerate(version.lines)]
            for version in corpus.systems.values()
        ]))

    def credit(self, cases, corpus, runtime):
        found = np.array([
            [float(set(case.edit.tokens) <= set(r.lines[case.row].split()))
             for r in corpus.references]
            for case in cases
        ])
        return EditCounts(found.max(axis=1), ("words, wherever they stand",))

    def explain(self, source, hypothesis, reference, runtime):
        wanted = {word for edit in reference for word in edit.tokens}
        rows = [{"edit": e.correction, "copied": set(e.tokens) <= wanted} for e in hypothesis]
        return Explanation({"score": self.factor}, ("edit", "copied"), rows)
'''


def lay(
    folder: Path, entries: Mapping[str, str], *, name: str = "gec-copies", version: str = "2.1"
) -> Path:
    """Create a folder that looks like an installed distribution with these metrics.

    Args:
        folder: the folder to put on the path.
        entries: metric → `module:Class`.
        name: name of the distribution.
        version: version of the distribution.
    """
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [f"{metric} = {target}\n" for metric, target in entries.items()]
    (info / "entry_points.txt").write_text("[gecjury.metrics]\n" + "".join(lines))
    return folder
