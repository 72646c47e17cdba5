"""Chinese edits by ChERRANT's rules: by hand, and against ChERRANT's files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("rapidfuzz")

from gecjury.core.errors import OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.files.gold import has_type_of
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.m2 import parse_m2, read_m2
from gecjury.corpus.references import gold_versions
from gecjury.extraction.chinese import ChineseAligner, ChineseReader
from gecjury.extraction.extract import extract
from gecjury.extraction.taggers import extraction_signature
from gecjury.scoring.registry import load

FRESH = Runtime(use_cache=False)


def edits(source: str, corrected: str) -> list[tuple[int, int, str, str]]:
    """Return the edits between two texts, by character if they contain no blank."""
    left, right = (text if " " in text else " ".join(text) for text in (source, corrected))
    [[line]] = extract([left], [[right]], "cherrant", runtime=FRESH).edits
    return [(e.start, e.end, e.correction.replace(" ", ""), e.type) for e in line]


@pytest.mark.parametrize(
    ("source", "corrected", "expected"),
    [
        ("味确实", "味道确实", [(1, 1, "道", "M")]),
        ("吸了不少", "吸不少", [(1, 2, "", "R")]),
        # Adjacent substitutions are one edit between characters, and several between words.
        ("很危害的", "很严重的", [(1, 3, "严重", "S")]),
        ("他们 很 危害 问题", "他们 太 严重 问题", [(1, 2, "太", "S"), (2, 3, "严重", "S")]),
        # `死爱` costs 1 as a transposition and 2 · 1.75 as two substitutions.
        ("人死爱的", "人爱死的", [(1, 3, "爱死", "W")]),
        # Two edits that swap their texts across unchanged text.
        ("冬阴功对外国人的", "外国人对冬阴功的", [(0, 7, "外国人对冬阴功", "W")]),
        # Moved text: deleted in one place, inserted in another.
        ("旅游去陌生地方", "去陌生地方旅游", [(0, 7, "去陌生地方旅游", "W")]),
        # A moved punctuation mark is not a word-order edit.
        ("，去陌生地方", "去陌生地方，", [(0, 1, "", "R"), (6, 6, "，", "M")]),
        # Characters that are only segmented differently are not an edit; the rest is.
        ("负责任 老师", "负 责任 的 老师", [(1, 1, "的", "M")]),
    ],
)
def test_edits_by_hand(source: str, corrected: str, expected: list[object]) -> None:
    assert edits(source, corrected) == expected


def test_costs_by_hand() -> None:
    # Thesaurus 1; classes 0 (two marks), .25 (two words), .499; dissimilar characters .5.
    tokens = ["好", "，", "学习", "Apple"]
    others = ["坏", "；", "学会", "坏"]
    reader = ChineseReader().parse([" ".join(tokens), " ".join(others)])
    left, right = reader[" ".join(tokens)], reader[" ".join(others)]
    aligner = ChineseAligner()
    assert aligner.substitution(left, 0, right, 0) == 1 + 0.25 + 0.5
    assert aligner.substitution(left, 1, right, 1) == 1 + 0 + 0.5
    assert aligner.substitution(left, 0, right, 1) == 1 + 0.499 + 0.5
    assert aligner.substitution(left, 2, right, 2) == 1 + 0.25 + 0.5 * 1 / 2
    assert aligner.substitution(left, 3, right, 3) == 1 + 0.25 + 0.5


def test_case_is_an_edit() -> None:
    assert edits("用app", "用App") == [(1, 2, "A", "S")]


def test_a_long_pair_is_aligned_like_a_short_one() -> None:
    old, new = "甲乙丙丁" * 100, "戊己庚辛" * 100
    assert edits(f"前{old}后", f"前{new}后") == [(1, 401, new, "S")]


def test_chinese_types_are_compared_only_with_chinese_types() -> None:
    assert language_of("zh").tagger == "cherrant"
    assert extraction_signature("cherrant") == {"tagger": "cherrant 1"}
    assert all(has_type_of("cherrant", kind) for kind in ("M", "R", "S", "W", "UNK"))
    # ChERRANT adds a part of speech for words only; these types have none.
    assert not has_type_of("cherrant", "S:NOUN")
    assert not has_type_of("errant", "S")
    with pytest.raises(OptionError, match="tagger cherrant is for Chinese, and the texts are"):
        language_of("ja", tagger="cherrant")


def samples(data_dir: Path) -> Path:
    folder = data_dir / "MuCGEC" / "scorers" / "ChERRANT" / "samples"
    if not folder.is_dir():
        pytest.skip("the data folder has no MuCGEC")
    return folder


@pytest.mark.parametrize(
    ("name", "pairs", "ours", "theirs", "both"),
    [
        ("demo.hyp.m2.char", 16, 27, 27, 27),
        ("demo.ref.m2.char", 29, 68, 68, 68),
        ("nlpcc2018_official.ref.m2.char", 2242, 4405, 4400, 4374),
        # Words as segmented by LTP.
        ("demo.hyp.m2.word", 16, 27, 27, 27),
        ("nlpcc2018_official.ref.m2.word", 2242, 4267, 4261, 4227),
    ],
)
def test_edits_equal_those_of_cherrant(
    data_dir: Path, name: str, pairs: int, ours: int, theirs: int, both: int
) -> None:
    """Compare spans, corrections and operations with ChERRANT's output, from its T lines."""
    blocks = read_m2(samples(data_dir) / name)
    places = [(b, a) for b in blocks for a in b.annotators if b.edits(a)]
    texts = [block.text(annotator) for block, annotator in places]
    (lines,) = extract([b.source for b, _ in places], [texts], "cherrant", runtime=FRESH).edits
    made, gold = Counter[object](), Counter[object]()
    for row, ((block, annotator), line) in enumerate(zip(places, lines, strict=True)):
        made.update((row, e.start, e.end, e.correction, e.type) for e in line)
        # Word edits have a part of speech after the operation.
        gold.update((row, e.start, e.end, e.correction, e.type[0]) for e in block.edits(annotator))
    counts = len(places), made.total(), gold.total(), (made & gold).total()
    assert counts == (pairs, ours, theirs, both)


