"""Texts and edits as given by the user, without metrics, human judgments or models."""
