"""Results in, text out; computes nothing, scores nothing."""
