"""Metrics against people over several benchmarks: tasks, their averages, and tests over them."""
