"""Errors, files, processes and settings, which every room needs; nothing is specific to GEC."""
