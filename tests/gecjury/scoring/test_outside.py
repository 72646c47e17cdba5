"""A metric of another package, from installation to the HTML page; and broken packages."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from gecjury.core.errors import OptionError
from gecjury.scoring import registry
from gecjury.scoring.abilities import Explains
from tests.outside import MODULE, lay
from tests.shell import REPOSITORY, Shell

Run = Callable[..., subprocess.CompletedProcess[str]]


def child(site: Path, cwd: Path) -> Run:
    """Return a function that runs Python with a folder of packages on its path."""
    path = os.pathsep.join([str(REPOSITORY), str(site)])
    env = {**os.environ, "PYTHONPATH": path, "GECJURY_CACHE": str(cwd / "cache")}

    def run(*words: str, status: int = 0) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [sys.executable, *words], cwd=cwd, env=env, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == status, done.stderr
        return done

    return run


@pytest.fixture
def laid(tmp_path: Path, shell: Shell) -> Run:
    site = lay(tmp_path / "site", {"copies": "gec_copies:Copies"})
    (site / "gec_copies.py").write_text(MODULE)
    return child(site, shell.folder)


CREDIT = """
from gecjury.benchmarks.load import load_benchmark
from gecjury.corpus.edits import Edit
from gecjury.metaeval.edits.credit import credit_edits
from gecjury.core.runtime import Runtime
from gecjury.scoring import EditCase, load

corpus = load_benchmark("sample").corpus
scorer = load("copies")
source, reference = corpus.sources[0], corpus.references[0].lines[0]
right, wrong = Edit(0, 1, reference.split()[0]), Edit(0, 1, "nowhere")
cases = [EditCase(0, source, ("", ""), edit, (edit,), 1.0) for edit in (right, wrong)]
found = credit_edits(scorer, cases, corpus, Runtime())
print(found.values.tolist(), found.notes)
"""


def check_every_command(run: Run) -> None:
    """Run each command that calls a method of the metric `copies`."""
    gecjury = ("-m", "gecjury")
    rows = json.loads(run(*gecjury, "metrics", "--format", "json").stdout)
    origins = {row["name"]: row["from"] for row in rows}
    assert origins["copies"] == "gec-copies 2.1"
    assert {where for name, where in origins.items() if name != "copies"} == {"gecjury"}
    assert list(origins)[-1] == "copies"
    assert "what shares are multiplied with" in run(*gecjury, "metrics", "copies").stdout

    words = ("score", "source.txt", "mine.txt", "-r", "ref.txt", "-m", "copies:factor=0.5")
    (row,) = json.loads(run(*gecjury, *words, "--format", "json").stdout)["rows"]
    assert (row["score"], row["family"]) == (0.5, "refbased")
    assert row["signature"].startswith("copies|factor=0.5|")

    # "a" and "is" are words of the reference, "was" is not.
    words = ("This are a sentence .", "This was a sentence .", "This is a sentence .")
    out = run(*gecjury, "explain", *words, "-m", "copies", "--format", "json").stdout
    (explanation,) = json.loads(out)["explanations"]
    assert explanation["rows"] == [{"edit": "was", "copied": False}]

    words = ("compare", "sample", "-m", "copies", "-m", "green", "--level", "all")
    words += ("--resamples", "20", "--html", "page.html", "--format", "json")
    result = json.loads(run(*gecjury, *words).stdout)
    assert {row["metric"]: row["family"] for row in result["rows"] if row["human"] == "edit"}[
        "copies"
    ] == "refbased"
    assert run("-c", CREDIT).stdout == "[1.0, 0.0] ('words, wherever they stand',)\n"


@pytest.mark.slow
def test_a_package_on_the_path_works_in_every_command(laid: Run, shell: Shell) -> None:
    pytest.importorskip("errant")
    check_every_command(laid)
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    assert "Doe et al. 2027" in page
    assert "copies|factor=1.0|" in page


BROKEN = {
    "absent": ("gec_absent:Nothing", "ModuleNotFoundError: No module named 'gec_absent'"),
    "function": (
        "json:loads",
        "loads is a function, which has no version for signatures; expected",
    ),
    "module": ("json:decoder", "nor a subclass of gecjury.scoring.Scorer"),
    "abstract": ("gecjury.scoring:MeanScorer", "MeanScorer does not define statistics"),
    "misnamed": (
        "gec_copies:Copies",
        "its class has the name 'copies'; expected name = 'misnamed'",
    ),
    "stray": ("gec_stray:Stray", "family is 'toys'; expected one of refbased, refless, judges"),
    "bare": ("gec_stray:Bare", "Bare is not a dataclass; expected @dataclass(frozen=True)"),
    "hidden": ("gec_stray:Hidden", "the types of its settings cannot be read"),
    "shouting": ("gec_shouting:Any", "RuntimeError: not today"),
}
STRAY = """
from __future__ import annotations
from dataclasses import dataclass
from gec_copies import Copies

