"""Metrics within other tools: one file for each tool, which no other file imports."""
