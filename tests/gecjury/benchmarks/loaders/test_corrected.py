"""The readers of GECCC and UA-GEC: made-up files and documents, and the released ones."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gecjury.benchmarks.data_folder import open_data
from gecjury.benchmarks.loaders.corrected import CorrectedSentences, read_geccc, read_ua_gec
from gecjury.core.errors import DataError, MissingExtraError
from tests.made_up import data_folder

GECCC = {
    "GECCC/data/dev/sentence.input": "Ahoj, svete.\nDobrý den\n",
    "GECCC/data/dev/sentence.gold": "Ahoj, světe.\tAhoj, svete.\nDobrý den\n",
    "GECCC/data/dev/sentence.m2": """S Ahoj , svete .
A 2 3|||R:SPELL|||světe|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S Dobrý den
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
""",
}


def check_that_edits_spell_the_references(made: CorrectedSentences) -> None:
    for references, block in zip(made.references, made.m2, strict=True):
        for annotator, reference in enumerate(references):
            assert "".join(block.text(annotator).split()) == "".join(reference.split())


def test_geccc_is_read_line_by_line(tmp_path: Path) -> None:
    made = read_geccc(data_folder(tmp_path, GECCC), "dev")
    assert made.sources == ("Ahoj, svete.", "Dobrý den")
    assert made.references == (("Ahoj, světe.", "Ahoj, svete."), ("Dobrý den",))
    assert [block.annotators for block in made.m2] == [(0, 1), (0,)]
    check_that_edits_spell_the_references(made)


@pytest.mark.parametrize(("split", "size", "two"), [("dev", 8478, 4476), ("test", 7907, 7646)])
def test_the_released_sentences_of_geccc(data_dir: Path, split: Any, size: int, two: int) -> None:
    made = read_geccc(open_data(data_dir), split)
    assert len(made.sources) == size
    assert sum(len(references) == 2 for references in made.references) == two
    check_that_edits_spell_the_references(made)


def mark(start: int, old: str, new: str | None, kind: str = "Spelling") -> SimpleNamespace:
    return SimpleNamespace(
        start=start,
        end=start + len(old),
        source_text=old,
        suggestions=[] if new is None else [new],
        top_suggestion=new,
        meta={"error_type": kind},
    )


def document(
    name: str, annotator: int, text: str, lines: list[str], targets: list[str], *marks: Any
) -> SimpleNamespace:
    """Sentences are given as tokens; the text has no blank before a full stop."""
    return SimpleNamespace(
        doc_id=name,
        meta=SimpleNamespace(annotator_id=annotator),
        annotated=SimpleNamespace(get_original_text=lambda: text, get_annotations=lambda: marks),
        source_sentences=[line.replace(" .", ".") for line in lines],
        source_sentences_tokenized=lines,
        target_sentences=[line.replace(" .", ".") for line in targets],
        target_sentences_tokenized=targets,
    )


def read(monkeypatch: pytest.MonkeyPatch, *documents: SimpleNamespace) -> CorrectedSentences:
    package = SimpleNamespace(Corpus=lambda part, layer: list(documents))
    monkeypatch.setitem(sys.modules, "ua_gec", package)
    return read_ua_gec("test", "gec-only")


def test_marks_of_documents_become_edits_of_sentences(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["я йти .", "так ."]
    first = ["я ходжу .", "так ."]
    second = ["Я йшов .", "так ! ."]
    text = "я йти. так."
    his = [mark(2, "йти", "ходжу", "G/Tense"), mark(7, "так", None)]
    hers = [mark(0, "я", "Я"), mark(3, "ти", "шов"), mark(10, "", " !", "Punctuation")]
    made = read(
        monkeypatch,
        document("1", 2, text, lines, second, *hers),
        document("1", 1, text, lines, first, *his),
    )
    assert made.sources == ("я йти.", "так.")
    # Annotators in the order of their numbers.
    assert made.references == (("я ходжу.", "Я йшов."), ("так.", "так !."))
    assert [[a.line() for a in block.annotations] for block in made.m2] == [
        [
            "A 1 2|||G/Tense|||ходжу|||REQUIRED|||-NONE-|||0",
            "A 0 1|||Spelling|||Я|||REQUIRED|||-NONE-|||1",
            "A 1 2|||Spelling|||йшов|||REQUIRED|||-NONE-|||1",
        ],
        [
            "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0",
            "A 1 1|||Punctuation|||!|||REQUIRED|||-NONE-|||1",
        ],
    ]


def test_unreadable_annotations_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = ["так .", "ні ."]
    joined = ["так", "ні ."]
    made = read(
        monkeypatch,
        # The full stop between two sentences is deleted together with the next word.
        document("1", 1, "так. ні.", lines, ["так а", "ні ."], mark(3, ".", " а")),
        document("2", 1, "так. ні.", lines, joined, mark(3, ". ні", " ні")),
        document("3", 1, "так. ні.", lines, joined, mark(0, "x", "y")),
    )
    assert made.sources == ("так.", "ні.")


def test_an_absent_or_empty_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DataError, match="no sentence of part test"):
        read(monkeypatch)
    monkeypatch.setitem(sys.modules, "ua_gec", None)
    with pytest.raises(MissingExtraError, match="ukrainian"):
        read_ua_gec("test", "gec-only")


@pytest.mark.skipif(importlib.util.find_spec("ua_gec") is None, reason="ua-gec is not installed")
@pytest.mark.slow
# The package leaves its table of documents open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_released_test_part_of_ua_gec() -> None:
    made = read_ua_gec("test", "gec-only")
    assert len(made.sources) == 2536
    assert {len(references) for references in made.references} == {2}
    check_that_edits_spell_the_references(made)
