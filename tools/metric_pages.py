"""One page a metric, made from its class: what it is, needs and takes, and its signature."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

from gecjury.scoring.options import options_of
from gecjury.scoring.registry import METRICS, load, scorer_class
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.signature import Signature

__all__ = ["MetricPage", "index_page", "metric_page"]

_RANGE = re.compile(
    r"(?i)range |higher is better|is worst|^0 or more|0 or −1 a sentence|are 1 to 5|scores as for"
)
_GUIDES = {
    "cleme": "fidelity.md", "cleme2": "fidelity.md", "errant": "edits.md", "impara": "training.md",
    "jury": "jury.md", "llm-e": "judges.md", "llm-s": "judges.md", "edit-verdict": "judges.md",
    "scores": "data.md#scores-of-your-own", "some": "training.md", "sent-errant": "edits.md",
    "uot-errant": "uot-errant.md", "asano": "training.md", "scribendi": "training.md",
}  # fmt: skip
"""Where more is told of a metric than its class can."""
_FAMILIES = {
    "refbased": "measured against references",
    "refless": "without references",
    "judges": "judged by a language model",
    "jury": "a combination of others",
}
_ABILITIES = {
    "credit": "gives single edits credit (`gecjury compare --level edit`)",
    "explain": "shows its alignment of edits (`gecjury explain`)",
    "search": "finds its own settings (`gecjury tune`)",
    "sweep": "tries many values of an option at once (`gecjury tune`)",
}


@dataclass(frozen=True)
class MetricPage:
    """What a page says, before it is Markdown.

    Attributes:
        name: as it is typed.
        summary: one line.
        about: the description of its class, in Markdown.
        range: the sentence of that description that tells range and direction.
        needs: what it cannot be without.
        command: a command line that scores with it.
        facts: rows of a table.
    """

    name: str
    summary: str
    about: str
    range: str
    needs: str
    command: str
    facts: tuple[tuple[str, str], ...]


def read(name: str) -> MetricPage:
    """What the class of a metric says of itself."""
    found = scorer_class(name)
    about = description(found)
    ranges = [sentence for each in _own(found) for sentence in _range_in(description(each))]
    needs = ", ".join(sorted(found.needs)) or "nothing but sources and hypotheses"
    needs += "".join(f"; {what}, named by `{key}=`" for key, what in found.must_name.items())
    abilities = [text for ability, text in _ABILITIES.items() if _can(found, ability)]
    facts = [
        ("family", f"`{found.family}`: {_FAMILIES.get(found.family, 'of another package')}"),
        ("paper", found.paper),
        ("range and direction", ranges[0] if ranges else ""),
        ("needs", needs),
        ("more is better", "yes" if found.directed else "not said: it describes, it does not rate"),
        ("reads", "lines as written" if found.reads == "text" else "tokens"),
        ("packages whose version may move a score", ", ".join(found.packages) or "none"),
        ("can also", "; ".join(abilities) or "–"),
    ]
    return MetricPage(
        name, found.summary, about, ranges[0] if ranges else "", needs, command(found), tuple(facts)
    )


def _can(found: type[Scorer], ability: str) -> bool:
    """Return whether a metric has a method that not all metrics have."""
    return getattr(found, ability, None) is not getattr(Scorer, ability, None)


def _own(found: type[Scorer]) -> list[type]:
    """The class and those it builds on, without what all metrics have in common."""
    return [each for each in found.__mro__ if issubclass(each, Scorer) and each is not Scorer]


def description(found: type) -> str:
    """The description of a class, without its list of attributes."""
    text = inspect.cleandoc(found.__doc__ or "")
    return text.split("Attributes:\n")[0].strip()


def _range_in(text: str) -> list[str]:
    """The parts of sentences that tell a range, without how it comes about."""
    sentences = re.split(r"(?<=[.!?])\s+(?=[A-Z0-9−])", " ".join(text.split()))
    parts = [part for each in sentences for part in re.split(r"[:;] (?![^(]*\))", each)]
    return [part.rstrip(".") for part in parts if _RANGE.search(part)]


def command(found: type[Scorer]) -> str:
    """A command line that scores files with a metric."""
    model = "model=NAME" if found.family == "judges" else "model=DIR"
    named = {"model": model, "file": "file=FILE"}
    option = ",".join(named.get(key, f"{key}=VALUE") for key in found.must_name)
    files = "source.txt mine.txt theirs.txt" if "rivals" in found.needs else "source.txt mine.txt"
    given = " -r ref.txt" if "references" in found.needs else ""
    gold = " --m2 gold.m2" if "gold" in found.needs else ""
    metric = f"{found.name}:{option}" if option else found.name
    return f"gecjury score {files}{given}{gold} -m {metric}"


def metric_page(name: str) -> str:
    """The Markdown of a metric's page."""
    page, scorer = read(name), load(name)
    signature = Signature(name, scorer.family, scorer.settings(), scorer.version)
    lines = [f"# {name}", "", f"**{page.summary}**", "", page.about, "", "| | |", "|---|---|"]
    lines += [f"| {what} | {_cell(told)} |" for what, told in page.facts]
    lines += ["", "## Use", "", "```", page.command, "```", ""]
    if guide := _GUIDES.get(name):
        lines += [f"More about it: [{guide.partition('#')[0]}](../{guide}).", ""]
    lines += ["## Options", ""]
    if options := options_of(scorer):
        lines += [
            f"Given as `-m {name}:OPTION=VALUE,OPTION=VALUE`, or as arguments of `gecjury.load`.",
            "",
            "| option | default | expected | meaning |",
            "|---|---|---|---|",
        ]
        for each in options:
            lines.append(
                f"| `{each.option}` | {_default(each.default)} | {_cell(each.expected)} "
                f"| {_cell(each.meaning)} |"
            )
    else:
        lines.append("It has none.")
    lines += ["", "## Signature", "", "```", signature.own, "```", ""]
    lines.append(
        "With the defaults. A score adds the references that were read, a hash of the data, the "
        "versions above and gecjury's own."
    )
    return "\n".join(lines) + "\n"


def index_page() -> str:
    """The Markdown of the table of all metrics."""
    lines = [
        "# Metrics",
        "",
        "A page each, made from the class that computes it; `gecjury metrics NAME` tells the same.",
        "",
        "| metric | family | what it is | needs | paper |",
        "|---|---|---|---|---|",
    ]
    for name in METRICS:
        found = scorer_class(name)
        lines.append(
            f"| [`{name}`]({name}.md) | {found.family} | {_cell(found.summary)} "
            f"| {', '.join(sorted(found.needs)) or '–'} | {found.paper} |"
        )
    return "\n".join(lines) + "\n"


def _default(value: object) -> str:
    if value is None or value == "":
        return "none"
    return f"`{str(value).lower() if isinstance(value, bool) else _cell(str(value))}`"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", r"\|")
