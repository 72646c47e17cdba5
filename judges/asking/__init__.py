"""Questions put to a model: kept, counted, paid for once."""