@dataclass(frozen=True)
class Stray(Copies):
    name = "stray"
    family = "toys"

class Bare(Copies):
    name = "bare"

@dataclass(frozen=True)
class Hidden(Copies):
    name = "hidden"
    where: Path = None
"""


def test_broken_metrics_are_named_and_do_not_affect_others(
    tmp_path: Path, registered: Callable[..., Path]
) -> None:
    site = registered({name: target for name, (target, _) in BROKEN.items()}, name="gec-broken")
    (site / "gec_copies.py").write_text(MODULE)
    (site / "gec_stray.py").write_text(STRAY)
    (site / "gec_shouting.py").write_text("raise RuntimeError('not today')\n")
    registered({"copies": "gec_copies:Copies", "green": "gec_copies:Copies"}, name="gec-two")
    registered({"copies": "gec_copies:Copies"}, name="gec-zwei", version="0.3")
    for name, (target, fault) in BROKEN.items():
        with pytest.raises(OptionError) as caught:
            registry.load(name)
        start = f"the metric {name} of gec-broken 2.1 ({target}) cannot be used: "
        assert str(caught.value).startswith(start)
        assert fault in str(caught.value)
    assert registry.load("copies").name == "copies"
    # Names that are already taken, by our metrics or by the alphabetically first package.
    assert registry.origin("green") == "gecjury"
    assert registry.origin("copies") == "gec-two 2.1"
    assert registry.outside_metrics().refused == (
        "the metric green of gec-two 2.1 is left out, since gecjury has one of that name; "
        "it needs another name",
        "the metric copies of gec-zwei 0.3 is left out, since gec-two 2.1 has one of that name; "
        "it needs another name",
    )
    assert registry.able(Explains)[-1] == "copies"
    assert registry.paper_of("copies") == "Doe et al. 2027"
    assert registry.paper_of("absent") is None


def test_the_list_shows_broken_metrics(registered: Callable[..., Path], shell: Shell) -> None:
    registered({"absent": "gec_absent:Nothing", "green": "gec_absent:Nothing"}, name="gec-broken")
    status, out, err = shell("metrics", "--format", "json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert status == 0
    assert list(rows) == [*registry.METRICS, "absent"]
    assert (rows["absent"]["needs"], rows["absent"]["from"]) == ("cannot be used", "gec-broken 2.1")
    assert "No module named 'gec_absent'" in rows["absent"]["error"]
    assert "gecjury: the metric green of gec-broken 2.1 is left out" in err
    assert "gecjury: the metric absent of gec-broken 2.1 (gec_absent:Nothing) cannot be used" in err
    assert "cannot be used" in shell("metrics")[1]
    # Nothing is reported to users of other metrics.
    words = ["score", "source.txt", "mine.txt", "-r", "ref.txt", "-m"]
    status, _, err = shell(*words, "green")
    assert (status, err) == (0, "")
    status, out, err = shell(*words, "absent")
    assert (status, out) == (2, "")
    assert "the metric absent of gec-broken 2.1" in err
    assert "did you mean absent" in shell(*words, "absnt")[2]
