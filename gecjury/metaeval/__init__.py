"""Metrics against people: score tables and a benchmark in, a typed comparison out."""
