"""Reports of a running training.

Nothing here affects the training, and no training text is reported.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from gecjury.core.durable import write_text
from gecjury.core.records import read_record

_T = TypeVar("_T")

HISTORY_FILE = "history.json"


def kept_record(kind: type[dict[str, _T]], path: Path | None) -> dict[str, _T]:
    """Return the record that an earlier run wrote to a file; an empty record without a file.

    Args:
        kind: type of the record; see `gecjury.core.records.from_record`.

    Raises:
        InputError: the file contains something else.
    """
    if path is None or not path.exists():
        return {}
    return read_record(kind, path, "a record of a training", "remove it and train again")


class Watch:
    """Losses and dev figures of every model of a run, written to a file while it runs.

    The file contains `models`, by name, each with `losses` (step, epoch, loss, learning rate),
    `dev` (step, epoch, score and the figures that it is the mean of) and `best`, the epoch that was
    kept.

    Attributes:
        told: called with a message for each part that an earlier run finished or started.
    """

    def __init__(self, path: Path, told: Callable[[str], None] = lambda line: None) -> None:
        """Continue the history that an earlier run wrote."""
        self.path, self.told = path, told
        earlier = kept_record(dict[str, dict[str, object]], path)
        self.content: dict[str, dict[str, object]] = {"models": {}, **earlier}

    def note(self, model: str, log: Sequence[Mapping[str, float]]) -> None:
        """Record a model's history.

        Args:
            log: everything that the Trainer has logged for it so far.
        """
        columns = ("step", "epoch", "loss", "learning_rate")
        losses = [
            {key: float(entry[key]) for key in columns if key in entry}
            for entry in log
            if "loss" in entry
        ]
        # Checkpoints sort the keys, so the log of a resumed run has another order.
        dev = [dict(sorted(entry.items())) for entry in dev_figures(log)]
        # The first epoch among equal scores, which is the one that the Trainer keeps.
        best = max(dev, key=lambda entry: entry["score"], default={})
        self.content["models"][model] = {"losses": losses, "dev": dev, "best": best.get("epoch")}
        write_text(self.path, json.dumps(self.content, indent=1))


def dev_figures(log: Sequence[Mapping[str, float]]) -> list[dict[str, float]]:
    """Return the dev figures in the Trainer's log, where they have the prefix `eval_`."""
    return [
        {key.removeprefix("eval_"): value for key, value in entry.items()}
        for entry in log
        if "eval_score" in entry
    ]
