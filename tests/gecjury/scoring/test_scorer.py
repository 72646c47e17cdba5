"""The scorer interface, tested with toy scorers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import gecjury
from gecjury.core.errors import GecjuryError, InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.scoring.scorer import GroupScorer, MeanScorer
from gecjury.scoring.scores import Statistics

NAN = math.nan


@dataclass(frozen=True)
class Length(MeanScorer):
    """Words in the hypothesis times a factor; an empty line is not scored."""

    name: ClassVar[str] = "length"
    family: ClassVar[str] = "refless"

    factor: float = 1.0

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        values = [
            [self.factor * len(line.split()) or NAN for line in version.lines]
            for version in corpus.systems.values()
        ]
        return Statistics(np.array(values, dtype=np.float64), notes=("empty lines left out",))


@dataclass(frozen=True)
class Longest(GroupScorer):
    """A text's share of the longest text of its group; a text with "?" gets no verdict."""

    name: ClassVar[str] = "longest"
    family: ClassVar[str] = "refless"

    def judge(
        self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
    ) -> tuple[list[list[float]], Statistics | None]:
        verdicts = []
        for group in groups:
            texts = [corpus.systems[place[0]].lines[group.sentence] for place in group.systems]
            longest = max(len(text) for text in texts)
            verdicts.append([NAN if "?" in text else len(text) / longest for text in texts])
        report = Statistics(np.empty(0), details={"groups": len(groups)}, notes=("judged",))
        return verdicts, report


def test_missing_scores_stay_missing_and_means_exclude_them() -> None:
    table = Length().score(
        ["s", "s", "s"], {"x": ["a b", "", "a b c d"], "y": ["a", "a", "a"], "z": ["", "", ""]}
    )
    np.testing.assert_array_equal(table.sentences, [[2, NAN, 4], [1, 1, 1], [NAN, NAN, NAN]])
    assert table.totals["x"] == 3.0  # (2 + 4) / 2
    assert table.totals["y"] == 1.0
    assert math.isnan(table.totals["z"])
    assert table.missing == 4
    assert table.precision is None
    assert table.recall is None
    assert table.statistics.notes == ("empty lines left out",)


def test_totals_are_found_by_name_position_and_slice() -> None:
    totals = Length().score(["s"], {"x": ["a"], "y": ["a b"], "z": ["a b c"]}).totals
    assert (totals["y"], totals[1], totals[-1]) == (2.0, 2.0, 3.0)
    assert totals[1:] == [2.0, 3.0]
    assert list(totals) == [1.0, 2.0, 3.0]
    assert len(totals) == 3
    assert np.array(totals).tolist() == [1.0, 2.0, 3.0]
    assert repr(totals) == "{'x': 1.0, 'y': 2.0, 'z': 3.0}"
    with pytest.raises(KeyError, match="'w' is not among the systems x, y, z"):
        totals["w"]
    with pytest.raises(IndexError):
        totals[3]


def test_resampling_reads_statistics_only() -> None:
    scorer = Length()
    statistics = Statistics(np.array([[2.0, NAN, 4.0], [1.0, 1.0, 7.0]]))
    draws = np.array([[0, 0, 2], [1, 1, 1], [0, 1, 2]])
    scores = scorer.corpus_scores(statistics, draws).score
    # (2+2+4)/3, nothing scored, (2+4)/2 and (1+1+7)/3, 1, (1+1+7)/3
    np.testing.assert_allclose(scores, [[8 / 3, 3], [NAN, 1], [3, 3]])


def test_hypotheses_and_references_in_memory() -> None:
    with pytest.raises(InputError, match="system x has 1 lines, but the source has 2"):
        Length().score(["a", "b"], {"x": ["a"]})
    with pytest.raises(InputError, match="reference 1 has 1 lines"):
        Length().score(["a", "b"], {"x": ["a", "b"]}, [["a"]])
    # one list of strings is one reference
    table = Length().score(["a", "b"], {"x": ["a", "b"]}, ["a", "b"])
    assert table.systems == ("x",)


@pytest.mark.parametrize(
    ("sources", "hypotheses", "references", "message"),
    [
        (["a", "b"], {"x": "a b"}, (), r"hypotheses\['x'\] is one text; expected a list"),
        ("a b", "a b", "a b", r"sources is one text; .* \(gecjury\.read_corpus reads files\)"),
        (["a", "b"], {"x": ["a", 3.5]}, (), r"hypotheses\['x'\]\[1\] is 3.5"),
        (["a", "b"], {"x": ["a", "b"]}, [["a", NAN]], r"references\[0\]\[1\] is nan"),
    ],
)
def test_values_that_are_not_text_are_named(
    sources: object, hypotheses: object, references: object, message: str
) -> None:
    with pytest.raises(InputError, match=message):
        Length().score(sources, hypotheses, references)  # type: ignore[arg-type]


