"""Swedish learner sentences (Östling et al. 2024): five outputs of each, rated by one person.

192 sentences of three levels (64 each of CEFR A, B, C; SweLL), with the outputs of three systems
(`granska`: rules; `mt`: a translation model; `s2`: GPT-3 with two examples) and two corrections
by people (`mm`: minimal paraphrase; `mw`: maximal paraphrase), which were rated like a system's.
Grammaticality and fluency were rated for the output alone, preservation of meaning against the
reference. Ratings are from 1 to 4; 0 means no rating and is left out, as in the release's own
means.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gecjury.benchmarks.benchmark import Benchmark, LoadRequest
from gecjury.benchmarks.judgments import rank_ratings
from gecjury.core.arrays import FloatArray
from gecjury.core.errors import OptionError
from gecjury.core.textfiles import read_json
from gecjury.corpus.corpus import Version
from gecjury.corpus.tokens import in_language
from gecjury.stats.counts import defined_mean

_FOLDER = "gec-evaluation/annotations"
_LEVELS = ("A", "B", "C")
# All figures in the paper are based on the first; the second rated some outputs of level A as well.
_RATERS = ("katarina", "robert")
_ASPECTS = {
    "grammaticality": "Grammaticality",
    "fluency": "Fluency",
    "meaning": "Meaning Preservation",
}
_PARAPHRASES = {"minimal": "mm", "maximal": "mw"}

_Entry = Mapping[str, Any]


def load_swedish(request: LoadRequest) -> Benchmark:
    """Load the Swedish benchmark for `gecjury.benchmarks.load.load_benchmark`."""
    info = request.info
    names = info.system_sets[request.systems]
    _check_references(request, names)
    # Both raters' files are fetched at once; the second rated a part, which shows the agreement.
    files = [f"{_FOLDER}/balanced_{level}/{rater}.json" for rater in _RATERS for level in _LEVELS]
    paths = request.folder.paths(files, wanted_by=info.name)
    read = {
        rater: _entries([paths[f"{_FOLDER}/balanced_{level}/{rater}.json"] for level in _LEVELS])
        for rater in _RATERS
    }
    entries = read[_RATERS[0]]
    corpus = request.corpus(
        [_tidy(entry["original"]) for entry in entries],
        {name: _outputs(entries, name) for name in names},
        lambda name: _reference_set(entries, name),
    )
    corpus = in_language(corpus, request.language)
    raters = {
        aspect: np.stack([_ratings(read[rater], names, rater, key) for rater in _RATERS])
        for aspect, key in _ASPECTS.items()
    }
    # Only the first rater's ratings count, as in the paper.
    ratings = {aspect: table[0] for aspect, table in raters.items()}
    # Nobody judged an output as a whole, so the three aspects have equal weights. If one is
    # missing, there is no mean.
    mean: FloatArray = np.mean(list(ratings.values()), axis=0)
    return request.benchmark(
        corpus,
        rankings={"sentence": rank_ratings(mean, corpus)},
        human={
            "sentence": {
                "mean": dict(zip(names, defined_mean(mean.T, 0).tolist(), strict=True)),
            }
        },
        notes=_notes(request, ratings, raters, mean),
        segment_scores=mean,
        ratings=ratings,
        raters=raters,
    )


def _check_references(request: LoadRequest, names: Sequence[str]) -> None:
    """Refuse corrections that would be their own references."""
    for chosen, system in _PARAPHRASES.items():
        if chosen in request.references and system in names:
            raise OptionError(
                f"--references {chosen}: these are the outputs of {system}, which is among the "
                f"systems compared and would be its own reference; use --systems systems, which "
                "leaves out the corrections by people, or --references official"
            )


def _entries(paths: Sequence[Path]) -> list[_Entry]:
    """Return the annotated sentences of all levels."""
    what = "an annotation file of gec-evaluation"
    return [entry for path in paths for entry in read_json(path, what)["data"]]


def _outputs(entries: Sequence[_Entry], name: str) -> Version:
    return Version(tuple(_tidy(entry["systems"][name]["output"]) for entry in entries))


def _reference_set(entries: Sequence[_Entry], name: str) -> list[Version]:
    if name == "official":
        return [Version(tuple(_tidy(entry["reference"]) for entry in entries))]
    if name in _PARAPHRASES:
        return [_outputs(entries, _PARAPHRASES[name])]
    rater = _RATERS[0]
    return [
        Version(
            tuple(
                _tidy(entry["systems"][system]["annotators"][rater]["corrected"])
                for entry in entries
            )
        )
        for system in entries[0]["systems"]
    ]


def _ratings(entries: Sequence[_Entry], names: Sequence[str], rater: str, key: str) -> FloatArray:
    """Return one rater's ratings, systems × sentences; NaN for 0 and where there is none."""
    table = np.full((len(names), len(entries)), np.nan)
    for row, entry in enumerate(entries):
        for column, name in enumerate(names):
            value = entry["systems"][name]["annotators"].get(rater, {}).get(key)
            if value:
                table[column, row] = value
    return table


def _notes(
    request: LoadRequest,
    ratings: Mapping[str, FloatArray],
    raters: Mapping[str, FloatArray],
    mean: FloatArray,
) -> tuple[str, ...]:
    outputs = mean.size
    left = ", ".join(f"{int(np.isnan(t).sum())} of {aspect}" for aspect, t in ratings.items())
    shared = int(np.count_nonzero((~np.isnan(raters["grammaticality"])).all(axis=0)))
    notes = [
        f"ratings of one person ({_RATERS[0]}), of {outputs} outputs; 0 means no rating and is "
        f"left out: {left}; the mean of the aspects is known for {int((~np.isnan(mean)).sum())} "
        "outputs",
        f"`one rater`: {_RATERS[1]} rated {shared} of these outputs as well, all of level A",
        "rankings are derived from the mean of grammaticality, fluency and meaning: one item per "
        "sentence, equal means are a tie; meaning was rated against the official reference",
    ]
    if "post-edited" in request.references:
        notes.append(
            "post-edited: the rater's own corrections of all five outputs: every output is "
            "compared with its correction by its rater; such references favour systems that have "
            "them"
        )
    return tuple(notes)


def _tidy(text: str) -> str:
    """Return tokens joined by single spaces; two outputs have more."""
    return " ".join(text.split())
