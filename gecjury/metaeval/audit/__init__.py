"""The audit of metrics against people: biases that people do not share, and drift between runs."""
