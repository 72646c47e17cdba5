"""GoToScorer: chunks weighted by how many systems miss them."""

from gecjury.refbased.gotoscorer.metric import GoToScorer

__all__ = ["GoToScorer"]
