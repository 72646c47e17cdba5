"""Uses of a metric: scores, ranks, explanations, damage, analyses."""
