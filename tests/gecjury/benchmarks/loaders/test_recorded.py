"""Benchmarks with recorded grades of language models: made-up files, and the released ones."""

from __future__ import annotations

import json
from itertools import combinations, permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.recorded import load_dsgram, load_sottana
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import InputError
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.settings import Settings
from gecjury.stats.resampling import Resampling
from tests.made_up import data_folder, request

ROOT = "seq2seq_llm_evaluation/data/outputs/potato_and_GPT4_full_annotations"
RATERS = ("57e2b7c38e00270001b43aba", "5995e3cf9845ef00014de380", "61102f9292f5e6301b5bea45")
MODELS = ("gold_reference", "opt-iml-max-30b", "text-davinci-003", "gpt-3.5-turbo")
NAMES = {"systems": "all", "references": ("official",)}


def rated(part: int, **grades: tuple[str, str, str]) -> dict[str, Any]:
    """One person's row: every output has the best grades, except those given by number."""
    labels: dict[str, Any] = {}
    for number in range(1, 5):
        ending = "" if number == 1 else f"_{number}"
        found = grades.get(f"n{number}", ("scale_5", "0", "No"))
        for key, word in zip(("semantics", "grammaticality", "overcorrection"), found, strict=True):
            labels[key + ending] = {word: "1"} if word else None
    texts = {f"summary_{number}": f"text {part} by {number}" for number in range(1, 5)}
    return {"id": f"id{part}", "displayed_text": f"text {part}", **texts,
            "label_annotations": labels}  # fmt: skip


def files(
    changed: dict[tuple[int, int], dict[str, Any]], judged: list[dict[str, Any]] | None = None
) -> dict[str, str]:
    """Four sentences, one a part; rows by rater and part replace those with the best grades."""
    best = {"semantics": 5, "grammaticality": "0", "overcorrection": "No"}
    usual = [{**dict.fromkeys(MODELS, best), "id": f"id{part}"} for part in range(1, 5)]
    texts = {
        f"{ROOT}/gec_evaluation_1_of_4/gpt4_as_annotator/output.jsonl": "\n".join(
            map(json.dumps, usual if judged is None else judged)
        )
    }
    for number, rater in enumerate(RATERS):
        for part in range(1, 5):
            place = f"{ROOT}/gec_evaluation_{part}_of_4/annotation_output/{rater}"
            row = changed.get((number, part), rated(part))
            texts[f"{place}/annotated_instances.jsonl"] = json.dumps(row)
    return texts


def sottana(folder: Path, *given: Any, systems: str = "all") -> Benchmark:
    made = data_folder(folder, files(*given))
    return load_sottana(request("sottana", made, systems=systems, references=("official",)))


def test_higher_is_better_in_every_aspect_and_no_grade_is_missing(tmp_path: Path) -> None:
    worse = rated(1, n2=("scale_3", "2 or more", "Substatial over-correction"), n3=("", "1", "No"))
    judged = {
        "gold_reference": {"semantics": 5, "grammaticality": "0", "overcorrection": "No"},
        "opt-iml-max-30b": {
            "semantics": 4.5, "grammaticality": "1", "overcorrection": "Substantial over-correction"
        },
        "text-davinci-003": {"semantics": None, "grammaticality": "0", "overcorrection": "No"},
        "gpt-3.5-turbo": {
            "semantics": float("nan"), "grammaticality": "0", "overcorrection": "No"
        },
        "id": "id1",
    }  # fmt: skip
    made = sottana(tmp_path, {(0, 1): worse}, [judged])
    assert made.corpus.names == ("reference", *MODELS[1:])
    assert made.corpus.systems["reference"].lines[1] == "text 2 by 1"
    assert made.raters["meaning"][0, :, 0].tolist()[:2] == [5, 3]
    assert made.raters["grammaticality"][0, :, 0].tolist() == [0, -2, -1, 0]
    assert made.raters["overcorrection"][0, :, 0].tolist() == [0, -3, 0, 0]
    assert np.isnan(made.raters["meaning"][0, 2, 0])
    # (3 + 5 + 5) / 3; the mean of two where the third gave no grade.
    assert made.ratings["meaning"][:, 0].tolist() == pytest.approx([5, 13 / 3, 5, 5])
    (judge,) = made.recorded
    assert judge.name == "GPT-4 (recorded 2023)"
    assert judge.by_aspect["meaning"][:2, 0].tolist() == [5, 4.5]
    assert judge.by_aspect["overcorrection"][1, 0] == -3
    # (4.5 - 1 - 3) / 3; no mean without meaning, and no grade of sentences without a row.
    assert judge.grades[:2, 0].tolist() == pytest.approx([5 / 3, 0.5 / 3])
    assert np.isnan(judge.grades[2:, 0]).all()
    assert np.isnan(judge.grades[:, 1:]).all()
    assert made.take([0]).recorded[0].by_aspect["meaning"].shape == (4, 1)
    assert made.take([1, 0]).fingerprint != made.fingerprint


