"""The sample benchmark that comes with the package, so that a demonstration needs no network."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.human_scores import columns_of_rankings
from gecjury.benchmarks.judgments import RankedItem, judged_entries, read_rankings
from gecjury.benchmarks.table import BENCHMARKS, View
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Version

_VIEWS: tuple[View, ...] = ("edit", "sentence")
_REFERENCES = 3


def load_sample(request: LoadRequest) -> Benchmark:
    """Load the sample, which is never evidence, for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    every = info.system_sets["all"]
    # Everything is read inside the context: only there are files of a zipped package on disk.
    with resources.as_file(resources.files("gecjury.benchmarks") / "sample") as folder:
        sources = tuple(read_lines(folder / "source.txt"))
        rankings: dict[View, tuple[RankedItem, ...]] = {
            view: read_rankings(
                folder / f"judgments_{view}.xml",
                first_line=1,
                lines=len(sources),
                systems=every,
            )
            for view in _VIEWS
        }
        references = [_version(folder / f"reference{number}.txt") for number in range(_REFERENCES)]
        versions = {name: _version(folder / "outputs" / f"{name}.txt") for name in every}
        contexts = _contexts(folder / "documents.tsv", sources)
    # Groups contain what annotators of the view saw, also in sets of fewer systems.
    corpus = request.corpus(
        sources,
        versions,
        lambda _: references,
        ranked=rankings[request.view],
        contexts=contexts,
        reference_sets={"official": lambda: references},
    )
    return request.benchmark(
        corpus,
        rankings=rankings,
        human={
            view: columns_of_rankings(judged_entries(items, every))
            for view, items in rankings.items()
        },
        notes=("a sample ranked by rule, never evidence about a metric",),
        sample=True,
    )


def sample_files() -> dict[str, str]:
    """Return the sample as the files of a user, by name.

    Returns:
        `source.txt`, one output for each system except the unchanged one, `ref0.txt` and so on,
        each with one sentence a line; and `ratings.csv` with a row for each output of each
        sentence, including the unchanged one, with its grammaticality, fluency and meaning from 1
        to 4, computed from the counts of errors.
    """
    root = resources.files("gecjury.benchmarks") / "sample"

    def text(name: str) -> str:
        return (root / name).read_text(encoding="utf-8")

    systems = BENCHMARKS["sample"].system_sets
    outputs = {name: text(f"outputs/{name}.txt") for name in systems["all"]}
    files = {"source.txt": text("source.txt")}
    files |= {f"{name}.txt": outputs[name] for name in systems["base"]}
    files |= {f"ref{number}.txt": text(f"reference{number}.txt") for number in range(_REFERENCES)}
    sources = files["source.txt"].splitlines()
    corrected = {name: output.splitlines() for name, output in outputs.items()}
    ratings = io.StringIO()
    table = csv.writer(ratings, lineterminator="\n")
    table.writerow(["source", "output", "grammaticality", "fluency", "meaning"])
    for counts in csv.DictReader(text("quality.tsv").splitlines(), delimiter="\t"):
        line = int(counts["line"]) - 1
        errors = int(counts["remaining"]) + int(counts["introduced"])
        fluency, meaning = 2 + int(counts["fluency"]), 4 - 2 * int(counts["meaning"])
        output = corrected[counts["system"]][line]
        table.writerow([sources[line], output, max(1, 4 - errors), fluency, meaning])
    return {**files, "ratings.csv": ratings.getvalue()}


def _version(path: Path) -> Version:
    return Version(tuple(read_lines(path)))


def _contexts(path: Path, sources: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the previous and next sentence in the same document, "" at its edges."""
    documents = [line.split("\t")[1] for line in read_lines(path)[1:]]
    last = len(sources) - 1
    return tuple(
        (
            sources[i - 1] if i and documents[i - 1] == documents[i] else "",
            sources[i + 1] if i < last and documents[i + 1] == documents[i] else "",
        )
        for i in range(len(sources))
    )
