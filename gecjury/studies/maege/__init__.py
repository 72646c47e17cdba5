"""MAEGE: metrics compared with chains of one annotator's edits, whose order of quality is known."""
