"""The metrics of gec-metrics with their names, settings and defaults, computed by this package.

Every score comes from a metric of this package. Settings such as `beta` and `n` have the same
meaning as in gec-metrics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np

from gecjury.compat.gec_metrics.base import (
    ByReference,
    MetricBase,
    MetricBaseForReferenceBased,
    MetricBaseForReferenceFree,
    MetricBaseForSourceFree,
    Score,
    Texts,
    WithoutReference,
    inputs_handler,
)
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_json
from gecjury.corpus.corpus import corpus_of_texts
from gecjury.corpus.edits import Edit, counted_edits
from gecjury.extraction.extract import corpus_edits, extract
from gecjury.refbased.bertscore import BERTScore
from gecjury.refbased.edit_metric import BestReference
from gecjury.refbased.gotoscorer.weights import ChunkWeights, chunk_sequence, judge_systems
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import Statistics
from gecjury.stats.counts import precision_recall_f

__all__ = [
    "ERRANT",
    "GLEU",
    "GREEN",
    "IMPARA",
    "METRICS",
    "PTERRANT",
    "SOME",
    "BertScore",
    "ExtractedEdit",
    "GLEUOfficial",
    "GoToScorer",
    "MetricBase",
    "MetricBaseForReferenceBased",
    "MetricBaseForReferenceFree",
    "MetricBaseForSourceFree",
    "Scribendi",
    "inputs_handler",
]

_SPACY_MODEL = "en_core_web_sm"
_BERT = "bert-base-uncased"
_DUMMY = "DUMMY:DUMMY"


class ExtractedEdit(NamedTuple):
    """An edit with the names of its fields in the errant package."""

    o_start: int
    o_end: int
    o_str: str
    c_str: str
    type: str


class ERRANT(ByReference):
    """ERRANT's F-score, with `en_core_web_sm` if it is installed, else the embedded tagger."""

    @dataclass
    class Config(ByReference.Config):
        """`beta`: weight of recall. `language`: en."""

        beta: float = 0.5
        language: str = "en"

    @cached_property
    def tagger(self) -> str:
        """The tagger that errant loads for the language; the embedded one if it is missing.

        Raises:
            OptionError: errant has no rules for the language.
        """
        if self.config.language != "en":
            raise OptionError(
                f"language={self.config.language!r:.40}: errant classifies only English edits; "
                "expected en"
            )
        return _SPACY_MODEL if find_spec(_SPACY_MODEL) else "embedded"

    def _scorer(self) -> Scorer:
        return load("errant", beta=self.config.beta, tagger=self.tagger)

    def edit_extraction(self, src: str, trg: str) -> list[ExtractedEdit]:
        """Return the edits between a source and its correction, without those that do not count."""
        tokens = src.split()
        [[edits]] = extract([src], [[trg]], self.tagger).edits
        return [
            ExtractedEdit(e.start, e.end, " ".join(tokens[e.start : e.end]), e.correction, e.type)
            for e in counted_edits(edits)
        ]

    def score_corpus_verbose(
        self, sources: list[str], hypotheses: list[str], references: list[list[str]]
    ) -> Score:
        """Return the counts behind the corpus score."""
        [counts] = self._corpus_counts(Texts(sources, [hypotheses], references))
        return self._score(counts)

    def score_sentence_verbose(
        self, sources: list[str], hypotheses: list[str], references: list[list[str]]
    ) -> list[Score]:
        """Return the counts behind each sentence's score."""
        [rows] = self._sentence_counts(Texts(sources, [hypotheses], references))
        return [self._score(counts) for counts in rows]

    def _corpus_counts(self, texts: Texts) -> FloatArray:
        """Return the counts of the corpus scores, systems × counts; TP, FP and FN come first."""
        assert isinstance(self.scorer, BestReference)
        return self.scorer.chosen_in_run(self.table(texts).statistics.values)[0]

    def _sentence_counts(self, texts: Texts) -> FloatArray:
        """Return the counts of the sentence scores, systems × sentences × counts."""
        assert isinstance(self.scorer, BestReference)
        values = self.table(texts).statistics.values.astype(np.float64)
        best = self.scorer.best_references(values)[..., None, None]
        counts: FloatArray = np.take_along_axis(values, best, axis=2)[:, :, 0]
        return counts

    def _score(self, counts: FloatArray) -> Score:
        tp, fp, fn = (float(count) for count in counts[:3])
        return Score(tp, fp, fn, beta=self.config.beta)


