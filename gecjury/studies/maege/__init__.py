"""MAEGE: metrics against chains of one annotator's edits, whose order is known."""
