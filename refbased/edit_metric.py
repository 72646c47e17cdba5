"""What metrics over edits share: where edits come from and what that adds to a signature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal

from gecjury.corpus.corpus import Corpus
from gecjury.errors import OptionError
from gecjury.extraction.extract import CorpusEdits, corpus_edits, extraction_signature
from gecjury.runtime import Runtime
from gecjury.scoring.scorer import Scorer

__all__ = ["EditScorer", "check_beta"]


@dataclass(frozen=True)
class EditScorer(Scorer):
    """Base of metrics over edits.

    Hypotheses and references that came as M2 keep their edits; of the others ERRANT's are
    extracted.

    Attributes:
        tagger: `embedded`, or the name of a spaCy model.
        pos: part-of-speech scheme of the embedded tagger: `spacy2` (as in the official files,
            made with ERRANT 2) or `spacy3`.
    """

    family: ClassVar[str] = "refbased"
    needs: ClassVar[frozenset[str]] = frozenset({"references"})

    tagger: str = "embedded"
    pos: Literal["spacy2", "spacy3"] = "spacy2"

    def extra_signature(self, runtime: Runtime) -> Mapping[str, str]:
        """The tagger and the versions of the packages that decide edits."""
        return extraction_signature(self.tagger, self.pos)

    def check(self, corpus: Corpus) -> None:
        """As usual, and the tagger must be there before any work is done."""
        super().check(corpus)
        extraction_signature(self.tagger, self.pos)

    def edits(self, corpus: Corpus, runtime: Runtime) -> CorpusEdits:
        """The edits of all hypotheses and references."""
        return corpus_edits(corpus, self.tagger, self.pos, runtime)


def check_beta(name: str, beta: float) -> None:
    """Refuse a β that no F-score has.

    Raises:
        OptionError: it is negative, infinite or not a number.
    """
    if not 0 <= beta < float("inf"):
        raise OptionError(f"{name}: beta={beta} is out of range; expected 0 or more")
