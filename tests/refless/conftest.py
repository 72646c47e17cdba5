"""Skip what needs torch where it is not installed; keep torch to one thread."""

from __future__ import annotations

import importlib.util

import pytest

_NEURAL = {
    "test_train.py", "test_some.py", "test_impara.py", "test_language.py",
    "test_resume.py", "test_train_command.py", "test_probe.py",
}  # fmt: skip

collect_ignore = sorted(_NEURAL) if importlib.util.find_spec("transformers") is None else []


@pytest.fixture(scope="session", autouse=True)
def _one_thread() -> None:
    if importlib.util.find_spec("torch") is not None:
        import torch

        torch.set_num_threads(1)
