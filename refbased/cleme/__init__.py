"""CLEME and CLEME2.0: chunks with boundaries that all references share."""

from gecjury.refbased.cleme.metric import CLEME, CLEME2

__all__ = ["CLEME", "CLEME2"]
