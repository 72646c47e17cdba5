"""One module per benchmark, which turns its files into a `Benchmark`."""
