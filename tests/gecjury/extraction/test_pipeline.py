"""ERRANT's list of words, which is searched in its file before it is read into a set."""

from __future__ import annotations

import pytest

errant_rules = pytest.importorskip("errant.en.classifier")

from gecjury.extraction import pipeline  # noqa: E402


def test_words_are_those_of_errant_before_and_after_the_list_is_read() -> None:
    words = pipeline.Classifier()._classify.__globals__["spell"]
    assert isinstance(words, pipeline._WordList)
    listed = sorted(errant_rules.spell)
    tried = [*listed[:: len(listed) // 40], "Cat", "catt", "étuis", "aaa", "Œuvre", "日本", ""]
    expected = [word in errant_rules.spell for word in tried]
    fresh = pipeline._WordList(errant_rules.base_dir / "resources" / pipeline._WORD_LIST)
    assert len(tried) < pipeline._SEARCHED
    assert [word in fresh for word in tried] == expected
    assert "_words" not in vars(fresh)
    assert all(word in fresh for word in listed[:: len(listed) // 100])
    assert [word in fresh for word in tried] == expected
    assert fresh._words == errant_rules.spell
