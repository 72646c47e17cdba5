"""Training data of the reference-free family."""
