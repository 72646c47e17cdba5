"""`gecjury attack`: which texts are scored together, effects computed by hand, the command."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

import gecjury
from gecjury import Attack, Resampling, load
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version, corpus_of_texts
from gecjury.report.result import Result
from gecjury.report.tables import to_json
from gecjury.scoring.scorer import Scorer
from gecjury.studies.attack.damage import (
    Damaged,
    ScoredPair,
    attack_corpora,
    damage,
    score_attacks,
)
from gecjury.studies.attack.effects import effect
from gecjury.studies.attack.perturbations import PERTURBATIONS
from gecjury.studies.study import Work
from tests.gecjury.scoring import test_scorer
from tests.shell import FIXED, GOLD, SOURCE, Shell

NAN = float("nan")
HALF = [FIXED[0], *SOURCE[1:]]


@pytest.fixture
def corpus() -> Corpus:
    return Corpus(
        tuple(SOURCE),
        {"fixed": Version(tuple(FIXED)), "half": Version(tuple(HALF))},
        (Version(tuple(FIXED)),),
    )


@pytest.fixture
def files(shell: Shell) -> list[str]:
    for name, texts in (("source", SOURCE), ("fixed", FIXED), ("half", HALF), ("ref", FIXED)):
        shell.write(f"{name}.txt", "".join(f"{line}\n" for line in texts))
    shell.write("gold.m2", GOLD)
    return ["source.txt", "fixed.txt", "half.txt"]


def document(shell: Shell, *argv: str, status: int = 0) -> dict[str, Any]:
    ended, out, _ = shell("attack", *argv, "--format", "json")
    assert ended == status
    printed: dict[str, Any] = json.loads(out)
    return printed


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
    result = effect(
        [one, two], np.array([[1.0, 1, 1, 1], [2, 0, 2, 0], [0, 0, 4, 0], [4, 0, 0, 0]])
    )
    # Changed and scored: 3 sentences of `one`, 3 of `two`. Higher: .9 and .6; equal: the second
    # sentence of `one` and the last of `two`; lower: .1 and .4.
    assert (result["compared"], result["unchanged"], result["missing"]) == (6, 1, 1)
    assert (result["higher"], result["equal"], result["lower"]) == (1 / 3, 1 / 3, 1 / 3)
    # (.4 + 0 - .4 + .1 - .1 + 0) / 6
    assert result["change"] == pytest.approx(0)
    # Net over the resamples: 0, 0, -1 (sentence 3 falls twice), 1 (sentence 1 rises twice).
    low, high = np.quantile([-1, 0, 0, 1], [0.025, 0.975])
    assert result["ci95"]["net"] == (pytest.approx(low), pytest.approx(high))
    assert result["verdict"] == "undecided"
    assert [s["outranks"] for s in result["systems"].values()] == [True, False]
    assert [s["outranks_source"] for s in result["systems"].values()] == [True, False]


@pytest.mark.parametrize(
    ("after", "verdict"),
    [
        ([0.9, 0.8, 0.7], "prefers the damage"),
        ([0.1, 0.2, 0.3], "sees it"),
        ([0.5, 0.5, 0.1], "does not see it"),
        # Rounding differences do not count as a change.
        ([0.5 + 1e-8, 0.5 - 1e-8, 0.9], "does not see it"),
        ([0.9, 0.2, 0.5], "undecided"),
    ],
)
def test_verdicts(after: list[float], verdict: str) -> None:
    weights = np.random.default_rng(0).multinomial(3, [1 / 3] * 3, size=500).astype(float)
    result = effect([pair([0.5] * 3, after, [1, 1, 1], (0.5, 0.5, 0.5))], weights)
    assert result["verdict"] == verdict
    (system,) = result["systems"].values()
    # With equal scores no system outranks another.
    assert (system["outranks"], system["outranks_source"]) == (False, False)


def test_no_changed_sentence_gives_no_verdict() -> None:
    result = effect([pair([0.5], [0.5], [0], (1.0, 1.0, 1.0))], np.ones((3, 1)))
    assert (result["compared"], result["unchanged"]) == (0, 1)
    assert np.isnan(result["higher"])
    assert result["verdict"] == "undecided"


# --- texts that are scored together ----------------------------------------------------------


@dataclass(frozen=True)
class Rival(test_scorer.Length):
    """A scorer that compares systems with each other."""

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
    (result,) = score_attacks(load("green"), odd, damaged, Runtime()).pairs
    before, after, source = result.corpus
    assert before == 1
    assert after == source < 1


def test_copying_the_source_scores_what_the_source_scores(corpus: Corpus) -> None:
    damaged = damage(corpus, list(corpus.systems), [PERTURBATIONS["copy-source"]])
    for name in ("green", "gleu"):
        for found in score_attacks(load(name), corpus, damaged, Runtime()).pairs:
            before, after, source = found.corpus
            assert after == source
            assert before > after
            # The last sentence needed no correction, so copying the source does not damage it.
            assert not found.changed[2]


OFFLINE = [
    "green", "gleu", "gleu-official", "errant", "sent-errant", "m2", "sentm2", "i-measure",
    "cleme", "cleme2", "gotoscorer", "uot-errant:encoder=embedded",
]  # fmt: skip


@pytest.mark.parametrize("metric", OFFLINE)
def test_every_metric_scores_every_perturbation(
    metric: str, shell: Shell, files: list[str]
) -> None:
    for package in ("errant", "spacy", *(["torch", "ot"] if "uot" in metric else [])):
        pytest.importorskip(package)
    result = document(shell, *files, "-m", metric, "-r", "ref.txt", "--m2", "gold.m2")
    assert {row["attack"] for row in result["rows"]} == {
        name for name, each in PERTURBATIONS.items() if not each.for_judges
    }
    for row in result["rows"]:
        assert row["missing"] == 0
        assert row["compared"] + row["unchanged"] == 6
    empty = next(row for row in result["rows"] if row["attack"] == "empty")
    assert empty["systems"]["fixed"]["after"] < empty["systems"]["fixed"]["before"]
    blanks = next(row for row in result["rows"] if row["attack"] == "white-space")
    assert (blanks["equal"], blanks["verdict"]) == (1.0, "does not see it")


# --- from Python -----------------------------------------------------------------------------


def few(resamples: int) -> Resampling:
    return Resampling(over="sentences", resamples=resamples)


def test_from_python(corpus: Corpus, tmp_path: Path) -> None:
    mine = tmp_path / "mine.txt"
    mine.write_text("".join(f"{line}\n" for line in SOURCE))
    settings = Attack(
        attacks=("copy-source", "empty"),
        victims=("fixed",),
        perturbed={"file": mine, "lines": SOURCE},
        resampling=few(20),
    )
    attacked = gecjury.attack(corpus, ["green", "gleu"], settings)
    assert (attacked.facts["sentences"], attacked.facts["systems"]) == (3, ["fixed"])
    assert [row["name"] for row in attacked.table("attacks").rows] == ["copy-source", "empty"]
    rows = attacked.rows()
    assert len(rows) == 8
    assert [row["attack"] for row in rows[:4]] == ["copy-source", "empty", "file", "lines"]
    # The same perturbation under three names.
    same = [{**rows[place], "attack": ""} for place in (0, 2, 3)]
    assert same[0] == same[1] == same[2]
    assert attacked.facts["verdicts"]["green"] == {"sees it": [row["attack"] for row in rows[:4]]}
    assert rows[0]["outranks"] == 0


def test_unsuitable_perturbed_texts_are_refused(corpus: Corpus) -> None:
    def refused(**options: Any) -> str:
        with pytest.raises((InputError, OptionError)) as error:
            gecjury.attack(corpus, "green", Attack(**options))
        return str(error.value)

    assert "choose one with --system" in refused(perturbed={"x": SOURCE})
    assert "'x' has 1 lines, but there are 3" in refused(perturbed={"x": ["a"]}, victims=("half",))
    assert "the name empty is taken" in refused(
        perturbed={"empty": SOURCE}, victims=("half",), attacks=("empty",)
    )
    assert "--system 'nobody'" in refused(victims=("nobody",))


def test_records_make_a_data_frame(corpus: Corpus) -> None:
    pandas = pytest.importorskip("pandas")
    settings = Attack(attacks=("empty", "generic"), resampling=few(5))
    frame = pandas.DataFrame(gecjury.attack(corpus, "green", settings).rows())
    assert list(frame["attack"]) == ["empty", "generic"]
    assert frame["lower"].between(0, 1).all()


@pytest.mark.slow
def test_scoring_time_is_estimated_from_a_few_sentences(corpus: Corpus) -> None:
    many = corpus_of_texts(SOURCE * 800, {"half": HALF * 800}, [FIXED * 800])
    scorers = (load("green"),)
    assert Attack().expected_seconds(Work(many, scorers, Runtime())) > 0
    assert Attack().expected_seconds(Work(corpus, scorers, Runtime())) == 0


# --- the command -----------------------------------------------------------------------------


def untimed(result: Result | dict[str, Any]) -> dict[str, Any]:
    own = json.loads(to_json(result.document())) if isinstance(result, Result) else result
    return {**own, "seconds": {}, "inputs": []}


def test_the_command_prints_what_the_function_gives(shell: Shell, files: list[str]) -> None:
    corpus = gecjury.read_corpus(files[0], files[1:], ["ref.txt"])
    settings = Attack(
        attacks=("shuffle", "swap"), victims=("fixed",), perturbed={"worse": HALF}, share=0.7,
        resampling=few(25), seed=3,
    )  # fmt: skip
    words = ["--attack", "shuffle", "--attack", "swap", "--system", "fixed", "--share", "0.7"]
    words += ["--perturbed", "worse=half.txt", "--resamples", "25", "--seed", "3"]
    own = document(shell, *files, "-m", "green", "-r", "ref.txt", *words)
    assert own["inputs"] == files
    assert untimed(own) == untimed(gecjury.attack(corpus, "green", settings))


def test_json_and_table(shell: Shell, files: list[str]) -> None:
    argv = [*files, "-m", "green", "-r", "ref.txt", "--attack", "generic", "--attack", "empty"]
    result = document(shell, *argv)
    assert result["systems"] == ["fixed", "half"]
    assert [each["name"] for each in result["attacks"]] == ["generic", "empty"]
    row = result["rows"][0]
    assert (row["metric"], row["attack"], row["family"]) == ("green", "generic", "refbased")
    assert set(row["ci95"]) == {"higher", "equal", "lower", "change", "net"}
    assert row["higher"] + row["equal"] + row["lower"] == pytest.approx(1)
    assert row["systems"]["fixed"]["before"] == 1
    assert row["outranks"] == 0
    out = shell("attack", *argv)[1]
    assert "Damaged and undamaged, 3 sentences, 2 systems" in out
    argv += ["--system", "fixed"]
    one = document(shell, *argv)
    assert one["systems"] == ["fixed"]
    assert one["verdicts"]["green"]["sees it"] == ["generic", "empty"]
    assert "green sees all of it" in shell("attack", *argv)[1]


def test_a_share_of_zero_damages_nothing(shell: Shell, files: list[str]) -> None:
    result = document(shell, *files, "-m", "green", "-r", "ref.txt", "--share", "0")
    assert all((row["compared"], row["unchanged"]) == (0, 6) for row in result["rows"])
    assert all(s["before"] == s["after"] for r in result["rows"] for s in r["systems"].values())


def test_user_supplied_perturbed_texts(shell: Shell, files: list[str]) -> None:
    Path("mine.txt").write_text("\n".join(SOURCE) + "\n")
    argv = [*files[:2], "-m", "green", "-r", "ref.txt", "--perturbed", "mine=mine.txt"]
    own = document(shell, *argv)["rows"]
    assert [row["attack"] for row in own] == ["mine"]
    both = document(shell, *argv, "--attack", "copy-source")["rows"]
    assert [row["attack"] for row in both] == ["copy-source", "mine"]
    # The file contains the sources, so it is the same perturbation.
    same = ("higher", "equal", "lower", "change", "systems", "verdict")
    assert {key: both[0][key] for key in same} == {key: both[1][key] for key in same}


def test_a_benchmark_by_name_and_score_files(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    argv = ["sample", "-m", "green", "--attack", "shuffle", "-o", "out"]
    first = document(shell, *argv)
    monkeypatch.setattr("gecjury.refbased.green.GREEN.statistics", None)
    assert document(shell, *argv)["rows"] == first["rows"]


def test_a_missing_score_is_counted(
    shell: Shell, files: list[str], registered: Callable[..., Path]
) -> None:
    registered({"length": f"{test_scorer.__name__}:Length"})
    argv = [*files, "-m", "length", "--attack", "empty", "--attack", "repeat-all"]
    empty, repeated = document(shell, *argv, status=1)["rows"]
    # An empty line is not scored; longer texts score higher.
    assert (empty["missing"], empty["compared"], empty["higher"]) == (6, 0, None)
    assert (repeated["missing"], repeated["higher"]) == (0, 1.0)
    assert repeated["verdict"] == "prefers the damage"
    assert repeated["outranks"] == 2
    out = shell("attack", *argv)[1]
    assert "length prefers the damage: repeat-all; undecided: empty; ranks most systems" in out


def test_judge_requests_are_counted_and_judges_get_order_attacks(
    shell: Shell, files: list[str]
) -> None:
    pytest.importorskip("openai")
    argv = [*files[:2], "-m", "llm-s:model=gpt-6-luna", "--dry-run", "--cache", "none"]
    result = json.loads(shell("attack", *argv, "--attack", "order")[1])
    # One request per sentence, with its text, its source and the damaged text side by side.
    assert result["requests"] == 3
    every = json.loads(shell("attack", *argv)[1])
    assert every["requests"] == 3 * len(PERTURBATIONS)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["source.txt"], "source.txt is the only input: give a source file and at least one"),
        (["seda"], "unknown benchmark 'seda': did you mean seeda"),
        (["sample", "--attack", "shufle"], "unknown attack 'shufle': did you mean shuffle?"),
        (["sample", "--system", "nobody"], "--system 'nobody'"),
        (["sample", "--share", "2"], "--share 2.0: expected at most 1"),
        (["sample", "--resamples", "0"], "--resamples 0: expected 1 or more"),
        (["sample", "--seed", "-1"], "--seed -1: expected 0 or more"),
        (["sample", "--perturbed", "x=ref.txt"], "choose one with --system"),
        (["source.txt", "half.txt", "-r", "ref.txt", "--perturbed", "x"], "expected NAME=FILE"),
        (["sample", "--perturbed", "x=a", "--perturbed", "x=b"], "x=b: the name x is taken"),
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
def test_bad_input(shell: Shell, files: list[str], argv: list[str], message: str) -> None:
    Path("short.txt").write_text("one\n")
    status, out, err = shell("attack", *argv, "-m", "green")
    assert (status, out) == (2, "")
    assert err.startswith("gecjury: ")
    assert message in err
