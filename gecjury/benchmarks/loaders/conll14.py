"""The benchmarks on the CoNLL-2014 test set, SEEDA and GJG15, and their reference sets."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest, PublishedScores
from gecjury.benchmarks.data_folder import DataFolder
from gecjury.benchmarks.edit_verdicts import ReadVerdicts, read_edit_verdicts
from gecjury.benchmarks.judgments import RankedItem, read_rankings, renumbered
from gecjury.benchmarks.table import View
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.m2 import M2Sentence, read_m2

_OFFICIAL = "conll14/official-2014.combined.m2"
_TEN = tuple(f"conll14/10gec_annotations/A{number}.m2" for number in range(1, 11))
_ANNOTATIONS = "reassess-gec/annotations"
# The A versions of the experts are SEEDA's systems REF-M and REF-F, hence never references.
_TEXTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "e-minimal": (f"{_ANNOTATIONS}/expert_annotations/expert_minimal/expert_minimalB",),
        "ne-minimal": tuple(
            f"{_ANNOTATIONS}/turker_annotations/turkers_minimal/turker_minimal{x}" for x in "AB"
        ),
        "e-fluency": (f"{_ANNOTATIONS}/expert_annotations/expert_fluency/expert_fluencyB",),
        "ne-fluency": tuple(
            f"{_ANNOTATIONS}/turker_annotations/turkers_fluency/turker_fluency{x}" for x in "AB"
        ),
    }
)

# Grundkiewicz et al. (2015), table 3b (Expected Wins) and 3c (TrueSkill).
_GJG15_HUMAN: Mapping[str, tuple[float, float]] = MappingProxyType(
    {
        "AMU": (0.628, 0.273),
        "RAC": (0.566, 0.114),
        "CAMB": (0.561, 0.182),
        "CUUI": (0.550, 0.105),
        "POST": (0.539, 0.080),
        "UFC": (0.513, -0.041),
        "PKU": (0.506, -0.001),
        "UMC": (0.495, -0.022),
        "IITB": (0.485, -0.055),
        "SJTU": (0.463, -0.074),
        "INPUT": (0.456, -0.062),
        "NTHU": (0.437, -0.142),
        "IPN": (0.300, -0.358),
    }
)

_SEEDA_FILES: Mapping[View, str] = MappingProxyType({"edit": "edit", "sentence": "sent"})
_COLUMNS = {"trueskill": "TS", "expected-wins": "EW"}
_JUDGMENTS = {view: f"SEEDA/data/judgments_{part}.xml" for view, part in _SEEDA_FILES.items()}
_HUMAN_SCORES = {
    view: {kind: f"SEEDA/scores/human/{short}_{part}.txt" for kind, short in _COLUMNS.items()}
    for view, part in _SEEDA_FILES.items()
}
_SUBSET = "SEEDA/outputs/subset/INPUT.txt"
_PUBLISHED = ("official-as-published", "official-um-deleted", "10refs-um-deleted")
_PUBLISHED_NOTE = (
    "official-as-published: where annotator 1 has no line although both annotators agree (88 of "
    "1,312 lines), the second reference is the source; words marked as unclear (Um) are deleted; "
    "both as in published tables"
)
_CONTEXT_NOTE = (
    "contexts are the neighbouring lines of the whole test set, as the annotators saw them; "
    "they cross the borders of essays, which the files do not mark"
)


def load_seeda(request: LoadRequest) -> Benchmark:
    """Load SEEDA (Kobayashi et al. 2024) for `gecjury.benchmarks.load.load_benchmark`."""
    info, folder = request.info, request.folder
    every = info.system_sets["all"]
    # The corrections of every system are read, since the annotators saw all of them.
    outputs = {name: f"SEEDA/outputs/all/{name}.txt" for name in every}
    # The benchmark contains both views, whichever of them the corpus follows.
    files = [*outputs.values(), *_JUDGMENTS.values(), _SUBSET, *_reference_files(request)]
    files += [file for of_view in _HUMAN_SCORES.values() for file in of_view.values()]
    paths = folder.paths(files, wanted_by="seeda")
    full = read_lines(paths[outputs["INPUT"]])
    # SEEDA does not number its sentences: the lines of the subset are found by their text.
    wanted = set(read_lines(paths[_SUBSET]))
    rows = [i for i, line in enumerate(full) if request.whole or line in wanted]
    row_of = {line: row for row, line in enumerate(rows)}
    rankings: dict[View, tuple[RankedItem, ...]] = {}
    for view, name in _JUDGMENTS.items():
        items = read_rankings(paths[name], first_line=1, lines=len(full), systems=every)
        rankings[view] = renumbered(items, row_of)
    # One score a line, in alphabetical order of the systems.
    human: dict[View, PublishedScores] = {
        view: {
            kind: dict(zip(every, map(float, read_lines(paths[file])), strict=True))
            for kind, file in files_of.items()
        }
        for view, files_of in _HUMAN_SCORES.items()
    }
    blocks = read_m2(paths[_OFFICIAL])
    versions = {name: Version(tuple(read_lines(paths[outputs[name]]))) for name in every}
    corpus = _corpus(request, blocks, rows, versions, rankings[request.view])
    return request.benchmark(
        corpus,
        rows=rows,
        rankings=rankings,
        human=human,
        notes=_notes(request),
        directed_kappa=True,
        _verdicts=functools.partial(_read_verdicts, folder),
    )


def load_gjg15(request: LoadRequest) -> Benchmark:
    """Load GJG15 (Grundkiewicz et al. 2015) for `gecjury.benchmarks.load.load_benchmark`."""
    info, folder = request.info, request.folder
    names = info.system_sets[request.systems]
    outputs = {name: f"GJG15/data/original/official_submissions/{name}" for name in names}
    judgments = "GJG15/data/judgments.xml"
    paths = folder.paths(
        [*outputs.values(), judgments, *_reference_files(request)], wanted_by="gjg15"
    )
    blocks = read_m2(paths[_OFFICIAL])
    rankings: dict[View, tuple[RankedItem, ...]] = {
        "sentence": read_rankings(
            paths[judgments], first_line=0, lines=len(blocks), systems=info.system_sets["all"]
        )
    }
    # Some files end every line in spaces or in \r\n.
    versions = {
        name: Version(tuple(line.rstrip() for line in read_lines(paths[path])))
        for name, path in outputs.items()
    }
    corpus = _corpus(request, blocks, range(len(blocks)), versions, rankings["sentence"])
    human: PublishedScores = {
        kind: {name: scores[column] for name, scores in _GJG15_HUMAN.items()}
        for kind, column in (("trueskill", 1), ("expected-wins", 0))
    }
    return request.benchmark(
        corpus,
        rankings=rankings,
        human={"sentence": human},
        notes=_notes(request),
        directed_kappa=True,
    )


def _corpus(
    request: LoadRequest,
    blocks: Sequence[M2Sentence],
    rows: Sequence[int],
    versions: Mapping[str, Version],
    items: Sequence[RankedItem],
) -> Corpus:
    """Return the corpus of some lines of the test set; `versions` may contain other systems."""
    full = [block.source for block in blocks]
    # An empty line at each end gives every line two neighbours.
    framed = ["", *full, ""]

    def read_set(name: str) -> list[Version]:
        return [v.take(rows) for v in _reference_set(request.folder, name, blocks)]

    return request.corpus(
        [full[row] for row in rows],
        {name: version.take(rows) for name, version in versions.items()},
        read_set,
        rows=rows,
        lines=len(full),
        ranked=items,
        gold=tuple(blocks[row] for row in rows),
        contexts=tuple((framed[row], framed[row + 2]) for row in rows),
        reference_sets={
            name: functools.partial(read_set, name) for name in request.info.reference_sets
        },
    )


def _reference_files(request: LoadRequest) -> list[str]:
    """Return the pinned files of the gold edits and of the requested reference sets."""
    files = [_OFFICIAL]
    for name in map(str, request.references):
        files += _TEN if name.startswith("10refs") else _TEXTS.get(name, ())
    return files


def _reference_set(folder: DataFolder, name: str, blocks: Sequence[M2Sentence]) -> list[Version]:
    """Return a named set over all 1,312 lines.

    The edits of M2 references have NUCLE's types and segmentation, which must not be compared with
    ERRANT's. So only the text is returned, and the edits are in the corpus' `gold`.

    The references of published tables lack the words that annotators marked as unclear (`Um`): 54
    edits of the official file, 167 of the ten. Sets for reproducing those tables lack them, too.
    """
    detected = name in _PUBLISHED
    if name in _TEXTS:
        return [Version(tuple(read_lines(folder.path(path)))) for path in _TEXTS[name]]
    if name.startswith("10refs"):
        # 38 edits of these files overlap others: read_m2 applies them one after another.
        return [
            _annotator(read_m2(folder.path(path), overlaps="keep"), lambda block: 0, detected)
            for path in _TEN
        ]
    agreed = name != "official-as-published"
    return [
        _annotator(blocks, lambda block: 0, detected),
        _annotator(blocks, lambda block: _second(block, agreed), detected),
    ]


def _annotator(
    blocks: Sequence[M2Sentence], chosen: Callable[[M2Sentence], int], detected: bool
) -> Version:
    return Version(tuple(block.text(chosen(block), detected=detected) for block in blocks))


def _second(block: M2Sentence, agreed: bool) -> int:
    """Return the annotator whose edits make the second official reference of a sentence.

    An annotation that both annotators share is stored under annotator 0 alone. A sentence that
    annotator 1 alone left unchanged has a noop of theirs. Without a line of annotator 1 the two
    therefore agree; published tables treat such a sentence as left unchanged.
    """
    return 0 if agreed and 1 not in block.annotators else 1


def _read_verdicts(folder: DataFolder) -> ReadVerdicts:
    step = "SEEDA/data/EditEval_Step1"
    folder.paths([name for name in folder.files if name.startswith(step)], wanted_by="seeda")
    return read_edit_verdicts(folder.root / step)


def _notes(request: LoadRequest) -> tuple[str, ...]:
    if "official-as-published" in request.references:
        return _PUBLISHED_NOTE, _CONTEXT_NOTE
    return (_CONTEXT_NOTE,)
