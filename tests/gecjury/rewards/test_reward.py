"""Rewards: both kinds of calls, scales, guards and refusals."""

from __future__ import annotations

import time
from typing import Any

import pytest

from gecjury.core.errors import InputError, OptionError
from gecjury.rewards import GUARDS, Guard, reward
from gecjury.scoring.registry import load
from gecjury.studies.attack.perturbations import PERTURBATIONS, Victim, perturb

SOURCE = ["He go home now .", "This are a sentence ."]
GOOD = ["He goes home now .", "This is a sentence ."]


def test_plain_lists_give_the_metrics_sentence_scores() -> None:
    score = reward("green", guards="none")
    texts = [GOOD[0], SOURCE[1]]
    table = load("green").score(SOURCE, {"x": texts}, [GOOD])
    assert score(SOURCE, texts, GOOD) == table.sentences[0].tolist()


def test_the_call_that_trainers_make() -> None:
    score = reward("green")
    logged: dict[str, float] = {}
    rewards = score(
        prompts=["Correct: a", "Correct: b", "Correct: c"],
        completions=[
            [{"role": "assistant", "content": GOOD[0]}],
            [{"role": "assistant", "content": [{"type": "text", "text": ""}]}],
            [{"role": "assistant", "content": None}],
        ],
        completion_ids=[[1], [2], [3]],
        source=[SOURCE[0], SOURCE[0], SOURCE[0]],
        references=[[GOOD[0]], [GOOD[0]], GOOD[0]],
        trainer_state=object(),
        log_metric=logged.__setitem__,
    )
    assert rewards == [*score([SOURCE[0]] * 2, [GOOD[0], ""], [GOOD[0]] * 2), None]
    assert rewards[0] == 1.0
    assert rewards[1] is not None
    assert rewards[1] < -0.4
    assert logged["guards/empty"] == 0.5
    assert score.__name__ == "gecjury_green"


@pytest.mark.security
@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\x0b", "\x85", "\u2028"])
def test_a_line_break_in_a_completion_is_a_blank(line_break: str) -> None:
    seen: list[str] = []
    guard = Guard("seen", "what was seen", lambda s, text, r: bool(seen.append(text)), 1)
    texts = [line_break.join(GOOD[0].split()), f"{line_break}{GOOD[1]}{line_break}"]
    score = reward("green", guards=guard)
    assert score(SOURCE, texts, GOOD) == score(SOURCE, GOOD, GOOD)
    assert seen == [*GOOD, *GOOD]


def test_rows_may_have_different_numbers_of_references() -> None:
    score = reward("gleu", guards="none")
    mixed = score(SOURCE, GOOD, [[GOOD[0], SOURCE[0]], GOOD[1]])
    assert mixed == [
        *score(SOURCE[:1], GOOD[:1], [[GOOD[0], SOURCE[0]]]),
        *score(SOURCE[1:], GOOD[1:], GOOD[1:]),
    ]
    assert mixed[0] != mixed[1]


def test_scales() -> None:
    texts = [GOOD[0], SOURCE[0], GOOD[0], SOURCE[0]]
    sources = [SOURCE[0]] * 4
    plain = reward("changes", guards="none")
    assert plain(sources, texts) == [1.0, 0.0, 1.0, 0.0]
    assert reward("changes", scale="z", guards="none")(sources, texts) == [1.0, -1.0, 1.0, -1.0]
    assert reward("changes", scale="z", guards="none")(sources[:1], texts[:1]) == [0.0]
    assert reward("changes", scale=(0, 0.5), guards="none")(sources, texts)[0] == 1.0
    assert reward("changes", scale=(-1, 1), guards="none")(sources, texts)[1] == 0.5
    double = reward("changes", scale=lambda scores: [2 * s for s in scores], guards="none")
    assert double(sources, texts)[0] == 2.0
    with pytest.raises(OptionError, match="expected one number per score"):
        reward("changes", scale=lambda scores: [1.0])(sources, texts)


