"""Any metric as a scorer for Inspect (inspect_ai): sample scores, and the corpus score at the end.

    from gecjury.integrations.inspect_ai import gec_scorer

    Task(dataset, solver=generate(), scorer=gec_scorer("errant"))

A sample's source is `metadata["source"]`, or its input if that is missing. Its target contains the
references, and the model's completion is the correction.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from threading import Lock
from typing import Any, TypeAlias

from gecjury.core.errors import InputError, MissingExtraError
from gecjury.core.runtime import Runtime
from gecjury.corpus.texts import corpus_of_texts
from gecjury.integrations.reward import load_for_rows, reward
from gecjury.scoring.scorer import Scorer

InspectObject: TypeAlias = Any
"""A scorer, metric, score or state of a task of Inspect, which is not installed where mypy runs."""


def gec_scorer(
    metric: str = "green", *, source: str = "source", device: str = "auto"
) -> InspectObject:
    """Return a scorer for `Task(scorer=...)`.

    Args:
        metric: name with options, as on the command line: `errant:beta=1`.
        source: the key of the sentence to correct in a sample's metadata.

    Returns:
        A scorer whose value is the metric's sentence score, with the metrics `mean`, `stderr` and
        `corpus`, which is the metric's own score of all samples together.

    Raises:
        OptionError: there is no such metric, or it cannot score sentences of one system.
        MissingExtraError: inspect_ai is not installed.
    """
    named = load_for_rows(metric)
    runtime = Runtime(device=device)
    row_score = reward(named, runtime=runtime)
    try:
        from inspect_ai.scorer import Score, mean, scorer, stderr
    except ModuleNotFoundError:
        raise MissingExtraError(
            "the scorer for Inspect needs the package inspect_ai: pip install inspect-ai"
        ) from None
    lock = Lock()  # models and caches serve one sample at a time

    def scored(text: str, original: str, references: Sequence[str]) -> float | None:
        with lock:
            return row_score([original], [text], [references])[0]

    @scorer(metrics=[mean(), stderr(), _corpus(named, runtime)], name="gecjury/gec_scorer")  # type: ignore[untyped-decorator]
    def build(metric: str, source: str) -> InspectObject:  # noqa: ARG001  # Inspect records it
        async def score(state: InspectObject, target: InspectObject) -> InspectObject:
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


def _corpus(scorer: Scorer, runtime: Runtime) -> InspectObject:
    """Return the metric's own score of all samples, computed from the metadata of their scores."""
    from inspect_ai.scorer import metric

    @metric(name="corpus")  # type: ignore[untyped-decorator]
    def corpus() -> InspectObject:
        def total(scores: Sequence[InspectObject]) -> float:
            scored = [row.score for row in scores if (row.score.metadata or {}).get("source")]
            if not scored:
                return float("nan")
            kept = [score.metadata for score in scored]
            references: list[Sequence[str | None]] = []
            if "references" in scorer.needs:
                # Where a sample has fewer references than others, the rest are None.
                references = list(zip_longest(*(row["references"] for row in kept)))
            corpus = corpus_of_texts(
                [row["source"] for row in kept],
                {"corrections": [score.answer for score in scored]},
                references,
            )
            table = scorer.score_corpus(corpus, runtime)
            return float(table.by_system.score[0])

        return total

    return corpus()
