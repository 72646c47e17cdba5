"""The reader of GECCC: made-up files in the same format, and the released ones."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from gecjury.benchmarks.data_folder import open_data
from gecjury.benchmarks.loaders.geccc import read_geccc
from gecjury.core.errors import OptionError
from tests.made_up import data_folder

M2 = """S Ahoj , svete .
A 2 3|||R:SPELL|||světe|||REQUIRED|||-NONE-|||0
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1

S Dobrý den
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0
"""


def files() -> dict[str, str]:
    return {
        "GECCC/data/dev/sentence.input": "Ahoj, svete.\nDobrý den\n",
        "GECCC/data/dev/sentence.gold": "Ahoj, světe.\tAhoj, svete.\nDobrý den\n",
        "GECCC/data/dev/sentence.m2": M2,
        "GECCC/data/dev/sentence.meta": "one\ntwo\n",
        "GECCC/data/meta.tsv": "Filename\tDomain\tAge\none\tRomani\t15\ntwo\tNatives Formal\t20\n",
    }


def test_text_tokens_and_domains_line_by_line(tmp_path: Path) -> None:
    read = read_geccc(data_folder(tmp_path, files()), "dev")
    assert len(read) == 2
    assert read.sources == ("Ahoj, svete.", "Dobrý den")
    assert read.references == (("Ahoj, světe.", "Ahoj, svete."), ("Dobrý den",))
    assert [block.annotators for block in read.m2] == [(0, 1), (0,)]
    assert read.m2[0].text(0) == "Ahoj , světe ."
    assert read.domains == ("Romani", "Natives Formal")
    assert read.documents == ("one", "two")


def test_an_unknown_split_is_refused(tmp_path: Path) -> None:
    wrong: Any = "train"
    with pytest.raises(OptionError, match="dev"):
        read_geccc(data_folder(tmp_path, files()), wrong)


@pytest.mark.parametrize(("split", "size", "two"), [("dev", 8478, 4476), ("test", 7907, 7646)])
def test_the_released_sentences(data_dir: Path, split: Any, size: int, two: int) -> None:
    read = read_geccc(open_data(data_dir), split)
    assert len(read) == size
    assert sum(len(references) == 2 for references in read.references) == two
    assert len(Counter(read.domains)) == 4
    # The tokens with the edits applied spell every reference.
    for references, block in zip(read.references, read.m2, strict=True):
        for annotator, reference in enumerate(references):
            assert "".join(block.text(annotator).split()) == "".join(reference.split())
