"""IMPARA trained: from parallel text to pairs to a ranker."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.arrays import FloatArray
from gecjury.corpus.corpus import fingerprint
from gecjury.corpus.leakage import normalise, sentence_key
from gecjury.errors import InputError, OptionError
from gecjury.models.checkpoints import resolve
from gecjury.models.encoder import EncoderSpec, load_encoder
from gecjury.models.networks import read_config
from gecjury.refless.data.pairs import Correction, RankedPair, impact_pairs, pairs_print
from gecjury.refless.nets.bundle import (
    IMPARA_FORMAT,
    IMPARA_POOLED_FORMAT,
    KEYS_FILE,
    MANIFEST,
)
from gecjury.refless.nets.pooled import HEAD_FILE, fresh_pooled, save_pooled
from gecjury.refless.nets.regressor import (
    load_model,
    load_tokenizer,
    output_errors,
    save_model,
)
from gecjury.refless.training.beside import changed_tokens
from gecjury.refless.training.model_card import model_card, shown_name
from gecjury.refless.training.recipe import RankerPooling, TrainSettings, refuse_error_weight
from gecjury.refless.training.steps.detection import (
    detection_keys,
    figures_in_words,
    step_figures,
)
from gecjury.refless.training.steps.intermediate import (
    IntermediateData,
    Step,
    freeze_embeddings,
    pair_accuracy,
    pair_examples,
    pair_gaps,
    run_intermediate,
)
from gecjury.refless.training.trainable import check_layers
from gecjury.refless.training.trainer import LearningTask, fit, is_main_process, wait_for_all
from gecjury.refless.training.watching import Stage, Watchers
from gecjury.refless.training.worth import Worth, worth_of, worth_table
from gecjury.runtime import Runtime
from gecjury.textfiles import read_json, write_text

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
        pooling: what the ranker reads: the first token as transformers' own classes do, or the
            mean of the last hidden states.
        detector: folder or hub name of a model that learnt to detect errors, from which the ranker
            starts instead of from `encoder`; empty for none.
        detection: what an error detector is trained on beforehand; None for no such step.
        detection_settings: of that step.
        error_weight: how much errors weigh in it, where its text is labelled.
        origin: names of the data, for the model card.
        notes: warnings for the model card.
        language: code of the text's language.
        recipe_name: the named recipe that the options came from, for card and manifest; empty for
            none.
        license: of the model, for the model card; empty: none is named.
        report_to: what transformers reports to while it trains (`tensorboard`, `wandb`, ...).
        logs: folder for TensorBoard; None for `logs` in the output folder.
        drawn: called with the history of the run whenever something has come.
    """

    corrections: Sequence[Correction]
    encoder: str
    settings: TrainSettings
    folder: Path
    runtime: Runtime
    count: int = 4096
    frozen: bool = False
    pooling: RankerPooling = "cls"
    detector: str = ""
    detection: IntermediateData | None = None
    detection_settings: TrainSettings | None = None
    error_weight: float = 1.5
    origin: Mapping[str, str] = field(default_factory=dict)
    notes: Sequence[str] = ()
    language: str = "en"
    recipe_name: str = ""
    license: str = ""
    report_to: tuple[str, ...] = ()
    logs: Path | None = None
    drawn: Callable[[Mapping[str, Any]], None] | None = None

    def __post_init__(self) -> None:
        refuse_error_weight(self.error_weight)

    @property
    def beyond(self) -> list[str]:
        """What decides the weights besides the paper's settings, for fingerprints."""
        found: list[str] = [self.pooling] if self.pooling != "cls" else []
        found += [f"detector {self.detector}"] if self.detector else []
        found += [f"language {self.language}"] if self.language != "en" else []
        if self.detection is not None and self.detection_settings is not None:
            data = self.detection
            found += [json.dumps(asdict(self.detection_settings)), *data.clean]
            found += [f"{c.source}\t{c.text()}" for c in data.corrections]
            if data.labelled is not None:
                found += [str(self.error_weight), data.labelled.print]
        return found


@dataclass(frozen=True)
class RankerReport:
    """The report of a training, besides its folder.

    Attributes:
        figures: for dev and test the share of pairs in the right order, and the number of pairs.
        worth: the test part's pairs beside chance and counting changes; None in folders of earlier
            versions.
    """

    figures: _Figures
    worth: Worth | None = None


