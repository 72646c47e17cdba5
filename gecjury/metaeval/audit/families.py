"""Families of language models: those of benchmark systems, and those of judges by their names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

SYSTEM_FAMILIES: Mapping[str, Mapping[str, str]] = {
    # These are the systems of SEEDA (Kobayashi, Mita and Komachi 2024) whose own papers name the
    # model that they were built from: GPT-3.5 (Coyne et al. 2023), T5 (Rothe et al. 2021), T5-large
    # (TransGEC, Fang et al. 2023), BART (Katsumata and Komachi 2020) and BERT (BERT-fuse, Kaneko
    # et al. 2020; GECToR, Omelianchuk et al. 2020; PIE, Awasthi et al. 2019). GECToR-ens mixes
    # three encoders, TemplateGEC was published with several models, and the others were trained
    # from scratch or written by people.
    "seeda": {
        "GPT-3.5": "gpt",
        "T5": "t5",
        "TransGEC": "t5",
        "BART": "bart",
        "BERT-fuse": "bert",
        "GECToR-BERT": "bert",
        "PIE": "bert",
    },
    # People wrote the systems of the sample.
    "sample": {},
}
"""Families of systems by benchmark and system; systems that have no model family are absent."""

_NAMES = (
    ("gpt", r"chatgpt|gpt-?\d|gpt-oss|o\d|davinci"),
    ("claude", "claude"),
    ("gemini", "gemini"),
    ("gemma", "gemma"),
    ("qwen", r"qwen|qwq"),
    ("llama", r"llama"),
    ("mistral", r"mistral|mixtral|ministral|magistral"),
    ("deepseek", "deepseek"),
    ("phi", r"phi-?\d"),
    ("smollm", "smollm"),
    ("olmo", "olmo"),
    ("command", r"command|aya"),
    ("grok", "grok"),
    ("t5", r"m?t5|flan-?t5|byt5|ul2"),
    ("bart", r"m?bart"),
    ("bert", r"m?bert"),
)
# A family's name must be at the start of the model's name or after a separator:
# DeepSeek-R1-Distill-Qwen-7B has two families, and roberta does not belong to bert.
_PATTERNS = [(family, re.compile(rf"(?:^|[-_.])(?:{names})")) for family, names in _NAMES]


def model_families(model: str) -> tuple[str, ...]:
    """Return the families that a model's name shows, e.g. `gpt` for `ft:gpt-4o:me::x`.

    Args:
        model: the model's name on a server or the hub, or a folder.

    Returns:
        Names of families; none if the name shows none.
    """
    # The second part of a fine-tuned model's name is the model that it was trained from.
    name = model.split(":")[1] if model.startswith("ft:") else model
    name = name.rstrip("/").rpartition("/")[2].lower()
    return tuple(family for family, pattern in _PATTERNS if pattern.search(name))


def family_systems(
    benchmark: str, systems: Iterable[str], families: Iterable[str]
) -> tuple[str, ...]:
    """Return the systems of a benchmark that were built from a model of some families.

    Args:
        benchmark: name of the benchmark.
        systems: names of the systems compared.
        families: names of families.
    """
    family_of, wanted = SYSTEM_FAMILIES.get(benchmark, {}), set(families)
    return tuple(system for system in systems if family_of.get(system) in wanted)
