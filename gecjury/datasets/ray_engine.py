"""Shards finished by a Ray cluster: Ray Data over descriptors, one worker per actor.

Only the job and the shards are sent, as JSON. Rows are read and parts are written by the actor, so
every node has to see the dataset and the folder of results under the same path. Ray starts actors,
distributes shards to them and restarts them elsewhere when a process or a node dies; a shard that
is finished twice writes the same bytes twice.
"""

from __future__ import annotations

import contextlib
import gc
import json
import math
import os
import re
import socket
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import urlsplit

from gecjury.core import errors
from gecjury.core.durable import unwritable
from gecjury.core.errors import (
    DataError,
    GecjuryError,
    IncompleteError,
    MissingExtraError,
    OptionError,
    install_hint,
)
from gecjury.core.processes import answered, child_environment, failure
from gecjury.core.records import from_record
from gecjury.core.runtime import silenced
from gecjury.datasets.engines import workers_died
from gecjury.datasets.output import UNFINISHED
from gecjury.datasets.shards import Shard, ShardJob, ShardSummary

if TYPE_CHECKING:
    from ray import RayContext

    from gecjury.datasets.work import Worker

_PATIENCE = 5.0
"""Seconds that a cluster has to accept a connection."""

_TRIES = 5
"""How often a shard is tried before it is assumed to be what kills workers.

More than the local engine's three, since nodes of a cluster also disappear for other reasons.
"""


_STORE = 200 * 2**20
"""Bytes of shared memory for a cluster of our own, which has to hold one line per shard."""

_TAKEN = (
    *("GECJURY_DATA", "GECJURY_DATA_URL", "GECJURY_CACHE", "GECJURY_PRICES"),
    *("HF_HOME", "HF_HUB_CACHE", "HF_HUB_OFFLINE", "OPENAI_BASE_URL", "OMP_NUM_THREADS"),
)
"""Environment variables that remote workers get, too; no key is among them, since Ray shows a
job's environment on its dashboard."""


_QUIET = {
    # Otherwise Ray would report usage statistics to its developers.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray's C++ parts write to our stderr, bypassing Python; important errors are raised anyway.
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}


class ShardActor:
    """A Ray actor with one worker; it gets shards and returns answers as JSON."""

    def __init__(self, job: Mapping[str, object], mark: str, home: str) -> None:
        self._failure = ""
        self._job: ShardJob
        self._finish: Callable[[Shard], ShardSummary]
        # With `python -m gecjury` Ray takes the package's folder for that of a script and puts it
        # first, so that `import datasets` would find `gecjury.datasets`.
        package = Path(errors.__file__).resolve().parents[1]
        sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != package]
        try:
            # Relative paths of models then mean the same as where the command was run.
            with contextlib.suppress(OSError):
                os.chdir(home)
            self._job = from_record(ShardJob, job)
            _see(self._job.folder, mark)

            self._finish = self.load(self._job).finish
            gc.freeze()  # what is loaded stays, so the garbage collector need not search it
        except Exception as error:  # returned as the first answer: Ray would retry forever
            self._failure = json.dumps(failure(error))

    def load(self, job: ShardJob) -> Worker:
        """Create the worker, once."""
        from gecjury.datasets.work import Worker

        return Worker(job)

    def __call__(self, batch: Mapping[str, Iterable[object]]) -> dict[str, list[str]]:
        """Return the answers to shards, both as JSON; errors are answers, too."""
        return {"answer": [self._answer(str(text)) for text in batch["shard"]]}

    def _answer(self, text: str) -> str:
        if self._failure:
            return self._failure
        try:
            shard = from_record(Shard, json.loads(text))
            with _tried(self._job, shard):
                summary = self._finish(shard)
        except Exception as error:
            return json.dumps(failure(error))
        return json.dumps({"answer": asdict(summary)})


