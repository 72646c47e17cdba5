"""A folder laid out like the real data, with a few sentences of the packaged sample."""

from __future__ import annotations

import difflib
import importlib.resources
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

from gecjury.benchmarks.manifest import DataFile
from gecjury.benchmarks.table import benchmark_info
from gecjury.corpus.edits import Edit
from gecjury.corpus.m2 import M2Sentence, format_m2, m2_annotations
from tests.made_up import data_folder

_SENTENCES = 40
_SAMPLE = importlib.resources.files("gecjury.benchmarks") / "sample"
_HUMAN = {
    f"SEEDA/scores/human/{kind}_{view}.txt" for kind in ("TS", "EW") for view in ("edit", "sent")
}


def write_tiny_data(root: Path) -> Mapping[str, DataFile]:
    """Write SEEDA, GJG15 and CoNLL-2014 in little, and return the table of their checksums."""
    sources = _lines("source.txt")
    sample = [
        _lines(f"outputs/{name}.txt")
        for name in ("careful", "cautious", "fluent", "hasty", "noisy", "spelling")
    ]
    references = [_lines(f"reference{number}.txt") for number in (0, 1)]
    files = {"conll14/official-2014.combined.m2": _m2(sources, references)}
    for benchmark, places, first in (
        ("seeda", ("SEEDA/outputs/all/{}.txt", "SEEDA/outputs/subset/{}.txt"), 1),
        ("gjg15", ("GJG15/data/original/official_submissions/{}",), 0),
    ):
        systems = benchmark_info(benchmark).system_sets["all"]
        for number, name in enumerate(systems):
            # Systems share the sample's outputs, but no two are equal.
            lines = sources if name == "INPUT" else [
                sample[(number + row * (number // len(sample))) % len(sample)][row]
                for row in range(_SENTENCES)
            ]  # fmt: skip
            files |= {place.format(name): "\n".join(lines) + "\n" for place in places}
        judged = _rankings(systems, first)
        if benchmark == "seeda":
            files |= {f"SEEDA/data/judgments_{view}.xml": judged for view in ("edit", "sent")}
            scores = "\n".join(f"0.{(7 * n) % 10}{n}" for n, _ in enumerate(systems))
            files |= dict.fromkeys(_HUMAN, scores)
        else:
            files["GJG15/data/judgments.xml"] = judged
    return data_folder(root, files).files


def _lines(name: str) -> list[str]:
    return (_SAMPLE / name).read_text(encoding="utf-8").splitlines()[:_SENTENCES]


def _m2(sources: Sequence[str], references: Sequence[Sequence[str]]) -> str:
    blocks = []
    for row, source in enumerate(sources):
        lines = [
            line
            for annotator, reference in enumerate(references)
            for line in m2_annotations(_edits(source, reference[row]), annotator)
        ]
        blocks.append(M2Sentence(source, tuple(lines)))
    return format_m2(blocks)


def _edits(source: str, target: str) -> list[Edit]:
    one, two = source.split(), target.split()
    return [
        Edit(start, end, " ".join(two[a:b]), "R:OTHER")
        for kind, start, end, a, b in difflib.SequenceMatcher(None, one, two).get_opcodes()
        if kind != "equal"
    ]


def _rankings(systems: Sequence[str], first: int) -> str:
    """Return two annotators' rankings of five systems at a time on every sentence."""
    items = []
    for row in range(_SENTENCES):
        for annotator, start in itertools.product((1, 2), range(0, len(systems), 5)):
            five = [systems[(start + row + step) % len(systems)] for step in range(5)]
            told = "".join(
                f'<translation system="{name}" rank="{1 + (rank + row) % 4}" />'
                for rank, name in enumerate(five)
            )
            of = f'src-id="{row + first}" id="{len(items)}" user="annotator{annotator}"'
            items.append(f"<ranking-item {of}>{told}</ranking-item>")
    body = "\n".join(items)
    return (
        "<appraise-results><error-correction-ranking-result>\n"
        f"{body}\n</error-correction-ranking-result></appraise-results>\n"
    )
