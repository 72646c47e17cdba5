"""GoToScorer: chunks weighted by how many systems miss them."""
