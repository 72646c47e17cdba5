"""Every measurement of speed, run on tiny data, and every program that is stored as a string."""

from __future__ import annotations

import ast
import importlib
import json
import re
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gecjury.benchmarks import data_folder
from speed import peer
from speed.harness import SCRIPTS, Options, run_here
from speed.refless import make_models
from tests.speed.tiny_data import write_tiny_data

ROOT = Path(__file__).resolve().parents[2]

# Packages that are not installed for the tests, or that start a cluster. The scripts say so.
NOT_HERE = {
    "judges": "vllm", "judges-prefixes": "vllm",
    "scale": "ray", "scale-kills": "ray", "scale-many": "ray",
}  # fmt: skip
SLOW = {
    "costs", "encoders", "estimates", "extraction", "gpu", "green-scaling", "judges-server",
    "limits", "many-systems", "refless", "starting", "training", "uot",
}  # fmt: skip

# The peer's packages, as far as the scripts call them: our own metrics take the peer's place.
PEERS = {
    "gec_metrics/__init__.py": "from tests.speed.stand_in import get_metric\n",
    "gec_metrics/metrics.py": "from tests.speed.stand_in import IMPARA, SOME, Scribendi\n",
    "bert_score/__init__.py": "import torch\n\nclass BERTScorer:\n"
    "    def __init__(self, model_type, num_layers, device): pass\n"
    "    def score(self, texts, references):\n"
    "        return (torch.ones(len(texts)),) * 3\n",
}


def in_this_process(folder: Path, snippet: str, data: Any) -> Any:
    """Run the peer's side here, with its data and result as JSON."""
    names = {"data": json.loads(json.dumps(data))}
    exec(compile(textwrap.dedent(snippet), "the peer's side", "exec"), names)
    return json.loads(json.dumps(names["result"]))


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Random models with as many layers as the scripts read."""
    folder = tmp_path_factory.mktemp("models")
    make_models(folder, ("He goes to school by bicycle .",), 16, 6)
    return {"mpnet": folder / "encoder", "smollm2": folder / "language"}


@pytest.fixture
def tiny_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, models: dict[str, Path]
) -> Iterator[Options]:
    """Options with tiny data, tiny models and a stand-in of the peer."""
    import torch

    data = tmp_path / "data"
    files = write_tiny_data(data)
    monkeypatch.setattr(data_folder, "manifest", lambda: files)
    monkeypatch.setattr("gecjury.models.checkpoints._embedded_folder", lambda: models["mpnet"])
    for name, text in PEERS.items():
        path = tmp_path / "peers" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "peers"))
    # What scripts change in their own process is restored here.
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GECJURY_DATA", str(data))
    for kind in (torch.nn.Module, torch.Tensor):
        monkeypatch.setattr(kind, "cuda", kind.cuda)
    monkeypatch.setattr("speed.limits._PRODUCT", ((64, 32), (32, 64)))
    # Threads of busy machines wait for one another.
    monkeypatch.setattr(torch, "set_num_threads", lambda threads: None)
    yield Options(data, tmp_path / "peer", quick=True, **models)
    for name in [name for name in sys.modules if name.startswith(("gec_metrics", "bert_score"))]:
        del sys.modules[name]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * (n in SLOW)) for n in SCRIPTS]
)
@pytest.mark.filterwarnings("ignore")
def test_every_script_runs_on_tiny_data(
    name: str, tiny_options: Options, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = importlib.import_module(f"speed.{SCRIPTS[name].module}")
    for function, other in (
        ("run_in_peer", in_this_process),
        ("peer_python", lambda folder: Path(sys.executable)),
        ("peer_versions", lambda python: dict.fromkeys((*peer._REPORTED, "Python"), "1")),
        ("install_tagger", lambda python: None),
    ):
        if hasattr(module, function):
            monkeypatch.setattr(module, function, other)
    if name in NOT_HERE:
        monkeypatch.setitem(sys.modules, NOT_HERE[name], None)
        assert run_here(name, tiny_options).lacking == f"not installed here: {NOT_HERE[name]}"
        return
    outcome = run_here(name, tiny_options)
    assert outcome.lacking == ""
    assert outcome.claims
    assert [claim.claim for claim in outcome.claims if claim.met is False] == []


@pytest.mark.ray
@pytest.mark.parametrize("name", [name for name, lacks in NOT_HERE.items() if lacks == "ray"])
@pytest.mark.filterwarnings("ignore")
def test_scripts_that_start_a_cluster_run_on_tiny_data(name: str, tiny_options: Options) -> None:
    pytest.importorskip("ray")
    outcome = run_here(name, tiny_options)
    assert (outcome.lacking, outcome.failed, bool(outcome.claims)) == ("", False, True)


def programs(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the strings of a module that are Python programs, with their lines."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = textwrap.dedent(node.value).strip()
            if re.match(r"import \w|from \S+ import |def \w+\(", text):
                yield node.lineno, text


def test_every_program_in_a_string_compiles() -> None:
    several = 0
    for path in [*ROOT.glob("speed/*.py"), *ROOT.glob("tools/*.py")]:
        for line, text in programs(path):
            compile(text, f"{path}:{line}", "exec")
            several += 1
    assert several >= 10


def test_the_peer_reports_its_versions_and_runs_a_snippet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peer, "_interpreter", lambda folder: Path(sys.executable))
    monkeypatch.setattr(peer, "_REPORTED", ("numpy",))
    assert set(peer.peer_versions(Path(sys.executable))) == {"Python", "numpy"}
    assert peer.run_in_peer(tmp_path, "    result = data[::-1]", [1, 2]) == [2, 1]
    with pytest.raises(SystemExit, match="the peer's side failed"):
        peer.run_in_peer(tmp_path, "    result = absent", None)
