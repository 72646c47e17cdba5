"""One page per metric: what its class and `metrics.toml` say, and its measured agreement."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from gecjury.report.citations import CITED, Citation, citations
from gecjury.scoring.abilities import CreditsEdits, Explains, Sweeps
from gecjury.scoring.options import metric_options
from gecjury.scoring.registry import METRICS, load, scorer_class
from gecjury.scoring.scorer import ReadsText, Scorer, required_options
from gecjury.scoring.signature import Signature
from tools.command_pages import table_cell
from tools.measured import figures, shown

_RANGE = re.compile(
    r"(?i)range |higher is better|is worst|^0 or more|0 or −1 a sentence|are 1 to 5|scores as for"
)
_REPOSITORY = Path(__file__).resolve().parents[1]
_SEEDA = "measured/seeda.md"
_COLUMNS = ("base; E", "base; S", "fluency; E", "fluency; S")
"""The columns of a page's table of agreement."""
_KINDS = {
    "guides": "Guide",
    "reference": "Reference",
    "measured": "Measured",
    "tutorials": "Tutorial",
}
_FAMILIES = {
    "refbased": "measured against references",
    "refless": "without references",
    "judges": "judged by a language model",
    "jury": "a sum of others",
}
_ABILITIES = {
    CreditsEdits: "gives single edits credit (`gecjury compare --level edit`)",
    Explains: "shows its alignment of edits (`gecjury explain`)",
    Sweeps: "tries many values of an option at once (`gecjury tune`)",
}


def facts(found: type[Scorer]) -> list[tuple[str, str]]:
    """Return the rows of the table of facts about a metric's class."""
    ranges = [sentence for each in _own(found) for sentence in _range_in(description(each))]
    needs = ", ".join(sorted(found.needs)) or "nothing but sources and hypotheses"
    needs += "".join(
        f"; {what}, named by `{key}=`" for key, what in required_options(found).items()
    )
    abilities = [text for ability, text in _ABILITIES.items() if issubclass(found, ability)]
    return [
        ("family", f"`{found.family}`: {_FAMILIES.get(found.family, 'of another package')}"),
        ("paper", found.paper),
        ("range and direction", ranges[0] if ranges else ""),
        ("needs", needs),
        (
            "more is better",
            "yes" if found.directed else "undefined: it describes, it does not rate",
        ),
        ("reads", "lines as written" if issubclass(found, ReadsText) else "tokens"),
        ("packages whose version may change a score", ", ".join(found.packages) or "none"),
        ("can also", "; ".join(abilities) or "–"),
    ]


def _own(found: type[Scorer]) -> list[type]:
    """Return the class and its base classes, without those that all metrics share."""
    return [each for each in found.__mro__ if issubclass(each, Scorer) and each is not Scorer]


def description(found: type) -> str:
    """Return the description of a class, without its list of attributes."""
    text = inspect.cleandoc(found.__doc__ or "")
    return text.split("Attributes:\n")[0].strip()


