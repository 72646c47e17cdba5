"""Every study returns its numbers as figures, or has a reason not to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gecjury.core.settings import settings_from
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.texts import corpus_of_texts
from gecjury.stats.figure import Figure
from gecjury.studies import STUDIES, study_of
from tests.shell import GOLD, Shell

REASONS = {
    "analyse norms": "needs a network for its vectors; see test_norms.py",
    "train some": "the numbers of a training are those of its held-out pairs, if it has any",
    "train impara": "the numbers of a training are those of its held-out pairs, if it has any",
    "train detector": "a start for other trainings; its numbers are in the model's card",
    "train judge": "the numbers of a training are those of its held-out pairs, if it has any",
    "study": "a comparison that is read from a file",
}


def texts(systems: int) -> Corpus:
    """Return sentences of the sample that need no change, with outputs of some systems."""
    source = ["He go home .", "It rains .", "She have a dog ."]
    good = ["He goes home .", "It rains .", "She has a dog ."]
    outputs = {"old": source, "new": good}
    return corpus_of_texts(source, dict(list(outputs.items())[-systems:]), [good])


RUNS: Mapping[str, tuple[Any, tuple[str, ...], Mapping[str, Any]]] = {
    "score": ("sample", ("green",), {}),
    "rank": ("sample", ("green",), {"resamples": 20}),
    "diff": (texts(2), ("green",), {"resamples": 20, "by_type": 0}),
    "alarms": (texts(2), (), {"resamples": 20}),
    "pick": (texts(2), ("green",), {}),
    "explain": (texts(1).take([0]), ("gleu",), {"attribution": "add"}),
    "compare": ("sample", ("green", "gleu"), {"resamples": 20}),
    "power": ("sample", ("green",), {"resamples": 20, "what": ("scores",)}),
    "maege": ("gold.m2", ("green",), {"references": "all", "seeds": 1, "by_type": True}),
    "attack": (texts(2), ("green",), {"resamples": 20, "attack": ("swap",)}),
    "demo": ("sample", ("green",), {"resamples": 20, "level": "sentence"}),
    "tune": ("sample", ("green:beta=1:2:0.5",), {}),
    "estimate": ("sample", ("changes",), {}),
}
"""Data, metrics and settings of a quick run of every other study."""


def test_every_study_is_run_or_has_a_reason() -> None:
    assert {*RUNS, *REASONS} == {*STUDIES}
    assert not {*RUNS} & {*REASONS}


@pytest.mark.parametrize("command", RUNS)
def test_the_numbers_of_every_study_are_figures(shell: Shell, command: str) -> None:
    if command == "alarms":
        pytest.importorskip("spacy")
    data, metrics, options = RUNS[command]
    shell.write("gold.m2", 10 * GOLD)
    result = settings_from(study_of(command), dict(options))(data, metrics)
    figures = result.figures()
    assert figures
    for figure in figures:
        assert isinstance(figure, Figure)
        assert figure.statistic
        # A number is about something.
        assert figure.metric or figure.system or figure.part or figure.human
