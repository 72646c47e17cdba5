"""Tuning: the values of an option tried on one benchmark, the best tried on others."""
