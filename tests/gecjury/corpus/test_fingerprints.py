"""Fingerprints of texts, which signatures contain."""

from __future__ import annotations

import hashlib
import json

import pytest

from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.edits import Edit


# Characters that JSON writes unchanged and quotation marks, then other characters it escapes.
@pytest.mark.parametrize("escaped", [(), ("\\",), ("\n",), ("tab\t", 'say "c:\\u"')])
def test_prints_of_systems_hash_one_json_text(escaped: tuple[str, ...]) -> None:
    plain = ("a b", '"', 'say ","', "", "del\x7f", "é 中 😀", "\ud800", "\u2028")
    lines = (*(plain * 263)[: 2100 - len(escaped)], *escaped)  # more than one write takes
    text = json.dumps([lines, None], ensure_ascii=False).encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(b"%d:%b" % (len(text), text)).hexdigest()[:16]
    half = Corpus(("a",) * 2100, {"x": Version(lines)})
    assert half.system_prints == {"x": digest}


def test_fingerprints_follow_the_content() -> None:
    def corpus(**changes: object) -> Corpus:
        parts: dict[str, object] = {
            "sources": ("a", "b"),
            "systems": {"x": Version(("a", "c"))},
            "references": (Version(("d", "e")),),
        }
        return Corpus(**{**parts, **changes})  # type: ignore[arg-type]

    plain = corpus()
    assert plain.source_print == corpus().source_print
    # parts are delimited, not concatenated
    assert plain.source_print != corpus(sources=("ab", "")).source_print
    edited = corpus(references=(Version(("d", "e"), ((Edit(0, 1, "d"),), ())),))
    assert edited.reference_print != plain.reference_print
    assert (
        corpus(systems={"y": Version(("a", "c"))}).system_prints["y"] == (plain.system_prints["x"])
    )
    assert corpus(systems={"x": Version(("a", "d"))}).system_prints != plain.system_prints
    grouped = corpus(groups=(Group("0", 0, (("x",),)),))
    assert grouped.context_print != plain.context_print
    assert json.dumps(plain.system_prints)  # plain strings
