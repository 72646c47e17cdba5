"""Edit metrics that count edits as right which verdicts call valid, by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.judges.valid import Valid
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import check_new_texts
from gecjury.scoring.scores import ScoreTable

HIT = Edit(0, 1, "A", "R:ORTH")
VALID = Edit(2, 3, "C", "R:NOUN")
INVALID = Edit(3, 4, "D", "R:VERB")
UNJUDGED = Edit(4, 5, "", "U:DET")
MISSED = Edit(1, 1, "x", "M:DET")

HEADER = "sentence,system,start,end,correction,valid\n"
JUDGE = '''
from dataclasses import dataclass
import numpy as np
from gecjury.scoring.scorer import MeanScorer
from gecjury.scoring.scores import Plan, Statistics

@dataclass(frozen=True)
class Judge(MeanScorer):
    """Calls nouns valid, has no reply about determiners."""
    name = "kind-of-noun"
    family = "judges"
    least: float = 0.5
    most: float = 1.0

    def statistics(self, corpus, runtime):
        raise AssertionError("only single edits are judged")

    def plan_edits(self, cases, runtime):
        return Plan(len(cases), {}, {"amount": None})

    def edit_scores(self, cases, runtime):
        replies = {"R:NOUN": 1.0, "R:VERB": 0.0}
        scores = [replies.get(case.edit.type, np.nan) for case in cases]
        return np.array(scores), Statistics(np.empty(0), None, {}, ("asked",))
'''


def corpus() -> Corpus:
    """Return two systems with four edits and one; the references have one of them and another."""
    source = ("a b c d e",)
    return Corpus(
        source,
        {
            "many": Version(("A b C D",), ((HIT, VALID, INVALID, UNJUDGED),)),
            "one": Version(("A b c d e",), ((HIT,),)),
        },
        (Version(("A x b c d e",), ((HIT, MISSED),)),),
    )


def verdict_file(folder: Path, *rows: str) -> str:
    path = folder / "verdicts.csv"
    path.write_text(HEADER + "\n".join(rows) + "\n")
    return str(path)


def check_counts(table: ScoreTable) -> None:
    # Without verdicts TP 1 (A), FP 3 (C, D, the deletion), FN 1 (x). C is called valid: TP 2,
    # FP 2, FN 1, so P = 2/4, R = 2/3 and F0.5 = 1.25 · 1/2 · 2/3 / (.25 · 1/2 + 2/3) = 10/19.
    assert table.statistics.values.tolist() == [[[[2, 2, 1]]], [[[1, 0, 1]]]]
    assert table.precision is not None
    assert table.recall is not None
    assert (table.precision["many"], table.recall["many"]) == pytest.approx((1 / 2, 2 / 3))
    assert table.totals["many"] == pytest.approx(10 / 19)
    assert table.sentences[0, 0] == pytest.approx(10 / 19)
    assert table.statistics.details["by_type"]["many"] == {
        "R:ORTH": [1, 0, 0],
        "R:NOUN": [1, 0, 0],
        "R:VERB": [0, 1, 0],
        "U:DET": [0, 1, 0],
        "M:DET": [0, 0, 1],
    }
    # F0.5 without verdicts: P = 1/4, R = 1/2: 1.25 · 1/8 / (1/16 + 1/2) = 5/18.
    assert table.statistics.details["valid"]["many"] == {
        "false_positives": 3,
        "valid": 1,
        "unjudged": 1,
        "score_without": pytest.approx(5 / 18),
    }


def test_false_positives_that_people_call_valid_count_as_true_positives(tmp_path: Path) -> None:
    path = verdict_file(
        tmp_path,
        "1,many,2,3,C,right",
        "1,many,3,4,D,wrong",
        "1,elsewhere,4,5,,right",  # a system that is not scored
    )
    table = load("valid", judge=path).score_corpus(corpus())
    check_counts(table)
    (note,) = table.statistics.notes
    assert note == (
        f"judge={path}: 1 of 3 false positives are called valid and count as true positives; 1 "
        "have no verdict and stay false. Scores without and with them: many 0.2778 → 0.5263, one "
        "0.8333 → 0.8333"
    )


def test_each_system_may_have_a_reference_of_its_own(tmp_path: Path) -> None:
    path = verdict_file(tmp_path, "1,many,2,3,C,right", "1,many,3,4,D,wrong")
    shared = corpus()
    perfect = Version(("A b c d e",), ((HIT,),))
    own = replace(
        shared, references=(*shared.references, perfect), reference_systems=("many", "one")
    )
    table = load("valid", judge=path).score_corpus(own)
    # As with the reference for both, but the other output has all edits of its own one.
    assert list(table.totals) == pytest.approx([10 / 19, 1])
    valid = table.statistics.details["valid"]
    assert valid["many"]["score_without"] == pytest.approx(5 / 18)
    assert valid["one"]["score_without"] == 1
    assert len(table.statistics.notes) == 1
    assert load("valid", by="sent-errant", judge=path).score_corpus(corpus()).totals["many"] == (
        pytest.approx(10 / 19)
    )


def test_a_judge_is_asked_about_edits_that_a_reference_lacks(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text(JUDGE)
    metric = load(f"valid:by=errant[beta=0.5],judge={tmp_path}/own.py:Judge[least=0.1,most=0.9]")
    assert isinstance(metric, Valid)
    assert metric.asks
    plan = metric.plan(corpus(), Runtime())
    assert plan is not None
    assert plan.requests == 3
    table = metric.score_corpus(corpus())
    check_counts(table)
    assert table.unanswered == 1
    assert table.statistics.notes[1:] == ("asked",)
    # The label loads the same metric, and other options of the judge give another signature.
    assert load(table.signature.label).signature(corpus()) == table.signature
    other = load(f"valid:judge={tmp_path}/own.py:Judge[least=0.2]")
    assert other.signature(corpus()).extra["verdicts"] != table.signature.extra["verdicts"]


def test_valid_edits_count_in_other_modes(tmp_path: Path) -> None:
    # The valid edit [2, 4) has two tokens, one of which the reference edits as well.
    edit = Edit(2, 4, "C", "R:NOUN")
    reference = Edit(3, 4, "z", "R:VERB")
    texts = Corpus(
        ("a b c d",),
        {"mine": Version(("a b C",), ((edit,),))},
        (Version(("a b c z",), ((reference,),)),),
    )
    path = verdict_file(tmp_path, "1,mine,2,4,C,1")
    for mode, counts in (("token", [2, 0, 0]), ("span", [1, 0, 1]), ("correction", [1, 0, 1])):
        table = load("valid", by=f"errant[mode={mode}]", judge=path).score_corpus(texts)
        assert table.statistics.values.tolist() == [[[counts]]]


def test_contradictory_verdicts_are_ignored(tmp_path: Path) -> None:
    folder = tmp_path / "EditEval"
    for annotator, verdict in ((1, "True"), (2, "False")):
        (folder / f"annotator{annotator}").mkdir(parents=True)
        (folder / f"annotator{annotator}" / "0.txt").write_text(
            f"\n<t>a b c d e</t>\n\n<s1>[a→A|True] b [c→C|True] [d→D|{verdict}] [e→|False]</s1>\n"
        )
    table = load("valid", judge=str(folder)).score_corpus(corpus())
    assert table.statistics.details["valid"]["many"]["valid"] == 1
    assert table.statistics.details["valid"]["many"]["unjudged"] == 1


def test_unusable_verdicts_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file; expected a table of"):
        load("valid:judge=nowhere.csv").score_corpus(corpus())
    with pytest.raises(
        OptionError, match="green does not judge single edits; expected edit-verdict"
    ):
        load("valid:judge=green[n=3]")
    path = verdict_file(tmp_path, "1,many,2,3,C,right")
    with pytest.raises(OptionError, match="has scores of given texts"):
        check_new_texts(load("valid", judge=path), "a reward")
    with pytest.raises(OptionError, match="by=gleu: expected a metric that compares edits"):
        load("valid:by=gleu")
    with pytest.raises(OptionError, match="errant has no option 'valid'"):
        load(f"errant:valid={path}")


def test_verdicts_must_be_named() -> None:
    with pytest.raises(OptionError, match="no verdicts are named: give -m valid:judge=FILE"):
        load("valid").score(["a"], ["b"], ["b"])
