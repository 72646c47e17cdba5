"""The edit level: cases, agreement between annotators, and `compare`."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.edit_verdicts import HumanVerdict, JudgedSource
from gecjury.benchmarks.load import load_benchmark
from gecjury.cli import main
from gecjury.core.errors import DataError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.metaeval.comparison import checked, compare, plans
from gecjury.metaeval.edits.cases import (
    annotator_pairs,
    baselines,
    edit_cases,
    unused_verdicts,
)
from gecjury.metaeval.edits.comparison import compare_edits, edit_metrics
from gecjury.metaeval.edits.measures import edit_agreement
from gecjury.metaeval.settings import Level, Settings
from gecjury.report.comparison import document, tables
from gecjury.report.tables import tables_text
from gecjury.report.words import ComparisonWords
from gecjury.stats.resampling import Resampling
from tests.gecjury.metaeval.edits.test_credit import Many, Verdict

SOURCES = ("a b c", "d e f", "g h i")


def said(annotator: str, row: int, text: str, *marks: tuple[int, str, bool]) -> list[HumanVerdict]:
    """Return one annotator's verdicts on a correction, from (token, replacement, valid)."""
    return [
        HumanVerdict(annotator, SOURCES[row], text, at, at + 1, new, valid)
        for at, new, valid in marks
    ]


VERDICTS = [
    *said("one", 0, "X Y c", (0, "X", True), (1, "Y", False)),
    *said("two", 0, "X Y c", (0, "X", True), (1, "Y", True)),
    *said("one", 0, "X b c", (0, "X", True)),
    *said("one", 1, "d Y f", (1, "Y", False)),
    *said("two", 1, "d Y f", (1, "Y", False)),
    *said("three", 1, "d Y f", (1, "Y", True)),
    *said("three", 2, "X h i", (0, "X", True)),
]


def benchmark() -> Benchmark:
    systems = {"s": Version(("X Y c", "d Y f", "X h i")), "t": Version(("X b c", "d e f", "g h i"))}
    corpus = Corpus(SOURCES, systems, (Version(("X b c", "d e f", "g h i")),))
    judged = [JudgedSource(source, "before", "after") for source in SOURCES]
    found = load_benchmark("sample")
    return replace(
        found,
        corpus=corpus,
        rankings={},
        human={"edit": {"trueskill": {"s": 0.0, "t": 1.0}}},
        _verdicts=lambda: (tuple(VERDICTS), tuple(judged), ()),
    )


def test_an_edit_of_a_correction_is_one_case() -> None:
    cases = edit_cases(benchmark())
    found = [(c.row, c.correction, c.edit.correction, len(c.edits), c.valid) for c in cases]
    assert found == [
        (0, "X Y c", "X", 2, 1.0),
        (0, "X Y c", "Y", 2, 0.5),
        (0, "X b c", "X", 1, 1.0),
        (1, "d Y f", "Y", 1, 1 / 3),
        (2, "X h i", "X", 1, 1.0),
    ]
    assert all(case.complete for case in cases)
    assert not replace(cases[0], edits=cases[0].edits[:1]).complete


def test_a_repeated_source_belongs_to_the_row_of_its_correction() -> None:
    corpus = Corpus(("a b c", "a b c"), {"s": Version(("X b c", "a Y c"))})
    verdicts = [
        *said("one", 0, "X b c", (0, "X", True)),
        *said("one", 0, "a Y c", (1, "Y", False)),
        *said("two", 0, "a Y c", (1, "Y", False)),
        *said("one", 0, "a b Z", (2, "Z", True)),
    ]
    twice = replace(
        benchmark(),
        corpus=corpus,
        _verdicts=lambda: (tuple(verdicts), benchmark().verdicts()[1], ()),
    )
    cases = edit_cases(twice)
    assert [(c.row, c.correction, c.valid) for c in cases] == [(0, "X b c", 1), (1, "a Y c", 0)]
    assert annotator_pairs(twice, cases)[2].tolist() == [1, 1]
    # Each is in the only correction of its row.
    assert baselines(cases, seed=0)["same-edit"].tolist() == [1, 1]
    note = "verdicts on corrections that none of the systems compared made: left out: 1"
    assert unused_verdicts(twice) == (note,)


