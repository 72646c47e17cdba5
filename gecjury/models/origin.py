"""Folders of trained models: the names of their files, and what they record of their training."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gecjury.core.errors import InputError
from gecjury.core.records import from_record
from gecjury.core.textfiles import read_json, read_text, user_path
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.languages.language import LANGUAGES
from gecjury.corpus.leakage import corpus_texts, sentence_key
from gecjury.models.checkpoints import inside

MANIFEST = "gecjury.json"
KEYS_FILE = "training-sentences.txt"

JUDGE_FORMAT = "gecjury-judge/1"
"""Format of the manifest of a taught judge."""


@dataclass(frozen=True)
class TaughtJudge:
    """A causal language model that was taught to judge.

    Attributes:
        format: format of the manifest.
        metric: the judge, written as `-m` accepts it.
        prompt: id of the prompt that the model was taught with.
        language: code of the language of the corrections.
    """

    format: str
    metric: str
    prompt: str
    language: str = "und"


def taught_judge(folder: str) -> TaughtJudge | None:
    """Return what a folder records of how its model was taught; None for any other model.

    Raises:
        InputError: the manifest is damaged.
    """
    path = user_path(folder) / MANIFEST
    if not path.is_file():
        return None
    record = read_json(inside(path.parent, MANIFEST), "the manifest of a taught judge")
    if not isinstance(record, dict) or record.get("format") != JUDGE_FORMAT:
        return None
    try:
        return from_record(TaughtJudge, record)
    except ValueError as error:
        raise InputError(f"{path}: damaged ({error}); teach or copy the judge again") from None


@dataclass(frozen=True)
class TrainingOrigin:
    """Origin of a model's training data, for warnings.

    Attributes:
        where: folder or name of the model.
        language: code of the language trained on; `mul` for several, `und` if it is unknown.
        keys: hashes of the sentences trained on.
    """

    where: str = ""
    language: str = "und"
    keys: frozenset[str] = frozenset()

    @classmethod
    def of(cls, folder: Path, where: str, language: str) -> TrainingOrigin:
        """Read the hashes in the folder of a trained model."""
        path = inside(folder, KEYS_FILE)
        keys = frozenset(read_text(path).split()) if path.exists() else frozenset()
        return cls(where, language, keys)

    def notes(self, corpus: Corpus) -> list[str]:
        """Return warnings about training on another language or on sentences of the corpus."""
        notes = []
        texts_in = corpus.language
        # Third-party models do not say which language they are for; `mul` models cover several.
        if self.language not in (texts_in.code, "und", "mul") and texts_in.code != "und":
            notes.append(
                f"language: {self.where} was trained on "
                f"{LANGUAGES.get(self.language, self.language)}, but the texts are "
                f"{texts_in.name}: its scores for them are untested (`lang=` sets the language "
                "of files)"
            )
        if not self.keys:
            return notes
        # Outputs of systems are not checked: a corrector may write a sentence that is in the
        # training data.
        texts = {text for lines in corpus_texts(corpus).values() for text in lines if text.strip()}
        shared = [text for text in texts if sentence_key(text) in self.keys]
        if shared:
            notes.append(
                f"leakage: {self.where} was trained on {len(shared)} of the {len(texts)} sources "
                f"and references here, e.g. {min(shared)[:60]!r}; its scores are not evidence"
            )
        return notes
