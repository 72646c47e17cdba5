r"""Sentences with tokens labelled right or wrong: MultiGED's two-column files, and M2.

Each line of a two-column file has a token, a tab and `c` (correct) or `i` (incorrect); a blank line
follows each sentence, and quotation marks are written as `\"`. In an M2 file, the tokens that an
edit covers are wrong, and an insertion marks the token to its right (at the end of a sentence, the
last one), as in MultiGED and in Rei and Yannakoudakis (2016); each annotator's reading becomes a
separate sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gecjury.benchmarks.data_folder import DataFolder
from gecjury.core.errors import InputError, OptionError
from gecjury.core.textfiles import read_lines, read_text, user_path
from gecjury.corpus.files.forms import looks_like_m2
from gecjury.corpus.fingerprints import fingerprint
from gecjury.corpus.leakage import sentence_key
from gecjury.corpus.m2 import parse_m2
from gecjury.models.origin import KEYS_FILE
from gecjury.refless.data.pairs import CorrectedPair, detection_labels

LABELLED_SETS = {
    f"multiged-{code}": f"multiged-2023/{language}/{code}_{corpus}_train.tsv"
    for code, language, corpus in (
        ("en", "english", "fce"),
        ("cs", "czech", "geccc"),
        ("de", "german", "falko-merlin"),
        ("it", "italian", "merlin"),
        ("sv", "swedish", "swell"),
    )
}
"""Training parts of MultiGED-2023 by name, in the data folder; each has a dev part next to it."""


def labelled_language(name: str) -> str | None:
    """Return the language of a named set of labelled text; None for files."""
    return name.removeprefix("multiged-") if name in LABELLED_SETS else None


@dataclass(frozen=True)
class LabelledSentence:
    """A sentence's tokens, whether each of them is wrong, and the code of its language."""

    tokens: tuple[str, ...]
    wrong: tuple[bool, ...]
    language: str = "en"

    @property
    def text(self) -> str:
        """The tokens joined by single spaces."""
        return " ".join(self.tokens)


@dataclass(frozen=True)
class LabelledText:
    """Data for error detection.

    Attributes:
        train: training part.
        dev: part for choosing the epoch; if it is empty, a share of `train` is held out.
    """

    train: tuple[LabelledSentence, ...] = ()
    dev: tuple[LabelledSentence, ...] = ()

    @property
    def print(self) -> str:
        """Fingerprint of both parts."""
        return fingerprint([labelled_print(self.train), labelled_print(self.dev)])


def labelled_print(sentences: Sequence[LabelledSentence]) -> str:
    """Return the fingerprint of sentences with their labels: 16 hexadecimal digits."""
    return fingerprint(
        part for s in sentences for part in (s.text, "".join("ci"[wrong] for wrong in s.wrong))
    )


def read_labelled(
    names: Sequence[str],
    folder: Callable[[], DataFolder],
    part: Literal["train", "dev"] = "train",
    language: str = "en",
) -> tuple[LabelledSentence, ...]:
    """Read labelled sentences.

    Args:
        names: sets of `LABELLED_SETS`, two-column files or M2 files; the content of a file
            determines its format.
        folder: returns the folder of named sets; called only if one is named.
        part: part of named sets.
        language: code of the language of files; named sets have their own.

    Raises:
        InputError: a file cannot be read or is malformed; names file, line and value.
        OptionError: a name is neither a set nor a file.
    """
    sentences: list[LabelledSentence] = []
    for name in names:
        path = name
        if name in LABELLED_SETS:
            path = str(folder().path(LABELLED_SETS[name].replace("_train.", f"_{part}.")))
        elif not Path(name).exists():
            raise OptionError(
                f"labelled text {name!r}: neither a set ({', '.join(LABELLED_SETS)}) nor a file; "
                "expected a two-column file (TOKEN, tab, c or i) or an M2 file"
            )
        lines = read_lines(path)
        read = _read_m2(lines, path) if looks_like_m2(lines) else _read_columns(lines, path)
        code = labelled_language(name) or language
        sentences += [replace(sentence, language=code) for sentence in read]
    return tuple(sentences)


def dev_beside(name: str) -> str | None:
    """Return the name of the dev part next to a training part; None if there is none."""
    if name in LABELLED_SETS:
        return name
    path = Path(name)
    if "_train" not in path.name:
        return None
    dev = path.with_name(path.name.replace("_train", "_dev"))
    return str(dev) if dev.is_file() else None


def refuse_one_class(sentences: Sequence[LabelledSentence], what: str) -> None:
    """Raise an error for text without a wrong token, or without a right one.

    Raises:
        InputError: there is only one class, or no token.
    """
    labels = {wrong for sentence in sentences for wrong in sentence.wrong}
    if len(labels) < 2:
        only = "no token" if not labels else "wrong tokens only" if True in labels else "no error"
        raise InputError(
            f"{what}: {len(sentences)} sentences with {only}, so there is nothing to learn; "
            "expected tokens labelled c and i, or M2 with edits"
        )


def _read_columns(lines: Sequence[str], path: str) -> list[LabelledSentence]:
    sentences: list[LabelledSentence] = []
    tokens: list[str] = []
    wrong: list[bool] = []
    for number, line in enumerate([*lines, ""], 1):
        if not line.strip():
            if tokens:
                sentences.append(LabelledSentence(tuple(tokens), tuple(wrong)))
            tokens, wrong = [], []
            continue
        # MultiGED escapes quotation marks, and spaces within a token would split it again.
        cell, tab, label = line.partition("\t")
        token = " ".join(cell.replace('\\"', '"').split())
        # Text after a second tab becomes part of the label, which is then not valid.
        if not tab or not token or label.strip() not in ("c", "i"):
            raise InputError(
                f"{path}, line {number}: {line!r:.60}; expected TOKEN, tab, c (correct) or i "
                "(incorrect), and a blank line between sentences (or an M2 file)"
            )
        tokens.append(token)
        wrong.append(label.strip() == "i")
    return sentences


def _read_m2(lines: Sequence[str], path: str) -> list[LabelledSentence]:
    sentences = []
    for block in parse_m2(lines, path, overlaps="keep"):
        tokens = tuple(block.source.split())
        if not tokens:
            continue
        readings = {
            tuple(map(bool, detection_labels(CorrectedPair(block.source, block.edits(annotator)))))
            for annotator in block.annotators or (0,)
        }
        sentences += [LabelledSentence(tokens, wrong) for wrong in sorted(readings)]
    return sentences


def detection_keys(text: LabelledText | None, detector: str) -> set[str]:
    """Return hashes of the sentences that a detector was trained or chosen on.

    Args:
        text: labelled text of this run; None for none.
        detector: folder of a detector that was trained before; empty for none.
    """
    keys = set()
    if text is not None:
        keys = {sentence_key(s.text) for part in (text.train, text.dev) for s in part}
    path = user_path(detector) / KEYS_FILE
    if detector and path.is_file():
        keys |= set(read_text(path).split())
    return keys
