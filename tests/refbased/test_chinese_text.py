"""Reference-based metrics on Chinese text: by character, without blanks."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("rapidfuzz")

from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.tokens import in_language
from gecjury.refbased.green import GREEN
from gecjury.scoring.registry import load
from gecjury.scoring.scorer import Scorer
from gecjury.scoring.scores import ScoreTable

FRESH = Runtime(use_cache=False)


def scored(metric: str | Scorer, *texts: str, language: str = "zh") -> ScoreTable:
    """Score corrections of 他来 (by default 她来) against 她来了."""
    systems = {str(number): Version((text,)) for number, text in enumerate(texts or ("她来",))}
    corpus = Corpus(("他来",), systems, (Version(("她来了",)),))
    return load(metric).score_corpus(in_language(corpus, language_of(language)), FRESH)


def test_green_by_hand() -> None:
    # Both delete 他, insert 她 and keep 来: TP 3. There is no FP, and 了 is missing: FN 1.
    # P = 1, R = 3/4, F1 = 2 · .75 / 1.75 = 6/7.
    assert scored("green:n=1,beta=1").by_system.score[0] == pytest.approx(6 / 7)


def test_characters_are_those_of_the_text_as_it_was_written() -> None:
    # n=2, 她来 for 他来, wanted 她来了: 她来 TI (1 of 1), 来了 missing. 6/7 as above for n=1; n=2:
    # 他来 TD and 她来 TI, TP 2, FN 1. P = 1, R = √(3/4 · 2/3) = √.5, F1 = 2√.5 / (1 + √.5).
    expected = 2 * math.sqrt(0.5) / (1 + math.sqrt(0.5))
    for language in ("zh", "ja"):
        assert scored("green:n=2,unit=char,beta=1", language=language).by_system.score[
            0
        ] == pytest.approx(expected)
        # Two of two characters, three in the reference; with blanks it would be exp(1 − 5/3).
        assert scored("gleu:n=1,unit=char", language=language).by_system.score[0] == (
            pytest.approx(math.exp(-0.5))
        )


def test_gleu_by_hand() -> None:
    # 她 and 来 are both in the reference: 2 of 2; two characters for three: exp(1 − 3/2).
    assert scored("gleu:n=1").by_system.score[0] == pytest.approx(math.exp(-0.5))


def test_cleme_gotoscorer_and_i_measure_by_character() -> None:
    # One of two edits (他→她, 了 inserted) is made, so the score is between those of none and all.
    for metric in ("cleme", "gotoscorer", "i-measure"):
        none, half, whole = scored(metric, "他来", "她来", "她来了").by_system.score
        assert none < half < whole, metric


def test_uot_errant_with_an_encoder_folder_for_any_language(tiny_bert: Path) -> None:
    table = scored(f"uot-errant:encoder={tiny_bert}")
    assert table.statistics.details["solver"] == {"pairs": 1, "unsolved": 0}
    assert not any("trained on English" in note for note in table.statistics.notes)


@dataclass(frozen=True)
class Encoded(GREEN):
    """A metric that reports that it uses the embedded encoder."""

    @property
    def loaded_models(self) -> tuple[str, ...]:
        return ("embedded",)


def test_the_embedded_encoder_is_english() -> None:
    (note,) = scored(Encoded()).statistics.notes
    assert note == (
        "green: the embedded encoder was trained on English, and the texts are Chinese: name a "
        "multilingual encoder (encoder=FOLDER)"
    )
    notes = scored(Encoded(), language="en").statistics.notes
    assert notes == ("the source: looks like Chinese and is read as English: `lang=zh`",)
