"""The sentences that cost most, and the page that shows them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gecjury.cli import main
from gecjury.corpus.corpus import Version, corpus_of_texts
from gecjury.corpus.edits import Edit
from gecjury.corpus.language import language_of
from gecjury.experiments.score import costly_sentences, marked_correction, score
from gecjury.report.page.scores import scores_html
from gecjury.runtime import Runtime
from gecjury.scoring.registry import load
from gecjury.studies.rank import rank

SOURCES = ["I likes cats .", "He go home .", "a b c <i>d</i> .", "It is so ."]
REFERENCE = ["I like cats .", "He goes home .", "a b c <i>d</i> .", "It is so ."]
MINE = ["I like cats .", "He go home .", "a x c <i>d</i> .", "It is so ."]


def test_cost_is_what_the_corpus_score_gains_without_the_sentence() -> None:
    corpus = corpus_of_texts(SOURCES, {"mine": MINE}, [REFERENCE])
    scorers = [load("gleu"), load("green")]
    found = score(corpus, metrics=scorers)
    worst = costly_sentences(found, scorers, corpus, 1)
    assert [each.metric for each in worst] == ["gleu", "green"]
    for each, scorer, table in zip(worst, scorers, found.tables, strict=True):
        kept = [row for row in range(4) if row != each.line - 1]
        less = corpus_of_texts(*(
            [SOURCES[r] for r in kept],
            {"mine": [MINE[r] for r in kept]},
            [[REFERENCE[r] for r in kept]],
        ))  # fmt: skip
        without = float(scorer.score_corpus(less, Runtime()).by_system.score[0])
        assert each.cost == pytest.approx(without - float(table.by_system.score[0]))
    assert (worst[0].line, worst[0].marked) == (2, "He go home .")


def test_edits_are_the_file_s_own_where_it_has_them() -> None:
    version = Version(("He goes home .",), ((Edit(0, 2, "He goes"),),))
    assert marked_correction("He go home .", version, 0) == "[He go→He goes] home ."
    assert marked_correction("a b", Version(("a b c",)), 0) == "a b [→c]"
    japanese = Version(("彼女 が 毎朝 飲む 。",))
    assert (
        marked_correction("彼女 は 毎朝 飲む 。", japanese, 0, language_of("ja"))
        == "彼女[は→が]毎朝飲む。"
    )


def test_the_page_and_the_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, lines in (("s", SOURCES), ("m", MINE), ("n", SOURCES), ("r", REFERENCE)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    texts = [str(tmp_path / name) for name in "smn"]
    page = tmp_path / "page.html"
    argv = ["score", *texts, "-r", str(tmp_path / "r"), "-m", "gleu", "-m", "green"]
    assert main([*argv, "--worst", "2", "--html", str(page), "--format", "json"]) == 0
    worst = json.loads(capsys.readouterr().out)["worst"]
    assert {each["system"] for each in worst} == {"m", "n"}
    text = page.read_text()
    assert "script-src 'none'" in text.replace("&#39;", "'")
    assert "<script" not in text
    assert "<i>" not in text
    assert "&lt;i&gt;" in text
    assert "<mark>[b→x]</mark>" in text
    assert main([*argv, "--worst", "3"]) == 0
    out = capsys.readouterr().out
    assert "Sentences that cost most" in out
    assert "[b→x]" in out


def test_explain_takes_the_lines_that_cost_most(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("spacy")
    for name, lines in (("s", SOURCES), ("m", MINE), ("r", REFERENCE)):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    texts = [str(tmp_path / name) for name in "smr"]
    assert main(["explain", *texts, "-m", "errant", "--worst", "9", "--format", "json"]) == 0
    worst = json.loads(capsys.readouterr().out)["worst"]
    assert [each["line"] for each in worst] == [3, 2]
    assert worst[0]["marked"] == "a [b→x] c <i>d</i> ."
    assert worst[0]["explanations"]
    assert main(["explain", "a sentence", *texts[1:], "-m", "errant", "--worst", "1"]) == 2
    assert "--worst is for files" in capsys.readouterr().err


def test_types_stand_side_by_side() -> None:
    pytest.importorskip("spacy")
    corpus = corpus_of_texts(SOURCES, {"mine": MINE, "none": SOURCES}, [REFERENCE])
    page = scores_html(score(corpus, metrics="errant"), [])
    assert "Error types by errant" in page
    assert "1 / 0 / 1" in page
    assert "0 / 0 / 2" in page


def test_p_stands_beside_the_clusters() -> None:
    corpus = corpus_of_texts(SOURCES, {"mine": MINE, "none": SOURCES}, [REFERENCE])
    first, last = rank(corpus, metrics="gleu").rows()
    assert 0 < first["p_next"] <= 1
    assert last["p_next"] is None
