"""The sum of metrics: scores by hand, missing scores, references, refusals, and lists of members.

`changes` counts replaced tokens; the package's mean of it is 1.5355, its deviation 1.4167.
"""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury.cli import main
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import GecjuryError, InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.reading import read_corpus
from gecjury.jury.metric import Jury, Member, fixed_scales
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.stats.permutation import standardise

LINES = ("she sit .", "he sit down")
FIXED = ("she sits .", "he sits down")
NONE, ONE = -1.5355 / 1.4167, (1 - 1.5355) / 1.4167
"""What no change and one change add."""


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


def given(folder: Path, rows: str) -> str:
    """Return given scores as a member, from `system line score` separated by semicolons."""
    file = folder / "given.tsv"
    file.write_text("system\tline\tscore\n" + rows.replace(" ", "\t").replace(";", "\n") + "\n")
    return f"scores:file={file}"


# --- scores ------------------------------------------------------------------------------------


def test_members_are_scaled_by_the_table() -> None:
    """0 0 | 1 1 | 1 0 changes."""
    three = corpus(LINES, FIXED, ("she sits .", "he sit down"))
    alone = load("jury", equal="changes").score_corpus(three)
    assert alone.sentences == pytest.approx(np.array([[NONE, NONE], [ONE, ONE], [ONE, NONE]]))
    assert list(alone.totals) == pytest.approx([NONE, ONE, (NONE + ONE) / 2])
    summed = load("jury", equal="changes+gleu:n=1").score_corpus(three)
    assert summed.sentences == pytest.approx(alone.sentences + z("gleu:n=1", three))
    assert summed.signature.label == "jury:equal=changes+gleu:n=1"
    assert not summed.statistics.notes


def test_one_system_alone_has_the_scores_that_it_has_among_others() -> None:
    """ERRANT, mean .4978, deviation .4556: 1 where the output is the reference, 0 unchanged."""
    summed = load("jury", equal="errant+changes")
    assert not summed.joint
    assert summed.needs_all() == ""
    together = summed.score_corpus(corpus(LINES, FIXED))
    alone = [summed.score_corpus(corpus(lines)) for lines in (LINES, FIXED)]
    assert [row for table in alone for row in table.sentences.tolist()] == (
        together.sentences.tolist()
    )
    copied, fixed = (0 - 0.4978) / 0.4556 + NONE, (1 - 0.4978) / 0.4556 + ONE
    assert [table.totals["s0"] for table in alone] == pytest.approx([copied, fixed])


def test_a_note_on_the_texts_is_said_once() -> None:
    texts = (["He say “ no ” ."], {"s": ['He says " no " .']}, [["He says “ no ” ."]])
    table = load("jury", equal="green+gleu").score(*texts)
    assert sum("quotation marks" in note for note in table.statistics.notes) == 1


def test_a_member_with_constant_scores_changes_no_difference(tmp_path: Path) -> None:
    """On a fixed scale it adds the same to all; without one, it adds 0."""
    two = corpus(FIXED, ("she sit ..", "he sits up"))  # one change, one; one change, two
    changes = np.array([[ONE, ONE], [ONE, (2 - 1.5355) / 1.4167]])
    assert load("jury", equal="changes").score_corpus(two).sentences == pytest.approx(changes)
    equal = given(tmp_path, "s0 1 .1;s0 2 .1;s1 1 .1;s1 2 .1")
    summed = load("jury", equal=f"changes+{equal}").score_corpus(two)
    assert summed.sentences == pytest.approx(changes)
    # The mean of many equal numbers may differ from them by a rounding error.
    assert standardise(np.full((1, 3), 0.1)).tolist() == [[0, 0, 0]]
    same = load("jury", equal="changes+gleu").score_corpus(corpus(FIXED, FIXED))
    assert np.ptp(same.sentences[:, 0]) == 0


def test_a_sentence_that_a_member_could_not_score_is_not_scored(tmp_path: Path) -> None:
    """Own scores 0 – | 2 4 have mean 2 and deviation √(8/3); changes 0 0 | 1 1."""
    own = given(tmp_path, "s0 1 0;s1 1 2;s1 2 4")
    table = load("jury", equal=f"{own}+changes").score_corpus(corpus(LINES, FIXED))
    far = 2 / math.sqrt(8 / 3)
    wanted = [[-far + NONE, math.nan], [ONE, far + ONE]]
    assert table.sentences == pytest.approx(np.array(wanted), nan_ok=True)
    # The corpus score is the mean of the scored sentences: a missing one is no zero.
    assert list(table.totals) == pytest.approx([-far + NONE, far / 2 + ONE])
    assert any("missing lines, not scored" in note for note in table.statistics.notes)


def test_a_member_without_an_entry_is_relative_and_said_to_be(tmp_path: Path) -> None:
    """Own scores 0 1 | 1 0 have mean 1/2 and deviation 1/2."""
    own = given(tmp_path, "s0 1 0;s0 2 1;s1 1 1;s1 2 0")
    assert "scores" not in fixed_scales()
    summed = load("jury", equal=own)
    assert summed.joint
    assert summed.fixed
    assert "no fixed scale" in summed.needs_all()
    table = summed.score_corpus(corpus(LINES, FIXED))
    assert table.sentences.tolist() == [[-1, 1], [1, -1]]
    assert any("without a fixed scale" in note for note in table.statistics.notes)


# --- members -----------------------------------------------------------------------------------


