"""Hooks of mkdocs: the pages of the site that are made from other files when it is built.

README, CONTRIBUTING and CHANGELOG stand at the top of the repository, where people look for them;
pages of metrics are made from their classes, the page of Python from the public names, figures and
notebooks from what they draw and print. None of them is kept in git.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tools.metric_pages import index_page, metric_page

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

_REPOSITORY = Path(__file__).resolve().parents[1]
_TOP = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}
_BUILT = Path(os.environ.get("GECJURY_SITE_PARTS", _REPOSITORY / "build" / "docs"))
"""Executed notebooks and figures, made by `python -m tools.site_parts` before the site."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put the pages of the metrics where the navigation says `metrics/`."""
    from gecjury.scoring.registry import METRICS

    pages: list[Any] = ["metrics/index.md", *({n: f"metrics/{n}.md"} for n in METRICS)]
    for entry in config.nav or []:
        if isinstance(entry, dict) and "Metrics" in entry:
            entry["Metrics"] = pages
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add every page that is made."""
    from mkdocs.structure.files import File

    from gecjury.scoring.registry import METRICS

    made = {new: from_the_top(_REPOSITORY / old) for old, new in _TOP.items()}
    made |= {f"metrics/{name}.md": metric_page(name) for name in METRICS}
    made |= {"metrics/index.md": index_page(), "api.md": api_page(), "figures.md": figures_page()}
    for path in sorted((_REPOSITORY / "docs" / "notebooks").glob("*.ipynb")):
        executed = _BUILT / "notebooks" / path.name
        source = executed if executed.is_file() else path
        made[f"notebooks/{path.stem}.md"] = notebook_page(json.loads(source.read_text()), path.name)
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for figure in sorted((_BUILT / "figures").glob("*")):
        name = f"figures/{figure.name}"
        files.append(File.generated(config, name, abs_src_path=str(figure)))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links of pages to files at the top of the repository lead to their pages here."""
    for old, new in _TOP.items():
        # From docs/ the top is one folder up; the page made of it lies in docs/ itself.
        link = rf"\]\(\.\./((?:\.\./)*){re.escape(old)}(#[^)]*)?\)"
        markdown = re.sub(link, rf"](\1{new}\2)", markdown)
    return markdown


def from_the_top(path: Path) -> str:
    """A page at the top of the repository with its links as they are from docs/."""
    text = path.read_text(encoding="utf-8").replace("](docs/", "](")
    for old, new in _TOP.items():
        text = re.sub(rf"\]\({re.escape(old)}(#[^)]*)?\)", rf"]({new}\1)", text)
    return text


def api_page() -> str:
    """The public names of `gecjury`, as mkdocstrings reads them."""
    import gecjury

    homes = gecjury._HOMES
    functions = [name for name in homes if name.islower()]
    classes = [name for name in homes if not name.islower() and name != "METRICS"]
    lines = [
        "# Python",
        "",
        "What `import gecjury` offers. What a command prints, a function gives; each takes files' "
        "lines, a corpus or a benchmark's name, and its result holds everything typed.",
    ]
    for title, names in (("Functions", functions), ("Classes", classes)):
        lines += ["", f"## {title}", ""]
        for name in sorted(names):
            lines += [f"::: {home_of(homes[name], name)}", "    options:"]
            lines += [f"      heading: gecjury.{name}", f"      toc_label: {name}", ""]
    lines += ["## What a metric is", "", "::: gecjury.scoring.scorer.Scorer\n"]
    return "\n".join(lines)


def home_of(module: str, name: str) -> str:
    """The path of a public name: where it is defined, not where it is passed on."""
    import importlib

    found = getattr(importlib.import_module(module), name)
    return f"{getattr(found, '__module__', module)}.{name}"


def figures_page() -> str:
    """Every figure that was drawn for the site, below the command that drew it."""
    lines = [
        "# Figures",
        "",
        "Drawn when the site was built, of the packaged sample: they show what there is, and are "
        "never evidence about a metric.",
    ]
    listed = _BUILT / "figures" / "commands.json"
    drawn = json.loads(listed.read_text()) if listed.is_file() else []
    for each in drawn:
        lines += ["", f"## {each['title']}", "", "```", each["command"], "```", ""]
        told = f"![{each['title']}](figures/{each['file']})"
        if each["file"].endswith(".html"):
            told = f"[The page](figures/{each['file']}), one file without the network."
        lines.append(told)
    if not drawn:
        lines += ["", "None was drawn: `make docs` draws them."]
    return "\n".join(lines) + "\n"


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """A notebook as Markdown, with what its cells printed and drew."""
    parts: list[str] = []
    for cell in notebook["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(text)
            continue
        parts.append(f"```python\n{text}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    parts.insert(1, f"*This page is the notebook `docs/notebooks/{name}`, run when it was built.*")
    return "\n\n".join(part for part in parts if part) + "\n"


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {})
    if "image/png" in data:
        return f"![drawn by the cell](data:image/png;base64,{''.join(data['image/png']).strip()})"
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```" if text.strip() else ""