def train_impara(job: RankerJob) -> RankerReport:
    """Make pairs, train on them, evaluate and save; a killed run goes on where it stopped.

    Raises:
        InputError: fewer than eight pairs can be made for a part.
        OptionError: the folder holds another model.
    """
    settings, folder, runtime = job.settings, job.folder, job.runtime
    asked = _asked(job)
    done = _finished(job, asked)
    if done is not None:
        return done
    if settings.frozen_layers:
        check_layers(read_config(resolve(job.encoder)), settings.frozen_layers)
    work = folder / "checkpoints"
    watchers = Watchers.of(job, work if is_main_process() else None)
    with watchers.ledger.stage("weighing of edits"):
        pairs = _make_pairs(job)
    start, detected = _detect(job, work, watchers)
    from transformers import set_seed

    set_seed(settings.seed)
    tokenizer = load_tokenizer(start)
    pooled = job.pooling == "mean"
    model = fresh_pooled(start, ("rank",)) if pooled else load_model(start, ("rank",))
    if job.frozen:
        freeze_embeddings(model)

    def accuracy(model: Any, part: str) -> float:
        return pair_accuracy(model, tokenizer, pairs[part], settings, runtime)

    task = LearningTask(
        model=model,
        tokenizer=tokenizer,
        examples=pair_examples(tokenizer, pairs["train"], settings.max_length),
        evaluate=lambda model: {"score": accuracy(model, "dev")},
        objective="ranking",
        label="impara: training",
    )
    with watchers.ledger.stage("training"):
        place = work if job.detection is None else work / "ranker"
        result = fit(task, settings, place, watchers.runtime(runtime, "ranker"))
    figures: _Figures = [
        {"part": part, "accuracy": accuracy(result.model, part), "pairs": len(pairs[part])}
        for part in ("dev", "test")
    ]
    gaps = pair_gaps(result.model, tokenizer, pairs["test"], settings, runtime)
    report = RankerReport(figures, _worth(gaps, pairs, job.language))
    if is_main_process():
        (save_pooled if pooled else save_model)(result.model, tokenizer, folder)
        effort = watchers.ledger.rounded()
        _document(job, pairs, report, detected, effort)
        encoder = job.encoder
        if Path(encoder).is_dir():
            # One that is nowhere but on this machine goes with the model, which names it.
            with output_errors(folder / _ENCODER):
                shutil.copytree(encoder, folder / _ENCODER, dirs_exist_ok=True)
            encoder = _ENCODER
        record: dict[str, Any] = {
            "format": IMPARA_POOLED_FORMAT if pooled else IMPARA_FORMAT,
            "encoder": encoder,
            "run": _run_print(job, pairs),
            "asked": asked,
            "figures": figures,
            "worth": report.worth,
            "effort": effort,
        }
        record |= {"pooling": job.pooling} if pooled else {}
        record |= {"language": job.language} if job.language != "en" else {}
        record |= {"steps": detected} if detected else {}
        record |= {"recipe": job.recipe_name} if job.recipe_name else {}
        write_text(folder / MANIFEST, json.dumps(record, indent=1))
        shutil.rmtree(work, ignore_errors=True)
    wait_for_all()
    return report


def _worth(gaps: FloatArray, pairs: Mapping[str, Sequence[RankedPair]], language: str) -> Worth:
    """Hold the ranker against chance and against counting changes, on the test part's pairs.

    Args:
        gaps: see `pair_gaps`, of the test part.
        pairs: by part; those for training tell whether more changes are better or fewer.
        language: code of the text's language.
    """
    changes = {}
    for part in ("train", "test"):
        sources = [pair.source for pair in pairs[part]]
        better, worse = (
            changed_tokens(sources, [getattr(pair, side) for pair in pairs[part]], language)
            for side in ("better", "worse")
        )
        changes[part] = better - worse
    return worth_of(
        gaps,
        changes["test"],
        [pair.source for pair in pairs["test"]],
        known_changes=changes["train"],
        judged="the impact of edits (no person judged these pairs)",
    )


