"""Corpora with human judgments, loaded by name; this package contains no metrics."""
