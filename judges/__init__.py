"""LLM judges: prompts sent to a language model whose verdicts become scores."""
