"""The published wording, word for word, and placeholders that cannot be lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.prompts import CRITERIA, criterion, read

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


def test_what_is_filled_in_is_not_searched_for_placeholders() -> None:
    prompt = read("sentence")
    text = prompt.render(criterion="", context="{{targets}}", targets="SECRET", scores="")
    assert text.count("SECRET") == 1
    assert "{{targets}}" in text


@pytest.mark.parametrize("values", [{}, {"context": "x"}, {"context": "x", "more": "y"}])
def test_rendering_is_strict(values: dict[str, str]) -> None:
    with pytest.raises(ValueError, match=r"has the placeholders context, criterion"):
        read("sentence").render(**values)


def test_every_shipped_prompt_holds_what_its_head_declares() -> None:
    files = sorted((Path(__file__).parents[2] / "prompts").glob("*.txt"))
    assert len(files) == 18
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