SENTENCE = "He go home now with the dog ."
FIXED = "He goes home now with the dog ."


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("empty", ""),
        ("copied", SENTENCE),
        ("doubled", f"{FIXED} {FIXED}"),
        ("doubled", FIXED.replace("home", "home home")),
        ("appended", f"{FIXED} I would like to thank you ."),
        ("appended", f"I would like to say : {FIXED}"),
        ("unrelated", "This is a very good idea ."),
        ("foreign", FIXED.replace("o", "\u043e")),
        ("foreign", FIXED.replace("go", "g\u200bo")),
        ("length", " ".join(f"w{number}" for number in range(40))),
        ("length", f"{FIXED} {'ab' * 2500}"),
        ("length", FIXED.replace(".", "ab" * 20)),  # also in a long text
        ("appended", f"So he says {FIXED} and so on"),
        ("strange", "He go home I would like to thank you for your help ."),
        ("unrelated", FIXED.replace(" ", "\u2026")),
        ("foreign", FIXED.replace(" ", "\u2026")),
        ("foreign", FIXED.replace("e", "e\u0301")),
        ("foreign", FIXED.replace("e", "e\u0333")),
        ("foreign", FIXED.replace("o", "\u00f3")),
        ("disguised", FIXED.upper()),
        ("disguised", FIXED.replace("o", "0").replace("e", "3")),
    ],
)
def test_guards_hit_what_they_guard_against(name: str, text: str) -> None:
    assert GUARDS[name].rule(SENTENCE, text, [FIXED])
    alone = reward("changes", guards={name: 50.0})
    (lost,) = alone([SENTENCE], [text], [FIXED])
    (kept,) = reward("changes", guards="none")([SENTENCE], [text], [FIXED])
    assert lost is not None
    assert kept is not None
    assert lost == kept - 50


@pytest.mark.parametrize(
    ("source", "text", "references"),
    [
        (SENTENCE, FIXED, [FIXED]),
        ("All is well .", "All is well .", ["All is well ."]),
        (SENTENCE, SENTENCE, []),  # no reference says that it needs a change
        ("He had had it .", "He had had a dog .", ["He had had a cat ."]),
        ("Go !", "Please go away !", ["Please go away !"]),
        ("He like caf\u00e9 .", "He likes caf\u00e9s , na\u00efvely .", ["He likes caf\u00e9s ."]),
        ("I no go .", "I do not want to go .", ["I am not going ."]),
        ("i like usa and nasa .", "I like USA and NASA .", []),
        ("I LOVE YOU .", "I love you .", []),
        ("In 1990 s , he was 1 .", "In the 1990s , he was 1st .", []),
        ('He says " no " - why ?', "He says \u201cno\u201d \u2013 why ?", []),
        (
            "\u010cesky mluv\u00edm p\u0159ilis .",
            "\u010cesky mluv\u00edm p\u0159\u00edli\u0161 .",
            [],
        ),
        (
            "\u50d5\u3001\u5bff\u53f8\u98df\u3079\u308b\u3002",
            "\u50d5\u306f\u5bff\u53f8\u3092\u98df\u3079\u305f\u3002",
            [],
        ),
    ],
)
def test_guards_leave_honest_corrections(source: str, text: str, references: list[str]) -> None:
    hit = [name for name, guard in GUARDS.items() if guard.rule(source, text, references)]
    assert hit == []


DAMAGES = ["half", "both-ends", "long-word", "ellipses", "digits", "accents", "acute", "upper-case"]


