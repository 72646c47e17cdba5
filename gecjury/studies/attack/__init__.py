"""Damaged corrections compared with the undamaged ones, to see which metrics are fooled.

Example:
    >>> from gecjury import attack
    >>> row = attack("sample", ["green"]).rows()[0]
    >>> row["attack"], round(row["higher"], 2)
    ('copy-source', 0.14)
"""

from gecjury.studies.attack.study import Attack, attack

__all__ = ["Attack", "attack"]
