"""Damaged corrections compared with the undamaged ones, to see which metrics are fooled."""

from gecjury.studies.attack.study import Attack, attack

__all__ = ["Attack", "attack"]
