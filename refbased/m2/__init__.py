"""M2 and its sentence-level mean: edits matched as well as possible to gold edits."""

from gecjury.refbased.m2.metric import M2, SentenceM2

__all__ = ["M2", "SentenceM2"]
