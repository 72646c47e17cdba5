"""What a new output gains and loses against an old one."""

from gecjury.studies.diff.study import Diff, diff

__all__ = ["Diff", "diff"]
