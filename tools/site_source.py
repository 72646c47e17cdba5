"""Write the source of the site: the pages of docs/, and pages generated from other files.

    python -m tools.site_source build/parts build/site

The first folder contains executed notebooks and figures (`tools.site_parts`). The second gets
`docs/`, and `mkdocs.yml` with the navigation, which is derived from the lists in the index pages.
"""

from __future__ import annotations

import inspect
import json
import posixpath
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tools.command_pages import command_pages, commands_index
from tools.metric_pages import metric_page, metrics_index
from tools.site_parts import COMMAND, FIGURE

_REPOSITORY = Path(__file__).resolve().parents[1]
_MOVED = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "CHANGELOG.md": "project/changelog.md",
}
_GENERATED = re.compile("<!-- pages that the site generates -->.*?<!-- end -->\n", re.DOTALL)
"""The part of docs/reference/index.md for readers without the site."""
_NOT_SEARCHED = "---\nsearch:\n  exclude: true\n---\n\n"
_ITEM = re.compile(r"^- \[([^]]+)\]\(([^)\s]+)\):?\s*(.*)$")


@dataclass(frozen=True)
class Entry:
    """A page in the navigation, or pages under a heading.

    Attributes:
        title: title in the navigation.
        path: path of the page, from the site's root; empty for a heading.
        line: purpose of the page.
        below: the entries below it.
    """

    title: str
    path: str = ""
    line: str = ""
    below: tuple[Entry, ...] = ()


def write(parts: Path, out: Path) -> None:
    """Write the source of the site, replacing an earlier one.

    Args:
        parts: executed notebooks and figures.
        out: the output folder.
    """
    docs = out / "docs"
    shutil.rmtree(docs, ignore_errors=True)
    shutil.copytree(_REPOSITORY / "docs", docs, ignore=shutil.ignore_patterns("*.ipynb"))
    # README links it relative to its own location.
    shutil.copy(_REPOSITORY / "CITATION.cff", docs)
    if (parts / "figures").is_dir():
        shutil.copytree(parts / "figures", docs / "figures")
    pages = made_pages(parts)
    for path in sorted(docs.rglob("*.md")):
        pages[path.relative_to(docs).as_posix()] = path.read_text(encoding="utf-8")
    reference = "reference/index.md"
    pages[reference] = _GENERATED.sub(_GENERATED_PAGES, pages[reference])
    homes = _places()
    for path, text in pages.items():
        (docs / path).parent.mkdir(parents=True, exist_ok=True)
        (docs / path).write_text(relinked(text, homes.get(path, f"docs/{path}"), path), "utf-8")
    # The first page lists the kinds, under a separate heading.
    listed = _walk(entries(docs, "index.md"))
    top = tuple(each for each in listed if re.fullmatch(r"(\w+/index|\w+)\.md", each.path))
    _check_complete(docs, {each.path for each in _walk(top) if each.path})
    (docs / "llms.txt").write_text(llms_txt(top), "utf-8")
    settings = (_REPOSITORY / "mkdocs.yml").read_text(encoding="utf-8")
    # JSON is YAML.
    nav = json.dumps(navigation(top), ensure_ascii=False, indent=1)
    (out / "mkdocs.yml").write_text(f"{settings}\nnav: {nav}\n", "utf-8")


_GENERATED_PAGES = """\
- [Metrics](metrics/index.md): a page for every metric, with formula, use, agreement and citation.
- [Commands](commands/index.md): every command with its arguments and options.
- [Python](python.md): what `import gecjury` offers.
- [Figures](figures.md): what the commands draw, on the packaged sample.
"""


