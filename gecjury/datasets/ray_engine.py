"""Shards finished by a Ray cluster: Ray Data over descriptors, one worker an actor.

What travels is the job and the shards as JSON; rows are read, and parts written, where the actor
lives, so that every node has to see the dataset and the folder of results under the same path.
Ray starts actors, spreads shards over them and starts them again elsewhere when a process or a
node dies; a shard done twice writes the same bytes twice.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import socket
import sys
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import urlsplit

from gecjury import errors
from gecjury.datasets.engines import workers_died
from gecjury.datasets.output import UNFINISHED
from gecjury.datasets.shards import Job, Shard, ShardSummary
from gecjury.durable import unwritable
from gecjury.errors import (
    DataError,
    GecjuryError,
    IncompleteError,
    MissingExtraError,
    OptionError,
    install_hint,
)
from gecjury.processes import answered, failure
from gecjury.runtime import silenced

_PATIENCE = 5.0
"""Seconds that a cluster has for taking a connection."""

_TRIES = 5
"""How often a shard is begun before it is held to be what kills workers.

More than the local engine's three: nodes of a cluster also go for reasons of their own.
"""


_STORE = 200 * 2**20
"""Bytes of shared memory that a cluster of one's own gets: what passes is a line a shard."""

_TAKEN = (
    "GECJURY_DATA",
    "GECJURY_DATA_URL",
    "GECJURY_CACHE",
    "HF_HOME",
    "HF_HUB_CACHE",
    "HF_HUB_OFFLINE",
    "OPENAI_BASE_URL",
    "OMP_NUM_THREADS",
)
"""Variables of the environment that workers elsewhere get as well; no key is among them, since
Ray shows a job's environment on its dashboard."""


_QUIET = {
    # Ray would otherwise send its makers what is run, and where.
    "RAY_USAGE_STATS_ENABLED": "0",
    # Its C++ parts write to our stderr, past any stream of Python's; what matters of it is raised.
    "RAY_BACKEND_LOG_LEVEL": "fatal",
}


class ShardActor:
    """An actor of Ray with one worker; it answers shards in JSON with JSON."""

    def __init__(self, job: str, mark: str, home: str) -> None:
        self._worker: Any = None
        self._failure = ""
        self._job: Job
        # Of `python -m gecjury` Ray takes the package's folder for that of a script, and puts it
        # first: this room would then be what `import datasets` finds.
        package = Path(errors.__file__).resolve().parent
        sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != package]
        try:
            # Relative names of models mean the same as where the command was given.
            with contextlib.suppress(OSError):
                os.chdir(home)
            self._job = Job.from_json(job)
            _see(self._job.folder, mark)

            self._worker = self.load(self._job)
        except Exception as error:  # told by the first answer: Ray would start it for ever
            self._failure = json.dumps(failure(error))

    def load(self, job: Job) -> Any:
        """Make the worker, once.

        Args:
            job: what is to be done with each.
        """
        from gecjury.datasets.work import Worker

        return Worker(job)

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, list[str]]:
        """The answers to shards, JSON to JSON; errors are answers too."""
        return {"answer": [self._answer(str(text)) for text in batch["shard"]]}

    def _answer(self, text: str) -> str:
        if self._failure:
            return self._failure
        try:
            shard = Shard.from_json(text)
            with _tried(self._job, shard):
                summary: ShardSummary = self._worker.finish(shard)
        except Exception as error:
            return json.dumps(failure(error))
        return json.dumps({"answer": summary.to_json()})


