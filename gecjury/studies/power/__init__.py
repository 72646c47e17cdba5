"""How many sentences, systems or judgments are needed to detect a difference."""

from gecjury.studies.power.study import Power, power

__all__ = ["Power", "power"]
