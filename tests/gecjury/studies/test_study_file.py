"""`gecjury study` reads a file and writes one page and the figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.cli import main
from gecjury.core.errors import InputError, OptionError
from gecjury.report.page.tasks import tasks_page
from gecjury.studies.compare import ComparedTasks, compare
from gecjury.studies.study_file import read_study
from tests.judges.faultserver import FaultServer, Said


def written(place: Path, text: str) -> str:
    path = place / "study.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_a_study_writes_its_page_and_figures_and_keeps_scores(
    tmp_path: Path, own_benchmark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    study = written(
        tmp_path,
        f"""title = "Which one"
        benchmarks = ["sample", "{own_benchmark}"]
        metrics = ["green", "changes"]
        [settings]
        resamples = 40
        cluster-test = "perm-systems"
        [weights]
        sample = 1
        """,
    )
    folder = tmp_path / "results"
    assert main(["study", study, "-o", str(folder), "-q"]) == 0
    err = capsys.readouterr().err
    assert "average over" in err
    record = json.loads((folder / "study.json").read_text(encoding="utf-8"))
    assert [task["weight"] for task in record["tasks"]] == [0.5, 0.5, 0, 0]
    assert record["made"]["command"].startswith("gecjury study")
    page = (folder / "index.html").read_text(encoding="utf-8")
    assert "<h1>Which one</h1>" in page
    assert "gecjury study" in page
    # Levels below their benchmark, and the verdict on each benchmark by topic.
    assert '<th scope="colgroup" colspan="2" class="group">SAMPLE</th>' in page
    shown = page[: page.index('<script type="application/json"')]
    assert "sample:system" not in shown
    assert "<dt>Sentence level</dt>" in page
    kept = sorted((folder / "scores").rglob("*.json"))
    assert len(kept) == 3
    times = [path.stat().st_mtime_ns for path in kept]
    assert main(["study", study, "-o", str(folder), "-q"]) == 0
    assert [path.stat().st_mtime_ns for path in kept] == times
    # On stdout there is the table of a paper, and nothing else.
    for form, begin in (("markdown", "| metric"), ("latex", "\\begin{tabular}")):
        capsys.readouterr()
        assert main(["study", study, "-o", str(folder), "-q", "--format", form]) == 0
        assert begin in capsys.readouterr().out


def test_a_small_p_value_is_not_shown_as_zero(own_benchmark: str) -> None:
    metrics = ["green", "changes"]
    compared = compare(["sample", own_benchmark], metrics, resamples=20)
    assert isinstance(compared, ComparedTasks)
    tests = [replace(test, p=1e-5, adjusted=1e-5) for test in compared.comparison.tests]
    page = tasks_page(replace(compared.comparison, tests=tests))
    assert "&lt; 0.001" in page[: page.index('<script type="application/json"')]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('metric = ["green"]', "unknown key of .* 'metric': did you mean metrics"),
        ("[settings]\nresample-over = 1", "unknown setting of .* 'resample-over'"),
    ],
)
def test_unknown_keys_are_refused_with_the_nearest_name(
    tmp_path: Path, text: str, message: str
) -> None:
    required = 'benchmarks = ["sample", "jfleg"]\nmetrics = ["green"]\n'
    text = text if text.startswith("metric ") else required + text
    with pytest.raises(OptionError, match=message):
        read_study(written(tmp_path, text))


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('metrics = "green"', "metrics = 'green'; expected 1 or more names"),
        ("metrics = []", r"metrics = \[\]; expected 1 or more names"),
        ('metrics = ["green"]\ntitle = 3', "title = 3; expected a text"),
        ('metrics = ["green"]\nsettings = 3', "settings = 3; expected a table"),
        (
            'metrics = ["green"]\n[settings]\nseed = "one"',
            "settings.seed: `seed='one'`: expected a whole number",
        ),
        (
            'metrics = ["green"]\n[settings]\nwindows = 1',
            "settings.windows: `windows=1`: expected true or false",
        ),
        ('metrics = ["green"]\n[weights]\nsample = "a"', "weights.sample = 'a'; expected a number"),
        ("metrics = [", "is not TOML"),
    ],
)
def test_values_of_the_wrong_type_are_refused(tmp_path: Path, more: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_study(written(tmp_path, f'benchmarks = ["sample", "jfleg"]\n{more}\n'))


def test_a_study_needs_two_benchmarks(tmp_path: Path) -> None:
    path = written(tmp_path, 'benchmarks = ["sample"]\nmetrics = ["green"]\n')
    with pytest.raises(InputError, match="expected 2 or more names"):
        read_study(path)


def test_the_example_is_a_study() -> None:
    example = Path(__file__).parents[3] / "docs" / "examples" / "study-english.toml"
    record = read_study(str(example))
    assert record.settings == {"statistic": "spa", "limit": 200}
    assert len(record.benchmarks) == 5
    assert sum((record.weights or {}).values()) == pytest.approx(1, abs=1e-9)


def test_a_judge_without_verdicts_is_reported(
    tmp_path: Path, own_benchmark: str, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openai")
    with FaultServer(lambda number, body: Said(400, {"error": {"message": "no"}})) as server:
        study = written(
            tmp_path,
            f"""benchmarks = ["sample", "{own_benchmark}"]
            metrics = ["changes", "llm-s:model=x,base_url={server.url}"]
            [settings]
            limit = 5
            over = "none"
            """,
        )
        argv = ["study", study, "-o", str(tmp_path / "out"), "-q", "--cache", str(tmp_path / "c")]
        assert main([*argv, "--allow-judges"]) == 1
    said = capsys.readouterr().err
    assert "llm-s" in said
    assert (
        f"missing in sample:system, sample:sentence, own:system and own:sentence: {server.url}"
        in said
    )
