"""One module a benchmark: its files in, a `Benchmark` out."""
