"""Gains and losses of a new output against an old one."""

from gecjury.studies.diff.study import Diff, diff

__all__ = ["Diff", "diff"]
