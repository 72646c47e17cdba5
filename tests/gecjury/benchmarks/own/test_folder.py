"""User-defined benchmarks: folders and TOML files, with judgments in every format."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import expand_pairs
from gecjury.benchmarks.load import load_benchmark
from gecjury.cli import main
from gecjury.core.errors import InputError, OptionError

SAMPLE = Path(__file__).resolve().parents[4] / "gecjury" / "benchmarks" / "sample"


def compare(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    status = main(["compare", *argv, "--format", "json"])
    captured = capsys.readouterr()
    assert status == 0, captured.err
    found: dict[str, Any] = json.loads(captured.out)
    return found


def test_a_folder_gives_the_same_results_as_the_named_benchmark(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    root = tmp_path / "copy"
    shutil.copytree(SAMPLE / "outputs", root / "outputs")
    (root / "references").mkdir()
    for path in SAMPLE.glob("reference*.txt"):
        shutil.copy(path, root / "references" / path.name)
    for name in ("source.txt", "judgments_edit.xml", "judgments_sentence.xml"):
        shutil.copy(SAMPLE / name, root / name)
    options = ("-m", "green", "-m", "gleu", "--human", "both", "--systems", "all")
    options += ("--resamples", "20")
    known, own = compare(capsys, "sample", *options), compare(capsys, str(root), *options)
    assert own["benchmark"] == "copy"
    assert own["sample"] is False
    for mine, theirs in zip(own["rows"], known["rows"], strict=True):
        for key in ("metric", "human", "system", "sentence", "scores"):
            assert mine[key] == theirs[key]
    assert own["ceiling"] == known["ceiling"]


def test_ratings(folder: Path) -> None:
    (folder / "judgments.csv").write_text(
        "sentence,system,score,annotator\n"
        "1,good,5,x\n1,half,5,x\n1,none,2,x\n"
        "1,good,4,y\n1,none,1,y\n"
        "2,good,4,x\n2,half,2,x\n2,none,,x\n"
    )
    own = load_benchmark(str(folder))
    assert own.segment_scores is not None
    # good on sentence 1: (5 + 4) / 2; none on sentence 2: empty; no rating on sentence 3.
    assert own.segment_scores[0].tolist()[:2] == [4.5, 4.0]
    assert own.segment_scores[1].tolist()[:2] == [5.0, 2.0]
    assert own.segment_scores[2].tolist()[0] == 1.5
    assert math.isnan(own.segment_scores[2, 1])
    # Mean over the rated sentences: (4.5 + 4) / 2, (5 + 2) / 2, 1.5.
    assert own.human_scores("mean").tolist() == [4.25, 3.5, 1.5]
    # good and half share the text and the rating of x on sentence 1: one place.
    first = own.rankings["sentence"][0]
    assert (first.annotator, first.groups, first.ranks) == (
        "x", (("good", "half"), ("none",)), (1, 2),
    )  # fmt: skip
    assert "1 ratings are empty and left out" in own.notes


def rated(folder: Path, *rows: str) -> Benchmark:
    """Return the folder with these ratings: sentence,system,score,annotator."""
    text = "\n".join(["sentence,system,score,annotator", *rows])
    (folder / "judgments.csv").write_text(f"{text}\n")
    return load_benchmark(str(folder))


def test_annotators_with_other_scales_are_standardised(folder: Path) -> None:
    """x gives 5 5 4 1 1 2 (mean 3, deviation √3), y gives 90 100 70 80 0 on a scale of 100."""
    x = [f"{n},{s},{v},x" for n, s, v in [
        (1, "good", 5), (2, "good", 5), (3, "good", 4), (1, "none", 1), (2, "none", 1),
        (3, "none", 2),
    ]]  # fmt: skip
    y = [f"{n},{s},{v},y" for n, s, v in [
        (1, "half", 90), (2, "half", 100), (3, "half", 70), (1, "good", 80), (2, "none", 0),
    ]]  # fmt: skip
    own = rated(folder, *x, *y, "3,none,50,z", "3,half,50,z")
    (warning,) = own.warnings
    assert warning.startswith("annotators rate on different scales (x 1 to 5, y 0 to 100)")
    assert warning.endswith("; 2 of annotators with equal ratings are left out")
    mean, deviation = 68, np.std([90, 100, 70, 80, 0])
    of_good = [2 / 3**0.5, (80 - mean) / deviation]
    assert own.segment_scores is not None
    assert own.segment_scores[0, 0] == pytest.approx(np.mean(of_good))
    # One who is strict uses a part of the same scale.
    assert rated(folder, *x, *(f"{n},half,{n % 2 + 1},y" for n in (1, 2, 3))).warnings == ()
    strict = [f"{n},{s},{n % 2 + 1},y" for n in (1, 2, 3) for s in ("good", "half")]
    own = rated(folder, *x, *strict)
    assert own.warnings == ()
    assert own.segment_scores is not None
    assert own.segment_scores[1].tolist() == [2, 1, 2]


def test_ranks_in_a_column_of_scores_are_noted(folder: Path) -> None:
    ranks = [f"{n},{s},{r},x" for n in (1, 2, 3) for r, s in enumerate(("good", "half", "none"), 1)]
    (warning,) = rated(folder, *ranks).warnings
    assert "call the column rank" in warning
    # With a tie 1 1 3 is a ranking, too; 2 3 is not.
    assert rated(folder, *ranks[:6], "3,good,1,x", "3,half,1,x", "3,none,3,x").warnings
    assert rated(folder, *ranks[:6], "3,good,2,x", "3,none,3,x").warnings == ()


def test_names_of_annotators_differ_in_more_than_case_and_blanks(folder: Path) -> None:
    own = rated(folder, "1,good,4,Ann B", "1,half,2,ann b", "1,none,1,ANN  B", "2,good,3,Bo")
    assert own.warnings == (
        "annotators whose names differ in case or blanks alone are one: Ann B, ann b and ANN  B",
    )
    assert [item.annotator for item in own.rankings["sentence"]] == ["Ann B", "Bo"]
    assert len(own.rankings["sentence"][0].groups) == 3


def test_a_system_that_nobody_judged_is_left_out_of_the_system_level(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It takes no part in the metric's TrueSkill, and is not counted."""
    for name, line in (("fair", "A b ."), ("poor", "x")):
        (folder / "outputs" / name).write_text(f"{line}\n" * 3)
    systems = ("good", "half", "none", "fair")
    rows = [f"{n},{s},{5 - r},x" for n in (1, 2, 3) for r, s in enumerate(systems)]
    (folder / "outputs" / "poor").rename(folder / "poor")
    rated(folder, *rows)
    few = compare(capsys, str(folder), "-m", "green:n=2", "--resamples", "50")
    (folder / "poor").rename(folder / "outputs" / "poor")
    main(["compare", str(folder), "-m", "green:n=2", "--resamples", "50"])
    shown = " ".join(capsys.readouterr().out.split())
    assert "4 systems (base)" in shown
    assert "computed over 4 systems" in shown
    assert "No human score (sentence) for poor: left out at system level." in shown
    found = compare(capsys, str(folder), "-m", "green:n=2", "--resamples", "50")
    row, before = found["rows"][0], few["rows"][0]
    assert row["scores"].pop("poor") is None
    assert row["scores"] == before["scores"]
    assert row["system"] == before["system"]


