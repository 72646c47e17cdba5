"""False alarms: hand-computed shares, rates and tests; good text by references; command."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import Any

import pytest

import gecjury
from gecjury import Alarms, Resampling
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.texts import corpus_of_texts
from gecjury.report.tables import to_json
from gecjury.stats.counts import wilson_interval
from tests.shell import Shell

CLEAN = ["He goes home now .", "All is well here .", "We ate .", "It is 3 pm ."]
"""4 + 4 + 2 + 4 = 14 words; full stops do not count."""
BUSY = ["He went home now .", "All is well here !", "We ate .", "It is 3 pm ."]
QUIET = list(CLEAN)
FAST = Alarms(resampling=Resampling(over="sentences", resamples=20, permutations=100))


@pytest.mark.parametrize(
    ("count", "total", "low", "high"),
    [
        # z² = 3.8415: middle (1 + 1.9207) / 7.8415 = .3725, spread √(3.8415 (3/4 + .9604)) / 7.8415
        (1, 4, 0.0456, 0.6994),
        # None of ten: from 0 to z² / (10 + z²) = 3.8415 / 13.8415.
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
    ],
)
def test_wilson_interval(count: int, total: int, low: float, high: float) -> None:
    assert wilson_interval(count, total) == pytest.approx((low, high), abs=5e-5)


def test_systems_with_the_fewest_alarms_come_first() -> None:
    result = gecjury.alarms(corpus_of_texts(CLEAN, {"busy": BUSY, "quiet": QUIET}), (), FAST)
    quiet, busy = result.rows()
    assert (quiet["system"], quiet["changed"], quiet["edits"]) == ("quiet", 0.0, 0)
    assert (busy["system"], busy["changed"], busy["changed_sentences"]) == ("busy", 0.5, 2)
    # Two edits in 14 words: 1,000 · 2 / 14.
    assert (busy["edits"], busy["per_thousand"]) == (2, pytest.approx(1000 * 2 / 14))
    assert busy["ci95"] == pytest.approx(wilson_interval(2, 4))
    assert (result.facts["sentences"], result.facts["words"]) == (4, 14)
    low, high = busy["per_thousand_ci95"]
    assert 0 <= low < busy["per_thousand"] < high


def test_the_paired_test_swaps_outputs_of_sentences() -> None:
    every = [f"{line} Yes !" for line in CLEAN]
    result = gecjury.alarms(corpus_of_texts(CLEAN, {"every": every, "none": CLEAN}), (), FAST)
    # Two of the 2⁴ swaps of four sentences give a difference of 1: p = 2/16.
    assert [row["p_next"] for row in result.rows()] == [2 / 16, None]
    assert [row["rank_range"] for row in result.rows()] == [[1, 2], [1, 2]]
    (tests,) = result.table("significance").rows
    assert tests["adjusted"][0, 1] == 2 / 16
    sentence, counted = result.verdict
    assert sentence.startswith("none leads: share changed 0.0000 (95%: 0.0000 to 0.4899), 1.0000")
    assert "ahead of every, not significant (p = 0.125, approximate rand" in sentence
    assert counted == "none changes 0 of 4 good sentences and makes 0.0 edits in 1,000 words."


def test_systems_that_share_the_fewest_alarms_are_named_together() -> None:
    corpus = corpus_of_texts(CLEAN, {"one": CLEAN, "busy": BUSY, "two": CLEAN})
    (verdict,) = gecjury.alarms(corpus, (), FAST).verdict
    share = "share changed 0.0000 (95%: 0.0000 to 0.4899)"
    assert verdict == f"one and two share the lead: {share}."


def test_edits_and_changed_sentences_are_listed() -> None:
    result = gecjury.alarms(corpus_of_texts(CLEAN, {"busy": BUSY}), (), FAST)
    assert [(row["edit"], row["type"], row["count"]) for row in result.table("edits").rows] == [
        ("[.→!]", "R:PUNCT", 1),
        ("[goes→went]", "R:VERB:TENSE", 1),
    ]
    assert result.table("alarms").rows == [
        {"system": "busy", "line": 1, "marked": "He [goes→went] home now ."},
        {"system": "busy", "line": 2, "marked": "All is well here [.→!]"},
    ]
    none = Alarms(show=0, resampling=FAST.resampling)
    assert gecjury.alarms(corpus_of_texts(CLEAN, {"b": BUSY}), (), none).table("edits").rows == []


def test_sentences_that_a_reference_changes_are_not_good_text() -> None:
    references = [CLEAN, ["He goes home .", *CLEAN[1:]]]
    corpus = corpus_of_texts(CLEAN, {"busy": BUSY}, references)
    result = gecjury.alarms(corpus, (), FAST)
    assert (result.facts["sentences"], result.facts["of_sentences"]) == (3, 4)
    assert result.rows()[0]["changed_sentences"] == 1
    # Line numbers are still those of the file.
    assert [row["line"] for row in result.table("alarms").rows] == [2]
    note = "good text: the 3 of 4 sentences that no reference changes (references: 2)"
    assert result.notes == (note,)


def test_a_sentence_with_an_error_marked_without_a_correction_is_not_good_text(
    shell: Shell,
) -> None:
    shell.write("s.txt", "He goes .\nWe ate .\n")
    shell.write("o.txt", "He goes .\nWe ate !\n")
    noop = "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0"
    unknown = "A 1 2|||UNK|||goes|||REQUIRED|||-NONE-|||0"
    shell.write("g.m2", f"S He goes .\n{unknown}\n\nS We ate .\n{noop}\n\n")
    result = gecjury.alarms(gecjury.read_corpus("s.txt", ["o.txt"], gold="g.m2"), (), FAST)
    assert result.facts["sentences"] == 1
    assert result.rows()[0]["changed"] == 1.0


def test_empty_lines_do_not_count_unless_a_system_fills_them() -> None:
    corpus = corpus_of_texts(["", "We ate .", ""], {"a": ["", "We ate .", "New text ."]})
    result = gecjury.alarms(corpus, (), FAST)
    assert result.facts["sentences"] == 2
    assert result.rows()[0]["changed"] == 0.5
    assert result.notes == ("empty lines are left out: 1",)


@pytest.mark.parametrize(
    ("texts", "options", "error", "words"),
    [
        ((["", " "], {"a": ["", ""]}), {}, InputError, "no text; expected sentences"),
        (
            (["a b"], {"a": ["a b"]}, [["a c"]]),
            {},
            InputError,
            "every sentence is changed by some reference; expected sentences that need no change",
        ),
        (
            (["We ate ."] * 101, {"a": ["We ate ."] * 101}),
            {"resampling": Resampling(over="sentences", resamples=1_000_000)},
            OptionError,
            "`resamples=1000000`: expected at most 990099 of 101",
        ),
    ],
)
def test_unsuitable_text_is_refused(
    texts: Any, options: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        gecjury.alarms(corpus_of_texts(*texts), (), Alarms(**options))


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    for name, lines in (("clean", CLEAN), ("busy", BUSY), ("quiet", QUIET)):
        shell.write(f"{name}.txt", "\n".join(lines) + "\n")
    texts = ["clean.txt", "busy.txt", "quiet.txt"]
    how = Resampling(over="sentences", resamples=20, permutations=50, confidence=0.9)
    result = gecjury.alarms(
        gecjury.read_corpus(texts[0], texts[1:]),
        (),
        Alarms(show=1, resampling=how, seed=2),
    )
    words = ["alarms", *texts, "--show", "1", "--resamples", "20"]
    words += ["--permutations", "50", "--confidence", "0.9", "--seed", "2"]
    own = json.loads(shell.ended(*words, "--format", "json")[0])
    assert own == json.loads(to_json(result.document()))
    out, _ = shell.ended(*words, "--html", "page.html")
    assert "False alarms: 4 sentences, 14 words" in out
    assert "quiet leads: share changed 0.0000" in out
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    assert "<h1>False alarms of busy, quiet on good text</h1>" in page
    assert '<p class="lead">quiet leads' in page
    # Two plots with intervals, the types of the edits, and the changed sentences.
    assert re.search(r"<title>busy: share of sentences changed \S+ \[\S+, \S+\]</title>", page)
    assert "edits in 1,000 words" in page
    assert "good_by" not in page
    assert "<ins>" in page.partition("Sentences and their edits")[2]


def test_a_benchmark_without_references_is_refused() -> None:
    sample = gecjury.load_benchmark("sample")
    bare = replace(sample, corpus=replace(sample.corpus, references=()))
    with pytest.raises(InputError, match="has no references to show which"):
        gecjury.alarms(bare)
