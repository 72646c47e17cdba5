"""The comparison as one page that needs no network."""