class RayEngine:
    """An engine that has shards finished by actors of a Ray cluster.

    Args:
        address: `local` for a new cluster on this machine, which ends with the run; `auto` for the
            one that `$RAY_ADDRESS` or this machine's `ray start` names; or `HOST:PORT`.
        workers: number of actors; None for as many as fit.
        num_gpus: GPUs of each actor; a fraction means a shared GPU.
        num_cpus: CPUs of each actor, and threads of its numerical libraries.
        tell: function that gets lines for the user, such as the dashboard's address.

    Raises:
        OptionError: the address has another form, or a number is not usable.

    Attributes:
        actor: class of the actors on the nodes.
    """

    actor: ClassVar[type[ShardActor]] = ShardActor

    def __init__(
        self,
        address: str = "local",
        workers: int | None = None,
        num_gpus: float = 0.0,
        *,
        num_cpus: float = 1.0,
        tell: Callable[[str], None] = lambda line: None,
    ) -> None:
        self.address = check_cluster_address(address)
        if workers is not None and workers < 1:
            raise OptionError(f"{workers} workers; expected 1 or more")
        if not (0 <= num_gpus < math.inf and 0 < num_cpus < math.inf):
            raise OptionError(
                f"{num_cpus:g} CPUs and {num_gpus:g} GPUs a worker; expected more than 0 CPUs, and "
                "0 GPUs or more"
            )
        self.workers = workers
        self.num_gpus = num_gpus
        self.num_cpus = num_cpus
        self._tell = tell

    def finish(
        self, job: ShardJob, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
    ) -> None:
        """Have every shard finished by the cluster, in any order.

        Args:
            done: called here once a shard's summary is known.

        Raises:
            MissingExtraError: Ray is not installed.
            OptionError: the cluster cannot be reached, or lacks what a worker needs.
            DataError: a node does not see the folder of results.
            OutputError: the folder of results cannot be written.
            IncompleteError: one shard killed its workers repeatedly, or the cluster failed.
            GecjuryError: raised by a worker.
        """
        if not shards:
            return
        ray = _import_ray()
        mark = uuid.uuid4().hex
        token = Path(job.folder, UNFINISHED, f"run-{mark}")
        # Ray prints deaths of workers to stdout, which belongs to the scores.
        with contextlib.redirect_stdout(sys.stderr), self._cluster(ray):
            size = self._pool_size(ray, len(shards))
            try:
                token.parent.mkdir(parents=True, exist_ok=True)
                token.write_text(mark, encoding="utf-8")
            except OSError as error:
                raise unwritable(token, error) from None
            try:
                arguments = asdict(job), mark, str(Path.cwd())
                with (
                    _watched(ray.get_runtime_context().gcs_address, self._tell),
                    contextlib.closing(self._answers(shards, arguments, size)) as answers,
                ):
                    self._stream(ray, answers, shards, done)
            finally:
                token.unlink(missing_ok=True)

    def _stream(
        self,
        ray: ModuleType,
        answers: Iterator[str],
        shards: Sequence[Shard],
        done: Callable[[ShardSummary], None],
    ) -> None:
        """Process the answers of a pool of actors as they arrive."""
        left = {shard.number for shard in shards}
        try:
            for answer in answers:
                summary = from_record(ShardSummary, answered(json.loads(answer)))
                if summary.number in left:  # a lost answer may come twice
                    left.remove(summary.number)
                    done(summary)
        except (ray.exceptions.RayError, ConnectionError) as error:
            why = " ".join(str(getattr(error, "cause", None) or error).split())[:500]
            raise IncompleteError(
                f"Ray gave up with {len(shards) - len(left)} of {len(shards)} shards finished: "
                f"{why}; run the command again to continue with the rest"
            ) from error
        if left:
            raise IncompleteError(
                f"the cluster left {len(left)} of {len(shards)} shards unfinished, e.g. part "
                f"{min(left):06d}: run the command again to continue"
            )

    def _answers(
        self, shards: Sequence[Shard], arguments: Sequence[object], size: int
    ) -> Generator[str]:
        """Yield the actors' answers as they arrive; runs within the cluster.

        Args:
            arguments: arguments of each actor: the job as a record, the mark in the folder of
                results, and the working folder of the driver.
            size: number of actors.
        """
        from ray.data import ActorPoolStrategy

        with _quiet_data() as data:
            rows = data.from_items(
                [{"shard": json.dumps(asdict(shard))} for shard in shards],
                override_num_blocks=len(shards),
            ).map_batches(
                self.actor,
                fn_constructor_args=tuple(arguments),
                batch_size=1,
                # At least one worker, since workers are lost together with their node.
                compute=ActorPoolStrategy(
                    min_size=1, max_size=size, initial_size=size, max_tasks_in_flight_per_actor=2
                ),
                num_cpus=self.num_cpus,
                **({"num_gpus": self.num_gpus} if self.num_gpus else {}),
            )
            with _ended_threads(), contextlib.closing(iter(rows.iter_rows())) as iterator:
                for row in iterator:
                    yield str(row["answer"])

    @contextlib.contextmanager
    def _cluster(self, ray: ModuleType) -> Iterator[None]:
        """Connect to a cluster or start one; disconnect or stop it at the end in any case."""
        if ray.is_initialized():
            # An existing session of the calling program is used, and is not ended.
            if self.address not in ("local", "auto"):
                raise OptionError(
                    f"the address {self.address}: this process has a Ray session already; use "
                    "auto to work in it, or end it with ray.shutdown()"
                )
            yield
            return
        for name, value in _QUIET.items():
            os.environ.setdefault(name, value)
        try:
            if self.address != "local":
                _knock(self.address)
            with silenced(2):
                context = self._connect(ray)
        except GecjuryError:
            raise
        except Exception as error:  # Ray raises many classes, including RuntimeError
            with contextlib.suppress(Exception):
                ray.shutdown()
            raise OptionError(self._unreached(error)) from error
        try:
            address = getattr(context, "dashboard_url", None)
            if address:
                self._tell(f"Ray's dashboard: http://{address}")
            yield
        finally:
            ray.shutdown()

    def _connect(self, ray: ModuleType) -> RayContext:
        """Connect to Ray and return its context."""
        import logging

        # Workers without GPUs must not see any: all would load their models onto the first one.
        env = {"PYTHONSAFEPATH": "1"} | ({} if self.num_gpus else {"CUDA_VISIBLE_DEVICES": ""})
        local: dict[str, object] = {}
        runtime: dict[str, object] = {"env_vars": env}
        if self.address == "local":
            env |= child_environment()
            local = {
                "num_cpus": max(1, math.ceil((self.workers or _processors()) * self.num_cpus)),
                "include_dashboard": _has_dashboard(),
                "object_store_memory": _STORE,
            }
        else:
            env |= {name: os.environ[name] for name in _TAKEN if name in os.environ}
            # The same code on all nodes; its requirements must be installed there.
            runtime["py_modules"] = [str(Path(errors.__file__).resolve().parents[1])]
        # Without a folder of their own, workers would import from this process's.
        with tempfile.TemporaryDirectory() as empty:
            runtime["working_dir"] = empty
            return ray.init(
                address=self.address,
                runtime_env=runtime,
                log_to_driver=False,
                logging_level=logging.ERROR,
                **local,
            )

    def _unreached(self, error: Exception) -> str:
        why = " ".join(str(error).split())[:300] or type(error).__name__
        if self.address == "local":
            return f"Ray could not be started on this machine: {why}"
        # Our message comes first, since Ray's is about functions that the user never called.
        if self.address == "auto":
            return (
                "the address auto: no Ray cluster was found here; start one with `ray start "
                f"--head`, or set RAY_ADDRESS to HOST:PORT of one (Ray says: {why})"
            )
        message = (
            f"the address {self.address}: no connection to a Ray cluster there (Ray says: {why})"
        )
        if "connect" not in why and "token" not in why.lower():
            return message
        return (
            f"{message}; a cluster with tokens needs RAY_AUTH_MODE=token here, and the token where "
            "Ray looks for it (`ray get-auth-token`)"
        )

    def _pool_size(self, ray: ModuleType, shards: int) -> int:
        """Return the number of actors: as set, or as many as fit; at most one per shard."""
        # Per node, since a worker cannot use two halves of a GPU on two nodes.
        nodes = [node["Resources"] for node in ray.nodes() if node.get("Alive")]
        fit = sum(_places(node, self.num_cpus, self.num_gpus) for node in nodes)
        has = (
            f"{sum(n.get('CPU', 0) for n in nodes):g} CPUs and "
            f"{sum(n.get('GPU', 0) for n in nodes):g} GPUs on {len(nodes)} "
            f"node{'s' if len(nodes) != 1 else ''}"
        )
        asks = f"{self.num_cpus:g} CPUs and {self.num_gpus:g} GPUs"
        if not fit and self.address == "local":
            raise OptionError(f"a worker needs {asks}; Ray sees {has} here")
        wanted = min(self.workers or max(fit, 1), shards)
        if wanted != fit:
            self._tell(f"{wanted} workers of {asks}; {fit} would fit now (the cluster has {has})")
        return wanted


