"""Reports of a training while it runs: curves, seconds and memory, logs for TensorBoard and others.

Nothing here reads or decides what is learnt, and no text that is learnt from is reported.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gecjury.errors import MissingExtraError, known_name
from gecjury.records import read_record
from gecjury.refless.nets.regressor import output_errors
from gecjury.textfiles import write_text

HISTORY_FILE = "history.json"

Stage = Mapping[str, float]
"""`seconds` and `processor` seconds, added up over runs that went on, and `gigabytes`."""


def kept_record(kind: Any, path: Path | None) -> Any:
    """Return what an earlier run wrote into a file of its own; an empty record without a file.

    Args:
        kind: type of the record; see `gecjury.records.from_record`.
        path: of the file.

    Raises:
        InputError: the file holds something else.
    """
    if path is None or not path.exists():
        return {}
    return read_record(kind, path, "a record of a training", "remove it and train anew")


class History:
    """Losses and dev figures of every model of a run, as they come, in a file.

    The file holds `models`, by name each with `losses` (step, epoch, loss, learning rate), `dev`
    (step, epoch, score and what it is the mean of) and `best`, the epoch that was kept; and
    `kernel`, dev Spearman of each aspect by rows learnt from.
    """

    def __init__(
        self, path: Path, drawn: Callable[[Mapping[str, Any]], None] | None = None
    ) -> None:
        """Go on with what an earlier run wrote.

        Args:
            path: of the file.
            drawn: called with everything whenever something has come.
        """
        self.path = path
        self.drawn = drawn
        earlier = kept_record(Mapping[str, Mapping[str, Any]], path)
        self.content: dict[str, Any] = {"models": {}, **earlier}

    def note(self, model: str, log: Sequence[Mapping[str, Any]]) -> None:
        """Keep a model's history.

        Args:
            model: name.
            log: everything that the Trainer has logged of it so far.
        """
        columns = ("step", "epoch", "loss", "learning_rate")
        losses = [
            {key: float(entry[key]) for key in columns if key in entry}
            for entry in log
            if "loss" in entry
        ]
        dev = dev_figures(log)
        # Of equal scores the first epoch, as the Trainer keeps it.
        best = max(range(len(dev)), key=lambda row: dev[row]["score"], default=None)
        self.content["models"][model] = {
            "losses": losses,
            "dev": dev,
            "best": None if best is None else dev[best].get("epoch"),
        }
        self._write()

    def note_kernel(self, curves: Mapping[str, Mapping[int, float]]) -> None:
        """Keep dev Spearman by rows learnt from, of each aspect."""
        self.content["kernel"] = {
            aspect: [{"rows": rows, "score": score} for rows, score in sorted(curve.items())]
            for aspect, curve in curves.items()
        }
        self._write()

    def _write(self) -> None:
        write_text(self.path, json.dumps(self.content, indent=1))
        if self.drawn is not None:
            self.drawn(self.content)


def dev_figures(log: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """Return the dev figures among all that the Trainer has logged, where `eval_` marks them."""
    return [
        {key.removeprefix("eval_"): value for key, value in entry.items()}
        for entry in log
        if "eval_score" in entry
    ]


def held_memory() -> float:
    """Return the most memory held by this process so far, in gigabytes; 0 where it is unknown."""
    import sys

    try:
        import resource
    except ImportError:  # not on Windows
        return 0.0
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return float(most * (1 if sys.platform == "darwin" else 1024) / 1e9)


class Ledger:
    """Seconds and memory of each stage of a run, added up over runs that went on.

    They are written where checkpoints are: what a killed run did since is done again, and its first
    time is not counted.
    """

    def __init__(self, path: Path | None) -> None:
        """Go on with what an earlier run wrote.

        Args:
            path: of the file; None writes none, as in further processes of a distributed run.
        """
        self.path = path
        earlier = kept_record(Mapping[str, Mapping[str, float]], path)
        self.stages: dict[str, dict[str, float]] = dict(earlier)
        self._running: tuple[str, float, float] | None = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what is done within as this stage's."""
        self._running = (name, time.perf_counter(), time.process_time())
        try:
            yield
            self.mark()
        finally:
            self._running = None

    def mark(self) -> None:
        """Write what has been done so far: it will not be done again."""
        if self._running is None:
            return
        # What follows is counted from here, so that a stage may be marked after every epoch.
        name, wall, processor = self._running
        self._running = (name, time.perf_counter(), time.process_time())
        stage = self.stages.setdefault(name, {"seconds": 0.0, "processor": 0.0, "gigabytes": 0.0})
        stage["seconds"] += self._running[1] - wall
        stage["processor"] += self._running[2] - processor
        stage["gigabytes"] = max(stage["gigabytes"], held_memory())
        if self.path is not None:
            write_text(self.path, json.dumps(self.stages, indent=1))

    def rounded(self) -> dict[str, dict[str, float]]:
        """Return the stages, in tenths of a second and hundredths of a gigabyte."""
        return {
            name: {key: round(value, 2 if key == "gigabytes" else 1) for key, value in s.items()}
            for name, s in self.stages.items()
        }


