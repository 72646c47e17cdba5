"""JFLEG as a benchmark, on the released files."""

from __future__ import annotations

import csv
import shutil
from collections import Counter
from pathlib import Path

import pytest

from gecjury.benchmarks.judgments import expand_pairs
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import DataError

SIX = ("AMU", "CAMB", "NMT", "NUS", "orig", "turk")


@pytest.fixture
def with_outputs(data_dir: Path, tmp_path: Path) -> Path:
    """A data folder with texts of the right length in place of the four outputs."""
    shutil.copytree(data_dir / "jfleg", tmp_path / "jfleg")
    shutil.copytree(data_dir / "gug-data", tmp_path / "gug-data")
    outputs = tmp_path / "jfleg/EACL_exp/outputs"
    outputs.mkdir()
    for name, text in (("AMU", "ref1"), ("CAMB.txt", "ref2"), ("NMT", "ref3"), ("NUS", "src")):
        shutil.copy(data_dir / f"jfleg/dev/dev.{text}", outputs / name)
    return tmp_path


def test_the_published_part(data_dir: Path) -> None:
    jfleg = load_benchmark("jfleg", data=data_dir)
    assert jfleg.corpus.names == ("orig", "turk")
    assert len(jfleg.corpus) == 176
    assert len(jfleg.corpus.references) == 3
    items = jfleg.rankings["sentence"]
    # 148 rankings of five and 149 comparisons with NUS: 148 · 10 + 149 = 1,629 pairs, one per row
    # of the file.
    assert [sum(len(i.groups) == size for i in items) for size in (5, 2)] == [148, 149]
    assert len(expand_pairs(items, SIX)) == 1629
    # In the file, orig and turk are compared 148 times; turk is better in 118 and worse in 5.
    pairs = expand_pairs(items, jfleg.corpus.names)
    assert [(pairs.preference == sign).sum() for sign in (-1, 0, 1)] == [118, 25, 5]
    # Sentence 272 of GUG, first rows of the file: turk 1, NMT 2, AMU and CAMB 4, orig 5.
    first = items[0]
    ranks = dict(zip((g[0] for g in first.groups), first.ranks, strict=True))
    assert ranks == {"CAMB": 4, "NMT": 2, "turk": 1, "orig": 5, "AMU": 4}
    source = (data_dir / "jfleg/dev/dev.src").read_text().split("\n")
    line = jfleg.sentence_ids[first.sentence]
    assert jfleg.corpus.sources[first.sentence] == source[line].rstrip()
    gug = (data_dir / "gug-data/gug_annotations.tsv").read_text().split("\n")
    wanted = next(row.split("\t")[1] for row in gug if row.startswith("272\t"))
    assert wanted.split()[:3] == jfleg.corpus.sources[first.sentence].split()[:3]


def test_human_scores_are_recomputed_over_all_systems(data_dir: Path, with_outputs: Path) -> None:
    jfleg = load_benchmark("jfleg", systems="all", data=with_outputs)
    # Expected Wins directly from the rows: mean over opponents of wins / (wins + losses).
    wins: Counter[tuple[str, str]] = Counter()
    with (data_dir / "jfleg/EACL_exp/mturk/pairwise.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            ranks = sorted((int(row[f"system{n}rank"]), row[f"system{n}Id"]) for n in (1, 2))
            if ranks[0][0] < ranks[1][0]:
                wins[ranks[0][1], ranks[1][1]] += 1
    wanted = [sum(wins[a, b] / (wins[a, b] + wins[b, a]) for b in SIX if a != b) / 5 for a in SIX]
    assert jfleg.human_scores("expected-wins") == pytest.approx(wanted, abs=1e-12)
    skills = jfleg.human_scores("trueskill")
    assert [SIX[i] for i in skills.argsort()] == ["orig", "CAMB", "AMU", "NUS", "NMT", "turk"]
    assert jfleg.corpus.systems["NUS"].lines == jfleg.corpus.sources
    assert jfleg.corpus.groups is not None
    assert len(jfleg.corpus.groups) == 297


def test_missing_outputs_are_named_with_their_location(data_dir: Path, with_outputs: Path) -> None:
    with pytest.raises(DataError, match=r"AMU\.txt, CAMB\.txt, NMT\.txt, NUS\.txt \(754 lines"):
        load_benchmark("jfleg", systems="all", data=data_dir)
    short = with_outputs / "jfleg/EACL_exp/outputs/AMU"
    short.write_text("one line\n")
    with pytest.raises(DataError, match=r"outputs/AMU has 1 lines, but jfleg/dev/dev\.src has 754"):
        load_benchmark("jfleg", systems="all", data=with_outputs)
