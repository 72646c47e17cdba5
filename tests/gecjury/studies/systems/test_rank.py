"""Rankings from Python: order, shared ranks, and the same tests as `compare_systems`."""

from __future__ import annotations

import json

import pytest

import gecjury
from gecjury import Rank, Resampling
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.texts import corpus_of_texts
from gecjury.report.tables import to_json
from gecjury.scoring.system_tests import compare_systems, score_intervals
from tests.shell import FIXED, SOURCE, Shell

QUICK = Rank(resampling=Resampling(over="sentences", resamples=5, permutations=5))


def test_order_and_shared_ranks() -> None:
    systems = {"copy": SOURCE, "fixed": FIXED, "again": FIXED}
    corpus = corpus_of_texts(SOURCE, systems, [FIXED])
    ranked = gecjury.rank(corpus, "green", Rank(resampling=Resampling(over="none")))
    rows = ranked.rows()
    assert [(row["rank"], row["system"]) for row in rows] == [
        (1, "fixed"), (1, "again"), (3, "copy"),
    ]  # fmt: skip
    assert (ranked.settings["resampling"]["resample"], ranked.table("significance").rows) == (
        "none",
        [],
    )
    assert not {"ci95", "ranks", "cluster"} & set(rows[0])


def test_significance_tests_equal_those_of_compare_systems() -> None:
    how = Resampling(over="sentences", resamples=30, permutations=40, confidence=0.8, level=0.2)
    settings = Rank(aggregate="mean", resampling=how, seed=3)
    ranked = gecjury.rank("sample", ["green", "changes"], settings)
    scorer = gecjury.load("changes")
    table = scorer.score_corpus(gecjury.load_benchmark("sample").corpus)
    own = compare_systems(scorer, table, "mean", how, 3)
    intervals, _ = score_intervals(scorer, table, "mean", how, 3)
    rows = {row["system"]: row for row in ranked.rows() if row["metric"] == "changes"}
    rows_in_order = [rows[system] for system in table.systems]
    assert [tuple(row["ci95"]) for row in rows_in_order] == intervals["score"]
    assert [tuple(row["rank_range"]) for row in rows_in_order] == list(own.ranks)
    assert [row["cluster"] for row in rows_in_order] == list(own.clusters)
    scores = [row["score"] for row in rows.values()]
    assert scores == sorted(scores, reverse=True)
    assert {row["aggregate"] for row in ranked.rows()} == {"mean"}


def test_missing_scores_are_counted_and_leads_are_of_shared_sentences(shell: Shell) -> None:
    """a has 1 and 3, b 0, 2 and 3; without line 1, which a lacks, b is ahead by 1/2."""
    for name in ("source", "a", "b"):
        shell.write(f"{name}.txt", f"{name}\n" * 3)
    scores = ["a\t2\t1", "a\t3\t3", "b\t1\t0", "b\t2\t2", "b\t3\t3"]
    shell.write("s.tsv", "\n".join(["system\tline\tscore", *scores]) + "\n")
    for command in ("score", "rank"):
        _, out, _ = shell(command, "source.txt", "a.txt", "b.txt", "-m", "scores:file=s.tsv")
        shown = " ".join(out.split())
        assert ": a is highest: 2.0000" in shown
        assert "but by the paired difference 0.5000 behind b" in shown
        assert ": 1 of 6 sentence scores are missing and left out: a 1" in shown


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    for name, texts in (("source", SOURCE), ("mine", FIXED), ("copy", SOURCE), ("ref", FIXED)):
        shell.write(f"{name}.txt", "\n".join(texts) + "\n")
    how = Resampling(over="sentences", resamples=20, confidence=0.8, permutations=30)
    corpus = read_corpus("source.txt", ["mine.txt", "copy.txt"], ["ref.txt"])
    settings = Rank(aggregate="expected-wins", resampling=how, seed=7)
    ranked = gecjury.rank(corpus, ["green", "gleu"], settings)
    options = ["--aggregate", "expected-wins", "--resamples", "20", "--confidence", "0.8"]
    options += ["--permutations", "30", "--seed", "7", "-m", "green", "-m", "gleu"]
    files = ["source.txt", "mine.txt", "copy.txt", "-r", "ref.txt"]
    status, out, _ = shell("rank", *files, *options, "--format", "json")
    assert (status, json.loads(out)) == (0, json.loads(to_json(ranked.document())))
    assert "\nRanking by expected-wins score\n" in str(ranked)