def test_a_table_gives_records_and_is_shown_in_notebooks() -> None:
    table = Length().score(["a", "b"], {"x": ["a", "b c"], "<y>": ["a", "b"]})
    about = {"metric": "length", "family": "refless", "signature": str(table.signature)}
    assert table.rows() == [
        {"system": "x", **about, "score": 1.5},
        {"system": "<y>", **about, "score": 1.0},
    ]
    page = table._repr_html_()
    assert page.startswith(f"<table><caption>{table.signature}</caption>")
    assert "<tr><th>system</th><th>score</th></tr>" in page
    assert "<tr><td>&lt;y&gt;</td><td>1.0000</td></tr>" in page
    right = gecjury.load("errant").score(["a b"], ["a c"], ["a c"])
    assert [list(row)[-3:] for row in right.rows()] == [["score", "precision", "recall"]]
    assert "<th>precision</th><th>recall</th>" in right._repr_html_()


@pytest.mark.parametrize(
    ("need", "message"),
    [
        ("references", r"toy needs references: give at least one \(`references=FILE`\)"),
        ("gold", "toy needs gold edits: give an M2 file .`m2=FILE`"),
        ("rivals", "toy weighs systems against each other and got 1"),
    ],
)
def test_missing_inputs_of_a_metric_are_reported(need: str, message: str) -> None:
    @dataclass(frozen=True)
    class Toy(Length):
        name: ClassVar[str] = "toy"
        needs: ClassVar[frozenset[str]] = frozenset({need})

    with pytest.raises(InputError, match=message):
        Toy().score(["a"], {"x": ["a"]})


def test_hypotheses_of_a_source_are_judged_together() -> None:
    # sentence 0: "aa" and "aaaa" (twice); sentence 1: no verdict on "a?"
    hypotheses = {"x": ["aa", "a?"], "y": ["aaaa", "aaa"], "z": ["aaaa", "aaaaaa"]}
    table = Longest().score(["s", "s"], hypotheses)
    np.testing.assert_array_equal(table.sentences, [[0.5, NAN], [1, 0.5], [1, 1]])
    assert list(table.totals) == [0.5, 0.75, 1.0]
    assert table.missing == 1
    assert table.statistics.items is None  # no prescribed groups, hence no separate items
    assert table.statistics.details == {"groups": 2}
    assert table.statistics.notes == ("judged",)


def test_prescribed_groups_may_overlap() -> None:
    systems = {"x": Version(("aa", "a")), "y": Version(("aaaa", "a")), "z": Version(("a", "aa"))}
    groups = (
        Group("first", 0, (("x",), ("y",))),
        Group("second", 0, (("z",), ("x",))),
        Group("third", 1, (("x", "y"), ("z",))),
        Group("stranger", 1, (("nobody", "x"),)),
    )
    corpus = Corpus(("s", "s"), {**systems, "nobody": systems["x"]}, groups=groups)
    table = Longest().score_corpus(corpus.with_systems(["x", "y", "z", "nobody"]))
    np.testing.assert_array_equal(
        table.statistics.items,
        [[0.5, 1, 0.5, 1], [1, NAN, 0.5, NAN], [NAN, 0.5, 1, NAN], [NAN, NAN, NAN, 1]],
    )
    # a text judged in several groups gets the mean of its scores there
    np.testing.assert_array_equal(table.sentences, [[0.75, 0.75], [1, 0.5], [0.5, 1], [NAN, 1]])


def test_a_judge_that_skips_a_group_is_stopped() -> None:
    @dataclass(frozen=True)
    class Lazy(Longest):
        def judge(
            self, corpus: Corpus, groups: Sequence[Group], runtime: Runtime
        ) -> tuple[list[list[float]], Statistics | None]:
            return super().judge(corpus, groups, runtime)[0][:-1], None

    with pytest.raises(GecjuryError, match="longest judged 1 of 2 groups"):
        Lazy().score(["s", "s"], {"x": ["a", "b"]})


def test_a_joint_scorers_key_depends_on_its_rivals() -> None:
    def key(scorer: MeanScorer, *names: str) -> str:
        systems = {name: Version((name,)) for name in names}
        return scorer.signature(Corpus(("s",), systems)).key

    assert key(Longest(), "a", "b") != key(Longest(), "a", "c")
    assert key(Longest(), "a", "b") == key(Longest(), "a", "b")
    assert key(Length(), "a", "b") == key(Length(), "a", "c")
