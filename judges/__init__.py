"""LLM judges: prompts sent to a language model whose verdicts become scores."""

from gecjury.judges.judge import Judge

__all__ = ["Judge"]
