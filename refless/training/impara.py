"""IMPARA trained: from parallel text to pairs to a ranker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.corpus.corpus import fingerprint
from gecjury.corpus.leakage import normalise, sentence_key
from gecjury.errors import InputError, OptionError
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.refless.data.pairs import Correction, RankedPair, impact_pairs, pairs_print
from gecjury.refless.nets.bundle import IMPARA_FORMAT, KEYS_FILE, MANIFEST
from gecjury.refless.nets.regressor import (
    load_model,
    load_tokenizer,
    output_errors,
    save_model,
)
from gecjury.refless.training.intermediate import freeze_embeddings, pair_accuracy, pair_examples
from gecjury.refless.training.model_card import model_card
from gecjury.refless.training.recipe import TrainSettings
from gecjury.refless.training.trainer import LearningTask, fit, is_main_process, wait_for_all
from gecjury.runtime import Runtime
from gecjury.textfiles import read_json, write_text

__all__ = ["RankerJob", "split_corrections", "train_impara"]

_LEAST = 8
_ENCODER = "encoder"
_Figures = list[dict[str, Any]]


def split_corrections(
    corrections: Sequence[Correction], seed: int, share: float = 0.1
) -> dict[str, list[Correction]]:
    """Draw train, dev and test with every source in one part; `share` each for dev and test."""
    groups: dict[str, list[Correction]] = {}
    for correction in corrections:
        if correction.edits:
            groups.setdefault(normalise(correction.source), []).append(correction)
    keys = list(groups)
    order = np.random.default_rng(seed).permutation(len(keys))
    held = round(share * len(keys))
    parts = {"dev": order[:held], "test": order[held : 2 * held], "train": order[2 * held :]}
    return {name: [c for row in rows for c in groups[keys[row]]] for name, rows in parts.items()}


@dataclass(frozen=True, kw_only=True)
class RankerJob:
    """What one training of an IMPARA is given.

    Attributes:
        corrections: parallel text.
        encoder: hub name, folder or `embedded`: weighs the edits and is then trained.
        settings: see `TrainSettings`; the best checkpoint is that with the best dev accuracy.
        folder: output.
        runtime: device and progress.
        count: pairs for training; an eighth each for dev and test.
        frozen: leave the word embeddings as they are.
        origin: names of the data, for the model card.
        notes: warnings for the model card.
    """

    corrections: Sequence[Correction]
    encoder: str
    settings: TrainSettings
    folder: Path
    runtime: Runtime
    count: int = 4096
    frozen: bool = False
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()


def train_impara(job: RankerJob) -> _Figures:
    """Make pairs, train on them, evaluate and save; a killed run goes on where it stopped.

    Returns:
        For dev and test the share of pairs in the right order, and the number of pairs.

    Raises:
        InputError: fewer than eight pairs can be made for a part.
        OptionError: the folder holds another model.
    """
    settings, folder, runtime = job.settings, job.folder, job.runtime
    pairs = _make_pairs(job)
    run = fingerprint(
        [job.encoder, *(pairs_print(p) for p in pairs.values()), json.dumps(settings.deciding())]
    )
    done = _finished(folder, run)
    if done is not None:
        return done
    from transformers import set_seed

    set_seed(settings.seed)
    tokenizer = load_tokenizer(job.encoder)
    model = load_model(job.encoder, ("rank",))
    if job.frozen:
        freeze_embeddings(model)

    def accuracy(model: Any, part: str) -> float:
        return pair_accuracy(model, tokenizer, pairs[part], settings, runtime)

    work = folder / "checkpoints"
    task = LearningTask(
        model=model,
        tokenizer=tokenizer,
        examples=pair_examples(tokenizer, pairs["train"], settings.max_length),
        evaluate=lambda model: {"score": accuracy(model, "dev")},
        objective="ranking",
        label="impara: training",
    )
    result = fit(task, settings, work, runtime)
    figures: _Figures = [
        {"part": part, "accuracy": accuracy(result.model, part), "pairs": len(pairs[part])}
        for part in ("dev", "test")
    ]
    if is_main_process():
        save_model(result.model, tokenizer, folder)
        _document(job, pairs, figures)
        encoder = job.encoder
        if Path(encoder).is_dir():
            # One that is nowhere but on this machine goes with the model, which names it.
            with output_errors(folder / _ENCODER):
                shutil.copytree(encoder, folder / _ENCODER, dirs_exist_ok=True)
            encoder = _ENCODER
        record = {"format": IMPARA_FORMAT, "encoder": encoder, "run": run, "figures": figures}
        write_text(folder / MANIFEST, json.dumps(record, indent=1))
        shutil.rmtree(work, ignore_errors=True)
    wait_for_all()
    return figures


def _make_pairs(job: RankerJob) -> dict[str, list[RankedPair]]:
    settings = job.settings
    parts = split_corrections(job.corrections, settings.seed)
    rng = np.random.default_rng(settings.seed)
    spec = EncoderSpec(job.encoder, max_length=settings.max_length)
    pairs = {}
    for part, wanted in (("train", job.count), ("dev", job.count // 8), ("test", job.count // 8)):
        pairs[part] = impact_pairs(
            parts[part],
            lambda texts: load_encoder(spec, job.runtime).encode(texts).vectors.astype(np.float64),
            rng,
            count=max(wanted, _LEAST),
        )
        if len(pairs[part]) < _LEAST:
            raise InputError(
                f"the parallel text gives {len(pairs[part])} pairs for {part}, expected at least "
                f"{_LEAST}: sentences need two or more edits; give more text"
            )
    return pairs


def _finished(folder: Path, run: str) -> _Figures | None:
    path = folder / MANIFEST
    if not path.exists():
        return None
    record = read_json(path, "the manifest of an IMPARA")
    record = record if isinstance(record, dict) else {}
    if record.get("run") != run or not isinstance(record.get("figures"), list):
        raise OptionError(
            f"{folder}: holds a model of other settings or data; name another folder, or remove "
            "this one"
        )
    figures: _Figures = record["figures"]
    return figures


def _document(job: RankerJob, pairs: Mapping[str, Sequence[RankedPair]], figures: _Figures) -> None:
    texts = {text for c in job.corrections for text in (c.source, c.text())} - {""}
    write_text(job.folder / KEYS_FILE, "\n".join(sorted(map(sentence_key, texts))) + "\n")
    table = ["| part | accuracy | pairs |", "|---|---|---|"]
    table += [f"| {f['part']} | {f['accuracy']:.3f} | {f['pairs']} |" for f in figures]
    card = model_card(
        "IMPARA: a ranker of corrections",
        "impara",
        base=job.encoder,
        folder=job.folder,
        data={
            **job.origin,
            "corrections": str(len(job.corrections)),
            "pairs": ", ".join(f"{part} {len(p)} ({pairs_print(p)})" for part, p in pairs.items()),
            "split": "by source",
        },
        settings=asdict(job.settings),
        results="\n".join(table),
        usage=f"gecjury score SOURCE HYP -m impara:model={job.folder.name}",
        notes=job.notes,
    )
    write_text(job.folder / "README.md", card)
