"""The interface of the gec-metrics package, implemented by this package's metrics and benchmarks.

from gecjury.compat.gec_metrics import get_metric

metric_class = get_metric("errant")
metric = metric_class(metric_class.Config(beta=0.5))
metric.score_corpus(sources=sources, hypotheses=hypotheses, references=references)

Names, settings, their defaults and the shape of results are those of gec-metrics 0.1.1;
docs/reference/gec-metrics.md lists where results differ.
"""

from __future__ import annotations

from gecjury.compat.gec_metrics.base import MetricBase
from gecjury.compat.gec_metrics.meta_eval import META_EVALUATIONS, MetaEvalBase
from gecjury.compat.gec_metrics.metrics import METRICS
from gecjury.core.errors import OptionError, known_name

__all__ = ["get_meta_eval", "get_meta_eval_ids", "get_metric", "get_metric_ids"]

_JUDGES = "llmkobayashi24"


def get_metric_ids() -> list[str]:
    """Return the names that `get_metric` accepts."""
    return list(METRICS)


def get_metric(name: str) -> type[MetricBase]:
    """Return a metric's class by its name, which is the class name in lower case.

    Raises:
        OptionError: (a ValueError) there is no such metric; the message suggests the nearest, or
            the replacement of a judge.
    """
    if name.startswith(_JUDGES):
        ours = "llm-e" if name.endswith("edit") else "llm-s"
        raise OptionError(
            f"{name} is not available here: its prompt and its way of asking are specific to "
            f"gec-metrics. The paper's judge is gecjury.load({ours!r}, model=...)"
        )
    return METRICS[known_name("metric", name[:60], get_metric_ids())]


def get_meta_eval_ids() -> list[str]:
    """Return the names that `get_meta_eval` accepts."""
    return list(META_EVALUATIONS)


def get_meta_eval(name: str) -> type[MetaEvalBase]:
    """Return a meta-evaluation's class by its name: `gjg` or `seeda`.

    Raises:
        OptionError: (a ValueError) there is no such meta-evaluation.
    """
    return META_EVALUATIONS[known_name("meta-evaluation", name[:60], get_meta_eval_ids())]
