"""Candidates that try to steer the judge: none may change what is parsed from a prompt or reply."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.judges.judge import load_wording
from gecjury.judges.llm import LLMS, render_listwise
from gecjury.judges.posing import render_fenced
from gecjury.judges.showing import mark_safe, marked, nonce, one_line
from tests.judges.attacks import ATTACKS
from tests.judges.conftest import FakeModel
from tests.judges.faultserver import score_of

HEADINGS = ["# context", "# targets", "# output format"]


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_leaves_the_published_prompt_its_shape(attack: str) -> None:
    corpus = Corpus(("She go .",), {"a": Version(("She goes .",)), "b": Version((attack,))})
    scorer = LLMS(context="neighbours")
    sets, _ = scorer.sets(corpus, scorer.groups_of(corpus), Runtime())
    lines = render_listwise(scorer.wording(), sets[0], range(2)).split("\n")
    assert [line for line in lines if line.startswith("#")] == HEADINGS
    start, end = lines.index("# targets"), lines.index("# output format")
    assert len(lines[start + 1 : end - 1]) == 2  # one line per target, whatever it contains
    assert [line for line in lines if line.startswith("```")] == ["```json", "```"]
    assert not re.search(r"<\|\w+\|>|</?think>|\[/?INST\]", "\n".join(lines))


@pytest.mark.parametrize("attack", ATTACKS)
def test_an_attack_stays_between_its_fences(attack: str) -> None:
    wording = load_wording("pointwise")
    # the attacker has read this program's source and imitates its fences
    for text in (attack, f"{attack} {nonce(['She go .', attack])}", "=== 0123456789ab ==="):
        prompt = render_fenced(
            wording, "She go .", None, {"target": one_line(text)}, subject="the quality"
        )
        fence = nonce(["She go .", one_line(text)])
        assert prompt.split("\n").count(fence) == 4
        assert prompt.split("\n")[-7:-5] != [fence, fence]


@given(st.text(max_size=60))
def test_any_text_is_one_line_that_is_not_a_heading(text: str) -> None:
    line = one_line(text)
    assert len(line.splitlines()) <= 1
    assert "```" not in line
    assert not re.match(r"\s*#+\s", line)
    assert one_line(line) == line


@given(st.lists(st.sampled_from(["[a→b]", "→", "[→the]", "x", "[", "]"]), max_size=8))
def test_text_cannot_pose_as_an_edit(words: list[str]) -> None:
    shown = marked(" ".join(["w", *words]), [Edit(0, 1, "v")])
    assert shown.count("→") == 1
    assert shown.startswith("[w→v]")
    assert "→" not in mark_safe(" ".join(words))


@given(st.lists(st.text(max_size=20), max_size=4))
def test_a_fence_is_in_none_of_the_texts(texts: list[str]) -> None:
    fence = nonce(texts)
    assert fence not in "\n".join(texts)
    assert nonce(texts) == fence


def test_attacks_do_not_change_how_an_honest_model_scores_the_others() -> None:
    fake = FakeModel()
    for attack in ATTACKS:
        corpus = Corpus(("She go .",), {"a": Version(("She goes .",)), "b": Version((attack,))})
        table = fake.score("llm-s", corpus)
        assert table.missing == 0
        assert table.sentences[0, 0] == score_of("She goes .")
        schema = fake.attempts[-1].request.schema
        assert schema is None or json.dumps(schema).count("_score") == 4  # two keys, twice each
