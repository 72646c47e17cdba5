"""The M2 metric: rules by hand, published figures on the real files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import InputError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import overlapping_edits
from gecjury.corpus.files.reading import read_corpus, read_gold
from gecjury.corpus.m2 import parse_m2
from gecjury.scoring.registry import load

GOLD = """S a b c d
A 1 2|||X|||B|||REQUIRED|||-NONE-|||0
A 3 4|||X|||D||e|||REQUIRED|||-NONE-|||0
A 1 2|||X|||b2|||REQUIRED|||-NONE-|||1

S p q
A 0 1|||X|||P|||REQUIRED|||-NONE-|||0

S u v

"""


def corpus(*lines: str) -> Corpus:
    gold = parse_m2(GOLD.split("\n")[:-1])
    return Corpus(tuple(block.source for block in gold), {"mine": Version(tuple(lines))}, gold=gold)


def test_by_hand() -> None:
    # Sentence 1: edits b→B and d→e; annotator 0 has both (the second as an alternative): correct 2
    # of 2 proposed, 2 gold. Annotator 1 has neither, so the shortest path counts: b c d → B c e
    # with one unchanged word inside, one proposed edit, 1 gold. Sentence 2 is unchanged; annotator
    # 0 wants one edit; annotator 1 has no line there and is not counted. Sentence 3 has one empty
    # gold set.
    table = load("m2").score_corpus(corpus("a B c e", "p q", "u v"))
    assert table.statistics.values[0, 0].tolist() == [[2, 2, 2], [0, 1, 1]]
    assert table.statistics.values[0, 1, 0].tolist() == [0, 0, 1]
    assert np.isnan(table.statistics.values[0, 1, 1]).all()
    # Corpus: correct 2, proposed 2, gold 3: F0.5 = 1.25 · 2 / (.25 · 3 + 2).
    assert table.totals["mine"] == pytest.approx(2.5 / 2.75)
    assert table.precision is not None
    assert table.recall is not None
    assert table.precision["mine"] == 1.0
    assert table.recall["mine"] == pytest.approx(2 / 3)
    # Sentences: 1; 0 of 1 found; 1 for nothing to do and nothing done.
    assert table.sentences.tolist() == [[1.0, 0.0, 1.0]]
    assert load("sentm2").score_corpus(corpus("a B c e", "p q", "u v")).totals[0] == (
        pytest.approx(2 / 3)
    )


def test_gold_edits_are_required() -> None:
    with pytest.raises(InputError, match="m2=FILE"):
        load("m2").score(["a"], {"mine": ["a"]}, [["a"]])


# SEEDA README (Kobayashi et al. 2024), whole CoNLL-2014 set of 1,312 sentences, M2 in percent.
SEEDA_M2 = {
    "BART": 50.3,
    "BERT-fuse": 62.77,
    "GPT-3.5": 53.5,
    "INPUT": 0.0,
    "REF-F": 47.48,
    "T5": 65.07,
    "TransGEC": 68.08,
}


@pytest.mark.slow
def test_published_scores_of_seeda(data_dir: Path) -> None:
    benchmark = load_benchmark("seeda", systems="all", whole=True, data=data_dir)
    table = load("m2").score_corpus(benchmark.corpus)
    for system, published in SEEDA_M2.items():
        assert round(100 * table.totals[system], 2) == published


def test_resampling_scores_the_resampled_corpus() -> None:
    table = load("m2").score_corpus(corpus("a B c d", "P q", "u w"))
    draws = np.array([[0, 0, 1], [2, 1, 0]])
    scores = load("m2").corpus_scores(table.statistics, draws).score
    # Draw 1: correct 1+1+1, proposed 3, gold 2+2+1. Draw 2: correct 2, proposed 3, gold 3.
    assert scores.ravel() == pytest.approx([1.25 * 3 / (0.25 * 5 + 3), 1.25 * 2 / (0.25 * 3 + 3)])


OVERLAPPING = """S a b c d
A 0 2|||X|||x|||REQUIRED|||-NONE-|||0
A 1 2|||X|||B|||REQUIRED|||-NONE-|||0

"""


def test_overlapping_gold_edits_count_unchanged_and_are_noted(tmp_path: Path) -> None:
    for name, text in (("source", "a b c d\n"), ("mine", "a B c d\n"), ("gold.m2", OVERLAPPING)):
        (tmp_path / name).write_text(text)
    data = read_corpus(tmp_path / "source", [tmp_path / "mine"], gold=tmp_path / "gold.m2")
    statistics = load("m2").score_corpus(data).statistics
    # The only edit made is gold; the gold set has two.
    assert statistics.values[0, 0].tolist() == [[1, 1, 2]]
    assert statistics.notes == (
        f"{tmp_path / 'gold.m2'}: edits that overlap another of the same annotator: 1; all count "
        "as they are, as in the official M2 scorer",
    )
    # A metric that does not read gold edits has no note about them.
    plain = read_corpus(tmp_path / "source", [tmp_path / "mine"], [tmp_path / "source"])
    assert load("gleu").score_corpus(plain).statistics.notes == ()


def test_six_files_of_bryant_and_ng_have_overlapping_edits(data_dir: Path) -> None:
    counts = {}
    for number in range(1, 11):
        path = data_dir / "conll14" / "10gec_annotations" / f"A{number}.m2"
        blocks = read_gold(path)
        counts[number] = sum(len(overlapping_edits(block.edits(0))) for block in blocks)
    assert {n: count for n, count in counts.items() if count} == {
        1: 2, 4: 3, 5: 1, 8: 4, 9: 25, 10: 2
    }  # fmt: skip
