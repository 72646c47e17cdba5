"""Gains and losses of a new output against an old one.

Example:
    >>> from gecjury import corpus_of_texts, diff
    >>> texts = {"old": ["He go ."], "new": ["He goes ."]}
    >>> row = diff(corpus_of_texts(["He go ."], texts, [["He goes ."]]), ["errant"]).rows()[0]
    >>> row["old"], row["new"], row["difference"]
    (0.0, 1.0, 1.0)
"""

from gecjury.studies.systems.diff.study import Diff, diff

__all__ = ["Diff", "diff"]
