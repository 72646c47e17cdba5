"""A metric that only its own file and one line name works in every command and on every page."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gecjury.report.citations import CITED
from gecjury.scoring.registry import METRICS
from gecjury.web.trying import Desk, trying_app
from tests.gecjury.web.conftest import admitted
from tests.outside import MODULE
from tests.shell import Shell
from tools.metric_pages import metric_page, metrics_index

KINDS = ("built-in", "function in a file")

FUNCTION = """
def copies(source, hypothesis, references):
    wanted = set(references[0].split())
    return len(wanted & set(hypothesis.split())) / len(wanted)
"""


@pytest.fixture(params=KINDS)
def metric(
    request: pytest.FixtureRequest,
    shell: Shell,
    registered: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> str:
    """The name of a metric in no table but that of its kind."""
    monkeypatch.delitem(sys.modules, "gec_copies", raising=False)
    assert "copies" not in {*METRICS, *CITED}
    if request.param == "built-in":
        (registered({}) / "gec_copies.py").write_text(MODULE)
        monkeypatch.setitem(METRICS, "copies", "gec_copies:Copies")  # type: ignore[arg-type]
        return "copies"
    shell.write("mymetric.py", FUNCTION)
    return "mymetric.py:copies"


STUDY = """benchmarks = ["sample", "own"]
metrics = ["{}", "green"]
[settings]
resamples = 10
"""
ROWS = '{"source": "He go .", "hypothesis": "He goes .", "references": ["He goes ."]}\n'
CHAINS = """S He go to school on every days .
A 1 2|||R:VERB|||goes|||REQUIRED|||-NONE-|||0
A 5 6|||R:NOUN|||day|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB|||goes|||REQUIRED|||-NONE-|||1
A 4 5|||U:OTHER||||||REQUIRED|||-NONE-|||1

"""
FILES = "source.txt source.txt mine.txt -r ref.txt"
# Every command that takes metrics; the web pages are below.
COMMANDS = [
    "metrics {}",
    f"score {FILES} -m {{}} --sentences -o out --html page.html",
    f"score {FILES} -m {{}} --worst 2",
    "score rows.jsonl -m {} -o rows",
    f"rank {FILES} -m {{}} --resamples 20",
    f"diff {FILES} -m {{}} --resamples 20 --html page.html",
    "demo -m {} --resamples 10 --html page.html",
    "compare sample -m {} -m green --human both --resamples 10 --html page.html -o out",
    "compare sample -m {} -m green --resamples 10 --windows",
    "compare sample own -m {} -m green --resamples 10 --html page.html",
    "study study.toml -o study --allow-judges",
    "power sample -m {} --resamples 20",
    f"pick {FILES} -m {{}}",
    f"pick {FILES} --mbr {{}}",
    "attack sample -m {} --resamples 10 --attack copy-source",
    "maege gold.m2 -m {} --seeds 1 --resamples 10",
    "estimate sample -m {} --html page.html",
    "explain source.txt mine.txt -r ref.txt -m {} --attribution remove --format json",
    "score source.txt mine.txt -r ref.txt -m jury:equal={}+green",
]
# What needs a part of a metric that a function does not have, or data that is not here.
REFUSED = {
    "explain source.txt mine.txt -r ref.txt -m {}": ("shows no alignment", True),
    "tune {}:factor=1:2:1 sample": ("has no option 'factor'", True),
    "compare sample -m {} --level edit": ("has no verdicts on edits", False),
}


@pytest.fixture
def files(metric: str, shell: Shell, own_benchmark: str) -> Shell:
    shell.write("rows.jsonl", 3 * ROWS)
    shell.write("study.toml", STUDY.format(metric))
    shell.write("gold.m2", 3 * CHAINS)
    shell.write("own/references/first.txt", Path(own_benchmark, "source.txt").read_bytes())
    return shell


@pytest.mark.parametrize("line", COMMANDS)
def test_it_works_in_every_command(line: str, metric: str, files: Shell) -> None:
    out, err = files.ended(*line.format(metric).split())
    assert "copies" in out + err
    if line.startswith("demo"):
        page = (files.folder / "page.html").read_text(encoding="utf-8")
        assert ("Doe et al. 2027" in page) == (metric == "copies")


def test_what_it_lacks_is_refused(metric: str, files: Shell) -> None:
    for line, (message, only_functions) in REFUSED.items():
        lacking = not only_functions or metric == "mymetric.py:copies"
        status, _, err = files(*line.format(metric).split())
        assert (status, message in err) == (2 if lacking else 0, lacking), line
    out, err = files.ended("cite", "green", metric, status=2)
    paper = "Doe et al. 2027" if metric == "copies" else "mymetric.py"
    assert out == ""
    assert re.search(f"{metric}: .*no BibTeX entry.*leave it out, and cite .*{paper}", err)


def test_it_works_on_the_page_to_try_metrics(metric: str) -> None:
    desk = Desk([metric])
    client = admitted(trying_app(desk))
    assert "opies" in client.get("/").text
    data = {"token": desk.token, "source": "He go", "output": ["He goes"], "system": [""]}
    answer = client.post("/score", data={**data, "reference": ["He goes"], "metric": [metric]})
    assert "<h2>Scores</h2>" in answer.text


def test_the_site_has_a_page_for_a_metric_without_texts_of_its_own(
    monkeypatch: pytest.MonkeyPatch, registered: Callable[..., Path]
) -> None:
    (registered({}) / "gec_copies.py").write_text(MODULE)
    monkeypatch.setitem(METRICS, "copies", "gec_copies:Copies")  # type: ignore[arg-type]
    assert "Share of a reference's words" in metric_page("copies")
    assert "- [`copies`](copies.md): share of the references' words (Doe et al. 2027)." in (
        metrics_index()
    )
