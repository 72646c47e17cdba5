"""A user's own benchmark: a folder, or a TOML file that names its parts.

A folder contains `source.txt`, `outputs/` with one file a system, and `judgments.csv`, `.tsv` or
`.xml`; `references/` and `gold.m2` if metrics need them. `judgments_edit` and `judgments_sentence`
provide two views. `benchmark.toml` in it, or any other `.toml` file, may set other paths, a
citation, system sets, the number of the first sentence in the judgments, the treatment of unknown
systems, and verdicts on single edits, which do not require judgments of whole corrections.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest, PublishedScores
from gecjury.benchmarks.human_scores import columns_of_rankings
from gecjury.benchmarks.judgments import judged_entries, read_rankings
from gecjury.benchmarks.own.judgments import (
    OwnJudgments,
    left_out,
    read_judgments,
    read_own_verdicts,
)
from gecjury.benchmarks.table import BENCHMARKS, BenchmarkInfo, View, looks_like_path
from gecjury.core.errors import InputError, OptionError, nearest_of
from gecjury.core.records import from_record
from gecjury.core.textfiles import lies_in, near_folder, read_toml
from gecjury.core.wording import listed
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.files.reading import read_corpus, system_name
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.tokens import in_language
from gecjury.stats.counts import defined_mean

_TABLE = "benchmark.toml"
_MOST_FILES = 10_000
_LONGEST = 255  # bytes of a file's name
_VIEWS: tuple[View, ...] = ("edit", "sentence")
_STEMS: Mapping[str, View] = {
    "judgments": "sentence",
    "judgments_edit": "edit",
    "judgments_sentence": "sentence",
}
_KINDS = (".csv", ".tsv", ".json", ".jsonl", ".parquet", ".xlsx", ".xml")
_SHAPE = (
    "a folder with source.txt, outputs/ (one file a system) and judgments.csv, .tsv or .xml, or a "
    ".toml file that names them"
)


@dataclass(frozen=True)
class FolderDescription:
    """The contents of `benchmark.toml`.

    Attributes:
        name: name in results.
        citation: the paper to cite.
        source: file of the sentences to correct.
        outputs: one file a system, in the order in which systems are compared.
        references: reference files in order.
        gold: M2 file with gold edits.
        judgments: file of judgments, or such files by view.
        first_sentence: number of the first sentence in the judgments, 1 or 0.
        system_sets: names of systems by set.
        unknown_systems: treatment of judgments of systems without output.
        language: ISO code of the language of the texts.
        tokens: tokenisation of the texts.
        fold: folding of the texts.
        verdicts: file of verdicts on single edits; see `read_own_verdicts`.
    """

    name: str = ""
    citation: str = ""
    source: str = ""
    outputs: str | tuple[str, ...] = "outputs"
    references: str | tuple[str, ...] = "references"
    gold: str = ""
    judgments: str | Mapping[str, str] = field(default_factory=dict)
    first_sentence: Literal[1, 0] = 1
    system_sets: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unknown_systems: Literal["refuse", "skip"] = "refuse"
    language: str = "en"
    tokens: str = ""
    fold: str = ""
    verdicts: str = ""


def own_info(path: Path) -> BenchmarkInfo:
    """Return the systems, views and language of a user's own benchmark, without reading its texts.

    Raises:
        InputError: the folder or file is absent or incomplete.
    """
    own = OwnFolder(path)
    every = tuple(map(system_name, own.outputs))
    return BenchmarkInfo(
        own.name,
        own.table.citation or "judgments of your own",
        "gecjury.benchmarks.own.folder:load_own",
        {"base": every, **own.table.system_sets, "all": every},
        ("official",) if own.references or own.gold else (),
        tuple(own.judgments) or ("edit",),
        path,
        own.language.code,
        own.language.tokens,
        own.language.fold,
    )


def _judged(
    own: OwnFolder, whole: Corpus, names: Sequence[str], system_set: str
) -> tuple[dict[View, OwnJudgments], list[str]]:
    """Return the judgments of corrections by view, and notes; none if only edits are compared."""
    judged = {view: _read_judgments(file, whole, own) for view, file in own.judgments.items()}
    if own.verdicts is None or any(_compares(of_view, names) for of_view in judged.values()):
        # An error here is better than tables in which nothing is compared.
        for view, of_view in judged.items():
            check_overlap(of_view, names, own.judgments[view], system_set)
        return judged, [note for of_view in judged.values() for note in of_view.notes]
    files = ", ".join(f"judgments{kind}" for kind in _KINDS)
    return {}, [
        "only single edits are compared; the system and sentence levels need judgments of "
        f"whole corrections of two systems or more ({files})"
    ]


def load_own(request: LoadRequest) -> Benchmark:
    """Load an own benchmark for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    assert info.path is not None  # own_info set it
    own = OwnFolder(info.path)
    # All systems are read, even those outside the set, since annotators saw their corrections.
    whole = read_corpus(own.source, own.outputs, own.references, own.gold, lang=request.language)
    names = info.system_sets[request.systems]
    judged, notes = _judged(own, whole, names, request.systems)
    if outside := own.files_outside(own.root):
        notes.append(
            f"{info.path} names files outside its folder: {listed(outside)}; if somebody else "
            "wrote it, check that you want them used before you share results that contain them"
        )
    # Ratings cover all systems; the corpus has those of the chosen set, in its order.
    rows = [whole.names.index(name) for name in names]
    rated = next((judgments for judgments in judged.values() if judgments.raters), None)
    corpus = request.corpus(
        whole.sources,
        whole.systems,
        lambda _: whole.references,
        ranked=judged[request.view].items if judged else None,
        gold=whole.gold,
        source_text=whole.source_text,
        source_read=whole.source_read,
    )
    corpus = in_language(corpus, whole.language)
    return request.benchmark(
        corpus,
        rankings={view: judgments.items for view, judgments in judged.items()},
        human={view: human_of(judgments, whole.names) for view, judgments in judged.items()}
        or {view: {"mean": dict.fromkeys(whole.names, math.nan)} for view in info.views},
        notes=tuple(notes),
        warnings=tuple(dict.fromkeys(w for of in judged.values() for w in of.warnings)),
        **({} if rated is None else ratings_of(rated, rows)),
        _verdicts=None
        if own.verdicts is None
        else partial(
            read_own_verdicts,
            own.verdicts,
            whole,
            own.table.first_sentence,
            skip_unknown=own.table.unknown_systems == "skip",
        ),
    )


