"""The API of gec-metrics: names, settings, shapes, and scores equal to this package's metrics."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gecjury import load
from gecjury.compat.gec_metrics import (
    get_meta_eval,
    get_meta_eval_ids,
    get_metric,
    get_metric_ids,
)
from gecjury.compat.gec_metrics.base import Score
from gecjury.compat.gec_metrics.metrics import (
    ERRANT,
    BertScore,
    GoToScorer,
    MetricBaseForReferenceFree,
    MetricBaseForSourceFree,
    inputs_handler,
)
from gecjury.core.errors import GecjuryError

SOURCES = ["He go to the school yesterday .", "All is well here .", "They is at home ."]
FIRST = ["He went to school yesterday .", "All is well here .", "They are at home ."]
SECOND = ["He goes to a school yesterday .", "All was well there .", ""]
REFERENCES = [
    ["He went to school yesterday .", "All is well here .", "They are at the home ."],
    ["He went to the school yesterday .", "All is well .", "They are home ."],
]


class Length(MetricBaseForReferenceFree):
    """A user-defined metric."""

    def score_sentence(self, sources: list[str], hypotheses: list[str]) -> list[float]:
        return [float(len(line)) for line in hypotheses]


class Same(MetricBaseForSourceFree):
    def score_sentence(self, hypotheses: list[str], references: list[list[str]]) -> list[float]:
        return [float(h in column) for h, *column in zip(hypotheses, *references, strict=True)]


def test_names_are_those_of_gec_metrics() -> None:
    assert get_metric_ids() == [
        "scribendi", "impara", "some", "gleu", "gleuofficial", "errant", "green", "gotoscorer",
        "bertscore", "pterrant",
    ]  # fmt: skip
    assert get_meta_eval_ids() == ["gjg", "seeda"]
    with pytest.raises(ValueError, match="did you mean errant"):
        get_metric("erant")
    with pytest.raises(ValueError, match=r"gecjury\.load\('llm-e', model=\.\.\.\)"):
        get_metric("llmkobayashi24openaiedit")
    with pytest.raises(ValueError, match="did you mean seeda"):
        get_meta_eval("seda")


@pytest.mark.parametrize(
    ("name", "ours", "settings"),
    [
        ("errant", "errant", {"beta": 1.0}),
        ("green", "green:n=4", {}),
        ("green", "green:n=3,unit=char,beta=0.5", {"n": 3, "unit": "char", "beta": 0.5}),
        ("gleu", "gleu:choices=script", {}),
        ("gleu", "gleu:choices=script,draws=7,n=2,unit=line", {"iter": 7, "n": 2, "unit": "char"}),
    ],
)
def test_scores_are_those_of_the_metric(name: str, ours: str, settings: dict[str, object]) -> None:
    metric_class = get_metric(name)
    metric = metric_class(metric_class.Config(**settings))
    scorer = load(ours, beta=1.0) if name == "errant" else load(ours)
    # Without the empty hypothesis, which counts as one word in gec-metrics.
    systems = {"one": FIRST, "two": SECOND[:2] + FIRST[2:]}
    table = scorer.score(SOURCES, systems, REFERENCES)
    for row, lines in enumerate(systems.values()):
        given = {"sources": SOURCES, "hypotheses": lines, "references": REFERENCES}
        assert metric.score_corpus(**given) == pytest.approx(table.totals[row], abs=1e-12)
        assert metric.score_sentence(**given) == pytest.approx(table.sentences[row].tolist())
    both = metric.rank_systems(SOURCES, list(systems.values()), REFERENCES)
    assert both == pytest.approx(list(table.totals), abs=1e-12)
    assert all(type(score) is float for score in both)


def test_gleu_counts_an_empty_hypothesis_as_one_word() -> None:
    # Counts over both sentences: 4 of 4 unigrams and so on; lengths 4 + 1 against 4 + 8.
    metric = get_metric("gleu")()
    result = metric.score_corpus(["a b c d", "e"], ["a b c d", ""], [["a b c d", "f " * 7 + "g"]])
    assert result == pytest.approx(np.exp(1 - 12 / 5))


def test_official_gleu_is_not_smoothed() -> None:
    metric = get_metric("gleuofficial")()
    # No bigram is right: the score is 0, although the script replaces every 0 of a sentence by 1.
    assert metric.score_sentence(["a b c d e"], ["a x c y e"], [["a q c r e"]]) == [0.0]
    assert (
        load("gleu-official").score(["a b c d e"], {"x": ["a x c y e"]}, [["a q c r e"]]).sentences
        > 0
    )


def test_counts_of_errant() -> None:
    metric = ERRANT(ERRANT.Config(beta=0.5))
    whole = metric.score_corpus_verbose(SOURCES, FIRST, REFERENCES)
    assert whole.f == pytest.approx(metric.score_corpus(SOURCES, FIRST, REFERENCES))
    single = metric.score_sentence_verbose(SOURCES, FIRST, REFERENCES)
    assert [s.f for s in single] == pytest.approx(metric.score_sentence(SOURCES, FIRST, REFERENCES))
    assert (single[0].tp, single[0].fp, single[0].fn) == (2.0, 0.0, 0.0)
    assert (single[1].f, single[1].precision) == (1.0, 1.0)
    [edit] = metric.edit_extraction("They is home .", "They are home .")
    assert tuple(edit) == (1, 2, "is", "are", "R:VERB:SVA")


def test_scores_can_be_added_and_compared() -> None:
    total = Score(1, 1, 0) + Score(0, 0, 3, beta=2)
    assert (total.tp, total.fp, total.fn, total.beta) == (1, 1, 3, 0.5)
    assert Score(0, 0, 3, beta=0.0).f == 0.0
    assert (total.precision, total.recall) == (0.5, 0.25)
    assert total.f == pytest.approx(1.25 * 0.125 / (0.125 + 0.25))
    assert Score().f == 1.0
    assert Score(fp=1, fn=1).f == 0.0
    assert Score(tp=1, fp=1) < Score(tp=1)
    assert Score(1, 0, 0, 3).accuracy == 1.0


def test_chunks_of_gotoscorer() -> None:
    metric = GoToScorer()
    source = "He go home ."
    chunks = metric.generate_chunks(
        metric.edit_extraction(source, "He went home ."), source.split()
    )
    assert [(c.o_start, c.o_end, c.c_str) for c in chunks][:4] == [
        (0, 0, ""), (0, 1, "He"), (1, 1, ""), (1, 2, "went")
    ]  # fmt: skip
    assert [c.type for c in chunks if c.is_edited] == ["R:VERB:TENSE"]
    assert len(chunks) == 9
    # Right: the edit; wrong: nothing; correctly unchanged: eight chunks.
    assert metric.score_sentence([source], ["He went home ."], [["He went home ."]]) == [1.0]
    counts = metric.score_corpus_verbose([source], ["He goes home ."], [["He went home ."]])
    assert (counts.tp, counts.fp, counts.fn) == (0.0, 1.0, 1.0)


def test_weights_of_gotoscorer_are_read_from_the_file(tmp_path: Path) -> None:
    source, reference = ["He go home ."], ["He went home ."]
    path = tmp_path / "weights.json"
    right = [[1, 1]] * 3 + [[1, 0]] + [[1, 1]] * 5  # one of two systems has the edit
    path.write_text(json.dumps([{"evaluations": right, "weights": []}]))
    metric = GoToScorer(GoToScorer.Config(no_weight=False, weight_file=str(path)))
    counts = metric.score_corpus_verbose(source, reference, [reference])
    assert (counts.tp, counts.fp, counts.fn) == (0.5, 0.0, 0.0)
    for wrong in ([{"weights": []}], [{"evaluations": [[2]]}], [{"evaluations": [[]]}], {"a": 1}):
        path.write_text(json.dumps(wrong))
        with pytest.raises(GecjuryError, match="weights"):
            GoToScorer(GoToScorer.Config(no_weight=False, weight_file=str(path)))


def test_pairs_and_trueskill() -> None:
    metric = Length()
    table = metric.score_pairwise(SOURCES, [FIRST, SECOND])
    assert table == [[[0, -1], [1, 0]], [[0, -1], [1, 0]], [[0, 1], [-1, 0]]]
    longer = [f"{line} indeed" for line in FIRST]
    skills = metric.rank_systems(SOURCES, [FIRST, longer], aggregation="trueskill")
    assert skills[1] > 0 > skills[0]
    assert metric.run_trueskill([[[0, None], [None, 0]]]) == [0.0, 0.0]
    assert metric.rank_systems(SOURCES, [["a", "b"], ["ab", "cd"]]) == [1.0, 2.0]
    with pytest.raises(ValueError, match="expected default or trueskill"):
        metric.rank_systems(SOURCES, [FIRST], aggregation="mean")
    with pytest.raises(ValueError, match="no sentences"):
        metric.score_corpus([], [])


def test_kinds_of_metrics_receive_the_texts_they_need() -> None:
    given = {"sources": SOURCES, "hypotheses": FIRST, "references": REFERENCES}
    assert inputs_handler(ERRANT(), **given) == given
    assert set(inputs_handler(Length(), **given)) == {"sources", "hypotheses"}
    assert set(inputs_handler(Same(), **given)) == {"hypotheses", "references"}
    assert Same().score_corpus(FIRST, REFERENCES) == pytest.approx(2 / 3)
    assert Same().rank_systems([FIRST, SECOND], REFERENCES)[1] == 0.0
    with pytest.raises(ValueError, match="not derived from a base class"):
        inputs_handler(object(), **given)  # type: ignore[arg-type]


def test_bertscore_uses_the_best_reference_and_weights_edits(tiny_bert: Path) -> None:
    config = BertScore.Config(model_type=str(tiny_bert), num_layers=2, rescale_with_baseline=False)
    metric = BertScore(config)
    lines = ["a b c", "b c"]
    single = [metric.score_sentence(lines, [[r, r]]) for r in ("a b c", "c a")]
    assert metric.score_sentence(lines, [["a b c"] * 2, ["c a"] * 2]) == pytest.approx(
        np.max(single, axis=0)
    )
    weighted = get_metric("pterrant")
    scorer = weighted(weighted.Config(weight_model_config=config, beta=2.0))
    ours = load("pt-errant", encoder=str(tiny_bert), layer=2, beta=2.0)
    table = ours.score(SOURCES, {"x": SECOND}, REFERENCES)
    assert scorer.score_sentence(SOURCES, SECOND, REFERENCES) == pytest.approx(
        table.sentences[0].tolist()
    )


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("errant", {"language": "de"}, "only English edits"),
        ("green", {"unit": "line"}, "expected word or char"),
        ("green", {"n": 0}, "n=0 is out of range"),
        ("bertscore", {"score_type": "p"}, "score_type='p' is not supported"),
        ("bertscore", {"idf": True}, "idf=True is not supported"),
        ("pterrant", {"weight_model_name": "bleu"}, "expected bertscore"),
        ("some", {"model_g": "x/g"}, "in the same folder"),
        ("some", {"weight_g": 1.0}, "sum to 1"),
        ("gotoscorer", {"no_weight": False, "weight_file": "gone.json"}, "gone.json"),
    ],
)
def test_unsupported_settings_are_refused(
    name: str, settings: dict[str, object], message: str
) -> None:
    metric_class = get_metric(name)
    with pytest.raises(GecjuryError, match=message):
        metric_class(metric_class.Config(**settings))


def test_unsuitable_references_are_refused() -> None:
    with pytest.raises(GecjuryError, match="ref_id=2"):
        GoToScorer(GoToScorer.Config(ref_id=2)).score_corpus(SOURCES, FIRST, REFERENCES)
    for name in ("errant", "gleu", "green"):
        with pytest.raises(GecjuryError, match="needs references"):
            get_metric(name)().score_corpus(SOURCES, FIRST, [])
        with pytest.raises(GecjuryError, match="has 2 lines"):
            get_metric(name)().score_corpus(SOURCES, FIRST[:2], REFERENCES)


def test_a_similarity_threshold_above_one_scores_0_without_a_model() -> None:
    metric_class = get_metric("impara")
    metric = metric_class(metric_class.Config(model_qe="gone", threshold=1.01))
    assert metric.score_sentence(SOURCES, FIRST) == [0.0, 0.0, 0.0]
    assert metric.rank_systems(SOURCES, [FIRST, SECOND]) == [0.0, 0.0]


@pytest.mark.slow
def test_seeda_by_length(data_dir: Path) -> None:
    # The expected values are those in gec-metrics' own tests of its meta-evaluation.
    meta_class = get_meta_eval("seeda")
    meta = meta_class(meta_class.Config(system="base", data=data_dir))

    class Characters(Length):
        def score_corpus(self, sources: list[str], hypotheses: list[str]) -> float:
            return sum(map(len, hypotheses))

    result = meta.corr_system(Characters())
    assert result.ew_edit.pearson == pytest.approx(0.42736690406501093, rel=1e-6)
    assert result.ts_sent.spearman == pytest.approx(0.5524475524475525, rel=1e-6)
    pairs = meta.corr_sentence(Characters())
    assert pairs.edit.accuracy == pytest.approx(0.5365853658536586, rel=1e-6)
    assert pairs.sent.kendall == pytest.approx(0.09114166933162776, rel=1e-6)
    windows = meta.window_analysis_system(Characters()).ts_edit
    assert len(windows) == 9
    assert windows[1, 4].spearman == pytest.approx(0.8, rel=1e-6)
    judged = get_meta_eval("gjg")
    other = judged(judged.Config(data=data_dir)).corr_system(Characters())
    assert other.ew.pearson == pytest.approx(-0.175093788793105, rel=1e-6)
