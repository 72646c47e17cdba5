"""Batches: equal lengths, every text once, balanced sizes; threads change nothing."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gecjury.core.errors import OptionError
from gecjury.models import batching
from gecjury.models.batching import (
    cpu_threads,
    equal_batches,
    in_batches,
    padded_batches,
    work_through,
)


def test_by_hand() -> None:
    # Room for 2 texts: the three of length 5 form batches of 2 and 1 (places 0, 3 and 1). One text
    # of 64 word pieces takes the room of two.
    assert equal_batches([5, 5, 7, 5, 64, 64], 2) == [[4], [5], [0, 3], [2], [1]]
    # 5 texts and room for 4: 3 and 2, not 4 and 1.
    assert [len(batch) for batch in equal_batches([9] * 5, 4)] == [3, 2]
    assert equal_batches([], 4) == []
    assert equal_batches([5, 5, 7, 5, 64, 64], None) == [[4, 5], [0, 1, 3], [2]]


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
    # With as many as memory holds, 64 texts of 64 at least, then all those padded little.
    lengths = [64] * 60 + [60] * 9 + [59]
    assert [len(batch) for batch in padded_batches(lengths, None)] == [69, 1]


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


class Card:
    """A GPU that is only counted: a batch of n texts of L word pieces takes n · (L · a + L² · b).

    The model is on it, too, as far as `in_batches` looks at a model.
    """

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, memory: int, a: int = 4, b: int = 1
    ) -> None:
        torch = pytest.importorskip("torch")
        self.memory, self.a, self.b = memory, a, b
        self.peak, self.failed = 0, 0
        self.sizes: list[int] = []
        self.out_of_memory = torch.OutOfMemoryError
        self.device = torch.device("cuda", 0)
        for name, value in (
            ("mem_get_info", lambda device: (self.memory - 10, 10**9)),
            ("memory_reserved", lambda device: 30),
            ("memory_allocated", lambda device: 20),
            ("max_memory_allocated", lambda device: 20 + self.peak),
            ("reset_peak_memory_stats", lambda device: None),
            ("empty_cache", lambda: None),
        ):
            monkeypatch.setattr(torch.cuda, name, value)

    def parameters(self) -> Iterator[Any]:
        yield SimpleNamespace(device=self.device)

    def read(self, lengths: Sequence[int], most: int | None = None, equal: bool = False) -> None:
        """Read texts, and check that each is read once, and no batch with much padding."""

        def work(batch: list[int]) -> list[int]:
            longest = max(lengths[place] for place in batch)
            self.peak = len(batch) * (longest * self.a + longest**2 * self.b)
            if self.peak > self.memory:
                self.failed += 1
                raise self.out_of_memory
            return [lengths[place] for place in batch]

        done = list(in_batches(self, lengths, work, most, equal=equal))
        assert sorted(place for batch, _ in done for place in batch) == list(range(len(lengths)))
        for batch, result in done:
            assert result == [lengths[place] for place in batch]
            assert not equal or len(set(result)) == 1
        self.sizes = [len(batch) for batch, _ in done]


@pytest.mark.parametrize("equal", [False, True])
def test_a_gpu_reads_what_its_memory_holds(equal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text of 10 takes 10 · 4 + 100 = 140. 409 of them are the first batch, of 4096 pieces.

    Then three quarters of the memory are used: of 1,400,000, 7,500 texts.
    """
    card = Card(monkeypatch, 1_400_000)
    card.read([10] * 20_000, equal=equal)
    assert card.sizes == [409, 7_500, 7_500, 4_591]
    # What was measured is kept, also for shorter texts; longer ones are measured anew.
    card.read([5] * 20_000, equal=equal)
    assert card.sizes == [15_000, 5_000]
    card.read([20] * 20_000, equal=equal)
    assert card.sizes[:2] == [1_875, 2_187]
    assert card.failed == 0
    # A batch size is the most there is.
    card.read([5] * 20_000, most=64, equal=equal)
    assert max(card.sizes) == (64 if equal else 819)


