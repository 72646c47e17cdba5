"""How many sentences, systems or judgments tell a difference."""

from gecjury.studies.power.study import Power, power

__all__ = ["Power", "power"]
