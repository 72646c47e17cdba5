"""How much data detects a difference: the study, and the questions that data can answer."""
