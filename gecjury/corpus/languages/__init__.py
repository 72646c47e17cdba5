"""The language of a text: by name, by detection, and what English needs."""
