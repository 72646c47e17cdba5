"""JFLEG (Napoles et al. 2017): four systems, the source and one reference, ranked by two people.

The release has the rankings but not the systems' outputs, so that only source (`orig`) and
reference (`turk`) can be scored from it. The set `all` needs the outputs in
`jfleg/EACL_exp/outputs`. The release does not say which of the four references was shown; the first
one is used.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest, ranked_groups
from gecjury.benchmarks.human_scores import columns_by_draws
from gecjury.benchmarks.judgments import RankedItem, renumbered
from gecjury.core.errors import DataError
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Version
from gecjury.corpus.files.rows import read_table

_PAIRS = "jfleg/EACL_exp/mturk/pairwise.csv"
_SENTENCES = "gug-data/gug_annotations.tsv"
_SOURCE = "jfleg/dev/dev.src"
_REFERENCES = tuple(f"jfleg/dev/dev.ref{number}" for number in range(4))
_OUTPUTS = "jfleg/EACL_exp/outputs"
_PUBLIC = ("orig", "turk")
_EXTRA = "NUS"  # Compared with one other system at a time, in addition to the ranking of the five.
# Every set contains turk.
_NOTES = (
    "human scores are recomputed from all 1,629 pairs (TrueSkill: mean of 100 runs, seed 0)",
    "turk is the human correction; it is not known which of the four references was shown: the "
    "first is used for it, the other three are the references",
)


def load_jfleg(request: LoadRequest) -> Benchmark:
    """Load the judged sentences of JFLEG dev for `gecjury.benchmarks.load.load_benchmark`."""
    info, folder = request.info, request.folder
    paths = folder.paths([_PAIRS, _SENTENCES, _SOURCE, *_REFERENCES], wanted_by="jfleg")
    # The sentences of dev are GUG's test sentences, whose ids the pairs name.
    gug = read_table(paths[_SENTENCES], texts=True).rows
    test = [row["Id"] for row in gug if row["Dataset"] == "test"]
    line_of = {number: line for line, number in enumerate(test)}
    source = [line.rstrip() for line in read_lines(paths[_SOURCE])]
    items = _read_items(paths[_PAIRS], line_of)
    # Only judged sentences are loaded, so that every score is of a text that people saw.
    rows = sorted({item.sentence for item in items})
    row_of = {line: row for row, line in enumerate(rows)}
    items = renumbered(items, row_of)
    names, every = info.system_sets[request.systems], info.system_sets["all"]
    texts = {
        "orig": Version(tuple(source)),
        "turk": _version(paths[_REFERENCES[0]]),
        **{name: _supplied(request, name, len(source)) for name in names if name not in _PUBLIC},
    }
    taken = {name: version.take(rows) for name, version in texts.items()}
    shown = {name: version.lines for name, version in taken.items()}
    corpus = request.corpus(
        [source[row] for row in rows],
        taken,
        lambda _: [_version(paths[name]).take(rows) for name in _REFERENCES[1:]],
        rows=rows,
        lines=len(source),
        # A group shows what annotators saw only if the outputs of all systems are there.
        groups=ranked_groups(items, names, shown if len(shown) == len(every) else None),
        reference_name=request.official_called("official-3"),
    )
    return request.benchmark(
        corpus,
        rows=rows,
        rankings={"sentence": items},
        human={"sentence": columns_by_draws(items, every)},
        notes=_NOTES,
    )


def _version(path: Path) -> Version:
    """Read a version without spaces at line ends."""
    return Version(tuple(line.rstrip() for line in read_lines(path)))


def _supplied(request: LoadRequest, name: str, lines: int) -> Version:
    """Read a system's output, which is not among the pinned files."""
    place = request.folder.root / _OUTPUTS
    path = next((p for p in (place / name, place / f"{name}.txt") if p.is_file()), None)
    if path is None:
        wanted = [n for n in request.info.system_sets["all"] if n not in _PUBLIC]
        raise DataError(
            f"jfleg: the output of {name} is not published with JFLEG; put the outputs "
            f"{', '.join(f'{n}.txt' for n in wanted)} ({lines} lines each, those of {_SOURCE}) "
            f"into {place}/, or compare the set `base`, which needs none of them"
        )
    version = _version(path)
    if len(version.lines) != lines:
        raise DataError(f"{path} has {len(version.lines)} lines, but {_SOURCE} has {lines}")
    return version


def _read_items(path: Path, line_of: Mapping[str, int]) -> tuple[RankedItem, ...]:
    """Return the rankings of five systems that the pairs come from, and the pairs with NUS."""
    rankings: dict[tuple[str, str], dict[str, int]] = {}
    alone: list[tuple[tuple[str, str], dict[str, int]]] = []
    for row in read_table(path, texts=True).rows:
        key = row["judgeId"], row["srcIndex"]
        ranks = {row[f"system{n}Id"]: int(row[f"system{n}rank"]) for n in (1, 2)}
        # Pairs of the five come from one ranking per annotator and sentence, restored here.
        if _EXTRA in ranks:
            alone.append((key, ranks))
        else:
            rankings.setdefault(key, {}).update(ranks)
    return tuple(
        RankedItem(
            f"{number}.{_EXTRA}" if _EXTRA in ranks else number,
            line_of[number],
            judge,
            tuple((name,) for name in ranks),
            tuple(ranks.values()),
        )
        for (judge, number), ranks in [*rankings.items(), *alone]
    )
