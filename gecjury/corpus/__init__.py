"""Texts and edits as the user gave them; no metric, no person, no model."""
