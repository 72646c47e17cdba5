"""I-measure: weighted token accuracy over a three-way alignment."""
