"""The embedded tagger: its output on hand-checked sentences, its size and its agreement."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from gecjury.core.errors import MissingExtraError, OptionError
from gecjury.corpus.m2 import read_m2

pytest.importorskip("spacy")

from spacy.tokens import Doc

from gecjury.extraction import tagger
from gecjury.extraction.tagger import load_tagger, tagger_signature

_FOLDER = Path(tagger.__file__).parent
_TOOLS = Path(__file__).resolve().parents[3] / "tools"


@pytest.fixture(scope="module")
def nlp() -> Any:
    return load_tagger()


def _tool(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"_tool_{name}", _TOOLS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def _documents(nlp: Any, sentences: list[str]) -> list[Doc]:
    return [Doc(nlp.vocab, words=sentence.split()) for sentence in sentences]


def _column(nlp: Any, sentence: str, attribute: str) -> list[str]:
    doc = nlp(*_documents(nlp, [sentence]))
    return [getattr(token, attribute) for token in doc]


def test_the_shipped_patterns_are_those_of_the_tool(nlp: Any) -> None:
    words = json.loads((_FOLDER / "model" / "words.json").read_text("utf-8"))
    shipped = [pattern["patterns"] for pattern in nlp.get_pipe("attribute_ruler").patterns]
    made = _tool("tagger_schemes").attribute_patterns(words)
    assert shipped == [pattern["patterns"] for pattern in made]


def test_a_word_with_one_class_overrules_the_tagger(nlp: Any) -> None:
    # In WordNet "undergo" is only a verb; the treebank is too small to contain the word. Only
    # proper nouns and foreign words are kept, whatever the word list says.
    words = json.loads((_FOLDER / "model" / "words.json").read_text("utf-8"))
    assert "undergo" in words["VB"]
    for sentence in ("If the mother undergo it .", "They undergo tests .", "The undergo of it ."):
        tags = dict(zip(sentence.split(), _column(nlp, sentence, "tag_"), strict=True))
        assert tags["undergo"] in {"VB", "VBP"}


@pytest.mark.security
def test_no_pickle_in_the_model() -> None:
    for path in (_FOLDER / "model").rglob("*"):
        if path.is_file():
            assert not path.read_bytes().startswith(b"\x80\x04"), path


def test_attribution_is_shipped_with_the_model() -> None:
    text = (_FOLDER / "README.md").read_text(encoding="utf-8")
    for name in ("English Web Treebank", "CC BY-SA 4.0", "WordNet", "spacy-lookups-data"):
        assert name in text


def test_signature_names_tagger_and_version() -> None:
    version = json.loads((_FOLDER / "model" / "meta.json").read_text("utf-8"))["version"]
    assert tagger_signature() == f"embedded-{version}/spacy2"
    with pytest.raises(OptionError, match="embedded"):
        tagger_signature("en_no_such_model")


def test_errors_for_unknown_models_say_what_to_do() -> None:
    with pytest.raises(OptionError, match=r"spacy download en_no_such_model.*'embedded'"):
        load_tagger("en_no_such_model")


def test_untested_spacy_and_missing_spacy(monkeypatch: pytest.MonkeyPatch) -> None:
    import spacy

    monkeypatch.setattr(spacy, "__version__", "4.0.1")
    with pytest.raises(OptionError, match=r"spaCy 4\.0\.1 is outside the tested range"):
        load_tagger()
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(MissingExtraError, match=r"\[edits\]"):
        load_tagger()


@pytest.mark.slow
def test_agreement_with_official_errant_on_a_slice(nlp: Any, data_dir: Path) -> None:
    """Official ERRANT edits of AMU, first 150 sentences: spans F1 at least .99, types .94."""
    pytest.importorskip("errant")
    tool = _tool("evaluate_tagger")
    blocks = read_m2(data_dir / "conll14-errant" / "conll14-AMU.errant")[:150]
    official = tool.official_edits(blocks, 0)
    figures = tool.agreement(official, tool.extract(tool.Extractor(nlp), blocks, official))
    assert figures["edits"] > 90
    assert figures["f1"] >= 0.99
    assert figures["types"] >= 0.94


def test_conversion_to_clearnlp(tmp_path: Path) -> None:
    """'He is in the house' and 'it was eaten': copula and preposition become heads."""
    rows = [
        ("He", "he", "PRON", "PRP", 5, "nsubj"),
        ("is", "be", "AUX", "VBZ", 5, "cop"),
        ("in", "in", "ADP", "IN", 5, "case"),
        ("the", "the", "DET", "DT", 5, "det"),
        ("house", "house", "NOUN", "NN", 0, "root"),
    ]
    lines = [
        f"{i}\t{w}\t{lemma}\t{u}\t{t}\t_\t{h}\t{d}\t_\t_"
        for i, (w, lemma, u, t, h, d) in enumerate(rows, 1)
    ]
    file = tmp_path / "one.conllu"
    file.write_text("# text = x\n" + "\n".join(lines) + "\n\n", encoding="utf-8")
    tool = _tool("clearnlp")
    (tree,) = (tool.convert(tree) for tree in tool.read_conllu(file))
    assert tree.labels == ["nsubj", "ROOT", "prep", "det", "pobj"]
    assert tree.heads == [1, 1, 1, 4, 2]
