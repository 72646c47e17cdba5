"""CLEME and CLEME2.0: chunks with boundaries that all references share."""
