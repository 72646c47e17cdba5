"""GECCC (Náplava et al. 2022): Czech of four domains, each sentence corrected by one or two people.

The texts are given twice, line by line: as written (`sentence.input`, `sentence.gold`) and as
tokens with edits (`sentence.m2`). Both versions of a source differ only in spaces. Nobody judged
systems on them, so this is not a benchmark but a source of references, gold edits and training
text.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from gecjury.benchmarks.data_folder import DataFolder
from gecjury.core.errors import known_name
from gecjury.core.textfiles import read_lines
from gecjury.corpus.m2 import M2Sentence, read_m2

GecccSplit = Literal["dev", "test"]

_FILES = ("input", "gold", "m2", "meta")
_META = "GECCC/data/meta.tsv"


@dataclass(frozen=True, kw_only=True, repr=False)
class CorrectedSentences:
    """Sentences and their corrections by people; every sequence has an entry for each.

    Attributes:
        sources: texts as written, not tokenised.
        references: one or two corrections of each, as written; two may be the same, and a
            correction that deletes the sentence is empty.
        m2: tokens joined by single spaces, with every annotator's edits, numbered from 0.
        documents: name of the text that the sentence is from, for resampling by text.
    """

    sources: tuple[str, ...]
    references: tuple[tuple[str, ...], ...]
    m2: tuple[M2Sentence, ...]
    documents: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.sources)


@dataclass(frozen=True, kw_only=True, repr=False)
class GecccSentences(CorrectedSentences):
    """The sentences of one split, in file order; types of edits are ERRANT's for Czech.

    Attributes:
        domains: `Natives Formal`, `Natives Web Informal`, `Romani` or `Second Learners`.
    """

    domains: tuple[str, ...]


def read_geccc(folder: DataFolder, split: GecccSplit) -> GecccSentences:
    """Read one split of GECCC.

    Args:
        folder: the data folder; see `gecjury.benchmarks.data_folder.open_data`.
        split: `dev` (8,478 sentences) or `test` (7,907).

    Raises:
        OptionError: no such split.
        DataError: a file is missing or altered.
    """
    known_name("split of GECCC", split, get_args(GecccSplit))
    names = {part: f"GECCC/data/{split}/sentence.{part}" for part in _FILES}
    paths = folder.paths([*names.values(), _META], wanted_by="geccc")
    # `m2` has the same texts as tokens with edits; they are not derived from `input`.
    lines = {part: read_lines(paths[names[part]]) for part in ("input", "gold", "meta")}
    m2 = read_m2(paths[names["m2"]])
    domain_of = {
        fields[0]: fields[1]
        for fields in (line.split("\t") for line in read_lines(paths[_META])[1:])
        if len(fields) > 1
    }
    return GecccSentences(
        sources=tuple(lines["input"]),
        references=tuple(tuple(line.split("\t")) for line in lines["gold"]),
        m2=m2,
        domains=tuple(domain_of[document] for document in lines["meta"]),
        documents=tuple(lines["meta"]),
    )