def _detect(job: RankerJob, work: Path, watchers: Watchers) -> tuple[str, dict[str, float]]:
    """Train the error detector that is wanted; returns where the ranker starts, and its figures."""
    start = job.detector or job.encoder
    if job.detection is None:
        return start, {}
    settings = job.detection_settings or job.settings
    # The ranker is tried on sentences that the detector must not have learnt from.
    parts = split_corrections(job.corrections, job.settings.seed)
    held = {normalise(c.source) for part in ("dev", "test") for c in parts[part]}
    held |= {normalise(c.text()) for part in ("dev", "test") for c in parts[part]}
    data = job.detection
    labelled = data.labelled
    if labelled is not None:
        kept = tuple(s for s in labelled.train if normalise(s.text) not in held)
        labelled = replace(labelled, train=kept)
    step = Step(
        kind="detection",
        start=start,
        folder=work / "detection",
        data=replace(
            data,
            corrections=[c for c in data.corrections if normalise(c.source) not in held],
            labelled=labelled,
        ),
        settings=settings,
        runtime=watchers.runtime(job.runtime, "detector"),
        frozen=job.frozen,
        error_weight=job.error_weight,
    )
    with watchers.ledger.stage("step detection"):
        found = run_intermediate(step)
    path = step.folder / "score.json"
    if found and is_main_process():
        kind = step.kind
        kept_figures = step_figures(kind, found) if step.labelled else {kind: found["score"]}
        write_text(path, json.dumps(kept_figures))
    wait_for_all()
    known = read_json(path, "figures of a step") if path.exists() else {}
    if not isinstance(known, dict) or not all(isinstance(v, float) for v in known.values()):
        raise InputError(f"{path}: no table of figures; delete the folder to train anew")
    return str(step.folder / "model"), {str(name): float(v) for name, v in known.items()}


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


def _asked(job: RankerJob) -> str:
    """Fingerprint of everything that decides the weights, known before edits are weighed."""
    parts = [job.encoder, str(job.count), json.dumps(job.settings.deciding()), *job.beyond]
    return fingerprint([*parts, *(f"{c.source}\t{c.text()}" for c in job.corrections)])


def _run_print(job: RankerJob, pairs: Mapping[str, Sequence[RankedPair]]) -> str:
    """The fingerprint by the pairs themselves, by which folders of earlier versions are known."""
    settings = json.dumps(job.settings.deciding())
    return fingerprint(
        [job.encoder, *(pairs_print(p) for p in pairs.values()), settings, *job.beyond]
    )


def _finished(job: RankerJob, asked: str) -> RankerReport | None:
    path = job.folder / MANIFEST
    if not path.exists():
        return None
    record = read_json(path, "the manifest of an IMPARA")
    record = record if isinstance(record, dict) else {}
    if "asked" in record:
        same = record["asked"] == asked
    else:
        same = "run" in record and record["run"] == _run_print(job, _make_pairs(job))
    if not same or not isinstance(record.get("figures"), list):
        raise OptionError(
            f"{job.folder}: holds a model of other settings or data; name another folder, or "
            "remove this one"
        )
    return RankerReport(record["figures"], record.get("worth"))


def _document(
    job: RankerJob,
    pairs: Mapping[str, Sequence[RankedPair]],
    report: RankerReport,
    detected: Mapping[str, float],
    effort: Mapping[str, Stage],
) -> None:
    texts = {text for c in job.corrections for text in (c.source, c.text())} - {""}
    labelled = None if job.detection is None else job.detection.labelled
    keys = {*map(sentence_key, texts), *detection_keys(labelled, job.detector)}
    write_text(job.folder / KEYS_FILE, "\n".join(sorted(keys)) + "\n")
    table = ["| part | accuracy | pairs |", "|---|---|---|"]
    table += [f"| {f['part']} | {f['accuracy']:.3f} | {f['pairs']} |" for f in report.figures]
    worth = [worth_table(report.worth)] if report.worth else []
    notes = []
    if job.pooling == "mean":
        notes.append(
            f"The ranker reads the mean of the last hidden states through {HEAD_FILE}; plain "
            "transformers loads the encoder alone"
        )
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
        settings=asdict(job.settings) | _further_settings(job),
        results="\n\n".join([*worth, "\n".join(table), *figures_in_words(detected)]),
        usage=f"gecjury score SOURCE HYP -m {ranker_metric(job.folder.name, job.pooling)}",
        notes=[*job.notes, *notes],
        language=job.language,
        license=job.license,
        effort=effort,
    )
    write_text(job.folder / "README.md", card)


def _further_settings(job: RankerJob) -> dict[str, Any]:
    """Return the recipe's name and the choices beyond the paper's, for the card."""
    found: dict[str, Any] = {"recipe": job.recipe_name} if job.recipe_name else {}
    if job.pooling != "cls":
        found["pooling"] = job.pooling
    if job.detector:
        found["detector"] = shown_name(job.detector)
    if job.detection is not None and job.detection_settings is not None:
        found["detection"] = asdict(job.detection_settings) | {"error_weight": job.error_weight}
    return found


def ranker_metric(model: str, pooling: RankerPooling) -> str:
    """The metric to name for a folder: with means, as in IMPARA-GED, without the similarity."""
    named = f"impara:model={model}".replace(",", "\\,")
    return named if pooling == "cls" else f"{named},threshold=none"
