"""Why a hypothesis scored what it did, edit by edit; the numbers of `gecjury explain`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.language import ENGLISH, Language
from gecjury.corpus.tokens import in_language
from gecjury.errors import InputError, OptionError
from gecjury.experiments.inputs import scorers_of
from gecjury.experiments.result import ExperimentResult
from gecjury.extraction.retyping import GoldTypes, typed_corpus_edits
from gecjury.metaeval.edits.attribution import Attribution, Method, attribute
from gecjury.runtime import Runtime
from gecjury.scoring.by_edit import Explanation, edit_label
from gecjury.scoring.registry import able
from gecjury.scoring.scorer import Scorer


@dataclass(frozen=True, repr=False, eq=False)
class Explained(ExperimentResult):
    """How a metric judged one hypothesis.

    Attributes:
        metric: its name as given.
        source: the sentence that was corrected.
        hypothesis: its correction.
        references: the texts that it was compared with.
        explanations: one a reference; none where only an attribution was asked for.
        chosen: the number of the reference that counts, from 0; None without explanations.
        attribution: the score shared out among the edits; None where it was not asked for.
        seed: of the orders drawn for the attribution.
    """

    metric: str
    source: str
    hypothesis: str
    references: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    chosen: int | None
    attribution: Attribution | None
    seed: int

    @property
    def missing(self) -> bool:
        """Whether some reference gave no score."""
        return any(_is_nan(one.scores["score"]) for one in self.explanations)

    def rows(self) -> list[dict[str, Any]]:
        """One record a reference and edit or chunk; without explanations one an attributed edit.

        `reference` counts from 1.
        """
        if not self.explanations:
            return self.attribution_rows()
        return [
            {"reference": number, **row}
            for number, one in enumerate(self.explanations, 1)
            for row in one.rows
        ]

    def attribution_rows(self) -> list[dict[str, Any]]:
        """One record an edit with its share of the score; none where that was not asked for."""
        found = self.attribution
        if found is None:
            return []
        numbers = zip(found.edits, found.values.tolist(), found.errors.tolist(), strict=True)
        return [
            {"edit": edit_label(edit), "type": edit.type, "value": value, "error": error}
            for edit, value, error in numbers
        ]


def check_explainable(scorer: Scorer, attribution: Method | None = None) -> bool:
    """Whether a metric shows an alignment with the reference.

    Raises:
        OptionError: it does not, and no attribution is asked for, which works with every metric.
    """
    if scorer.can("explain"):
        return True
    if attribution is not None:
        return False
    raise OptionError(
        f"{scorer.name} shows no alignment; {', '.join(able('explain'))} do. Any metric can be "
        "explained by --attribution remove, add or shapley"
    )


def explain(
    source: str,
    hypothesis: str | Version,
    references: str | Version | Sequence[str | Version] = (),
    *,
    metric: str | Scorer = "uot-errant",
    attribution: Method | None = None,
    samples: int = 200,
    seed: int = 0,
    runtime: Runtime | None = None,
    language: Language = ENGLISH,
) -> Explained:
    """Explain the score of one sentence.

    Args:
        source: tokens split on white space.
        hypothesis: its correction; a version of one line may bring its own edits.
        references: the same, one or several.
        metric: cleme, errant or uot-errant, which show how edits were matched; any metric that
            scores sentences by themselves with `attribution`.
        attribution: share the score out among the edits; see
            `gecjury.metaeval.edits.attribution`.
        samples: orders drawn for `shapley` beyond 10 edits.
        seed: of the orders.
        runtime: device, caches and the like.
        language: of the texts, which are cut into tokens as it says.

    Raises:
        OptionError: a metric that shows no alignment, or whose scores cannot be shared out.
        InputError: a reference is wanted and there is none, or versions of several lines.
    """
    (scorer,) = scorers_of(metric, new_texts="explain")
    alignment = check_explainable(scorer, attribution)
    mine = _version(hypothesis)
    given = [references] if isinstance(references, str | Version) else references
    versions = [_version(each) for each in given]
    if alignment and not versions:
        raise InputError(f"{scorer.name} compares with references: give at least one REF")
    runtime = runtime or Runtime()
    corpus = Corpus((source,), {"hypothesis": mine}, tuple(versions))
    corpus = in_language(corpus, language)
    source, versions = corpus.sources[0], list(corpus.references)
    mine = corpus.systems["hypothesis"]
    edits, *others = _edits(scorer, corpus, runtime)
    found = []
    chosen = None
    if alignment:
        found = [scorer.explain(source, edits, other, runtime) for other in others]
        # The reference that scores best is the one that the metric itself would take.
        chosen = max(range(len(found)), key=lambda i: _order(found[i].scores["score"]))
    shares = None
    if attribution is not None:
        shares = attribute(
            scorer,
            source,
            edits,
            versions,
            method=attribution,
            samples=samples,
            seed=seed,
            runtime=runtime,
            language=language,
        )
    return Explained(
        metric if isinstance(metric, str) else scorer.name,
        source,
        mine.lines[0],
        tuple(version.lines[0] for version in versions),
        tuple(found),
        chosen,
        shares,
        seed,
    )


def _version(given: str | Version) -> Version:
    version = Version((given,)) if isinstance(given, str) else given
    if len(version.lines) != 1:
        raise InputError(f"a version of {len(version.lines)} lines: one sentence is explained")
    return version


def _edits(scorer: Scorer, corpus: Corpus, runtime: Runtime) -> list[tuple[Edit, ...]]:
    """Each version's edits: its own, typed as the metric would, or extracted as it would."""
    tagger = getattr(scorer, "tagger", "embedded")
    pos = getattr(scorer, "pos", "spacy2")
    types: GoldTypes = getattr(scorer, "types", "gold")
    found = typed_corpus_edits(corpus, types, tagger, pos, runtime)
    return [found.systems["hypothesis"][0], *(lines[0] for lines in found.references)]


def _order(score: float) -> float:
    """A score as what references are chosen by: one that is missing is the last."""
    return float("-inf") if _is_nan(score) else score


def _is_nan(score: float) -> bool:
    return score != score
