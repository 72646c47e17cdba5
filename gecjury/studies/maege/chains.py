"""MAEGE: chains of one annotator's edits, whose order of quality is known (Choshen and Abend 2018).

From an M2 corpus, each annotator's edits of a sentence are applied one after the other in a random
order. The texts in between form a chain from the source to the full correction, each better than
the one before. Corpora of increasing quality are built by applying an increasing number of edits to
every sentence. Nothing is scored here: see `gecjury.studies.maege.scores` for scores, and
`gecjury.studies.maege.measures` for their agreement with these orders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gecjury.core.errors import InputError
from gecjury.corpus.edits import Edit, apply_edits, counted_edits
from gecjury.corpus.m2 import M2Sentence

if TYPE_CHECKING:
    import numpy as np

SourceChoice = Literal["original", "random"]
"""Texts that scorers get as the source.

- `original`: the learner's sentence.
- `random`: any text of the chain, drawn uniformly; for the corpora, the sentence's text from any
  corpus. The released program's default.
"""

MEANS: tuple[float, ...] = tuple(float(mean) for mean in range(11))
"""Mean number of edits per sentence in each corpus."""

# As in the released program (github.com/borgr/EoE, compare_measures.py), the number of edits is
# drawn from binomial distributions with these means and this variance.
_VARIANCE = 0.9


@dataclass(frozen=True)
class Annotated:
    """Sentences from which chains can be built.

    Attributes:
        sources: S sentences.
        rows: S line numbers (from 0) in the files.
        edits: S tuples, by annotator, of the edits that can be used: in order of position, not
            overlapping, each changing the text without emptying it.
        left_out: number of sentences and edits that were left out, by reason.
    """

    sources: tuple[str, ...]
    rows: tuple[int, ...]
    edits: tuple[tuple[tuple[Edit, ...], ...], ...]
    left_out: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.sources)

    @property
    def annotators(self) -> int:
        """The number of annotators, each of whom corrected every sentence."""
        return len(self.edits[0])

    def take(self, rows: Sequence[int]) -> Annotated:
        """Return some of the sentences."""
        return Annotated(
            tuple(self.sources[row] for row in rows),
            tuple(self.rows[row] for row in rows),
            tuple(self.edits[row] for row in rows),
            self.left_out,
        )


@dataclass(frozen=True)
class Chain:
    """Texts of increasing quality from one source.

    Attributes:
        sentence: index of the sentence in its `Annotated`.
        annotator: number of the annotator whose edits were applied.
        edits: k edits in the order in which they were applied.
        texts: k + 1 texts, the source first, the full correction last.
    """

    sentence: int
    annotator: int
    edits: tuple[Edit, ...]
    texts: tuple[str, ...]
    source: str


@dataclass(frozen=True)
class Sampled:
    """The chains and corpora that one seed draws.

    Attributes:
        chains: one for each annotator of each sentence.
        corpora: for each mean number of edits, S pairs of an annotator and a text.
        sources: S texts that scorers get as the sources of the corpora.
    """

    chains: tuple[Chain, ...]
    corpora: tuple[tuple[tuple[int, str], ...], ...]
    sources: tuple[str, ...]


def count_annotators(blocks: Sequence[M2Sentence]) -> int:
    """Return the highest annotator number of a file plus 1, so that unused numbers count too."""
    return 1 + max((max(b.annotators, default=0) for b in blocks), default=0)


def annotated(blocks: Sequence[M2Sentence]) -> Annotated:
    """Return the sentences that every annotator changed, with the edits that can be used.

    Raises:
        InputError: no sentence is left; says why.
    """
    width = count_annotators(blocks)
    left: Counter[str] = Counter()
    sources, rows, edits = [], [], []
    for row, block in enumerate(blocks):
        # Only annotators with a line: a file may give a single annotator a number in the billions.
        present = block.annotators
        usable = [_usable(block, annotator, left) for annotator in present]
        if len(present) < width or not all(usable):
            some = any(counted_edits(block.edits(annotator)) for annotator in present)
            left["sentences that an annotator left unchanged" if some else "unchanged"] += 1
            continue
        sources.append(block.source)
        rows.append(row)
        edits.append(tuple(usable))
    if not sources:
        raise InputError(
            f"none of the {len(blocks)} sentences was changed by each of the {width} annotators: "
            "chains need sentences that all of them corrected; give fewer M2 files"
        )
    if unchanged := left.pop("unchanged", 0):
        left["sentences that nobody changed"] = unchanged
    return Annotated(tuple(sources), tuple(rows), tuple(edits), dict(left))


def _usable(block: M2Sentence, annotator: int, left: Counter[str]) -> tuple[Edit, ...]:
    """Return an annotator's edits that change the text, do not empty it, and do not overlap."""
    tokens = block.source.split()
    kept: list[Edit] = []
    done = 0
    for edit in sorted(
        counted_edits(block.edits(annotator)), key=lambda edit: (edit.start, edit.end)
    ):
        if edit.tokens == tokens[edit.start : edit.end]:
            left["edits that change nothing"] += 1
        elif edit.start < done:
            left["edits that overlap another"] += 1
        elif not apply_edits(tokens, [edit]):
            left["edits that empty the sentence"] += 1
        else:
            kept.append(edit)
            done = edit.end
    return tuple(kept)


