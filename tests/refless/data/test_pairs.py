"""Training pairs from parallel text, with a made-up encoder, and corrupted sentences."""

from __future__ import annotations

import importlib.util
import itertools
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.benchmarks.data_folder import DataFolder, open_data
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import DataError, InputError, MissingExtraError, OptionError
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.languages.language import language_of
from gecjury.refless.data.annotations import Annotations, Scale
from gecjury.refless.data.pairs import (
    PARALLEL_LANGUAGES,
    CorrectedPair,
    _best_rated,
    detection_labels,
    edit_impacts,
    ranked_pairs,
    read_parallel,
    token_edits,
)

WORDS = st.lists(st.sampled_from(["a", "b", "c", "d", "e"]), max_size=8)


def no_folder() -> DataFolder:
    raise AssertionError("no named set is asked for")


@given(WORDS, WORDS)
def test_edits_turn_one_sentence_into_the_other(source: list[str], target: list[str]) -> None:
    edits = token_edits(source, target)
    assert apply_edits(source, edits) == target
    assert all(a.end < b.start for a, b in itertools.pairwise(edits))


def counts(texts: Sequence[str]) -> FloatArray:
    """A made-up encoder: the counts of x and y, and a constant."""
    return np.array([[t.count("x"), t.count("y"), 1.0] for t in texts])


CORRECTION = CorrectedPair("a b", (Edit(0, 1, "x"), Edit(1, 2, "y y")))


def test_impact_by_hand() -> None:
    # The whole correction (1, 2, 1), without the first edit (0, 2, 1), without the second
    # (1, 0, 1).
    # 1 − 5/√(6·5) = .0871, 1 − 2/√(6·2) = .4226.
    assert CORRECTION.text() == "x y y"
    assert CORRECTION.text([False, True]) == "a y y"
    (impacts,) = edit_impacts([CORRECTION], counts)
    assert impacts == pytest.approx([1 - 5 / 30**0.5, 1 - 2 / 12**0.5])


