"""Citations of metrics and benchmarks, read from the BibTeX file next to this module.

In that file an entry begins with `@kind{key,`, has one field per line (`  name = {value},`) and
ends with `}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from gecjury.benchmarks.table import BENCHMARKS
from gecjury.core.errors import OptionError, nearest
from gecjury.core.runtime import __version__
from gecjury.scoring.options import is_own_file, split_name
from gecjury.scoring.registry import METRICS, metric_names, origin, paper_of

_FILE = Path(__file__).with_name("citations.bib")
_ENTRY = re.compile(r"^@(\w+)\{([\w-]+),\n(.*?)^\}$", re.MULTILINE | re.DOTALL)
_FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.MULTILINE)

_OWN = ("gecjury",)
_CONLL14 = "ng-etal-2014-conll"
_GMEG = ("napoles-etal-2019-enabling",)
_SOME = ("yoshimura-etal-2020-reference",)
_JAPANESE = ("suzuki-etal-2022-construction",)
_AQUA = ("shpagin-aqua",)
_PT = ("gong-etal-2022-revisiting",)

CITED: Mapping[str, tuple[str, ...]] = {
    "gecjury": _OWN,
    # metrics
    "asano": ("asano-etal-2017-reference",),
    "changes": _OWN,
    "cleme": ("ye-etal-2023-cleme",),
    "cleme2": ("ye-etal-2025-cleme2",),
    "edit-verdict": _OWN,
    "errant": ("bryant-etal-2017-automatic", "felice-etal-2016-automatic"),
    "fluency": ("asano-etal-2017-reference",),
    "gleu": ("napoles-etal-2015-ground", "napoles-etal-2016-gleu"),
    "gleu-official": ("napoles-etal-2016-gleu", "napoles-etal-2015-ground"),
    "gotoscorer": ("gotou-etal-2020-taking",),
    "green": ("koyama-etal-2024-n",),
    "i-measure": ("felice-briscoe-2015-towards",),
    "impara": ("maeda-etal-2022-impara",),
    "jury": _OWN,
    "llm-e": ("kobayashi-etal-2024-large",),
    "llm-s": ("kobayashi-etal-2024-large",),
    "m2": ("dahlmeier-ng-2012-better",),
    "post-edit": ("ostling-etal-2025-llm", "rozovskaya-roth-2021-good"),
    "pt-errant": (*_PT, "bryant-etal-2017-automatic"),
    "pt-m2": (*_PT, "dahlmeier-ng-2012-better"),
    "scores": _OWN,
    "scribendi": ("islam-magnani-2021-end",),
    "sent-errant": ("bryant-etal-2017-automatic", "felice-etal-2016-automatic"),
    "sentm2": ("dahlmeier-ng-2012-better",),
    "some": _SOME,
    "uot-errant": ("goto-etal-2026-uot",),
    "valid": _OWN,
    # benchmarks
    "seeda": ("kobayashi-etal-2024-revisiting", _CONLL14),
    "gjg15": ("grundkiewicz-etal-2015-human", _CONLL14),
    **{name: _GMEG for name in BENCHMARKS if name.startswith("gmeg-")},
    "jfleg": ("napoles-etal-2017-jfleg",),
    "tmu-gfm": _SOME,
    "tmu-gfm-test": _SOME,
    "swedish-oestling": ("ostling-etal-2024-evaluation",),
    "sottana": ("sottana-etal-2023-evaluation",),
    "dsgram": ("xie-etal-2025-dsgram",),  # the metric, too
    "autojqe": _JAPANESE,
    "autojqe-test": _JAPANESE,
    "cgec-zh": ("wang-revisitcgec",),
    "aqua-en": _AQUA,
    "aqua-uk": _AQUA,
    "pevdata": ("zhan-etal-2026-jelv",),
    "sample": _OWN,
}
"""Keys of entries by metric or benchmark; the paper that introduced it comes first.

A metric or benchmark needs no line here: without one, pages name its paper without an address.
"""


@dataclass(frozen=True)
class Citation:
    """An entry of a bibliography.

    Attributes:
        kind: `article`, `inproceedings` or `misc`.
        key: the key by which it is cited.
        fields: values by name, without their braces; they may contain TeX.
    """

    kind: str
    key: str
    fields: Mapping[str, str]

    @property
    def address(self) -> str:
        """The address of the paper; "" if it is not known."""
        doi = self.fields.get("doi")
        return self.fields.get("url") or (f"https://doi.org/{doi}" if doi else "")

    def __str__(self) -> str:
        lines = [f"  {name} = {{{value}}}," for name, value in self.fields.items()]
        return "\n".join([f"@{self.kind}{{{self.key},", *lines, "}"])


@cache
def entries() -> Mapping[str, Citation]:
    """Return all entries by key, in the order of the file, with the version filled in."""
    text = _FILE.read_text(encoding="utf-8").replace("VERSION", __version__)
    return {
        key: Citation(kind, key, dict(_FIELD.findall(lines)))
        for kind, key, lines in _ENTRY.findall(text)
    }


def citations(names: Iterable[str]) -> list[tuple[Citation, list[str]]]:
    """Return the entries of metrics and benchmarks, each once, with the names it is cited for.

    Args:
        names: metrics (options after a colon are ignored) and benchmarks.

    Raises:
        OptionError: a name is neither, and the message suggests the nearest; or there is no entry
            for it, and the message names its paper.
    """
    cited: dict[str, list[str]] = {}
    for label in dict.fromkeys(names):
        plain = split_name(label)[0].partition("@")[0]
        name = plain.lower()
        if name not in CITED:
            raise OptionError(_nothing_to_cite(label[:60], plain))
        for key in CITED[name]:
            cited_for = cited.setdefault(key, [])
            if name not in cited_for:
                cited_for.append(name)
    return [(entries()[key], cited_for) for key, cited_for in cited.items()]


def address_of(metric: str) -> str:
    """Return the address of the paper of one of gecjury's metrics; "" if there is no entry."""
    # A metric of another package may have the name of a benchmark.
    keys = CITED.get(metric, ()) if metric in METRICS else ()
    return entries()[keys[0]].address if keys else ""


def _nothing_to_cite(label: str, name: str) -> str:
    """Return why nothing can be cited for a name that is not in `CITED`, and what to do."""
    citable = {*CITED, *metric_names(), *BENCHMARKS}
    if not is_own_file(name) and name not in citable:
        return (
            f"nothing to cite for {label!r}, not a metric or benchmark: "
            f"{nearest(name[:60], sorted(citable))}"
        )
    paper = BENCHMARKS[name].citation if name in BENCHMARKS else paper_of(name)
    return (
        f"{label}: gecjury has no BibTeX entry for it; leave it out, and cite "
        f"{paper or f'what {origin(name)} says of it'}"
    )
