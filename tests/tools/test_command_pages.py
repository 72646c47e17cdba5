"""The pages of the commands agree with their parsers."""

from __future__ import annotations

import re

import pytest

from gecjury.cli import COMMANDS, command_parser
from gecjury.cli.parsers import CommandParser, leaves
from tools.command_pages import command_page, command_pages, commands_index


@pytest.mark.parametrize("parser", list(leaves(command_parser())), ids=lambda found: found.path)
def test_every_option_has_a_row(parser: CommandParser) -> None:
    page = command_page(parser)
    shown = set(re.findall(r"(?<=`)--[\w-]+", page))
    wanted = {name for name in parser._option_string_actions if parser.reads(name)} - {"--help"}
    assert shown >= {name for name in wanted if name.startswith("--")}


def test_every_command_has_a_page_and_is_listed() -> None:
    assert list(command_pages()) == list(COMMANDS)
    assert re.findall(r"\]\(([\w-]+)\.md\)", commands_index()) == list(COMMANDS)


def test_defaults_and_choices_are_shown() -> None:
    page = command_pages()["rank"]
    assert "| `--confidence C` | 0.95 | confidence of the intervals |" in page
    assert "| `--resample …` | sentences | what the bootstrap draws; none: no intervals" in page
    assert "(`sentences`, `none`) |" in page
