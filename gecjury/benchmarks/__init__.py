"""Corpora with human judgments, loaded by name; this package contains no metrics.

Example:
    >>> from gecjury import load_benchmark
    >>> sample = load_benchmark("sample")
    >>> sample.corpus.names
    ('careful', 'cautious', 'fluent', 'hasty', 'noisy', 'spelling')
"""
