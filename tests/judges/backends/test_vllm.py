"""Real vLLM on a CPU with a tiny random Qwen3: in process and as a separate server."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.registry import load
from tests.judges.attacks import ATTACKS
from tests.judges.backends.servers import started, vllm_server
from tests.judges.tinymodel import make_tiny_model

pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("default")]

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("vllm")
    folder = tmp_path_factory.mktemp("model")
    (folder / "engine.toml").write_text("enforce_eager = true\n")
    return make_tiny_model(folder / "tiny-qwen3")


def in_process(folder: Path) -> dict[str, str]:
    """Return the options of a judge that runs the model in this process."""
    engine = str(folder.parent / "engine.toml")
    return {"backend": "vllm", "model": str(folder), "engine": engine}


@pytest.fixture(scope="module")
def served(tiny: Path) -> Iterator[str]:
    with started(vllm_server(tiny)) as url:
        yield url


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def audit_of(table: Any) -> dict[str, Any]:
    audit: dict[str, Any] = table.statistics.details["audit"]["members"][0]
    return audit


def test_in_process_every_reply_is_valid_and_tokens_are_as_estimated(
    tiny: Path, cache: Path
) -> None:
    corpus = load_benchmark("sample").corpus
    runtime = Runtime(cache=cache)
    scorer = load("llm-s", **in_process(tiny))
    plan = scorer.plan(corpus, runtime)
    assert plan is not None
    audit = audit_of(scorer.score_corpus(corpus, runtime))
    assert audit["valid"] == audit["requests"]["distinct"] == plan.requests
    for kind in ("input", "output"):
        assert abs(plan.tokens[kind] - audit["tokens"][kind]) <= 0.02 * audit["tokens"][kind]
    # compact JSON, and nothing else
    (store,) = (cache / "judgments").glob("sentence*.jsonl")
    for line in store.read_text().splitlines()[1:]:
        text = json.loads(line)["reply"]["text"]
        assert text == json.dumps(json.loads(text), separators=(",", ":"))


def test_expected_scores_come_from_probabilities_within_the_grammar(
    tiny: Path, cache: Path
) -> None:
    corpus = load_benchmark("sample").corpus
    scorer = load("llm-s", **in_process(tiny), scoring="expected")
    table = scorer.score_corpus(corpus, Runtime(cache=cache))
    scores = table.sentences[~np.isnan(table.sentences)]
    assert ((scores > 1) & (scores < 5)).all()
    assert len(np.unique(scores)) > 20  # a written score has at most five values


def test_injections_change_no_structure(
    tiny: Path, cache: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    honest = ("She goes to school .", "She go to the school .")
    texts = ["She goes to school every day .", *ATTACKS]
    rows = {"a": honest[0], "b": honest[1]}
    sources = ("She go to school .",) * len(texts)
    corpus = Corpus(
        sources,
        {
            **{name: Version((text,) * len(texts)) for name, text in rows.items()},
            "attack": Version(tuple(texts)),
        },
    )
    scorer = load("llm-s", **in_process(tiny), scoring="expected")
    table = scorer.score_corpus(corpus, Runtime(cache=cache))
    assert table.missing == 0
    assert audit_of(table)["valid"] == len(texts)
    shifts = table.sentences[:, 1:] - table.sentences[:, :1]
    with capsys.disabled():
        print("\nattack: shift of its own score, of a, of b (against an honest third text)")
        for attack, (a, b, own) in zip(ATTACKS, shifts.T, strict=True):
            print(f"{own:+.3f} {a:+.3f} {b:+.3f}  {attack[:60]!r}")


def test_served_and_in_process_agree(tiny: Path, served: str, cache: Path) -> None:
    corpus = load_benchmark("sample").corpus
    runtime = Runtime(cache=cache, concurrency=8)
    scorer = load("llm-s", base_url=served, model=str(tiny), scoring="expected")
    table = scorer.score_corpus(corpus, runtime)
    audit = audit_of(table)
    assert audit["valid"] == audit["requests"]["distinct"]
    local = load("llm-s", **in_process(tiny), scoring="expected")
    other = local.score_corpus(corpus, runtime)
    scored = ~np.isnan(table.sentences)
    assert np.allclose(table.sentences[scored], other.sentences[scored], atol=0.1)


def test_only_a_prompt_longer_than_the_window_is_left_out(
    tiny: Path, served: str, tmp_path: Path
) -> None:
    corpus = Corpus(("S .", "S ."), {"x": Version(("word " * 3_000, "T ."))})
    runtime = Runtime(cache=tmp_path)
    for options in ({"base_url": served, "model": str(tiny)}, in_process(tiny)):
        table = load("llm-s", **options).score_corpus(corpus, runtime)
        assert np.isnan(table.sentences).tolist() == [[True, False]]
        assert audit_of(table)["failures"] == {"too-long": 1}
        (note,) = table.statistics.notes
        assert "the window of 8192 tokens" in note


def test_models_that_cannot_be_used(tmp_path: Path) -> None:
    corpus = Corpus(("S .",), {"x": Version(("T .",))})
    runtime = replace(Runtime(), cache=tmp_path)
    missing = str(tmp_path / "nowhere")
    with pytest.raises(OptionError, match=f"'{missing}': no such folder"):
        load("llm-s", backend="vllm", model=missing).score_corpus(corpus, runtime)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "config.json").write_text("{}")
    with pytest.raises(InputError, match=f"vLLM cannot load {broken}") as caught:
        load("llm-s", backend="vllm", model=str(broken)).score_corpus(corpus, runtime)
    assert "\n" not in str(caught.value)
    mute = make_tiny_model(tmp_path / "mute", template=False)
    with pytest.raises(InputError, match="has no chat template"):
        load("llm-s", backend="vllm", model=str(mute)).score_corpus(corpus, runtime)


# A temporary folder makes Python register weakref's exit handler before multiprocessing's.
_SCORES_AND_ENDS = """
import pathlib, sys, tempfile
folder = tempfile.TemporaryDirectory()
from gecjury.corpus.corpus import Corpus, Version
from gecjury.core.runtime import Runtime
from gecjury.scoring.registry import load
if __name__ == "__main__":
    corpus = Corpus(("He go .",), {"a": Version(("He goes .",)), "b": Version(("He went .",))})
    scorer = load("llm-s", backend="vllm", model=sys.argv[1], engine=sys.argv[2])
    assert scorer.score_corpus(corpus, Runtime(cache=pathlib.Path(folder.name))).missing == 0
    print("scored")
"""


def test_a_program_ends_after_it_asked_a_model_in_process(tiny: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(_SCORES_AND_ENDS, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(program), str(tiny), in_process(tiny)["engine"]],
        capture_output=True, text=True, timeout=240,
        check=False, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert done.stdout.splitlines()[-1:] == ["scored"], done.stderr[-2000:]
    assert done.returncode == 0, done.stderr[-2000:]
