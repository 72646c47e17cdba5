"""Metrics for use in other tools: one module per tool, which no other module imports."""
