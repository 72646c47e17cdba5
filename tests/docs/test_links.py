"""Links between the pages lead somewhere where they are read without the site."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.documented import PAGES
from tests.shell import REPOSITORY


def anchors_of(path: Path) -> set[str]:
    """The anchors that a forge gives a page's headings."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        found.add(f"{anchor}-1" if anchor in found else anchor)
    return found


def dead_links(path: Path) -> list[str]:
    """Links of a page to files and headings that are not there."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    dead = []
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        name, _, anchor = link.partition("#")
        target = (path.parent / name).resolve() if name else path
        if re.match(r"https?:|mailto:", link):
            continue
        if not target.exists() or (
            anchor and target.suffix == ".md" and anchor not in anchors_of(target)
        ):
            dead.append(link)
    return dead


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_links_lead_somewhere(path: Path) -> None:
    assert dead_links(path) == []


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# A b\n[1](#a-b) [2](#gone) [3](b.md) [4](a.md#a-b) [5](https://x.example)\n")
    assert dead_links(page) == ["#gone", "b.md"]


def test_every_page_is_listed_by_the_index_of_its_folder() -> None:
    """A page that nothing leads to is not found, and the site has no place for it."""
    for page in (REPOSITORY / "docs").rglob("*.md"):
        if page.name != "index.md":
            told = (page.parent / "index.md").read_text(encoding="utf-8")
            assert f"]({page.name})" in told, page
