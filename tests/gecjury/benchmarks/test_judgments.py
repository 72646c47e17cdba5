"""Ranking files and the pairs they imply."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gecjury.benchmarks.judgments import (
    RankedItem,
    expand_pairs,
    read_rankings,
)
from gecjury.core.errors import InputError
from tests.published import SEEDA

GOOD = """<?xml version="1.0" encoding="UTF-8"?>
<appraise-results>
<error-correction-ranking-result>
<ranking-item src-id="12" id="1" user="ann">
<translation system="C A" rank="1" />
<translation system="B" rank="2" />
</ranking-item>
<ranking-item src-id="3" id="2" user="ann" skipped="true">
</ranking-item>
</error-correction-ranking-result>
</appraise-results>
"""


def write(folder: Path, text: str | bytes) -> Path:
    path = folder / "judgments.xml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def test_reads_items_and_counts_lines_from_the_stated_number(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD)
    item = RankedItem("1", 11, "ann", (("C", "A"), ("B",)), (1, 2))
    assert read_rankings(path, first_line=1, lines=12, systems="ABC") == (item,)
    assert read_rankings(path, first_line=0)[0].sentence == 12


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (' user="ann">\n<tr', ">\n<tr", "line 4: <ranking-item> has no attribute 'user'"),
        ('src-id="12"', 'src-id="x"', "line 4: src-id 'x' of <ranking-item> is not a whole number"),
        ('src-id="12"', 'src-id="0"', "expected 1 to 1312, counted from 1; if the judgments"),
        ('src-id="12"', 'src-id="1313"', "expected 1 to 1312"),
        ('rank="2"', 'rank="two"', "line 6: rank 'two' of <translation> is not a whole number"),
        ('rank="2"', 'rank="0"', "line 6: rank 0"),
        ('rank="2"', "", "line 6: <translation> has no attribute 'rank'"),
        ('system="B"', 'system=" "', "line 6: <translation> has no attribute 'system'"),
        ('system="B"', 'system="A"', "line 6: system 'A' is ranked twice"),
        ('system="B"', 'system="D"', "line 6: unknown system 'D'; expected one of A, B, C"),
        ("</ranking-item>\n<r", "<r", "line 7: a ranking-item inside a ranking-item"),
        ('<ranking-item src-id="12" id="1" user="ann">', "", "line 5: a translation outside"),
        ("</appraise-results>", "", "not well-formed XML"),
    ],
)
def test_names_the_line_of_bad_input(tmp_path: Path, old: str, new: str, message: str) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(InputError) as caught:
        read_rankings(path, first_line=1, lines=1312, systems="ABC")
    assert message in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.security
@pytest.mark.parametrize(
    "text",
    [
        '<!DOCTYPE x [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><x>&b;</x>',
        '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///nowhere">]><x>&a;</x>',
        '<!DOCTYPE x SYSTEM "http://nowhere.invalid/x.dtd"><x>&a;</x>',
        "<appraise-results></appraise-results>",
        '<?xml version="1.0" encoding="no-such-code"?><x/>',
        b"<x>\xff\xfe</x>",
        "",
        "no XML at all",
    ],
)
def test_refuses_hostile_and_useless_files(tmp_path: Path, text: str | bytes) -> None:
    with pytest.raises(InputError):
        read_rankings(write(tmp_path, text), first_line=1)


def test_refuses_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        read_rankings(tmp_path / "none.xml", first_line=1)


ITEM = RankedItem("1", 7, "ann", (("B", "A"), ("C",), ("D",)), (2, 1, 2))


def counts(items: Sequence[RankedItem], systems: Sequence[str]) -> dict[str, Any]:
    """Pairs and ties of each annotator, unexpanded and expanded."""
    found: dict[str, Any] = {}
    for mode in ("unexpanded", "expanded"):
        pairs = expand_pairs(items, systems, mode)
        for number, name in enumerate(pairs.annotators):
            preference = pairs.preference[pairs.annotator == number]
            count = len(preference), int((preference == 0).sum())
            found[name] = (*found.get(name, ()), count)
    return found


def test_counts_unexpanded_and_expanded_pairs() -> None:
    # Corrections: AB-C, AB-D (tie), C-D: 3 pairs, 1 tie.
    # Systems: A-C, B-C, A-D (tie), B-D (tie), C-D and A-B (same text, tie): 6 pairs, 3 ties.
    assert counts([ITEM], list("ABCD")) == {"ann": ((3, 1), (6, 3))}


def test_expands_in_the_order_of_the_systems() -> None:
    pairs = expand_pairs([ITEM], ["D", "C", "B", "A"])
    found = list(zip(pairs.first, pairs.second, pairs.preference, pairs.shared, strict=True))
    # D has rank 2, C has 1, A and B share 2: C beats D, so (D, C) is -1, and so on.
    assert found == [
        (0, 1, -1, False),
        (0, 2, 0, False),
        (0, 3, 0, False),
        (1, 2, 1, False),
        (1, 3, 1, False),
        (2, 3, 0, True),
    ]
    assert set(pairs.sentence) == {7}
    assert pairs.preference.tolist() == [-1, 0, 0, 1, 1, 0]
    assert len(pairs.decided) == 3


def test_unexpanded_pairs_use_the_first_named_system() -> None:
    pairs = expand_pairs([ITEM], ["B", "A", "C"], "unexpanded")
    # B represents A and B; D is not chosen.
    assert (pairs.first.tolist(), pairs.second.tolist()) == ([0], [2])
    assert pairs.preference.tolist() == [-1]


def test_restricting_to_absent_systems_gives_no_pairs() -> None:
    assert len(expand_pairs([ITEM], ["X", "Y"])) == 0
    assert len(expand_pairs([], ["X", "Y"])) == 0


# Kobayashi et al. 2024, table 2: pairs and ties per annotator, unexpanded then expanded.
PUBLISHED = {
    "edit": {
        "annotator1": ((1777, 592), (10893, 6349)),
        "annotator2": ((1770, 522), (11663, 7053)),
        "annotator3": ((1800, 343), (10988, 5572)),
    },
    "sent": {
        "annotator1": ((1777, 507), (10893, 5919)),
        "annotator2": ((1770, 240), (11663, 5445)),
        "annotator3": ((1800, 44), (10988, 4433)),
    },
}


@pytest.mark.parametrize("kind", ["edit", "sent"])
def test_pair_counts_of_seeda_are_as_published(data_dir: Path, kind: str) -> None:
    path = data_dir / "SEEDA" / "data" / f"judgments_{kind}.xml"
    found = read_rankings(path, first_line=1, lines=1312, systems=SEEDA)
    assert len(found) == 600
    assert counts(found, SEEDA) == PUBLISHED[kind]


def test_reads_gjg15_without_the_skipped_items(data_dir: Path) -> None:
    # 2,319 items, of which 13 were skipped (counted in the file).
    found = read_rankings(data_dir / "GJG15/data/judgments.xml", first_line=0, lines=1312)
    assert len(found) == 2319 - 13
    assert len({item.annotator for item in found}) == 8
