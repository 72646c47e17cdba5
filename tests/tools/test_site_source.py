"""The source of the site: links to moved pages, and the navigation from index pages."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.shell import REPOSITORY
from tools.site_source import Entry, entries, llms_txt, navigation, relinked, write


@pytest.mark.parametrize(
    ("old", "new", "link", "expected"),
    [
        ("README.md", "readme.md", "docs/guides/score.md#options", "guides/score.md#options"),
        ("README.md", "readme.md", "CHANGELOG.md", "project/changelog.md"),
        ("docs/guides/a.md", "guides/a.md", "../../README.md#x", "../readme.md#x"),
        ("docs/guides/a.md", "guides/a.md", "../reference/b.md", "../reference/b.md"),
        ("CONTRIBUTING.md", "project/contributing.md", "docs/project/house.md", "house.md"),
        ("docs/guides/a.md", "guides/a.md", "../notebooks/edits.ipynb", "../notebooks/edits.md"),
        ("README.md", "readme.md", "#here", "#here"),
        ("README.md", "readme.md", "https://x.example/docs/a.md", "https://x.example/docs/a.md"),
    ],
)  # fmt: skip
def test_links_point_to_the_new_place_of_moved_pages(
    old: str, new: str, link: str, expected: str
) -> None:
    fence = f"\n```\n[a]({link})\n```\n"
    assert relinked(f"[a]({link}){fence}", old, new) == f"[a]({expected}){fence}"


def test_the_navigation_follows_the_lists_of_index_pages(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "index.md").write_text("# Top\n\nSee [x](x.md).\n\n- [B](b/index.md): all of b.\n")
    (tmp_path / "b" / "index.md").write_text(
        "- [`one`](one.md): first,\n  in two lines\n\n## Heading\n\n- [Two](two.md): second.\n"
    )
    listed = entries(tmp_path, "index.md")
    below = (
        Entry("one", "b/one.md", "first, in two lines"),
        Entry("Heading", below=(Entry("Two", "b/two.md", "second."),)),
    )
    assert listed == (Entry("B", "b/index.md", "all of b.", below),)
    assert navigation(listed) == [
        {"B": ["b/index.md", {"one": "b/one.md"}, {"Heading": [{"Two": "b/two.md"}]}]}
    ]
    assert "## B\n\n- [B](b/index.html): all of b.\n- [one](b/one.html): first" in llms_txt(listed)


def test_every_page_is_in_the_navigation_and_only_pages_are(tmp_path: Path) -> None:
    write(tmp_path / "parts", tmp_path / "site")
    docs = tmp_path / "site" / "docs"
    settings = (tmp_path / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    for page in (REPOSITORY / "docs").rglob("*.md"):
        path = page.relative_to(REPOSITORY / "docs").as_posix()
        assert path == "index.md" or f'"{path}"' in settings
    assert (docs / "reference" / "metrics" / "errant.md").is_file()
    listing = (docs / "llms.txt").read_text(encoding="utf-8")
    for kind in ("tutorials", "guides", "reference", "measured", "project"):
        assert f"]({kind}/index.html): " in listing
