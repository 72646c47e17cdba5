"""Edit extraction in several processes: this one works too, the others answer batches of pairs.

Where possible, the others are forks of this process, created once the tagger is loaded, and
cost nothing to start. This requires Linux, a tagger that is not a pipeline of the user, and that
nothing else runs in this process (another thread, spaCy on a GPU). Otherwise, as in a notebook,
they are plain child processes that load the tagger while this one works.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator

from gecjury.core.processes import (
    ForkedProcess,
    Pool,
    SpawnedProcess,
    may_fork,
    serve_standard_streams,
)
from gecjury.corpus.edits import ExtractedEdits, TextPair
from gecjury.extraction.pipeline import Extractor
from gecjury.extraction.taggers import extractor_of

_SMALLEST, _LARGEST = 50, 2000


def extract_in_workers(
    pairs: list[TextPair],
    tagger: str,
    workers: int,
) -> Iterator[tuple[TextPair, ExtractedEdits]]:
    """Return the edits of distinct pairs, batch by batch as they are done.

    The processes are started at once, before the first result is asked for.

    Args:
        pairs: distinct pairs; neighbours share sentences, which one worker then parses once.
        workers: number of processes, including this one.

    Raises:
        GecjuryError: a worker raised an error or ended unexpectedly.
    """
    batches = _Batches(pairs, workers)
    forks = tagger in ("embedded", "none", "cherrant") and may_fork()
    others = min(workers - 1, max(len(pairs) - 1, 0) // _SMALLEST)
    pool: Pool[_ExtractedBatch] = Pool()
    try:
        if others and not forks:
            # The processes already share the processor, so none of them starts further threads.
            alone = {"OMP_NUM_THREADS": "1"}
            words = "gecjury.extraction.workers", tagger
            pool.fill(others, lambda: SpawnedProcess(*words, environment=alone))
        local = extractor_of(tagger)
        if forks:
            pool.fill(others, lambda: ForkedProcess(lambda: _answers(local), pool.processes))
    except BaseException:
        pool.close()
        raise
    return _together(batches, local, pool)


class _Batches:
    """Pairs handed out in batches of decreasing size, so that all workers finish together."""

    def __init__(self, pairs: list[TextPair], workers: int) -> None:
        self._pairs = pairs
        self._shares = 2 * workers
        self._begin = 0
        self._lock = threading.Lock()
        self.sent = 0

    def take(self, send: bool = False) -> list[TextPair]:
        """Return the next batch, empty if none is left; `send` counts it as sent to a process."""
        with self._lock:
            left = len(self._pairs) - self._begin
            # A share of what is left: long batches first, short ones at the end.
            size = min(max(left // self._shares + 1, _SMALLEST), _LARGEST)
            batch = self._pairs[self._begin : self._begin + size]
            self._begin += len(batch)
            self.sent += bool(batch) and send
            return batch


_ExtractedBatch = tuple[list[TextPair], list[ExtractedEdits]]


def _together(
    batches: _Batches, local: Extractor, pool: Pool[_ExtractedBatch]
) -> Iterator[tuple[TextPair, ExtractedEdits]]:
    """Work alongside the other processes until every batch is done."""

    def feed(process: ForkedProcess | SpawnedProcess) -> None:
        # No batch is taken before the process is loaded.
        process.ask([])
        while batch := batches.take(send=True):
            pool.results.put((batch, list(map(ExtractedEdits.of_rows, process.ask(batch)))))

    received = 0
    with contextlib.closing(pool):
        pool.work(feed)
        while True:
            batch = batches.take()
            # A process that has not loaded yet when nothing is left is not waited for.
            while not pool.results.empty() or (not batch and received < batches.sent):
                result = pool.result()
                received += 1
                yield from zip(*result, strict=True)
            if not batch:
                return
            yield from local.extract(batch)


def _answers(extractor: Extractor) -> Callable[[list[list[str]]], list[list[object]]]:
    """Return the function that answers batches of pairs."""

    def answer(batch: list[list[str]]) -> list[list[object]]:
        pairs = [(source, corrected) for source, corrected in batch]
        return [edits.rows() for _, edits in extractor.extract(pairs)]

    return answer


if __name__ == "__main__":
    serve_standard_streams(lambda: _answers(extractor_of(sys.argv[1])))
