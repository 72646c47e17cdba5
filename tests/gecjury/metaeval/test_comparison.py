"""`gecjury compare`, `rank` and `demo` on the command line, with the embedded sample."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

import gecjury
from gecjury.cli import main
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.metaeval.cautions import SAMPLE
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.settings import Settings
from gecjury.stats import trueskill
from gecjury.stats.resampling import Resampling
from gecjury.studies.compare import Demo
from tests.fakes import Steps


def run(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> tuple[str, str]:
    assert main(list(argv)) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def document(capsys: pytest.CaptureFixture[str], *argv: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, *argv, "--format", "json")[0])
    return found


@pytest.mark.slow
def test_demo_needs_no_data_and_its_commands_work_as_they_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GECJURY_DATA", str(tmp_path / "nowhere"))
    monkeypatch.chdir(tmp_path)
    # As `python -m gecjury` was called, so are the commands that it prints.
    monkeypatch.setattr(sys, "argv", [str(Path(gecjury.__file__).with_name("__main__.py"))])
    out, err = run(capsys, "demo", "--resamples", "20")
    *commands, page = err.splitlines()[-4:]
    assert page == f"page: {tmp_path / 'gecjury-demo.html'}"
    assert ">System level: " in Path("gecjury-demo.html").read_text("utf-8")
    # One caution follows the legend, and nothing else.
    below = out[out.index("[low, high]") :]
    assert " ".join(below.split()).endswith("1 is best " + " ".join(SAMPLE.split()))
    assert "base_url" not in out
    assert "SAMPLE, NOT EVIDENCE" in out
    families = ("refbased", "refless", "judges")
    for word in (*families, "green", "gleu", "count-changes", "two annotators"):
        assert word in out
    assert len((out + err).splitlines()) <= 30
    assert err.splitlines()[-5] == "next:"
    for command in commands:
        program, *words = shlex.split(command)
        assert (program, words[:2]) == (sys.executable, ["-m", "gecjury"])
        run(capsys, *words[2:], *(["--resamples", "20"] if words[2] == "compare" else []))
    assert {"score.html", "compare.html"} <= {path.name for path in tmp_path.iterdir()}


def test_demo_shows_its_tables_where_its_page_cannot_be_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "gecjury-demo.html"
    page.mkdir()
    words = ("demo", "--resamples", "20", "-m", "green")
    out, err = run(capsys, *words)
    assert "SAMPLE, NOT EVIDENCE" in out
    last = err.splitlines()[-1]
    assert last.startswith(f"gecjury: no page: {page}: cannot be written ")
    assert last.endswith("name another one with --html")
    # A page that somebody asked for is checked before the work.
    assert run(capsys, *words, "--html", "gecjury-demo.html", status=2)[0] == ""


def test_demo_replays_a_judge(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    # The cache of the user is neither read nor written.
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    *_, judge = Demo.usual_metrics()[0]
    shown = document(capsys, "demo", "-m", judge, "--resample", "none")
    (audit,) = shown["audits"].values()
    requests = audit["members"][0]["requests"]
    assert (requests["stored"], requests["asked"]) == (249, 0)
    assert not (tmp_path / "cache").exists()


def test_json_follows_its_specification(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(
        capsys, "compare", "sample", "-m", "green", "-m", "gleu", "--human", "both",
        "--resamples", "20",
    )  # fmt: skip
    assert found["benchmark"] == "sample"
    assert found["sample"] is True
    assert (found["human"], found["aggregate"], found["ties"]) == ("both", "trueskill", "half")
    assert found["references"] == "official"
    assert len(found["systems"]) == 6
    assert [(r["metric"], r["human"]) for r in found["rows"]] == [
        ("green", "edit"), ("green", "sentence"), ("gleu", "edit"), ("gleu", "sentence"),
    ]  # fmt: skip
    for row in found["rows"]:
        assert row["family"] == "refbased"
        assert row["signature"].startswith(row["metric"])
        assert set(row["system"]) == {
            "pearson", "spearman", "kendall", "pairwise_accuracy", "spa", "ci95", "cluster",
        }  # fmt: skip
        assert {"accuracy", "kendall", "tied", "pairs", "ci95"} <= set(row["sentence"])
        assert row["missing"] == 0
    assert set(found["ceiling"]) == {"edit", "sentence"}
    assert set(found["chance"]) == {"constant", "random", "copy-source", "count-changes"}
    assert found["chance"]["constant"]["accuracy"] == 0.5


def test_levels_choose_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    system = document(capsys, "compare", "sample", "-m", "green", "--level", "system")["rows"][0]
    sentence = document(capsys, "compare", "sample", "-m", "green", "--level", "sentence")["rows"]
    assert "sentence" not in system
    assert "system" not in sentence[0]
    _, err = run(capsys, "compare", "sample", "-m", "green", "--level", "edit", status=2)
    assert "no verdicts on edits" in err


def test_score_files_are_reused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    few = ("--resamples", "20")
    options = ("compare", "sample", "-m", "green", "-o", str(tmp_path), *few)
    first = document(capsys, *options)
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]
    second = document(capsys, *options)
    assert second["rows"][0]["seconds"] == 0.0
    assert first["rows"][0]["system"] == second["rows"][0]["system"]
    # With another system, only that one is scored, and the table equals that of a new run.
    third = document(capsys, *options, "--systems", "all")
    fresh = document(capsys, "compare", "sample", "-m", "green", "--systems", "all", *few)
    assert third["rows"][0]["system"] == fresh["rows"][0]["system"]
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["compare", "sead", "-m", "green"], ["sead", "seeda"]),
        (["compare", "sample", "-m", "green:bta=1"], ["bta", "beta"]),
        (["compare", "sample", "-m", "green:unit=letter"], ["unit", "letter", "word"]),
        (["compare", "sample", "-m", "green", "--systems", "bse"], ["bse", "base"]),
        (["compare", "sample", "-m", "green", "--references", "ofical"], ["ofical", "official"]),
        (["compare", "sample", "-m", "green", "--human-scores", "mean"], ["mean", "trueskill"]),
        (["compare", "gmeg-test-yahoo", "-m", "green"], ["gmeg-test-yahoo"]),
    ],
)
def test_wrong_use_is_one_clear_line(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    argv: list[str],
    words: list[str],
) -> None:
    monkeypatch.setenv("GECJURY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("GECJURY_DATA_URL", "http://127.0.0.1:9/")
    monkeypatch.delenv("GECJURY_DATA", raising=False)
    try:
        status = main([*argv, "-o", str(tmp_path / "out")])
    except SystemExit as stop:
        status = int(str(stop.code))
    captured = capsys.readouterr()
    assert status == 2
    assert captured.out == ""
    assert "Traceback" not in captured.err
    for word in words:
        assert word in captured.err
    assert not (tmp_path / "out").exists()


def test_json_reports_uncertainty(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("compare", "sample", "-m", "green", "-m", "gleu", "--resamples", "20")
    found = document(capsys, *options)
    assert found["uncertainty"] == {
        "resamples": 20, "over": "both", "seed": 0, "confidence": 0.95,
        "aggregate_resampled": True, "human_resampled": {"edit": True}, "permutations": 10000,
        "level": 0.05,
    }  # fmt: skip
    for row in (*found["rows"], *(each["human"]["edit"] for each in found["chance"].values())):
        bounds = row["system"]["ci95"]
        assert set(bounds) == {"pearson", "spearman", "kendall", "pairwise_accuracy", "spa"}
        assert all(len(pair) == 2 for pair in bounds.values())
        assert set(row["sentence"]["ci95"]) == {"accuracy", "kendall"}
    for row in found["rows"]:
        low, high = row["sentence"]["ci95"]["accuracy"]
        assert low <= row["sentence"]["accuracy"] <= high
        assert row["system"]["cluster"] in (1, 2)
        assert 0 <= row["system"]["spa"] <= 1
    assert [test["level"] for test in found["significance"]] == ["system", "sentence"]
    for test in found["significance"]:
        assert test["metrics"] == ["green", "gleu"]
        assert test["p"][0][1] == test["p"][1][0] == test["adjusted"][0][1]
        assert test["p"][0][0] is None
        assert test["correction"] == "holm"
    again = document(capsys, *options)["rows"]
    assert [row["system"] for row in found["rows"]] == [row["system"] for row in again]


def test_resampling_can_be_disabled(capsys: pytest.CaptureFixture[str]) -> None:
    found = document(capsys, "compare", "sample", "-m", "green", "--resample", "none")
    assert found["uncertainty"] is None
    assert found["significance"] == []
    assert found["rows"][0]["system"]["ci95"] == {}
    out, _ = run(capsys, "compare", "sample", "-m", "green", "--resample", "systems")
    assert "bootstrap over systems" in out
    assert " [" in out


def test_bars_of_a_comparison_reach_their_totals() -> None:
    for metrics in (["green"], ["green", "changes"]):
        steps = Steps()
        how = Settings(human="both", resampling=Resampling(resamples=20))
        compare("sample", metrics, how, runtime=Runtime(progress=steps))
        assert steps.totals["agreement with people"] == len(metrics)
        assert steps.totals["intervals and tests"] == 8
        assert steps.done == steps.totals


# --- a part of the sentences -------------------------------------------------------------------


COMPARE = ("compare", "sample", "-m", "green", "-m", "changes", "--resamples", "20")


def test_a_limit_draws_sentences_and_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    twenty, ten = (document(capsys, *COMPARE, "--limit", limit) for limit in ("20", "10"))
    assert twenty["sentences"] == 20
    assert (twenty["limit"]["sentences"], twenty["limit"]["of"]) == (20, 51)
    lines = twenty["limit"]["lines"]
    assert lines == sorted(lines)
    # Only judged sentences are drawn, and a smaller draw is part of a larger one, so that paid
    # replies are requested only once.
    assert all(line % 4 for line in lines)
    assert set(ten["limit"]["lines"]) < set(lines)
    assert twenty["rows"][0]["sentence"]["pairs"] == twenty["rows"][1]["sentence"]["pairs"]
    assert document(capsys, *COMPARE, "--limit", "20")["fingerprint"] == twenty["fingerprint"]
    other = document(capsys, *COMPARE, "--limit", "20", "--seed", "1")
    assert other["limit"]["lines"] != lines
    out, _ = run(capsys, *COMPARE, "--limit", "20", "--verbose")
    assert "SAMPLE, NOT EVIDENCE: 6 systems (base), 20 of 51 sentences, " in out
    assert "--limit: 20 of 51 judged sentences, drawn with seed 0, the same for every" in out


def test_a_limit_from_python_and_with_finished_scores(tmp_path: Path) -> None:
    result = gecjury.compare("sample", "changes", gecjury.Compare(limit=5))
    assert result.document()["limit"]["of"] == 51
    corpus = gecjury.load_benchmark("sample").corpus
    table = gecjury.load("changes").score_corpus(corpus)
    with pytest.raises(OptionError, match="changes: finished scores are for all sentences"):
        compare("sample", [table], Settings(limit=5))
    file = tmp_path / "scores.csv"
    rows = [",".join(corpus.names), *[",".join("1" for _ in corpus.names)] * len(corpus)]
    file.write_text("\n".join(rows) + "\n")
    with pytest.raises(OptionError, match="scores: finished scores are for all sentences"):
        gecjury.compare("sample", f"scores:file={file}", gecjury.Compare(limit=5))
    with pytest.raises(OptionError, match=r"`limit=0`: expected 1 or more"):
        Settings(limit=0)


# --- a sample of TrueSkill's games --------------------------------------------------------------


def test_a_sample_of_very_many_games_is_noted(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = document(capsys, *COMPARE)
    assert whole["opponents"] is None
    # 6 systems have 15 pairs, on 68 sentences 1,020 games; of 408 a system plays 2 · 408/(6 · 68).
    monkeypatch.setattr(trueskill, "MOST_GAMES", 1019)
    monkeypatch.setattr(trueskill, "SAMPLED_GAMES", 408)
    sampled = document(capsys, *COMPARE)
    assert sampled["opponents"] == 2
    scores = [row["scores"] for row in sampled["rows"]]
    assert scores != [row["scores"] for row in whole["rows"]]
    shown = " ".join(run(capsys, *COMPARE, "--verbose")[0].split())
    assert "on each sentence a system plays 2 of the others, drawn by seed 0" in shown
    other = document(capsys, *COMPARE, "--seed", "1")
    assert scores != [row["scores"] for row in other["rows"]]
    monkeypatch.setattr(trueskill, "MOST_GAMES", 1020)
    assert document(capsys, *COMPARE)["opponents"] is None
