"""LLM-S and LLM-E (Kobayashi, Mita and Komachi 2024): sentence- and edit-level judging by a model.

Both judge up to five distinct corrections of a source together; on a benchmark that records which
corrections its annotators saw together, they judge exactly those sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.judges.protocols import GroupJudge
from gecjury.judges.showing import edits_of_pairs, marked, one_line


@dataclass(frozen=True)
class LLMS(GroupJudge):
    """LLM-S: a model scores whole corrected sentences (Kobayashi et al. 2024, figure 3).

    Scores are 1 to 5 (`protocol=pairwise`: 0 to 1), higher is better; a correction judged in
    several groups has a score in each, and its sentence score is their mean.

    Attributes:
        criterion: what to focus on, as a sentence of your own, a file, or a published criterion:
            grammaticality, fluency or meaning.
    """

    name: ClassVar[str] = "llm-s"
    summary: ClassVar[str] = "a language model scores corrected sentences side by side, 1 to 5"
    paper: ClassVar[str] = "Kobayashi et al. 2024"
    reads: ClassVar[Literal["tokens", "text"]] = "text"
    wording_name: ClassVar[str] = "sentence"
    subject: ClassVar[str] = "the quality of the corrected sentence"

    def shown(
        self, corpus: Corpus, pairs: Sequence[tuple[int, str]], runtime: Runtime
    ) -> dict[tuple[int, str], str]:
        """Return the corrections as they are."""
        del corpus, runtime
        return {(row, text): one_line(text) for row, text in pairs}


@dataclass(frozen=True)
class LLME(GroupJudge):
    """LLM-E: a model scores corrections by their edits, shown inline (figure 2 of the paper).

    Edits come from the hypothesis files if these are M2, otherwise from ERRANT. A correction
    without edits is shown as the plain sentence. Scores are 1 to 5, higher is
    better, as for LLM-S.

    Attributes:
        criterion: what to focus on, as a sentence of your own, a file, or a published criterion:
            difficulty or impact.
    """

    name: ClassVar[str] = "llm-e"
    summary: ClassVar[str] = "a language model scores corrections by their edits, 1 to 5"
    paper: ClassVar[str] = "Kobayashi et al. 2024"
    shows_edits: ClassVar[bool] = True
    wording_name: ClassVar[str] = "edit"
    subject: ClassVar[str] = "the quality of the edits alone, which are marked as [old→new]"

    def shown(
        self, corpus: Corpus, pairs: Sequence[tuple[int, str]], runtime: Runtime
    ) -> dict[tuple[int, str], str]:
        """Return the corrections with their edits marked."""
        return {
            (row, text): marked(corpus.sources[row], edits, corpus.language)
            for (row, text), edits in edits_of_pairs(corpus, pairs, runtime).items()
        }
