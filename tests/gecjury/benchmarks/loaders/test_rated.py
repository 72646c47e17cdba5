"""Benchmarks of ratings: made-up files in the same formats, and the released ones."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.rated import load_autojqe, load_swedish
from gecjury.cli import main
from gecjury.core.errors import OptionError
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.refless.data.annotations import read_annotations
from gecjury.refless.data.rated_sets import split_by_source
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
    with pytest.raises(OptionError, match=f"outputs of {system}.*`systems=systems`"):
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


def test_the_released_ratings_of_swedish(data_dir: Path) -> None:
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


JQE_HEAD = "原文\t訂正\t個別評価\t評価\n"
TEC = "autoJQE/datasets/human_qe_TECJL.csv"
FLU = "autoJQE/datasets/human_qe_FLUTEC.csv"
PLAIN = language_of("ja", tokens="char")


def rows(*given: tuple[str, str, str]) -> str:
    return JQE_HEAD + "".join(f'{a}\t{b}\t"{r}"\t0\n' for a, b, r in given)


def test_ratings_and_raters_by_position(tmp_path: Path) -> None:
    folder = data_folder(
        tmp_path,
        {
            TEC: rows(("犬", "犬が", "4,4,1"), ("猫", "猫", "0,3,4"), ("犬", "犬は", "2,2,2")),
            FLU: rows(("犬", "犬が", "4,4,4"), ("www", "www", "4,0,0")),
        },
    )
    made = load_autojqe(request("autojqe", folder, language=PLAIN))
    # A source that is in both files occurs twice.
    assert made.corpus.as_text().sources == ("犬", "猫", "犬", "www")
    assert made.corpus.names == ("output1", "output2")
    assert made.corpus.systems["output1"].lines[0] == "犬 が"
    assert made.corpus.systems["output2"].lines[2] == "犬 が"
    # 0 means no rating: the mean is that of the other two. With two of three there is no mean.
    nan = np.nan
    np.testing.assert_array_equal(made.rated["rating"], [[3, 3.5, 4, nan], [2, nan, nan, nan]])
    np.testing.assert_array_equal(made.raters["rating"][:, 0, 1], [nan, 3, 4])
    assert np.isnan(made.raters["rating"][:, 0, 3]).all()
    assert made.places
    assert [item.sentence for item in made.rankings["sentence"]] == [0, 1, 2]
    assert made.rankings["sentence"][0].ranks == (1, 2)


def test_the_released_ratings_of_autojqe(data_dir: Path) -> None:
    made = load_benchmark("autojqe", data=data_dir, tokens="char")
    assert len(made.corpus) == 3944
    lines = (data_dir / TEC).read_text(encoding="utf-8").splitlines()[1:]
    lines += (data_dir / FLU).read_text(encoding="utf-8").splitlines()[1:]
    assert len(lines) == 9108
    # Means above 0 in the release equal ours.
    means = [float(line.rsplit("\t", 1)[1]) for line in lines]
    rating = made.rated["rating"]
    known = rating[~np.isnan(rating)]
    assert len(known) == sum(mean > 0 for mean in means) == 8954
    assert sorted(known.round(9)) == pytest.approx(sorted(m for m in means if m > 0))


def test_the_test_part_keeps_whole_sources(data_dir: Path) -> None:
    part = load_benchmark("autojqe-test", data=data_dir, tokens="char")
    whole = load_benchmark("autojqe", data=data_dir, tokens="char")
    chosen = {normalise(text) for text in part.corpus.as_text().sources}
    every = [normalise(text) for text in whole.corpus.as_text().sources]
    assert len(part.corpus) == sum(text in chosen for text in every) == 385


@pytest.mark.slow
def test_compare_leaves_systems_out(data_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usual = ["compare", "autojqe-test", "-m", "changes", "--resamples", "20"]
    usual += ["--data", str(data_dir)]
    assert main([*usual, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["places"] is True
    assert "system" not in found["rows"][0]
    assert found["rows"][0]["sentence"]["pairs"] == 583
    (rated,) = [r for r in found["ratings"] if r["metric"] == "changes"]
    # Two of 896 differ from another only in blanks, which `char` ignores.
    assert rated["outputs"] == 894
    assert rated["system_pearson"] is None
    for more, words in (
        (["--windows"], "names no systems"),
        (["--resample", "systems"], "names no systems"),
        (["--level", "system"], "use --level sentence"),
    ):
        assert main([*usual, *more]) == 2
        assert words in capsys.readouterr().err


def test_five_systems_and_their_ratings(data_dir: Path) -> None:
    tmu = load_benchmark("tmu-gfm", data=data_dir)
    assert tmu.corpus.names == ("cnn", "copy-net", "lstm", "smt", "transformer")
    # 1,378 sources, 7 of them without the output of some system; one occurs three times and one
    # twice, with new ratings each time: 1,371 - 2 + 3 + 2.
    assert len(tmu.corpus) == 1374
    assert any(note.startswith("7 sources are left out") for note in tmu.notes)
    assert list(tmu.rated) == ["grammaticality", "fluency", "meaning", "mean"]
    # The first row of the file: lstm and cnn, grammaticality 3.4, fluency 3.4, meaning 3.6.
    assert [tmu.rated[aspect][2, 0] for aspect in tmu.rated] == pytest.approx(
        [3.4, 3.4, 3.6, 10.4 / 3], abs=1e-12
    )
    # The human score of a system is the mean of its ratings.
    assert tmu.human_scores("mean") == pytest.approx(tmu.rated["mean"].mean(axis=1))


def test_means_are_those_of_the_release(data_dir: Path) -> None:
    tmu = load_benchmark("tmu-gfm", data=data_dir)
    with (data_dir / "TMU-GFM-Dataset/tmu-gfm-dataset.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    released: dict[tuple[str, str, str], list[list[float]]] = {}
    for row in rows:
        for name in row["system"].split(","):
            means = [float(row[column]) for column in ("ave_g", "ave_f", "ave_m")]
            released.setdefault((row["source"], row["output"], name), []).append(means)
    for number, name in enumerate(tmu.corpus.names):
        for place, source in enumerate(tmu.corpus.sources):
            mine = [tmu.ratings[aspect][number, place] for aspect in tmu.ratings]
            wanted = released[source, tmu.corpus.systems[name].lines[place], name]
            assert any(np.allclose(mine, means, atol=1e-9) for means in wanted)


def test_the_test_part_is_never_used_in_training(data_dir: Path) -> None:
    test = load_benchmark("tmu-gfm-test", data=data_dir)
    data = read_annotations(data_dir / "TMU-GFM-Dataset/tmu-gfm-dataset.csv")
    split = split_by_source(data)
    seen = {normalise(data.sources[row]) for row in (*split.train, *split.dev)}
    assert not seen & {normalise(source) for source in test.corpus.sources}
    assert len(test.corpus) == 142
