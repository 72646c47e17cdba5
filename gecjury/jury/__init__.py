"""A metric that sums metrics."""
