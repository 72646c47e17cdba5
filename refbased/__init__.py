"""Reference-based metrics: they compare a hypothesis with human corrections."""
