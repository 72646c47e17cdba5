"""What the reference-free family learns from."""