def test_labels_of_members_round_trip() -> None:
    for text in ("gleu", "gleu@10refs", "green@10refs:n=3,unit=char", "some:model=a@b"):
        assert Member.parse(text).label == text
    assert Member.parse("green@10refs:n=3") == Member("green:n=3", "10refs")
    assert Member.parse("some:model=a@b") == Member("some:model=a@b")


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ("gleu+", "joined by `\\+`"),
        ("gleu+changes+gleu", "jury:equal=gleu.changes.gleu: gleu is named twice"),
        ("gleu+grene", "green"),
        ("jury", "a sum cannot be a member of a sum"),
        ("gleu+jury:equal=changes", "a sum cannot be a member of a sum"),
        ("jury@10refs:equal=gleu", "a sum cannot be a member of a sum"),
        ("gleu@", "name a set"),
        ("x" * 1_001, "1001 characters; expected a metric of at most 1000"),
    ],
)
def test_wrong_members(members: str, words: str) -> None:
    with pytest.raises(GecjuryError, match=words):
        load("jury", equal=members)


def test_a_metric_with_other_options_is_another_member() -> None:
    two = corpus(LINES, FIXED)
    summed = load("jury", equal="gleu+gleu:n=1").score_corpus(two).sentences
    assert summed == pytest.approx(z("gleu", two) + z("gleu:n=1", two))


def test_no_members() -> None:
    assert not Jury().joint
    with pytest.raises(OptionError, match=r"no members are named.*jury:equal="):
        load("jury").score_corpus(corpus(LINES))


def test_a_sum_may_be_longer_than_a_file_name() -> None:
    members = "+".join(f"green:n={n}" for n in range(1, 40))
    assert len(load("jury", equal=members).members) == 39  # type: ignore[attr-defined]


def test_members_with_options_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "members.txt"
    file.write_text("# a comment\ngreen:n=2,unit=char\n\nchanges\n")
    summed = load("jury", equal=str(file))
    assert summed.settings() == {"equal": "green:n=2,unit=char+changes"}
    two = corpus(LINES, FIXED)
    wanted = z("changes", two) + z("green:n=2,unit=char", two)
    assert summed.score_corpus(two).sentences == pytest.approx(wanted)
    file.write_text("llm-s\n")
    with pytest.raises(OptionError, match="`allow_judges=True`"):
        load("jury", equal=str(file))


# --- needs, references, signatures, score files --------------------------------------------------


def test_a_sum_needs_what_its_members_need() -> None:
    assert load("jury", equal="gleu@kept+changes").needs == frozenset()
    weighing = load("jury", equal="gotoscorer+changes")
    assert weighing.joint
    assert weighing.needs == {"references", "rivals"}


def test_members_use_the_reference_set_that_they_name() -> None:
    two = corpus(LINES, FIXED)
    kept = load("jury", equal="gleu@kept").score_corpus(two).totals
    usual = load("jury", equal="gleu").score_corpus(two).totals
    assert kept["s0"] > kept["s1"]
    assert usual["s0"] < usual["s1"]
    with pytest.raises(InputError, match="no references are called '10refs'"):
        load("jury", equal="gleu@10refs").score_corpus(two)
    with pytest.raises(InputError, match="member gleu of the sum: gleu needs references"):
        load("jury", equal="gleu+changes").score_corpus(Corpus(LINES, {"s": Version(FIXED)}, ()))


def test_the_signature_follows_references_and_given_scores(tmp_path: Path) -> None:
    one = corpus(FIXED)
    other = replace(one, reference_sets={"kept": lambda: (Version(FIXED),)})
    summed = load("jury", equal="gleu+green@kept")
    assert summed.signature(one).key != summed.signature(other).key
    own = given(tmp_path, "s0 1 0;s0 2 1")
    before = load("jury", equal=own).signature(one).key
    given(tmp_path, "s0 1 0;s0 2 2")
    assert load("jury", equal=own).signature(one).key != before


def test_score_files_contain_the_members_too(tmp_path: Path) -> None:
    summed, two, folder = load("jury", equal="gleu+green@kept"), corpus(LINES, FIXED), tmp_path
    first = score_with_files(summed, two, folder, Runtime())
    names = sorted(path.name.partition("-")[0] for path in folder.iterdir())
    assert names == ["gleu", "green", "jury"]
    again = score_with_files(summed, two, folder, Runtime())
    assert again.sentences.tolist() == first.sentences.tolist()
    assert again.seconds == 0.0
    # Stored scores of members are read again, so a damaged file is reported.
    next(folder.glob("jury-*")).unlink()
    next(folder.glob("gleu-*")).write_text("{}")
    with pytest.raises(InputError, match=r"member gleu of the sum: .*damaged"):
        score_with_files(summed, two, folder, Runtime())


def test_named_references_from_files(tmp_path: Path) -> None:
    for name, text in {"src": "she sit .\n", "hyp": "she sits .\n", "ref": "she sat .\n"}.items():
        (tmp_path / name).write_text(text)
    src, hyp, ref = (str(tmp_path / name) for name in ("src", "hyp", "ref"))
    read = read_corpus(src, [hyp], [ref, f"other={hyp}", f"other={src}"])
    assert [version.lines for version in read.references] == [("she sat .",)]
    named = read.with_references("other")
    assert [v.lines[0] for v in named.references] == ["she sits .", "she sit ."]
    assert named.reference_name == "other"
    assert named.reference_print != read.reference_print
    with pytest.raises(InputError, match="-r nobody=FILE"):
        read.with_references("nobody")
    (tmp_path / "long").write_text("a\nb\n")
    with pytest.raises(InputError, match="long has 2 lines"):
        read_corpus(src, [hyp], [f"other={tmp_path / 'long'}"])
    files = [src, hyp, "-r", ref, "-r", f"other={hyp}"]
    assert main(["score", *files, "-m", "jury:equal=gleu+green@other:n=1"]) == 0
