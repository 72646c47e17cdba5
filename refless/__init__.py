"""Reference-free metrics: trained regressors and language models that need no reference."""