def outside_of(name: str, root: Path) -> list[str]:
    """Return the files that a benchmark reads outside a folder; its texts are not read.

    Args:
        name: a benchmark's name, which reads nothing there, or the path of a user's own.
        root: the folder.

    Raises:
        InputError: the benchmark is incomplete.
    """
    if name.lower() in BENCHMARKS or not looks_like_path(name):
        return []
    path = Path(name)
    # A table that is a link is not read either.
    if outside := [str(place) for place in (path, path / _TABLE) if not lies_in(place, root)]:
        return outside[:1]
    own = path.is_dir() or path.suffix == ".toml"
    return OwnFolder(path).files_outside(root) if own else []


def _read_judgments(path: Path, corpus: Corpus, own: OwnFolder) -> OwnJudgments:
    """Read a file of judgments, a table or XML."""
    first, skip = own.table.first_sentence, own.table.unknown_systems == "skip"
    if path.suffix.lower() != ".xml":
        return read_judgments(path, corpus, first, skip_unknown=skip)
    unknown = Counter[str]()
    items = read_rankings(
        path,
        first_line=first,
        lines=len(corpus),
        systems=corpus.names,
        unknown=unknown if skip else None,
    )
    kept = sum(len(group) for item in items for group in item.groups)
    notes = left_out(path, kept + unknown.total(), kept, unknown, corpus.names)
    return OwnJudgments(items, notes=notes)


def _compares(judged: OwnJudgments, names: Collection[str]) -> bool:
    """Return True if one annotator judged two of these systems on one sentence."""
    places = ((system for group in item.groups for system in group) for item in judged.items)
    return any(sum(system in names for system in item) > 1 for item in places)


def ratings_of(judged: OwnJudgments, rows: Sequence[int] | slice = slice(None)) -> dict[str, Any]:
    """Return the attributes of a `Benchmark` that hold ratings.

    Args:
        judged: the judgments, with or without ratings.
        rows: rows of the judgments whose systems are in the corpus, in its order; all by default.
    """
    raters = {aspect: table[:, rows] for aspect, table in judged.raters.items()}
    ratings = {aspect: defined_mean(table, 0) for aspect, table in raters.items()}
    return {
        "segment_scores": np.mean(list(ratings.values()), axis=0) if ratings else None,
        "ratings": ratings if len(ratings) > 1 else {},
        "raters": raters,
    }


def check_overlap(judged: OwnJudgments, names: Sequence[str], path: Path, chosen: str) -> None:
    """Refuse judgments that compare no two of the systems.

    Raises:
        InputError: no two of them are compared; names the file and the remedy.
    """
    if _compares(judged, names):
        return
    every = {system for item in judged.items for group in item.groups for system in group}
    if not _compares(judged, every):
        raise InputError(
            f"{path}: no sentence has judgments of two systems by one annotator, so that nothing "
            "can be compared; judge several systems on the same sentences"
        )
    raise InputError(
        f"{path}: no judgment compares two of the systems {', '.join(names)} (set {chosen}); "
        "choose another set with `systems=`, or judge more"
    )


