"""Numbers of systems, the tests between them, and their four views: score, rank, diff, alarms."""
