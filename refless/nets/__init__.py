"""The networks and regressions of the reference-free family."""
