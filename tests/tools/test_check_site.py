"""The checks of a built site."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.check_site import check

GOOD = '<a href="b.html#here">b</a><a href="https://elsewhere.example/">out</a><img src="a.png">'


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "a.html").write_text(GOOD)
    (tmp_path / "b.html").write_text('<h1 id="here">b</h1><a href="#here">me</a>')
    return tmp_path


def test_a_sound_site_is_counted(site: Path) -> None:
    assert check(site) == ([], "2 pages, 2 internal links, 1 to elsewhere")


@pytest.mark.parametrize(
    ("added", "message"),
    [
        ('<a href="c.html">c</a>', "c.html: no such page"),
        ('<a href="b.html#gone">b</a>', "b.html#gone: no such place in the page"),
        ('<a href="/gone.html">c</a>', "/gone.html: no such page"),
        ('<script src="https://cdn.example/x.js"></script>', "loads https://cdn.example/x.js from"),
        ('<link rel="stylesheet" href="//fonts.example/x.css">', "loads //fonts.example/x.css"),
    ],
)
def test_faults_are_reported(site: Path, added: str, message: str) -> None:
    (site / "a.html").write_text(GOOD + added)
    ((fault,), _) = check(site)
    assert fault.startswith("a.html: ")
    assert message in fault