class RayEngine:
    """Has shards finished by actors of a Ray cluster.

    Args:
        address: `local` for a cluster of one's own on this machine, which ends with the run;
            `auto` for the one that `$RAY_ADDRESS` or this machine's `ray start` names;
            `HOST:PORT` or `ray://HOST:PORT`.
        workers: how many actors; None for as many as fit.
        num_gpus: that each asks for; a part of one is shared.
        num_cpus: that each asks for, and threads of its numerical libraries.
        tell: where lines for the user go, such as the dashboard's address.

    Raises:
        OptionError: an address of another form, or a number that nothing can be done with.

    Attributes:
        actor: class of what is kept on the nodes.
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
        self, job: Job, shards: Sequence[Shard], done: Callable[[ShardSummary], None]
    ) -> None:
        """Have every shard finished by the cluster, in any order.

        Args:
            job: what is to be done with each.
            shards: those that are left.
            done: called here once a shard's summary is known.

        Raises:
            MissingExtraError: Ray is not installed.
            OptionError: the cluster cannot be reached, or has not what a worker asks for.
            DataError: a node does not see the folder of results.
            OutputError: the folder of results cannot be written.
            IncompleteError: workers died over one shard again and again, or the cluster failed.
            GecjuryError: what a worker raised.
        """
        if not shards:
            return
        ray = _import_ray()
        mark = uuid.uuid4().hex
        token = Path(job.folder, UNFINISHED, f"run-{mark}")
        with _without_lines_of_ray(), self._cluster(ray):
            # Plain values apart from the class: a client of a cluster sends them on.
            pool = {
                "actor": self.actor,
                "arguments": (job.to_json(), mark, str(Path.cwd())),
                "size": self._pool_size(ray, len(shards)),
                "num_cpus": self.num_cpus,
                "num_gpus": self.num_gpus,
            }
            try:
                token.parent.mkdir(parents=True, exist_ok=True)
                token.write_text(mark, encoding="utf-8")
            except OSError as error:
                raise unwritable(token, error) from None
            try:
                self._stream(ray, pool, shards, done)
            finally:
                token.unlink(missing_ok=True)

    def _stream(
        self,
        ray: Any,
        pool: dict[str, Any],
        shards: Sequence[Shard],
        done: Callable[[ShardSummary], None],
    ) -> None:
        """Pass the shards through a pool of actors, and take their answers as they come."""
        left = {shard.number for shard in shards}
        lines = [shard.to_json() for shard in shards]
        # Ray Data does not run in a client of a cluster (`ray://`), only within it.
        far = self.address.startswith("ray://")
        try:
            answers = _answers_from_afar(ray, pool, lines) if far else answers_within(lines, **pool)
            for answer in answers:
                summary = ShardSummary.from_json(answered(json.loads(answer)))
                if summary.number in left:  # a lost answer may come twice
                    left.remove(summary.number)
                    done(summary)
        except (ray.exceptions.RayError, ConnectionError) as error:
            why = " ".join(str(getattr(error, "cause", None) or error).split())[:500]
            raise IncompleteError(
                f"Ray gave up with {len(shards) - len(left)} of {len(shards)} shards finished: "
                f"{why}; give the command again to go on with the rest"
            ) from error
        if left:
            raise IncompleteError(
                f"the cluster left {len(left)} of {len(shards)} shards undone, e.g. part "
                f"{min(left):06d}: give the command again to go on"
            )

    @contextlib.contextmanager
    def _cluster(self, ray: Any) -> Iterator[None]:
        """Connect, or start a cluster of one's own; leave it, or end it, whatever happens."""
        if ray.is_initialized():
            # A program's own session is used, and stays.
            if self.address not in ("local", "auto"):
                raise OptionError(
                    f"--address {self.address}: this process has a Ray session already; take "
                    "auto to use it, or end it with ray.shutdown()"
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
        except Exception as error:  # Ray's own are of many classes, RuntimeError among them
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

    def _connect(self, ray: Any) -> Any:
        """Connect to Ray and return its context."""
        import logging

        root = Path(errors.__file__).resolve().parents[1]
        # Who asks for no GPU gets none: all would otherwise load their models onto the first.
        seen = {} if self.num_gpus else {"CUDA_VISIBLE_DEVICES": ""}
        common: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if self.address == "local":
            path = os.pathsep.join(filter(None, (str(root), os.environ.get("PYTHONPATH"))))
            return ray.init(
                address="local",
                num_cpus=max(1, math.ceil((self.workers or _processors()) * self.num_cpus)),
                include_dashboard=_has_dashboard(),
                object_store_memory=_STORE,
                runtime_env={"env_vars": {"PYTHONPATH": path, **seen}},
                **common,
            )
        taken = {name: os.environ[name] for name in _TAKEN if name in os.environ}
        return ray.init(
            address=self.address,
            # The same code everywhere; what it needs is installed there.
            runtime_env={"py_modules": [str(root / "gecjury")], "env_vars": taken | seen},
            **common,
        )

    def _unreached(self, error: Exception) -> str:
        why = " ".join(str(error).split())[:300] or type(error).__name__
        if self.address == "local":
            return f"Ray could not be started on this machine: {why}"
        # Ours first: what Ray says speaks of its own functions, which the user never called.
        if self.address == "auto":
            return (
                "--address auto: no Ray cluster was found here; start one with `ray start --head`, "
                "name one with --address ray://HOST:10001 or $RAY_ADDRESS, or use --address local "
                f"(Ray says: {why})"
            )
        hint = ""
        if "connect" in why or "token" in why.lower():
            hint = (
                "; a cluster that asks for a token wants RAY_AUTH_MODE=token here, and the token "
                "where Ray looks for it (`ray get-auth-token`)"
            )
        return (
            f"--address {self.address}: no connection to a Ray cluster there (Ray says: {why})"
            + hint
        )

    def _pool_size(self, ray: Any, shards: int) -> int:
        """How many actors: as asked, or as fit; no more than there are shards."""
        # Node by node: two halves of a GPU on two nodes are no place for a worker.
        nodes = [node["Resources"] for node in ray.nodes() if node.get("Alive")]
        fit = sum(_places(node, self.num_cpus, self.num_gpus) for node in nodes)
        has = (
            f"{sum(n.get('CPU', 0) for n in nodes):g} CPUs and "
            f"{sum(n.get('GPU', 0) for n in nodes):g} GPUs on {len(nodes)} "
            f"node{'s' if len(nodes) != 1 else ''}"
        )
        asks = f"{self.num_cpus:g} CPUs and {self.num_gpus:g} GPUs"
        if not fit and self.address == "local":
            raise OptionError(f"a worker asks for {asks}; Ray sees {has} here")
        if not fit:
            self._tell(
                f"No node has the {asks} that a worker asks for (the cluster has {has}): waiting "
                "until one comes, as where nodes are started on demand; end with Ctrl-C"
            )
        wanted = min(self.workers or max(fit, 1), shards)
        if wanted < min(fit, shards):
            count = f"{wanted} worker{'s' if wanted > 1 else ''}"
            self._tell(f"{count}, where {fit} would fit (--workers {fit})")
        if fit and wanted > fit:
            self._tell(f"{fit} of {wanted} workers fit now (the cluster has {has})")
        return wanted


def answers_within(
    shards: Sequence[str],
    actor: type[ShardActor] | str,
    arguments: Sequence[str],
    size: int,
    num_cpus: float,
    num_gpus: float,
) -> Iterator[str]:
    """Yield the actors' answers as they come; runs within the cluster.

    Args:
        shards: as JSON.
        actor: class of the actors, or `module:name` where it was sent from outside.
        arguments: of each actor: the job as JSON, what the folder of results holds, and the
            working folder of the driver.
        size: how many actors at most.
        num_cpus: of each.
        num_gpus: of each.
    """
    from ray.data import ActorPoolStrategy

    if isinstance(actor, str):
        module, _, name = actor.partition(":")
        actor = getattr(import_module(module), name)
    with _quiet_data() as data:
        rows = data.from_items(
            [{"shard": shard} for shard in shards], override_num_blocks=len(shards)
        ).map_batches(
            actor,
            fn_constructor_args=tuple(arguments),
            batch_size=1,
            # From one worker up: a node that is lost takes its workers with it.
            compute=ActorPoolStrategy(
                min_size=1, max_size=size, initial_size=size, max_tasks_in_flight_per_actor=2
            ),
            num_cpus=num_cpus,
            **({"num_gpus": num_gpus} if num_gpus else {}),
        )
        for row in rows.iter_rows():
            yield str(row["answer"])


def _answers_from_afar(ray: Any, pool: dict[str, Any], shards: Sequence[str]) -> Iterator[str]:
    """Yield the answers to a client: an actor of the cluster collects them, and is asked."""

    class Relay:
        """Of a function, so that it travels whole: a client's server has no package of ours."""

        def __init__(self) -> None:
            self.answers: list[str] = []

        def run(self, pool: dict[str, Any], shards: list[str]) -> None:
            from gecjury.datasets.ray_engine import answers_within

            for answer in answers_within(shards, **pool):
                self.answers.append(answer)

        def since(self, start: int) -> list[str]:
            return self.answers[start:]

    kind = pool["actor"]
    record = {**pool, "actor": f"{kind.__module__}:{kind.__qualname__}"}
    # It takes no processor, which a worker could use, and answers while it collects.
    relay = ray.remote(num_cpus=0, max_concurrency=2)(Relay).remote()
    run = relay.run.remote(record, list(shards))
    taken, ended = 0, False
    while not ended:
        ended = bool(ray.wait([run], timeout=1.0)[0])
        new = ray.get(relay.since.remote(taken))
        taken += len(new)
        yield from new
    ray.get(run)


def check_cluster_address(address: str) -> str:
    """The address itself if it is of a form that Ray takes.

    Raises:
        OptionError: it is none of `local`, `auto`, `HOST:PORT` and `ray://HOST:PORT`.
    """
    if address in ("local", "auto"):
        return address
    host, port = _host_and_port(address)
    if host and 0 < port < 65536 and not re.search(r"[\s/@?#]", address.removeprefix("ray://")):
        return address
    raise OptionError(
        f"--address {address!r:.100}: expected local, auto, HOST:PORT or ray://HOST:PORT (port "
        "10001 unless the cluster says otherwise)"
    )


def _host_and_port(address: str) -> tuple[str, int]:
    """Of `HOST:PORT` or `ray://HOST:PORT`; an empty host and 0 where it cannot be read."""
    try:
        parts = urlsplit(address if "://" in address else f"//{address}")
        if parts.scheme not in ("", "ray"):
            return "", 0
        return parts.hostname or "", parts.port or 0
    except ValueError:
        return "", 0


def _knock(address: str) -> None:
    """Find within seconds whether anybody listens; Ray itself would try for minutes.

    Raises:
        OptionError: nobody does.
    """
    named, said = address, f"--address {address}"
    if address == "auto":
        named = os.environ.get("RAY_ADDRESS", "")
        said = f"$RAY_ADDRESS {named}"
        if not named:
            named = _last_started()
            said = f"--address auto: the last cluster that was started here, {named}"
    host, port = _host_and_port(named)
    if not host or not port:
        return  # there is none, which Ray finds at once
    try:
        socket.create_connection((host, port), timeout=_PATIENCE).close()
    except OSError as error:
        why = error.strerror or str(error) or type(error).__name__
        raise OptionError(
            f"{said}: no Ray cluster answers there ({why}); is it running, and is the port open "
            "(ray://HOST:10001 from outside, HOST:6379 from one of its nodes)?"
        ) from None


def _last_started() -> str:
    """The address that `ray start` left on this machine; empty where there is none."""
    try:
        from ray._private.utils import read_ray_address
    except ImportError:  # not promised to stay
        return ""
    return read_ray_address() or ""


def _import_ray() -> Any:
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Ray's remarks on itself
            import ray
            import ray.data
    except ImportError as error:
        raise MissingExtraError(
            f"--engine ray needs Ray ({error}): {install_hint('ray')}"
        ) from error
    return ray


def _has_dashboard() -> bool:
    """Return True if the packages of Ray's dashboard are installed; without them Ray warns."""
    import importlib.util

    return all(importlib.util.find_spec(name) for name in ("aiohttp_cors", "opencensus"))


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _places(node: Mapping[str, float], cpus: float, gpus: float) -> int:
    """How many workers fit on a node."""
    places = int(node.get("CPU", 0) / cpus + 1e-9)
    return min(places, int(node.get("GPU", 0) / gpus + 1e-9)) if gpus else places


class _Deaf:
    """A stream that takes nothing from Ray's own threads, and passes on all else."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Pass on what is not Ray's."""
        if threading.current_thread().name.startswith("ray_"):
            return len(text)
        written: int = self._stream.write(text)
        return written


@contextlib.contextmanager
def _without_lines_of_ray() -> Iterator[None]:
    """Keep what Ray tells of each death, on stdout and whatever it is told, off the results."""
    out, err = (stream and _Deaf(stream) for stream in (sys.stdout, sys.stderr))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        yield


@contextlib.contextmanager
def _quiet_data() -> Iterator[Any]:
    """Ray Data without its bars and lines, whose settings are as before afterwards."""
    import logging

    import ray.data

    context = ray.data.DataContext.get_current().copy()
    context.enable_progress_bars = False
    context.print_on_execution_start = False
    # One short line an answer: no room in shared memory has to be held for more.
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


def _see(folder: str, mark: str) -> None:
    """Refuse to work where the folder of results is not the driver's.

    Raises:
        DataError: it is not; names the machine.
    """
    with contextlib.suppress(OSError):
        if Path(folder, UNFINISHED, f"run-{mark}").read_text(encoding="utf-8") == mark:
            return
    raise DataError(
        f"the machine {socket.gethostname()} does not see {folder} as this one does: a cluster's "
        "nodes need the dataset and the folder of results on a file system that they share, under "
        "the same path"
    )


@contextlib.contextmanager
def _tried(job: Job, shard: Shard) -> Iterator[None]:
    """Count how often a shard was begun and nobody came to its end.

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
        raise workers_died(job, shard, f"{before} times (often for want of memory)")
    try:
        yield
    finally:  # also where it raised, which is an end; a death leaves the note
        note.unlink(missing_ok=True)
