"""Check a built site: every link and anchor leads somewhere, and nothing is loaded from outside.

    python -m tools.check_site site

Prints the counts; with dead links or outside files, lists them one per line and exits with status
1.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
_KINDS = {"stylesheet", "icon", "preconnect", "preload", "modulepreload", "manifest"}


@dataclass
class Page(HTMLParser):
    """Links of a page, files that it loads, and places in it that can be linked.

    Attributes:
        path: its file.
        links: addresses of its links.
        loaded: addresses that a browser fetches to show it.
        anchors: ids and names in it.
    """

    path: Path
    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record one element."""
        given = {key: value or "" for key, value in attrs}
        self.anchors |= {given[key] for key in ("id", "name") if key in given}
        self.loaded += [given[key] for kind, key in _LOADED if kind == tag and key in given]
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and set(given.get("rel", "").split()) & _KINDS:
            self.loaded.append(given.get("href", ""))


def check(site: Path) -> tuple[list[str], str]:
    """Return the faults of a site, and its counts."""
    pages = {path: Page(path) for path in sorted(site.resolve().rglob("*.html"))}
    wrong, internal, outside = [], 0, 0
    for path, page in pages.items():
        name = path.relative_to(site.resolve())
        wrong += [
            f"{name}: loads {address} from outside"
            for address in page.loaded
            if urlsplit(address).scheme not in ("", "data") or address.startswith("//")
        ]
        for address in page.links:
            parts = urlsplit(address)
            if parts.scheme or parts.netloc:
                outside += 1
                continue
            internal += 1
            # The page for missing addresses can be shown anywhere, so its links start at the root.
            start = site.resolve() if parts.path.startswith("/") else path.parent
            to = unquote(parts.path).lstrip("/")
            target = (start / to).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file():
                wrong.append(f"{name}: {address}: no such page")
            elif parts.fragment and target in pages:
                anchors = pages[target].anchors
                # A single-file page of ours creates its anchors when it is opened.
                if unquote(parts.fragment) not in anchors and "figures" not in target.parts:
                    wrong.append(f"{name}: {address}: no such place in the page")
    counted = f"{len(pages)} pages, {internal} internal links, {outside} to elsewhere"
    return wrong, counted


if __name__ == "__main__":
    found, said = check(Path(sys.argv[1]))
    print("\n".join([*found, f"{said}, {len(found)} wrong"]))
    sys.exit(bool(found))
