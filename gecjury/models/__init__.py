"""Load and run neural models: files in, vectors or a network out."""
