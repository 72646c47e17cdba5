"""The vLLM backend without vLLM: what its engine is given, and what it says when it fails."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gecjury.core.errors import GecjuryError, IncompleteError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.texts import corpus_of_texts
from gecjury.judges.backends.vllm import read_engine
from gecjury.scoring.registry import load


def engine_of(tmp_path: Path, text: str) -> str:
    (tmp_path / "engine.toml").write_text(text)
    return str(tmp_path / "engine.toml")


def test_an_engine_is_given_the_settings_of_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, Any]] = []

    def record(**arguments: Any) -> None:
        given.append(arguments)
        raise RuntimeError("enough")

    monkeypatch.setattr(os, "environ", dict(os.environ))
    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=record))
    path = engine_of(tmp_path, 'max_model_len = 512\nenforce_eager = true\ndtype = "bfloat16"\n')
    judge = load("llm-s", backend="vllm", model="nobody/tiny", engine=path)
    assert "engine" not in judge.settings()
    with pytest.raises(InputError, match="enough"):
        judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path / "cache"))
    settings = {"max_model_len": 512, "enforce_eager": True, "dtype": "bfloat16"}
    assert settings.items() <= given[0].items()
    assert given[0]["trust_remote_code"] is False
    # vLLM reports its use by default, and its processes import from the working directory.
    assert (os.environ["VLLM_NO_USAGE_STATS"], os.environ["PYTHONSAFEPATH"]) == ("1", "1")
    # A model whose folder names code is not given to vLLM.
    (tmp_path / "config.json").write_text(json.dumps({"auto_map": {"AutoModel": "evil.Model"}}))
    judge = load("llm-s", backend="vllm", model=str(tmp_path))
    with pytest.raises(InputError, match="auto_map"):
        judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path / "cache"))
    assert len(given) == 1


@pytest.mark.security
@pytest.mark.parametrize(
    ("text", "fact"),
    [
        ("max_model_lens = 1", "did you mean max_model_len"),
        ("trust_remote_code = true", "'trust_remote_code' is not a setting"),
        ('model = "other"', "'model' is not a setting"),
        ('worker_cls = "evil.Worker"', "'worker_cls' is not a setting"),
        ('distributed_executor_backend = "evil.Executor"', "expected a number, a truth value"),
        ('quantization = "../../evil"', "expected a number, a truth value"),
        ("dtype = [1]", "expected a number, a truth value"),
        ("dtype = ", "engine.toml"),
    ],
)
def test_a_file_gives_an_engine_no_powers(tmp_path: Path, text: str, fact: str) -> None:
    with pytest.raises(GecjuryError, match=re.escape(fact)):
        read_engine(engine_of(tmp_path, text))


def test_an_engine_is_for_vllm(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="is for backend=vllm"):
        load("llm-s:model=m", engine=engine_of(tmp_path, "seed = 1"))
    with pytest.raises(InputError, match="no such file"):
        load("llm-s:model=m,backend=vllm,engine=none.toml")


FAILED = "Engine core initialization failed. See root cause above. Failed core proc(s): {}"


@pytest.mark.parametrize(
    ("error", "settings", "remedy"),
    [
        (FAILED, "", "gpu_memory_utilization = 0.3, or a shorter context: max_model_len = 4096"),
        (
            "No available memory for the cache blocks",
            "gpu_memory_utilization = 0.2",
            "gpu_memory_utilization = 0.1, or",
        ),
        ("no such model", "", ""),
    ],
)
def test_an_engine_without_memory_is_reported_with_the_remedy(
    error: str, settings: str, remedy: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**arguments: Any) -> None:
        raise RuntimeError(error)

    monkeypatch.setitem(sys.modules, "vllm", SimpleNamespace(LLM=fail))
    judge = load("llm-s", backend="vllm", model="nobody/tiny", engine=engine_of(tmp_path, settings))
    pattern = "vLLM cannot load nobody/tiny: " + re.escape(error)
    pattern += f"; .*{re.escape(remedy)}" if remedy else "$"
    with pytest.raises(InputError, match=pattern):
        judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path))


def test_a_gguf_file_is_no_model_folder(tmp_path: Path) -> None:
    file = tmp_path / "qwen.Q4_K_M.gguf"
    file.write_bytes(b"GGUF")
    judge = load("llm-s", backend="vllm", model=str(file))
    with pytest.raises(InputError, match=r"is a file, .*llama-server -m FILE.gguf"):
        judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path / "cache"))


@pytest.mark.parametrize(
    ("cpu", "settings", "error"),
    [
        (True, "", r"its weights have 3\.0 GB, but 2\.0 GB of memory are free; choose"),
        (False, "", r"its weights have 3\.0 GB, but 2\.0 GB is the memory of 1 GPU \(tensor_"),
        (False, "tensor_parallel_size = 2", "loads"),
        (True, 'quantization = "fp8"', "loads"),
    ],
)
def test_a_model_larger_than_memory_is_refused_before_it_is_loaded(
    cpu: bool, settings: str, error: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**arguments: Any) -> None:
        raise RuntimeError("loads")

    def room() -> int:
        return 2 * 10**9

    platform = SimpleNamespace(is_cpu=lambda: cpu, get_device_total_memory=room)
    memory = SimpleNamespace(available=room())
    for name, module in (
        ("vllm", SimpleNamespace(LLM=fail)),
        ("vllm.platforms", SimpleNamespace(current_platform=platform)),
        ("psutil", SimpleNamespace(virtual_memory=lambda: memory)),
    ):
        monkeypatch.setitem(sys.modules, name, module)
    model = tmp_path / "model"
    model.mkdir()
    for number in (1, 2):  # sparse files
        with (model / f"model-0000{number}-of-00002.safetensors").open("wb") as file:
            file.truncate(15 * 10**8)
    judge = load("llm-s", backend="vllm", model=str(model), engine=engine_of(tmp_path, settings))
    with pytest.raises(InputError, match=error):
        judge.score_corpus(corpus_of_texts(["a"], ["b"]), Runtime(cache=tmp_path / "cache"))


def test_a_fault_of_vllm_keeps_the_replies_before_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = SimpleNamespace(
        text='{"text": "b"}', finish_reason="stop", token_ids=[1], logprobs=None
    )
    done = SimpleNamespace(
        request_id="0", finished=True, outputs=[reply], prompt_token_ids=[1], num_cached_tokens=0
    )
    steps = iter([[done]])

    class Failing:
        def __init__(self, **arguments: Any) -> None:
            self.llm_engine = SimpleNamespace(
                has_unfinished_requests=lambda: True, step=self.step, model_config=None
            )

        def step(self) -> list[Any]:
            for outputs in steps:
                return outputs
            raise RuntimeError("CPU Generator does not use offset")

        def get_tokenizer(self) -> Any:
            return SimpleNamespace(
                chat_template="x",
                encode=lambda *_, **__: [1],
                apply_chat_template=lambda *_, **__: "a",
            )

        def enqueue_chat(self, conversations: list[Any], *_: Any, **__: Any) -> list[str]:
            return [str(number) for number in range(len(conversations))]

    monkeypatch.setattr(os, "environ", dict(os.environ))
    params = SimpleNamespace(StructuredOutputsParams=dict)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", params)
    vllm = SimpleNamespace(LLM=Failing, SamplingParams=dict)
    monkeypatch.setitem(sys.modules, "vllm", vllm)
    judge = load("post-edit", backend="vllm", model="nobody/failing")
    runtime = Runtime(cache=tmp_path / "cache")
    with pytest.raises(IncompleteError, match=r"vLLM stopped \(CPU Generator .* stored"):
        judge.score_corpus(corpus_of_texts(["a", "b"], ["b", "c"]), runtime)
    (store,) = (tmp_path / "cache" / "judgments").iterdir()
    assert sum('"reply"' in line for line in store.read_text().splitlines()) == 1