def test_f_of_the_demo_equals_that_of_cherrant(data_dir: Path, tmp_path: Path) -> None:
    """ChERRANT's README: TP 8, FP 19, FN 35, P .2963, R .186, F0.5 .2649."""
    folder = samples(data_dir)
    # The files differ in one colon, outside of all edits.
    text = (folder / "demo.ref.m2.char").read_text(encoding="utf-8").replace(":", "：")
    gold = tmp_path / "ref.m2"
    gold.write_text(text, encoding="utf-8")
    language = language_of("zh")
    corpus = read_corpus(folder / "demo.input", [folder / "demo.hyp"], [gold], lang=language)
    table = load("errant").score_corpus(corpus, FRESH)
    scores = table.by_system
    assert scores.precision is not None
    assert scores.recall is not None
    figures = (scores.score[0], scores.precision[0], scores.recall[0])
    assert [round(float(figure), 4) for figure in figures] == [0.2649, 0.2963, 0.186]


def test_the_first_alignment_of_an_annotator_is_read() -> None:
    lines = (
        *("S 她 已 经", "T0-A0 她 从", "A 1 3|||S|||从|||REQUIRED|||-NONE-|||0"),
        *("T0-A1 她 从", "A 1 1|||M|||从|||REQUIRED|||-NONE-|||0", "T1 没有错误"),
        "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||1",
    )
    (block,) = parse_m2(lines)
    assert block.annotators == (0, 1)
    assert [v.lines for v in gold_versions((block,))] == [("她 从",), ("她 已 经",)]


def test_an_annotator_without_a_line_did_not_see_the_sentence() -> None:
    edit, noop = "A 1 3|||S|||从|||REQUIRED|||-NONE-|||", "A -1 -1|||noop|||-NONE-|||REQUIRED|||"
    lines = [
        "S 她 已 经",
        "T0-A0 她 从",
        f"{edit}0",
        "",
        "S 她",
        "T0 没有错误",
        f"{noop}-NONE-|||0",
    ]
    lines[3:3] = ["T1 没有错误", f"{noop}-NONE-|||1"]
    one, two = (version.lines for version in gold_versions(parse_m2(lines)))
    assert one == ("她 从", "她")
    assert two == ("她 已 经", "她")
    # The text of the first annotator, who saw it, and not the unchanged source.
    lines[5:] = ["", "S 她 已 经", "T0-A0 她 从", f"{edit}0"]
    assert [v.lines[1] for v in gold_versions(parse_m2(lines))] == ["她 从", "她 从"]
    assert [v.lines[1] for v in gold_versions(parse_m2(lines[:7] + lines[8:]))] == [
        "她 从",
        "她 已 经",
    ]
