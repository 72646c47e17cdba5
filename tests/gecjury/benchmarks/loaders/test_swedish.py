"""The Swedish benchmark: a made-up annotation in the same format, and the released files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.swedish import load_swedish
from gecjury.core.errors import OptionError
from tests.made_up import data_folder, request

ASPECTS = ("Grammaticality", "Fluency", "Meaning Preservation")
SYSTEMS = ("granska", "mm", "mt", "mw", "s2")


def entry(text: str, ratings: dict[str, tuple[int, int, int]], rater: str) -> dict[str, Any]:
    """One sentence: the output of a system is the text plus its name; `ratings` rates some."""
    return {
        "original": text,
        "reference": f"{text} ref",
        "systems": {
            name: {
                "output": f"{text}  {name}",
                "annotators": {
                    rater: {
                        **dict(zip(ASPECTS, ratings[name], strict=True)),
                        "corrected": f"{name} !",
                    }
                }
                if name in ratings
                else {},
            }
            for name in SYSTEMS
        },
    }


def files(**katarina: tuple[int, int, int]) -> dict[str, str]:
    """One sentence per level; ratings of level A as given by system name, and 4 otherwise."""
    texts = {}
    for level in "ABC":
        full = dict.fromkeys(SYSTEMS, (4, 4, 4))
        own = full | (katarina if level == "A" else {})
        for rater, ratings in (
            ("katarina", own),
            ("robert", {"mt": (3, 3, 3)} if level == "A" else {}),
        ):
            document = {"data": [entry(level, ratings, rater)], "next_item": 1}
            texts[f"gec-evaluation/annotations/balanced_{level}/{rater}.json"] = json.dumps(
                document
            )
    return texts


def test_ratings_are_by_system_and_sentence_and_0_is_no_rating(tmp_path: Path) -> None:
    folder = data_folder(tmp_path, files(granska=(1, 2, 0), mt=(2, 3, 4)))
    made = load_swedish(request("swedish-oestling", folder, references=("official",)))
    assert made.corpus.names == SYSTEMS
    assert made.corpus.sources == ("A", "B", "C")
    assert made.corpus.systems["mt"].lines[0] == "A mt"
    assert made.corpus.references[0].lines == ("A ref", "B ref", "C ref")
    assert made.corpus.language.code == "sv"
    assert made.corpus.language.tokens == "space"
    np.testing.assert_array_equal(made.ratings["grammaticality"][0], [1, 4, 4])
    assert np.isnan(made.ratings["meaning"][0, 0])
    # The mean requires all three aspects.
    assert np.isnan(made.rated["mean"][0, 0])
    assert made.rated["mean"][2, 0] == 3
    # The score of a system is the mean over its known ratings.
    assert made.human_scores("mean").tolist() == pytest.approx([4, 4, 11 / 3, 4, 4])
    # The second rater has ratings only for some sentences.
    np.testing.assert_array_equal(made.raters["fluency"][:, 2, 0], [3, 3])
    assert np.isnan(made.raters["fluency"][1, 0, 0])
    assert made.rankings["sentence"][0].ranks


@pytest.mark.parametrize(("chosen", "system"), [("minimal", "mm"), ("maximal", "mw")])
def test_human_corrections_are_references_only_for_systems(
    tmp_path: Path, chosen: str, system: str
) -> None:
    folder = data_folder(tmp_path, files())
    with pytest.raises(OptionError, match=f"outputs of {system}.*--systems systems"):
        load_swedish(request("swedish-oestling", folder, references=(chosen,)))
    made = load_swedish(
        request("swedish-oestling", folder, systems="systems", references=(chosen,))
    )
    assert made.corpus.names == ("granska", "mt", "s2")
    assert made.corpus.references[0].lines[0] == f"A {system}"


def test_post_edits_are_references_for_every_output(tmp_path: Path) -> None:
    folder = data_folder(tmp_path, files())
    made = load_swedish(request("swedish-oestling", folder, references=("post-edited",)))
    assert [version.lines[0] for version in made.corpus.references] == [f"{n} !" for n in SYSTEMS]
    assert any(note.startswith("post-edited") for note in made.notes)


def test_the_released_ratings(data_dir: Path) -> None:
    """Compare counts and means with a separate pass over the files."""
    made = load_benchmark("swedish-oestling", data=data_dir)
    assert len(made.corpus) == len(set(made.corpus.sources)) == 192
    sums: dict[tuple[str, str], list[int]] = {}
    for level in "ABC":
        path = data_dir / f"gec-evaluation/annotations/balanced_{level}/katarina.json"
        for sentence in json.loads(path.read_text(encoding="utf-8"))["data"]:
            for name, output in sentence["systems"].items():
                for aspect, key in zip(made.ratings, ASPECTS, strict=True):
                    value = output["annotators"]["katarina"][key]
                    sums.setdefault((name, aspect), []).extend([value] * (value > 0))
    for number, name in enumerate(made.corpus.names):
        for aspect, table in made.ratings.items():
            known = table[number][~np.isnan(table[number])]
            assert len(known) == len(sums[name, aspect])
            assert known.mean() == pytest.approx(np.mean(sums[name, aspect]))
    left = {aspect: int(np.isnan(table).sum()) for aspect, table in made.ratings.items()}
    assert left == {"grammaticality": 5, "fluency": 5, "meaning": 16}
    both = ~np.isnan(made.raters["fluency"]).any(axis=0)
    assert both.sum() == 55
    # One decimal, as in the output of the annotators' program.
    means = {a: np.nanmean(t, axis=1).round(1).tolist() for a, t in made.ratings.items()}
    assert means == {
        "grammaticality": [3.0, 3.9, 3.3, 3.9, 3.7],
        "fluency": [2.8, 3.8, 3.1, 3.8, 3.6],
        "meaning": [3.5, 3.9, 3.4, 3.8, 3.4],
    }
