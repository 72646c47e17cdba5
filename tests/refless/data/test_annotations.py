"""Rated sentences: reading, averaging, rows left out and rows refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.data_folder import open_data
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.leakage import normalise
from gecjury.refless.data.annotations import (
    Annotations,
    ColumnMap,
    Scale,
    read_annotations,
)
from gecjury.refless.data.rated_sets import (
    read_named,
    split_as_named,
    split_by_source,
)

HEADER = "source,output,grammer,fluency,meaning,system"


def write(folder: Path, *rows: str, name: str = "ratings.csv") -> Path:
    path = folder / name
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def test_raters_are_averaged_and_zeros_left_out(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        HEADER,
        'A b .,A c .,"3,4,3,4,3","1,2,3,4,4","0,4,4,3,3",x',
        'A d .,"A, e .","1,1,1,1,1","2,2,2,2,2","0,0,3,3,1",x',
        # Three of five raters say "other" for grammaticality, so the row is dropped.
        'A f .,A g .,"0,0,0,4,4","2,2,2,2,2","3,3,3,3,3",x',
    )
    found = read_annotations(path)
    assert found.aspects == ("grammaticality", "fluency", "meaning")
    assert found.outputs == ("A c .", "A, e .")
    # (3+4+3+4+3)/5 = 3.4, 14/5 = 2.8, (4+4+3+3)/4 = 3.5; 1, 2, (3+3+1)/3 = 7/3.
    assert found.ratings == pytest.approx(np.array([[3.4, 2.8, 3.5], [1, 2, 7 / 3]]))
    assert "1 rows left out" in found.notes[0]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("", r"line 3, column fluency: ''; expected a rating from 1 to 4 \(or 0 for other\)"),
        ('"3,x"', r"line 3, column fluency: '3,x'; expected"),
        ("nan", r"line 3, column fluency: 'nan'; expected"),
        ("5", r"line 3, column fluency: '5'; expected a rating from 1 to 4 .* `scale=LOW:HIGH`"),
        ("0.5", r"line 3, column fluency: '0.5'; expected"),
    ],
)
def test_bad_ratings_name_line_and_column(tmp_path: Path, cell: str, message: str) -> None:
    path = write(tmp_path, HEADER, "A .,A .,1,1,1,x", f"B .,B .,1,{cell},1,x")
    with pytest.raises(InputError, match=message):
        read_annotations(path)


def test_tables_without_usable_ratings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no column is known to contain the rated sentence"):
        read_annotations(write(tmp_path, "a,b", "1,2"))
    with pytest.raises(InputError, match="contains no row"):
        read_annotations(write(tmp_path, HEADER))
    with pytest.raises(InputError, match="all 2 ratings of fluency are 2, so there is nothing to"):
        read_annotations(write(tmp_path, HEADER, "A .,A .,1,2,1,x", "B .,B .,2,2,3,x"))
    with pytest.raises(InputError, match="line 2, column output: ''; expected a sentence"):
        read_annotations(write(tmp_path, HEADER, "A .,,1,2,1,x"))
    columns = ColumnMap.parse(["output=text", "fluency=f"])
    with pytest.raises(InputError, match="has no column 'text'"):
        read_annotations(write(tmp_path, HEADER, "A .,A .,1,2,1,x"), columns)


def test_columns_with_the_standard_names_need_no_map(tmp_path: Path) -> None:
    path = write(tmp_path, "output,meaning,grammaticality", "A b .,2,1", "A c .,3,4")
    found = read_annotations(path)
    assert found.aspects == ("grammaticality", "meaning")
    assert found.outputs == ("A b .", "A c .")
    assert found.sources == ("", "")
    np.testing.assert_array_equal(found.ratings, [[1, 2], [4, 3]])


def test_column_maps_and_scales_are_checked() -> None:
    columns = ColumnMap.parse(["output=h", "fluency=f1,f2", "split=part"])
    assert columns == ColumnMap("h", {"fluency": ("f1", "f2")}, "", "part")
    for bad in (["fluency"], ["colour=c"], ["output="]):
        with pytest.raises(OptionError):
            ColumnMap.parse(bad)
    assert Scale.parse("0:100") == Scale(0, 100, zero_is_other=False)
    assert Scale.parse("1:5").zero_is_other
    for text in ("4:1", "one:two", "3"):
        with pytest.raises(OptionError):
            Scale.parse(text)


def test_a_map_is_completed_by_columns_with_the_standard_names(tmp_path: Path) -> None:
    path = write(tmp_path, "hyp,source,split,fluency,meaning", "a,b,dev,2,1", "c,d,test,3,4")
    found = read_annotations(path, ColumnMap.parse(["output=hyp"]))
    assert (found.aspects, found.sources) == (("fluency", "meaning"), ("b", "d"))
    assert found.names == ("dev", "test")
    # If the map names an aspect, only that aspect is used.
    found = read_annotations(path, ColumnMap.parse(["output=hyp", "grammaticality=fluency"]))
    assert found.aspects == ("grammaticality",)
    with pytest.raises(
        InputError, match=r"ratings.csv: no column .* the rated sentence \(output\): hyp"
    ):
        read_annotations(path, ColumnMap.parse(["fluency=fluency"]))
    bare = write(tmp_path, "hyp,text", "a,b", name="b.csv")
    with pytest.raises(
        InputError, match=r"b.csv: no column is known to contain a rating: hyp, text"
    ):
        read_annotations(bare, ColumnMap.parse(["output=hyp"]))


def test_aspects_found_used_and_left_out_are_reported(tmp_path: Path) -> None:
    path = tmp_path / "r.tsv"
    path.write_text("output\tgrammar\tfluency\tmeaning\na\t1\t2\t3\nb\t2\t3\t4\n")
    (note,) = read_annotations(path, ColumnMap.parse(["grammaticality=grammar"])).notes
    for words in ("used: grammaticality", "`column=fluency=fluency` `column=meaning=meaning`"):
        assert words in note
    assert read_annotations(path).notes == ()


def test_all_file_formats_give_the_same_table(tmp_path: Path) -> None:
    columns = ColumnMap.parse(["output=h", "fluency=f,g"])
    scale = Scale(0, 10, zero_is_other=False)
    csv = write(tmp_path, "h,f,g", '"say ""a""",1,2', "b,0,0")
    # In tab-separated text a quotation mark is an ordinary character.
    tsv = write(tmp_path, "h\tf\tg", 'say "a"\t1\t2', "b\t0\t0", name="r.tsv")
    rows = [{"h": 'say "a"', "f": 1, "g": 2}, {"h": "b", "f": 0, "g": [0]}]
    lines = write(tmp_path, *map(json.dumps, rows), name="r.jsonl")
    tables = [read_annotations(path, columns, scale) for path in (csv, tsv, lines)]
    for table in tables:
        assert table.outputs == ('say "a"', "b")
        assert table.ratings.tolist() == [[1.5], [0.0]]
        assert table.print == tables[0].print


