"""LLM-S, LLM-E and the other protocols with a fake model inside the test."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.languages.language import language_of
from gecjury.judges.exchange import Attempt, Reply, TokenLogprob
from gecjury.judges.judge import load_wording
from gecjury.judges.llm import LLMS
from gecjury.judges.own_wording import SHORT
from gecjury.judges.replies.forms import CHOICE
from gecjury.prompts import prompt_text
from gecjury.scoring.registry import load
from tests.judges.conftest import FakeModel
from tests.judges.faultserver import score_of, targets_of

# --- what is asked ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("llm-s", ""),
        ("llm-s:criterion=grammaticality", "focus on the grammaticality of the sentence."),
        ("llm-s:criterion=fluency", "focus on the fluency of the sentence."),
        ("llm-s:criterion=meaning", "focus on preserving the meaning between"),
        ("llm-e", ""),
        ("llm-e:criterion=difficulty", "focus on the difficulty of corrections."),
        ("llm-e:criterion=impact", "focus on its impact on the sentence."),
        ("llm-s:protocol=pointwise,criterion=fluency", "focus on the fluency of the sentence."),
        ("llm-e:protocol=pairwise,criterion=impact", "focus on its impact on the sentence."),
    ],
)
def test_a_criterion_is_in_every_prompt(
    model: FakeModel, marked_corpus: Corpus, name: str, sentence: str
) -> None:
    model.score(name, marked_corpus)
    assert model.prompts
    for prompt in model.prompts:
        assert prompt.count("Please evaluate") == bool(sentence)
        assert sentence in prompt.partition("# context")[0]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "llm-s:criterion=impact",
            "unknown criterion of llm-s 'impact'.*grammaticality, fluency, meaning",
        ),
        ("llm-e:criterion=fluency", "unknown criterion of llm-e 'fluency'.*difficulty, impact"),
        ("llm-s:criterion=fluancy", "did you mean fluency"),
        ("llm-s:orders=0", "orders=0: expected 1 or more"),
        ("llm-s:protocol=pairwise,orders=3", "orders=3: expected 1 to 2"),
        ("llm-s:protocol=pointwise,orders=2", "orders=2: expected 1 to 1"),
        ("llm-s:repeats=0", "repeats=0"),
        ("llm-s:temperature=3", "temperature=3.0"),
        ("llm-s:max_tokens=0", "max_tokens=0"),
        ("llm-s:backend=ollama", "unknown backend of llm-s 'ollama'.*openai, vllm"),
        ("llm-s:model=a+b+c,base_url=x+y", "base_url names 2, model 3"),
        ("llm-s:tries=0", "tries=0"),
    ],
)
def test_wrong_options(name: str, message: str) -> None:
    with pytest.raises(OptionError, match=message):
        load(name)


@pytest.fixture
def marked_corpus() -> Corpus:
    """Hypotheses whose edits are given, so that none have to be extracted."""
    return Corpus(
        ("She go to school .", "I likes [ sic ] cats .", "He is here ."),
        {
            "a": Version(
                ("She goes to school .", "I like [ sic ] cats .", "He is here ."),
                ((Edit(1, 2, "goes"),), (Edit(1, 2, "like"),), ()),
            ),
            "b": Version(
                ("She go to the school .", "I likes cats → .", "He here ."),
                ((Edit(3, 3, "the"),), (Edit(2, 5, ""), Edit(6, 6, "→")), (Edit(1, 2, ""),)),
            ),
        },
        contexts=(("", "I likes [ sic ] cats ."), ("She go .", "He is ."), ("I likes .", "")),
    )


def test_llm_e_shows_edits_in_brackets_with_the_context(
    model: FakeModel, marked_corpus: Corpus
) -> None:
    model.score("llm-e", marked_corpus)
    assert [sorted(targets_of(prompt)) for prompt in model.prompts] == [
        ["She [go→goes] to school .", "She go to [→the] school ."],
        # an arrow in the text itself is not an edit
        ["I [likes→like] [ sic ] cats .", "I likes [[ sic ]→] cats [→->] ."],
        # a correction without edits has its own line, which is not blank
        ["He [is→] here .", "He is here ."],
    ]
    context = "# context\nShe go .\nI likes [ sic ] cats .\nHe is .\n\n# targets"
    assert context in model.prompts[1]
    # at the edge of a document the source is still the middle one of three lines
    assert "# context\n\nShe go to school .\nI likes [ sic ] cats .\n\n" in model.prompts[0]


def test_contexts_by_option(
    model: FakeModel, corpus: Corpus, runtime: Runtime, tmp_path: Path
) -> None:
    model.score("llm-s", corpus)
    assert "# context\nI likes cats .\n\n# targets" in model.prompts[1]
    model.score("llm-s:context=neighbours", corpus)
    block = "# context\nShe go to school .\nI likes cats .\nHe is here .\n\n"
    assert block in model.prompts[4]
    file = tmp_path / "context.txt"
    file.write_text("p0\tn0\np1\tn1\np2\tn2\n")
    scorer = model.load("llm-s", context=str(file))
    scorer.score_corpus(corpus, runtime)
    assert "# context\np1\nI likes cats .\nn1\n\n" in model.prompts[7]
    first = scorer.signature(corpus, runtime)
    file.write_text("p0\tn0\np1\tn1\np2\tother\n")
    assert scorer.signature(corpus, runtime).key != first.key
    with_contexts = replace(corpus, contexts=(("", "x"), ("y", "z"), ("w", "")))
    model.score("llm-s:context=none", with_contexts)
    assert len(model.attempts) == 9  # the first run's answers are reused


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\tb\n", "1 lines, but there are 3"), ("a\tb\nno tab\na\tb\n", "line 2: expected two")],
)
def test_bad_context_files(
    corpus: Corpus, runtime: Runtime, tmp_path: Path, text: str, message: str
) -> None:
    (tmp_path / "c.txt").write_text(text)
    with pytest.raises(ValueError, match=message):
        load("llm-s:model=m", context=str(tmp_path / "c.txt")).score_corpus(corpus, runtime)
    with pytest.raises(ValueError, match="no such file; expected corpus, neighbours"):
        load("llm-s:model=m", context="nowhere").plan(corpus, runtime)


def test_more_than_five_are_split_and_all_are_judged(model: FakeModel) -> None:
    texts = [f"Version {number} ." for number in range(13)]
    corpus = Corpus(
        ("Source .",), {f"s{n}": Version((text,)) for n, text in enumerate([*texts, texts[0]])}
    )
    table = model.score("llm-s", corpus)
    shown = [targets_of(prompt) for prompt in model.prompts]
    assert all(len(targets) <= 5 for targets in shown)
    assert {text for targets in shown for text in targets} == set(texts)
    assert table.sentences[:, 0].tolist() == [score_of(text) for text in [*texts, texts[0]]]
    # candidates are not always in alphabetical order
    assert any(targets != sorted(targets) for targets in shown)


def drawn_corpus(*names: str) -> Corpus:
    """Twenty sources, with one text per system and source."""
    count = range(20)
    return Corpus(
        tuple(f"Source {row} ." for row in count),
        {name: Version(tuple(f"{name} {row} ." for row in count)) for name in names},
    )


@pytest.mark.parametrize("protocol", ["listwise", "pairwise"])
@pytest.mark.parametrize("names", [("mine", "theirs"), tuple("abc")])
def test_no_system_owns_a_position(model: FakeModel, protocol: str, names: tuple[str, ...]) -> None:
    name = f"llm-s:protocol={protocol}"
    corpus = drawn_corpus(*names)
    table = model.score(name, corpus)
    request_count = len(model.attempts)
    if protocol == "listwise":
        first = {targets_of(prompt)[0].split()[0] for prompt in model.prompts}
        assert first == set(names)
    # The order of the names and the place in the corpus change no question; the seed does.
    swapped = model.score(name, drawn_corpus(*names[::-1]))
    assert len(model.attempts) == request_count
    assert np.array_equal(swapped.sentences[::-1], table.sentences)
    part = Corpus(corpus.sources[7:9], {name: v.take([7, 8]) for name, v in corpus.systems.items()})
    model.score(name, part)
    assert len(model.attempts) == request_count
    if protocol == "listwise":
        order = [targets_of(prompt) for prompt in model.prompts]
        model.attempts.clear()
        model.score(name, corpus, seed=1)
        assert [targets_of(prompt) for prompt in model.prompts] != order


def test_a_judge_without_a_model_is_refused_with_an_example(corpus: Corpus) -> None:
    with pytest.raises(OptionError, match="name the model to ask: -m llm-s:backend=vllm,model="):
        load("llm-s:backend=vllm").check(corpus)
    for name in ("llm-s", "llm-e", "edit-verdict", "llm-s:backend=openai+vllm"):
        scorer = load(name)
        assert scorer.settings()["model"] is None
        message = (
            rf"{scorer.name}: name the model to ask, e\.g\. -m {scorer.name}:model=gpt-6-luna "
            r"\(0\.10 in, 0\.50 out, USD per million tokens, prices of \d{4}-\d\d-\d\d\); "
            r"with `dry_run=True`"
        )
        for work in (scorer.score_corpus, scorer.check, lambda c, s=scorer: s.plan(c, Runtime())):
            with pytest.raises(OptionError, match=message):
                work(corpus)


def test_identical_sets_are_asked_once_whatever_their_order(
    model: FakeModel, corpus: Corpus
) -> None:
    groups = (
        Group("1", 0, (("a", "c"), ("b",))),
        Group("2", 0, (("b",), ("a",))),
        Group("3", 0, (("a",),)),
        Group("4", 1, (("a", "b"), ("c",))),
    )
    table = model.score("llm-s", replace(corpus, groups=groups))
    assert len(model.attempts) == 3
    items = table.statistics.items
    assert items is not None
    goes, the = score_of("She goes to school ."), score_of("She go to the school .")
    assert items[:, 0].tolist() == [goes, the, goes]
    assert items[:2, 1].tolist() == [goes, the]
    assert np.isnan(items[2, 1])


def test_the_annotators_order_is_kept(model: FakeModel) -> None:
    corpus = drawn_corpus("theirs", "mine")
    groups = tuple(Group(str(row), row, (("theirs",), ("mine",))) for row in range(len(corpus)))
    model.score("llm-s", replace(corpus, groups=groups))
    assert {targets_of(prompt)[0].split()[0] for prompt in model.prompts} == {"theirs"}


# --- orders, repeats, protocols, scoring, panels ------------------------------------------------


def positional(attempt: Attempt) -> Reply:
    """A model that looks only at the position: 5 for the first, 1 for the last of five."""
    targets = targets_of(str(attempt.request.messages[0]["content"]))
    scores = {f"target{i + 1}_score": 5 - i for i in range(len(targets))}
    return Reply(json.dumps(scores), "stop", 1, 1)


def test_an_even_number_of_orders_cancels_a_linear_position_bias(model: FakeModel) -> None:
    corpus = Corpus(("S .",), {f"s{n}": Version((f"v {n}",)) for n in range(5)})
    model.say = positional
    one = model.score("llm-s", corpus)
    assert sorted(one.sentences[:, 0]) == [1, 2, 3, 4, 5]
    four = model.score("llm-s:orders=4", corpus)
    assert four.sentences[:, 0].tolist() == [3.0] * 5
    assert len(model.attempts) == 4  # order 0 was known from the first run
    audit = four.statistics.details["audit"]["members"][0]
    # order 1 is the reverse of order 0, so at least all 10 pairs of these two flip
    assert audit["flips"]["compared"] == math.comb(4, 2) * 10
    assert audit["flips"]["flipped"] >= 20 / 60
    assert [row["mean"] for row in audit["positions"]] == [5, 4, 3, 2, 1]
    assert [row["distance"] for row in audit["positions"]] == [2, 1, 0, -1, -2]


def test_repeats_have_separate_seeds_and_are_averaged(model: FakeModel) -> None:
    corpus = Corpus(("S .",), {"x": Version(("v 1",)), "y": Version(("v 2",))})

    def say(attempt: Attempt) -> Reply:
        targets = targets_of(str(attempt.request.messages[0]["content"]))
        scores = {"v 1": 2 + attempt.request.repeat, "v 2": 1}
        return Reply(json.dumps({f"target{n}_score": scores[t] for n, t in enumerate(targets, 1)}))

    model.say = say
    table = model.score("llm-s:repeats=3,temperature=0.7", corpus)
    assert [p.sampling["seed"] for p in model.attempts] == [0, 1, 2]
    assert table.sentences[:, 0].tolist() == [3.0, 1.0]  # (2 + 3 + 4) / 3, 1
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["repeat_agreement"] == {"compared": 6, "equal": 0.5}
    assert audit["histogram"] == {"1": 3, "2": 1, "3": 1, "4": 1}


def test_pointwise_asks_each_correction_once(model: FakeModel, corpus: Corpus) -> None:
    table = model.score("llm-s:protocol=pointwise", corpus)
    assert len(model.attempts) == 6  # 2 distinct corrections of each source
    assert table.sentences.tolist() == [
        [float(score_of(text)) for text in version.lines] for version in corpus.systems.values()
    ]


def test_pairwise_counts_points_and_leaves_out_sentences_without_comparisons(
    model: FakeModel,
) -> None:
    texts = ["v a", "v b", "v c"]
    corpus = Corpus(("S .", "T ."), {t: Version((t, "same")) for t in texts})
    table = model.score("llm-s:protocol=pairwise,orders=2", corpus)
    assert len(model.attempts) == 2 * 3
    ranks = {text: score_of(text) for text in texts}

    def points(text: str) -> float:
        rivals = [other for other in texts if other != text]
        won = sum(0.5 * (ranks[text] == ranks[r]) + (ranks[text] > ranks[r]) for r in rivals)
        return won / 2

    assert table.sentences[:, 0].tolist() == [points(text) for text in texts]
    # all systems agree on the second sentence: without a comparison it is missing, not a tie
    assert np.isnan(table.sentences[:, 1]).all()


def tokens_with(
    text: str, alternatives: dict[int, list[tuple[str, float]]]
) -> tuple[TokenLogprob, ...]:
    """Return one token per character, with alternatives at some positions."""
    return tuple(
        (c, tuple((t, math.log(p)) for t, p in alternatives.get(i, [(c, 1.0)])))
        for i, c in enumerate(text)
    )


def test_expected_scores_weigh_the_score_tokens(model: FakeModel) -> None:
    text = '{"target1_score":4,"target2_score":2}'
    # 4 with .5, 5 with .25, and .25 on something else: (4·.5 + 5·.25) / .75 = 13/3
    places = {
        text.index("4"): [("4", 0.5), ("5", 0.25), ("9", 0.25)],
        text.rindex("2"): [("2", 1.0)],
    }
    model.say = lambda attempt: Reply(text, "stop", 1, 1, tokens_with(text, places))
    corpus = Corpus(("S .",), {"x": Version(("v 1",)), "y": Version(("v 2",))})
    table = model.score("llm-s:scoring=expected", corpus)
    shown = targets_of(model.prompts[0])
    scores = dict(zip(("v 1", "v 2"), table.sentences[:, 0], strict=True))
    assert scores[shown[0]] == pytest.approx(13 / 3, abs=1e-12)
    assert scores[shown[1]] == 2
    assert model.attempts[0].sampling["logprobs"] == 20


@pytest.mark.parametrize(
    ("tokens", "at"),
    [
        # the word alone, with its quotes, or with the quote in front of it
        (('{"better":"', "A", '"}'), "{}"),
        (('{"better":', '"A"', "}"), '"{}"'),
        (('{"better":', ' "A', '"}'), ' "{}'),
    ],
)
def test_expected_points_of_a_pair_weigh_its_answers(tokens: tuple[str, ...], at: str) -> None:
    # "Answer" continues as another word and counts no more than "9": .6 + .1 + .1 are left
    words = {"A": 0.6, "B": 0.1, "tie": 0.08, "t": 0.02, "Answer": 0.15, "9": 0.05}
    top = tuple((at.format(word), math.log(p)) for word, p in words.items())
    logprobs = tuple((t, top if "A" in t else ((t, 0.0),)) for t in tokens)
    verdict = CHOICE.read_expected(Reply("".join(tokens), "stop", 1, 1, logprobs))
    if at.endswith('"'):
        # "t" cannot continue after its quote: (.6 + ½ · .08) / .78
        assert verdict == pytest.approx([0.64 / 0.78, 0.14 / 0.78])
    else:
        # (.6 + ½ · (.08 + .02)) / .8 and (.1 + ½ · (.08 + .02)) / .8
        assert verdict == pytest.approx([0.8125, 0.1875])


def test_expected_pairwise_averages_both_orders(model: FakeModel) -> None:
    def say(attempt: Attempt) -> Reply:
        # The text shown first is better with .7, a tie has .2; "v 1" itself adds .1.
        prompt = str(attempt.request.messages[0]["content"])
        own = 0.1 if prompt.index("v 1") < prompt.index("v 2") else -0.1
        words = {"A": 0.7 + own, "tie": 0.2, "B": 0.1 - own}
        text = '{"better":"A"}'
        places = {text.index("A"): [(word, max(p, 1e-12)) for word, p in words.items()]}
        return Reply(text, "stop", 1, 1, tokens_with(text, places))

    model.say = say
    corpus = Corpus(("S .",), {"x": Version(("v 1",)), "y": Version(("v 2",))})
    name = "llm-s:protocol=pairwise,scoring=expected,orders=2"
    table = model.score(name, corpus)
    assert len(model.attempts) == 2
    # "v 1" first: .8 + ½ · .2 = .9; second: .2 + ½ · .2 = .3; the mean of both orders is .6
    assert table.sentences[:, 0].tolist() == pytest.approx([0.6, 0.4])
    audit = table.statistics.details["audit"]["members"][0]
    assert audit["flips"] == {"compared": 1, "flipped": 1.0, "changed": 1.0, "chance": 0.5}


def test_expected_scores_without_probabilities_are_refused(
    model: FakeModel, corpus: Corpus, runtime: Runtime
) -> None:
    with pytest.raises(OptionError, match="the backend returned none"):
        model.score("llm-s:scoring=expected", corpus)
    with pytest.raises(OptionError, match="returns no token probabilities"):
        model.load("llm-s:scoring=expected,model=gpt-5").plan(corpus, runtime)


@pytest.mark.parametrize(("panel", "score"), [("mean", 3.0), ("median", 3.5), ("majority", 4.0)])
def test_a_panel_is_one_scorer(
    model: FakeModel, runtime: Runtime, panel: str, score: float
) -> None:
    said = {"a": 1, "b": 4, "c": 4, "d": 3}
    model.say = lambda attempt: Reply(json.dumps({"target1_score": said[attempt.request.model]}))
    corpus = Corpus(("S .",), {"x": Version(("v 1",))})
    table = model.score(f"llm-s:model=a+b+c+d,panel={panel}", corpus)
    assert table.sentences.tolist() == [[score]]
    assert len(table.statistics.details["audit"]["members"]) == 4
    # each model has its own store, so that replies are never mixed
    assert len(list(runtime.cache_folder("judgments").glob("*.jsonl"))) == 4
    # half a panel gives no score
    model.say = lambda attempt: (
        Reply("no") if attempt.request.model == "d" else Reply('{"target1_score": 4}')
    )
    other = replace(corpus, sources=("T .",))
    assert model.score(f"llm-s:model=a+d,tries=1,panel={panel}", other).missing == 1


def test_edit_verdict_is_the_share_of_valid_edits(model: FakeModel, marked_corpus: Corpus) -> None:
    model.say = lambda attempt: Reply(
        json.dumps({"valid": "[→the]" in model_edit(attempt) or "goes" in model_edit(attempt)})
    )
    table = model.score("edit-verdict", marked_corpus)
    # a: "goes" is valid, "like" is not, no edit; b: "the" is valid, the other edits are not
    np.testing.assert_array_equal(table.sentences, [[1.0, 0.0, math.nan], [1.0, 0.0, 0.0]])
    shown = [p.partition("# correction, with")[2].split("\n")[2] for p in model.prompts]
    # the other edits are applied, and only the one in question is marked
    assert "I likes [[ sic ]→] cats -> ." in shown
    assert "I likes cats [→->] ." in shown


def model_edit(attempt: Attempt) -> str:
    """The edit that a prompt asks about."""
    prompt = str(attempt.request.messages[0]["content"])
    return prompt.partition("# the edit\n")[2].split("\n")[1]


# --- the real benchmark -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def seeda(data_dir: Path) -> Any:
    return load_benchmark("seeda", data=data_dir)


def test_seeda_groups_are_the_human_ranking_items(
    model: FakeModel, seeda: Any, runtime: Runtime
) -> None:
    judge = model.load("llm-s")
    plan = judge.plan(seeda.corpus, runtime)
    assert (plan.details["posed"], plan.requests) == (600, 555)
    table = judge.score_corpus(seeda.corpus, runtime)
    items = seeda.rankings["edit"]
    everything = load_benchmark("seeda", systems="all", data=_root()).corpus
    shown: dict[str, frozenset[str]] = {}
    for item in items:
        texts = [everything.systems[place[0]].lines[item.sentence] for place in item.groups]
        shown[f"{item.annotator}.{item.item_id}"] = frozenset(texts)
    judged = {frozenset(targets_of(prompt)) for prompt in model.prompts}
    # 600 items; corrections of systems outside the set are shown as annotators saw them
    assert len(seeda.corpus.groups) == 600
    assert judged == {shown[group.id] for group in seeda.corpus.groups}
    assert len(model.attempts) == 555
    assert max(len(targets) for targets in shown.values()) == 5
    # every line of the benchmark is shown unchanged: cleaning changes none
    assert table.statistics.items is not None
    lines = {line for v in everything.systems.values() for line in v.lines}
    assert {text for targets in judged for text in targets} <= lines
    # the neighbours are in every prompt
    contexts = seeda.corpus.contexts
    for prompt in model.prompts:
        block = prompt.partition("# context\n")[2].partition("\n\n# targets")[0].split("\n")
        assert (block[0], block[2]) in contexts


def _root() -> Path:
    import os

    named = os.environ.get("GECJURY_DATA")
    return Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"


@pytest.mark.slow
def test_edit_verdicts_are_compared_with_the_annotators(
    model: FakeModel, seeda: Any, data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from gecjury.cli import main
    from gecjury.metaeval.edits.cases import edit_cases

    # A model that accepts an edit unless it deletes something.
    model.say = lambda attempt: Reply(json.dumps({"valid": "→]" not in model_edit(attempt)}))
    name = "edit-verdict:backend=vllm,model=m"
    argv = ["compare", "seeda", "-m", name, "--level", "edit"]
    argv += ["--data", str(data_dir), "--cache", str(tmp_path), "--quiet"]
    assert main([*argv, "--dry-run", "--format", "json"]) == 0
    planned = json.loads(capsys.readouterr().out)["requests"]
    # Its verdicts are stored, so that the command finds them all and asks nothing.
    model.load(name).edit_scores(edit_cases(seeda), Runtime(cache=tmp_path))
    assert planned == len(model.attempts)
    assert main([*argv, "--dry-run", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["requests"] == 0
    assert main([*argv, "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["rows"]
    agreement = row["edit"]
    # 6,464 verdicts; those on the same edit of the same correction are one case
    assert agreement["cases"] + agreement["split"] + agreement["missing"] <= 6_464
    assert agreement["missing"] == 0
    assert agreement["valid"] > 0.85 * agreement["cases"]
    assert 0.4 < agreement["auc"] < 0.7


def filled(figure: str, benchmark: Any, group: Group, shown: Sequence[str], added: str) -> str:
    """Fill the placeholders of a published figure with a ranking item."""
    before, after = benchmark.corpus.contexts[group.sentence]
    source = benchmark.corpus.sources[group.sentence]
    text = figure.replace("[PREVIOUS]", before).replace("[SOURCE]", source)
    text = text.replace("[FOLLOWING]", after)
    first, second = "[CORRECTION 1]\n[CORRECTION 2]", figure.rpartition("{\n")[2].split("\n")[:2]
    text = text.replace(first, "\n".join(shown))
    lines = [second[0].replace("1", str(n + 1)) for n in range(len(shown))]
    text = text.replace("\n".join(second), "\n".join(lines))
    head, heading, rest = text.partition("\n\n# context")
    return f"{head}\n{added}{heading}{rest}" if added else text


@pytest.mark.parametrize(
    ("name", "criterion"),
    [("llm-s", None), ("llm-s", "fluency"), ("llm-e", None), ("llm-e", "impact")],
)
def test_a_seeda_item_is_the_published_figure_filled_in(
    model: FakeModel, seeda: Any, name: str, criterion: str | None
) -> None:
    from tests.prompts.test_prompts import FIGURE_2, FIGURE_3, SENTENCES

    if name == "llm-e":
        pytest.importorskip("errant")
    group = seeda.corpus.groups[0]
    model.score(name, replace(seeda.corpus, groups=(group,)), criterion=criterion)
    (prompt,) = model.prompts
    shown, texts = targets_of(prompt), seeda.corpus.group_texts(group)
    figure = FIGURE_3 if name == "llm-s" else FIGURE_2
    assert prompt == filled(figure, seeda, group, shown, SENTENCES[criterion] if criterion else "")
    # replacing every edit by its new side gives the corrections again
    for line, text in zip(shown, texts, strict=True):
        assert re.sub(r"\[([^\[\]]*)→([^\[\]]*)\]", r"\2", line).split() == text.split()


@pytest.mark.parametrize(
    "options",
    ["temperature=0.5", "seed=1", "max_tokens=99", "model=other", "criterion=fluency",
     "structured=text", "base_url=http://x/v1", "context=neighbours"],
)  # fmt: skip
def test_each_setting_that_affects_an_answer_has_separate_answers(
    model: FakeModel, options: str
) -> None:
    # Another package's cache used only the prompt as its key.
    corpus = Corpus(("S .", "T ."), {"x": Version(("v 1", "v 2"))})
    base = "llm-s:structured=schema" if options != "structured=text" else "llm-s:model=gpt-4o"
    model.score(base, corpus)
    joined = f"{base},{options}"
    model.score(joined, corpus)
    assert len(model.attempts) == 4
    model.score(joined, corpus)
    assert len(model.attempts) == 4


@pytest.mark.parametrize("before", ["", " ", ":", ': "'])
def test_a_score_token_may_include_the_characters_before_the_score(before: str) -> None:
    from gecjury.judges.replies.forms import scores_form

    head = '{"target1_score"'
    gap = ":" if before in ("", " ") else ""
    quote = '"' if '"' in before else ""
    tokens = [*head, *gap, f"{before}4", *quote, "}"]
    top = {"4": 0.1, f"{before}4": 0.6, f"{before}2": 0.2}
    logprobs = tuple(
        (t, tuple((k, math.log(p)) for k, p in top.items()))
        if t == f"{before}4"
        else (t, ((t, 0.0),))
        for t in tokens
    )
    reply = Reply("".join(tokens), "stop", 1, 1, logprobs)
    # A bare 4 is the same score as one after a blank, (4 · .7 + 2 · .2) / .9, but another token
    # where a sign comes before it, (4 · .6 + 2 · .2) / .8.
    mean = 3.2 / 0.9 if before == " " else 3.5
    assert scores_form(1).read_expected(reply) == [pytest.approx(mean)]


def test_expected_scores_without_a_token_count_as_written_and_are_counted(
    model: FakeModel, corpus: Corpus
) -> None:
    text = '{"target1_score":4,"target2_score":2}'
    # The first score's token has no alternative that is a score.
    places = {text.index("4"): [("?", 1.0)], text.rindex("2"): [("2", 0.5), ("3", 0.5)]}
    model.say = lambda attempt: Reply(text, "stop", 200, 1, tokens_with(text, places))
    for _ in range(2):  # from the model, and from the store
        table = model.score("llm-s:scoring=expected", corpus)
        assert np.unique(table.sentences).tolist() == [2.5, 4.0]
        audit = table.statistics.details["audit"]["members"][0]
        assert audit["settings"]["as_written"] == {"scores": 3, "of": 6}
        (note,) = table.statistics.notes
        assert note.startswith("m: 3 of 6 scores have no token with probabilities, and count as")
    assert len(model.attempts) == 3


JAPANESE = language_of("ja", tagger="none")
SOURCE_JA = "彼女は毎朝コーヒーを飲む。"
TOKENS_JA = "彼女 は 毎朝 コーヒー を 飲む 。"


def japanese(edits: bool) -> Corpus:
    """Two corrections of a sentence, as tokens of a tokeniser or with given edits."""
    corrections = {
        "a": ("彼女が毎朝コーヒーを飲む。", "彼女 が 毎朝 コーヒー を 飲む 。", Edit(1, 2, "が")),
        "b": (
            "彼女は毎朝コーヒーを飲みます。",
            "彼女 は 毎朝 コーヒー を 飲み ます 。",
            Edit(5, 6, "飲み ます"),
        ),
    }
    systems = {
        name: Version((tokens,), ((edit,),) if edits else None, text=None if edits else (text,))
        for name, (text, tokens, edit) in corrections.items()
    }
    text = None if edits else (SOURCE_JA,)
    return Corpus((TOKENS_JA,), systems, language=JAPANESE, source_text=text)


def test_other_languages_are_named_and_read_as_written(model: FakeModel, runtime: Runtime) -> None:
    judge = model.load("llm-s", model="m")
    table = judge.score_corpus(japanese(edits=False), runtime)
    (prompt,) = model.prompts
    assert (
        "from an essay written by a learner of Japanese. All sentences are in Japanese." in prompt
    )
    assert "English" not in prompt
    assert f"# context\n{SOURCE_JA}\n\n# targets\n" in prompt
    assert "\n彼女が毎朝コーヒーを飲む。\n" in prompt
    assert table.signature.extra["prompt"] == load_wording("sentence", None, JAPANESE).id
    assert table.signature.extra["prompt"].startswith("sentence.v2:")
    assert table.signature.extra["lang"] == "ja"
    assert model.attempts[0].request.prompt == table.signature.extra["prompt"]


@pytest.mark.parametrize(
    "name",
    ["llm-e", "llm-e:protocol=pointwise", "llm-e:protocol=pairwise", "edit-verdict"],
)
def test_edits_are_marked_without_blanks(model: FakeModel, runtime: Runtime, name: str) -> None:
    model.load(name, model="m").statistics(japanese(edits=True), runtime)
    prompt = "\n".join(model.prompts)
    assert "a learner of Japanese. All sentences are in Japanese." in prompt
    assert "\n彼女[は→が]毎朝コーヒーを飲む。\n" in prompt
    assert "\n彼女は毎朝コーヒーを[飲む→飲みます]。\n" in prompt
    assert ("\n[は→が]\n" in prompt) is (name == "edit-verdict")
    assert f"\n{SOURCE_JA}\n" in prompt
    assert '"the"' not in prompt


@pytest.mark.parametrize("own", [False, True])
def test_a_prompt_without_a_version_for_other_languages_is_asked_in_english(
    model: FakeModel, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: bool
) -> None:
    (tmp_path / "own.txt").write_text(prompt_text(SHORT))
    more = f",prompt={tmp_path / 'own.txt'}" if own else ""
    monkeypatch.setattr(LLMS, "usual_wording", SHORT)
    german = Corpus(("Er gehen .",), {"a": Version(("Er geht .",))}, language=language_of("de"))
    table = model.score(f"llm-s:protocol=pointwise{more}", german)
    assert "Grade the correction from 1" in model.prompts[0]
    note = "llm-s: the prompt short-grade is worded for English only"
    # Whoever writes a prompt knows its language.
    assert any(text.startswith(note) for text in table.statistics.notes) is not own
