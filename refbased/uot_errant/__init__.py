"""UOT-ERRANT: edit vectors matched by unbalanced optimal transport."""
