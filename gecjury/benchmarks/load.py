"""Benchmarks by name, folder or file.

Example:
    >>> from gecjury import load_benchmark
    >>> sample = load_benchmark("sample")
    >>> sample.corpus.names
    ('careful', 'cautious', 'fluent', 'hasty', 'noisy', 'spelling')
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.table import (
    BENCHMARKS,
    BenchmarkInfo,
    View,
    benchmark_info,
    looks_like_path,
)
from gecjury.core.errors import InputError, OptionError, known_name
from gecjury.corpus.languages.language import Language, language_of
from gecjury.corpus.tokens import runs_pipeline

if TYPE_CHECKING:
    from gecjury.benchmarks.data_folder import DataFolder


def load_benchmark(
    name: str,
    *,
    systems: str = "base",
    references: str | Path | Sequence[str | Path] = "official",
    view: str | None = None,
    whole: bool = False,
    data: str | Path | None = None,
    cache: str | Path | None = None,
    lang: str | None = None,
    tokens: str | None = None,
    fold: str | None = None,
    tagger: str | None = None,
    quiet: bool = False,
) -> Benchmark:
    """Load a benchmark from a folder, the cache, or by download.

    Args:
        name: one of `BENCHMARKS`, or the path of your own: a folder or a `.toml` file, see
            `gecjury.benchmarks.own.folder`; or a table, see `own_table` there.
        systems: a system set of the benchmark: `base`, `fluency`, `input`, `all` for SEEDA;
            `base`, `all` for GJG15, JFLEG, TMU-GFM and Sottana; `base`, `paper`, `all` for GMEG;
            `base`, `input` for the sample.
        references: a reference set, a file, or a sequence of either. A file (text, M2, JSON lines)
            has a line for each sentence loaded or for each line of the full output files. For a
            benchmark without references the default means none.
        view: the human judgments that `corpus.groups` follows, `edit` or `sentence`; by default the
            benchmark's first.
        whole: SEEDA only: all 1,312 sentences of CoNLL-2014, not the 391 judged ones.
        data: folder laid out like the manifest; see `gecjury.benchmarks.data_folder.open_data`.
        cache: cache folder instead of the user's; see `gecjury.benchmarks.data_folder.open_data`.
        lang: ISO code of the texts' language, if it differs from the benchmark's.
        tokens: tokenisation of the texts, if not the benchmark's or language's; see
            `gecjury.corpus.tokens`.
        fold: folding of the texts, if not the benchmark's or language's; one of
            `gecjury.corpus.languages.language.FOLDS`.
        tagger: tagger that edits are extracted with, if not the language's.
        quiet: show no progress bars for downloads.

    Raises:
        OptionError: an unknown benchmark, set or view; the message suggests the nearest ones.
        DataError: files are missing, altered, not supplied, or cannot be fetched.
        InputError: a given reference file cannot be used.
    """
    # All names are checked before any file is: a typing error must not trigger a download.
    info = _info(name)
    known_name(f"system set of {info.name}", systems, tuple(info.system_sets))
    chosen = view or info.views[0]
    known_name(f"view of {info.name}", chosen, info.views)
    if whole and info.name != "seeda":
        raise OptionError(f"whole=True is for seeda: {info.name} always loads all its sentences")

    def open_folder() -> DataFolder:
        from gecjury.benchmarks.data_folder import open_data

        return open_data(data, cache=cache, quiet=quiet)

    request = LoadRequest(
        info=info,
        systems=systems,
        references=_references(info, references),
        open_folder=open_folder,
        view=cast(View, chosen),  # one of `info.views`, as was checked
        whole=whole,
        language=_language(info, lang, tokens, fold, tagger),
    )
    module, _, function = info.loader.partition(":")
    loader: Callable[[LoadRequest], Benchmark] = getattr(importlib.import_module(module), function)
    return loader(request)


def _language(
    info: BenchmarkInfo,
    lang: str | None,
    tokens: str | None,
    fold: str | None,
    tagger: str | None,
) -> Language:
    """Return the language of texts; the table's tokens and folding apply only to its own language.

    Raises:
        InputError: the benchmark's own table names a spaCy pipeline, which is a package or a folder
            of programs; only the user may choose those.
    """
    if info.path is not None and tokens is None and runs_pipeline(info.tokens):
        raise InputError(
            f"{info.path}: tokens = {info.tokens!r:.60} names a spaCy pipeline, which a "
            f"benchmark's file must not choose: to use it, pass `tokens={info.tokens:.60}`"
        )
    # With --lang the defaults of that language apply, not those of the benchmark's own.
    same = lang is None or language_of(lang).code == info.language
    # Texts of a benchmark in the table are read as their publishers did, a user's own are seen.
    own = "auto" if info.path is not None else None
    usual = (info.tokens or own, info.fold or own) if same else (own, own)
    return language_of(lang or info.language, tokens or usual[0], fold or usual[1], tagger)


def _info(name: str) -> BenchmarkInfo:
    """Return the table row of a name, or that of a user's own benchmark."""
    if name.lower() in BENCHMARKS or not looks_like_path(name):
        return benchmark_info(name)
    from gecjury.benchmarks.own.csv_table import table_info
    from gecjury.benchmarks.own.folder import own_info

    path = Path(name)
    one_table = path.is_file() and path.suffix.lower() not in (".toml", ".xml")
    return (table_info if one_table else own_info)(path)


def _references(
    info: BenchmarkInfo, references: str | Path | Sequence[str | Path]
) -> tuple[str | Path, ...]:
    parts = (references,) if isinstance(references, str | Path) else tuple(references)
    # `official` is the default, which means none where the benchmark has no references.
    if not info.reference_sets and parts in ((), ("official",)):
        return ()
    if not parts:
        raise OptionError(
            f"no references given for {info.name}; name a set ({', '.join(info.reference_sets)}) "
            "or files"
        )
    for part in parts:
        if part not in info.reference_sets and not Path(part).exists():
            known_name(
                f"reference set of {info.name} (and no file)", str(part), info.reference_sets
            )
    return parts