def made_pages(parts: Path) -> dict[str, str]:
    """Return the generated pages, by their place on the site."""
    from gecjury.scoring.registry import METRICS

    made = {new: (_REPOSITORY / old).read_text(encoding="utf-8") for old, new in _MOVED.items()}
    made["project/changelog.md"] = _NOT_SEARCHED + made["project/changelog.md"]
    made |= {f"reference/metrics/{name}.md": metric_page(name) for name in METRICS}
    made |= {f"reference/commands/{path}.md": text for path, text in command_pages().items()}
    made |= {
        "reference/metrics/index.md": metrics_index(),
        "reference/commands/index.md": commands_index(),
        "reference/python.md": python_page(),
        "reference/figures.md": figures_page(parts / "figures"),
    }
    for path in sorted((_REPOSITORY / "docs" / "notebooks").glob("*.ipynb")):
        executed = parts / "notebooks" / path.name
        source = executed if executed.is_file() else path
        page = notebook_page(json.loads(source.read_text(encoding="utf-8")), path.name)
        made[f"notebooks/{path.stem}.md"] = page
    return made


def _places() -> dict[str, str]:
    """Return the places in the repository of moved pages, by their place on the site."""
    notebooks = (_REPOSITORY / "docs" / "notebooks").glob("*.ipynb")
    found = {f"notebooks/{path.stem}.md": f"docs/notebooks/{path.name}" for path in notebooks}
    return found | {new: old for old, new in _MOVED.items()}


def relinked(text: str, old: str, new: str) -> str:
    """Return a page with links relative to its place on the site.

    Args:
        text: its Markdown.
        old: its path in the repository.
        new: its path on the site.
    """
    moved = {there: here for here, there in _places().items()}

    def link(found: re.Match[str]) -> str:
        target, _, anchor = found[1].partition("#")
        if not target or re.match(r"[a-z]+:", target):
            return found[0]
        path = posixpath.normpath(posixpath.join(posixpath.dirname(old), target))
        place = moved.get(path, path.removeprefix("docs/"))
        there = posixpath.relpath(place, posixpath.dirname(new) or ".")
        return f"]({there}#{anchor})" if anchor else f"]({there})"

    # Code blocks contain no links.
    pieces = re.split(r"(^```.*?^```)", text, flags=re.DOTALL | re.MULTILINE)
    pieces[::2] = [re.sub(r"\]\(([^)\s]+)\)", link, piece) for piece in pieces[::2]]
    return "".join(pieces)


def entries(docs: Path, index: str) -> tuple[Entry, ...]:
    """Return the pages that the lists of an index page lead to, under its headings.

    Args:
        docs: the source of the site.
        index: path of the page in it.
    """
    found: list[Entry] = []
    heading = ""
    for line in _joined((docs / index).read_text(encoding="utf-8")):
        if line.startswith("## "):
            heading = line[3:].strip()
        elif item := _ITEM.match(line):
            path = posixpath.normpath(posixpath.join(posixpath.dirname(index), item[2]))
            below = entries(docs, path) if posixpath.basename(path) == "index.md" else ()
            entry = Entry(item[1].replace("`", ""), path, item[3], below)
            if not heading:
                found.append(entry)
            elif found and found[-1].title == heading:
                found[-1] = Entry(heading, below=(*found[-1].below, entry))
            else:
                found.append(Entry(heading, below=(entry,)))
    return tuple(found)


