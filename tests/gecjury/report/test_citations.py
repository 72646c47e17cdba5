"""Citations of metrics and benchmarks: complete, and valid BibTeX."""

from __future__ import annotations

import json
import re

import pytest

from gecjury.benchmarks.table import BENCHMARKS
from gecjury.core.errors import OptionError
from gecjury.core.runtime import __version__
from gecjury.report.citations import CITED, citations, entries
from gecjury.scoring.registry import METRICS, scorer_class
from tests.shell import Shell


def test_only_metrics_and_benchmarks_have_entries_and_every_entry_is_used() -> None:
    assert set(CITED) <= {"gecjury", *METRICS, *BENCHMARKS}
    assert {key for keys in CITED.values() for key in keys} == set(entries())


@pytest.mark.parametrize("entry", entries().values(), ids=lambda entry: entry.key)
def test_entries_are_bibtex(entry: object) -> None:
    text = str(entry)
    depth = 0
    for sign in text:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        assert depth >= 0
    assert depth == 0
    for value in re.findall(r" = \{(.*)\},\n", text):
        assert value.count("{") == value.count("}")
        assert not re.search(r"(?<!\\)[#$%&_]", re.sub(r"10\.\d+/\S+|https://\S+", "", value))
    assert text.isascii()  # old versions of BibTeX read bytes


@pytest.mark.parametrize("name", sorted(METRICS.keys() & CITED))
def test_entries_agree_with_the_papers_of_metrics(name: str) -> None:
    paper = scorer_class(name).paper
    first = entries()[CITED[name][0]]
    if paper in ("this package", "as given"):
        assert first.key == "gecjury"
        return
    surname, year = paper.split()[0], re.findall(r"\d{4}", paper)
    assert first.fields["author"].replace('{\\"O}', "Ö").startswith(surname + ",")
    assert set(year) & {entries()[key].fields["year"] for key in CITED[name]}


@pytest.mark.parametrize("name", sorted((BENCHMARKS.keys() & CITED) - {"sample"}))
def test_entries_agree_with_the_citations_of_benchmarks(name: str) -> None:
    entry = entries()[CITED[name][0]]
    citation = BENCHMARKS[name].citation
    dated = re.search(r"\((\d{4})\)", citation)
    assert dated is None or dated[1] == entry.fields["year"]
    surname = entry.fields["author"].split(",")[0].replace('{\\"O}', "Ö")
    assert citation.startswith(surname)


def test_each_entry_is_listed_once_with_all_its_uses() -> None:
    result = [(entry.key, names) for entry, names in citations(["pt-m2", "m2:beta=1", "M2", "m2"])]
    assert result == [
        ("gong-etal-2022-revisiting", ["pt-m2"]),
        ("dahlmeier-ng-2012-better", ["pt-m2", "m2"]),
    ]
    with pytest.raises(OptionError, match=r"'erant', not a metric.*did you mean errant"):
        citations(["erant"])


def test_the_command(shell: Shell) -> None:
    status, out, err = shell("cite", "seeda", "green")
    assert (status, err) == (0, "")
    assert out.startswith("% seeda\n@article{kobayashi-etal-2024-revisiting,\n  title = {Revis")
    assert "\n\n% green\n@inproceedings{koyama-etal-2024-n,\n" in out
    assert f"version {__version__}" in shell("cite", "changes")[1]
    assert shell("cite")[1].count("\n@") == len(entries())
    rows = json.loads(shell("cite", "jfleg", "--format", "json")[1])["entries"]
    assert [(row["key"], row["cited_for"], row["year"]) for row in rows] == [
        ("napoles-etal-2017-jfleg", ["jfleg"], "2017")
    ]
    assert shell("cite", "nonsense")[0] == 2
    assert shell("cite", "green", "--format", "tsv")[0] == 2
