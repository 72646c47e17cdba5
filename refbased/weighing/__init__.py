"""Weights of edits: the change that an edit makes to BERTScore."""
