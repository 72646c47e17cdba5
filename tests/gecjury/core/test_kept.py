"""Numbers cached on disk: computed once per key, read back exactly, NaN is not cached."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gecjury.core.kept import input_key, kept_rows
from gecjury.core.runtime import Runtime


def test_each_key_is_computed_once_in_all_runs(tmp_path: Path) -> None:
    runtime = Runtime(cache=tmp_path)
    asked: list[list[int]] = []
    rng = np.random.default_rng(0)
    numbers = (rng.normal(0, 1, (6, 2)) * [[1], [1], [8], [30], [1e-4], [1]]).astype(np.float32)
    numbers = numbers.astype(np.float64).round(6)
    keys = [input_key("model|float32", [n]) for n in (0, 1, 2, 3, 4, 0)]

    def compute(places: list[int]) -> np.ndarray:
        asked.append(places)
        return numbers[places]

    first = kept_rows(keys[:3], 2, 6, compute, runtime)
    whole = kept_rows(keys, 2, 6, compute, runtime)
    assert asked == [[0, 1, 2], [3, 4]]
    assert first.tolist() == numbers[:3].tolist()
    assert whole.tolist() == numbers[[0, 1, 2, 3, 4, 0]].tolist()
    kept_rows(keys, 2, 6, compute, runtime, keep=False)
    kept_rows(keys, 2, 6, compute, Runtime(cache=tmp_path, use_cache=False))
    assert asked[2:] == [[0, 1, 2, 3, 4]] * 2
    assert kept_rows([], 2, 6, compute, runtime).shape == (0, 2)


def test_nan_is_computed_again(tmp_path: Path) -> None:
    runtime = Runtime(cache=tmp_path)
    asked: list[int] = []

    def compute(places: list[int]) -> np.ndarray:
        asked.extend(places)
        return np.array([[1.0], [np.nan]])[places]

    keys = [b"a", b"b"]
    kept_rows(keys, 1, 6, compute, runtime)
    found = kept_rows(keys, 1, 6, compute, runtime)
    assert asked == [0, 1, 1]
    assert found[0, 0] == 1.0
    assert np.isnan(found[1, 0])


def test_keys_distinguish_inputs_and_models() -> None:
    keys = {
        input_key("a", [1, 2], [0, 0]),
        input_key("b", [1, 2], [0, 0]),
        input_key("a", [1, 2], [0, 1]),
        input_key("a", [1, 2, 0, 0]),
        input_key("a", [1], [2, 0, 0]),
    }
    assert len(keys) == 5


def test_rows_that_are_columns_of_an_array_are_kept_exactly(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).normal(size=(3, 2))
    for _ in range(2):
        rows = kept_rows([b"a", b"b"], 3, None, lambda _: numbers.T, Runtime(cache=tmp_path))
        assert (rows == numbers.T).all()
