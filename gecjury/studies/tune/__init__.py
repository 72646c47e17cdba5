"""Tuning: find the best value of an option on one benchmark, and test it on others."""