@pytest.mark.parametrize("most", [None, 8_000])
def test_when_memory_runs_out_smaller_batches_go_on(
    most: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    card = Card(monkeypatch, 1_400_000)
    card.read([10] * 9_000, most)
    card.memory = 300_000  # another process has taken the rest, which holds 2,142 texts
    card.read([10] * 9_000, most)
    assert card.failed == 2
    assert card.sizes == [1_875] * 4 + [1_500]
    card.read([10] * 3_000, most)
    assert (card.failed, card.sizes) == (2, [1_875, 1_125])


def test_a_text_too_large_for_memory_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    card = Card(monkeypatch, 10_000)
    with pytest.raises(OptionError, match=r"one text of 200 word pieces.*`device=`") as told:
        card.read([200, 10, 10])
    assert "\n" not in str(told.value)


@given(
    st.lists(st.integers(0, 60), max_size=80), st.integers(4_000, 10**6), st.integers(0, 3),
    st.sampled_from([None, 1, 3, 100]), st.booleans(),
)  # fmt: skip
def test_a_gpu_reads_every_text_once(
    lengths: list[int], memory: int, square: int, most: int | None, equal: bool
) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch:
        card = Card(monkeypatch, 4 * 10**4 + memory, b=square)
        card.read(lengths, most, equal)
        card.read(lengths[::2], most, equal)


@pytest.mark.parametrize("equal", [False, True])
def test_a_cpu_reads_less_only_where_memory_is_short(
    equal: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    model = torch.nn.Linear(4, 100)
    model.config = SimpleNamespace(hidden_size=10, num_hidden_layers=4, num_attention_heads=5)

    def sizes(most: int | None = None, threads: int = 1) -> list[int]:
        batches = in_batches(model, [40] * 300, len, most, equal=equal, threads=threads)
        return [size for _, size in batches]

    def with_memory(size: float) -> None:
        monkeypatch.setattr(batching, "free_memory", lambda: size)

    with_memory(math.inf)
    plan = (equal_batches if equal else padded_batches)([40] * 300, 64)
    assert sizes() == [len(batch) for batch in plan]
    # Numbers a word piece: 3 · 100, (4 + 6) · 10 and 4 · 5 · 40, 1,200 together; so 4,800 bytes.
    with_memory(4_800 * 40 * 21 / 0.75)
    # 840 pieces are 26 texts of 32, or 13 of 64. They are as many as 20 texts of 40.
    assert max(sizes()) == 20
    assert max(sizes(threads=2)) == (10 if equal else 9)
    assert max(sizes(most=1)) == 1
    with_memory(0)
    assert max(sizes()) == 1


def test_free_memory_is_that_of_the_machine_or_of_its_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "_PROC", tmp_path / "proc")
    monkeypatch.setattr(batching, "_CGROUPS", tmp_path / "groups")
    assert batching.free_memory() == math.inf  # another operating system

    def write(name: str, text: str) -> None:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    write("proc/meminfo", "MemTotal: 9000 kB\nMemAvailable:    5000 kB\n")
    write("proc/self/cgroup", "5:cpu:/job\n4:memory:/job\n0::/slice/job\n")
    assert batching.free_memory() == 5000 * 1024
    for folder, limit in (("groups/slice", "4000000"), ("groups/slice/job", "max")):
        write(f"{folder}/memory.max", limit)
        write(f"{folder}/memory.current", "1500000")
        write(f"{folder}/memory.stat", "anon 5\ninactive_file 200000\n")
    assert batching.free_memory() == 2_700_000
    # A container with the first kind of groups sees its own group as the root.
    write("groups/memory/memory.limit_in_bytes", "2000000")
    write("groups/memory/memory.usage_in_bytes", "1000000")
    write("groups/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 300000\n")
    assert batching.free_memory() == 1_300_000
