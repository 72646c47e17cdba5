"""The most costly sentences, and the page that shows them."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.texts import corpus_of_texts
from gecjury.scoring.registry import load
from gecjury.studies.systems.costly import costly_sentences
from gecjury.studies.systems.parts import PartialScore, cost_tables, type_costs
from tests.shell import Shell

SOURCES = ["I likes cats .", "He go home .", "a b c <i>d</i> .", "It is so ."]
REFERENCE = ["I like cats .", "He goes home .", "a b c <i>d</i> .", "It is so ."]
MINE = ["I like cats .", "He go home .", "a x c <i>d</i> .", "It is so ."]


@pytest.fixture
def files(shell: Shell) -> Shell:
    """A shell with the sentences in the files s, m, n and r."""
    for name, lines in (("s", SOURCES), ("m", MINE), ("n", SOURCES), ("r", REFERENCE)):
        shell.write(name, "\n".join(lines) + "\n")
    return shell


def test_cost_is_the_gain_in_corpus_score_without_the_sentence() -> None:
    corpus = corpus_of_texts(SOURCES, {"mine": MINE}, [REFERENCE])
    scorers = [load("gleu"), load("green")]
    tables = [scorer.score_corpus(corpus) for scorer in scorers]
    worst = list(costly_sentences(tables, scorers, corpus, 1))
    assert [sentence.metric for sentence in worst] == ["gleu", "green"]
    for sentence, scorer, table in zip(worst, scorers, tables, strict=True):
        kept = [row for row in range(4) if row != sentence.line - 1]
        less = corpus_of_texts(*(
            [SOURCES[r] for r in kept],
            {"mine": [MINE[r] for r in kept]},
            [[REFERENCE[r] for r in kept]],
        ))  # fmt: skip
        without = float(scorer.score_corpus(less, Runtime()).by_system.score[0])
        assert sentence.cost == pytest.approx(without - float(table.by_system.score[0]))
    assert (worst[0].line, worst[0].marked) == (2, "He go home .")


def test_cost_of_a_type_is_the_gain_in_f_if_the_type_were_perfect() -> None:
    counts = {"DET": (3, 1, 2), "VERB": (1, 0, 4), "NOUN": (2, 0, 0)}
    costly = type_costs(np.array([*counts.values()], float)).tolist()
    parts = [
        PartialScore(name, "errant", kind, {}, of_kind, cost)
        for name in ("mine", "yours")
        for (kind, of_kind), cost in reversed([*zip(counts.items(), costly, strict=True)])
    ]
    shown = cost_tables(parts)
    assert list(shown) == ["errant: mine", "errant: yours"]
    assert [row["type"] for row in shown["errant: mine"].rows] == ["DET", "VERB", "NOUN"]

    def f(tp: float, fp: float, fn: float) -> float:
        return 1.25 * tp / (1.25 * tp + 0.25 * fn + fp)

    costs = [f(8, 0, 4) - f(6, 1, 6), f(10, 1, 2) - f(6, 1, 6), 0]
    assert costly == pytest.approx(costs)


def test_edits_of_the_version_are_used_if_it_has_them() -> None:
    version = Version(("He goes home .",), ((Edit(0, 2, "He goes"),),))
    assert version.marked("He go home .", 0) == "[He go→He goes] home ."
    assert Version(("a b c",)).marked("a b", 0) == "a b [→c]"
    japanese = Version(("彼女 が 毎朝 飲む 。",))
    marked = japanese.marked("彼女 は 毎朝 飲む 。", 0, language_of("ja"))
    assert marked == "彼女[は→が]毎朝飲む。"


def test_the_page_and_the_table(files: Shell) -> None:
    words = ["score", "s", "m", "n", "-r", "r", "-m", "gleu", "-m", "green"]
    status, out, _ = files(*words, "--worst", "2", "--html", "page.html", "--format", "json")
    assert status == 0
    assert {sentence["system"] for sentence in json.loads(out)["worst"]} == {"m", "n"}
    text = (files.folder / "page.html").read_text()
    assert "script-src 'none'" in text.replace("&#39;", "'")
    assert "<script" not in text
    assert "<i>" not in text
    assert "&lt;i&gt;" in text
    assert 'a <mark class="wrong"><del>b</del> <ins>x</ins> ✗</mark> c' in text
    # The opening has the verdict by the first metric, a card that by the second.
    leads = re.findall(r"<(\w+)[^>]*>(gleu: )?m leads: [^<]*, not significant \(p = [^<]*<", text)
    assert leads == [("p", "gleu: "), ("dd", "")]
    # Scores by both metrics, precision and recall by one.
    assert len(re.findall(r"<td class=\"n\">\S+ \[[^<]*\]", text)) == 7
    _, out, _ = files(*words, "--worst", "3")
    assert "Sentences that cost most" in out
    assert "[b→x]" in out


def test_explain_shows_the_most_costly_lines(files: Shell) -> None:
    pytest.importorskip("spacy")
    words = ["-m", "errant", "--worst", "9"]
    status, out, _ = files("explain", "s", "m", "r", *words, "--format", "json")
    assert status == 0
    worst = json.loads(out)["worst"]
    assert [sentence["line"] for sentence in worst] == [3, 2]
    assert worst[0]["marked"] == "a [b→x] c <i>d</i> ."
    assert worst[0]["explanations"]
    files("explain", "s", "m", "r", *words, "--html", "page.html")
    text = (files.folder / "page.html").read_text()
    assert 'a <mark class="wrong"><del>b</del> <ins>x</ins> ✗</mark> c &lt;i&gt;d' in text
    # References given with -r are read like those given as arguments.
    _, other, _ = files("explain", "s", "m", "-r", "r", *words, "--format", "json")
    assert other == out
    status, _, err = files("explain", "a sentence", "m", "r", "-m", "errant", "--worst", "1")
    assert status == 2
    assert "--worst is for files" in err
