"""Edit extraction in several processes; each loads the tagger and answers batches of pairs.

The workers are plain child processes that speak JSON lines over their standard streams. So they
start alike on every system, in scripts without a guarded main part and in notebooks.

Not loky, which does that too: for 800 pairs and two workers with the embedded tagger it took 5.1 s
of processor time where this takes 4.2 s and as much memory, and what it sends is pickled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from pathlib import Path
from typing import IO, Any

from gecjury import errors
from gecjury.errors import GecjuryError
from gecjury.extraction.pipeline import ExtractedEdits, Extractor, TextPair

__all__ = ["extract_in_workers"]

# Batches a worker gets in a row: enough to even out their lengths.
_BATCHES = 6
_SMALLEST, _LARGEST = 50, 2000


def extract_in_workers(
    pairs: list[TextPair], tagger: str, pos_scheme: str, workers: int
) -> Iterator[tuple[TextPair, ExtractedEdits]]:
    """The edits of distinct pairs, batch by batch as they are done.

    Args:
        pairs: distinct pairs; neighbours share sentences, which one worker then parses once.
        tagger: name of the tagger.
        pos_scheme: its parts of speech.
        workers: how many processes.

    Raises:
        GecjuryError: what a worker raised, or that one ended unexpectedly.
    """
    size = min(max(len(pairs) // (workers * _BATCHES) + 1, _SMALLEST), _LARGEST)
    batches = deque(pairs[begin : begin + size] for begin in range(0, len(pairs), size))
    pool = [_Worker(tagger, pos_scheme) for _ in range(min(workers, len(batches)))]
    try:
        with ThreadPoolExecutor(len(pool)) as threads:
            running: dict[Future[list[str]], tuple[_Worker, list[TextPair]]] = {}
            idle = list(pool)
            while batches or running:
                while batches and idle:
                    worker, batch = idle.pop(), batches.popleft()
                    running[threads.submit(worker.ask, batch)] = worker, batch
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    worker, batch = running.pop(future)
                    idle.append(worker)
                    found = map(ExtractedEdits.from_json, future.result())
                    yield from zip(batch, found, strict=True)
    finally:
        for worker in pool:
            worker.stop()


class _Worker:
    def __init__(self, tagger: str, pos_scheme: str) -> None:
        root = str(Path(__file__).parents[2])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH"))))
        # The processes share the processor already: no further threads within one.
        environment = os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "gecjury.extraction.workers", tagger, pos_scheme],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
            encoding="utf-8",
            errors="surrogatepass",
        )

    def ask(self, pairs: list[TextPair]) -> list[str]:
        """Have pairs done; the answer is one JSON text a pair."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            raise GecjuryError("a worker process has no streams")
        try:
            stdin.write(json.dumps(pairs) + "\n")
            stdin.flush()
            line = stdout.readline()
        except OSError:
            line = ""
        if not line:
            raise GecjuryError(
                f"a worker process ended unexpectedly (status {self._process.wait()}): "
                "see its message above, or run with one worker"
            )
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            kind = getattr(errors, answer["error"], GecjuryError)
            raise kind(answer["message"])
        found: list[str] = answer["found"]
        return found

    def stop(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                stream.close()


def _serve(tagger: str, pos_scheme: str, asked: IO[str], answers: IO[str]) -> None:
    """Answer batches of pairs, one line each, until the input ends."""
    extractor: Extractor | None = None
    for line in asked:
        try:
            if extractor is None:
                from gecjury.extraction.tagger import load_tagger

                extractor = Extractor(load_tagger(tagger, pos_scheme))
            pairs = [(source, corrected) for source, corrected in json.loads(line)]
            answer: dict[str, Any] = {"found": [f.to_json() for _, f in extractor.extract(pairs)]}
        except GecjuryError as error:
            answer = {"error": type(error).__name__, "message": str(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    # Whatever a library prints must not mix with the answers.
    _answers, sys.stdout = sys.stdout, sys.stderr
    if sys.argv[1] == "embedded":
        # spaCy imports torch wherever it is installed, which takes seconds; this needs none.
        sys.modules["torch"] = None  # type: ignore[assignment]  # forbids it
    _serve(sys.argv[1], sys.argv[2], sys.stdin, _answers)
