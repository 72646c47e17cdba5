from __future__ import annotations

from importlib import metadata
from pathlib import Path

import pytest

pytest.importorskip("rapidfuzz")

from gecjury.cli import main
from gecjury.core.errors import MissingExtraError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.files.gold import has_type_of, have_types
from gecjury.corpus.m2 import read_m2
from gecjury.extraction.retyping import (
    GoldTypes,
    is_retyped,
    reextracted_blocks,
    retyped_blocks,
    typed_corpus_edits,
)
from gecjury.extraction.taggers import extraction_signature, scheme_of

FRESH = Runtime(use_cache=False)


def test_names_select_schemes() -> None:
    assert scheme_of("none") == "plain"
    assert scheme_of("spacy:sv_x") == "universal"
    assert {scheme_of(name) for name in ("embedded", "en_core_web_sm", "./none")} == {"errant"}


def test_edits_without_a_tagger_depend_only_on_their_version() -> None:
    assert extraction_signature("none") == {"tagger": "none 1"}


@pytest.mark.usefixtures("uncached_versions")
def test_missing_rapidfuzz_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", missing)
    with pytest.raises(MissingExtraError, match="rapidfuzz, which is not installed: "):
        extraction_signature("none")


def test_types_belong_to_schemes() -> None:
    assert has_type_of("plain", "R:SPACE")
    assert not has_type_of("plain", "R:NOUN")
    assert has_type_of("universal", "R:NOUN:FORM")
    assert not has_type_of("universal", "R:VERB:TENSE")
    assert not has_type_of("errant", "R:SPACE")
    for scheme in ("errant", "plain", "universal"):
        assert has_type_of(scheme, "UNK")  # type: ignore[arg-type]  # a Scheme
        assert not has_type_of(scheme, "")  # type: ignore[arg-type]


SOURCE = ("Rika ze prijde", "to je on")
GOLD = (
    (Edit(0, 1, "Říká", "R:DIACR"), Edit(2, 3, "přijde", "R:OTHER")),
    (Edit(2, 2, "ten", "M:DET"),),
)
TEXT = Version(("Říká ze přijde", "to je ten on"))


def corpus(system: Version = TEXT) -> Corpus:
    return Corpus(SOURCE, {"a": system}, (Version(TEXT.lines, GOLD),))


def types(found: object) -> list[list[str]]:
    return [[edit.type for edit in line] for line in found]  # type: ignore[attr-defined]


def test_gold_edits_of_another_scheme_are_all_retyped() -> None:
    """`R:OTHER` of another scheme is not ours: a single foreign type causes all to be retyped."""
    found = typed_corpus_edits(corpus(), "auto", "none", FRESH)
    assert types(found.references[0]) == [["R:SPELL", "R:SPELL"], ["M:OTHER"]]
    assert types(found.systems["a"]) == types(found.references[0])
    assert any("retyped by tagger=none" in note for note in found.notes)
    kept = typed_corpus_edits(corpus(), "gold", "none", FRESH)
    assert types(kept.references[0]) == [["R:DIACR", "R:OTHER"], ["M:DET"]]
    assert any("another scheme than those of tagger=none" in note for note in kept.notes)


@pytest.mark.parametrize(
    ("gold", "expected"),
    [("auto", True), ("gold", False), ("errant", True)],
)
def test_whether_gold_is_retyped_depends_on_the_tagger(gold: GoldTypes, expected: bool) -> None:
    assert is_retyped(corpus(), gold, "none") is expected
    own = Version(TEXT.lines, ((Edit(0, 1, "Říká", "R:SPELL"),), ()))
    same = Corpus(SOURCE, {"a": TEXT}, (own,))
    assert is_retyped(same, gold, "none") is (gold == "errant")


def test_a_subset_of_the_systems_is_read_like_all_of_them() -> None:
    foreign = Version(TEXT.lines, GOLD)
    both = Corpus(SOURCE, {"a": foreign, "b": TEXT}, (foreign,))
    assert have_types(both.hypotheses, "plain")
    assert have_types(both.with_systems(["a"]).hypotheses, "plain")
    assert not have_types([foreign], "plain")


M2 = """S Rika ze prijde
A 0 1|||R:DIACR|||Říká|||REQUIRED|||-NONE-|||0
A 1 3|||R:X|||ze přijde|||REQUIRED|||-NONE-|||0

S to je on
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

"""


def test_m2_is_retyped_and_re_extracted(tmp_path: Path) -> None:
    path = tmp_path / "gold.m2"
    path.write_text(M2, encoding="utf-8")
    for make in (retyped_blocks, reextracted_blocks):
        blocks = make(read_m2(path), "none", runtime=FRESH)
        assert [(e.start, e.end, e.type) for e in blocks[0].edits(0)] == [
            (0, 1, "R:SPELL"),
            (2, 3, "R:SPELL"),
        ]


def test_commands_accept_tagger_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, mine, gold = tmp_path / "s.txt", tmp_path / "h.txt", tmp_path / "gold.m2"
    source.write_text("Rika ze prijde\nto je on\n", encoding="utf-8")
    mine.write_text("Říká ze prijde\nto je ten on\n", encoding="utf-8")
    gold.write_text(M2, encoding="utf-8")
    assert main(["edits", str(source), str(mine), "--tagger", "none", "--no-cache"]) == 0
    assert "A 0 1|||R:SPELL|||Říká|||" in capsys.readouterr().out
    assert main(["m2", "retype", str(gold), "--tagger", "none", "--no-cache"]) == 0
    assert "A 2 3|||R:SPELL|||přijde|||" in capsys.readouterr().out
    assert main(["edits", str(source), str(mine), "--tagger", "spacy:none_such"]) == 2
    assert "spaCy pipeline 'none_such' is not installed" in capsys.readouterr().err
    other = tmp_path / "other.txt"
    other.write_text("Rika že prijde\nto je on\n", encoding="utf-8")
    for name in ("errant", "sent-errant", "cleme", "cleme2", "gotoscorer"):
        args = ["score", str(source), str(mine), str(other), "-r", str(gold), "--no-cache"]
        assert main([*args, "-m", f"{name}:tagger=none", "--format", "json"]) == 0
        assert "none 1" in capsys.readouterr().out