def test_the_reference_is_an_output_or_a_reference(tmp_path: Path) -> None:
    assert sottana(tmp_path, {}).corpus.references == ()
    made = sottana(tmp_path, {}, systems="base")
    assert made.corpus.names == MODELS[1:]
    assert made.corpus.references[0].lines[0] == "text 1 by 1"


BAD_ROWS = {
    "scale": ({**rated(2, n3=("scale_7", "0", "No"))}, "line 1.*semantics_3: 'scale_7'; expected"),
    "missing rater": ({**rated(2), "id": "other"}, "61102f9292f5e6301b5bea45 has none"),
    "other text": ({**rated(2), "summary_2": "?"}, "line 1, column summary_2: '.*first rater saw"),
    "malformed": ({**rated(2), "label_annotations": [1]}, "line 1, column label_annotations: .1"),
    "no id": ({**rated(2), "id": ""}, "line 1, column id: ''; expected an id"),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_rows_of_people_are_refused_with_their_line(tmp_path: Path, case: str) -> None:
    row, message = BAD_ROWS[case]
    with pytest.raises(InputError, match=message):
        sottana(tmp_path, {(2, 2): row})


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "id9"}, "output.jsonl, line 1, column id: 'id9'"),
        ({"id": "id1"}, "output.jsonl, line 1, column gold_reference: ''"),
        ({"id": "id1", "gold_reference": {"semantics": 6}}, "semantics: 6; expected"),
        ({"id": "id1", "gold_reference": {"semantics": True}}, "semantics: True; expected"),
    ],
)
def test_bad_rows_of_the_judge_are_refused(
    tmp_path: Path, row: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        sottana(tmp_path, {}, [row])


def graded(*rows: tuple[str, str, str]) -> str:
    """Rows of source, correction and overall grade."""
    return json.dumps(
        [
            {
                "input": f"original sentence: {source}, corrected sentence: {correction}",
                "output": f"semantic coherence: 8, edit level: , fluency: 9,overall:{grade}",
            }
            for source, correction, grade in rows
        ]
    )


def dsgram(folder: Path, *contents: str) -> Benchmark:
    names = [f"DSGram-Eval/gec_human_eval_test_{number}" for number in (1, 2, 3)]
    names += ["results/gec_gpt4_eval_test", "results/gec_eval_llama3"]
    texts = {f"DSGram/Dataset/{n}.json": t for n, t in zip(names, contents, strict=True)}
    return load_dsgram(request("dsgram", data_folder(folder, texts)))


def test_pairs_are_laid_out_by_source_and_matched_by_their_texts(tmp_path: Path) -> None:
    one, two, three = ("A, b", "A", "9"), ("A, b", "B", "3"), ("C", "D", "6")
    made = dsgram(
        tmp_path,
        graded(one, two, three),
        graded(("A, b", "A", "7")),
        graded(("A, b", "B", "")),
        graded(one, two, three),
        graded(("A, b", "A", "8.5"), ("C", "D .", "2")),
    )
    assert made.corpus.sources == ("A, b", "C")
    assert made.segment_scores is not None
    np.testing.assert_array_equal(made.segment_scores, [[8, 6], [3, np.nan]])
    gpt, llama = made.recorded
    assert gpt.name == "GPT-4 (recorded 2024)"
    # An empty place repeats the first correction of its source, with its grade.
    assert gpt.grades.tolist() == [[9, 6], [3, 6]]
    np.testing.assert_array_equal(llama.grades, [[8.5, np.nan], [np.nan, np.nan]])
    assert "Llama 3 (recorded 2024) graded 2 pairs in other texts: no grade here" in made.notes


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (("A", "B", "11"), "test_2.json, row 1, column output.*from 0 to 10"),
        (("A", "B", "good"), "test_2.json, row 1, column output.*from 0 to 10"),
        (("A", "X", "5"), "test_2.json, row 1, column input.*first rater graded"),
        (("", "X", "5"), "test_2.json, row 1, column input.*original sentence"),
    ],
)
def test_bad_pairs_are_refused(tmp_path: Path, bad: tuple[str, str, str], message: str) -> None:
    good = graded(("A", "B", "5"))
    with pytest.raises(InputError, match=message):
        dsgram(tmp_path, good, graded(bad), good, good, good)


