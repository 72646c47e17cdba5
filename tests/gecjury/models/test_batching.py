"""Batches: equal lengths, every text once, balanced sizes; threads change nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import OptionError
from gecjury.models.batching import (
    cpu_threads,
    equal_batches,
    padded_batches,
    run_batch,
    work_through,
)


def test_by_hand() -> None:
    # Room for 2 texts: the three of length 5 form batches of 2 and 1 (places 0, 3 and 1). One text
    # of 64 word pieces takes the room of two.
    assert equal_batches([5, 5, 7, 5, 64, 64], 2) == [[4], [5], [0, 3], [2], [1]]
    # 5 texts and room for 4: 3 and 2, not 4 and 1.
    assert [len(batch) for batch in equal_batches([9] * 5, 4)] == [3, 2]
    assert equal_batches([], 4) == []


@given(st.lists(st.integers(1, 130), max_size=60), st.integers(1, 9))
def test_every_place_occurs_once_and_lengths_are_equal(lengths: list[int], most: int) -> None:
    batches = equal_batches(lengths, most)
    assert sorted(place for batch in batches for place in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len({lengths[place] for place in batch}) == 1
        assert len(batch) <= most
        assert len(batch) == 1 or len(batch) * lengths[batch[0]] <= 32 * most


def test_padded_batches_by_hand() -> None:
    # Room for 2 × 64 word pieces: one text of 100 (28 are left over), four of 30 padded to 30,
    # and the two of 5.
    assert padded_batches([5, 30, 30, 100, 30, 30, 5], 2) == [[3], [1, 2, 4, 5], [0, 6]]
    assert padded_batches([500], 1) == [[0]]
    assert padded_batches([0, 0], 1) == [[0, 1]]
    assert padded_batches([], 4) == []


@pytest.mark.parametrize("threads", [1, 3])
def test_results_come_in_order(threads: int) -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()
    batches = [[place] for place in range(20)]
    found = list(work_through(batches, lambda batch: batch[0] ** 2, threads))
    assert found == [([place], place**2) for place in range(20)]
    assert torch.get_num_threads() == before


def test_errors_in_threads_are_raised() -> None:
    torch = pytest.importorskip("torch")
    before = torch.get_num_threads()

    def work(batch: list[int]) -> int:
        return 1 // batch[0]

    with pytest.raises(ZeroDivisionError):
        list(work_through([[1], [0], [2]], work, 2))
    assert torch.get_num_threads() == before


def test_an_accelerator_processes_one_batch_at_a_time() -> None:
    torch = pytest.importorskip("torch")
    assert cpu_threads("cuda") == 1
    assert cpu_threads("cpu") == torch.get_num_threads()


@pytest.mark.parametrize(("fits", "remedy"), [(12, "--batch-size 2, "), (0, "another --device")])
def test_too_little_memory_names_the_batch_size_that_fits(fits: int, remedy: str) -> None:
    """With --batch-size 32, 80 such texts are a full batch; 10 fit, so 4 would do, and 2 surely."""
    torch = pytest.importorskip("torch")

    def work(batch: list[int]) -> int:
        if len(batch) > fits:
            raise torch.OutOfMemoryError
        return len(batch)

    with pytest.raises(OptionError, match=f"--batch-size.*{remedy}") as told:
        run_batch(work, list(range(40)), 32, 80)
    assert run_batch(work, [], 32, 80) == 0
    assert "\n" not in str(told.value)