def test_annotators_are_compared_in_both_directions() -> None:
    cases = edit_cases(benchmark())
    pairs, scores, place = annotator_pairs(benchmark(), cases)
    # X in XY: 2 directions, both agree; Y: 2, which disagree; Y in the second source: three
    # annotators, 6 directions, of which one–two and two–one agree (both invalid).
    assert sorted(place.tolist()) == [0, 0, 1, 1, 3, 3, 3, 3, 3, 3]
    found = edit_agreement(pairs, scores)
    assert found.values["accuracy"] == 4 / 10
    # Truth valid: X 2, Y 1, second source 2 (three against one and two). Called valid: X both,
    # none of the others: 2/5. Truth invalid: Y 1, second 4: called invalid: 2 of 5.
    assert found.values["balanced"] == 2 / 5
    assert found.values["auc"] == 2 / 5  # a single threshold: (sensitivity + specificity) / 2
    # Half of all are valid and half are called so: chance ½; κ = (.4 − .5) / .5.
    assert found.values["kappa"] == pytest.approx(-0.2)


def tried(*scorers: Any, level: Level = "edit") -> list[str]:
    chosen, _ = edit_metrics(scorers, benchmark(), Settings(level=level))
    return [scorer.name for scorer in chosen]


def test_every_metric_is_compared_with_the_verdicts() -> None:
    settings = Settings(level="edit", resampling=Resampling(resamples=20))
    study = checked(benchmark(), [Many(), Verdict()], settings)
    found = compare_edits(study)
    assert found is not None
    many, verdict, *others = found.rows
    chance, people = {row.metric: row.values for row in others[:-1]}, others[-1].values
    assert many.missing == verdict.missing == 0
    assert (many.metric, many.credit) == ("toy", "leave-one-out")
    # Y is split in the first source. X 3, X 1, X 1 against Y 0 in the second.
    values = many.values
    assert (values["auc"], values["cases"], values["valid"]) == (1.0, 4, 3)
    assert (values["split"], len(many.thresholds["accuracy"])) == (1, 2)
    assert (verdict.thresholds["accuracy"], verdict.values["accuracy"]) == ((0.5,), 1.0)
    assert (found.edits, found.corrections, found.sources) == (5, 4, 3)
    assert (people["edits"], found.resamples) == (3, 20)
    assert set(chance) == {"constant", "random", "same-edit"}
    assert chance["constant"]["auc"] == 0.5
    assert "asked" in found.notes
    assert compare_edits(replace(study, edit_metrics=())) is None


def test_a_comparison_at_edit_level_alone_is_shown(tmp_path: Path) -> None:
    found = compare(benchmark(), [Many(), Verdict()], Settings(level="edit"), score_files=tmp_path)
    assert found.tables == ()
    many, verdict = document(ComparisonWords(found))["rows"]
    assert (many["human"], many["edit"]["credit"]) == ("edit", "leave-one-out")
    assert {"auc", "average_precision", "average_precision_invalid", "accuracy", "balanced",
            "ci95", "cases", "valid", "missing", "split", "ceiling_edits",
            } <= set(many["edit"])  # fmt: skip
    assert verdict["edit"]["accuracy"] == 1.0
    table = tables(found)[0]
    names = [row["metric"] for row in table.rows]
    assert names[:2] == ["toy", "verdict"]
    assert names[-1] == "one annotator by another"
    assert "asked" in table.notes
    assert [row["metric"] for row in found.rows()] == names
    assert found.rows()[0]["auc"] == 1.0
    assert "leave-one-out" in tables_text([table])


