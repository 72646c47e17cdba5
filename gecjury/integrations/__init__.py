"""Metrics for use in other tools: Inspect and trainers such as TRL."""
