"""Estimates of system quality from labels of a few outputs and a metric's scores of all."""
