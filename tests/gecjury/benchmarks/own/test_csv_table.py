"""Benchmarks in one table: ratings and rankings with their texts, with and without systems."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.edit_labels import load_aqua
from gecjury.core.errors import InputError, OptionError
from tests.gecjury.benchmarks.loaders.test_edit_labels import TEXT as AQUA
from tests.made_up import data_folder, request

RATED = """\
source,output,score,annotator,language
Ella tiene un casa.,Ella tiene una casa.,5,ana,es
Ella tiene un casa.,Ella tiene unas casa.,1,ana,es
Ella tiene un casa.,Ella tiene una casa.,3,luis,es-MX
"Querido Juan,
¿cómo esta?","Querido Juan,
¿cómo estás?",4,luis,
"""
RANKED = """\
source,system,output,rank,annotator
Ich gehen.,gut,Ich gehe.,1,anna
Ich gehen.,faul,Ich gehen.,2,anna
Du geht.,faul,Du geht.,2,anna
Du geht.,gut,Du gehst.,1,anna
"""


def written(tmp_path: Path, text: str, name: str = "mine.csv") -> str:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_ratings_without_systems_are_by_position(tmp_path: Path) -> None:
    made = load_benchmark(written(tmp_path, RATED))
    assert (made.name, made.places, made.corpus.language.code) == ("mine", True, "es")
    # Tokens by the rules for Spanish; the line break in the quoted cells becomes a blank.
    assert made.corpus.sources == ("Ella tiene un casa .", "Querido Juan , ¿ cómo esta ?")
    assert made.corpus.systems["output2"].lines[0] == "Ella tiene unas casa ."
    ana, luis = made.raters["rating"]
    np.testing.assert_array_equal(ana, [[5, np.nan], [1, np.nan]])
    np.testing.assert_array_equal(luis, [[3, 4], [np.nan, np.nan]])
    # Means by position: (5 + 3) / 2 and 4; 1 and none.
    np.testing.assert_array_equal(made.segment_scores, [[4, 4], [1, np.nan]])
    (first, *_) = made.rankings["sentence"]
    assert (first.annotator, first.sentence, first.groups, first.ranks) == (
        "ana", 0, (("output1",), ("output2",)), (1, 2),
    )  # fmt: skip


def test_every_form_of_a_table_gives_the_same_benchmark(tmp_path: Path) -> None:
    names = ["source", "output", "score", "annotator"]
    rows = [
        ['"Yes" , he say .', '"Yes" , he says .', 5, "ana"],
        ['"Yes" , he say .', '"Yes" , he said .', 4.5, "ana"],
        ["Dear Ann,\nhi .", "Dear Ann,\nhi !", 0, "ana"],
    ]
    tabs = io.StringIO()
    csv.writer(tabs, delimiter="\t").writerows([names, *rows])
    records = [dict(zip(names, row, strict=True)) for row in rows]
    written(tmp_path, tabs.getvalue(), "m.tsv")
    written(tmp_path, tabs.getvalue(), "m.txt")
    written(tmp_path, json.dumps(records, indent=1), "m.json")
    written(tmp_path, "\n".join(map(json.dumps, records)), "m.ndjson")
    made = [load_benchmark(str(path)) for path in sorted(tmp_path.iterdir())]
    assert made[0].corpus.sources == ('"Yes" , he say .', "Dear Ann, hi .")
    assert {one.fingerprint for one in made} == {made[0].fingerprint}
    # A score of 0 is a rating.
    np.testing.assert_array_equal(made[0].raters["rating"][0], [[5, 0], [4.5, np.nan]])
    assert "6 cells are in quotation marks" in made[-1].notes[1]
    (tmp_path / "m.xlsx").write_bytes(b"PK\x03\x04rest")
    with pytest.raises(InputError, match=r"m.xlsx: cannot be read as an Excel file .* as CSV"):
        load_benchmark(str(tmp_path / "m.xlsx"))


def test_rankings_with_systems_in_a_chosen_language(tmp_path: Path) -> None:
    made = load_benchmark(written(tmp_path, RANKED), lang="de")
    assert (made.places, made.corpus.language.code) == (False, "de")
    assert made.corpus.names == ("gut", "faul")
    assert made.corpus.systems["gut"].lines == ("Ich gehe .", "Du gehst .")
    assert made.corpus.groups is not None
    scores = made.human_scores("expected-wins")
    assert scores[0] > scores[1]


def test_unused_columns_are_noted(tmp_path: Path) -> None:
    made = load_benchmark(written(tmp_path, "source,output,score,id\na b,a,1,7\na b,b,2.5,7\n"))
    assert "columns that are not read: id" in made.notes


def test_a_file_with_the_columns_of_aqua_is_read_as_aqua(tmp_path: Path) -> None:
    name = "AQUA/data/eval/gold_en.csv"
    theirs = load_aqua(request("aqua-en", data_folder(tmp_path, {name: AQUA})))
    mine = load_benchmark(written(tmp_path, AQUA, "gold_de.csv"))
    assert mine.name == "gold_de"
    assert mine.fingerprint == theirs.fingerprint
    assert mine.verdicts()[:2] == theirs.verdicts()[:2]
    german = load_benchmark(str(tmp_path / "gold_de.csv"), lang="de")
    assert german.corpus.language.code == "de"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("source,output,score\n", "no row below the header"),
        ("sentence,system,score\n1,a,2\n", "judgments alone are not a benchmark"),
        ("source,output,score\n,b,1\n", r"line 2, column source: ''; expected the sentence"),
        ("source,output,score\na,b,x\n", r"line 2, column score: 'x'; expected a number"),
        ("source,output,score\na,b,\n", "every score is empty"),
        ("source,output,rank\na,b,0\n", r"line 2, column rank: '0'; expected a whole number"),
        ("source,output,rank\na,b,1\na,b,2\n", "line 3, column system: 'output1'; expected a"),
        ("source,output,rank\na,b,1\nc,d,1\n", "no sentence has judgments of two systems"),
        (RANKED.replace("Du geht.,gut,Du gehst.,1,anna\n", ""), "no output of system gut for 'Du"),
        (f"{RANKED}Du geht.,gut,Du gang.,1,ben\n", "line 6, column output: 'Du gang.'; expected"),
        (RANKED.replace(",gut,", ",,"), "line 2, column system: ''; expected the name"),
        (RATED.replace("es-MX", "de"), "line 4, column language: 'de'; expected es, as above"),
        (RATED.replace("es-MX", "xq"), "line 4, column language: unknown language 'xq'"),
        ('source,output,score\na,"b,1\n', "line 2: not CSV .*is a quotation mark open"),
        (RATED.replace("5,ana,es", '5,ana,"es'), "line 2: not CSV"),
        (
            RATED.replace("luis,\n", 'luis,"e\ns"\n'),
            r"line 8, column language: 'e\\ns'; expected no",
        ),
    ],
)
def test_bad_tables(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_benchmark(written(tmp_path, text))


def test_names_of_benchmarks_are_reserved(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"'seeda' is the name of a benchmark .*; rename it"):
        load_benchmark(written(tmp_path, RATED, "seeda.csv"))
    with pytest.raises(OptionError, match="unknown system set of mine 'fluency'"):
        load_benchmark(written(tmp_path, RATED), systems="fluency")
