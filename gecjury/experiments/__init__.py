"""Uses of a metric: scores, ranks, explanations, damage, tuning, analyses, chains."""
