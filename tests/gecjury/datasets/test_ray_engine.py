"""The Ray engine: early errors, answers of an actor, and runs on a real cluster."""

from __future__ import annotations

import importlib.util
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gecjury.core.errors import (
    DataError,
    GecjuryError,
    IncompleteError,
    InputError,
    MissingExtraError,
    OptionError,
)
from gecjury.datasets import ray_engine
from gecjury.datasets.output import UNFINISHED
from gecjury.datasets.ray_engine import (
    _QUIET,
    RayEngine,
    ShardActor,
    _watched,
    check_cluster_address,
)
from gecjury.datasets.shards import InputFile, Shard, ShardJob, ShardSummary, shards_of
from gecjury.scoring.signature import Signature

FILE = InputFile("/data/mine.jsonl", "mine.jsonl", 60)
with_ray = [
    pytest.mark.ray,
    pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed"),
    pytest.mark.filterwarnings("ignore"),  # Ray warns about its own settings, threads, sockets
]


def job_of(folder: Path) -> ShardJob:
    return ShardJob(
        "", "source", {"": "hypothesis"}, "references", folder=str(folder), metrics=("green",),
        labels=("green",), signatures=(Signature("green", "refbased", {}),), files=(FILE,),
        shard_rows=10,
    )  # fmt: skip


def mark_of(folder: Path) -> str:
    """Write the mark that the driver leaves for workers to check, and return it."""
    (folder / UNFINISHED).mkdir(exist_ok=True)
    (folder / UNFINISHED / "run-m").write_text("m")
    return "m"


class Fake(ShardActor):
    """An actor whose worker is a function."""

    work: Callable[[Shard], ShardSummary] = staticmethod(
        lambda shard: ShardSummary(shard.number, shard.stop - shard.start)
    )

    def load(self, job: ShardJob) -> Any:
        return SimpleNamespace(finish=type(self).work)


def answer_of(actor: ShardActor, shard: Shard) -> dict[str, str]:
    [answer] = actor({"shard": [json.dumps(asdict(shard))]})["answer"]
    record: dict[str, str] = json.loads(answer)
    return record


SHARDS = list(shards_of([FILE], 10))


@pytest.mark.parametrize("address", ["local", "auto", "head:6379", "[::1]:6379"])
def test_addresses_of_clusters(address: str) -> None:
    assert check_cluster_address(address) == address
    assert RayEngine(address).address == address


@pytest.mark.parametrize(
    "address",
    ["", "head", "head:", "head:port", "head:70000", "ray://head:10001", "http://head:8265",
     "user@head:6379", "head:6379/x", "head :6379", "LOCAL"],
)  # fmt: skip
def test_invalid_addresses_are_refused(address: str) -> None:
    with pytest.raises(OptionError, match="expected local, auto or HOST:PORT"):
        RayEngine(address)


@pytest.mark.parametrize(
    ("workers", "gpus", "cpus"),
    [(0, 0.0, 1.0), (2, -1.0, 1.0), (2, float("nan"), 1.0), (2, 0.0, 0.0), (2, 0.0, float("inf"))],
)
def test_numbers_out_of_range_are_refused(workers: int, gpus: float, cpus: float) -> None:
    with pytest.raises(OptionError, match="expected"):
        RayEngine("local", workers, gpus, num_cpus=cpus)


def test_a_missing_cluster_is_noticed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from gecjury.datasets.ray_engine import _knock

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(OptionError, match=f"the address {address}: no Ray cluster answers"):
            _knock(address)
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(OptionError, match=rf"\$RAY_ADDRESS {address}: no Ray cluster answers"):
            _knock("auto")
        taken.listen()
        _knock("auto")


def test_the_death_of_the_first_node_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_engine, "_PATIENCE", 0.05)
    told: queue.Queue[str] = queue.Queue()
    with socket.create_server(("127.0.0.1", 0)) as node:
        address = f"127.0.0.1:{node.getsockname()[1]}"
        with _watched(address, told.put):
            node.accept()[0].close()
            node.accept()[0].close()
            assert told.empty()
            node.close()
            assert f"({address}) does not answer" in told.get(timeout=30)


def test_threads_of_an_iteration_are_waited_for() -> None:
    go = threading.Event()
    threads = [threading.Thread(target=go.wait), threading.Thread(target=time.sleep, args=(0.1,))]
    with ray_engine._ended_threads():
        for thread in threads:
            thread.start()
    assert [thread.is_alive() for thread in threads] == [True, False]
    go.set()


@pytest.mark.security
def test_a_cluster_gets_no_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "MY_API_KEY", "HF_TOKEN", "WANDB_API_KEY"):
        monkeypatch.setenv(name, "sk-very-secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    sent: list[dict[str, Any]] = []
    ray = SimpleNamespace(init=lambda **settings: sent.append(settings))
    for address in ("head:6379", "local"):
        RayEngine(address)._connect(ray)
    assert "sk-very-secret" not in str(sent)
    assert sent[0]["runtime_env"]["env_vars"]["OMP_NUM_THREADS"] == "7"


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"`engine=ray` needs Ray .*\[ray\]"):
        RayEngine("local").finish(job_of(tmp_path), SHARDS, print)
    RayEngine("local").finish(job_of(tmp_path), [], print)  # no shards left: Ray is not needed


