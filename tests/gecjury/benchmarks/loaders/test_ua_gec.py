"""The reader of UA-GEC: a fake of the package, and the package itself if it is installed."""

from __future__ import annotations

import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from gecjury.benchmarks.loaders.ua_gec import read_ua_gec
from gecjury.core.errors import DataError, MissingExtraError, OptionError


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


def package(*documents: SimpleNamespace) -> Any:
    return SimpleNamespace(Corpus=lambda part, layer: list(documents))


def test_marks_of_documents_become_edits_of_sentences() -> None:
    lines = ["я йти .", "так ."]
    first = ["я ходжу .", "так ."]
    second = ["Я йшов .", "так ! ."]
    text = "я йти. так."
    his = [mark(2, "йти", "ходжу", "G/Tense"), mark(7, "так", None)]
    hers = [mark(0, "я", "Я"), mark(3, "ти", "шов"), mark(10, "", " !", "Punctuation")]
    made = read_ua_gec(
        package=package(
            document("1", 2, text, lines, second, *hers),
            document("1", 1, text, lines, first, *his),
        )
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
    assert made.documents == ("1", "1")
    assert made.left_out == {}


def test_unreadable_annotations_are_counted() -> None:
    lines = ["так .", "ні ."]
    joined = ["так", "ні ."]
    made = read_ua_gec(
        package=package(
            # The full stop between two sentences is deleted together with the next word.
            document("1", 1, "так. ні.", lines, ["так а", "ні ."], mark(3, ".", " а")),
            document("2", 1, "так. ні.", lines, joined, mark(3, ". ні", " ні")),
            document("3", 1, "так. ні.", lines, joined, mark(0, "x", "y")),
        )
    )
    assert made.left_out == {
        "sentences that a correction joins or parts": 2,
        "documents whose marks do not give the correction": 1,
    }
    assert made.sources == ("так.", "ні.")


def test_a_package_without_documents_is_refused() -> None:
    with pytest.raises(DataError, match="no document"):
        read_ua_gec(package=package())
    wrong: Any = "all"
    with pytest.raises(OptionError, match="test"):
        read_ua_gec(wrong, package=package())


def test_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ua_gec", None)
    with pytest.raises(MissingExtraError, match="ukrainian"):
        read_ua_gec()


@pytest.mark.skipif(importlib.util.find_spec("ua_gec") is None, reason="ua-gec is not installed")
@pytest.mark.slow
# The package leaves its table of documents open.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_released_test_part() -> None:
    made = read_ua_gec("test", "gec-only")
    assert len(made) == 2536
    assert {len(references) for references in made.references} == {2}
    assert len(set(made.documents)) == 165
    # The tokens with the edits applied spell the text of each annotator.
    for references, block in zip(made.references, made.m2, strict=True):
        for annotator, reference in enumerate(references):
            assert "".join(block.text(annotator).split()) == "".join(reference.split())