class BertScore(MetricBaseForSourceFree):
    """BERTScore's F1 of hypotheses, each with the reference that gives the best score."""

    @dataclass
    class Config(MetricBaseForSourceFree.Config):
        """Settings of the bert-score package; only `score_type` f, no IDF, and English."""

        model_type: str = _BERT
        num_layers: int | None = None
        batch_size: int = 64
        nthreads: int = 4
        all_layers: bool = False
        idf: bool = False
        idf_sents: list[str] | None = None
        lang: str = "en"
        rescale_with_baseline: bool = True
        baseline_path: str | None = None
        use_fast_tokenizer: bool = False
        score_type: str = "f"

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        check_bertscore(self.config)
        self.runtime = Runtime(batch_size=self.config.batch_size)
        self.model = BERTScore(
            bert_of(self.config),
            self.config.num_layers,
            rescale=self.config.rescale_with_baseline,
        )

    def score_sentence(self, hypotheses: list[str], references: list[list[str]]) -> list[float]:
        """Return F1 with the best reference for each sentence."""
        if not references:
            raise InputError("bertscore needs references: expected references × sentences")
        corpus_of_texts(hypotheses, {}, references)  # raises if lengths differ
        pairs = [
            (h, line) for lines in references for h, line in zip(hypotheses, lines, strict=True)
        ]
        scores, _ = self.model.score(pairs, self.runtime)
        best = scores.reshape(len(references), len(hypotheses)).max(axis=0)
        return [float(score) for score in best]


def bert_of(config: BertScore.Config) -> str:
    """Return this package's name of the encoder."""
    return BERTScore.model if config.model_type == _BERT else config.model_type


def check_bertscore(config: BertScore.Config) -> None:
    """Check that BERTScore's settings are supported here.

    Raises:
        OptionError: a setting is not supported; the message names it.
    """
    for name, usual in (
        ("score_type", "f"),
        ("idf", False),
        ("idf_sents", None),
        ("all_layers", False),
        ("baseline_path", None),
        ("lang", "en"),
    ):
        value = getattr(config, name)
        if value != usual:
            raise OptionError(
                f"bertscore: {name}={value!r:.40} is not supported here; expected {usual!r}"
            )


class PTERRANT(ERRANT):
    """ERRANT with edits weighted by BERTScore's F1."""

    @dataclass
    class Config(ERRANT.Config):
        """`weight_model_config`: a `BertScore.Config`, or None for its defaults."""

        weight_model_name: str = "bertscore"
        weight_model_config: BertScore.Config | None = None

    def _scorer(self) -> Scorer:
        if self.config.weight_model_name != "bertscore":
            raise OptionError(
                f"weight_model_name={self.config.weight_model_name!r:.40}: expected bertscore"
            )
        weights = self.config.weight_model_config or BertScore.Config()
        check_bertscore(weights)
        self.runtime = Runtime(batch_size=weights.batch_size)
        return load(
            "pt-errant",
            model=bert_of(weights),
            layer=weights.num_layers,
            beta=self.config.beta,
            tagger=self.tagger,
        )


class GREEN(ByReference):
    """GREEN."""

    @dataclass
    class Config(ByReference.Config):
        """`n`: longest n-gram. `beta`: weight of recall. `unit`: word or char."""

        n: int = 4
        beta: float = 2.0
        unit: str = "word"

    def _scorer(self) -> Scorer:
        c = self.config
        return load("green", n=c.n, beta=c.beta, unit=_unit(c.unit, "char"))


def _unit(unit: str, characters: str) -> str:
    if unit not in ("word", "char"):
        raise OptionError(f"unit={unit!r:.40}: expected word or char")
    return characters if unit == "char" else unit


