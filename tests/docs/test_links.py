"""Links between the pages work when the pages are read without the site."""

from __future__ import annotations

import re
from pathlib import Path

from tests.documented import PAGES
from tests.shell import REPOSITORY


def anchors_of(path: Path) -> set[str]:
    """Return the anchors that a forge generates for a page's headings."""
    text = re.sub(r"```.*?```", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
    anchors: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", text, re.MULTILINE):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        anchors.add(f"{anchor}-1" if anchor in anchors else anchor)
    return anchors


def dead_links(path: Path) -> list[str]:
    """Return the links of a page to files and headings that do not exist."""
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


def test_links_are_not_dead() -> None:
    assert {path: dead for path in PAGES if (dead := dead_links(path))} == {}


def test_dead_links_are_found(tmp_path: Path) -> None:
    page = tmp_path / "a.md"
    page.write_text("# A b\n[1](#a-b) [2](#gone) [3](b.md) [4](a.md#a-b) [5](https://x.example)\n")
    assert dead_links(page) == ["#gone", "b.md"]


def test_every_page_is_listed_by_the_index_of_its_folder() -> None:
    """A page without a link to it cannot be found, and is not in the navigation of the site."""
    for page in (REPOSITORY / "docs").rglob("*.md"):
        if page.name != "index.md":
            index = (page.parent / "index.md").read_text(encoding="utf-8")
            assert f"]({page.name})" in index, page
