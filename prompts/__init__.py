"""The wording of the LLM judges, as versioned text files."""
