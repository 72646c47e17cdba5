"""RevisitCGEC: six Chinese systems on 200 learner sentences, all ranked by five annotators.

Half of the sentences are from MuCGEC, half from YACLC. RevisitCGEC contains the systems'
corrections, the rankings and the ids of the sentences. Sources and references are looked up by id
in the development sets of MuCGEC (Zhang et al. 2022) and of track 3 of CCL2022-CLTC (YACLC).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.human_scores import columns_by_draws
from gecjury.benchmarks.judgments import read_rankings, renumbered
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Version
from gecjury.corpus.references import meant_reference
from gecjury.corpus.tokens import in_language

_FOLDER = "RevisitCGEC"
_JUDGMENTS = f"{_FOLDER}/judgments.xml"
_YACLC = "CCL2022-CLTC/datasets/track3/dev/yaclc-{}_dev.para"
# The file of each part of the benchmark, by reference set. The outputs of both parts are joined.
_TEXTS: Mapping[str, Mapping[str, str]] = {
    name: {"mucgec": "MuCGEC/data/MuCGEC/MuCGEC_dev.txt", "yaclc": _YACLC.format(kind)}
    for name, kind in (("official", "minimal"), ("fluency", "fluency"))
}
_IDS = {part: f"{_FOLDER}/sentence ids/{part}_ids.txt" for part in ("mucgec", "yaclc")}


def load_cgec_zh(request: LoadRequest) -> Benchmark:
    """Load the benchmark for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    every = info.system_sets["all"]
    outputs = {
        name: [f"{_FOLDER}/system corrections/{name}.{part}.txt" for part in _IDS] for name in every
    }
    files = [*_IDS.values(), *(file for pair in outputs.values() for file in pair), _JUDGMENTS]
    texts = {file for of_part in _TEXTS.values() for file in of_part.values()}
    paths = request.folder.paths([*files, *sorted(texts)], wanted_by=info.name)
    full = _sentences(paths, "official")
    items = read_rankings(
        paths[_JUDGMENTS],
        first_line=0,
        systems=every,
        rows={(part, line): row for row, (part, line, _) in enumerate(full)},
    )
    # A sentence without a reference would be scored against a text that nobody wrote.
    rows = [row for row, (_, _, cells) in enumerate(full) if _references(cells)]
    row_of = {line: row for row, line in enumerate(rows)}
    kept = renumbered(items, row_of)

    def read_set(name: str) -> list[Version]:
        of_set = _sentences(paths, name)
        return _in_turn([_references(of_set[row][2]) for row in rows])

    versions = {
        name: Version(tuple(line for file in pair for line in read_lines(paths[file]))).take(rows)
        for name, pair in outputs.items()
    }
    corpus = request.corpus(
        [full[row][2][0] for row in rows],
        versions,
        read_set,
        rows=rows,
        lines=len(full),
        ranked=kept,
        reference_sets={name: partial(read_set, name) for name in info.reference_sets},
    )
    return request.benchmark(
        in_language(corpus, request.language),
        rows=rows,
        rankings={"sentence": kept},
        human={"sentence": columns_by_draws(items, every)},
        notes=(
            f"{len(rows)} of {len(full)} sentences are scored, with {len(kept)} of {len(items)} "
            "rankings: MuCGEC has no reference for the others; human scores of systems come from "
            "all rankings",
            "sentences have different numbers of references; where there are fewer than "
            f"{len(corpus.references)}, they are repeated in turn",
        ),
    )


def _sentences(paths: Mapping[str, Path], name: str) -> list[tuple[str, int, list[str]]]:
    """Return part, line and cells of each sentence, with the references of a set."""
    return [
        (part, line, cells)
        for part, file in _TEXTS[name].items()
        for line, cells in _by_id(paths[file], paths[_IDS[part]])
    ]


def _by_id(path: Path, ids: Path) -> list[tuple[int, list[str]]]:
    """Return the line (from 0) and the cells, source first, of the sentences that a file lists.

    Args:
        path: file with id, source and references, separated by tabs, one sentence a line.
        ids: file with one id a line.
    """
    sentences: dict[str, tuple[int, list[str]]] = {}
    for line, text in enumerate(read_lines(path)):
        number, *cells = text.split("\t")
        sentences[number] = line, cells
    return [sentences[number] for number in read_lines(ids)]


def _references(cells: Sequence[str]) -> list[str]:
    """Return the references among the cells of a sentence; none where annotators gave none."""
    source, *references = cells
    meant = [meant_reference(text, source) for text in references]
    return [text for text in meant if text is not None]


def _in_turn(references: Sequence[Sequence[str]]) -> list[Version]:
    """Return a version for each reference of the sentence with most; others repeat theirs in turn.

    Repeats do not change metrics that use the best reference. For GLEU, which draws references,
    they keep the frequencies nearly equal.
    """
    most = max(map(len, references))
    return [Version(tuple(of[n % len(of)] for of in references)) for n in range(most)]
