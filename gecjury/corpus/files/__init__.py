"""Files of texts, edits and rows, read into a `Corpus`."""
