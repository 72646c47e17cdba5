"""The published wording, word for word, and strict placeholders."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.prompts import CRITERIA, Prompt, criterion, packaged, read

# Kobayashi, Mita and Komachi (2024), appendix B, figure 3 with its placeholders, then figure 2.
FIGURE_3 = """\
The goal of this task is to rank the presented targets based on the quality of the sentences.
The context consists of three sentences from an essay written by an English learner.
After reading the context to understand the flow, please assign a score from a minimum of 1 point \
to a maximum of 5 points to each target based on the quality of the sentence (note that you can \
assign the same score multiple times).

# context
[PREVIOUS]
[SOURCE]
[FOLLOWING]

# targets
[CORRECTION 1]
[CORRECTION 2]

# output format
The output should be a markdown code snippet formatted in the following schema, including the \
leading and trailing ```json and ```:
```json
{
  "target1_score": int // assigned score for target 1
  "target2_score": int // assigned score for target 2
}
```"""
FIGURE_2 = """\
The goal of this task is to rank the presented targets based on the quality of each edit.
The context consists of three sentences from an essay written by an English learner.
After reading the context to understand the flow, please assign a score from a minimum of 1 point \
to a maximum of 5 points to each target based on the quality of the edit alone (note that you can \
assign the same score multiple times).
For targets without any edits, if the sentence is correct, they will be awarded 5 points; if there \
is an error, they will receive 1 point.
The edits in each target are indicated as follows:
Insert "the": [→the]
Delete "the": [the→]
Replace "the" with "a": [the→a]

# context
[PREVIOUS]
[SOURCE]
[FOLLOWING]

# targets
[CORRECTION 1]
[CORRECTION 2]

