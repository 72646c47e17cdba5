"""Subsets of the sentences of a benchmark: texts, judgments, human scores and contexts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.load import load_benchmark
from gecjury.judges.showing import read_contexts

ROWS = [3, 8, 13, 40]


def test_selecting_all_sentences_returns_the_same_benchmark() -> None:
    whole = load_benchmark("sample")
    same = whole.take(range(len(whole.corpus)))
    assert (same.corpus.sources, same.rankings) == (whole.corpus.sources, whole.rankings)
    assert same.corpus.groups == whole.corpus.groups
    assert same.sentence_ids == whole.sentence_ids
    for view, kinds in whole.human.items():
        for kind, column in kinds.items():
            assert same.human[view][kind] == pytest.approx(dict(column), abs=1e-9)


def test_judgments_and_groups_follow_their_sentences() -> None:
    whole = load_benchmark("sample")
    part = whole.take(ROWS)
    assert part.corpus.sources == tuple(whole.corpus.sources[row] for row in ROWS)
    assert part.sentence_ids == tuple(ROWS)
    for view, items in part.rankings.items():
        assert items
        judged = [item for item in whole.rankings[view] if item.sentence in ROWS]
        assert [(i.annotator, i.item_id, i.ranks) for i in items] == [
            (i.annotator, i.item_id, i.ranks) for i in judged
        ]
        assert [ROWS[item.sentence] for item in items] == [item.sentence for item in judged]
    groups = {group.id: group for group in whole.corpus.groups or ()}
    for group in part.corpus.groups or ():
        assert part.corpus.group_texts(group) == whole.corpus.group_texts(groups[group.id])
    # By the judgments of only these sentences, other systems may be best.
    assert (
        part.human_scores("expected-wins").tolist() != whole.human_scores("expected-wins").tolist()
    )
    assert part.fingerprint != whole.fingerprint


def test_judged_rows_are_those_with_judgments_of_the_view() -> None:
    whole = load_benchmark("sample")
    # The rule for the judgments leaves every fourth line without a rater.
    assert whole.judged_rows(["edit"]) == [row for row in range(68) if (row + 1) % 4]


def test_contexts_of_drawn_sentences_are_those_of_the_whole_text(tmp_path: Path) -> None:
    whole = load_benchmark("sample")
    part = whole.take(ROWS)
    file = tmp_path / "contexts.tsv"
    file.write_text("".join(f"before {n}\tafter {n}\n" for n in range(68)))
    for option in ("corpus", "neighbours", "none", str(file)):
        around = read_contexts(option, whole.corpus)
        assert read_contexts(option, part.corpus) == [around[row] for row in ROWS]
    assert part.corpus.context_print != part.corpus.take(range(4)).context_print


def test_ratings_follow_their_sentences(data_dir: Path) -> None:
    whole = load_benchmark("tmu-gfm", data=data_dir)
    assert whole.segment_scores is not None
    part = whole.take(ROWS)
    assert part.segment_scores is not None
    np.testing.assert_array_equal(part.segment_scores, whole.segment_scores[:, ROWS])
    for aspect, table in whole.raters.items():
        np.testing.assert_array_equal(part.raters[aspect], table[..., ROWS])
    np.testing.assert_allclose(part.human_scores("mean"), np.nanmean(part.segment_scores, axis=1))


def test_verdicts_follow_their_sentences(data_dir: Path) -> None:
    whole = load_benchmark("seeda", data=data_dir)
    rows = whole.judged_rows(["edit"], edits=True)[:5]
    verdicts, sources, unread = whole.take(rows).verdicts()
    texts = {" ".join(whole.corpus.sources[row].split()) for row in rows}
    assert {source.sentence for source in sources} == texts
    assert verdicts == tuple(v for v in whole.verdicts()[0] if v.sentence in texts)
    assert len(unread) < len(whole.verdicts()[2])
