"""Custom prompts: they need the form of the packaged ones, and faults are reported."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.core.errors import InputError
from gecjury.judges.own_wording import SHORT, read_own
from gecjury.prompts import prompt_text, read

NEEDS = ("context", "fence", "target")
SOUND = """\
name: mine
version: 3
placeholders: context, fence, target
---
Grade it.
{{fence}}
{{context}}
{{target}}
{{fence}}
"""


def read_text(tmp_path: Path, text: str, needs: tuple[str, ...] = NEEDS) -> str:
    """Return the error message for a file with this text, or its prompt's id if it is valid."""
    path = tmp_path / "mine.txt"
    path.write_text(text)
    try:
        ours = frozenset({*needs, "subject"})
        return read_own(str(path), ours, "llm-s:protocol=pointwise", None).id
    except InputError as error:
        return str(error).removeprefix(str(path))


def test_a_file_of_the_same_form_is_a_prompt(tmp_path: Path) -> None:
    mine = read_text(tmp_path, SOUND)
    assert mine.startswith("mine.v3:")
    assert read_text(tmp_path, SOUND.replace("\n", "\r\n")) == mine
    assert read_text(tmp_path, SOUND.replace("Grade", "Judge")) != mine


def test_a_packaged_prompt_is_a_valid_starting_point(tmp_path: Path) -> None:
    # The same text is the same prompt, so that its stored replies are found.
    assert read_text(tmp_path, prompt_text("pointwise")) == read("pointwise").id


def test_the_short_prompt_is_packaged_and_grades_one_correction() -> None:
    ours = read("pointwise").placeholders
    assert read_own(SHORT, ours, "llm-s:protocol=pointwise", None).id == read(SHORT).id
    with pytest.raises(InputError, match="targets"):
        read_own(SHORT, read("sentence").placeholders, "llm-s", None)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("---\n", "", ", line 1: no head; expected name, version and placeholders, then a line"),
        ("version: 3", "version 3", ", line 2: 'version 3' in the head; expected `key: value`"),
        ("name: mine", "name: ../mine", ": the name in its head is '../mine'; expected up to 60"),
        ("version: 3", "version: 1.5", ": the version in its head is '1.5'; expected a whole"),
        ("{{target}}\n", "", ": lacks {{target}}; llm-s:protocol=pointwise needs {{context}}, "),
        ("Grade", "Grade {{first}}", ", line 5: unknown placeholder {{first}}; llm-s:protocol"),
        ("{{target}}", "{{target}}\n{{second}}", ", line 9: unknown placeholder {{second}}"),
        ("Grade", "\x00", "mine.v3:"),
    ],
)
def test_a_fault_is_reported_in_one_line(tmp_path: Path, old: str, new: str, message: str) -> None:
    said = read_text(tmp_path, SOUND.replace(old, new))
    assert said.startswith(message)
    assert "\n" not in said
    if "unknown" in message or "lacks" in message:
        assert "may have {{criterion}}, {{language}}, {{subject}}" in said
        assert said.endswith("start from `gecjury judgments prompt llm-s:protocol=pointwise`")


def test_scores_need_their_line_in_the_head(tmp_path: Path) -> None:
    text = SOUND.replace("target", "scores")
    needs = ("context", "fence", "scores")
    assert ": its head has no score_line with {{number}}" in read_text(tmp_path, text, needs)
    with_line = "score_line: {{number}}\n" + text
    assert read_text(tmp_path, with_line, needs).startswith("mine.v3:")
