"""Groups of hypotheses judged side by side if the data defines no groups."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.groups import distinct_groups


def corpus_of(lines: list[list[str]]) -> Corpus:
    """Build a corpus from a table of sentences × systems."""
    systems = {
        f"s{index:02}": Version(tuple(column))
        for index, column in enumerate(zip(*lines, strict=True))
    }
    return Corpus(tuple("source" for _ in lines), systems)


def test_a_few_hypotheses_are_in_one_group_in_order() -> None:
    groups = distinct_groups(corpus_of([["a", "b", "a"], ["c", "c", "c"]]), 5, 0)
    assert [group.sentence for group in groups] == [0, 1]
    assert groups[0].systems == (("s00", "s02"), ("s01",))
    assert groups[1].systems == (("s00", "s01", "s02"),)
    assert len({group.id for group in groups}) == 2


@given(
    st.integers(1, 14).flatmap(
        lambda systems: st.lists(
            st.lists(st.sampled_from("abcdefghijkl"), min_size=systems, max_size=systems),
            min_size=1,
            max_size=3,
        )
    ),
    st.integers(2, 6),
    st.integers(0, 3),
)
def test_every_text_is_in_a_group(lines: list[list[str]], size: int, seed: int) -> None:
    corpus = corpus_of(lines)
    groups = distinct_groups(corpus, size, seed)
    assert len({group.id for group in groups}) == len(groups)
    for row, texts in enumerate(lines):
        here = [group for group in groups if group.sentence == row]
        distinct = len(set(texts))
        assert all(len(group.systems) <= size for group in here)
        # a group never shows the same text twice, and systems with the same text share a place
        for group in here:
            shown = [{corpus.systems[name].lines[row] for name in place} for place in group.systems]
            assert all(len(place) == 1 for place in shown)
            assert len(set().union(*shown)) == len(group.systems)
        assert {name for g in here for place in g.systems for name in place} == set(corpus.names)
        if distinct <= size:
            assert len(here) == 1
        else:
            # full groups, each sharing a text with the next
            assert all(len(group.systems) == size for group in here)
            for one, two in itertools.pairwise(here):
                assert set(one.systems) & set(two.systems)


def test_a_sentences_groups_depend_on_the_seed_but_not_on_other_sentences() -> None:
    many = [[chr(97 + i) for i in range(9)]] * 3
    groups = distinct_groups(corpus_of(many), 5, 0)
    assert groups == distinct_groups(corpus_of(many), 5, 0)
    assert groups != distinct_groups(corpus_of(many), 5, 1)
    alone = distinct_groups(corpus_of(many[:1]), 5, 0)
    assert groups[: len(alone)] == alone
    orders = {tuple(g.systems for g in groups if g.sentence == row) for row in range(3)}
    assert len(orders) == 3


@pytest.mark.parametrize("size", [2, 5])
def test_a_drawn_order_does_not_depend_on_system_order_or_row(size: int) -> None:
    texts = [chr(97 + i) for i in range(7)]
    corpus = corpus_of([texts, texts, ["x", "y", *texts[2:]]])
    drawn = distinct_groups(corpus, size, 0, drawn=True)
    shown = [[corpus.group_texts(g) for g in drawn if g.sentence == row] for row in range(3)]
    assert shown[0] == shown[1] != shown[2]
    backwards = corpus.with_systems(corpus.names[::-1])
    again = distinct_groups(backwards, size, 0, drawn=True)
    assert [backwards.group_texts(g) for g in again] == [corpus.group_texts(g) for g in drawn]
    assert {text for group in shown[0] for text in group} == set(texts)
    assert distinct_groups(corpus, size, 1, drawn=True) != drawn
