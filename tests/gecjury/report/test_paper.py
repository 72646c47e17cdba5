"""The table that `compare` prints for a paper, as LaTeX and Markdown."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

import gecjury
from gecjury import Compare, Resampling
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import OptionError
from gecjury.report.paper import chosen_columns, for_paper
from gecjury.report.result import Column, Result, Table, print_result
from gecjury.stats.catalogue import CATALOGUE
from tests.shell import Shell

QUICK = ("--resamples", "5", "--level", "all")
NAMES = ("grün_{1}", "100%&#$", "日本語~^", "a\\b <c> [d]", "[e]")


def compiled(source: str, folder: Path) -> None:
    """Check that LaTeX compiles in a document with booktabs; at least that it is well formed."""
    lines = [line for line in source.splitlines() if not line.startswith("% ")]
    assert re.fullmatch(r"\\begin\{tabular\}\{[lr]+\}", lines[0])
    assert (lines[1], lines[-2:]) == ("\\toprule", ["\\bottomrule", "\\end{tabular}"])
    columns = len(lines[0].rpartition("{")[2]) - 1
    for line in lines[2:-2]:
        if line == "\\midrule":
            continue
        assert line.endswith(" \\\\")
        assert not line.startswith(("[", "*"))
        plain = re.sub(r"\\[&%$#_{}]", "", line.removesuffix(" \\\\"))
        assert plain.count("&") == columns - 1
        assert plain.count("{") == plain.count("}")
        assert plain.count("$") % 2 == 0
        assert not set(re.sub(r"\$[^$]*\$", "", plain)) & set("%#_^~<>|")
    if program := shutil.which("pdflatex"):
        text = re.sub(r"[\u3000-\u9fff]", "J", source)  # a comment says that pdflatex lacks them
        document = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{text}"
        (folder / "t.tex").write_text(document + "\\end{document}\n", encoding="utf-8")
        command = [program, "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
        run = subprocess.run(command, cwd=folder, capture_output=True, timeout=60, check=False)
        assert run.returncode == 0, run.stdout[-2000:].decode(errors="replace")


def test_a_paper_has_metrics_by_family_and_the_best_of_each_view_in_bold() -> None:
    columns = [Column(key, interval="r_ci" * (key == "pearson")) for key in
               ("metric", "family", "human", "pearson", "pairs")]  # fmt: skip
    rows = [
        {"metric": "judge", "family": "judges", "human": "edit", "pearson": -0.5, "pairs": 9},
        {"metric": "gleu", "family": "refbased", "human": "edit", "pearson": 0.9004, "pairs": 9},
        {"metric": "some", "family": "refless", "human": "edit", "pearson": 0.9001, "pairs": 8},
        {"metric": "gleu", "family": "refbased", "human": "sentence", "pearson": 0.2, "pairs": 9},
        {"metric": "some", "family": "refless", "human": "sentence", "pearson": 0.3, "pairs": 9},
        {"metric": "random", "family": "chance", "human": "edit", "pearson": 0.95, "pairs": 9},
        {"metric": "people", "family": "humans", "human": "edit", "pearson": float("nan")},
    ]
    rows[0] |= {"signature": "judge|v1", "r_ci": (-0.75, 0.25)}
    rows[5] |= {"signature": "random"}
    table = for_paper(Table(columns, rows, "A title", legend="a legend"))
    result = Result((Table(columns, rows),), verdict=("a verdict",), paper=table)
    assert printed(result, "latex") == [
        "% A title",
        "\\begin{tabular}{lllrr}",
        "\\toprule",
        "family & metric & human & r & pairs \\\\",
        "\\midrule",
        # Values that look equal share the first place.
        "reference-based & gleu & edit & \\textbf{.900} & 9 \\\\",
        " & gleu & sentence & .200 & 9 \\\\",
        "\\midrule",
        "reference-free & some & edit & \\textbf{.900} & 8 \\\\",
        " & some & sentence & \\textbf{.300} & 9 \\\\",
        "\\midrule",
        "LLM judge & judge & edit & $-$.500 [$-$.75, .25] & 9 \\\\",
        "\\midrule",
        "chance & random & edit & .950 & 9 \\\\",
        "people & people & edit & -- & -- \\\\",
        "\\bottomrule",
        "\\end{tabular}",
        "% a legend",
        "% judge|v1",
    ]
    lines = printed(result, "markdown")
    assert lines[0] == "**A title**"  # no verdict
    assert "|  | some | sentence | **.300** | 9 |" in lines
    # With all details it is the full table.
    assert "a verdict" in printed(result, "markdown", verbose=True)[0]


def printed(result: Result, form: str, verbose: bool = False) -> list[str]:
    import contextlib
    import io

    with contextlib.redirect_stdout(io.StringIO()) as out:
        print_result(result, form, verbose)
    return out.getvalue().splitlines()


@pytest.mark.parametrize(
    "words",
    [("sample", "--human", "both"), ("sample", "--columns", "r,rho,tau-sys,SPA,tied")],
)
def test_the_latex_of_a_comparison_compiles(
    shell: Shell, tmp_path: Path, words: tuple[str, ...]
) -> None:
    metrics = ("-m", "gleu", "-m", "changes", "-m", "green")
    status, out, _ = shell("compare", *words, *metrics, *QUICK, "--format", "latex")
    assert status == 0
    assert out.count("\\begin{tabular}") == 1
    assert out.count("\\midrule") == 3  # below the headings, and between three groups
    assert sum(line.startswith("% ") for line in out.splitlines()) <= 5
    compiled(out, tmp_path)


def test_names_of_any_script_compile(tmp_path: Path) -> None:
    columns = [Column("metric"), Column("family"), Column("spa"), Column("τ_{x}%", best=True)]
    rows = [
        {"metric": name, "family": family, "spa": 0.5, "τ_{x}%": "n/a"}
        for name, family in zip(NAMES, ("refbased", "my_own&", "jury", "scores", "humans"),
                                strict=True)
    ]  # fmt: skip
    table = for_paper(Table(columns, rows, "日本_% \\title", legend="a_b % \\note"))
    lines = printed(Result((table,), paper=table), "latex")
    assert sum("compile with xelatex or lualatex" in line for line in lines) == 1
    assert any("日本語" in line and not line.startswith("%") for line in lines)
    compiled("\n".join(lines) + "\n", tmp_path)


def test_the_headings_of_all_statistics_compile(tmp_path: Path) -> None:
    headings = [entry.heading for entry in CATALOGUE.values() if entry.heading]
    columns = [Column(f"{place}", heading) for place, heading in enumerate(headings)]
    out = printed(Result((Table(columns, [{}]),)), "latex")
    assert not any("pdflatex lacks" in line for line in out)
    compiled("\n".join(out) + "\n", tmp_path)


def test_columns_are_chosen_by_names_that_can_be_typed(shell: Shell) -> None:
    words = ["compare", "sample", "-m", "gleu", *QUICK, "--format", "markdown", "--columns"]
    _, out, _ = shell(*words, "acc, cl_sys,spearman,s", "--columns", "rho")
    assert "| family | metric | sent acc | cl sys | ρ | s |" in out
    for level, name, message in (
        ("all", "f1", "--columns 'f1': no such column; there are: r, rho, tau-sys, pair-acc, SPA,"),
        ("all", "r,", "--columns '': no such column"),
        ("all", "cl", "--columns 'cl': it may be cl-sys or cl-sent; "),
        ("sentence", "r", "no such column; there are: sent-acc,"),
    ):
        words = ["compare", "sample", "-m", "gleu", "--level", level, "--columns", name]
        status, out, err = shell(*words)
        assert (status, out) == (2, "")
        assert message in err
    # Two columns with the same heading are named by their keys.
    pair = [Column("auc_ci95"), Column("average_precision_invalid_ci95"), Column("kappa")]
    with pytest.raises(OptionError, match=r"there are: auc_ci95, average_precision_.*, kappa"):
        chosen_columns(["x"], pair)


def test_a_table_of_several_benchmarks(tmp_path: Path) -> None:
    sample = load_benchmark("sample")
    parts = [replace(sample.take(range(n, n + 34)), name=f"part_{n}") for n in (0, 34)]

    def table(*columns: str, form: str = "latex") -> str:
        settings = Compare(resampling=Resampling(over="none"), columns=columns)
        result = gecjury.compare(parts, ["changes", "gleu"], settings)
        return "\n".join(printed(result, form)) + "\n"

    out = table()
    assert "family & metric & average & cl & part\\_0:system & part\\_0:sentence & part" in out
    assert out.index("reference-based & gleu & \\textbf{") < out.index("reference-free & changes &")
    assert out.count("\n% gleu|") == 2
    compiled(out, tmp_path)
    out = table("av,part-0:system", form="markdown")
    assert "| family | metric | average | part_0:system |" in out
    message = "there are: shared, average, tasks, cl, part_0:system, part_0:sentence, part_34:sys"
    with pytest.raises(OptionError, match=message):
        table("rho")
