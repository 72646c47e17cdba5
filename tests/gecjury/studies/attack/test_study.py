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
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.report.tables import to_json
from gecjury.scoring.scorer import Scorer
from gecjury.studies.attack.effects import (
    ScoredPair,
    attack_corpora,
    damage,
    effect,
    scored_pair,
)
from gecjury.studies.attack.perturbations import PERTURBATIONS
from tests.gecjury.scoring import test_scorer
from tests.shell import FIXED, GOLD, SOURCE, Shell

NAN = float("nan")
HALF = [FIXED[0], *SOURCE[1:]]
FEW = Resampling(over="sentences", resamples=20)


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


# --- effects by hand -------------------------------------------------------------------------


def pair(before: list[float], after: list[float], changed: list[int], totals: Any) -> ScoredPair:
    return ScoredPair(
        np.array(before),
        np.array(after),
        np.array(changed, dtype=bool),
        np.array(totals),
    )


def test_an_effect_by_hand() -> None:
    one = pair([0.5, 0.5, 0.5, 0.5], [0.9, 0.5, 0.1, 0.7], [1, 1, 1, 0], (0.5, 0.6, 0.4))
    two = pair([0.5, 0.5, 0.5, 0.5], [0.6, NAN, 0.4, 0.5], [1, 1, 1, 1], (0.5, 0.3, 0.4))
    result = effect(
        "x", [one, two], np.array([[1.0, 1, 1, 1], [2, 0, 2, 0], [0, 0, 4, 0], [4, 0, 0, 0]])
    )
    numbers = result.values
    # Changed and scored: 3 sentences of `one`, 3 of `two`. Higher: .9 and .6; equal: the second
    # sentence of `one` and the last of `two`; lower: .1 and .4.
    assert (numbers["compared"], numbers["unchanged"], numbers["missing"]) == (
        6,
        1,
        1,
    )
    assert (numbers["higher"], numbers["equal"], numbers["lower"]) == (
        1 / 3,
        1 / 3,
        1 / 3,
    )
    # (.4 + 0 - .4 + .1 - .1 + 0) / 6
    assert numbers["change"] == pytest.approx(0)
    # Net over the resamples: 0, 0, -1 (sentence 3 falls twice), 1 (sentence 1 rises twice).
    low, high = np.quantile([-1, 0, 0, 1], [0.025, 0.975])
    assert numbers["net"] == 0
    assert result.net_ci95 == (pytest.approx(low), pytest.approx(high))
    assert result.verdict == "undecided"
    # Only the damaged output of `one` scores above the undamaged one and the source.
    assert (numbers["outranks"], numbers["outranks_source"]) == (1, 1)
    assert (numbers["before"], numbers["after"]) == (
        pytest.approx(0.5),
        pytest.approx(0.45),
    )


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
    result = effect("x", [pair([0.5] * 3, after, [1, 1, 1], (0.5, 0.5, 0.5))], weights)
    assert result.verdict == verdict
    numbers = result.values
    # With equal scores no system outranks another.
    assert (numbers["outranks"], numbers["outranks_source"]) == (0, 0)


def test_no_changed_sentence_gives_no_verdict() -> None:
    result = effect("x", [pair([0.5], [0.5], [0], (1.0, 1.0, 1.0))], np.ones((3, 1)))
    numbers = result.values
    assert (numbers["compared"], numbers["unchanged"]) == (0, 1)
    assert np.isnan(numbers["higher"])
    assert result.verdict == "undecided"


# --- texts that are scored together ----------------------------------------------------------


@dataclass(frozen=True)
class Rival(test_scorer.Length):
    """A scorer that compares systems with each other."""

    needs: ClassVar[frozenset[str]] = frozenset({"rivals"})


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


# A system may be called the source, which is itself one of the systems that are scored.
@pytest.mark.parametrize("name", ["fixed", "the source"])
def test_copying_the_source_scores_what_the_source_scores(corpus: Corpus, name: str) -> None:
    odd = Corpus(corpus.sources, {name: Version(tuple(FIXED))}, corpus.references)
    (damaged,) = damage(odd, [name], [PERTURBATIONS["copy-source"]])
    ((texts, _),) = attack_corpora(load("green"), odd, [damaged])
    result = scored_pair(load("green").score_corpus(texts, Runtime()), odd, damaged)
    before, after, source = result.totals
    assert before == 1
    assert after == source < 1
    # The last sentence needed no correction, so copying the source does not damage it.
    assert not result.changed[2]


