"""Metrics against people's verdicts on single edits."""