def test_the_text_with_the_larger_summed_impact_is_better(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order = ["a b", "x b", "a y y", "x y y"]  # by summed impact: 0, .087, .423, .510
    monkeypatch.setattr("gecjury.refless.data.pairs._TRIES", 200)
    pairs = ranked_pairs([CORRECTION], np.random.default_rng(0), 100, counts)
    assert {(p.better, p.worse) for p in pairs} == {
        (order[high], order[low]) for high in range(4) for low in range(high)
    }


def test_only_drawn_corrections_are_encoded() -> None:
    many = [CorrectedPair(f"a b {n}", CORRECTION.edits) for n in range(2000)]
    encoded: list[str] = []

    def watch(texts: Sequence[str]) -> FloatArray:
        encoded.extend(texts)
        return counts(texts)

    assert len(ranked_pairs(many, np.random.default_rng(0), 9, watch)) == 9
    # One block of 512 corrections: each as a whole, and without either of its two edits.
    assert len(encoded) == len(set(encoded)) == 3 * 512


def test_detection_marks_tokens_touched_by_edits() -> None:
    edits = (Edit(0, 0, "The"), Edit(2, 4, "z"), Edit(5, 5, "."))
    assert detection_labels(CorrectedPair("a b c d e", edits)) == [1, 0, 1, 1, 1]


def test_parallel_text_from_files(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("a b c\nd e\n")
    (tmp_path / "r").write_text("a x c\nd e\n")
    m2 = tmp_path / "gold.m2"
    m2.write_text("S a b c\nA 1 2|||R|||x|||REQUIRED|||-NONE-|||0\n\nS d e\n\n")
    texts = read_parallel([f"{tmp_path / 's'},{tmp_path / 'r'}"], no_folder)
    gold = read_parallel([str(m2)], no_folder)
    assert [c.text() for c in texts] == [c.text() for c in gold] == ["a x c", "d e"]
    (tmp_path / "short").write_text("a x c\n")
    with pytest.raises(InputError, match="has 1 lines, but"):
        read_parallel([f"{tmp_path / 's'},{tmp_path / 'short'}"], no_folder)
    with pytest.raises(InputError, match="no sentence is corrected"):
        read_parallel([f"{tmp_path / 's'},{tmp_path / 's'}"], no_folder)
    with pytest.raises(OptionError, match="neither a set"):
        read_parallel(["jflegg"], no_folder)


def test_named_sets_are_found(data_dir: Path) -> None:
    from gecjury.benchmarks.data_folder import open_data

    found = read_parallel(["jfleg", "gmeg-dev"], lambda: open_data(data_dir))
    # (754 + 747) × 4 + (968 + 992) × 4 corrections.
    assert len(found) == 13844


def test_letters_are_tokens_in_languages_without_blanks(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("私は本をよむ。\n日本 へ 行く\n", encoding="utf-8")
    (tmp_path / "t").write_text("私は本を読んだ。\n日本へ行った\n", encoding="utf-8")
    name = f"{tmp_path / 's'},{tmp_path / 't'}"
    first, second = read_parallel([name], no_folder, language_of("ja"))
    assert first.text() == "私は本を読んだ。"
    assert first.edits == (Edit(4, 6, "読んだ"),)
    assert first.text([False]) == "私は本をよむ。"
    # Blanks in the text are ordinary characters, on both sides.
    assert second.text() == "日本へ行った"
    assert second.text([False] * len(second.edits)) == "日本 へ 行く"
    back = read_parallel([f"{tmp_path / 't'},{tmp_path / 's'}"], no_folder, language_of("ja"))
    assert back[1].text() == "日本 へ 行く"
    # Read as English, each line is one word.
    whole, _ = read_parallel([name], no_folder)
    assert whole.edits == (Edit(0, 1, "私は本を読んだ。"),)


def test_letters_are_composed_and_keep_their_case(tmp_path: Path) -> None:
    (tmp_path / "s").write_text("Nemu\u030az\u030cu jit .\n", encoding="utf-8")
    (tmp_path / "t").write_text("Nemůžu jít .\n", encoding="utf-8")
    name = f"{tmp_path / 's'},{tmp_path / 't'}"
    (found,) = read_parallel([name], no_folder, language_of("cs"))
    assert found.edits == (Edit(1, 2, "jít"),)
    assert found.source == "Nemůžu jit ."


def test_named_parallel_text_has_a_known_language() -> None:
    assert PARALLEL_LANGUAGES["geccc-dev"] == "cs"
    assert PARALLEL_LANGUAGES["ua-gec"] == "uk"
    assert "mine.m2" not in PARALLEL_LANGUAGES
    # The test part is reserved for evaluating metrics.
    with pytest.raises(OptionError, match="parallel text 'geccc-test': neither a set"):
        read_parallel(["geccc-test"], no_folder)


def test_geccc_is_read_as_written() -> None:
    try:
        found = read_parallel(["geccc-dev"], open_data)
    except DataError:
        pytest.skip("GECCC's files are not here")
    assert len(found) == 12954
    assert "věk, abych" in found[3].text()


# The package leaves one of its files open.
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_ua_gec_is_read_from_its_package() -> None:
    pytest.importorskip("ua_gec")
    found = read_parallel(["ua-gec"], no_folder)
    assert sum(bool(correction.edits) for correction in found) > 10_000
    assert all(correction.source == " ".join(correction.source.split()) for correction in found)


@pytest.mark.security
def test_ua_gec_names_its_extra_where_it_is_not_installed() -> None:
    if importlib.util.find_spec("ua_gec") is not None:
        pytest.skip("the package is installed")
    with pytest.raises(MissingExtraError, match="ukrainian"):
        read_parallel(["ua-gec"], no_folder)


def test_the_best_rated_correction_of_each_source_for_training() -> None:
    sources = [f"He have {number} dog ." for number in range(20) for _ in range(3)]
    outputs = [
        text for number in range(20)
        for text in (f"He had {number} dog .", f"He has {number} dogs .", f"He have {number} dog")
    ]  # fmt: skip
    ratings = np.array([[2.0, 3.0], [3.0, 4.0], [4.0, 1.0]] * 20)  # means 2.5, 3.5 and 2.5
    data = Annotations(
        ("grammaticality", "fluency"), tuple(outputs), tuple(sources), ratings, Scale(1, 4, False)
    )
    best = _best_rated(data)
    assert len(best) == 16  # a tenth of the rows each for dev and test
    assert all(c.text() == c.source.replace("have", "has").replace("dog", "dogs") for c in best)