def test_recorded_judges_are_compared_per_aspect_without_any_metric(tmp_path: Path) -> None:
    judged = []
    for part in range(1, 5):
        row: dict[str, Any] = {"id": f"id{part}"}
        for number, model in enumerate(MODELS):
            # Meaning as people do; grammaticality is the same everywhere.
            row[model] = {
                "semantics": 5 - number, "grammaticality": "0", "overcorrection": "No"
            }  # fmt: skip
        judged.append(row)
    errors = {
        (rater, part): rated(part, **{f"n{n}": (f"scale_{6 - n}", str(n % 2), "No")
                                      for n in range(1, 5)})
        for rater in range(3) for part in range(1, 5)
    }  # fmt: skip
    made = sottana(tmp_path, errors, judged)
    comparison = compare(made, [], Settings(resampling=Resampling(over="none")))
    (row,) = [row for row in comparison.rows() if row["family"] == "judges"]
    assert row["metric"] == "GPT-4 (recorded 2023)"
    found = {one.human: one.values for one in comparison.at("rating") if one.family == "judges"}
    # Its grades of meaning are people's; those of grammaticality never differ.
    assert found["meaning"]["pearson"] == pytest.approx(1)
    assert found["meaning"]["system_pearson"] > 0.99
    assert np.isnan(found["grammaticality"]["pearson"])
    assert 0 < found["mean"]["pearson"] < 1
    assert any("cannot be asked again" in caution.text for caution in comparison.cautions)
    assert not comparison.incomplete
    both = compare(made, ["changes"], Settings(resampling=Resampling(over="none"), limit=3))
    named = [row["metric"] for row in both.rows() if row["family"] in ("refless", "judges")]
    assert named == ["changes", "GPT-4 (recorded 2023)"]


def decided(human: FloatArray, other: FloatArray) -> tuple[float, int]:
    """Agreement on the pairs of outputs that a person decided, ties one half; and their number."""
    right = pairs = 0.0
    for one, two in combinations(range(len(human)), 2):
        wanted, given = np.sign(human[one] - human[two]), np.sign(other[one] - other[two])
        counts = wanted != 0
        pairs += counts.sum()
        right += ((wanted * given + 1) / 2)[counts].sum()
    return right, int(pairs)


@pytest.mark.parametrize(
    ("aspect", "judge", "pairs", "people", "with_themselves"),
    [
        ("meaning", 0.500, 244, 0.684, 0.790),
        ("grammaticality", 0.761, 580, 0.727, 0.818),
        ("overcorrection", 0.566, 433, 0.645, 0.764),
        ("mean", 0.621, 862, 0.603, 0.735),
    ],
)
def test_the_released_grades_of_sottana(
    data_dir: Path, aspect: str, judge: float, pairs: int, people: float, with_themselves: float
) -> None:
    if not (data_dir / "seq2seq_llm_evaluation").is_dir():
        pytest.skip("the data of Sottana et al. are not installed")
    made = load_benchmark("sottana", systems="all", data=data_dir)
    # Table `gec.csv` of the release: SEMANTICS of rater 57e2b, rows in the order of the systems.
    assert made.raters["meaning"][0].mean(axis=1).tolist() == pytest.approx([4.91, 5.0, 4.95, 4.89])
    (gpt4,) = made.recorded
    raters = made.raters.get(aspect, sum(made.raters.values()))
    given = gpt4.by_aspect.get(aspect, gpt4.grades).round(9)
    agreed = [decided(person, given) for person in raters]
    assert sum(count for _, count in agreed) == pairs
    assert sum(right for right, _ in agreed) / pairs == pytest.approx(judge, abs=5e-4)
    agreed = [decided(one, two) for one, two in permutations(raters, 2)]
    right = sum(right for right, _ in agreed)
    assert right / (2 * pairs) == pytest.approx(people, abs=5.1e-4)
    # A higher figure has each rater compared with themselves as well, who always agree.
    assert (right + pairs) / (3 * pairs) == pytest.approx(with_themselves, abs=5.1e-4)


def test_the_released_grades_of_dsgram(data_dir: Path) -> None:
    if not (data_dir / "DSGram").is_dir():
        pytest.skip("DSGram is not installed")
    made = load_benchmark("dsgram", data=data_dir)
    assert [np.count_nonzero(~np.isnan(r)) for r in made.raters["rating"]] == [201, 51, 51]
    found = []
    for judge in made.recorded:
        for ratings in made.raters["rating"]:
            both = ~np.isnan(ratings) & ~np.isnan(judge.grades)
            found.append(float(np.corrcoef(ratings[both], judge.grades[both])[0, 1]))
    assert found == pytest.approx([0.41, 0.46, 0.73, 0.44, 0.31, 0.59], abs=5e-3)