@pytest.mark.parametrize("attack", DAMAGES)
@pytest.mark.parametrize(
    ("source", "reference"),
    [
        ("He go home with a dog .", "He goes home with a dog ."),
        ("This are a example of the sentence .", "This is an example of a sentence ."),
        ("All is well today .", "All is well today ."),
    ],
)
def test_damaged_texts_score_below_the_copy_and_the_reference(
    attack: str, source: str, reference: str
) -> None:
    victim = Victim([source], [reference])
    (damaged,) = perturb(PERTURBATIONS[attack], victim)
    green, changes = reward("green"), reward("changes", scale=(0, 5))
    for score, worse in ((green, source), (changes, reference)):
        below, above = score([source] * 2, [damaged, worse], [reference] * 2)
        assert below is not None
        assert above is not None
        assert below < above


@pytest.mark.parametrize(
    "text", ["the cat " * 3_000, "a b " * 3_000, " ".join(f"w{n}" for n in range(6_000))]
)
def test_guards_take_little_time_for_long_repetitive_texts(text: str) -> None:
    # `unrelated` took 2 seconds for 800 repeated words and 20 for 1,600.
    start = time.perf_counter()
    for guard in GUARDS.values():
        guard.rule(f"the dog {text}", f"a {text} end", [])
    assert time.perf_counter() - start < 5


def test_all_settings_are_in_the_signature() -> None:
    full = str(reward("green:beta=1", scale=(0, 1)).signature)
    assert full.startswith("reward|green|n=4,unit=word,beta=1.0|v2|scale=0..1|guards=empty=1.2+")
    assert "copied=0.1" in full
    assert all(f"{name}=" in full for name in GUARDS)
    assert "empty=3.6+" in str(reward("green", scale="z").signature)
    own = Guard("shouting", "capitals", lambda s, t, r: t.isupper(), 2)
    assert "guards=shouting=2|" in str(reward("green", guards=own).signature)
    assert "guards=none|" in str(reward("green", guards=None).signature)


def test_no_texts_give_no_rewards() -> None:
    score = reward("green")
    assert score([], []) == []
    assert score(prompts=[], completions=[]) == []
    assert score(SOURCE, [None, None], GOOD) == [None, None]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "no texts to reward"),
        ({"completions": GOOD, "prompts": GOOD}, "no sources: .*column `source`"),
        ({"sources": SOURCE, "hypotheses": GOOD[:1]}, "1 texts for 2 sources"),
        ({"sources": [None, "a"], "hypotheses": GOOD}, r"sources\[0\]: None is not a text"),
        ({"sources": SOURCE, "hypotheses": [1, 2]}, r"hypotheses\[0\]: 1 is not a text"),
        ({"sources": SOURCE, "hypotheses": [[], []]}, "is not a conversation"),
        ({"sources": "He go .", "hypotheses": GOOD}, "sources: a str; expected a list"),
        ({"sources": SOURCE, "hypotheses": GOOD}, "green needs references, and row 0 has none"),
        ({"sources": SOURCE, "hypotheses": GOOD, "references": GOOD[:1]}, "1 rows of references"),
        (
            {"sources": SOURCE, "hypotheses": GOOD, "references": [GOOD[0], None]},
            "row 1 has none",
        ),
    ],
)
def test_calls_that_make_no_sense_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        reward("green")(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"metric": "gotoscorer"}, "gotoscorer weighs systems against each other"),
        ({"metric": "m2"}, "m2 reads M2 files"),
        ({"metric": "green", "scale": "percent"}, 'expected "none", "z"'),
        ({"metric": "green", "scale": (1, 0)}, "the lower first"),
        ({"metric": "green", "scale": (0, float("inf"))}, "the lower first"),
        ({"metric": "green", "guards": "emtpy"}, "unknown guard 'emtpy': did you mean empty"),
        ({"metric": "green", "guards": ["empty", "empty"]}, "guard empty: named twice"),
        ({"metric": "green", "guards": {"empty": -1}}, "penalty -1; expected a number from 0"),
        ({"metric": "scores:file=x.csv"}, "a reward needs scores of new texts"),
    ],
)
def test_impossible_rewards_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        reward(**arguments)