OFFLINE = [
    "green", "gleu", "gleu-official", "errant", "sent-errant", "m2", "sentm2", "i-measure",
    "cleme", "cleme2", "gotoscorer", "uot-errant:encoder=embedded",
]  # fmt: skip


@pytest.mark.parametrize("metric", OFFLINE)
def test_every_metric_scores_every_perturbation(files: list[str], metric: str) -> None:
    for package in ("errant", "spacy", *(["torch", "ot"] if "uot" in metric else [])):
        pytest.importorskip(package)
    texts = gecjury.read_corpus(files[0], files[1:], ["ref.txt"], "gold.m2")
    result = gecjury.attack(texts, metric, Attack(victims=("fixed",), resampling=FEW))
    rows = {row["attack"]: row for row in result.rows()}
    assert set(rows) == {name for name, each in PERTURBATIONS.items() if not each.for_judges}
    for row in rows.values():
        assert row["missing"] == 0
        assert row["compared"] + row["unchanged"] == 3
    assert rows["empty"]["after"] < rows["empty"]["before"]
    assert (rows["white-space"]["equal"], rows["white-space"]["verdict"]) == (1, "does not see it")


# --- the command -----------------------------------------------------------------------------


def document(shell: Shell, *argv: str, status: int = 0) -> dict[str, Any]:
    printed: dict[str, Any] = json.loads(
        shell.ended("attack", *argv, "--format", "json", status=status)[0]
    )
    return printed


def test_the_command_prints_what_the_function_gives(shell: Shell, files: list[str]) -> None:
    texts = gecjury.read_corpus(files[0], files[1:], ["ref.txt"])
    settings = Attack(attacks=("shuffle", "swap"), victims=("fixed",), resampling=FEW, seed=3)
    result = gecjury.attack(texts, "green", settings)
    words = [*files, "-m", "green", "-r", "ref.txt", "--attack", "shuffle", "--attack", "swap"]
    words += ["--system", "fixed", "--resamples", "20", "--seed", "3"]
    own = document(shell, *words)
    assert own["inputs"] == files
    expected = json.loads(to_json(result.document()))
    assert {**own, "seconds": {}, "inputs": []} == {**expected, "seconds": {}}
    assert own["systems"] == ["fixed"]
    assert [one["name"] for one in own["attacks"]] == ["shuffle", "swap"]
    assert [row["verdict"] for row in own["rows"]] == ["sees it", "sees it"]
    row = own["rows"][0]
    assert (row["metric"], row["family"], row["outranks"]) == ("green", "refbased", 0)
    assert row["net"] == pytest.approx(row["higher"] - row["lower"])
    assert row["higher"] + row["equal"] + row["lower"] == pytest.approx(1)
    out = shell.ended("attack", *words)[0]
    assert "Damaged and undamaged, 3 sentences, 1 systems" in out
    assert "green sees all of it" in out


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


def test_moved_lines_of_damaged_outputs_are_not_reported() -> None:
    sources = ("He go home .", "I likes cats & dogs .", "She are here .", "This is fine .")
    texts = ("He goes home .", "I like cats & dogs .", "She is here .", "This is fine .")
    corpus = gecjury.corpus_of_texts(sources, {"mine": texts}, [texts])
    result = gecjury.attack(corpus, "green", Attack(attacks=("similar", "another")))
    assert result.notes == ()


def test_judge_requests_are_counted_and_judges_get_order_attacks(
    shell: Shell, files: list[str]
) -> None:
    pytest.importorskip("openai")
    argv = [*files[:2], "-m", "llm-s:model=gpt-6-luna", "--dry-run", "--no-cache"]
    argv += ["--format", "json"]
    result = json.loads(shell("attack", *argv, "--attack", "order")[1])
    # One request per sentence, with its text, its source and the damaged text side by side.
    assert result["requests"] == 3
    every = json.loads(shell("attack", *argv)[1])
    assert every["requests"] == 3 * len(PERTURBATIONS)


def test_unknown_names_are_refused(corpus: Corpus) -> None:
    with pytest.raises(OptionError, match="unknown attack 'shufle': did you mean shuffle"):
        Attack(attacks=("shufle",))
    with pytest.raises(OptionError, match="`system='fixd'`: did you mean fixed"):
        gecjury.attack(corpus, "green", Attack(victims=("fixd",)))
