"""Metrics that count by type, with gold edits of another scheme: by hand and on real files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("errant")
pytest.importorskip("spacy")


from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import read_lines
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.m2 import read_m2
from gecjury.corpus.references import gold_versions
from gecjury.extraction.retyping import retyped_blocks
from gecjury.refbased.errant import ERRANT
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from gecjury.studies.explain import explain

FRESH = Runtime(use_cache=False)
SOURCE = "This are a sentence on the house ."
MINE = "This is a sentence on house ."
NUCLE = (Edit(0, 2, "This is", "SVA"), Edit(2, 3, "the", "ArtOrDet"), Edit(5, 7, "house", "Wci"))


def gold(*edits: Edit) -> Version:
    return Version((" ".join(apply_edits(SOURCE.split(), edits)),), (edits,), (SOURCE,))


def corpus(**systems: Version) -> Corpus:
    return Corpus((SOURCE,), systems or {"mine": Version((MINE,))}, (gold(*NUCLE),))


def test_hits_and_false_alarms_have_types_of_the_same_scheme() -> None:
    # The hypothesis: are -> is (R:VERB:SVA), the -> nothing (U:DET). The annotator made both, each
    # including an unchanged word, and a -> the.
    table = ERRANT().score_corpus(corpus(), FRESH)
    assert table.statistics.values.tolist() == [[[[2, 0, 1]]]]
    assert table.statistics.details["by_type"]["mine"] == {
        "R:VERB:SVA": [1, 0, 0],
        "U:DET": [1, 0, 0],
        "R:DET": [0, 0, 1],
    }
    (note,) = table.statistics.notes
    assert "3 gold edits had types of another scheme (ArtOrDet, SVA, Wci)" in note
    # Without retyping no span equals that of an extracted edit, and the table mixes both schemes.
    kept = ERRANT(types="gold").score_corpus(corpus(), FRESH)
    assert kept.statistics.values.tolist() == [[[[0, 2, 3]]]]
    assert kept.statistics.details["by_type"]["mine"] == {
        "R:VERB:SVA": [0, 1, 0],
        "U:DET": [0, 1, 0],
        "SVA": [0, 0, 1],
        "ArtOrDet": [0, 0, 1],
        "Wci": [0, 0, 1],
    }
    assert "counts by type" in kept.statistics.notes[0]
    # The same for sent-errant: its mean is the F0.5 of that sentence, p 1, r 2/3.
    mean = load("sent-errant").score_corpus(corpus(), FRESH)
    assert mean.totals["mine"] == pytest.approx(1.25 * (2 / 3) / (0.25 + 2 / 3))


@pytest.mark.parametrize("name", ["pt-errant:model", "uot-errant:encoder"])
def test_weights_have_types_of_the_same_scheme(name: str, tiny_bert: Path) -> None:
    table = load(f"{name}={tiny_bert}").score_corpus(corpus(), FRESH)
    assert set(table.statistics.details["by_type"]["mine"]) == {"R:VERB:SVA", "U:DET", "R:DET"}
    kept = load(f"{name}={tiny_bert},types=gold").score_corpus(corpus(), FRESH)
    assert {"SVA", "ArtOrDet"} < set(kept.statistics.details["by_type"]["mine"])


def test_the_signature_only_adds_that_gold_edits_were_retyped() -> None:
    settings = "tagger=embedded,types=auto,mode=correction,beta=0.5,compat=gecjury"
    text = Corpus((SOURCE,), {"mine": Version((MINE,))}, (Version((MINE,)),))
    plain = str(ERRANT().signature(text))
    assert plain.startswith(f"errant|{settings}|v2|refs=given:1|tagger=")
    assert "gold=" not in plain
    made = ERRANT().signature(corpus())
    assert "|gold=retyped|" in str(made)
    assert made.label == "errant"
    kept = ERRANT(types="gold").signature(corpus())
    assert "types=gold,mode=" in str(kept)
    assert "gold=retyped" not in str(kept)
    assert kept.label == "errant:types=gold"
    assert len({made.key, kept.key, ERRANT(types="errant").signature(corpus()).key}) == 3


def test_a_score_file_filled_in_parts_reads_gold_edits_consistently(tmp_path: Path) -> None:
    # A system whose edits have the scheme of the gold edits, and one whose edits are extracted.
    own = Version((MINE,), ((NUCLE[0], Edit(5, 6, "", "ArtOrDet")),), (SOURCE,))
    alone = score_with_files(
        ERRANT(), corpus(mine=Version((MINE,))), tmp_path, Runtime(use_cache=False)
    )
    both = corpus(mine=Version((MINE,)), own=own)
    joined = score_with_files(ERRANT(), both, tmp_path, FRESH)
    assert joined.statistics.values[0].tolist() == alone.statistics.values[0].tolist()
    at_once = ERRANT().score_corpus(both, FRESH)
    assert joined.statistics.values.tolist() == at_once.statistics.values.tolist()
    assert len(list(tmp_path.glob("*.json"))) == 1
    # Alone it is compared with the unchanged gold edits.
    kept = ERRANT().score_corpus(corpus(own=own), FRESH)
    assert kept.statistics.values.tolist() == [[[[1, 1, 2]]]]
    assert kept.statistics.notes == ()


def test_explaining_shows_the_edits_that_are_scored() -> None:
    one = Corpus((SOURCE,), {"mine": Version((MINE,))}, (gold(*NUCLE),))
    found = explain(one, "errant", runtime=FRESH).facts["explanations"]
    score = ERRANT().score_corpus(corpus(), FRESH).sentences[0, 0]
    assert found[0]["scores"]["score"] == score
    assert {row["type"] for row in found[0]["rows"]} == {"R:VERB:SVA", "U:DET", "R:DET"}
    kept = explain(one, "errant:types=gold", runtime=FRESH)
    assert "ArtOrDet" in json.dumps(kept.facts["explanations"])


def test_real_gold_edits_count_like_those_of_a_retyped_file(data_dir: Path) -> None:
    rows = slice(0, 1312, 30)
    blocks = read_m2(data_dir / "conll14" / "official-2014.combined.m2")[rows]
    lines = read_lines(data_dir / "SEEDA" / "outputs" / "all" / "T5.txt")[rows]
    sources = tuple(block.source for block in blocks)
    systems = {"T5": Version(tuple(lines))}
    given = Corpus(sources, systems, gold_versions(blocks))
    before = Corpus(sources, systems, gold_versions(retyped_blocks(blocks, runtime=FRESH)))
    table = ERRANT().score_corpus(given, FRESH)
    typed = ERRANT(types="gold").score_corpus(before, FRESH)
    assert typed.statistics.notes == ()
    assert table.statistics.values.tolist() == typed.statistics.values.tolist()
    counts = table.statistics.details["by_type"]["T5"]
    assert counts == typed.statistics.details["by_type"]["T5"]
    # Some types now have both hits and false alarms; with the types of the file, none has.
    kept = ERRANT(types="gold").score_corpus(given, FRESH).statistics.details["by_type"]["T5"]
    assert any(tp and fp for tp, fp, _ in counts.values())
    assert not any(tp and fp for tp, fp, _ in kept.values())