def test_segment_level_of_ratings(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    # The shared text of good and half on sentence 1 was rated twice, 4.5 and 5: the metric ties the
    # two, people do not. All other pairs are ordered correctly.
    (folder / "judgments.csv").write_text(
        "sentence,system,score\n1,good,4.5\n1,half,5\n1,none,1.5\n2,good,4\n2,half,2\n"
    )
    found = compare(capsys, str(folder), "-m", "green:n=2", "--aggregate", "mean")["segment"]
    row = found["rows"][0]
    assert (row["human"], row["pairs"], row["missing"]) == ("rating", 4, 0)
    assert row["acc_exact"] == pytest.approx((2 / 3 + 1) / 2)


def test_aspects_of_ratings(folder: Path) -> None:
    (folder / "judgments.tsv").write_text(
        "System\tSentence\tScore\tAspect\n"
        "good\t1\t4\tfluency\nnone\t1\t2\tfluency\ngood\t1\t3\tmeaning\nnone\t1\t3\tmeaning\n"
    )
    own = load_benchmark(str(folder))
    assert list(own.rated) == ["fluency", "meaning", "mean"]
    assert own.rated["mean"][[0, 2], 0].tolist() == [3.5, 2.5]
    (item,) = own.rankings["sentence"]
    assert item.ranks == (1, 2)
    assert math.isnan(own.human_scores("mean")[1])


def test_preferences(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "judgments.csv").write_text(
        "sentence;system_a;system_b;preference\n"
        "1;good;none;a\n2;half;good;good\n3;none;good;<\n3;half;none;tie\n1;half;none;half\n"
    )
    own = load_benchmark(str(folder))
    pairs = expand_pairs(own.rankings["sentence"], own.corpus.names)
    assert list(zip(pairs.sentence, pairs.first, pairs.second, pairs.preference, strict=True)) == [
        (0, 0, 2, 1), (1, 0, 1, 1), (2, 0, 2, 1), (2, 1, 2, 0), (0, 1, 2, 1),
    ]  # fmt: skip
    # half and none are equal on sentence 3, so nobody could decide.
    assert pairs.shared.tolist() == [False, False, False, True, False]
    # good won its 2 + 1 comparisons, half lost to good and beat none: (0 + 1) / 2.
    assert own.human_scores("expected-wins").tolist() == [1.0, 0.5, 0.0]
    found = compare(capsys, str(folder), "-m", "green:n=2", "--human-scores", "expected-wins")
    assert found["rows"][0]["sentence"]["accuracy"] == 1.0
    assert found["rows"][0]["system"]["spearman"] == pytest.approx(1.0)


def test_rankings(folder: Path) -> None:
    (folder / "judgments.csv").write_text(
        "sentence,system,rank,annotator,item\n"
        "1,good,1,x,p\n1,half,1,x,p\n1,none,2,x,p\n"
        "1,none,1,x,q\n1,good,2,x,q\n"
        "2,good,1,y,p\n2,half,3,y,p\n"
    )
    own = load_benchmark(str(folder))
    assert [(i.annotator, i.item_id, i.sentence, i.ranks) for i in own.rankings["sentence"]] == [
        ("x", "p", 0, (1, 2)), ("x", "q", 0, (1, 2)), ("y", "p", 1, (1, 3)),
    ]  # fmt: skip
    assert own.corpus.groups is not None
    assert own.corpus.groups[0].systems == (("good", "half"), ("none",))


def test_a_table_names_other_paths(folder: Path, tmp_path: Path) -> None:
    (folder / "judged.xml").write_text(
        "<set><ranking-item id='1' src-id='0' user='x'>"
        "<translation system='good' rank='1'/><translation system='none half' rank='2'/>"
        "</ranking-item></set>"
    )
    table = tmp_path / "study.toml"
    table.write_text(
        'name = "study"\ncitation = "A study."\nsource = "mine/source.txt"\n'
        'outputs = ["mine/outputs/n*.txt", "mine/outputs/good.txt", "mine/outputs/half.txt"]\n'
        'references = ["mine/references"]\njudgments = "mine/judged.xml"\nfirst_sentence = 0\n'
        '[system_sets]\nbase = ["good", "none"]\n'
    )
    own = load_benchmark(str(table))
    assert (own.name, own.citation, own.corpus.names) == ("study", "A study.", ("good", "none"))
    assert own.system_sets["all"] == ("none", "good", "half")
    assert own.rankings["sentence"][0].sentence == 0
    assert len(own.corpus.references) == 1
    assert math.isfinite(own.human_scores("trueskill")[0])


def test_a_system_without_judgments_has_no_human_score(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "judgments.csv").write_text(
        "sentence,system_a,system_b,preference\n1,good,none,a\n2,good,none,a\n"
    )
    own = load_benchmark(str(folder))
    for kind in ("trueskill", "expected-wins"):
        assert np.isnan(own.human_scores(kind)).tolist() == [False, True, False]
    found = compare(capsys, str(folder), "-m", "green")
    assert found["rows"][0]["system"]["pearson"] is None
    assert any("No human score (sentence) for half" in text for text in found["caveats"])


def test_without_references(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(folder / "references")
    (folder / "judgments.csv").write_text("sentence,system_a,system_b,preference\n1,good,none,a\n")
    assert load_benchmark(str(folder)).corpus.references == ()
    assert main(["compare", str(folder), "-m", "green"]) == 2
    assert "green needs references, and mine has none" in capsys.readouterr().err
    reference = folder / "extra.txt"
    reference.write_text("he goes home\nshe likes it\na cat sits\n")
    found = compare(capsys, str(folder), "-m", "green", "--references", str(reference))
    assert found["references"] == "1 given"


def test_gold_edits_and_references_replace_each_other(folder: Path) -> None:
    (folder / "judgments.csv").write_text("sentence,system_a,system_b,preference\n1,good,none,a\n")
    (folder / "references/one.txt").unlink()
    gold = (
        "S he go home\nA 1 2|||SVA|||goes|||REQUIRED|||-NONE-|||0\n\n"
        "S she like it\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n\n"
        "S a cat sit\nA 2 3|||SVA|||sits|||REQUIRED|||-NONE-|||0\n\n"
    )
    (folder / "gold.m2").write_text(gold)
    by_gold = load_benchmark(str(folder)).corpus
    assert [version.lines for version in by_gold.references] == [
        ("he goes home", "she like it", "a cat sits")
    ]
    (folder / "gold.m2").rename(folder / "references/one.m2")
    by_reference = load_benchmark(str(folder)).corpus
    assert by_reference.gold == by_gold.gold
    assert by_reference.references == by_gold.references


def test_judgments_of_a_folder_may_be_an_excel_file(folder: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    (folder / "judgments.csv").unlink(missing_ok=True)
    book = openpyxl.Workbook()
    for row in (["sentence", "system", "score"], [1, "good", 4], [1, "none", 2]):
        book.active.append(row)
    book.save(folder / "judgments.xlsx")
    own = load_benchmark(str(folder))
    assert own.segment_scores is not None
    assert own.segment_scores[:, 0].tolist() == [4.0, pytest.approx(math.nan, nan_ok=True), 2.0]


def test_fingerprints_follow_judgments(folder: Path) -> None:
    path = folder / "judgments.csv"
    head = "sentence,system,score\n1,good,4\n1,none,"
    path.write_text(head + "2\n")
    first = load_benchmark(str(folder)).fingerprint
    path.write_text(head + "3\n")
    assert load_benchmark(str(folder)).fingerprint != first


def write_table(folder: Path, text: str) -> None:
    (folder / "judgments.csv").write_text("sentence,system,score\n1,good,4\n1,none,2\n")
    (folder / "benchmark.toml").write_text(text)


@pytest.mark.security
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = 3", r"benchmark\.toml: name is 3; expected a text"),
        ("name = x", r"benchmark\.toml: is not TOML: .*line 1"),
        ('judgment = "x"', r"unknown key 'judgment': did you mean judgments"),
        ('name = "seeda"', r"'seeda' is the name of a benchmark"),
        ("first_sentence = 2", r"first_sentence is 2; expected 1 or 0"),
        ("first_sentence = true", r"first_sentence is True; expected 1 or 0"),
        ('source = "s.txt"', r"source names 's\.txt', but there is no file at .*mine/s\.txt"),
        ('outputs = ["x.txt"]', r"outputs names 'x\.txt', but there is no file at .*x\.txt"),
        ("outputs = 1", r"outputs is 1; expected a text or a list"),
        ('gold = "g.m2"', r"gold names 'g\.m2'"),
        ('verdicts = "v.csv"', r"verdicts names 'v\.csv'"),
        ('judgments = "j.csv"', r"judgments names 'j\.csv'"),
        ('judgments = "source.txt"', r"source\.txt: expected judgments as \.csv, \.tsv, .*\.xml"),
        ('judgments = {word = "j.csv"}', r"judgments is .*expected a file name, or a table"),
        ('system_sets = {base = ["godo"]}', r"unknown system 'godo' in set 'base': .*mean good"),
        ('system_sets = {base = ["good", "good"]}', r"set 'base' is .*expected names, each once"),
        ("system_sets = {base = []}", r"system set 'base' is \(\); expected names"),
    ],
)
def test_a_wrong_table_is_refused(folder: Path, text: str, message: str) -> None:
    write_table(folder, text)
    with pytest.raises(InputError, match=message):
        load_benchmark(str(folder))


@pytest.mark.parametrize(
    ("absent", "message"),
    [
        ("source.txt", r"mine: expected one file source\.txt, found none"),
        ("outputs", r"mine: no system outputs in .*mine/outputs"),
        ("judgments.csv", r"mine: no judgments; expected a folder with source\.txt"),
    ],
)
def test_a_missing_part_is_named(folder: Path, absent: str, message: str) -> None:
    (folder / "judgments.csv").write_text("sentence,system,score\n1,good,4\n1,none,2\n")
    path = folder / absent
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    with pytest.raises(InputError, match=message):
        load_benchmark(str(folder))


def test_two_kinds_of_judgments_are_refused(folder: Path) -> None:
    for name in ("judgments.csv", "judgments.xml"):
        (folder / name).write_text("sentence,system,score\n1,good,4\n1,none,2\n")
    with pytest.raises(InputError, match=r"judgments\.csv and judgments\.xml: keep one"):
        load_benchmark(str(folder))
    (folder / "judgments.xml").rename(folder / "judgments_edit.xml")
    with pytest.raises(InputError, match=r"judgments\.csv and judgments_edit\.xml: keep one"):
        load_benchmark(str(folder))


def test_inputs_that_are_not_benchmarks_are_refused(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("sentence,system,score\n1,good,4\n")
    with pytest.raises(InputError, match=r"mine\.csv: judgments alone are not a benchmark"):
        load_benchmark(str(path))
    with pytest.raises(InputError, match=r"nowhere/at: no such folder or file"):
        load_benchmark("nowhere/at")
    with pytest.raises(OptionError, match="unknown benchmark 'seda': did you mean seeda"):
        load_benchmark("seda")


def test_a_published_file_of_appraise_gives_the_published_scores(
    data_dir: Path, tmp_path: Path
) -> None:
    known = load_benchmark("gjg15", data=data_dir)
    root = tmp_path / "gjg"
    (root / "outputs").mkdir(parents=True)
    (root / "source.txt").write_text("".join(f"{line}\n" for line in known.corpus.sources))
    for name, version in known.corpus.systems.items():
        (root / "outputs" / name).write_text("".join(f"{line}\n" for line in version.lines))
    judgments = data_dir / "GJG15/data/judgments.xml"
    (root / "benchmark.toml").write_text(f'judgments = "{judgments}"\nfirst_sentence = 0\n')
    own = load_benchmark(str(root))
    assert own.rankings["sentence"] == known.rankings["sentence"]
    # Grundkiewicz et al. (2015), table 3b, up to the third digit.
    assert own.human_scores("expected-wins") == pytest.approx(
        known.human_scores("expected-wins"), abs=0.0011
    )


@pytest.mark.security
def test_paths_that_are_not_files_are_refused(folder: Path) -> None:
    """The table is a folder or a link to itself, or a reference is a folder."""
    (folder / "judgments.csv").write_text("sentence,system,rating\n1,good,3\n1,none,1\n")
    (folder / "empty.txt").mkdir()
    (folder / "benchmark.toml").write_text('references = ["empty.txt"]\n')
    with pytest.raises(
        InputError, match=r"references names 'empty\.txt', but there is no file at .*empty\.txt"
    ):
        load_benchmark(str(folder))
    (folder / "benchmark.toml").unlink()
    (folder / "benchmark.toml").symlink_to("benchmark.toml")
    with pytest.raises(InputError, match=r"benchmark\.toml: is not a file"):
        load_benchmark(str(folder))
    (folder / "benchmark.toml").unlink()
    (folder / "benchmark.toml").mkdir()
    with pytest.raises(InputError, match=r"benchmark\.toml: is not a file"):
        load_benchmark(str(folder))


@pytest.mark.security
def test_files_outside_the_folder_of_a_table_are_noted(folder: Path, tmp_path: Path) -> None:
    private = tmp_path / "private.txt"
    (folder / "source.txt").rename(private)
    write_table(folder, f"source = {json.dumps(str(private))}\n")
    (note,) = [n for n in load_benchmark(str(folder)).notes if "outside its folder" in n]
    assert str(private) in note
    private.rename(folder / "source.txt")
    write_table(folder, "")
    assert not [n for n in load_benchmark(str(folder)).notes if "outside its folder" in n]


@pytest.mark.security
@pytest.mark.parametrize("name", ["a_package_of_mine", "FOLDER"])
def test_a_table_does_not_choose_a_spacy_pipeline(
    folder: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    spacy = pytest.importorskip("spacy")

    def run(wanted: str) -> None:
        raise AssertionError(f"loaded {wanted}")

    monkeypatch.setattr(spacy, "load", run)
    name = str(tmp_path / "pipeline") if name == "FOLDER" else name
    write_table(folder, f'language = "sv"\ntokens = "spacy:{name}"\n')
    with pytest.raises(InputError, match=r"names a spaCy pipeline, .* pass `tokens=spacy:"):
        load_benchmark(str(folder))
    # The language rules of spaCy are not a pipeline, and the user may choose another tokeniser.
    assert load_benchmark(str(folder), tokens="space").corpus.language.tokens == "space"
    write_table(folder, 'language = "sv"\ntokens = "spacy:sv"\n')
    assert load_benchmark(str(folder)).corpus.language.tokens == "spacy:sv"
