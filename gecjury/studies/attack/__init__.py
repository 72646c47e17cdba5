"""Damaged corrections compared with the undamaged ones, to see which metrics are fooled."""
