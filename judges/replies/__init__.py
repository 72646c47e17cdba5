"""Readers of models' replies, which are untrusted input."""