class GLEU(ByReference):
    """GLEU with the multiset difference and references drawn as by the authors' script."""

    counted: ClassVar[str] = "gleu"

    @dataclass
    class Config(ByReference.Config):
        """`iter`: draws of references. `n`: longest n-gram. `unit`: word or char."""

        iter: int = 500
        n: int = 4
        unit: str = "word"

    def _scorer(self) -> Scorer:
        settings = {
            "n": self.config.n,
            "draws": self.config.iter,
            "unit": _unit(self.config.unit, "line"),
            "choices": "script",
        }
        # Both variants compute scores from the sums by the formula of `gleu`.
        self._plain = load("gleu", **settings)
        return load(self.counted, **settings)

    def corpus_scores(self, texts: Texts) -> list[float]:
        """Return the mean over the draws for each system."""
        return self._numbers(self._plain.corpus_scores(self._statistics(texts)).score)

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Return means over the references, systems × sentences."""
        scores = self._plain.sentence_scores(self._statistics(texts)).score
        return [self._numbers(line) for line in scores]

    def _statistics(self, texts: Texts) -> Statistics:
        corpus = corpus_of_texts(*texts.of_named_systems())
        self.scorer.check(corpus)
        statistics = self.scorer.statistics(corpus, self.runtime)
        values = statistics.values.copy()
        # In gec-metrics the lengths of an empty text are 1, also in the sums of a corpus.
        values[..., :2] = np.maximum(values[..., :2], 1)
        return replace(statistics, values=values)


class GLEUOfficial(GLEU):
    """GLEU with the difference of the authors' script."""

    counted: ClassVar[str] = "gleu-official"


