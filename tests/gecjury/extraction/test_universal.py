"""Any spaCy pipeline as a tagger, tested with tiny Swedish pipelines built here."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("errant")
spacy = pytest.importorskip("spacy")

from gecjury.core.errors import InputError, OptionError  # noqa: E402
from gecjury.core.runtime import Runtime  # noqa: E402
from gecjury.corpus.edits import apply_edits  # noqa: E402
from gecjury.extraction.extract import cache_parts, extract  # noqa: E402
from gecjury.extraction.taggers import extraction_signature  # noqa: E402
from gecjury.extraction.universal import universal_extractor  # noqa: E402

FRESH = Runtime(use_cache=False)
WORDS = {
    "hund": ("NOUN", "hund"),
    "hunden": ("NOUN", "hund"),
    "katt": ("NOUN", "katt"),
    "hus": ("NOUN", "hus"),
    "huss": ("NOUN", "huss"),
    "springa": ("VERB", "springa"),
    "springer": ("VERB", "springa"),
    "sprungit": ("VERB", "springa"),
    "äter": ("VERB", "äta"),
    "har": ("AUX", "ha"),
    "snabb": ("ADJ", "snabb"),
    "snabbt": ("ADV", "snabb"),
    "en": ("DET", "en"),
    "och": ("CCONJ", "och"),
    "på": ("ADP", "på"),
    ".": ("PUNCT", "."),
}


def pipeline(attributes: tuple[str, ...] = ("POS", "LEMMA")) -> Any:
    nlp = spacy.blank("sv")
    ruler = nlp.add_pipe("attribute_ruler")
    if "POS" in attributes:
        ruler.add([[{}]], {"POS": "X"})
    for word, values in WORDS.items():
        both = dict(zip(("POS", "LEMMA"), values, strict=True))
        ruler.add([[{"LOWER": word}]], {name: both[name] for name in attributes})
    return nlp


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("pipelines") / "sv_tiny"
    pipeline().to_disk(path)
    return path


@pytest.mark.parametrize(
    ("source", "corrected", "types"),
    [
        ("hund äter", "katt äter", ["R:NOUN"]),
        ("hund äter", "hunden äter", ["R:NOUN:FORM"]),
        ("hus", "huss", ["R:SPELL"]),
        ("snabb", "snabbt", ["R:MORPH"]),
        ("springer", "har sprungit", ["R:VERB:FORM"]),
        ("hund springer", "hund äter", ["R:VERB"]),
        ("hund äter", "en hund äter", ["M:DET"]),
        ("hund och äter", "hund äter", ["U:CCONJ"]),
        ("hund på", "hund på katt .", ["M:OTHER"]),
        ("Hund äter", "hund äter .", ["R:ORTH", "M:PUNCT"]),
        ("hund äter", "äter hund", ["R:WO"]),
        ("hu nd", "hund", ["R:SPACE"]),
        ("på", "hus", ["R:OTHER"]),
        ("okänt ord", "okänd ord", ["R:SPELL"]),
    ],
)
def test_types_by_part_of_speech_and_lemma(
    folder: Path, source: str, corrected: str, types: list[str]
) -> None:
    (found,) = extract([source], [[corrected]], f"spacy:{folder}", runtime=FRESH).edits
    assert [edit.type for edit in found[0]] == types
    assert apply_edits(source.split(), found[0]) == corrected.split()


def test_the_signature_names_pipeline_and_versions(folder: Path) -> None:
    made = extraction_signature(f"spacy:{folder}")
    version = spacy.__version__
    assert made == {
        "tagger": "spacy:sv_pipeline-0.0.0",
        "spacy": version,
        "rules": "universal 1",
    }
    assert cache_parts(f"spacy:{folder}")["files"].startswith(str(folder.resolve()))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("spacy:", "does not name a pipeline; expected spacy:NAME"),
        ("spacy:xx\0", "does not name a pipeline"),
        ("spacy:sv_none_such", "'sv_none_such' is not installed"),
        ("spacy:../x y", "is not installed"),
        ("spacy:json", "'json' is not installed"),
        ("spacy:blank:sv", "a blank pipeline, which sets neither"),
    ],
)
def test_names_that_are_not_pipelines_are_refused(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        extraction_signature(name)


def test_a_blank_pipeline_is_refused_with_the_reason(tmp_path: Path) -> None:
    spacy.blank("sv").to_disk(tmp_path / "blank")
    with pytest.raises(
        OptionError, match="is a blank pipeline, which sets neither parts of speech"
    ):
        extraction_signature(f"spacy:{tmp_path / 'blank'}")


@pytest.mark.parametrize(
    ("attributes", "missing"), [(("LEMMA",), "parts of speech"), (("POS",), "lemmas")]
)
def test_missing_token_attributes_are_reported(
    tmp_path: Path, attributes: tuple[str, ...], missing: str
) -> None:
    pipeline(attributes).to_disk(tmp_path / "half")
    message = rf"sets no {missing} \(its components: attribute_ruler\); edits need token.pos and"
    with pytest.raises(OptionError, match=message):
        extract(["a"], [["b"]], f"spacy:{tmp_path / 'half'}", runtime=FRESH)


def test_a_broken_folder_is_reported(tmp_path: Path) -> None:
    (tmp_path / "meta.json").write_text("[]")
    with pytest.raises(InputError, match=r"meta.json: is not the meta.json of a spaCy pipeline"):
        extraction_signature(f"spacy:{tmp_path}")
    meta = {"lang": "sv", "name": "x", "version": "1", "pipeline": ["tagger"]}
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(OptionError, match="cannot be loaded"):
        extract(["a"], [["b"]], f"spacy:{tmp_path}", runtime=FRESH)


def with_component(component: Callable[[Any], Any], name: str) -> Any:
    nlp = pipeline()
    spacy.Language.component(name, func=component)
    nlp.add_pipe(name)
    return nlp


def test_components_that_need_their_own_tokens_are_refused() -> None:
    def fails(doc: Any) -> Any:
        return doc.user_data["of our own tokeniser"]

    with pytest.raises(
        OptionError, match=r"cannot read sentences that are already tokenised.*own tokeniser"
    ):
        universal_extractor(with_component(fails, "fails"), "x")

    def joins(doc: Any) -> Any:
        with doc.retokenize() as retokenizer:
            retokenizer.merge(doc[0:2])
        return doc

    with pytest.raises(OptionError, match="changes tokens, but edits need the given ones"):
        universal_extractor(with_component(joins, "joins"), "x")


def test_lemmas_of_the_tokeniser_are_used_if_components_set_none() -> None:
    """Japanese pipelines work like this: their lemmas come from the tokeniser's dictionary."""
    nlp = pipeline(("POS",))
    usual = nlp.tokenizer

    def tokenizer(text: str) -> Any:
        doc = usual(text)
        for token in doc:
            token.lemma_ = f"<{token.text}>"
        return doc

    nlp.tokenizer = tokenizer
    parse = universal_extractor(nlp, "x").parse
    parsed = parse(["Hund äter (Katt)"])["Hund äter (Katt)"]
    assert parsed.lemmas == ["<Hund>", "<äter>", "(katt)"]
