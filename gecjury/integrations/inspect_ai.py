"""Any metric as a scorer for Inspect (inspect_ai): sample scores, and the corpus score at the end.

    from gecjury.integrations.inspect_ai import gec_scorer

    Task(dataset, solver=generate(), scorer=gec_scorer("errant"))

A sample's source is `metadata["source"]`, or its input if that is missing. Its target contains the
references, and the model's completion is the correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

from gecjury.core.errors import InputError, MissingExtraError
from gecjury.integrations.scoring import RowScorer


def gec_scorer(metric: str = "green", *, source: str = "source", device: str = "auto") -> Any:
    """Return a scorer for `Task(scorer=...)`.

    Args:
        metric: name with options, as on the command line: `errant:beta=1`.
        source: the key of the sentence to correct in a sample's metadata.
        device: device of the models.

    Returns:
        A scorer whose value is the metric's sentence score, with the metrics `mean`, `stderr` and
        `corpus`, which is the metric's own score of all samples together.

    Raises:
        OptionError: there is no such metric, or it cannot score sentences of one system.
        MissingExtraError: inspect_ai is not installed.
    """
    rows = RowScorer.of(metric, device)
    try:
        from inspect_ai.scorer import Score, mean, scorer, stderr
    except ModuleNotFoundError:
        raise MissingExtraError(
            "the scorer for Inspect needs the package inspect_ai: pip install inspect-ai"
        ) from None
    lock = Lock()  # models and caches serve one sample at a time

    def scored(text: str, original: str, references: Sequence[str]) -> float | None:
        with lock:
            return rows.one(original, text, references)

    @scorer(metrics=[mean(), stderr(), _corpus(rows)], name="gecjury/gec_scorer")  # type: ignore[untyped-decorator]  # not looked into
    def build(metric: str, source: str) -> Any:
        async def score(state: Any, target: Any) -> Any:
            import anyio.to_thread

            sentence = state.metadata.get(source, state.input_text)
            if not isinstance(sentence, str):
                raise InputError(
                    f"sample {state.sample_id}: metadata[{source!r}] is a "
                    f"{type(sentence).__name__}; expected the sentence to correct"
                )
            text = state.output.completion.strip()
            references = list(target)
            value = await anyio.to_thread.run_sync(scored, text, sentence, references)
            kept = {"source": sentence, "references": references}
            number = float("nan") if value is None else value
            return Score(value=number, answer=text, metadata=kept)

        return score

    return build(metric=metric, source=source)


def _corpus(rows: RowScorer) -> Any:
    """Return the metric's own score of all samples, computed from the metadata of their scores."""
    from inspect_ai.scorer import metric

    @metric(name="corpus")  # type: ignore[untyped-decorator]  # not looked into
    def corpus() -> Any:
        def total(scores: Sequence[Any]) -> float:
            scored = [row.score for row in scores if (row.score.metadata or {}).get("source")]
            if not scored:
                return float("nan")
            kept = [score.metadata for score in scored]
            table = rows.score(
                [metadata["source"] for metadata in kept],
                [score.answer for score in scored],
                [metadata["references"] for metadata in kept],
            )
            return float(table.by_system.score[0])

        return total

    return corpus()
