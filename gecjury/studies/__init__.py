"""Studies: settings in, tables out."""
