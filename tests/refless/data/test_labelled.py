"""Labelled tokens from two-column files and M2, and malformed files of both formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from gecjury.benchmarks.data_folder import DataFolder, open_data
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.refless.data.labelled import (
    LABELLED_SETS,
    LabelledSentence,
    LabelledText,
    dev_beside,
    read_labelled,
    refuse_one_class,
)

COLUMNS = "I\tc\nsaws\ti\n\\\"\tc\nques '\ti\n\n\nYes\tc\n"

M2 = """\
S He go school .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 2 2|||M:PREP|||to|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB|||went|||REQUIRED|||-NONE-|||1
A 4 4|||M:OTHER|||!|||REQUIRED|||-NONE-|||1

S Yes .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S Well .

"""


def no_folder() -> DataFolder:
    raise AssertionError("no named set is asked for")


def read(path: Path, content: str) -> tuple[LabelledSentence, ...]:
    path.write_text(content)
    return read_labelled([str(path)], no_folder)


def test_two_columns_with_quotation_marks_and_a_token_of_two_words(tmp_path: Path) -> None:
    first, second = read(tmp_path / "x.tsv", COLUMNS)
    assert first == LabelledSentence(("I", "saws", '"', "ques '"), (False, True, False, True))
    assert second == LabelledSentence(("Yes",), (False,))


def test_windows_line_ends_and_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_bytes("\ufeffI\tc\r\nsaws\ti\r\n\r\nYes\tc\r\n".encode())
    found = read_labelled([str(tmp_path / "x.tsv")], no_folder)
    assert [sentence.tokens for sentence in found] == [("I", "saws"), ("Yes",)]


def test_m2_marks_covered_tokens_and_the_token_right_of_an_insertion(tmp_path: Path) -> None:
    found = read(tmp_path / "x.m2", M2)
    # Annotator 0 replaces token 1 and inserts before token 2; annotator 1 inserts at the end.
    assert {s.wrong for s in found if s.tokens[0] == "He"} == {
        (False, True, True, False),
        (False, True, False, True),
    }
    # Two annotators who agree are one reading; a block without A lines has no errors.
    assert [s for s in found if s.tokens[0] != "He"] == [
        LabelledSentence(("Yes", "."), (False, False)),
        LabelledSentence(("Well", "."), (False, False)),
    ]


def test_files_of_both_kinds_are_joined(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").write_text(COLUMNS)
    (tmp_path / "x.m2").write_text(M2)
    found = read_labelled([str(tmp_path / "x.tsv"), str(tmp_path / "x.m2")], no_folder)
    assert len(found) == 2 + 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"I\tc\nsaws\ti\tx\n", "x.tsv, line 2: 'saws\\\\ti\\\\tx'; expected TOKEN, tab"),
        (b"I am here .\n", "line 1: 'I am here .'; expected TOKEN, tab"),
        (b"I\tc\nsaws\t0\n", "line 2: 'saws\\\\t0'; expected TOKEN, tab, c .correct. or i"),
        (b"\tc\n", "line 1: '\\\\tc'; expected TOKEN"),
        (b"", "the file is empty"),
        (b"I\tc\n\xff\xfe\x00", "UTF-8"),
        (b"S a b\nA 0 9|||R|||x|||REQUIRED|||-NONE-|||0\n\n", "line 2"),
        # Two-column lines after M2 ones, in one file.
        (b"S a b\nA 0 1|||R|||x|||REQUIRED|||-NONE-|||0\n\nI\tc\n", "line 4"),
    ],
)
def test_malformed_files_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "x.tsv").write_bytes(content)
    with pytest.raises(InputError, match=message.replace("(", r"\(").replace(")", r"\)")):
        read_labelled([str(tmp_path / "x.tsv")], no_folder)


def test_paths_that_are_not_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(OptionError, match=r"'multiged-fr': neither a set \(multiged-en, multiged-"):
        read_labelled(["multiged-fr"], no_folder)
    with pytest.raises(InputError, match=r"folder|directory"):
        read_labelled([str(tmp_path)], no_folder)


def test_one_class_is_refused() -> None:
    right = LabelledSentence(("a", "b"), (False, False))
    wrong = LabelledSentence(("a", "b"), (True, True))
    for sentences, message in (
        ([], "0 sentences with no token"),
        ([right], "1 sentences with no error"),
        ([wrong, wrong], "2 sentences with wrong tokens only"),
    ):
        with pytest.raises(InputError, match=f"x: {message}"):
            refuse_one_class(sentences, "x")
    refuse_one_class([right, wrong], "x")


def test_a_dev_part_is_found_next_to_its_train_part(tmp_path: Path) -> None:
    train = tmp_path / "xx_train.tsv"
    assert dev_beside(str(train)) is None
    (tmp_path / "xx_dev.tsv").write_text(COLUMNS)
    assert dev_beside(str(train)) == str(tmp_path / "xx_dev.tsv")
    # A file whose name says neither is not part of a pair.
    assert dev_beside(str(tmp_path / "xx.tsv")) is None
    assert dev_beside("multiged-sv") == "multiged-sv"


def test_the_fingerprint_depends_on_labels_and_parts() -> None:
    one, other = (LabelledSentence(("a", "b"), (wrong, False)) for wrong in (True, False))
    prints = {
        LabelledText((one,)).print,
        LabelledText((other,)).print,
        LabelledText((), (one,)).print,
        LabelledText((one, other)).print,
    }
    assert len(prints) == 4


@pytest.mark.slow
def test_the_shared_task_s_sets_by_name(data_dir: Path) -> None:
    folder = open_data(data_dir)
    sizes = {}
    for name in LABELLED_SETS:
        try:
            train, dev = (read_labelled([name], lambda: folder, part=p) for p in ("train", "dev"))
        except DataError:
            pytest.skip("the data folder lacks MultiGED-2023")
        sizes[name] = (len(train), len(dev), sum(map(sum, (s.wrong for s in train))))
    # Sentences and errors as in the shared task's table: FCE, GECCC, Falko-MERLIN, MERLIN, SweLL.
    assert sizes["multiged-en"] == (28357, 2191, 42899)
    assert sizes["multiged-cs"][:2] == (29794, 2780)
    assert sizes["multiged-de"][:2] == (19239, 2503)
    assert sizes["multiged-it"][:2] == (6394, 758)
    assert sizes["multiged-sv"][:2] == (6729, 911)
