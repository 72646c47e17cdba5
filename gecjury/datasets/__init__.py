"""Rows in, rows out: files of any size scored shard by shard; no metric of its own."""
