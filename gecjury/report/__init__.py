"""Render results as text: tables, documents, pages and figures. Nothing is scored here."""
