"""Training jobs: the input and the output folder that all kinds of models have in common."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from gecjury.core.errors import OptionError
from gecjury.core.records import from_record
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_json, write_text
from gecjury.corpus.leakage import sentence_key
from gecjury.corpus.splits import Split
from gecjury.models.checkpoints import resolve
from gecjury.models.networks import read_config
from gecjury.models.origin import KEYS_FILE, MANIFEST
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.nets.trainable import check_layers
from gecjury.refless.training.recipe import BaseRecipe, Intermediate, Recipe
from gecjury.refless.training.steps.detection import detection_keys
from gecjury.refless.training.steps.intermediate import IntermediateData, Step, run_intermediate
from gecjury.refless.training.trainer import is_main_process
from gecjury.refless.training.watching import HISTORY_FILE, History, Ledger, Watch, check_reporting

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """The input of every training besides its data.

    Attributes:
        recipe: how the model is trained.
        folder: output folder; its subfolder `checkpoints` exists until the training ends.
        runtime: device, batch size for evaluation, progress.
        steps: data for the steps before the main training.
        origin: names of the data, for the model card.
        notes: warnings for the model card, e.g. about leakage.
        recipe_name: the named recipe that the options came from, for card and manifest; empty for
            none.
        license: licence of the model, for its card; empty for none.
        report_to: services that transformers reports to while it trains (`tensorboard`, ...).
        logs: folder for TensorBoard; None for `logs` in the output folder.
        drawn: called with the history (see `History`) whenever it has changed.
        told: called with a message for each part that an earlier run finished or started.
    """

    recipe: BaseRecipe
    folder: Path
    runtime: Runtime
    steps: IntermediateData | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    recipe_name: str = ""
    license: str = ""
    report_to: tuple[str, ...] = ()
    logs: Path | None = None
    drawn: Callable[[Mapping[str, Any]], None] | None = None
    told: Callable[[str], None] = lambda line: None

    @property
    def work(self) -> Path:
        """The folder for checkpoints, which is deleted at the end."""
        return self.folder / "checkpoints"

    def watch(self) -> Watch:
        """Return the watch that records the run; it continues the records of an earlier run.

        Raises:
            OptionError: the encoder has fewer layers than are to be frozen, or transformers
                does not know a service.
            MissingExtraError: the package of a service is not installed.
        """
        check_reporting(self.report_to)
        if self.recipe.settings.freeze_layers:
            config = read_config(resolve(self.recipe.encoder))
            check_layers(config, self.recipe.settings.freeze_layers)
        return Watch(
            History(self.folder / HISTORY_FILE, self.drawn),
            Ledger(self.work / "effort.json" if is_main_process() else None),
            self.report_to,
            self.logs or self.folder / "logs",
            told=self.told,
        )

    def run_step(
        self, kind: Intermediate, start: str, folder: Path, data: IntermediateData, watch: Watch
    ) -> tuple[str, dict[str, float]]:
        """Run a step before the main training; see `run_intermediate`.

        Returns:
            The folder of the model, from which the next step starts; and the dev figures.
        """
        step = Step(
            kind=kind,
            start=start,
            folder=folder,
            data=data,
            settings=self.recipe.step_settings,
            runtime=self.runtime,
            watch=watch,
            error_weight=self.recipe.detection_weight,
        )
        with watch.ledger.stage(f"step {kind}"):
            return str(folder / "model"), run_intermediate(step)

    def finished(self, run: str, report: type[_T]) -> _T | None:
        """Return the report of an earlier, finished run in the folder; None if there is none.

        Args:
            run: fingerprint of this run.
            report: type of the report, which is part of the manifest.

        Raises:
            OptionError: the folder contains another model.
        """
        path = self.folder / MANIFEST
        if not path.exists():
            return None
        record = read_json(path, "the manifest of a training")
        try:
            if isinstance(record, dict) and run in (record.get("asked"), record.get("run")):
                return from_record(report, record)
        except ValueError:
            pass  # A damaged report is treated like another model: it must not be overwritten.
        raise OptionError(
            f"{self.folder}: contains a model of other settings or data; name another folder, or "
            "remove this one"
        )

    def finish(self, texts: Iterable[str], record: Mapping[str, Any], card: str) -> None:
        """Write hashes, card and manifest, which mark the model as complete; delete checkpoints.

        Args:
            texts: sentences that were used for training or for choices; their hashes are stored.
            record: the manifest, without the entries that all manifests have.
            card: the model card.
        """
        common = {"language": self.recipe.language}
        common |= {"recipe": self.recipe_name} if self.recipe_name else {}
        labelled = None if self.steps is None else self.steps.labelled
        keys = {sentence_key(text) for text in texts if text}
        # The sentences that a detector was trained on are training data of the model as well.
        keys |= detection_keys(labelled, self.recipe.detector)
        # The manifest comes last: without it, the folder is not finished and can be resumed.
        write_text(self.folder / KEYS_FILE, "\n".join(sorted(keys)) + "\n")
        write_text(self.folder / "README.md", card)
        kept = {name: value for name, value in {**record, **common}.items() if value is not None}
        write_text(self.folder / MANIFEST, json.dumps(kept, indent=1))
        shutil.rmtree(self.work, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class Job(TrainingJob):
    """The input of one training of a SOME.

    With `drawn`, kernel regression is also fitted to parts of the data, for a learning curve.

    Attributes:
        recipe: how the model is trained.
        data: rated sentences.
        split: its parts.
        extra: further rated sentences of some of the aspects, for training only.
    """

    recipe: Recipe
    data: Annotations
    split: Split
    extra: Sequence[Annotations] = ()