def test_an_actor_answers_with_errors(tmp_path: Path) -> None:
    class Failing(Fake):
        @staticmethod
        def work(shard: Shard) -> ShardSummary:
            raise InputError("mine.jsonl, row 3: not text") if shard.number == 0 else KeyError("x")

    actor = Failing(asdict(job_of(tmp_path)), mark_of(tmp_path), str(tmp_path))
    assert answer_of(actor, SHARDS[0]) == {
        "error": "InputError", "message": "mine.jsonl, row 3: not text", "trace": "",
    }  # fmt: skip
    unforeseen = answer_of(actor, SHARDS[1])
    assert unforeseen["error"] == "KeyError"
    assert "in work" in unforeseen["trace"]
    assert [entry.name for entry in (tmp_path / UNFINISHED).iterdir()] == ["run-m"]


def test_an_actor_that_cannot_load_reports_it_at_its_first_shard(tmp_path: Path) -> None:
    class Unloaded(ShardActor):
        def load(self, job: ShardJob) -> Any:
            raise MissingExtraError("some needs torch")

    actor = Unloaded(asdict(job_of(tmp_path)), mark_of(tmp_path), str(tmp_path))
    assert answer_of(actor, SHARDS[0])["error"] == "MissingExtraError"


def test_a_node_that_does_not_see_the_folder_is_reported(tmp_path: Path) -> None:
    mark = mark_of(tmp_path)
    (tmp_path / UNFINISHED / f"run-{mark}").write_text("another run")
    record = answer_of(Fake(asdict(job_of(tmp_path)), mark, str(tmp_path)), SHARDS[0])
    assert record["error"] == "DataError"
    assert socket.gethostname() in record["message"]
    assert f"does not see the same {tmp_path} as this one" in record["message"]
    assert issubclass(DataError, GecjuryError)


def test_a_shard_that_repeatedly_kills_workers_is_named(tmp_path: Path) -> None:
    class Dead(BaseException):
        """An exception that no code of the package catches."""

    class Dying(Fake):
        @staticmethod
        def work(shard: Shard) -> ShardSummary:
            # A killed process leaves the note that it began the shard; this one does too.
            note = tmp_path / UNFINISHED / f"{shard.name}.begun"
            before = note.read_bytes()
            notes.append(before)
            raise Dead

    notes: list[bytes] = []
    mark = mark_of(tmp_path)
    note = tmp_path / UNFINISHED / "part-000002.begun"
    for _ in range(5):
        actor = Dying(asdict(job_of(tmp_path)), mark, str(tmp_path))
        with pytest.raises(Dead):
            actor({"shard": [json.dumps(asdict(SHARDS[2]))]})
        note.write_bytes(notes[-1])
    assert notes == [b"." * count for count in range(1, 6)]
    record = answer_of(Dying(asdict(job_of(tmp_path)), mark, str(tmp_path)), SHARDS[2])
    assert record["error"] == "IncompleteError"
    assert record["message"].startswith(
        "/data/mine.jsonl, rows 21 to 30: the worker died 5 times (often for lack of memory)"
    )
    assert not note.exists()


def test_a_package_called_datasets_is_not_confused_with_gecjury_datasets(tmp_path: Path) -> None:
    import gecjury

    package = str(Path(gecjury.__file__).parent)
    sys.path.insert(0, package)
    try:
        Fake(asdict(job_of(tmp_path)), mark_of(tmp_path), str(tmp_path))
        assert package not in sys.path
    finally:
        sys.path[:] = [entry for entry in sys.path if entry != package]


@pytest.mark.parametrize(
    ("nodes", "asked", "workers", "size"),
    [
        ([{"CPU": 4}, {"CPU": 2.5}], (1.0, 0.0), None, 6),
        ([{"CPU": 4}, {"CPU": 2.5}], (1.5, 0.0), None, 3),
        ([{"CPU": 4}, {"CPU": 2.5}], (1.0, 0.0), 3, 3),
        ([{"CPU": 4, "GPU": 1}, {"CPU": 2}], (1.0, 0.25), None, 4),
        ([{"CPU": 64}], (1.0, 0.0), None, 6),  # at most one per shard
    ],
)
def test_as_many_workers_as_fit(
    nodes: list[dict[str, float]], asked: tuple[float, float], workers: int | None, size: int
) -> None:
    told: list[str] = []
    engine = RayEngine("auto", workers, asked[1], num_cpus=asked[0], tell=told.append)
    assert engine._pool_size(cluster_of(nodes), len(SHARDS)) == size
    if workers:
        assert told[0].startswith("3 workers of 1 CPUs and 0 GPUs; 6 would fit now")


