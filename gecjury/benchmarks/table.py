"""The table of benchmarks: system sets, reference sets and views, without reading any file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Literal

from gecjury.core.errors import OptionError, known_name, nearest
from gecjury.core.records import PassedOn
from gecjury.core.textfiles import near_folder

View = Literal["edit", "sentence"]


@dataclass(frozen=True)
class BenchmarkInfo:
    """The sets and views of a benchmark, known without reading its files.

    Attributes:
        name: the name it is loaded by.
        citation: the paper to cite.
        loader: `module:function` that turns a `LoadRequest` into a `Benchmark`.
        system_sets: systems by set name, each in the order in which they are compared; empty
            where the data name none.
        reference_sets: names of its reference sets, the default first; none without references.
        views: `edit`, `sentence` or both, the default first.
        path: the folder or file of a user's own benchmark.
        language: ISO code of its texts' language.
        tokens: tokenisation of the texts; empty for the language's default. `space` where its
            files are already tokenised.
        fold: folding of the texts; empty for the language's default.
    """

    name: str
    citation: str
    loader: str
    system_sets: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: _UNNAMED)
    reference_sets: tuple[str, ...] = ()
    views: tuple[View, ...] = ("sentence",)
    path: Path | None = None
    language: str = "en"
    tokens: str = ""
    fold: str = ""


_UNNAMED: Mapping[str, tuple[str, ...]] = {"base": (), "all": ()}
_SEEDA = (
    "BART", "BERT-fuse", "GECToR-BERT", "GECToR-ens", "GPT-3.5", "INPUT", "LM-Critic", "PIE",
    "REF-F", "REF-M", "Riken-Tohoku", "T5", "TemplateGEC", "TransGEC", "UEDIN-MS",
)  # fmt: skip
_GJG15 = (
    "AMU", "CAMB", "CUUI", "IITB", "INPUT", "IPN", "NTHU", "PKU", "POST", "RAC", "SJTU", "UFC",
    "UMC",
)  # fmt: skip
_CONLL14_SETS = (
    "official", "official-as-published", "official-um-deleted", "10refs", "10refs-um-deleted",
    "e-minimal", "ne-minimal", "e-fluency", "ne-fluency",
)  # fmt: skip
_GMEG = ("amu", "lstm", "lstm-r", "marian", "nus", "transformer")
_JFLEG = ("AMU", "CAMB", "NMT", "NUS", "orig", "turk")
_TMU = ("cnn", "copy-net", "lstm", "smt", "transformer")
_SWEDISH = ("granska", "mm", "mt", "mw", "s2")
_SOTTANA = ("reference", "opt-iml-max-30b", "text-davinci-003", "gpt-3.5-turbo")
_CGEC_ZH = ("bart", "char", "s2e", "spm", "t5", "word")
_SAMPLE = ("INPUT", "careful", "cautious", "fluent", "hasty", "noisy", "spelling")


def _without(systems: Sequence[str], *names: str) -> tuple[str, ...]:
    return tuple(system for system in systems if system not in names)


def _rows(*names: str, loader: str, citation: str, **rest: PassedOn) -> list[BenchmarkInfo]:
    """Return the rows of benchmarks that differ only in their names."""
    place = f"gecjury.benchmarks.loaders.{loader}"
    return [BenchmarkInfo(name, citation, place, **rest) for name in names]


_TABLE = [
    *_rows(
        "seeda",
        loader="conll14:load_seeda",
        citation="Kobayashi, Mita and Komachi (2024): Revisiting Meta-evaluation for Grammatical "
        "Error Correction. TACL 12.",
        system_sets={
            "base": _without(_SEEDA, "INPUT", "REF-F", "GPT-3.5"),
            "fluency": _without(_SEEDA, "INPUT"),
            "input": _without(_SEEDA, "REF-F", "GPT-3.5"),
            "all": _SEEDA,
        },
        reference_sets=_CONLL14_SETS,
        views=("edit", "sentence"),
    ),
    *_rows(
        "gjg15",
        loader="conll14:load_gjg15",
        citation="Grundkiewicz, Junczys-Dowmunt and Gillian (2015): Human Evaluation of "
        "Grammatical Error Correction Systems. EMNLP.",
        system_sets={"base": _GJG15, "all": _GJG15},
        reference_sets=_CONLL14_SETS,
    ),
    *_rows(
        *(
            f"gmeg-{split}-{domain}"
            for split in ("dev", "test")
            for domain in ("fce", "wiki", "yahoo")
        ),
        loader="gmeg:load_gmeg",
        citation="Napoles, Nădejde and Tetreault (2019): Enabling Robust Grammatical Error "
        "Correction in New Domains. TACL 7.",
        system_sets={
            "base": (*_GMEG[:5], "source", "transformer"),
            "paper": (*_GMEG, "ref0", "source"),
            "all": (*_GMEG[:5], "ref0", "source", "transformer"),
        },
        reference_sets=("official",),
    ),
    *_rows(
        "jfleg",
        loader="jfleg:load_jfleg",
        citation="Napoles, Sakaguchi and Tetreault (2017): JFLEG: A Fluency Corpus and Benchmark "
        "for Grammatical Error Correction. EACL.",
        system_sets={"base": _JFLEG[4:], "all": _JFLEG},
        reference_sets=("official",),
    ),
    # The test parts are separate benchmarks, fair to metrics that were trained on the rest.
    *_rows(
        "tmu-gfm",
        "tmu-gfm-test",
        loader="rated:load_tmu_gfm",
        citation="Yoshimura, Kaneko, Kajiwara and Komachi (2020): SOME: Reference-less Sub-Metrics "
        "Optimized for Manual Evaluations of Grammatical Error Correction. COLING.",
        system_sets={"base": _TMU, "all": _TMU},
    ),
    *_rows(
        "swedish-oestling",
        loader="rated:load_swedish",
        citation="Östling, Gillholm, Kurfalı, Mattson and Wirén (2024): Evaluation of Really Good "
        "Grammatical Error Correction. LREC-COLING.",
        system_sets={"base": _SWEDISH, "systems": _without(_SWEDISH, "mm", "mw"), "all": _SWEDISH},
        reference_sets=("official", "post-edited", "minimal", "maximal"),
        language="sv",
        tokens="space",
    ),
    *_rows(
        "sottana",
        loader="recorded:load_sottana",
        citation="Sottana, Liang, Zou and Yuan (2023): Evaluation Metrics in the Era of GPT-4: "
        "Reliably Evaluating Large Language Models on Sequence to Sequence Tasks. EMNLP.",
        system_sets={"base": _without(_SOTTANA, "reference"), "all": _SOTTANA},
        reference_sets=("official",),
    ),
    *_rows(
        "dsgram",
        loader="recorded:load_dsgram",
        citation="Xie, Li, Yin and Wan (2025): DSGram: Dynamic Weighting Sub-Metrics for "
        "Grammatical Error Correction in the Era of Large Language Models. AAAI.",
    ),
    *_rows(
        "autojqe",
        "autojqe-test",
        loader="rated:load_autojqe",
        citation="Suzuki, Takahashi, Yamashita, Aida, Hirasawa, Nakatsuji, Mita and Komachi "
        "(2022): Construction of a Quality Estimation Dataset for Automatic Evaluation of Japanese "
        "Grammatical Error Correction. LREC.",
        language="ja",
    ),
    *_rows(
        "cgec-zh",
        loader="cgec_zh:load_cgec_zh",
        citation="Wang and others: Revisiting the Evaluation for Chinese Grammatical Error "
        "Correction. https://github.com/wang136906578/RevisitCGEC.",
        system_sets={"base": _CGEC_ZH, "all": _CGEC_ZH},
        reference_sets=("official", "fluency"),
        language="zh",
    ),
    *(
        row
        for code in ("en", "uk")
        for row in _rows(
            f"aqua-{code}",
            loader="edit_labels:load_aqua",
            citation="Shpagin: AQUA: Automated Quality Analyzer for Multilingual GEC. "
            "https://github.com/PavelShpagin/AQUA.",
            language=code,
            tokens="intl",
        )
    ),
    *_rows(
        "pevdata",
        loader="edit_labels:load_pevdata",
        citation="Zhan and others: JELV: A Judge of Edit-Level Validity for Evaluation and "
        "Automated Reference Expansion in Grammatical Error Correction.",
        tokens="intl",
    ),
    *_rows(
        "sample",
        loader="sample:load_sample",
        citation="A small sample written for this package, ranked by rule: it shows how the "
        "program works and is never evidence about any metric.",
        system_sets={"base": _without(_SAMPLE, "INPUT"), "input": _SAMPLE, "all": _SAMPLE},
        reference_sets=("official",),
        views=("edit", "sentence"),
    ),
]

BENCHMARKS: Mapping[str, BenchmarkInfo] = MappingProxyType({row.name: row for row in _TABLE})
"""Every benchmark by name."""


def benchmark_info(name: str) -> BenchmarkInfo:
    """Return the table row of a benchmark.

    Raises:
        OptionError: the name is unknown; the message suggests the nearest ones.
    """
    # A folder of one's own that is misspelt is none of the benchmarks.
    if nearest(name.lower(), BENCHMARKS).startswith("known") and (near := near_folder(name)):
        raise OptionError(f"unknown benchmark {name!r}, and no such folder; {near}")
    return BENCHMARKS[known_name("benchmark", name.lower(), tuple(BENCHMARKS))]


def looks_like_path(name: str) -> bool:
    """Return True if a name, if not that of a benchmark, is a user's folder or file."""
    return "/" in name or "\\" in name or name.endswith(".toml") or Path(name).exists()
