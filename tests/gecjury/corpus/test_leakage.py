"""Leakage: which sentences count as the same, and that the real sets share none."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.corpus.leakage import corpus_texts, find_leaks, normalise, sentence_key, warning
from gecjury.refless.data.annotations import read_annotations


@pytest.mark.parametrize(
    "other",
    [
        "He said , `` I do n't know '' .",
        "he said, “I don’t know”.",
        'HE SAID ,  " I don \'t know " .',
    ],
)
def test_tokenisation_quotes_and_case_do_not_hide_a_sentence(other: str) -> None:
    assert normalise(other) == normalise('He said, "I don\'t know".')
    assert sentence_key(other) == sentence_key('He said, "I don\'t know".')


def test_other_words_are_other_sentences() -> None:
    assert normalise("He said .") != normalise("She said .")
    assert normalise("don´t") == normalise("don‛t") == "don't"
    assert normalise("well‑known") == normalise("well‐known") == "well-known"
    assert normalise("re sign") == normalise("resign")  # spacing alone makes no difference


def test_leaks_name_both_places() -> None:
    tested = {"source": ["A b .", "C ."], "reference 0": ["", "D e !"]}
    leaks = find_leaks(["x", "", "d e!", "a  B."], tested)
    assert [(leak.row, leak.where, leak.line) for leak in leaks] == [
        (2, "reference 0", 1), (3, "source", 0),
    ]  # fmt: skip
    text = warning(leaks, "mine.csv", "seeda")
    assert "2 sentences of mine.csv are in seeda, e.g. row 3 = reference 0 line 2" in text
    assert warning([], "mine.csv", "seeda") == ""


def test_tmu_gfm_shares_no_sentence_with_seeda(data_dir: Path) -> None:
    data = read_annotations(data_dir / "TMU-GFM-Dataset" / "tmu-gfm-dataset.csv")
    seeda = load_benchmark("seeda", systems="all", data=data_dir, whole=True).corpus
    texts = corpus_texts(seeda, systems=True)
    assert len(texts["source"]) == 1312
    assert find_leaks([*data.sources, *data.outputs], texts) == []
    # The check does find sentences that are shared.
    assert len(find_leaks(seeda.sources, texts)) == sum(bool(s.strip()) for s in seeda.sources)
