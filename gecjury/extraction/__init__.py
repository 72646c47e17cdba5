"""Two sentences in, ERRANT edits out; spaCy and errant are imported nowhere else."""
