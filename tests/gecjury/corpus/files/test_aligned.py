"""Files whose rows have ids are matched with their source by id, in every form and order."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gecjury.benchmarks.own.csv_table import table_info
from gecjury.core.errors import InputError
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.remarks import remarks_on
from gecjury.refless.data.pairs import read_parallel

SOURCE = ["I has it .", "He go .", "All is well ."]
RIGHT = ("I have it .", "He goes .", "All is well .")
SHUFFLED = (2, 0, 1)


def json_lines(key: str, ids: list[object], texts: list[str]) -> str:
    return "".join(
        json.dumps({key: one, "text": t}) + "\n" for one, t in zip(ids, texts, strict=True)
    )


def shuffled(key: str, ids: list[object]) -> str:
    return json_lines(key, [ids[n] for n in SHUFFLED], [RIGHT[n] for n in SHUFFLED])


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "source.txt").write_text("".join(f"{line}\n" for line in SOURCE))
    (tmp_path / "source.jsonl").write_text(json_lines("id", ["a", "b", "c"], SOURCE))
    (tmp_path / "right.txt").write_text("".join(f"{line}\n" for line in RIGHT))
    return tmp_path


@pytest.mark.parametrize(
    ("source", "name", "text"),
    [
        ("source.jsonl", "mine.jsonl", shuffled("id", ["a", "b", "c"])),
        ("source.jsonl", "mine.jsonl", shuffled("custom_id", ["a", "b", "c"])),
        ("source.jsonl", "mine.jsonl", shuffled("line", [1, 2, 3])),
        ("source.jsonl", "mine.tsv", "id\toutput\n" + "".join(
            f"{'abc'[n]}\t{RIGHT[n]}\n" for n in SHUFFLED
        )),
        ("source.txt", "mine.jsonl", shuffled("id", [0, 1, 2])),
        ("source.txt", "mine.jsonl", shuffled("sentence", ["1", "2", "3"])),
        ("source.txt", "mine.json", "[" + ",\n".join(
            shuffled("id", [1, 2, 3]).splitlines()
        ) + "]\n"),
        ("source.txt", "mine.csv", "line,hypothesis\n" + "".join(
            f"{n + 1},{RIGHT[n]}\n" for n in SHUFFLED
        )),
    ],
)  # fmt: skip
def test_rows_are_matched_by_id(here: Path, source: str, name: str, text: str) -> None:
    (here / name).write_text(text)
    corpus = read_corpus(source, {"mine": name}, [name, "right.txt"])
    # A reference without ids has the order of the source.
    for version in (corpus.systems["mine"], *corpus.references):
        assert tuple(version.lines) == RIGHT


@pytest.mark.parametrize(
    ("source", "text", "words"),
    [
        ("source.jsonl", shuffled("id", ["a", "b", "d"]),
         "line 1: id = d is not in source.jsonl, whose line 3 is 'c'"),
        ("source.jsonl", shuffled("id", ["a", "b", "b"]), "line 3: id = b is in line 1, too"),
        ("source.jsonl", json_lines("id", ["a", "b"], ["x", "y"]),
         "id = c is missing, which source.jsonl has in line 3"),
        ("source.jsonl", json_lines("id", ["a", "b", None], [*RIGHT]),
         "line 3: id is None, but another row has 'a'"),
        ("source.jsonl", json_lines("id", ["a", "b", True], [*RIGHT]), "line 3: id is True"),
        ("source.jsonl", json_lines("id", [1.5, 2.5, 3.5], [*RIGHT]), "line 1: id is 1.5; expect"),
        ("source.jsonl", json_lines("id", [" ", " ", " "], [*RIGHT]), "line 1: id is ' '; expect"),
        ("source.txt", shuffled("id", ["a", "b", "c"]),
         "line 1: id = c is not a line number of source.txt (1 to 3)"),
        ("source.txt", shuffled("line", [1, 2, 4]), "line 1: line = 4 is not a line number"),
    ],
)  # fmt: skip
def test_ids_that_do_not_match_are_refused(here: Path, source: str, text: str, words: str) -> None:
    (here / "mine.jsonl").write_text(text)
    for files in ((["mine.jsonl"], []), ([], ["mine.jsonl"])):
        with pytest.raises(InputError) as error:
            read_corpus(source, *files)
        assert words in str(error.value)


def test_a_sentence_in_another_column_is_no_id(here: Path) -> None:
    rows = [{"sentence": s, "text": t} for s, t in zip(SOURCE, RIGHT, strict=True)]
    (here / "mine.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert read_corpus("source.txt", ["mine.jsonl"]).systems["mine"].lines == RIGHT


def test_lines_next_to_shuffled_numbers_are_mentioned(here: Path) -> None:
    (here / "numbered.jsonl").write_text(json_lines("id", [3, 1, 2], SOURCE))
    corpus = read_corpus("numbered.jsonl", ["right.txt"])
    (note,) = remarks_on(corpus, ())
    assert "right.txt: has no ids" in note
    assert "numbered.jsonl" in note


def test_training_pairs_are_matched_by_id(here: Path) -> None:
    (here / "r.jsonl").write_text(shuffled("id", ["a", "b", "c"]))
    (here / "r2.txt").write_text("-NONE-\n-NONE-\nAll are well .\n")
    pairs = read_parallel(["source.jsonl,r.jsonl,r2.txt"], lambda: None)  # type: ignore[arg-type, return-value]  # no folder is opened
    # Three pairs of the first reference, and the only sentence that the second one has.
    assert [len(pair.edits) for pair in pairs] == [1, 1, 0, 1]


def test_a_table_of_judgments_numbers_its_sentences(here: Path) -> None:
    head = "sentence,source,output,system,score\n"
    (here / "t.csv").write_text(f"{head}1,Ok .,Ok !,x,1\n2,Ok .,Okay .,x,2\n")
    # As one sentence, x would have two outputs for it.
    assert table_info(Path("t.csv")).system_sets["base"] == ("x",)
    (here / "t.csv").write_text(f"{head}1,Ok .,Ok !,x,1\n1,No .,No !,x,2\n")
    with pytest.raises(InputError, match=r"t\.csv, line 3, column sentence: '1'.*line 2"):
        table_info(Path("t.csv"))