def check_cluster_address(address: str) -> str:
    """Return the address itself if Ray accepts its form.

    Raises:
        OptionError: it is not `local`, `auto` or `HOST:PORT`.
    """
    if address in ("local", "auto"):
        return address
    host, port = _host_and_port(address)
    if host and 0 < port < 65536 and not re.search(r"[\s/@?#]", address):
        return address
    raise OptionError(
        f"the address {address!r:.100} of a Ray cluster: expected local, auto or HOST:PORT "
        "(port 6379 unless the cluster says otherwise)"
    )


def _host_and_port(address: str) -> tuple[str, int]:
    """Return host and port of `HOST:PORT`; "" and 0 if not readable."""
    try:
        parts = urlsplit(f"//{address}")
        return parts.hostname or "", parts.port or 0
    except ValueError:
        return "", 0


def _knock(address: str) -> None:
    """Check within seconds that the address is reachable; Ray itself would try for minutes.

    Raises:
        OptionError: it is not.
    """
    named, said = address, f"the address {address}"
    if address == "auto":
        named = os.environ.get("RAY_ADDRESS", "")
        said = f"$RAY_ADDRESS {named}"
    host, port = _host_and_port(named)
    if not host or not port:
        return  # no address; Ray notices that immediately
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise OptionError(
            f"{said}: no Ray cluster answers there ({why}); is it running, and is this machine "
            "one of its nodes?"
        ) from None


