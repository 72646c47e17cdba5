"""Corpora with what people said of them, loaded by name; no metric."""