def human_of(judged: OwnJudgments, systems: Sequence[str]) -> PublishedScores:
    """Return mean ratings, or scores from the rankings; NaN for a system that was not judged."""
    if judged.raters:
        mean = np.mean([defined_mean(table, 0) for table in judged.raters.values()], axis=0)
        return {"mean": dict(zip(systems, defined_mean(mean.T, 0).tolist(), strict=True))}
    return columns_of_rankings(judged_entries(judged.items, systems))


class OwnFolder:
    """The parts of an own benchmark: a folder, or those that a table names.

    Attributes:
        root: the folder that paths are relative to.
        where: the table, or the folder without one, for messages.
        table: the contents of the table, or the defaults.
        source: sentences to correct.
        outputs: one file a system, in the order in which systems are compared.
        judgments: the file of judgments by view; none where only single edits were judged.
        references: reference files in order.
        gold: M2 file with gold edits.
        verdicts: verdicts on single edits; see `read_own_verdicts`.
    """

    def __init__(self, path: Path) -> None:
        """Find the parts.

        Args:
            path: a folder or a TOML file.

        Raises:
            InputError: it does not exist, lacks a part, or the TOML file is wrong; says what is
                expected.
        """
        self.root = path if path.is_dir() else path.parent
        self.where, self.table = _described(path)
        table, where = self.table, self.where
        # Resolved, since a folder may be named `.`.
        self.name = table.name or self.root.resolve().name
        check_own_name(self.name, where)
        self.outputs = self._files(table.outputs, "outputs")
        if not self.outputs:
            raise self._refusal(
                f"no system outputs in {self.root / 'outputs'}; expected one file per system, with "
                "its name"
            )
        _check_sets(table.system_sets, [system_name(file) for file in self.outputs], where)
        # Checked here, so that a wrong code is an error of the table and not of the command line.
        try:
            self.language = language_of(
                table.language or "en", table.tokens or "auto", table.fold or "auto"
            )
        except OptionError as error:
            raise self._refusal(str(error)) from None
        gold = self.root / "gold.m2"
        self.source = self._file(table.source, "source") or self._only_source()
        self.judgments = self._judgments()
        self.references = self._files(table.references, "references")
        self.gold = self._file(table.gold, "gold") or (gold if gold.is_file() else None)
        self.verdicts = self._file(table.verdicts, "verdicts")

    def files_outside(self, folder: Path) -> list[str]:
        """Return the files that are not in a folder."""
        named = [self.source, *self.outputs, *self.references, *self.judgments.values()]
        named += [file for file in (self.gold, self.verdicts) if file is not None]
        return [str(file) for file in named if not lies_in(file, folder)]

    def _refusal(self, text: str) -> InputError:
        return InputError(f"{self.where}: {text}")

    def _file(self, name: str, key: str) -> Path | None:
        """Return the path of a file that a benchmark's table names; None where it names none."""
        if name and not self._place(name, key).is_file():
            raise self._refusal(f"{key} names {name!r}, but there is no file at {self.root / name}")
        return self.root / name if name else None

    def _place(self, name: str, key: str) -> Path:
        """Return the path that a benchmark's table names.

        Raises:
            InputError: no file can have that name.
        """
        longest = max((len(part.encode()) for part in Path(name).parts), default=0)
        if "\0" in name or longest > _LONGEST or len(name) > 4_000:
            raise self._refusal(f"{key} names {name!r:.60}, which cannot be a file name")
        return self.root / name

    def _only_source(self) -> Path:
        files = _visible(self.root, "source.*")
        if len(files) != 1:
            have = f"{len(files)} of them" if files else "none"
            raise self._refusal(f"expected one file source.txt, found {have}; expected {_SHAPE}")
        return files[0]

    def _files(self, named: str | Sequence[str], key: str) -> tuple[Path, ...]:
        """Return files named one by one, by pattern, or as all files of a folder.

        Folders and patterns are searched only within the folder of the table, and not recursively:
        a shared benchmark must not search its reader's machine.
        """
        files: list[Path] = []
        for name in [named] if isinstance(named, str) else named:
            place = self._place(name, key)
            inside = [place] if place.is_file() else []
            if place.is_dir() or (not inside and any(sign in name for sign in "*?[")):
                parts = Path(name).parts
                if Path(name).is_absolute() or ".." in parts or any("**" in part for part in parts):
                    raise self._refusal(
                        f"{key} names {name!r:.60}; expected a folder or pattern within "
                        f"{self.root}, without a leading /, without .. and without **; name files "
                        "elsewhere one by one"
                    )
                inside = _visible(place) if place.is_dir() else _visible(self.root, name)
            # The default folder may be missing, for example if there are no references.
            if not inside and name != key:
                raise self._refusal(f"{key} names {name!r}, but there is no file at {place}")
            files += inside
        if len(files) > _MOST_FILES:
            raise self._refusal(
                f"{key} names {len(files)} files; expected at most {_MOST_FILES}: check that it is "
                "the folder you mean"
            )
        return tuple(files)

    def _judgments(self) -> dict[View, Path]:
        """Return the files of judgments by view; there may be none where edits have verdicts."""
        if self.table.judgments:
            named = self.table.judgments
            if isinstance(named, str):
                named = {"sentence": named}
            if not set(named) <= set(_VIEWS):
                raise self._refusal(
                    f"judgments is {named!r:.60}; expected a file name, or a table with edit and "
                    "sentence"
                )
            # Names in a table replace the default ones altogether.
            files = {v: self._file(named[v], "judgments") for v in _VIEWS if v in named}
            paths = {view: path for view, path in files.items() if path is not None}
            for path in paths.values():
                if path.suffix.lower() not in _KINDS:
                    raise InputError(f"{path}: expected judgments as {', '.join(_KINDS)}")
            return paths
        near = [path for path in _visible(self.root) if path.name.lower().startswith("judg")]
        judged = [path for path in near if path.stem in _STEMS and path.suffix in _KINDS]
        paths = {_STEMS[path.stem]: path for path in judged}
        unclear = len(judged) > 1 and "judgments" in {path.stem for path in judged}
        if unclear or len(judged) > len(paths):
            raise self._refusal(
                f"{' and '.join(path.name for path in judged)}: keep one, or one for each view, or "
                f"name them as `judgments` in {_TABLE}"
            )
        if not paths and (near or not self.table.verdicts):
            hint = f" (found {near[0].name}, which has another name or ending)" if near else ""
            raise self._refusal(
                f"no judgments{hint}; expected {_SHAPE}; if only single edits were judged, name "
                f'their file in {_TABLE}: verdicts = "edits.csv"'
            )
        return paths


