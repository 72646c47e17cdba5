"""The table of benchmarks: system sets, reference sets and views, without reading any file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from gecjury.errors import known_name

View = Literal["edit", "sentence"]


@dataclass(frozen=True)
class BenchmarkInfo:
    """The sets and views of a benchmark, known without reading its files.

    Attributes:
        name: the name it is loaded by.
        citation: the paper to cite.
        system_sets: systems by set name, each in the order in which they are compared; empty
            where the data name none.
        reference_sets: names of its reference sets, the default first; none without references.
        views: `edit`, `sentence` or both, the default first.
        loader: `module:function` that turns a `Request` into a `Benchmark`.
        path: the folder or file of an own benchmark.
        language: ISO code of its texts' language.
        tokens: tokenisation of the texts; empty for the language's usual way. `space` where its
            files hold tokens already.
        fold: folding of the texts; empty for the language's usual way.
    """

    name: str
    citation: str
    system_sets: Mapping[str, tuple[str, ...]]
    reference_sets: tuple[str, ...]
    views: tuple[View, ...]
    loader: str
    path: Path | None = None
    language: str = "en"
    tokens: str = ""
    fold: str = ""


_CONLL14_SETS = (
    "official",
    "official-as-published",
    "10refs",
    "e-minimal",
    "ne-minimal",
    "e-fluency",
    "ne-fluency",
)


_SEEDA = (
    "BART",
    "BERT-fuse",
    "GECToR-BERT",
    "GECToR-ens",
    "GPT-3.5",
    "INPUT",
    "LM-Critic",
    "PIE",
    "REF-F",
    "REF-M",
    "Riken-Tohoku",
    "T5",
    "TemplateGEC",
    "TransGEC",
    "UEDIN-MS",
)
_GJG15 = (
    *("AMU", "CAMB", "CUUI", "IITB", "INPUT", "IPN", "NTHU"),
    *("PKU", "POST", "RAC", "SJTU", "UFC", "UMC"),
)
_GMEG = ("amu", "lstm", "lstm-r", "marian", "nus", "transformer")
_JFLEG = ("AMU", "CAMB", "NMT", "NUS", "orig", "turk")
_TMU = ("cnn", "copy-net", "lstm", "smt", "transformer")
_SWEDISH = ("granska", "mm", "mt", "mw", "s2")
_SAMPLE = ("INPUT", "careful", "cautious", "fluent", "hasty", "noisy", "spelling")


def _without(systems: Sequence[str], *names: str) -> tuple[str, ...]:
    return tuple(system for system in systems if system not in names)


def _table() -> dict[str, BenchmarkInfo]:
    rows = [
        BenchmarkInfo(
            "seeda",
            "Kobayashi, Mita and Komachi (2024): Revisiting Meta-evaluation for Grammatical Error "
            "Correction. TACL 12.",
            {
                "base": _without(_SEEDA, "INPUT", "REF-F", "GPT-3.5"),
                "fluency": _without(_SEEDA, "INPUT"),
                "input": _without(_SEEDA, "REF-F", "GPT-3.5"),
                "all": _SEEDA,
            },
            _CONLL14_SETS,
            ("edit", "sentence"),
            "gecjury.benchmarks.loaders.conll14:load_seeda",
        ),
        BenchmarkInfo(
            "gjg15",
            "Grundkiewicz, Junczys-Dowmunt and Gillian (2015): Human Evaluation of Grammatical "
            "Error Correction Systems. EMNLP.",
            {"base": _GJG15, "all": _GJG15},
            _CONLL14_SETS,
            ("sentence",),
            "gecjury.benchmarks.loaders.conll14:load_gjg15",
        ),
        *(
            BenchmarkInfo(
                f"gmeg-{split}-{domain}",
                "Napoles, Nădejde and Tetreault (2019): Enabling Robust Grammatical Error "
                "Correction in New Domains. TACL 7.",
                {
                    "base": (*_GMEG[:5], "source", "transformer"),
                    "paper": (*_GMEG, "ref0", "source"),
                    "all": (*_GMEG[:5], "ref0", "source", "transformer"),
                },
                ("official",),
                ("sentence",),
                "gecjury.benchmarks.loaders.gmeg:load_gmeg",
            )
            for split in ("dev", "test")
            for domain in ("fce", "wiki", "yahoo")
        ),
        BenchmarkInfo(
            "jfleg",
            "Napoles, Sakaguchi and Tetreault (2017): JFLEG: A Fluency Corpus and Benchmark for "
            "Grammatical Error Correction. EACL.",
            {"base": _JFLEG[4:], "all": _JFLEG},
            ("official",),
            ("sentence",),
            "gecjury.benchmarks.loaders.jfleg:load_jfleg",
        ),
        *(
            BenchmarkInfo(
                name,
                "Yoshimura, Kaneko, Kajiwara and Komachi (2020): SOME: Reference-less "
                "Sub-Metrics Optimized for Manual Evaluations of Grammatical Error Correction. "
                "COLING.",
                {"base": _TMU, "all": _TMU},
                (),
                ("sentence",),
                "gecjury.benchmarks.loaders.tmu_gfm:load_tmu_gfm",
            )
            for name in ("tmu-gfm", "tmu-gfm-test")
        ),
        BenchmarkInfo(
            "swedish-oestling",
            "Östling, Gillholm, Kurfalı, Mattson and Wirén (2024): Evaluation of Really Good "
            "Grammatical Error Correction. LREC-COLING.",
            {"base": _SWEDISH, "systems": _without(_SWEDISH, "mm", "mw"), "all": _SWEDISH},
            ("official", "post-edited", "minimal", "maximal"),
            ("sentence",),
            "gecjury.benchmarks.loaders.swedish:load_swedish",
            language="sv",
            tokens="space",
        ),
        *(
            BenchmarkInfo(
                name,
                "Suzuki, Takahashi, Yamashita, Aida, Hirasawa, Nakatsuji, Mita and Komachi (2022): "
                "Construction of a Quality Estimation Dataset for Automatic Evaluation of Japanese "
                "Grammatical Error Correction. LREC.",
                {"base": (), "all": ()},
                (),
                ("sentence",),
                "gecjury.benchmarks.loaders.autojqe:load_autojqe",
                language="ja",
            )
            for name in ("autojqe", "autojqe-test")
        ),
        *(
            BenchmarkInfo(
                f"aqua-{code}",
                "Shpagin: AQUA: Automated Quality Analyzer for Multilingual GEC. "
                "https://github.com/PavelShpagin/AQUA.",
                {"base": (), "all": ()},
                (),
                ("sentence",),
                "gecjury.benchmarks.loaders.edit_labels:load_aqua",
                language=code,
                tokens="intl",
            )
            for code in ("en", "uk")
        ),
        BenchmarkInfo(
            "pevdata",
            "Zhan and others: JELV: A Judge of Edit-Level Validity for Evaluation and Automated "
            "Reference Expansion in Grammatical Error Correction.",
            {"base": (), "all": ()},
            (),
            ("sentence",),
            "gecjury.benchmarks.loaders.edit_labels:load_pevdata",
            tokens="intl",
        ),
        BenchmarkInfo(
            "sample",
            "A small sample written for this package, ranked by rule: it shows how the program "
            "works and is never evidence about any metric.",
            {"base": _without(_SAMPLE, "INPUT"), "input": _SAMPLE, "all": _SAMPLE},
            ("official",),
            ("edit", "sentence"),
            "gecjury.benchmarks.loaders.sample:load_sample",
        ),
    ]
    return {row.name: row for row in rows}


BENCHMARKS: Mapping[str, BenchmarkInfo] = MappingProxyType(_table())
"""Every benchmark by name."""


UNKNOWN_SYSTEMS = ("refuse", "skip")
"""The ways to treat a user's judgments of systems that nobody has an output of."""


def benchmark_info(name: str) -> BenchmarkInfo:
    """Return the table row of a benchmark.

    Raises:
        OptionError: the name is unknown; gives the nearest ones.
    """
    return BENCHMARKS[known_name("benchmark", name.lower(), tuple(BENCHMARKS))]


def looks_like_path(name: str) -> bool:
    """Return True if a name that is no benchmark's means a user's folder or file."""
    return "/" in name or "\\" in name or name.endswith(".toml") or Path(name).exists()
