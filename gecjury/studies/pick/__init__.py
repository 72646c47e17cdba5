"""The best of several corrections of every sentence, and what choosing gains."""

from gecjury.studies.pick.study import Pick, pick

__all__ = ["Pick", "pick"]