@contextlib.contextmanager
def _watched(address: str, tell: Callable[[str], None]) -> Iterator[None]:
    """Tell the user if the cluster's first node dies: Ray then ends this process, and says nothing.

    Args:
        address: where the node answers.
        tell: function that gets the line for the user, in another thread.
    """
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(_PATIENCE):
            try:
                _knock(address)
            except OptionError:
                tell(
                    f"the first node of the Ray cluster ({address}) does not answer; without it "
                    "Ray ends this command within a minute: run it again to continue"
                )
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        ended.set()


def _import_ray() -> ModuleType:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's warnings about itself
            ray = import_module("ray")
            import_module("ray.data")
    except ImportError as error:
        raise MissingExtraError(
            f"`engine=ray` needs Ray ({error}): {install_hint('ray')}"
        ) from error
    return ray


def _has_dashboard() -> bool:
    """Return True if the packages of Ray's dashboard are installed; without them Ray warns."""
    import importlib.util

    return all(importlib.util.find_spec(name) for name in ("aiohttp_cors", "opencensus"))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _places(node: Mapping[str, float], cpus: float, gpus: float) -> int:
    """Return how many workers fit on a node."""
    places = int(node.get("CPU", 0) / cpus + 1e-9)
    return min(places, int(node.get("GPU", 0) / gpus + 1e-9)) if gpus else places


@contextlib.contextmanager
def _quiet_data() -> Iterator[ModuleType]:
    """Yield Ray Data without its progress bars and messages; restore its settings afterwards."""
    import logging

    import ray.data

    context = ray.data.DataContext.get_current().copy()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    # An answer is one short line, so no more shared memory needs to be reserved.
    context.target_max_block_size = 2**20
    logger = logging.getLogger("ray.data")
    handlers = [h for h in logger.handlers if isinstance(h, logging.StreamHandler)]
    levels = [handler.level for handler in handlers]
    for handler in handlers:
        handler.setLevel(logging.CRITICAL)
    try:
        with ray.data.DataContext.current(context):
            yield ray.data
    finally:
        for handler, level in zip(handlers, levels, strict=True):
            handler.setLevel(level)


@contextlib.contextmanager
def _ended_threads() -> Iterator[None]:
    """Wait for the threads that Ray Data starts for an iteration.

    After an error they are still fetching blocks. A thread that asks Ray for one after
    `ray.shutdown()` ends the whole process with status 1, without a message.
    """
    before = set(threading.enumerate())
    try:
        yield
    finally:
        for thread in set(threading.enumerate()) - before:
            thread.join(1)  # one that only waits for work is harmless and may outlive the iteration


def _see(folder: str, mark: str) -> None:
    """Check that this machine sees the driver's folder of results.

    Raises:
        DataError: it does not; names the machine.
    """
    with contextlib.suppress(OSError):
        if Path(folder, UNFINISHED, f"run-{mark}").read_text(encoding="utf-8") == mark:
            return
    raise DataError(
        f"the machine {socket.gethostname()} does not see the same {folder} as this one: a "
        "cluster's nodes need the dataset and the folder of results on a file system that they "
        "share, under the same path"
    )


@contextlib.contextmanager
def _tried(job: ShardJob, shard: Shard) -> Iterator[None]:
    """Count how often a shard was begun but not ended.

    Raises:
        IncompleteError: it was begun too often; names file and rows.
        OutputError: the folder cannot be written.
    """
    note = Path(job.folder, UNFINISHED, f"{shard.name}.begun")
    try:
        with note.open("ab") as stream:
            before = stream.tell()
            stream.write(b".")
    except OSError as error:
        raise unwritable(note, error) from None
    if before >= _TRIES:
        note.unlink(missing_ok=True)
        raise workers_died(job, shard, f"{before} times (often for lack of memory)")
    try:
        yield
    finally:  # an error is an end, too; only a death leaves the note
        note.unlink(missing_ok=True)
