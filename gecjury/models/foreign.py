"""Names for objects of torch and transformers, which type checking does not follow."""

from __future__ import annotations

from typing import Any, TypeAlias

Network: TypeAlias = Any
"""A `torch.nn.Module`."""

Tensor: TypeAlias = Any
"""A `torch.Tensor`."""

Tokenizer: TypeAlias = Any
"""A `transformers.PreTrainedTokenizerFast`."""

ModelConfig: TypeAlias = Any
"""A `transformers.PretrainedConfig`."""

TrainerPart: TypeAlias = Any
"""A `transformers.Trainer`, or a part of one: its arguments, state, control or loader."""
