"""Scoring of datasets: files of any size, shard by shard. This package contains no metrics."""