class GoToScorer(ERRANT):
    """GoToScorer's chunks by one reference, with equal weights or weights from a file."""

    @dataclass
    class Config(ERRANT.Config):
        """`weight_file`: from gecmetrics-gen-gotoscorer-weight; it is read unless `no_weight`."""

        weight_file: str = ""
        ref_id: int = 0
        no_weight: bool = True

    @dataclass
    class Chunk:
        """A chunk as in gec-metrics."""

        o_start: int = 0
        o_end: int = 0
        c_str: str = ""
        type: str = ""
        weight: float = 1.0
        is_edited: bool = False

    def __init__(self, config: Any = None) -> None:
        super().__init__(config)
        no_weight = self.config.no_weight
        self.weights = None if no_weight else _chunk_weights(self.config.weight_file)

    def _scorer(self) -> Scorer:
        return load(
            "gotoscorer",
            beta=self.config.beta,
            reference=self.config.ref_id,
            tagger=self.tagger,
        )

    def generate_chunks(self, edits: Sequence[ExtractedEdit], tokens: Sequence[str]) -> list[Chunk]:
        """Return the chunks of a source by the edits of a correction."""
        # Chunks have no types, but a chunk that is an edit has that edit's span.
        types = {(edit.o_start, edit.o_end): edit.type for edit in edits}
        plain = [Edit(edit.o_start, edit.o_end, edit.c_str, edit.type) for edit in edits]
        return [
            self.Chunk(
                chunk.start,
                chunk.end,
                " ".join(chunk.correction),
                types[chunk.start, chunk.end] if chunk.edited else _DUMMY,
                is_edited=chunk.edited,
            )
            for chunk in chunk_sequence(tokens, plain)
        ]

    def corpus_scores(self, texts: Texts) -> list[float]:
        """Return the F-score of the summed counts for each system."""
        return self._numbers(self._f(self._corpus_counts(texts)))

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Return F-scores, systems × sentences."""
        return [self._numbers(line) for line in self._f(self._sentence_counts(texts))]

    def _corpus_counts(self, texts: Texts) -> FloatArray:
        sums: FloatArray = self._sentence_counts(texts).sum(axis=1)
        return sums

    def _sentence_counts(self, texts: Texts) -> FloatArray:
        # Counts are tp, fp, fn, tn, weight. Our metric `gotoscorer` refuses a single system, since
        # weights would come from its own mistakes. Here weights are equal or come from a file.
        corpus = corpus_of_texts(*texts.of_named_systems())
        if not 0 <= self.config.ref_id < len(corpus.references):
            raise InputError(
                f"ref_id={self.config.ref_id}: {len(corpus.references)} references were given, "
                "counted from 0"
            )
        edits = corpus_edits(corpus, self.tagger, self.runtime)
        tokens = [source.split() for source in corpus.sources]
        chosen = edits.references[self.config.ref_id]
        judged = judge_systems(tokens, chosen, list(edits.systems.values()))
        return judged.counts(self.weights)

    def _f(self, counts: FloatArray) -> FloatArray:
        tp, fp, fn, _, _ = np.moveaxis(counts, -1, 0)
        return precision_recall_f(tp, fp, fn, beta=self.config.beta)[2]


def _chunk_weights(path: str) -> ChunkWeights:
    """Read weights from a file of gec-metrics: how many of its systems got each chunk right.

    Raises:
        InputError: the file cannot be read, or contains something else.
    """
    expected = (
        'a list with {"evaluations": [...], ...} for each sentence, with a list for each chunk and '
        "in it 0 or 1 for each system"
    )
    record = read_json(Path(path), expected)
    # Weights need only the number of systems that got a chunk right.
    try:
        right = [tuple(sum(chunk) for chunk in line["evaluations"]) for line in record]
        sizes = {len(chunk) for line in record for chunk in line["evaluations"]}
        verdicts = {mark for line in record for chunk in line["evaluations"] for mark in chunk}
    except (TypeError, KeyError):
        raise InputError(f"{path} does not contain weights: expected {expected}") from None
    if len(sizes) != 1 or min(sizes) < 1 or not verdicts <= {0, 1}:
        raise InputError(f"{path} does not contain weights: expected {expected}")
    return ChunkWeights(sizes.pop(), tuple(right))


class SOME(WithoutReference):
    """SOME with three models in one folder."""

    @dataclass
    class Config(WithoutReference.Config):
        """Folders `grammer` (or `grammaticality`), `fluency` and `meaning` in the same folder."""

        model_g: str = "gfm-models/grammer"
        model_f: str = "gfm-models/fluency"
        model_m: str = "gfm-models/meaning"
        weight_g: float = 0.55
        weight_f: float = 0.43
        weight_m: float = 0.02
        no_cuda: bool = False
        batch_size: int = 32
        max_length: int = 128

    def _scorer(self) -> Scorer:
        c = self.config
        folders = [Path(name) for name in (c.model_g, c.model_f, c.model_m)]
        names = [folder.name for folder in folders]
        if len({folder.parent for folder in folders}) > 1 or names not in (
            ["grammer", "fluency", "meaning"],
            ["grammaticality", "fluency", "meaning"],
        ):
            raise OptionError(
                f"some: {c.model_g}, {c.model_f}, {c.model_m}: expected folders called grammer (or "
                "grammaticality), fluency and meaning in the same folder"
            )
        return load(
            "some",
            model=str(folders[0].parent),
            alpha=c.weight_g,
            beta=c.weight_f,
            gamma=c.weight_m,
            max_length=c.max_length,
        )


class IMPARA(WithoutReference):
    """IMPARA."""

    @dataclass
    class Config(WithoutReference.Config):
        """`model_qe`: ranker. `model_se`: similarity encoder. `threshold`: least similarity."""

        model_qe: str = "gotutiyan/IMPARA-QE"
        model_se: str = "bert-base-cased"
        max_length: int = 128
        threshold: float = 0.9
        no_cuda: bool = False
        batch_size: int = 32

    def _scorer(self) -> Scorer:
        c = self.config
        return load(
            "impara",
            model=c.model_qe,
            encoder=c.model_se,
            threshold=min(max(c.threshold, -1.0), 1.0),
            max_length=c.max_length,
        )

    def sentence_scores(self, texts: Texts) -> list[list[float]]:
        """Return sentence scores; all 0 under a threshold above 1, which no cosine reaches."""
        # Our metric `impara` refuses such a threshold; in gec-metrics no sentence passes it.
        if self.config.threshold > 1:
            corpus_of_texts(*texts.of_named_systems())
            return [[0.0] * len(texts.sources) for _ in texts.systems]
        return super().sentence_scores(texts)

    def corpus_scores(self, texts: Texts) -> list[float]:
        """Return means of the sentence scores."""
        if self.config.threshold > 1:
            return [0.0 for _ in self.sentence_scores(texts)]
        return super().corpus_scores(texts)


class Scribendi(WithoutReference):
    """Scribendi score, as integers."""

    whole: ClassVar[bool] = True

    @dataclass
    class Config(WithoutReference.Config):
        """`model`: causal language model. `threshold`: least similarity to the source."""

        model: str = "gpt2"
        threshold: float = 0.8
        no_cuda: bool = False
        batch_size: int = 32

    def _scorer(self) -> Scorer:
        return load("scribendi", model=self.config.model, threshold=self.config.threshold)


_CLASSES: tuple[type[MetricBase], ...] = (
    Scribendi,
    IMPARA,
    SOME,
    GLEU,
    GLEUOfficial,
    ERRANT,
    GREEN,
    GoToScorer,
    BertScore,
    PTERRANT,
)

METRICS: Mapping[str, type[MetricBase]] = {kind.__name__.lower(): kind for kind in _CLASSES}
"""Metrics by their names in gec-metrics."""