def _range_in(text: str) -> list[str]:
    """Return the parts of sentences that state a range, without its explanation."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z0-9−])", " ".join(text.split()))
    parts = [part for each in sentences for part in re.split(r"[:;] (?![^(]*\))", each)]
    return [part.rstrip(".") for part in parts if _RANGE.search(part)]


def command(found: type[Scorer]) -> str:
    """Return a command line that scores files with a metric."""
    model = "model=NAME" if found.family == "judges" else "model=DIR"
    named = {"model": model, "file": "file=FILE"}
    option = ",".join(named.get(key, f"{key}=VALUE") for key in required_options(found))
    files = "source.txt mine.txt theirs.txt" if "rivals" in found.needs else "source.txt mine.txt"
    given = " -r ref.txt" if "references" in found.needs else ""
    gold = " --m2 gold.m2" if "gold" in found.needs else ""
    metric = f"{found.name}:{option}" if option else found.name
    return f"gecjury score {files}{given}{gold} -m {metric}"


@cache
def told() -> Mapping[str, Mapping[str, Any]]:
    """Return the texts of `metrics.toml` by metric; a metric needs none."""
    return tomllib.loads(Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8"))


def agreement(name: str) -> tuple[str, dict[str, list[str]]] | None:
    """Return the first setting of a metric measured on SEEDA, and its figures by statistic."""
    found = figures("seeda", "metrics")
    for row, _ in found:
        spec = row.split("; ")[-1]
        if re.fullmatch(rf"{re.escape(name)}(:.*)?", spec):
            return spec, {
                statistic: [
                    shown(found[f"{column}; {spec}", statistic]["value"]) for column in _COLUMNS
                ]
                for statistic in ("accuracy", "r")
            }
    return None


def metric_page(name: str) -> str:
    """Return the Markdown of a metric's page."""
    scorer, more = load(name), told().get(name, {})
    found = type(scorer)
    signature = Signature(name, scorer.family, scorer.settings(), scorer.version)
    lines = [f"# {name}", "", f"**{found.summary[0].upper()}{found.summary[1:]}.**", ""]
    if more:
        lines += [f'<p class="formula">{more["formula"]}</p>', ""]
    lines += [description(found), ""]
    if more:
        lines += ["## When to use it", "", f"- **Use it if:** {more['use']}"]
        lines += [f"- **Do not use it if:** {more['avoid']}", ""]
    lines += ["## Use", "", "```", command(found), "```", ""]
    lines += [f"- {_titled(guide)}" for guide in more.get("guides", ())]
    lines += ["", "## Agreement with people", "", *_agreement(name, more), ""]
    lines += ["## Cost", "", more.get("cost", "Not measured for this metric alone."), ""]
    lines += ["## Options", ""]
    if options := metric_options(found):
        lines += [
            f"Given as `-m {name}:OPTION=VALUE,OPTION=VALUE`, or as arguments of `gecjury.load`.",
            "",
            "| option | default | expected | meaning |",
            "|---|---|---|---|",
        ]
        for option, declared in options.items():
            default = _default(getattr(scorer, declared.path))
            lines.append(
                f"| `{option}` | {default} | {table_cell(declared.expected)} "
                f"| {table_cell(declared.meaning)} |"
            )
    else:
        lines.append("It has none.")
    lines += ["", "## Facts", "", "| | |", "|---|---|"]
    lines += [f"| {what} | {table_cell(said)} |" for what, said in facts(found)]
    lines += ["", "## Signature", "", "```", signature.own, "```", ""]
    lines += [
        "With the defaults. A score adds the references that were read, a hash of the data, the "
        "versions above and gecjury's own.",
    ]
    if entries := _entries(name):
        lines += ["", "## Citation", "", "```bibtex", "\n\n".join(map(str, entries)), "```"]
    return "\n".join(lines) + "\n"


def _titled(page: str) -> str:
    """Return a link to a page by its title, with its kind."""
    text = (_REPOSITORY / "docs" / page).read_text(encoding="utf-8")
    return f"{_KINDS[page.partition('/')[0]]}: [{text.partition(chr(10))[0][2:]}](../../{page})"


def _agreement(name: str, more: Mapping[str, Any]) -> list[str]:
    """Return the measured agreement of a metric with people on SEEDA."""
    lines = []
    if measured := agreement(name):
        spec, figures = measured
        lines = [
            f"`{spec}` on SEEDA with ten references: share of the pairs of corrections ordered as "
            "people do (ties count half), and Pearson's r over systems. E and S are the "
            'edit-based and the sentence-based judgments of twelve systems; "fluency" adds '
            f"GPT-3.5 and a human rewrite. [All metrics, intervals and limits](../../{_SEEDA}).",
            "",
            "| | E | S | E, fluency | S, fluency |",
            "|---|---:|---:|---:|---:|",
            f"| sentence accuracy | {' | '.join(figures['accuracy'])} |",
            f"| r over systems | {' | '.join(figures['r'])} |",
        ]
    if "agreement" in more:
        lines += ["", more["agreement"]] if lines else [more["agreement"]]
    return lines or [f"Not measured on SEEDA. [Metrics that are](../../{_SEEDA})."]


def metrics_index() -> str:
    """Return the Markdown of the list of all metrics, by group."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys([*told(), *METRICS]):
        group = told().get(name, {}).get("group", "Other metrics")
        groups.setdefault(group, []).append(name)
    lines = [
        "# Metrics",
        "",
        "`gecjury metrics NAME` prints what a metric needs and its options. Which of them agree "
        f"with people: [SEEDA](../../{_SEEDA}).",
    ]
    for group, names in groups.items():
        lines += ["", f"## {group}", ""]
        for name in names:
            found = scorer_class(name)
            lines.append(f"- [`{name}`]({name}.md): {table_cell(found.summary)}{_paper(found)}.")
    return "\n".join(lines) + "\n"


def _entries(name: str) -> list[Citation]:
    """Return the entries to cite for a metric; none if the bibliography has none."""
    return [entry for entry, _ in citations([name])] if name in CITED else []


def _paper(found: type[Scorer]) -> str:
    """Return a metric's paper, with a link if there is one; empty for metrics of this package."""
    addresses = [e.fields["url"] for e in _entries(found.name) if "url" in e.fields]
    if not re.search(r"\d{4}", found.paper):
        return ""
    return f" ([{found.paper}]({addresses[0]}))" if addresses else f" ({found.paper})"


def _default(value: object) -> str:
    if value is None or value == "":
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else table_cell(str(value))}`"
