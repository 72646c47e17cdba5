"""Gains and losses of a new output against an old one: figures, edits, a gate, and the study."""
