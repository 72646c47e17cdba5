"""Model families, by model name."""

from __future__ import annotations

import pytest

from gecjury.benchmarks.table import BENCHMARKS
from gecjury.metaeval.audit.families import SYSTEM_FAMILIES, family_systems, model_families


@pytest.mark.parametrize(
    ("model", "families"),
    [
        ("gpt-4o-2024-08-06", ("gpt",)),
        ("o3-mini", ("gpt",)),
        ("ft:gpt-4o-mini:me::x1", ("gpt",)),
        ("openai/gpt-oss-20b", ("gpt",)),
        ("Qwen/Qwen3-8B", ("qwen",)),
        ("meta-llama/Llama-3.1-8B-Instruct", ("llama",)),
        ("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", ("qwen", "deepseek")),
        ("google/flan-t5-xl", ("t5",)),
        ("/models/smollm2-135m-instruct/", ("smollm",)),
        ("my-judge", ()),
        ("EleutherAI/gpt-j-6b", ()),
        ("roberta-large", ()),
        ("olmo-2", ("olmo",)),
    ],
)
def test_families_of_models(model: str, families: tuple[str, ...]) -> None:
    assert model_families(model) == families


def test_the_table_names_existing_systems() -> None:
    for benchmark, systems in SYSTEM_FAMILIES.items():
        assert set(systems) <= set(BENCHMARKS[benchmark].system_sets["all"])
    assert family_systems("seeda", ("T5", "BART", "GPT-3.5", "TransGEC"), ["t5", "gpt"]) == (
        "T5", "GPT-3.5", "TransGEC",
    )  # fmt: skip
    assert family_systems("my-folder", ("T5",), ["t5"]) == ()
