"""Damaged beside undamaged outputs: what is scored together, effects by hand, the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from gecjury import load
from gecjury.cli import main
from gecjury.corpus.corpus import Corpus, Version
from gecjury.errors import InputError, OptionError
from gecjury.experiments.attack import (
    AttackSettings,
    Damaged,
    ScoredPair,
    attack,
    attack_corpora,
    damage,
    effect,
    score_attacks,
)
from gecjury.experiments.perturbations import PERTURBATIONS
from gecjury.scoring.scorer import Scorer
from tests.gecjury.scoring import test_scorer

NAN = float("nan")
SOURCE = ["This are a sentence .", "He go home now .", "All is well here ."]
FIXED = ["This is a sentence .", "He goes home now .", "All is well here ."]
HALF = ["This is a sentence .", "He go home now .", "All is well here ."]
GOLD = """\
S This are a sentence .
A 1 2|||R|||is|||REQUIRED|||-NONE-|||0

S He go home now .
A 1 2|||R|||goes|||REQUIRED|||-NONE-|||0

S All is well here .

"""


@pytest.fixture
def corpus() -> Corpus:
    return Corpus(
        tuple(SOURCE),
        {"fixed": Version(tuple(FIXED)), "half": Version(tuple(HALF))},
        (Version(tuple(FIXED)),),
    )


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    for name, lines in (("source", SOURCE), ("fixed", FIXED), ("half", HALF), ("ref", FIXED)):
        (tmp_path / f"{name}.txt").write_text("".join(line + "\n" for line in lines))
    (tmp_path / "gold.m2").write_text(GOLD)
    return ["source.txt", "fixed.txt", "half.txt"]


def run(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> tuple[str, str]:
    assert main(["attack", *argv]) == status
    captured = capsys.readouterr()
    return captured.out, captured.err


def document(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run(capsys, *argv, "--format", "json", status=status)[0])
    return found


# --- effects by hand -------------------------------------------------------------------------


def pair(before: list[float], after: list[float], changed: list[int], totals: Any) -> ScoredPair:
    return ScoredPair(
        Damaged(str(totals), "x", ("",) * len(before)),
        np.array(before),
        np.array(after),
        np.array(changed, dtype=bool),
        totals,
    )


def test_an_effect_by_hand() -> None:
    one = pair([0.5, 0.5, 0.5, 0.5], [0.9, 0.5, 0.1, 0.7], [1, 1, 1, 0], (0.5, 0.6, 0.4))
    two = pair([0.5, 0.5, 0.5, 0.5], [0.6, NAN, 0.4, 0.5], [1, 1, 1, 1], (0.5, 0.3, 0.4))
    found = effect([one, two], np.array([[1.0, 1, 1, 1], [2, 0, 2, 0], [0, 0, 4, 0], [4, 0, 0, 0]]))
    # Changed and scored: 3 of one, 3 of two. Higher: .9 and .6; the same: one's second and two's
    # last; lower: .1 and .4.
    assert (found.compared, found.unchanged, found.missing) == (6, 1, 1)
    assert (found.higher, found.equal, found.lower) == (1 / 3, 1 / 3, 1 / 3)
    # (.4 + 0 - .4 + .1 - .1 + 0) / 6
    assert found.change == pytest.approx(0)
    # Net over the resamples: 0, 0, -1 (sentence 3 falls twice), 1 (sentence 1 rises twice).
    low, high = np.quantile([-1, 0, 0, 1], [0.025, 0.975])
    assert found.ci95["net"] == (pytest.approx(low), pytest.approx(high))
    assert found.verdict == "undecided"
    assert [s.outranks for s in found.systems.values()] == [True, False]
    assert [s.outranks_source for s in found.systems.values()] == [True, False]


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ([0.9, 0.8, 0.7], "prefers the damage"),
        ([0.1, 0.2, 0.3], "sees it"),
        ([0.5, 0.5, 0.1], "does not see it"),
        # Rounding is no change.
        ([0.5 + 1e-8, 0.5 - 1e-8, 0.9], "does not see it"),
        ([0.9, 0.2, 0.5], "undecided"),
    ],
)
def test_verdicts(after: list[float], verdict: str) -> None:
    weights = np.random.default_rng(0).multinomial(3, [1 / 3] * 3, size=500).astype(float)
    found = effect([pair([0.5] * 3, after, [1, 1, 1], (0.5, 0.5, 0.5))], weights)
    assert found.verdict == verdict
    (system,) = found.systems.values()
    # Equal scores put nobody above.
    assert (system.outranks, system.outranks_source) == (False, False)


def test_nothing_changed_is_no_verdict() -> None:
    found = effect([pair([0.5], [0.5], [0], (1.0, 1.0, 1.0))], np.ones((3, 1)))
    assert (found.compared, found.unchanged) == (0, 1)
    assert np.isnan(found.higher)
    assert found.verdict == "undecided"


def test_no_pair() -> None:
    with pytest.raises(InputError, match="no damaged output"):
        effect([], np.ones((1, 1)))


# --- what is scored together -----------------------------------------------------------------


@dataclass(frozen=True)
class Rival(test_scorer.Length):
    """Weighs systems against each other."""

    needs: ClassVar[frozenset[str]] = frozenset({"rivals"})
    joint: ClassVar[bool] = True


def test_corpora_keep_other_damage_apart(corpus: Corpus) -> None:
    damaged = damage(corpus, ["fixed"], [PERTURBATIONS["empty"], PERTURBATIONS["generic"]])

    def systems(scorer: Scorer) -> list[list[str]]:
        return [list(given.systems) for given, _ in attack_corpora(scorer, corpus, damaged)]

    assert systems(test_scorer.Length()) == [
        ["fixed", "half", "the source", "fixed + empty", "fixed + generic"]
    ]
    assert systems(Rival()) == [
        ["fixed", "half", "the source", "fixed + empty"],
        ["fixed", "half", "the source", "fixed + generic"],
    ]
    assert systems(test_scorer.Longest()) == [
        ["fixed", "the source", "fixed + empty"],
        ["fixed", "the source", "fixed + generic"],
    ]


def test_a_system_may_be_called_the_source(corpus: Corpus) -> None:
    odd = Corpus(corpus.sources, {"the source": Version(tuple(FIXED))}, corpus.references)
    damaged = damage(odd, ["the source"], [PERTURBATIONS["copy-source"]])
    (found,) = score_attacks(load("green"), odd, damaged).pairs
    before, after, source = found.corpus
    assert before == 1
    assert after == source < 1


def test_copying_the_source_scores_what_the_source_scores(corpus: Corpus) -> None:
    damaged = damage(corpus, list(corpus.systems), [PERTURBATIONS["copy-source"]])
    for name in ("green", "gleu"):
        for found in score_attacks(load(name), corpus, damaged).pairs:
            before, after, source = found.corpus
            assert after == source
            assert before > after
            # The last sentence needed no correction: the copy is no damage.
            assert not found.changed[2]


OFFLINE = [
    "green", "gleu", "gleu-official", "errant", "sent-errant", "m2", "sentm2", "i-measure",
    "cleme", "cleme2", "gotoscorer", "uot-errant:encoder=embedded",
]  # fmt: skip


@pytest.mark.parametrize("metric", OFFLINE)
def test_every_metric_takes_every_damage(
    metric: str, capsys: pytest.CaptureFixture[str], files: list[str]
) -> None:
    for package in ("errant", "spacy", *(["torch", "ot"] if "uot" in metric else [])):
        pytest.importorskip(package)
    found = document(capsys, *files, "-m", metric, "-r", "ref.txt", "--m2", "gold.m2")
    assert {row["attack"] for row in found["rows"]} == {
        name for name, each in PERTURBATIONS.items() if not each.for_judges
    }
    for row in found["rows"]:
        assert row["missing"] == 0
        assert row["compared"] + row["unchanged"] == 6
    empty = next(row for row in found["rows"] if row["attack"] == "empty")
    assert empty["systems"]["fixed"]["after"] < empty["systems"]["fixed"]["before"]
    blanks = next(row for row in found["rows"] if row["attack"] == "white-space")
    assert (blanks["equal"], blanks["verdict"]) == (1.0, "does not see it")


# --- from Python -----------------------------------------------------------------------------


def test_from_python(tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("".join(f"{line}\n" for line in SOURCE))
    settings = AttackSettings(
        attacks=["copy-source", "empty"],
        systems=["fixed"],
        own={"file": mine, "lines": SOURCE},
        resamples=20,
    )
    found = attack(
        SOURCE, {"fixed": FIXED, "half": HALF}, FIXED, metrics=["green", "gleu"], settings=settings
    )
    assert (found.sentences, found.systems, found.missing) == (3, ("fixed",), 0)
    assert [each.name for each in found.attacks] == ["copy-source", "empty"]
    green = found.metrics[0]
    assert [each.attack for each in green.effects] == ["copy-source", "empty", "file", "lines"]
    # The same damage under three names.
    same = [replace(green.effects[i], attack="") for i in (0, 2, 3)]
    assert same[0] == same[1] == same[2]
    assert green.verdicts["sees it"] == [each.attack for each in green.effects]
    assert green.lifting == []
    rows = found.rows()
    assert len(rows) == 8
    assert rows[0]["change"] == green.effects[0].change
    assert rows[0]["outranks"] == 0


def test_damage_of_ones_own_that_does_not_fit() -> None:
    texts = (SOURCE, {"fixed": FIXED, "half": HALF}, FIXED)

    def refused(**options: Any) -> str:
        with pytest.raises((InputError, OptionError)) as found:
            attack(*texts, metrics="green", settings=AttackSettings(**options))
        return str(found.value)

    assert "choose one with --system" in refused(own={"x": SOURCE})
    assert "'x' has 1 lines, but there are 3" in refused(own={"x": ["a"]}, systems=["half"])
    assert "the name empty is taken" in refused(
        own={"empty": SOURCE}, systems=["half"], attacks=["empty"]
    )
    assert "--system 'nobody'" in refused(systems=["nobody"])


def test_records_make_a_data_frame(corpus: Corpus) -> None:
    pandas = pytest.importorskip("pandas")
    settings = AttackSettings(attacks=["empty", "generic"], resamples=5)
    frame = pandas.DataFrame(attack(corpus, metrics="green", settings=settings).rows())
    assert list(frame["attack"]) == ["empty", "generic"]
    assert frame["lower"].between(0, 1).all()


# --- the command -----------------------------------------------------------------------------


def test_json_and_table(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    argv = [*files, "-m", "green", "-r", "ref.txt", "--attack", "generic", "--attack", "empty"]
    found = document(capsys, *argv)
    assert found["systems"] == ["fixed", "half"]
    assert [each["name"] for each in found["attacks"]] == ["generic", "empty"]
    row = found["rows"][0]
    assert (row["metric"], row["attack"], row["family"]) == ("green", "generic", "refbased")
    assert set(row["ci95"]) == {"higher", "equal", "lower", "change", "net"}
    assert row["higher"] + row["equal"] + row["lower"] == pytest.approx(1)
    assert row["systems"]["fixed"]["before"] == 1
    assert row["outranks"] == 0
    out = run(capsys, *argv)[0]
    assert "Damaged beside undamaged, 3 sentences, 2 systems" in out
    argv += ["--system", "fixed"]
    one = document(capsys, *argv)
    assert one["systems"] == ["fixed"]
    assert one["verdicts"]["green"]["sees it"] == ["generic", "empty"]
    assert "green sees all of it" in run(capsys, *argv)[0]


def test_no_share_damages_nothing(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    found = document(capsys, *files, "-m", "green", "-r", "ref.txt", "--share", "0")
    assert all((row["compared"], row["unchanged"]) == (0, 6) for row in found["rows"])
    assert all(s["before"] == s["after"] for r in found["rows"] for s in r["systems"].values())


def test_your_own_damage(capsys: pytest.CaptureFixture[str], files: list[str]) -> None:
    Path("mine.txt").write_text("\n".join(SOURCE) + "\n")
    argv = [*files[:2], "-m", "green", "-r", "ref.txt", "--perturbed", "mine=mine.txt"]
    own = document(capsys, *argv)["rows"]
    assert [row["attack"] for row in own] == ["mine"]
    both = document(capsys, *argv, "--attack", "copy-source")["rows"]
    assert [row["attack"] for row in both] == ["copy-source", "mine"]
    # The file holds the sources, so it is the same damage.
    same = ("higher", "equal", "lower", "change", "systems", "verdict")
    assert {key: both[0][key] for key in same} == {key: both[1][key] for key in same}


def test_a_benchmark_by_name_and_score_files(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    argv = ["sample", "-m", "green", "--attack", "shuffle", "-o", str(tmp_path / "out")]
    first = document(capsys, *argv)
    monkeypatch.setattr("gecjury.refbased.green.GREEN.statistics", None)
    assert document(capsys, *argv)["rows"] == first["rows"]


def test_a_missing_score_is_counted(
    capsys: pytest.CaptureFixture[str], files: list[str], registered: Callable[..., Path]
) -> None:
    registered({"length": f"{test_scorer.__name__}:Length"})
    argv = [*files, "-m", "length", "--attack", "empty", "--attack", "repeat-all"]
    empty, repeated = document(capsys, *argv, status=1)["rows"]
    # An empty line is not scored; longer texts score higher.
    assert (empty["missing"], empty["compared"], empty["higher"]) == (6, 0, None)
    assert (repeated["missing"], repeated["higher"]) == (0, 1.0)
    assert repeated["verdict"] == "prefers the damage"
    assert repeated["outranks"] == 2
    out = run(capsys, *argv, status=1)[0]
    assert "length prefers the damage: repeat-all; undecided: empty; ranks most systems" in out


def test_judges_are_counted_and_meet_orders(
    capsys: pytest.CaptureFixture[str], files: list[str]
) -> None:
    pytest.importorskip("openai")
    argv = [*files[:2], "-m", "llm-s:model=gpt-6-luna", "--dry-run", "--no-cache"]
    found = json.loads(run(capsys, *argv, "--attack", "order")[0])
    # One request a sentence: its text, its source and the damaged text side by side.
    assert found["requests"] == 3
    every = json.loads(run(capsys, *argv)[0])
    assert every["requests"] == 3 * len(PERTURBATIONS)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["source.txt"], "source.txt stands alone: give a source file and at least one system"),
        (["seda"], "unknown benchmark 'seda': did you mean seeda"),
        (["sample", "--attack", "shufle"], "unknown attack 'shufle': did you mean shuffle?"),
        (["sample", "--system", "nobody"], "--system 'nobody'"),
        (["sample", "--share", "2"], "share 2.0: expected 0 to 1"),
        (["sample", "--resamples", "0"], "--resamples 0: expected 1 or more"),
        (["sample", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["sample", "--perturbed", "x=ref.txt"], "choose one with --system"),
        (["source.txt", "half.txt", "-r", "ref.txt", "--perturbed", "x"], "expected NAME=FILE"),
        (
            ["source.txt", "half.txt", "-r", "ref.txt", "--perturbed", "x=short.txt"],
            "short.txt has 1 lines, but there are 3 sentences",
        ),
        (
            ["source.txt", "half.txt", "-r", "ref.txt", "--attack", "empty",
             "--perturbed", "empty=ref.txt"],
            "the name empty is taken",
        ),
        (["source.txt", "half.txt"], "green needs references"),
    ],
)  # fmt: skip
def test_bad_input(
    capsys: pytest.CaptureFixture[str], files: list[str], argv: list[str], message: str
) -> None:
    Path("short.txt").write_text("one\n")
    out, err = run(capsys, *argv, "-m", "green", status=2)
    assert out == ""
    assert err.startswith("gecjury: ")
    assert message in err
