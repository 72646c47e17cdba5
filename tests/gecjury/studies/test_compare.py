"""Comparisons from Python: tables, notebooks, and the output of the command."""

from __future__ import annotations

import json

import gecjury
from gecjury import Compare, Resampling
from gecjury.report.tables import to_json
from tests.shell import Shell

FEW = Resampling(resamples=20, permutations=100)


def test_a_comparison_shows_its_main_table() -> None:
    result = gecjury.compare("sample", ["green", "gleu:n=3"], Compare(resampling=FEW))
    lines = str(result).splitlines()
    assert tuple(lines[:2]) == result.short
    title, _, heads, _, first, second, *_ = lines[2:]
    assert title.startswith("SAMPLE, NOT EVIDENCE: 6 systems")
    assert heads.split() == ["metric", "family", "r", "cl", "sys", "sent", "acc", "cl", "sent"]
    # The best metric comes first, whatever the order in which the metrics were named.
    rows = result.comparison.at("system")[:2]
    by_value = sorted(rows, key=lambda row: -row.values["pearson"])
    for line, one in zip((first, second), by_value, strict=True):
        assert line.split()[:2] == [one.metric.partition(":")[0], "refbased"]
        assert f"{one.values['pearson']:.3f}".removeprefix("0") + " [" in line
    assert repr(result) == "<Comparison on sample (edit): green, gleu:n=3>"
    page = result._repr_html_()
    assert page.startswith("<table><caption>SAMPLE, NOT EVIDENCE")
    assert page.count("<tr>") == len(result.rows()) + 1
    assert "<td>gleu:n=3</td>" in page


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    settings = Compare(resampling=Resampling(resamples=20), human="both", statistic="spa", seed=2)
    document = gecjury.compare("sample", "green", settings).document()
    options = ["--resamples", "20", "--human", "both", "--statistic", "spa", "--seed", "2"]
    status, out, _ = shell("compare", "sample", "-m", "green", *options, "--format", "json")
    own, printed = json.loads(to_json(document)), json.loads(out)
    for rows in (own["rows"], printed["rows"]):
        for row in rows:
            row.pop("seconds")
    assert (status, printed) == (0, own)


def test_a_dash_is_accepted_for_an_underscore(shell: Shell) -> None:
    words = ["compare", "sample", "-m", "green", "-m", "gleu", "--resamples", "5"]
    words += ["--statistic", "pairwise-accuracy", "--format", "json"]
    _, out, _ = shell(*words)
    assert json.loads(out)["significance"][0]["statistic"] == "pairwise_accuracy"
    assert shell(*words[:-3], "pairwise_accuracy")[0] == 0


def test_a_terminal_shows_two_sentences_one_table_and_three_notes(shell: Shell) -> None:
    words = ["compare", "sample", "-m", "green", "-m", "gleu", "-m", "changes"]
    _, out, _ = shell(*words, "--human", "both", "--resamples", "5")
    opening, _, table = out.partition("\n\n")
    for level in ("System", "Sentence"):
        assert opening.count(f"{level} level, edit-based") == 1
    assert opening.count(". ") + opening.count(".\n") == 1
    assert "Holm-corrected over 3 metrics" in opening
    assert table.count("\n ───") == 1
    assert [word for word in ("copy-source", "constant", "random", "People") if word in out] == []
    for row in ("count-changes    chance     edit", "two annotators   humans     sentence"):
        assert row in out
    assert out.endswith("\nmore: --verbose, or --html page.html\n")
    # Everything else is there on request.
    _, out, _ = shell(*words, "--resamples", "5", "--verbose")
    for words_of_more in ("copy-source", "People among the metrics", "best of each family", " SPA"):
        assert words_of_more in out
    # The audit was asked for.
    _, out, _ = shell(*words, "--resamples", "5", "--audit")
    assert "Audit of green\n" in out
    assert "People" not in out


def test_printed_tables_have_at_most_eight_columns(shell: Shell) -> None:
    words = ["compare", "sample", "-m", "green", "-m", "gleu", "--human", "both"]
    for more in ([], ["--statistic", "spa"]):
        _, out, _ = shell(*words, "--resamples", "5", *more, "--format", "markdown")
        heads = [line for line in out.splitlines() if line.startswith("| family |")]
        assert heads
        assert max(head.count("|") - 1 for head in heads) <= 8
    _, out, _ = shell(*words, "--resamples", "5", "--format", "markdown", "--verbose")
    assert out.count("green|n=4") == 1


def test_the_verdict_on_one_metric_is_of_the_statistic_asked_for() -> None:
    settings = Compare(statistic="spa", level="system", resampling=FEW)
    verdict = gecjury.compare("sample", "green", settings).verdict
    assert "green, the only one: soft pairwise accuracy" in " ".join(verdict)
