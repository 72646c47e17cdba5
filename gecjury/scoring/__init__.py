"""What a metric is, and what it leaves behind."""
