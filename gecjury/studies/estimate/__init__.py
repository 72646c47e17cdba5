"""Estimate system quality from people's labels of a few outputs and a metric's scores of all.

Example:
    >>> from gecjury import estimate
    >>> row = estimate("sample", ["changes"]).rows()[0]
    >>> row["system"], round(row["estimate"], 3), [round(end, 3) for end in row["interval"]]
    ('careful', 0.835, [0.792, 0.871])
"""

from gecjury.studies.estimate.study import Estimate, estimate

__all__ = ["Estimate", "estimate"]
