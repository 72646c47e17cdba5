"""dsgram: three grades of a correction, weighted by how important a model calls each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from typing import ClassVar, NamedTuple

import numpy as np

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.wording import single_spaced
from gecjury.corpus.corpus import Corpus
from gecjury.judges.judge import Judge
from gecjury.judges.posing import Sheet, render_fenced
from gecjury.judges.replies.forms import GRADED, GRADED_WEIGHED
from gecjury.judges.replies.reply import GRADES
from gecjury.judges.showing import Context, one_line, read_contexts
from gecjury.prompts import Prompt
from gecjury.scoring.abilities import HasParts
from gecjury.scoring.scorer import ReadsText, SentenceMean
from gecjury.scoring.scores import Scores, Statistics

_COUNT = len(GRADES)
_RANDOM_INDEX = 0.58  # mean consistency index of random 3 × 3 matrices (Saaty 1980)
_INCONSISTENT = 0.1  # Saaty's limit


class GradedOutput(NamedTuple):
    """An output that is graded."""

    row: int
    source: str
    text: str
    context: Context


@dataclass(frozen=True)
class DSGram(Judge[list[float], GradedOutput], SentenceMean, ReadsText, HasParts):
    """Grades of meaning, edit level and fluency, each 1 to 10, weighted for every sentence.

    Range 1 to 10, higher is better (Xie et al. 2025). The weights are the principal eigenvector of
    a matrix that says how many times as important each grade is as each other (analytic hierarchy
    process), which the model fills with the grades. Panels and repeats average grades and weights.
    The published prompts are in other words, and ask for grades and matrix separately.

    Attributes:
        weights: `asked`, or three numbers, meaning + edit level + fluency, such as .5+.3+.2; then
            no matrix is asked for.
    """

    name: ClassVar[str] = "dsgram"
    summary: ClassVar[str] = "a language model grades meaning, edits and fluency, 1 to 10, weighted"
    paper: ClassVar[str] = "Xie et al. 2025"
    wording_name: ClassVar[str] = "dsgram"
    part_names: ClassVar[tuple[str, ...]] = GRADES
    compared: ClassVar[int | None] = _COUNT

    weights: str = "asked"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._fixed_weights()

    def _fixed_weights(self) -> list[float] | None:
        """Return the weights of the option; None if the model is asked."""
        if self.weights == "asked":
            return None
        try:
            weights = [float(part) for part in self.weights.split("+")]
        except ValueError:
            weights = []
        fits = len(weights) == _COUNT and all(isfinite(w) and w >= 0 for w in weights)
        if not fits or not sum(weights):
            raise OptionError(
                f"{self.name}: weights={self.weights}: expected asked, or three numbers of 0 or "
                "more for meaning, edit level and fluency, such as .5+.3+.2"
            )
        return weights

    @property
    def usual_wording(self) -> str:
        """The name of the prompt, which differs without the matrix."""
        return "dsgram" if self.weights == "asked" else "dsgram-grades"

    def items(self, corpus: Corpus, runtime: Runtime) -> list[GradedOutput]:
        """Return every output of a source, those that differ in blanks only once."""
        contexts = read_contexts(self.context, corpus)
        outputs = {
            (row, single_spaced(text)): GradedOutput(
                row, corpus.sources[row], single_spaced(text), contexts[row]
            )
            for version in corpus.systems.values()
            for row, text in enumerate(version.lines)
        }
        return [*outputs.values()]

    def size(self, item: GradedOutput) -> int:
        """Return how many numbers an output gets: grades, and weights with their consistency."""
        return 2 * _COUNT + 1

    def sheets(self, item: GradedOutput, wording: Prompt) -> list[Sheet[list[float]]]:
        """Return the prompt about an output."""
        form = GRADED_WEIGHED if self.weights == "asked" else GRADED
        texts = {"correction": one_line(item.text)}
        render = partial(render_fenced, wording, item.source, item.context, texts)
        return [Sheet(form, render, tuple(range(self.size(item))))]

    def scores_of(
        self, answers: Sequence[list[float]], items: Sequence[GradedOutput], runtime: Runtime
    ) -> list[list[float]]:
        """Return grades, weights, and the consistency ratio of the weights."""
        scores, fixed = [], self._fixed_weights()
        for answer in answers:
            grades, matrix = answer[:_COUNT], np.array(answer[_COUNT:])
            weights, ratio = (fixed, 0.0) if fixed else priorities(matrix.reshape(_COUNT, -1))
            scores.append([*grades, *weights, ratio])
        return scores

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return grades and weights, systems × sentences × 6."""
        items = self.items(corpus, runtime)
        numbers, report = self.verdicts(items, corpus.language, runtime)
        numbers_of = {
            (item.row, item.text): of_item for item, of_item in zip(items, numbers, strict=True)
        }
        values = np.array(
            [
                [numbers_of[row, single_spaced(text)] for row, text in enumerate(version.lines)]
                for version in corpus.systems.values()
            ]
        )
        notes, ratios = report.notes, np.array(numbers)[:, -1]
        if doubtful := int(np.count_nonzero(ratios > _INCONSISTENT)):
            notes += (
                f"{self.name}: the weights of {doubtful} of {len(items)} outputs are doubtful: "
                f"their matrices have a consistency ratio above {_INCONSISTENT}",
            )
        return Statistics(values[..., :-1], None, report.details, notes)

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the weighted means of the grades, systems × sentences."""
        grades, weights = np.split(statistics.values, 2, axis=-1)
        return Scores((grades * weights).sum(axis=-1) / weights.sum(axis=-1))

    def parts(self, statistics: Statistics, scores: Scores) -> dict[str, FloatArray]:
        """Return the grades by name, systems × sentences each."""
        return {name: statistics.values[..., place] for place, name in enumerate(GRADES)}


def priorities(matrix: FloatArray) -> tuple[list[float], float]:
    """Return the weights that a matrix of pairwise ratios means, and its consistency ratio.

    Args:
        matrix: positive ratios, rows over columns.

    Returns:
        The principal eigenvector with the sum 1; and how much less consistent the ratios are than
        they can be, from 0, relative to random ratios (1).
    """
    values, vectors = np.linalg.eig(matrix)
    place = int(values.real.argmax())
    vector = np.abs(vectors[:, place].real)
    index = (float(values[place].real) - len(matrix)) / (len(matrix) - 1)
    return (vector / vector.sum()).tolist(), max(index / _RANDOM_INDEX, 0.0)
