"""Training jobs: the input and the output folder that all kinds of models have in common."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from gecjury.core.durable import refuse_linked_folders, write_text
from gecjury.core.errors import OptionError
from gecjury.core.records import from_record
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_json
from gecjury.corpus.fingerprints import fingerprint
from gecjury.corpus.leakage import sentence_key
from gecjury.corpus.splits import Split
from gecjury.models.checkpoints import resolve
from gecjury.models.networks import read_config
from gecjury.models.origin import KEYS_FILE, MANIFEST
from gecjury.refless.data.annotations import Annotations
from gecjury.refless.data.labelled import LabelledText, detection_keys
from gecjury.refless.nets.trainable import check_layers
from gecjury.refless.training.recipe import BaseRecipe, Recipe
from gecjury.refless.training.watching import HISTORY_FILE, Watch

_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class TrainingJob:
    """The input of every training besides its data.

    Attributes:
        recipe: how the model is trained.
        folder: output folder; its subfolder `checkpoints` exists until the training ends.
        runtime: device, batch size for evaluation, progress.
        detection: text for learning error detection before the main training.
        origin: names of the data, for the model card.
        notes: warnings for the model card, e.g. about leakage.
        recipe_name: the named recipe that the options came from, for card and manifest; empty for
            none.
    """

    recipe: BaseRecipe
    folder: Path
    runtime: Runtime
    detection: LabelledText | None = None
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    recipe_name: str = ""

    @property
    def work(self) -> Path:
        """The folder for checkpoints, which is deleted at the end."""
        return self.folder / "checkpoints"

    @property
    def start(self) -> str:
        """The folder or hub name of the model that is trained."""
        return self.recipe.detector or self.recipe.encoder

    def run(self, *data: str) -> str:
        """Return the fingerprint of everything that determines the weights.

        Args:
            *data: the training data, or its fingerprints.
        """
        before = [] if self.detection is None else [self.detection.print]
        return fingerprint([self.recipe.deciding(), *before, *data])

    def watch(self) -> Watch:
        """Return the watch that records the run; it continues the records of an earlier run.

        Raises:
            OptionError: the encoder has fewer layers than are to be frozen.
        """
        if self.recipe.settings.freeze_layers:
            config = read_config(resolve(self.recipe.encoder))
            check_layers(config, self.recipe.settings.freeze_layers)
        return Watch(self.folder / HISTORY_FILE, self.runtime.tell)

    def finished(self, run: str, report: type[_T]) -> _T | None:
        """Return the report of an earlier, finished run in the folder; None if there is none.

        Args:
            run: fingerprint of this run.
            report: type of the report, which is part of the manifest.

        Raises:
            OptionError: the folder contains another model.
            OutputError: a folder in it is a link.
        """
        refuse_linked_folders(self.folder)
        path = self.folder / MANIFEST
        if not path.exists():
            return None
        record = read_json(path, "the manifest of a training")
        try:
            if isinstance(record, dict) and run == record.get("run"):
                return from_record(report, record)
        except ValueError:
            pass  # A damaged report is treated like another model: it must not be overwritten.
        raise OptionError(
            f"{self.folder}: contains a model of other settings or data; name another folder, or "
            "remove this one"
        )

    def finish(self, texts: Iterable[str], record: Mapping[str, object], card: str) -> None:
        """Write hashes, card and manifest, which mark the model as complete; delete checkpoints.

        Args:
            texts: sentences that were used for training or for choices; their hashes are stored.
            record: the manifest, without the entries that all manifests have.
            card: the model card.
        """
        common = {"language": self.recipe.language}
        common |= {"recipe": self.recipe_name} if self.recipe_name else {}
        keys = {sentence_key(text) for text in texts if text}
        # The sentences that a detector was trained on are training data of the model as well.
        keys |= detection_keys(self.detection, self.recipe.detector)
        # The manifest comes last: without it, the folder is not finished and can be resumed.
        write_text(self.folder / KEYS_FILE, "\n".join(sorted(keys)) + "\n")
        write_text(self.folder / "README.md", card)
        kept = {name: value for name, value in {**record, **common}.items() if value is not None}
        write_text(self.folder / MANIFEST, json.dumps(kept, indent=1))
        shutil.rmtree(self.work, ignore_errors=True)


@dataclass(frozen=True, kw_only=True)
class JobSettings(TrainingJob):
    """The input of one training of a SOME.

    Attributes:
        recipe: how the model is trained.
        data: rated sentences.
        split: its parts.
    """

    recipe: Recipe
    data: Annotations
    split: Split
