"""Asking models: every question is counted, and its reply is stored and paid for once."""
