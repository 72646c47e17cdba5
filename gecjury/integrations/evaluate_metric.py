"""Any metric as a module for Hugging Face's evaluate, loaded from this file.

    import evaluate
    from gecjury.integrations import evaluate_metric

    errant = evaluate.load(evaluate_metric.__file__, "errant")
    errant.compute(sources=sources, predictions=predictions, references=references)

`references` has one sentence or a list of sentences per row. The second argument is a metric's
name; its options go to `compute(options="beta=1")`, since evaluate uses the name for a folder.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from gecjury.core.errors import MissingExtraError
from gecjury.integrations.scoring import RowScorer

_DESCRIPTION = "Scores of corrections by a metric for grammatical error correction."
_INPUTS = """
Args:
    sources: the sentences that were corrected.
    predictions: the corrections.
    references: for each source a correction by people, or a list of them; omitted for metrics that
        use no references.
    options: settings of the metric as on gecjury's command line, "beta=1,mode=span".
    device: device of the models.
Returns:
    score: the corpus score. sentences: a score for each sentence, None if it has none. precision
    and recall of the corpus if the metric has them. signature: how the scores were computed.
"""


def _computed(
    metric: str,
    sources: Sequence[str],
    predictions: Sequence[str],
    references: Sequence[str | Sequence[str]] | None,
    options: str,
    device: str,
) -> dict[str, Any]:
    rows = RowScorer.of(f"{metric}:{options}" if options else metric, device)
    # evaluate passes rows of either feature: a sentence each, or a list of sentences.
    listed = [[row] if isinstance(row, str) else list(row) for row in references or ()]
    table = rows.score(sources, predictions, listed)
    results: dict[str, Any] = {
        "score": float(table.by_system.score[0]),
        "sentences": [None if math.isnan(s) else float(s) for s in table.sentences[0]],
        "signature": str(table.signature),
    }
    for name, part in (("precision", table.precision), ("recall", table.recall)):
        if part is not None:
            results[name] = float(part[0])
    return results


if find_spec("evaluate") is None:

    class GecjuryMetric:
        """A stand-in for the module if evaluate is not installed."""

        def __init__(self, *arguments: Any, **settings: Any) -> None:
            raise MissingExtraError(
                "the module for Hugging Face's evaluate needs that package: pip install evaluate"
            )

else:
    import datasets
    import evaluate

    class GecjuryMetric(evaluate.Metric):  # type: ignore[no-redef,misc]  # the other branch's
        """A metric of gecjury; `config_name` is its name, `green` by default."""

        def _info(self) -> Any:
            text = datasets.Value("string")
            columns = {"sources": text, "predictions": text}
            if "references" not in RowScorer.of(self._metric).scorer.needs:
                features: Any = datasets.Features(columns)
            else:
                features = [
                    datasets.Features({**columns, "references": datasets.Sequence(text)}),
                    datasets.Features({**columns, "references": text}),
                ]
            return evaluate.MetricInfo(
                description=_DESCRIPTION,
                citation="",
                inputs_description=_INPUTS,
                features=features,
            )

        @property
        def _metric(self) -> str:
            name = str(self.config_name)
            return "green" if name == "default" else name

        def _compute(
            self,
            sources: Sequence[str],
            predictions: Sequence[str],
            references: Sequence[str | Sequence[str]] | None = None,
            options: str = "",
            device: str = "auto",
        ) -> dict[str, Any]:
            return _computed(self._metric, sources, predictions, references, options, device)