def build_chain(
    source: str, edits: Sequence[Edit], order: Sequence[int]
) -> tuple[tuple[Edit, ...], tuple[str, ...]]:
    """Apply edits one after the other.

    Args:
        order: indices of the edits, in the order of their application. An edit that would empty
            the sentence is skipped.

    Returns:
        The edits applied, and the texts, the source first. The last text is the full correction
        whatever the order, since the edits chosen so far are always applied in the order of
        `edits`.
    """
    tokens = source.split()
    chosen: list[int] = []
    texts = [" ".join(tokens)]
    for index in order:
        text = " ".join(apply_edits(tokens, [edits[i] for i in sorted([*chosen, index])]))
        if text:
            chosen.append(index)
            texts.append(text)
    return tuple(edits[index] for index in chosen), tuple(texts)


def sample(
    corpus: Annotated, rng: np.random.Generator, *, source: SourceChoice = "original"
) -> Sampled:
    """Draw chains and corpora."""
    made = []
    for row in range(len(corpus)):
        for annotator in range(corpus.annotators):
            edits = corpus.edits[row][annotator]
            order = rng.permutation(len(edits)).tolist()
            applied, texts = build_chain(corpus.sources[row], edits, order)
            seen = 0 if source == "original" else int(rng.integers(len(texts)))
            made.append(Chain(row, annotator, applied, texts, texts[seen]))
    corpora = tuple(_corpus(corpus, mean, rng) for mean in MEANS)
    # Written with single spaces, like the texts of the chains.
    shown = tuple(" ".join(text.split()) for text in corpus.sources)
    if source != "original":
        picks = rng.integers(len(corpora), size=len(corpus))
        shown = tuple(corpora[pick][row][1] for row, pick in enumerate(picks))
    return Sampled(tuple(made), corpora, shown)


def _corpus(
    corpus: Annotated, mean: float, rng: np.random.Generator
) -> tuple[tuple[int, str], ...]:
    """Draw a corpus: for each sentence, the first edits of one annotator in random order.

    Args:
        mean: mean number of edits per sentence; 0 leaves the sources as they are.
    """
    # Mean n·p and variance n·p·(1 − p) give p, and n follows; it is truncated, as numpy's
    # generator did in the released program, so that the actual mean is a little below.
    share = (mean - _VARIANCE) / mean if mean else 0.0
    trials = int(mean / share) if mean else 0
    corrected = []
    for row, source in enumerate(corpus.sources):
        annotator = int(rng.integers(corpus.annotators))
        edits = corpus.edits[row][annotator]
        order = rng.permutation(len(edits)).tolist()
        order = order[: rng.binomial(trials, share) if trials else 0]
        corrected.append((annotator, build_chain(source, edits, order)[1][-1]))
    return tuple(corrected)