@dataclass(frozen=True)
class Watch:
    """The history, the ledger and the services that are told how a run goes, or one model of it.

    Attributes:
        history: keeps the curves of all models of the run.
        ledger: counts its time.
        report_to: what transformers reports to (`tensorboard`, `wandb`, ...).
        logs: folder for TensorBoard; of a run, with one folder a model.
        name: of the model; empty for the run.
        told: called with a line for each part that an earlier run finished or began.
    """

    history: History
    ledger: Ledger
    report_to: tuple[str, ...]
    logs: Path
    name: str = ""
    told: Callable[[str], None] = lambda line: None

    def of(self, name: str) -> Watch:
        """Return the watch of the training of one model.

        Args:
            name: of the model.
        """
        place = self.logs / name.replace(" ", "-").replace("/", "-")
        return replace(self, name=name, logs=place)

    def epoch(self, log: Sequence[Mapping[str, Any]]) -> None:
        """Note that a checkpoint was written; `log` is all that was logged so far."""
        self.ledger.mark()
        self.history.note(self.name, log)


def check_reporting(names: Sequence[str]) -> None:
    """Refuse what transformers cannot report to, before anything is trained.

    Raises:
        OptionError: transformers knows no such name.
        MissingExtraError: its package is not installed.
    """
    if not names:
        return
    from transformers.integrations import get_available_reporting_integrations
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    services = sorted(INTEGRATION_TO_CALLBACK)
    # Of flyte transformers does not ask whether it is there.
    there = {*get_available_reporting_integrations(), "flyte"}
    for name in names:
        if known_name("service for --report-to", name, services) not in there:
            package = {"azure_ml": "azureml-mlflow"}.get(name, name)
            raise MissingExtraError(
                f"--report-to {name}: its package is not installed: pip install {package}"
            )


def reporters(watch: Watch, checkpoint: str | None) -> list[Any]:
    """Return callbacks of transformers' Trainer for what it is to report to.

    Args:
        watch: says to what, and where logs lie.
        checkpoint: that a broken run goes on from; what it logged after it is taken back.

    Raises:
        OutputError: the folder for logs cannot be written.
    """
    from transformers.integrations.integration_utils import INTEGRATION_TO_CALLBACK

    # A checkpoint's name ends in its step.
    after = int(checkpoint.rpartition("-")[2]) + 1 if checkpoint else None
    callbacks = []
    for name in watch.report_to:
        if name == "tensorboard":
            # A writer of our own, since the place and what is taken back are options of it alone.
            with output_errors(watch.logs):
                watch.logs.mkdir(parents=True, exist_ok=True)
                writer = _summary_writer()(str(watch.logs), purge_step=after)
            callbacks.append(INTEGRATION_TO_CALLBACK[name](writer))
        else:
            callbacks.append(INTEGRATION_TO_CALLBACK[name]())
    return callbacks


def _summary_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        from tensorboardX import SummaryWriter
    return SummaryWriter
