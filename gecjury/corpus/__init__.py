"""What is scored: texts and edits as the user gave them; no metric, no person, no model."""

from gecjury.corpus.corpus import Corpus, Group, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.reading import read_corpus

__all__ = ["Corpus", "Edit", "Group", "Version", "read_corpus"]
