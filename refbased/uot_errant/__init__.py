"""UOT-ERRANT: edit vectors matched by unbalanced optimal transport."""

from gecjury.refbased.uot_errant.metric import UOTERRANT

__all__ = ["UOTERRANT"]
