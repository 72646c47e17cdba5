"""Credits that edit metrics give to single judged edits, by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.m2 import M2Annotation, M2Sentence
from gecjury.refbased.cleme.metric import CLEME
from gecjury.refbased.errant import ERRANT
from gecjury.refbased.gotoscorer import GoToScorer
from gecjury.refbased.m2.metric import M2
from gecjury.scoring.abilities import EditCase
from gecjury.scoring.registry import load

SOURCE = "a b c d e"
GO, IN, OUT = Edit(0, 1, "A", "R:X"), Edit(3, 3, "in", "M:X"), Edit(4, 5, "", "U:X")


def version(*edits: Edit) -> Version:
    return Version((" ".join(apply_edits(SOURCE.split(), edits)),), (edits,))


def cases(*edits: Edit) -> list[EditCase]:
    plain = tuple(Edit(e.start, e.end, e.correction) for e in edits)
    text = version(*edits).lines[0]
    return [EditCase(0, SOURCE, ("", ""), edit, plain, 1.0, text) for edit in plain]


def gold(*annotators: Sequence[Edit]) -> tuple[M2Sentence, ...]:
    noted = tuple(
        M2Annotation(e.start, e.end, e.type, e.correction, annotator=number)
        for number, edits in enumerate(annotators)
        for e in edits
    )
    return (M2Sentence(SOURCE, noted),)


def test_errant_chooses_the_reference_that_fits_the_correction_best() -> None:
    # Correction: A and in. Reference 1 has A; reference 2 has in and two more edits.
    # F0.5 with 1: P 1/2, R 1; with 2: P 1/2, R 1/3: the first is chosen.
    references = (version(GO), version(IN, OUT, Edit(1, 2, "B", "R:X")))
    corpus = Corpus((SOURCE,), {}, references)
    found = ERRANT().credit(cases(GO, IN), corpus, Runtime())
    assert found.own.tolist() == [1, 0]


def test_errant_detection_needs_only_the_place() -> None:
    corpus = Corpus((SOURCE,), {}, (version(Edit(0, 2, "Z", "R:X")),))
    # Tokens 0 and 1 are in the reference's span, token 2 is not.
    some = cases(Edit(0, 1, "Q"), Edit(1, 3, "Q"))
    found = ERRANT(mode="token").credit(some, corpus, Runtime())
    assert found.own.tolist() == [1, 0.5]
    assert ERRANT().credit(some, corpus, Runtime()).own.tolist() == [0, 0]


def test_m2_joins_and_splits_edits() -> None:
    joined = Edit(0, 2, "A B", "X")
    corpus = Corpus((SOURCE,), {}, gold=gold([joined], [GO]))
    # A and B together are the first annotator's edit, A alone is the second's.
    found = M2().credit(cases(GO, Edit(1, 2, "B")), corpus, Runtime())
    assert found.own.tolist() == [1, 1]
    # One edit over both: the first annotator has it; MaxMatch splits it in two and matches the
    # second annotator's A.
    assert M2().credit(cases(joined), corpus, Runtime()).own.tolist() == [1]
    second = Corpus((SOURCE,), {}, gold=gold([GO]))
    assert M2().credit(cases(joined), second, Runtime()).own.tolist() == [0.5]


def test_m2_insertions_next_to_a_gold_edit_are_not_part_of_it() -> None:
    corpus = Corpus((SOURCE,), {}, gold=gold([Edit(3, 4, "D", "X")]))
    found = M2().credit(cases(IN, Edit(3, 4, "D"), Edit(4, 4, "on")), corpus, Runtime())
    assert found.own.tolist() == [0, 1, 0]


def test_m2_absent_annotators_have_no_credit() -> None:
    blocks = (*gold([GO], [IN]), M2Sentence("f g", ()))
    corpus = Corpus((SOURCE, "f g"), {}, gold=blocks)
    other = Edit(0, 1, "F")
    some = [*cases(GO), EditCase(1, "f g", ("", ""), other, (other,), 1.0)]
    found = M2().credit(some, corpus, Runtime())
    assert found.own.tolist() == [1, 0]


def test_cleme_judges_the_chunk_that_contains_an_edit() -> None:
    # Both references edit tokens 0 and 1; the correction's two edits there are one chunk.
    both = (version(Edit(0, 2, "A B", "X"), OUT), version(Edit(0, 2, "Z", "X")))
    corpus = Corpus((SOURCE,), {}, both)
    some = cases(GO, Edit(1, 2, "B"), OUT, IN)
    found = CLEME().credit(some, corpus, Runtime())
    assert found.own.tolist() == [1, 1, 1, 0]
    alone = CLEME(assumption="dependent").credit(some, corpus, Runtime())
    assert alone.own.tolist() == [1, 1, 1, 0]


def test_cleme_drops_references_without_text() -> None:
    corpus = Corpus((SOURCE,), {}, (version(Edit(0, 5, "", "X")), version(GO)))
    found = CLEME().credit(cases(GO), corpus, Runtime())
    assert found.own.tolist() == [1]


def test_gotoscorer_weighs_by_the_systems_that_err(tmp_path: Path) -> None:
    # One of four systems makes the reference's A (three miss it), two delete e wrongly.
    systems = {
        "1": version(GO), "2": version(OUT), "3": version(OUT), "4": version(),
    }  # fmt: skip
    corpus = Corpus((SOURCE,), systems, (version(GO),))
    found = GoToScorer().credit(cases(GO, OUT, IN), corpus, Runtime())
    # A: 1 − 1/4; e: −(1 − 2/4); in: no system errs there, so its weight is 0.
    assert found.own.tolist() == [0.75, -0.5, 0]
    wrong = GoToScorer().credit(cases(Edit(0, 1, "Z")), corpus, Runtime())
    assert wrong.own.tolist() == [-0.75]


def test_models_weigh_and_align(tiny_bert: Path) -> None:
    pytest.importorskip("torch")
    from gecjury.refbased.pt_errant import PTERRANT
    from gecjury.refbased.uot_errant.metric import UOTERRANT
    from gecjury.refbased.uot_errant.vectors import EditSet

    source = "the cat sit on mat ."
    sits, a = Edit(2, 3, "sits", "R:X"), Edit(4, 4, "the", "M:X")
    sat = Edit(2, 3, "sat", "R:X")

    def made(*edits: Edit) -> Version:
        return Version((" ".join(apply_edits(source.split(), edits)),), (edits,))

    plain = (Edit(2, 3, "sits"), Edit(4, 4, "the"))
    some = [EditCase(0, source, ("", ""), edit, plain, 1.0) for edit in plain]
    pt = PTERRANT(model=str(tiny_bert))
    uot = UOTERRANT(encoder=str(tiny_bert), solver="optimum")
    for reference, right in ((made(sits), [1, -1]), (made(sat, a), [-1, 1])):
        corpus = Corpus((source,), {"s": made(sits, a)}, (reference,))
        credit = pt.credit(some, corpus, Runtime(use_cache=False)).own
        assert np.sign(credit).tolist() == right
        # TP and FP in the metric's statistics are the sums of positive and negative credits.
        counts = pt.score_corpus(corpus, Runtime(use_cache=False)).statistics.values[0, 0, 0]
        np.testing.assert_allclose(counts[:2], [credit.max(), -credit.min()])
        # The metric's TP is the mass that is transported according to the credits.
        credit = uot.credit(some, corpus, Runtime(use_cache=False)).own
        tp = uot.score_corpus(corpus, Runtime(use_cache=False)).statistics.values[0, 0, 0, 0]
        pairs = [(EditSet(source, plain), EditSet(source, tuple(lines[0])))
                 for lines in uot.reference_edits(corpus, Runtime())]  # fmt: skip
        (mass,) = (found.a for found in uot.align(pairs, Runtime(use_cache=False)))
        np.testing.assert_allclose(credit @ mass, tp, rtol=1e-6)


OVERLAPPING = """S a b c d
A 1 2|||X|||B|||REQUIRED|||-NONE-|||0

