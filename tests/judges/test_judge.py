"""Panels of models, computed by hand, and taught judges."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.core.errors import MissingExtraError
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.languages.language import Language
from gecjury.judges.exchange import Attempt, Reply
from gecjury.judges.judge import combine, load_wording
from gecjury.models.origin import JUDGE_FORMAT, MANIFEST
from gecjury.scoring.registry import load
from tests.judges.conftest import FakeModel, sound

NAN = float("nan")


def test_panels_by_hand() -> None:
    assert combine([1, 4, 4, 3], "mean") == 3
    assert combine([1, 4, 4, 3], "median") == 3.5
    assert combine([1, 4, 4, 3], "majority") == 4
    assert combine([1, 1, 4, 4], "majority") == 2.5
    assert combine([2, NAN, 4], "mean") == 3
    assert math.isnan(combine([2, NAN], "mean"))
    assert math.isnan(combine([NAN], "majority"))


def surely(attempt: Attempt) -> Reply:
    """A sound reply with the probability 1 for each of its characters."""
    reply = sound(attempt)
    return replace(reply, logprobs=tuple((c, ((c, 0.0),)) for c in reply.text))


@pytest.mark.parametrize(
    ("asked", "part"),
    [
        ("llm-s:protocol=pointwise,scoring=expected", ""),
        ("llm-s:protocol=pairwise,scoring=expected", "the prompt pairwise.v1:"),
        ("llm-s:protocol=pointwise,scoring=expected,criterion=fluency", "+criterion-fluency.v1:"),
        ("llm-e:protocol=pointwise,scoring=expected", "judge llm-e (taught: llm-s)"),
        ("llm-s:protocol=pointwise", "scoring argmax (taught: expected)"),
        ("edit-verdict:scoring=expected", "the prompt edit-verdict.v1:"),
    ],
)
def test_a_taught_judge_that_is_asked_otherwise_is_named(
    asked: str, part: str, corpus: Corpus, tmp_path: Path
) -> None:
    metric = "llm-s:backend=vllm,model=my-judge,protocol=pointwise,scoring=expected"
    record = {
        "format": JUDGE_FORMAT, "metric": metric, "prompt": load_wording("pointwise").id,
        "language": "en",
    }  # fmt: skip
    (tmp_path / MANIFEST).write_text(json.dumps(record), encoding="utf-8")
    model = FakeModel()
    model.say = surely
    table = model.score(asked, corpus, backend="vllm", model=str(tmp_path))
    notes = [note for note in table.statistics.notes if "was taught for" in note]
    assert len(notes) == bool(part)
    for note in notes:
        assert part in note
        assert note.startswith(f"{tmp_path} is asked with ")
        assert note.endswith(f"it was taught for -m {metric}")


def test_missing_packages_are_reported_before_any_judge_is_asked(
    corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(language: Language) -> None:
        raise MissingExtraError("edits need errant")

    monkeypatch.setattr("gecjury.judges.judge.extraction_parts", missing)
    load("llm-s:model=m").check(corpus)
    for name in ("llm-e", "edit-verdict"):
        with pytest.raises(MissingExtraError, match="edits need errant"):
            load(name, model="m").check(corpus)