def test_the_verdict_names_the_leader_and_who_agrees() -> None:
    how = Resampling(over="sentences", resamples=20, permutations=200)
    ranked = gecjury.rank("sample", ["gleu", "green:beta=1", "changes"], Rank(resampling=how))
    rows = [row for row in ranked.rows() if row["metric"] == "gleu"]
    tests = next(one for one in ranked.table("significance").rows if one["metric"] == "gleu")
    place = {name: number for number, name in enumerate(tests["systems"])}
    first, second = rows[0], rows[1]
    p = tests["adjusted"][place[first["system"]], place[second["system"]]]
    sentence, agreement = ranked.sentences()
    gap = first["score"] - second["score"]
    assert sentence.startswith(f"gleu: {first['system']} leads: {first['score']:.4f} (95%: ")
    assert f", {gap:.4f} ahead of {second['system']}, " in sentence
    assert ("not significant" in sentence) == (p > how.level)
    # `changes` only describes outputs, so that it has no say.
    leader = next(row["system"] for row in ranked.rows() if row["metric"].startswith("green"))
    assert agreement == (
        "green agrees." if leader == first["system"] else f"green puts {leader} first."
    )
    untested = gecjury.rank("sample", "gleu", Rank(resampling=Resampling(over="none")))
    assert untested.verdict[0].endswith(f"ahead of {second['system']}, not tested.")


def test_systems_that_share_the_lead() -> None:
    systems = {"copy": SOURCE, "fixed": FIXED, "again": FIXED}
    corpus = corpus_of_texts(SOURCE, systems, [FIXED])
    (sentence,) = gecjury.rank(corpus, "green", QUICK).verdict
    assert sentence.startswith("green: fixed and again share the lead: 1.0000")
    alike = corpus_of_texts(SOURCE, {"a": FIXED, "b": FIXED}, [FIXED])
    ranked = gecjury.rank(alike, "green", QUICK)
    assert ranked.notes == ("green: all systems have the same score: nothing to rank",)


def test_precision_and_recall_have_intervals() -> None:
    how = Resampling(over="sentences", resamples=20, permutations=20)
    ranked = gecjury.rank("sample", ["green", "gleu"], Rank(resampling=how))
    row = ranked.rows()[0]
    for key in ("precision", "recall"):
        low, high = row[f"{key}_ci95"]
        assert low <= row[key] <= high
    assert "precision" not in ranked.rows()[-1]
    scored = {row["system"]: row for row in gecjury.score("sample", "green").rows()}
    assert row["precision"] == pytest.approx(scored[row["system"]]["precision"], abs=1e-12)


def test_figures_are_a_flat_table() -> None:
    pandas = pytest.importorskip("pandas")
    ranked = gecjury.rank("sample", ["green", "gleu"], QUICK)
    table = pandas.DataFrame(ranked.figures())
    assert set(table.level) == {"score"}
    first = ranked.rows()[0]
    own = table[(table.metric == "green") & (table.system == first["system"])]
    by_statistic = own.set_index("statistic")
    assert list(by_statistic.index) == ["score", "precision", "recall", "rank", "p_next"]
    assert by_statistic.value["score"] == first["score"]
    assert (by_statistic.low["score"], by_statistic.high["score"]) == first["ci95"]
    assert [by_statistic.low["rank"], by_statistic.high["rank"]] == first["rank_range"]
    assert by_statistic.value["p_next"] == first["p_next"]


def test_the_page_opens_with_the_verdict(shell: Shell) -> None:
    for name, texts in (("source", SOURCE), ("mine", FIXED), ("copy", SOURCE), ("ref", FIXED)):
        shell.write(f"{name}.txt", "\n".join(texts) + "\n")
    words = "source.txt mine.txt copy.txt -r ref.txt -m green --html p.html"
    shell.ended("rank", *words.split())
    page = (shell.folder / "p.html").read_text(encoding="utf-8")
    assert '<p class="lead">green: mine leads: 1.0000' in page
    assert "p to next" in page
    assert "Sentences and their edits" in page