# output format
The output should be a markdown code snippet formatted in the following schema, including the \
leading and trailing ```json and ```:
```json
{
 "target1_score": int // assigned score for target 1
 "target2_score": int // assigned score for target 2
}
```"""
# The five sentences of appendix B.
SENTENCES = {
    "difficulty": "Please evaluate each edit in the target with a focus on the difficulty of "
    "corrections.",
    "impact": "Please evaluate each edit in the target with a focus on its impact on the sentence.",
    "grammaticality": "Please evaluate each target with a focus on the grammaticality of the "
    "sentence.",
    "fluency": "Please evaluate each target with a focus on the fluency of the sentence.",
    "meaning": "Please evaluate each target with a focus on preserving the meaning between each "
    "target and the source, which is the middle sentence in the context.",
}


def rendered(name: str, added: str = "") -> str:
    prompt = read(name)
    line = prompt.head["score_line"]
    return prompt.render(
        criterion=added,
        context="[PREVIOUS]\n[SOURCE]\n[FOLLOWING]",
        targets="[CORRECTION 1]\n[CORRECTION 2]",
        scores="\n".join(line.replace("{{number}}", str(number)) for number in (1, 2)),
    )


@pytest.mark.parametrize(("name", "figure"), [("sentence", FIGURE_3), ("edit", FIGURE_2)])
def test_the_wording_is_the_published_one(name: str, figure: str) -> None:
    assert rendered(name) == figure


@pytest.mark.parametrize("name", SENTENCES)
def test_a_criterion_ends_the_first_paragraph(name: str) -> None:
    base = next(base for base, names in CRITERIA.items() if name in names)
    figure = {"sentence": FIGURE_3, "edit": FIGURE_2}[base]
    before, heading, after = figure.partition("\n\n# context")
    expected = f"{before}\n{SENTENCES[name]}{heading}{after}"
    assert rendered(base, criterion(name).text) == expected


def test_values_are_not_searched_for_placeholders() -> None:
    prompt = read("sentence")
    text = prompt.render(criterion="", context="{{targets}}", targets="SECRET", scores="")
    assert text.count("SECRET") == 1
    assert "{{targets}}" in text


@pytest.mark.parametrize("values", [{}, {"context": "x"}, {"context": "x", "more": "y"}])
def test_rendering_is_strict(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"has the placeholders context, criterion"):
        read("sentence").render(**values)


def test_every_packaged_prompt_has_the_placeholders_that_its_head_declares() -> None:
    files = sorted((Path(__file__).parents[2] / "prompts").glob("*.txt"))
    assert len(files) == 27
    for file in files:
        name, _, version = file.name.removesuffix(".txt").rpartition(".v")
        prompt = read(name, int(version))
        assert {"name", "version", "source", "placeholders"} <= set(prompt.head)
        assert (prompt.head["name"], prompt.head["version"]) == (name, version)
        declared = {part.strip() for part in prompt.head["placeholders"].split(",")} - {""}
        assert declared == prompt.placeholders
        assert prompt.head["source"]
        assert prompt.text
        assert prompt.id.startswith(f"{name}.v{version}:")


WORDINGS = [
    (name, version)
    for name in ("sentence", "edit", "pointwise", "pairwise", "edit-verdict")
    for version in (1, 2)
]
# Parts of texts that look like a prompt's own words; judges escape headings.
PIECES = ("a", "{{targets}}", "{{fence}}", "é", ".", "# x", "\\# targets", "", "```", "\\1", "[")


def drawn(generator: random.Random, lines: int = 1) -> str:
    return "\n".join(" ".join(generator.choices(PIECES, k=3)).strip() for _ in range(lines))


@pytest.mark.parametrize(("name", "version"), WORDINGS)
def test_values_are_read_back_from_every_packaged_prompt(name: str, version: int) -> None:
    prompt, generator = read(name, version), random.Random(f"{name} {version}")
    criteria = ["", *(criterion(key).text for key in SENTENCES)]
    for _ in range(200):
        values = {place: drawn(generator) for place in prompt.placeholders}
        for place, lines in (("context", (1, 3)), ("targets", (1, 2, 5)), ("scores", (1, 2, 5))):
            if place in values:
                values[place] = drawn(generator, generator.choice(lines))
        # Values of the form that judges use.
        usual = {"language": "Old Swedish", "fence": "=== 0123456789ab ===", "subject": "all"}
        usual |= {"criterion": generator.choice(criteria)}
        values |= {place: text for place, text in usual.items() if place in values}
        assert prompt.unrender(prompt.render(**values)) == values


@pytest.mark.parametrize(("name", "version"), WORDINGS)
def test_a_text_of_another_prompt_is_refused(name: str, version: int) -> None:
    prompt = read(name, version)
    text = prompt.render(**dict.fromkeys(prompt.placeholders, "x"))
    for other_text in (f"{text}.", f" {text}", text.replace("score", "scores", 1), "", "x"):
        if other_text != text:
            with pytest.raises(ValueError, match=f"not the prompt {name}.v{version}"):
                prompt.unrender(other_text)


def made(text: str) -> Prompt:
    return Prompt("own", 1, text, frozenset("ab") & set(text), {}, "0" * 16)


@pytest.mark.parametrize(
    "text",
    [
        "{{a}} and {{b}}",  # of "x and y and z"
        "{{a}}{{b}}",
        "{{a}}\n{{b}}",
    ],
)
def test_a_text_that_can_be_read_in_two_ways_is_refused(text: str) -> None:
    prompt = made(text)
    rendered = prompt.render(a="x and y", b="z") if " and " in text else prompt.render(a="x", b="y")
    with pytest.raises(ValueError, match=r"own.v1 can be read in several ways"):
        prompt.unrender(rendered)
    single = made("{{a}} and {{b}}")
    assert single.unrender("x and y") == {"a": "x", "b": "y"}


def test_a_repeated_placeholder_has_the_same_value_everywhere() -> None:
    prompt = made("{{a}}: {{b}} :{{a}}")
    assert prompt.unrender("=: x : y :=") == {"a": "=", "b": "x : y"}
    with pytest.raises(ValueError, match=r"not the prompt own.v1"):
        prompt.unrender("=: x :-")


def test_a_packaged_prompt_is_recognised_by_its_id() -> None:
    prompt = replace(read("sentence"), added=criterion("fluency"))
    assert packaged(prompt.id) == prompt
    assert packaged(read("edit-verdict", 2).id) == read("edit-verdict", 2)
    # Another digest, another version, a path, and an id with another part after it.
    assert packaged("sentence.v1:0123456789abcdef") is None
    assert packaged(read("sentence").id.replace("v1", "v7")) is None
    assert packaged("../prompts/sentence.v1:be562fded1f01065") is None
    assert packaged(f"{read('pairwise').id}+examples:0123456789abcdef") == read("pairwise")