S e f
A 0 2|||X|||x|||REQUIRED|||-NONE-|||0
A 1 2|||X|||F|||REQUIRED|||-NONE-|||0

"""


@pytest.fixture
def overlapping(tmp_path: Path) -> Corpus:
    """Return a corpus with an M2 reference whose second sentence has two overlapping edits."""
    files = {"source": "a b c d\ne f\n", "mine": "a B c d\ne F\n", "gold.m2": OVERLAPPING}
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    return read_corpus(tmp_path / "source", [tmp_path / "mine"], [tmp_path / "gold.m2"])


def test_overlapping_reference_edits_count_unchanged(overlapping: Corpus) -> None:
    statistics = load("errant").score_corpus(overlapping, Runtime(use_cache=False)).statistics
    # One hit in each sentence, of one and of two gold edits.
    assert statistics.values[0, :, 0].tolist() == [[1, 0, 0], [1, 0, 1]]
    assert any(
        "overlap another of the same annotator: 1; where edits" in n for n in statistics.notes
    )
    # In the text e f -> x -> F: the second edit is applied where the first has moved its place.
    assert overlapping.references[0].lines == ("a B c d", "F")
    notes = load("gleu").score_corpus(overlapping).statistics.notes
    assert any("in the text they are applied one after another" in note for note in notes)


@pytest.mark.parametrize("name", ["cleme", "cleme2", "uot-errant"])
def test_metrics_that_split_sentences_refuse_overlapping_edits(
    overlapping: Corpus, name: str
) -> None:
    with pytest.raises(
        InputError, match=r"gold\.m2, sentence 2: the edit 1 2 'F' overlaps .* text"
    ):
        load(name).score_corpus(overlapping)