def _described(path: Path) -> tuple[Path, FolderDescription]:
    """Return the table of an own benchmark, or its folder, and what the table contains."""
    named = path / _TABLE if path.is_dir() else path
    if path.is_dir() and (named.is_symlink() or named.exists()) and not named.is_file():
        raise InputError(f"{named}: is not a file; expected a table in TOML, or no such file")
    if path.is_dir() and not named.is_file():
        return path, FolderDescription()
    if named.suffix == ".toml" and named.is_file():
        return named, _read_toml(named)
    if path.exists():
        raise InputError(
            f"{path}: judgments alone are not a benchmark, since texts are needed to score; "
            f"expected {_SHAPE}"
        )
    near = near_folder(path)
    raise InputError(
        f"{path}: no such folder or file, and no benchmark of that name; "
        + (near or f"expected {_SHAPE}, or one of {', '.join(BENCHMARKS)}")
    )


def _read_toml(path: Path) -> FolderDescription:
    table = read_toml(path, "a benchmark")
    keys = [key.name for key in fields(FolderDescription)]
    for key in table:
        if key not in keys:
            raise InputError(f"{path}: unknown key {key!r:.60}: {nearest_of(key[:60], keys)}")
    try:
        return from_record(FolderDescription, table)
    except ValueError as error:
        raise InputError(f"{path}: {error}") from None


def check_own_name(name: str, where: Path) -> None:
    """Refuse the name of a benchmark that is read from the data folder.

    Raises:
        InputError: the name is taken.
    """
    if name in BENCHMARKS:
        raise InputError(
            f"{where}: {name!r} is the name of a benchmark that is read from the data folder; "
            f"rename it, or give a folder another `name` in its {_TABLE}"
        )


def _visible(folder: Path, pattern: str = "*") -> list[Path]:
    """Return files in alphabetical order, without those hidden by a dot."""
    return sorted(p for p in folder.glob(pattern) if p.is_file() and not p.name.startswith("."))


def _check_sets(sets: Mapping[str, tuple[str, ...]], systems: Sequence[str], where: Path) -> None:
    """Refuse sets with unknown systems, or with a system twice."""
    for key, names in sets.items():
        for name in names:
            if name not in systems:
                raise InputError(
                    f"{where}: unknown system {name!r:.60} in set {key!r:.60}: "
                    f"{nearest_of(name[:60], systems)}"
                )
        if not names or len(set(names)) < len(names):
            raise InputError(
                f"{where}: system set {key!r:.60} is {names!r:.60}; expected names, each once"
            )