def test_a_note_on_quotation_marks_leaves_the_name_of_the_file_to_its_reader(
    tmp_path: Path,
) -> None:
    path = write(tmp_path, "output\tfluency", '"say ""a"""\t1', "b\t2", name="r.tsv")
    data = read_annotations(path)
    assert data.outputs == ('say "a"', "b")
    assert data.notes == ("1 cells are in quotation marks, which are not part of the text",)


def test_hugging_face_datasets_are_read_by_row(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    rows = {"h": ["a b", "c d"], "f": [[1, 2, 3], [4, 4, 4]]}
    datasets.Dataset.from_dict(rows).save_to_disk(tmp_path / "set")
    columns = ColumnMap.parse(["output=h", "fluency=f"])
    found = read_annotations(f"hf:{tmp_path / 'set'}", columns)
    assert found.ratings.tolist() == [[2.0], [4.0]]
    rows["f"][1] = [4, 9, 4]
    datasets.DatasetDict({"x": datasets.Dataset.from_dict(rows)}).save_to_disk(tmp_path / "d")
    with pytest.raises(InputError, match=r"row 2, column f: \[4, 9, 4\]; expected a rating from 1"):
        read_annotations(f"hf:{tmp_path / 'd'}:x", columns)
    with pytest.raises(InputError, match="has no split 'y'; it has x"):
        read_annotations(f"hf:{tmp_path / 'd'}:y", columns)


def table(sources: list[str], aspects: tuple[str, ...] = ("fluency",)) -> Annotations:
    numbers = np.arange(len(sources) * len(aspects), dtype=float) % 4 + 1
    outputs = tuple(f"{source} {n}" for n, source in enumerate(sources))
    return Annotations(
        aspects, outputs, tuple(sources), numbers.reshape(len(sources), len(aspects))
    )


def test_no_source_is_in_two_parts() -> None:
    # The last two are the same source, tokenised or not and with different quotation marks.
    sources = [f"s {n // 3} ." for n in range(300)] + ['" X0 ."', "“x0.”"]
    split = split_by_source(table(sources))
    keys = [s.replace(" ", "").strip('"“”').lower() for s in sources]
    parts = [{keys[row] for row in rows} for rows in (split.train, split.dev, split.test)]
    assert not (parts[0] & parts[1])
    assert not (parts[0] & parts[2])
    assert not (parts[1] & parts[2])
    assert sorted([*split.train, *split.dev, *split.test]) == list(range(302))
    assert 30 <= len(split.dev) <= 34
    assert 30 <= len(split.test) <= 34
    again = split_by_source(table(sources))
    assert all((a == b).all() for a, b in zip(split.train, again.train, strict=True))


def test_tmu_gfm_is_read_whole(data_dir: Path) -> None:
    data = read_annotations(data_dir / "TMU-GFM-Dataset" / "tmu-gfm-dataset.csv")
    # 4,221 rows (Yoshimura et al. 2020, section 3); the means in the release also leave out zeros.
    assert len(data) == 4221
    import csv

    with (data_dir / "TMU-GFM-Dataset" / "tmu-gfm-dataset.csv").open(encoding="utf-8") as file:
        means = [[float(r[k]) for k in ("ave_g", "ave_f", "ave_m")] for r in csv.DictReader(file)]
    assert np.abs(data.ratings - np.array(means)).max() < 0.006
    split = split_by_source(data)
    # The sizes in the paper: 3,376, 422, 423.
    assert [len(rows) for rows in (split.train, split.dev, split.test)] == [3375, 422, 424]


def test_gug_comes_with_its_split(data_dir: Path) -> None:
    data = read_annotations(data_dir / "gug-data" / "gug_annotations.tsv")
    split = split_as_named(data)
    # Heilman et al. (2014), section 2: 1,518 / 747 / 754.
    assert [len(rows) for rows in (split.train, split.dev, split.test)] == [1518, 747, 754]
    assert "110 rows left out" in data.notes[0]


def test_one_rating_of_the_whole_by_several_raters(tmp_path: Path) -> None:
    # autoJQE: tabs in a .csv, only ratings are quoted, and 0 means that a rater could not judge.
    path = write(
        tmp_path,
        "原文\t訂正\t個別評価\t評価",
        '私は"本"を\u3000読む。\t私は"本"を\u3000読む。\t"4,3,4"\t3.67',
        'かき\tか\u3099き\t"0,2,4"\t3.0',
        'かき\tく\t"0,0,4"\t4.0',
        name="human.csv",
    )
    found = read_annotations(path, language=language_of("ja"))
    assert found.aspects == ("quality",)
    assert found.ratings[:, 0] == pytest.approx([11 / 3, 3])
    assert "1 rows left out" in found.notes[0]
    # The characters between words are unchanged, but letters are composed.
    assert found.sources == ('私は"本"を\u3000読む。', "かき")
    assert found.outputs[1] == "がき"
    # In English sentences repeated blanks are still merged.
    assert read_annotations(path).sources[0] == '私は"本"を 読む。'


def test_quality_from_a_user_defined_column(tmp_path: Path) -> None:
    path = write(tmp_path, "s,h,a,b", "x,y,1,2", "x,z,3,4")
    columns = ColumnMap.parse(["output=h", "source=s", "quality=a,b"])
    found = read_annotations(path, columns)
    assert found.aspects == ("quality",)
    assert found.ratings[:, 0].tolist() == [1.5, 3.5]
    named = write(tmp_path, "source,output,quality", "x,y,1", "x,z,4", name="named.csv")
    assert read_annotations(named).aspects == ("quality",)
    with pytest.raises(OptionError, match="quality is one rating of a whole correction"):
        ColumnMap.parse(["output=h", "quality=a", "fluency=b"])


def test_autojqe_is_read_if_its_data_is_installed() -> None:
    try:
        found = read_named("autojqe", open_data())
    except DataError:
        pytest.skip("autoJQE's files are not here")
    # 9,108 minus 22 and 132 rows that two or three raters marked 0.
    assert len(found) == 8954
    split = split_by_source(found)
    assert (len(split.train), len(split.dev), len(split.test)) == (7163, 895, 896)
    # The benchmark of that name is the test part of the training split.
    tested = load_benchmark("autojqe-test").corpus.as_text()
    kept = {normalise(found.sources[row]) for row in split.test}
    assert {normalise(source) for source in tested.sources} == kept
