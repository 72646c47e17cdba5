"""Calls and commands of other packages, answered by this one; no metric of its own."""