def test_resources_that_do_not_fit_are_reported() -> None:
    nodes = [{"CPU": 2.0}]
    told: list[str] = []
    engine = RayEngine("auto", 4, tell=told.append)
    assert engine._pool_size(cluster_of(nodes), 100) == 4
    assert told == [
        "4 workers of 1 CPUs and 0 GPUs; 2 would fit now (the cluster has 2 CPUs and 0 GPUs on 1 "
        "node)"
    ]
    engine = RayEngine("auto", None, 1, tell=told.append)
    assert engine._pool_size(cluster_of(nodes), 100) == 1
    with pytest.raises(OptionError, match="needs 1 CPUs and 1 GPUs; Ray sees 2 CPUs and 0 GPUs"):
        RayEngine("local", 1, 1)._pool_size(cluster_of(nodes), 100)


def cluster_of(nodes: list[dict[str, float]]) -> Any:
    alive = [{"Alive": True, "Resources": resources} for resources in nodes]
    return SimpleNamespace(nodes=lambda: [*alive, {"Alive": False, "Resources": {"CPU": 99}}])


class TestOnRay:
    """Runs on a cluster of this machine, which is started once."""

    pytestmark = with_ray

    @pytest.fixture
    def data(self, tmp_path: Path) -> Path:
        path = tmp_path / "mine.jsonl"
        rows = [
            {"id": f"r{n}", "source": f"He go home {n} .", "hypothesis": f"He goes home {n} .",
             "references": [f"He goes home {n} .", f"He went home {n} ."]}
            for n in range(60)
        ]  # fmt: skip
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    @pytest.fixture(scope="class")
    def cluster(self) -> Iterator[Any]:
        """A session of Ray that a program started before it called gecjury."""
        import ray

        with pytest.MonkeyPatch.context() as patch:
            for name, value in _QUIET.items():
                patch.setenv(name, value)
            ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
            yield ray
            ray.shutdown()

    def test_parts_equal_those_of_the_local_engine(self, data: Path, tmp_path: Path) -> None:
        code = (
            "import sys, gecjury; print(*gecjury.score_dataset(sys.argv[1], sys.argv[2], metrics="
        )
        code += "['green', 'changes'], shard_rows=10, engine=sys.argv[3]).rows())"
        parts = {}
        for engine in ("local", "ray"):
            folder = tmp_path / engine
            ran = subprocess.run(
                [sys.executable, "-c", code, str(data), str(folder), engine],
                capture_output=True, text=True, timeout=300, check=False,
            )  # fmt: skip
            assert (ran.returncode, ran.stderr) == (0, "")
            parts[engine] = {path.name: path.read_bytes() for path in folder.glob("part-*")}
            parts[engine]["scores"] = ran.stdout.encode()
        assert parts["local"] == parts["ray"]
        assert len(parts["ray"]) == 7

    def test_a_worker_that_dies_is_replaced(
        self, tmp_path: Path, cluster: Any, capfd: pytest.CaptureFixture[str]
    ) -> None:
        class Mortal(RayEngine):
            actor = mortal_actor(tmp_path, for_ever=False)

        done: list[ShardSummary] = []
        Mortal("local", 2).finish(job_of(tmp_path), SHARDS, done.append)
        assert sorted(summary.number for summary in done) == list(range(6))
        assert (tmp_path / "died-2").exists()
        printed = capfd.readouterr()
        assert printed.out == ""
        assert "A worker died" in printed.err

    def test_a_shard_that_kills_every_worker_ends_the_run(
        self, tmp_path: Path, cluster: Any
    ) -> None:
        class Mortal(RayEngine):
            actor = mortal_actor(tmp_path, for_ever=True)

        with pytest.raises(IncompleteError, match="rows 21 to 30: the worker died 5 times"):
            Mortal("local", 2).finish(job_of(tmp_path), SHARDS, lambda summary: None)
        assert not list((tmp_path / UNFINISHED).iterdir())

    def test_unexpected_errors_have_the_trace_of_the_worker(
        self, tmp_path: Path, cluster: Any
    ) -> None:
        def divide(shard: Shard) -> ShardSummary:
            return ShardSummary(shard.number, 1 // shard.number)

        class Broken(RayEngine):
            actor = actor_of(divide)

        with pytest.raises(RuntimeError, match=r"in a worker:\n(.|\n)*in divide"):
            Broken("local", 2).finish(job_of(tmp_path), SHARDS, lambda summary: None)
        with pytest.raises(OptionError, match="the address head:6379: this process has a Ray sess"):
            RayEngine("head:6379").finish(job_of(tmp_path), SHARDS, lambda summary: None)


def actor_of(work: Callable[[Shard], ShardSummary]) -> type[ShardActor]:
    """Return an actor that is pickled by value, since workers of a cluster cannot import tests."""

    class Travelling(ShardActor):
        def load(self, job: ShardJob) -> Any:
            from types import SimpleNamespace

            return SimpleNamespace(finish=work)

    return Travelling


def mortal_actor(folder: Path, *, for_ever: bool) -> type[ShardActor]:
    """Return an actor that shard 2 kills, once or every time."""
    mark = folder / "died-2"

    def die(shard: Shard) -> ShardSummary:
        if shard.number == 2 and (for_ever or not mark.exists()):
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return ShardSummary(shard.number, shard.stop - shard.start)

    return actor_of(die)
