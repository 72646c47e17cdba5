"""Results in, text out: tables, documents, pages and figures; nothing is scored."""
