"""Metrics where people already are: one file for each other tool, which is imported there alone."""
