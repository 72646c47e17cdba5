"""Batched counting of n-gram overlaps against counting them one by one."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import gecjury.refbased.ngrams
from gecjury.refbased.ngrams import Overlaps, count_overlaps
from tests.fakes import Texts, corpora, grams


def naive(texts: Texts, order: int, unit: str) -> Overlaps:
    """Return the same counts from Counter intersections, sentence by sentence."""
    count, systems, refs = len(texts.sources), len(texts.systems), len(texts.references)
    shapes = [(count,), (refs, count), (systems, count), (refs, count), (systems, count)]
    shapes += [(systems, count, refs)] * 3
    result = Overlaps(*(np.zeros((*shape, order), dtype=np.int32) for shape in shapes))
    assert result.sh_not_r is not None
    for i in range(count):
        for k in range(order):
            s = grams(texts.sources[i], k + 1, unit)
            result.s[i, k] = s.total()
            for y, reference in enumerate(texts.references):
                r = grams(reference[i], k + 1, unit)
                result.r[y, i, k] = r.total()
                result.sr[y, i, k] = (s & r).total()
                for x, hypotheses in enumerate(texts.systems.values()):
                    h = grams(hypotheses[i], k + 1, unit)
                    result.h[x, i, k] = h.total()
                    result.sh[x, i, k] = (s & h).total()
                    result.rh[x, i, y, k] = (r & h).total()
                    result.srh[x, i, y, k] = (s & r & h).total()
                    result.sh_not_r[x, i, y, k] = sum(
                        times for gram, times in (s & h).items() if gram not in r
                    )
    return result


def counted(texts: Texts, order: int, unit: str) -> Overlaps:
    systems = list(texts.systems.values())
    return count_overlaps(texts.sources, systems, texts.references, order, unit, absent=True)


def assert_equal(one: Overlaps, two: Overlaps) -> None:
    for name in Overlaps.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name), err_msg=name)


@given(corpora(), st.integers(1, 6), st.sampled_from(["word", "char", "line"]))
def test_equals_counting_one_by_one(texts: Texts, order: int, unit: str) -> None:
    one_by_one = naive(texts, order, unit)
    assert_equal(counted(texts, order, unit), one_by_one)
    systems = list(texts.systems.values())
    without = count_overlaps(texts.sources, systems, texts.references, order, unit)
    assert_equal(without, replace(one_by_one, sh_not_r=None))


def test_a_known_sentence() -> None:
    texts = Texts(["a a b"], {"x": ["a b b"]}, [["a b"]])
    o = counted(texts, 2, "word")
    # unigrams: s = {a2, b1}, r = {a1, b1}, h = {a1, b2}; bigrams: s = {aa, ab}, r = {ab},
    # h = {ab, bb}
    assert o.s.tolist() == [[3, 2]]
    assert o.r.tolist() == [[[2, 1]]]
    assert o.h.tolist() == [[[3, 2]]]
    assert o.sr.tolist() == [[[2, 1]]]
    assert o.sh.tolist() == [[[2, 1]]]
    assert o.rh.tolist() == [[[[2, 1]]]]
    assert o.srh.tolist() == [[[[2, 1]]]]


@pytest.mark.parametrize("chunk", [1, 5, 40, 1000])
def test_the_size_of_chunks_changes_nothing(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(0)

    def lines() -> list[str]:
        return [" ".join(rng.choices("abcde", k=rng.randint(0, 9))) for _ in range(30)]

    texts = Texts(lines(), {"x": lines(), "y": lines()}, [lines(), lines()])
    whole = counted(texts, 4, "word")
    monkeypatch.setattr(gecjury.refbased.ngrams, "_CHUNK_TOKENS", chunk)
    assert_equal(counted(texts, 4, "word"), whole)


def test_many_possible_codes_are_sorted(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    texts = [[" ".join(rng.choices("abcdef", k=9)) for _ in range(40)] for _ in range(3)]
    in_table = count_overlaps(texts[0], [texts[1]], [texts[2]], 4)
    monkeypatch.setattr(gecjury.refbased.ngrams, "_CELLS", 0)
    in_order = count_overlaps(texts[0], [texts[1]], [texts[2]], 4)
    assert_equal(in_table, in_order)


def test_texts_shorter_than_the_order_share_only_lower_orders() -> None:
    # The one-token hypothesis has no bigram; its token does not form one with the next text.
    result = count_overlaps(["a b", "b"], [["a", "b c"]], [["b", "b c"]], 2)
    assert result.s.tolist() == [[2, 1], [1, 0]]
    assert result.h.tolist() == [[[1, 0], [2, 1]]]
    assert result.sh.tolist() == [[[1, 0], [1, 0]]]
    assert result.sr.tolist() == [[[1, 0], [1, 0]]]
    assert result.rh.tolist() == [[[[0, 0]], [[2, 1]]]]
    assert result.srh.tolist() == [[[[0, 0]], [[1, 0]]]]


def test_only_empty_texts_have_no_ngrams() -> None:
    o = counted(Texts(["", " "], {"x": ["", "\u00a0"]}, [["", "\t"]]), 3, "word")
    assert not any(getattr(o, name).any() for name in Overlaps.__dataclass_fields__)


def test_characters_keep_inner_white_space_only() -> None:
    o = counted(Texts([" a b "], {"x": ["a b"]}, [["a\u00a0b\n"]]), 1, "char")
    assert o.s.tolist() == [[3]]
    assert o.sh.tolist() == [[[3]]]
    assert o.sr.tolist() == [[[2]]]  # a blank is not a no-break space


def test_odd_words_and_blanks() -> None:
    words = ["a", "a\0", "\0", "aaaaaaaa", "aaaaaaaa\0", "a" * 16, "a" * 16 + "b", "a" * 30 + "b"]
    words += [
        "a" * 30 + "c",
        "é",
        "ÿ" * 4,
        "ÿ" * 8,
        "日本語のテキスト",
        "\ud800",
        "\x7f",
        "\x01\x02",
    ]
    blanks = [" ", "  ", "\t", "\n", "\r", "\x0b", "\x1c", "\x1f"]
    blanks += ["\x85", "\xa0", "\u2028", "\u3000"]
    rng = random.Random(0)

    def text() -> str:
        return "".join(rng.choice(words) + rng.choice(blanks) for _ in range(rng.randrange(9)))

    texts = Texts(*([text() for _ in range(60)], {"x": [text() for _ in range(60)]},
                    [[text() for _ in range(60)]]))  # fmt: skip
    assert_equal(counted(texts, 3, "word"), naive(texts, 3, "word"))
