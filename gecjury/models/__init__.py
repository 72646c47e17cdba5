"""Neural models loaded and run: files in, vectors or a network out."""
