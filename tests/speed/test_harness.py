"""The speed measurements: their registration, and the table of all results."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from gecjury.scoring.registry import metric_names
from speed import costs
from speed.__main__ import main
from speed.harness import (
    SCRIPTS,
    Lacking,
    Options,
    Outcome,
    checked,
    faster,
    from_json,
    listing,
    needs,
    run_here,
    table,
    to_json,
)

FOLDER = Path(__file__).resolve().parents[2] / "speed"
SHARED = {
    "__init__", "__main__", "bare", "harness", "kept", "peer", "scale_made", "seeda", "uot_numbers",
}  # fmt: skip


def test_every_script_is_registered_and_has_a_measure_function() -> None:
    modules = {path.stem for path in FOLDER.glob("*.py")} - SHARED
    assert {script.module for script in SCRIPTS.values()} == modules
    for name, script in SCRIPTS.items():
        tree = ast.parse((FOLDER / f"{script.module}.py").read_text(encoding="utf-8"))
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        measure = functions["measure"]
        assert ast.unparse(measure.args) == "options: Options", name
        assert measure.returns is not None
        assert ast.unparse(measure.returns) == "list[Claim]", name
        # Scripts are run with the harness only, not as files.
        assert "__main__" not in ast.unparse(tree), name
        assert f"python -m speed {name}" in (ast.get_docstring(tree) or ""), name


CLAIMS = (
    faster("quick", 0.5, 20.0, 30.0, peak=123.4, lines=("one line", "two lines")),
    faster("slow", 4.0, 8.0, 2.5),
    faster("asks nothing", 2.0, 3.0),
    faster("by the smaller ratio", 1.0, 9.0, 5.0, ratio=4.0),
    checked("differences | gaps", "1e-12", "≤ 1e-9", True),
    checked("seconds alone", "250 s", "< 180 s", False, ours=250.4),
)
TABLE = """\
| measurement | claim | theirs, s | ours, s | found | target | met | peak, MB |
|---|---|---|---|---|---|---|---|
| green-gleu | quick | 20 | 0.5 | 40.0× | ≥ 30× | yes | 123 |
| green-gleu | slow | 8 | 4 | 2.0× | ≥ 2.5× | NO | – |
| green-gleu | asks nothing | 3 | 2 | 1.5× | – | – | – |
| green-gleu | by the smaller ratio | 9 | 1 | 4.0× | ≥ 5× | NO | – |
| green-gleu | differences \\| gaps | – | – | 1e-12 | ≤ 1e-9 | yes | – |
| green-gleu | seconds alone | – | 250 | 250 s | < 180 s | NO | – |
| errant | not tried: no peer | – | – | – | – | – | – |
| m2 | failed: broke off | – | – | – | – | no | – |

- green-gleu, quick: one line
- green-gleu, quick: two lines"""


def test_the_table() -> None:
    outcomes = [
        Outcome("green-gleu", CLAIMS),
        Outcome("errant", lacking="no peer"),
        Outcome("m2", error="broke off"),
    ]
    assert table(outcomes) == TABLE
    assert [outcome.failed for outcome in outcomes] == [True, False, True]
    assert not Outcome("green-gleu", CLAIMS[:1]).failed
    assert [from_json(to_json(outcome)) for outcome in outcomes] == outcomes


def test_small_sizes_only_check_agreement() -> None:
    assert faster("slow", 2.0, 3.0, 5.0).without_verdict().met is None
    assert checked("gap", "1", "0", False).without_verdict().met is None
    assert checked("gap", "1", "0", False, agreement=True).without_verdict().met is False


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (Outcome("m2", CLAIMS[:1]), 0),
        (Outcome("m2", lacking="no data"), 0),
        (Outcome("m2", CLAIMS[:2]), 1),
        (Outcome("m2", error="broke off"), 1),
    ],
)
def test_the_exit_status_reports_missed_targets(
    outcome: Outcome, status: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["m2", "--quick"], lambda name, options: outcome) == status
    assert capsys.readouterr().out == table([outcome]) + "\n"


def test_missing_requirements_are_reported_and_are_not_a_failure(tmp_path: Path) -> None:
    outcome = run_here("m2", Options())
    assert outcome == Outcome("m2", lacking="no data: name the folder with --data or $GECJURY_DATA")
    assert not outcome.failed
    with pytest.raises(Lacking, match="is not a folder"):
        Options(tmp_path / "none").need_data()
    with pytest.raises(Lacking, match="no peer: name its environment with --peer-venv"):
        Options(tmp_path).need_peer()
    with pytest.raises(Lacking, match=r"not installed here: no_such_package$"):
        needs("json", "no_such_package")


def test_the_readme_lists_all_scripts() -> None:
    assert listing() in (FOLDER / "README.md").read_text(encoding="utf-8")


def test_every_metric_that_computes_something_has_costs(tmp_path: Path) -> None:
    options = Options(smollm2=tmp_path)
    names = {each.name for each in costs._metrics(tmp_path, options)} | set(costs.JUDGES)
    assert set(metric_names()) == names | {"jury", "scores", "valid"}
