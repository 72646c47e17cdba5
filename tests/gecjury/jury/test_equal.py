"""The plain sum of members in fixed deviations, the baseline of a trained jury."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.core.arrays import FloatArray
from gecjury.core.errors import GecjuryError, InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.jury.metric import fixed_scales
from gecjury.scoring.registry import load
from gecjury.stats.permutation import standardise

LINES = ("she sit .", "he sit down")
FIXED = ("she sits .", "he sits down")


def corpus(*systems: tuple[str, ...]) -> Corpus:
    return Corpus(
        LINES,
        {f"s{number}": Version(lines) for number, lines in enumerate(systems)},
        (Version(FIXED),),
        reference_sets={"kept": lambda: (Version(LINES),)},
    )


def z(metric: str, of: Corpus) -> FloatArray:
    """Return a member's scores by hand: less its mean and in deviations of the table."""
    mean, deviation = fixed_scales()[metric.partition(":")[0]]
    scaled: FloatArray = (load(metric).score_corpus(of).sentences - mean) / deviation
    return scaled


def test_members_are_scaled_by_the_table() -> None:
    """`changes` counts tokens replaced: 0 0 | 1 1 | 1 0; its mean is 1.5355, its spread 1.4167."""
    three = corpus(LINES, FIXED, ("she sits .", "he sit down"))
    alone = load("jury", equal="changes").score_corpus(three)
    none, one = -1.5355 / 1.4167, (1 - 1.5355) / 1.4167
    assert alone.sentences == pytest.approx(np.array([[none, none], [one, one], [one, none]]))
    assert list(alone.totals) == pytest.approx([none, one, (none + one) / 2])
    summed = load("jury", equal="changes+gleu:n=1").score_corpus(three)
    assert summed.sentences == pytest.approx(alone.sentences + z("gleu:n=1", three))
    assert summed.signature.label == "jury:equal=changes+gleu:n=1"
    assert not summed.statistics.notes


def test_a_score_depends_on_its_output_alone() -> None:
    jury = load("jury", equal="gleu+changes")
    assert not jury.joint
    assert jury.needs_all() == ""
    together = jury.score_corpus(corpus(LINES, FIXED, ("she sits .", "he sit down")))
    # One output has a score of its own, and so has a copy of the source.
    copied, fixed = (jury.score_corpus(corpus(lines)) for lines in (LINES, FIXED))
    assert list(together.totals)[:2] == [*copied.totals, *fixed.totals]
    assert fixed.totals["s0"] > 0 > copied.totals["s0"]
    # A member that scores everything equally changes no difference.
    same = jury.score_corpus(corpus(FIXED, FIXED))
    assert np.ptp(same.sentences[:, 0]) == 0


def test_a_member_without_a_scale_is_relative_and_said_to_be(tmp_path: Path) -> None:
    """Own scores 0 1 | 1 0 have mean 1/2 and deviation 1/2; 0.1 everywhere adds nothing."""
    given = tmp_path / "given.tsv"
    given.write_text("system\tline\tscore\ns0\t1\t0\ns0\t2\t1\ns1\t1\t1\ns1\t2\t0\n")
    two = corpus(LINES, FIXED)
    jury = load("jury", equal=f"scores:file={given}")
    table = jury.score_corpus(two)
    assert jury.joint
    assert "no fixed scale" in jury.needs_all()
    assert table.sentences.tolist() == [[-1, 1], [1, -1]]
    assert any("without a fixed scale" in note for note in table.statistics.notes)
    # The mean of many equal numbers may differ from them by a rounding error.
    assert standardise(np.full((1, 3), 0.1)).tolist() == [[0, 0, 0]]
    given.write_text("system\tline\tscore\ns0\t1\t.1\ns0\t2\t.1\ns1\t1\t.1\n")
    table = load("jury", equal=f"scores:file={given}").score_corpus(two)
    # A missing score stays missing.
    assert np.array_equal(table.sentences, [[0, 0], [0, np.nan]], equal_nan=True)


def test_members_use_the_reference_set_that_they_name() -> None:
    two = corpus(LINES, FIXED)
    kept = load("jury", equal="gleu@kept").score_corpus(two).totals
    given = load("jury", equal="gleu").score_corpus(two).totals
    assert kept["s0"] > kept["s1"]
    assert given["s0"] < given["s1"]
    with pytest.raises(InputError, match="no references are called '10refs'"):
        load("jury", equal="gleu@10refs").score_corpus(two)
    with pytest.raises(InputError, match="jury member gleu: gleu needs references"):
        load("jury", equal="gleu+changes").score_corpus(Corpus(LINES, {"s": Version(FIXED)}, ()))


def test_members_with_options_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "members.txt"
    file.write_text("# a comment\ngreen:n=2,unit=char\n\nchanges\n")
    jury = load("jury", equal=str(file))
    assert jury.settings() == {"equal": "green:n=2,unit=char+changes"}
    two = corpus(LINES, FIXED)
    wanted = z("changes", two) + z("green:n=2,unit=char", two)
    assert jury.score_corpus(corpus(LINES, FIXED)).sentences == pytest.approx(wanted)
    file.write_text("llm-s\n")
    with pytest.raises(OptionError, match="--allow-judges"):
        load("jury", equal=str(file))


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ("gleu+", "joined by `\\+`"),
        ("gleu+gleu", "is named twice"),
        ("gleu+grene", "green"),
        ("jury", "cannot be a member"),
        ("gleu@", "name a set"),
    ],
)
def test_wrong_members(members: str, words: str) -> None:
    with pytest.raises(GecjuryError, match=words):
        load("jury", equal=members)
    with pytest.raises(OptionError, match="one of them"):
        load("jury", equal="gleu", file="x.json")
