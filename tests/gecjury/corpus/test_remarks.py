"""Remarks on the texts of a corpus."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.remarks import remarks_on
from tests.shell import Shell


def test_an_empty_line_of_a_reference_is_mentioned(here: Path, shell: Shell) -> None:
    (here / "r.txt").write_text("I have it .\n\n")
    for command in ("score", "rank", "explain"):
        files = ["s.txt", "h.txt", "-r", "h.txt", "-r", "r.txt", "-m", "errant"]
        more = ["--worst", "1"] if command == "explain" else []
        out, _ = shell.ended(command, *files, *more)
        assert "r.txt: 1 of 2 lines is empty (line 2)" in " ".join(out.split())


def test_empty_lines_of_named_and_of_benchmark_sets(here: Path) -> None:
    (here / "r.txt").write_text("I have it .\n\n")
    corpus = read_corpus("s.txt", ["h.txt"], ["h.txt", "mine=r.txt"])
    assert remarks_on(corpus, ("references",)) == ()
    (note,) = remarks_on(corpus.with_references("mine"), ("references",))
    assert note.startswith("r.txt: 1 of 2 lines is empty")
    # In SEEDA, an annotator deleted a whole sentence.
    official = replace(corpus.with_references("mine"), reference_name="official", _labels={})
    assert remarks_on(official, ("references",)) == ()
