"""ERRANT edits extracted from pairs of sentences; only this package imports spaCy and errant."""
