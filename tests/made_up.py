"""Made-up data folders in the format of released ones."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from gecjury.benchmarks.benchmark import LoadRequest
from gecjury.benchmarks.data_folder import DataFolder
from gecjury.benchmarks.manifest import DataFile
from gecjury.benchmarks.table import benchmark_info
from gecjury.corpus.languages.language import Language, language_of


def data_folder(root: Path, texts: Mapping[str, str]) -> DataFolder:
    """Create a folder of pinned files with a table of their checksums."""
    files = {}
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        raw = text.encode()
        files[name] = DataFile(
            name, "owner/repo", "0123", name, hashlib.sha256(raw).hexdigest(), len(raw), "none"
        )
    return DataFolder(root, "--data", files=files)


def request(
    name: str,
    folder: DataFolder,
    *,
    systems: str = "base",
    references: tuple[str, ...] = (),
    language: Language | None = None,
) -> LoadRequest:
    """Return the arguments of a loader."""
    info = benchmark_info(name)
    told = language_of(info.language, info.tokens or None, info.fold or None)
    return LoadRequest(
        info=info,
        systems=systems,
        references=references,
        open_folder=lambda: folder,
        view="sentence",
        language=language or told,
    )
