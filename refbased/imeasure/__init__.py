"""I-measure: weighted token accuracy over a three-way alignment."""

from gecjury.refbased.imeasure.metric import IMeasure

__all__ = ["IMeasure"]
