"""Warnings of lines that do not fit the source, which come before every verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

import gecjury
from gecjury.corpus import corpus as texts
from gecjury.report.result import Result
from tests.shell import Shell

SOURCE = [
    "This are the first sentence of a text .",
    "He do n't like cat .",
    "My friend 's house is more bigger than mine .",
    "Yesterday , we goes to school by the bus .",
    "I am agree with you , but not always .",
    "They was happy because it rained a lot .",
]
FIXED = [
    "This is the first sentence of a text .",
    "He does n't like cats .",
    "My friend 's house is bigger than mine .",
    "Yesterday , we went to school by bus .",
    "I agree with you , but not always .",
    "They were happy because it rained a lot .",
]
MERGED = [f"{FIXED[0]} {FIXED[1]}", *FIXED[2:], FIXED[5]]
WARNING = "warning: merged.txt: from line 2 on the output is one line earlier; `gecjury check`"


@pytest.fixture
def files(shell: Shell) -> Shell:
    for name, lines in (("s", SOURCE), ("merged", MERGED), ("fixed", FIXED)):
        shell.write(f"{name}.txt", "".join(f"{line}\n" for line in lines))
    return shell


@pytest.mark.parametrize("command", ["score", "rank", "diff", "alarms"])
def test_a_warning_stands_before_the_verdict_and_nowhere_else(files: Shell, command: str) -> None:
    metric = [] if command == "alarms" else ["-r", "fixed.txt", "-m", "gleu"]
    words = [command, "s.txt", "merged.txt", "fixed.txt", *metric, "--html", "page.html"]
    status, out, _ = files(*words)
    assert status == 0
    assert " ".join(out.split()).startswith(WARNING)
    assert out.count("one line earlier") == 1
    page = (files.folder / "page.html").read_text()
    assert page.count("one line earlier") == 1
    assert page.partition('class="lead">')[2].startswith("warning: merged.txt: from line 2 on")


def test_pick_and_explain_warn_too(files: Shell) -> None:
    for how in (["-m", "changes"], ["--mbr", "gleu"]):
        _, _, err = files("pick", "s.txt", "merged.txt", "fixed.txt", *how)
        assert WARNING in err
    how = ["-m", "gleu", "--attribution", "remove"]
    _, out, _ = files("explain", "s.txt", "merged.txt", "fixed.txt", "--line", "4", *how)
    assert "from line 2 on the output is one line earlier" in out


def scored(corpus: texts.Corpus) -> Result:
    return gecjury.score(corpus, "gleu")


def test_a_note_stands_below_a_score_without_a_verdict(files: Shell) -> None:
    _, out, _ = files("score", "s.txt", "merged.txt", "-r", "fixed.txt", "-m", "gleu")
    assert " ".join(out.split()).index(WARNING) > out.index("metric")


def test_a_text_is_looked_at_once_and_a_benchmark_never() -> None:
    corpus = gecjury.corpus_of_texts(SOURCE, {"merged": MERGED}, [FIXED])
    (note,) = scored(corpus).notes
    assert note.startswith("warning: system merged: from line 2 on")
    looked = texts._misfit.cache_info().misses
    assert scored(replace(corpus)).notes == (note,)
    assert texts._misfit.cache_info().misses == looked
    # The texts of a benchmark that comes with gecjury have a set of references, and no files.
    assert scored(replace(corpus, reference_name="official")).notes == ()
