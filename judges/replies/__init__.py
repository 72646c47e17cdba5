"""Replies of models, read without trust."""
