"""The metric made of metrics, as human pairs teach."""
