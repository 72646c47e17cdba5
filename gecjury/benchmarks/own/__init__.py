"""Benchmarks from a user's own files."""
