"""The test part of a file of ratings: the same as training draws, told by source."""

from __future__ import annotations

from pathlib import Path

from gecjury.refless.data.annotations import read_annotations
from gecjury.refless.data.splits import split_by_source
from gecjury.refless.heldout import held_out


def test_a_source_is_held_out_with_all_its_corrections(tmp_path: Path) -> None:
    path = tmp_path / "ratings.csv"
    rows = [
        f"sentence {source},out {source} {number},{1 + source % 4},{1 + number % 4},3"
        for source in range(40)
        for number in range(3)
    ]
    rows[-1] = rows[-1][:-1] + "2"
    path.write_text("source,output,grammer,fluency,meaning\n" + "\n".join(rows) + "\n")
    data = read_annotations(path)
    for seed in (0, 1):
        split = split_by_source(data, seed)
        wanted = {data.sources[row] for row in split.test}
        sources = [f"sentence {number}" for number in range(40)]
        assert {
            s for s, kept in zip(sources, held_out(path, sources, seed), strict=True) if kept
        } == (wanted)
        assert len(wanted) == 4
    # Typing habits make no other source.
    again = held_out(path, [source.upper().replace(" ", "  ") for source in sources])
    assert again == held_out(path, sources)
