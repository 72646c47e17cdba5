"""What else a metric can be put through: damage, tuning, analyses, chains of edits."""
