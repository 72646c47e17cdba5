"""Servers of others with a tiny model: what each honours, and what is said of the rest.

vLLM's server and `transformers serve` are started here. llama-cpp-python's needs an environment and
a GGUF file of its own, so a running one is asked: `GECJURY_LLAMA_SERVER=http://HOST:PORT/v1`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.registry import load
from gecjury.scoring.scores import ScoreTable
from tests.judges.backends.servers import started, vllm_server
from tests.judges.conftest import member
from tests.judges.tinymodel import make_tiny_model

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("default")]

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")

CORPUS = Corpus(("She go .",), {"a": Version(("She goes .",)), "b": Version(("She go .",))})


@dataclass(frozen=True)
class Server:
    """A running server.

    Attributes:
        honours: which of schema, probabilities, seed, model and window.
    """

    url: str
    model: str
    honours: frozenset[str]

    def score(self, cache: Path, corpus: Corpus = CORPUS, **options: object) -> ScoreTable:
        """Score a corpus, one question at a time."""
        scorer = load("llm-s", **{"base_url": self.url, "model": self.model, **options})
        return scorer.score_corpus(corpus, Runtime(cache=cache, concurrency=1))


@pytest.fixture(scope="module", params=["vllm", "transformers", "llama-cpp-python"])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    if request.param == "llama-cpp-python":
        if not (url := os.environ.get("GECJURY_LLAMA_SERVER")):
            pytest.skip("start llama-cpp-python's server and name it in $GECJURY_LLAMA_SERVER")
        yield Server(url, "any", frozenset({"schema", "probabilities", "seed", "window"}))
        return
    pytest.importorskip(request.param)
    model = make_tiny_model(tmp_path_factory.mktemp("model") / "tiny-qwen3", dtype="float32")
    if request.param == "vllm":
        with started(vllm_server(model)) as url:
            honours = {"schema", "probabilities", "seed", "model", "window"}
            yield Server(url, str(model), frozenset(honours))
        return
    for package in ("fastapi", "accelerate"):
        pytest.importorskip(package)
    # The untrained model repeats the last letter of its prompt. Every byte ends a reply, since one
    # that is cut off would not show that a schema is ignored.
    (model / "chat_template.jinja").write_text("{{ messages[0].content }} Hello")
    settings = {"eos_token_id": [*range(3, 259)], "pad_token_id": 0}
    (model / "generation_config.json").write_text(json.dumps(settings))
    with started(["transformers.cli.transformers", "serve", "--device", "cpu"]) as url:
        yield Server(url, str(model), frozenset({"model"}))


def test_schemas_are_obeyed_or_a_note_says_so(server: Server, tmp_path: Path) -> None:
    table = server.score(tmp_path, tries=1)
    audit = member(table)
    obeys = "schema" in server.honours
    assert audit["valid"] == obeys
    assert ("schema" in audit.get("settings", {})) is not obeys
    assert any("ignores JSON schemas" in note for note in table.statistics.notes) is not obeys
    assert audit["tokens"]["input"] > 50


def test_probabilities_are_used_or_the_run_ends(server: Server, tmp_path: Path) -> None:
    options = {"scoring": "expected", "protocol": "pointwise"}
    if "probabilities" not in server.honours:
        with pytest.raises(OptionError, match=r"returned none.*scoring=argmax"):
            server.score(tmp_path, **options)
        return
    scores = server.score(tmp_path, **options).sentences
    assert ((scores > 1) & (scores < 5) & (scores % 1 != 0)).all()


def test_a_seed_decides_the_reply(server: Server, tmp_path: Path) -> None:
    if "seed" not in server.honours:
        pytest.skip("the server samples only if the model's generation_config.json says so")
    first, again, other = (
        server.score(tmp_path / str(n), seed=seed, temperature=2.0, repeats=6).sentences.tolist()
        for n, seed in enumerate((1, 1, 100))
    )
    assert first == again != other


def test_an_unknown_model_is_named(server: Server, tmp_path: Path) -> None:
    if "model" not in server.honours:
        pytest.skip("the server answers under any name")
    with pytest.raises((InputError, OptionError), match="nowhere"):
        server.score(tmp_path, model="nowhere")


def test_a_prompt_longer_than_the_window_is_left_out(server: Server, tmp_path: Path) -> None:
    if "window" not in server.honours:
        pytest.skip("the server does not check the length of prompts")
    long = Corpus(("S .", "S ."), {"x": Version(("word " * 9_000, "T ."))})
    table = server.score(tmp_path, long)
    assert np.isnan(table.sentences).tolist() == [[True, False]]
    assert member(table)["failures"] == {"too-long": 1}
