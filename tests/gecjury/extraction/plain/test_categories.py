from __future__ import annotations

import pytest

from gecjury.extraction.plain.analyser import PlainReader
from gecjury.extraction.plain.categories import PlainTyper, form_type, is_near


@pytest.mark.parametrize(
    ("old", "new", "kind"),
    [
        ("", ".", "M:PUNCT"),
        (", «", "", "U:PUNCT"),
        ("!", "?", "R:PUNCT"),
        (", vi", ". Vi", "R:PUNCT"),
        ("a !", "a“", "R:PUNCT"),
        ("alot", "a lot", "R:SPACE"),
        ("sub - way", "subway", "R:SPACE"),
        ("alot", "A lot", "R:ORTH"),
        ("İ", "i̇", "R:ORTH"),
        ("Strasse", "Straße", "R:ORTH"),
        ("a b c", "C a b", "R:WO"),
        ("jidla", "jídla", "R:SPELL"),
        ("já", "ja", "R:SPELL"),
        ("recieve", "receive", "R:SPELL"),
        ("in spite", "despite", "R:SPELL"),
        ("its", "it's", "R:SPELL"),
        ("は", "が", "R:OTHER"),
        ("か", "が", "R:OTHER"),
        ("on", "at", "R:OTHER"),
        ("go to the", "goes", "R:OTHER"),
        (".", "dot", "R:OTHER"),
        ("a", "a", "UNK"),
        ("", "", "UNK"),
    ],
)
def test_types_by_hand(old: str, new: str, kind: str) -> None:
    parsed = PlainReader().parse(dict.fromkeys([old, new]))
    left, right = parsed[old], parsed[new]
    assert PlainTyper().types([(0, len(left), 0, len(right))], left, right) == [kind]


def test_order_of_sides_only_changes_the_operation() -> None:
    pairs = [("alot", "a lot"), ("a b", "b a"), ("jidla", "jídla"), ("x", "Y")]
    for one, other in pairs:
        old, new = one.split(), other.split()
        assert form_type(old, new) == form_type(new, old)
        assert is_near(old, new) == is_near(new, old)


def test_long_or_different_word_groups_are_not_near() -> None:
    assert is_near(["inspiteof"], ["in", "spite", "or"])
    assert not is_near(["a", "lot"], ["a", "lott"])
    assert not is_near(["abcd"], ["a", "b", "c", "e"])
