"""Arrays in, numbers out: correlations, preferences, intervals, tests, rankings."""
