"""Calls and commands of other packages, implemented by this one; there are no metrics here."""
