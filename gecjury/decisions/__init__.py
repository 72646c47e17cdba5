"""What to do with scores: compare two systems, plan, choose."""
