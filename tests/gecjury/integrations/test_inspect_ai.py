"""The scorer for Inspect, in an evaluation by the actual library with a mock model."""

from __future__ import annotations

from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest

from gecjury import load
from gecjury.integrations.inspect_ai import gec_scorer

SOURCES = ["This sentences contain error .", "He go home .", "All is well ."]
TEXTS = ["This sentence contains errors .", "He goes home .", "All is well ."]
REFERENCES = [
    ["These sentences contain errors .", "This sentence contains an error ."],
    ["He goes home .", "He went home ."],
    ["All is well ."],
]


def evaluated(folder: Path, scorer: Any, *, metadata: bool = True) -> Any:
    """Run an evaluation whose model returns `TEXTS`; return its log."""
    pytest.importorskip("inspect_ai")
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model
    from inspect_ai.solver import generate

    outputs = [ModelOutput.from_content("mockllm/model", f" {text}\n") for text in TEXTS]
    for output in outputs:
        output.usage = ModelUsage()  # otherwise counting tokens would download a file
    samples = [
        Sample(
            input=f"Correct this: {source}" if metadata else source,
            target=targets,
            metadata={"source": source} if metadata else None,
        )
        for source, targets in zip(SOURCES, REFERENCES, strict=True)
    ]
    task = Task(dataset=MemoryDataset(samples), solver=generate(), scorer=scorer)
    [log] = eval(
        task, model=get_model("mockllm/model", custom_outputs=outputs), display="none",
        log_dir=str(folder), max_samples=1, max_connections=1,
    )  # fmt: skip
    return log


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("metric", ["errant", "green:beta=1", "changes"])
def test_an_evaluation(metric: str, tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    log = evaluated(tmp_path, gec_scorer(metric))
    assert (log.status, log.error) == ("success", None)
    references = list(zip_longest(*REFERENCES))
    table = load(metric).score(SOURCES, {"x": TEXTS}, references)
    [result] = log.results.scores
    assert result.metrics["corpus"].value == pytest.approx(table.totals[0])
    assert result.metrics["mean"].value == pytest.approx(float(table.sentences.mean()))
    scores = [score for sample in log.samples for score in sample.scores.values()]
    assert [score.value for score in scores] == pytest.approx(table.sentences[0].tolist())
    assert [score.answer for score in scores] == TEXTS
    assert scores[0].metadata == {"source": SOURCES[0], "references": REFERENCES[0]}


@pytest.mark.filterwarnings("ignore")
def test_without_metadata_the_input_is_the_source(tmp_path: Path) -> None:
    pytest.importorskip("inspect_ai")
    log = evaluated(tmp_path, gec_scorer("green"), metadata=False)
    references = list(zip_longest(*REFERENCES))
    expected = load("green").score(SOURCES, {"x": TEXTS}, references).totals[0]
    assert log.results.scores[0].metrics["corpus"].value == pytest.approx(expected)