def _check_complete(docs: Path, listed: set[str]) -> None:
    """Exit with status 1 if an index lists a missing page, or a page is not listed."""
    there = {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - {"index.md"}
    wrong = [f"{path}: listed by an index page, but missing" for path in sorted(listed - there)]
    wrong += [f"{path}: listed by no index page" for path in sorted(there - listed)]
    if wrong:
        raise SystemExit("\n".join(wrong))


def _joined(text: str) -> list[str]:
    """Return the lines of a page, with the lines of each item joined."""
    return re.sub(r"\n  +(?=\S)", " ", text).splitlines()


def navigation(top: tuple[Entry, ...]) -> list[Any]:
    """Return the navigation in the form of mkdocs.yml."""
    listed: list[Any] = []
    for each in top:
        below = navigation(each.below)
        if not below:
            listed.append({each.title: each.path})
        else:
            listed.append({each.title: [*([each.path] if each.path else []), *below]})
    return listed


def _walk(top: tuple[Entry, ...]) -> list[Entry]:
    return [one for each in top for one in (each, *_walk(each.below))]


def llms_txt(top: tuple[Entry, ...]) -> str:
    """Return a guide to the site for programs, as llmstxt.org describes."""
    lines = [
        "# gecjury",
        "",
        "> gecjury scores grammatical error correction with reference-based metrics, trained "
        "reference-free metrics and LLM judges, compares metrics with human judgments, and trains "
        "metrics on ratings. It is a Python package with a command line; nothing but LLM judges "
        "and downloads named by the user needs the network.",
    ]
    for kind in top:
        lines += ["", f"## {kind.title}", ""]
        for each in _walk((kind,)):
            if each.path:
                line = f": {each.line}" if each.line else ""
                lines.append(f"- [{each.title}]({each.path.removesuffix('.md')}.html){line}")
    return "\n".join(lines) + "\n"


def python_page() -> str:
    """Return the page of gecjury's public names: studies by hand, the rest by mkdocstrings."""
    import gecjury

    homes = gecjury._HOMES
    functions = sorted(name for name in homes if name.islower())
    classes = sorted(name for name in homes if not name.islower() and name != "METRICS")
    studies = [name for name in functions if name.capitalize() in classes]
    lines = [
        "# Python",
        "",
        "What `import gecjury` offers. What a command prints, a function returns.",
        "",
        "## Studies",
        "",
        "A study is a function, and a class of the same name with its settings. `data` is a corpus "
        "or a benchmark's name, `metrics` are names or what `gecjury.load` returns, score files "
        "are kept in `folder`, and `runtime` has the device, workers and so on. `print` shows "
        "the tables of a result, and `rows()` has the records of the main one.",
    ]
    for name in studies:
        study, settings = getattr(gecjury, name), name.capitalize()
        taken = inspect.signature(study)
        plain = [each.replace(annotation=each.empty) for each in taken.parameters.values()]
        call = taken.replace(parameters=plain, return_annotation=taken.empty)
        about = " ".join(str(study.__doc__).partition("\n\n")[0].split())
        lines += ["", f"### gecjury.{name}", "", "```python", f"{name}{call}", "```", ""]
        home = home_of(homes[settings], settings)
        lines.append(f"{about} Its settings are [`{settings}`][{home}].")
    for title, names in (
        ("Other functions", [name for name in functions if name not in studies]),
        ("Classes", classes),
    ):
        lines += ["", f"## {title}", ""]
        for name in names:
            lines += [f"::: {home_of(homes[name], name)}", "    options:"]
            lines += [f"      heading: gecjury.{name}", f"      toc_label: {name}", ""]
    lines += ["## What a metric is", "", "::: gecjury.scoring.scorer.Scorer\n"]
    return "\n".join(lines)


def home_of(module: str, name: str) -> str:
    """Return the path of a public name: where it is defined, not where it is re-exported."""
    import importlib

    found = getattr(importlib.import_module(module), name)
    return f"{getattr(found, '__module__', module)}.{name}"


_FIGURES = f"""\
# Figures

These figures were drawn from the packaged sample when the site was built. They show what the
commands draw. They are not evidence about any metric.

## Agreement of metrics with people

Correlation over systems, and the share of pairs of corrections that a metric orders as people do,
both with 95% intervals: the plots of the page that the command writes.

```
gecjury {COMMAND} {FIGURE}
```

"""


def figures_page(figures: Path) -> str:
    """Return the page that links the figures, below the command that drew them."""
    if not (figures / FIGURE).is_file():
        return f"{_FIGURES}`make docs` draws them.\n"
    return f"{_FIGURES}[The page](../figures/{FIGURE}) is one file that loads nothing.\n"


def notebook_page(notebook: dict[str, Any], name: str) -> str:
    """Return a notebook as Markdown, with the output and figures of its cells."""
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


if __name__ == "__main__":
    write(Path(sys.argv[1]), Path(sys.argv[2]))