def test_level_all_only_includes_cheap_credits() -> None:
    assert tried(Many(), Verdict(), level="all") == ["verdict"]
    assert edit_metrics([Many(), Verdict()], benchmark(), Settings())[1] == ("toy",)
    assert tried(Verdict(), level="sentence") == []
    assert edit_metrics([Verdict()], load_benchmark("sample"), Settings()) == ((), ())


def test_an_edit_level_without_verdicts_is_refused_before_any_scoring() -> None:
    with pytest.raises(DataError, match="no verdicts"):
        edit_metrics([Many()], load_benchmark("sample"), Settings(level="edit"))


def test_a_dry_run_counts_the_requests_of_attribution() -> None:
    from gecjury.scoring.scores import Plan

    @dataclass(frozen=True)
    class Paid(Many):
        def plan(self, corpus: Corpus, runtime: Runtime) -> Plan:
            return Plan(len(corpus), {"input": 0, "output": 0}, {})

    # First source XY, X, Y, ∅; second Y, ∅; third X, ∅.
    found = plans(checked(benchmark(), [Paid(), Many()], Settings(level="edit")))
    assert [plan.requests for plan in found] == [8]


def seeda(data_dir: Path, references: str = "official", systems: str = "all") -> Benchmark:
    return load_benchmark("seeda", systems=systems, references=references, data=data_dir)


@pytest.mark.slow
def test_seeda_has_the_known_cases(data_dir: Path) -> None:
    cases = edit_cases(seeda(data_dir))
    verdicts = seeda(data_dir).verdicts()[0]
    # The files contain 5,864 |True] and 600 |False]; 6,479 verdicts can be read (test_verdicts).
    assert len(verdicts) == 6479
    assert len(cases) == 4963
    assert sum(case.valid == 0.5 for case in cases) == 90
    assert min(case.row for case in cases) == 0
    incomplete = {(c.source, c.correction) for c in cases if not c.complete}
    assert len(incomplete) == 10  # of the 17 marks without a verdict
    pairs, scores, place = annotator_pairs(seeda(data_dir), cases)
    assert (len(set(place.tolist())), len(pairs)) == (975, 2222)
    # κ .465: agreement between the annotators.
    assert edit_agreement(pairs, scores).values["kappa"] == pytest.approx(0.4654, abs=5e-5)


@pytest.mark.slow
def test_seeda_only_has_cases_of_the_compared_systems(data_dir: Path) -> None:
    """Every judged correction is an output of one of the 15 systems; fewer are outputs of Base.

    Counted separately, by comparing the corrections with the lines of the output files.
    """
    base = edit_cases(seeda(data_dir, systems="base"))
    assert len(base) == 3092
    assert sum(case.valid == 0.5 for case in base) == 71
    pairs, _, place = annotator_pairs(seeda(data_dir, systems="base"), base)
    assert (len(set(place.tolist())), len(pairs)) == (672, 1488)


@pytest.mark.slow
def test_seeda_files(data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("errant")
    argv = ["compare", "seeda", "-m", "errant", "-m", "gleu", "--level", "edit", "--quiet"]
    argv += ["--systems", "all", "--references", "official-um-deleted"]
    argv += ["--data", str(data_dir), "--format", "json", "-o", str(tmp_path)]
    assert main(argv) == 0
    first = json.loads(capsys.readouterr().out)
    errant, gleu = (row["edit"] for row in first["rows"])
    assert (errant["cases"], errant["valid"], errant["split"]) == (4873, 4447, 90)
    assert errant["auc"] == pytest.approx(0.711, abs=5e-4)
    assert gleu["auc"] == pytest.approx(0.682, abs=5e-4)
    assert len(list(tmp_path.iterdir())) == 1
    assert main(argv) == 0
    again = json.loads(capsys.readouterr().out)
    for row in (*first["rows"], *again["rows"]):
        row["edit"].pop("seconds")
    assert again == first
