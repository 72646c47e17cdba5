"""Skip the tests that need torch if it is not installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

import pytest

_NEURAL = {
    "test_some.py", "test_impara.py", "nets/test_language.py", "nets/test_probe.py",
    "nets/test_pooled.py", "training/test_both.py", "training/test_detection.py",
    "training/test_resume.py",
    "nets/test_trainable.py", "training/test_trainer.py", "training/test_watching.py",
}  # fmt: skip

collect_ignore = sorted(_NEURAL) if importlib.util.find_spec("transformers") is None else []


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep cached model results out of the user's cache folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield
