"""Studies that make metrics: each trains a model, or combines metrics, and writes the result."""
