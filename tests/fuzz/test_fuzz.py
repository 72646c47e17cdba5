"""Mutated inputs end in an exit status and a message, and the fuzzer detects every problem."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.fixtures import BENCHMARK_TOML, GOLD, PRICES
from tests.fuzz.kinds import KINDS
from tests.fuzz.mutate import Mutator
from tests.fuzz.run import run, tell

# Kinds that need a package of an extra are left out if it is not installed.
_NEEDS = {
    "models": "transformers", "rows": "transformers", "replies": "openai", "prices": "openai",
    "encoders": "transformers", "detectors": "transformers", "results": "datasets",
    "text": "errant", "json": "errant", "judgments": "errant", "sentences": "errant",
    "journals": "starlette",
}  # fmt: skip
INSTALLED = [k for k in KINDS if k not in _NEEDS or importlib.util.find_spec(_NEEDS[k])]
# These import torch or datasets, start processes, or wait for servers.
_HEAVY = ("models", "rows", "replies", "downloads", "encoders", "detectors", "results")
QUICK = [kind for kind in INSTALLED if kind not in _HEAVY]
HEAVY = [kind for kind in INSTALLED if kind in _HEAVY]


@pytest.mark.security
def test_some_inputs_of_every_quick_kind() -> None:
    outcomes = run(QUICK, 2 * len(QUICK), seed=1)
    assert not any(one.problems for one in outcomes), tell(outcomes)
    # Some inputs are accepted.
    assert {0, 2} <= {one.status for one in outcomes}


@pytest.mark.slow
@pytest.mark.parametrize(("kinds", "each"), [(QUICK, 87), (HEAVY, 30)], ids=["quick", "heavy"])
def test_many_inputs(kinds: list[str], each: int) -> None:
    outcomes = run(kinds, each * len(kinds), seed=0)
    assert not any(one.problems for one in outcomes), tell(outcomes)


FAKES = {
    "sound": (None, "print('gecjury: no', file=sys.stderr); return 2"),
    "hang": ("hang", "import time; time.sleep(60)"),
    "memory": ("memory", "bytearray(3 << 30)"),
    "escaped": ("escaped", "raise LookupError('no')"),
    "stray": ("stray", "print('fine'); tried(open, '../../../beside', 'w'); return 0"),
    "network": ("stray", "print('fine'); tried(socket.create_connection, ('192.0.2.1', 80), .1); "
                "return 0"),
    "crash": ("crash", "os._exit(5)"),
    "traceback": ("traceback", "print('Traceback (most recent call last):\\nLookupError: no', "
                  "file=sys.stderr); return 2"),
    "status": ("status", "print('fine'); return 9"),
    "control": ("control", "print('gecjury: \\x1b[31mno', file=sys.stderr); return 2"),
    "printed": ("control", "print('\\x1b[31mno'); return 0"),
    "key": ("key", "print(os.environ['OPENAI_API_KEY']); return 0"),
    "long": ("long", "print('x' * 10_000, file=sys.stderr); return 2"),
    "warning": ("warning", "import warnings; warnings.warn('odd', RuntimeWarning); print('fine'); "
                "return 0"),
    "silent": ("silent", "return 0"),
    "wrong status": ("wrong status", "print('fine'); return 0"),
}  # fmt: skip
FAKE = """
import os, socket, sys
def tried(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        pass
def main(argv):
    """


@pytest.mark.parametrize("what", FAKES)
def test_problems_are_detected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    package = tmp_path / "gecjury"
    (package / "cli").mkdir(parents=True)
    real = Path(importlib.util.find_spec("gecjury").submodule_search_locations[0])  # type: ignore[union-attr,index]
    (package / "__init__.py").write_text(f"__path__.append({str(real)!r})\n")
    seen, body = FAKES[what]
    (package / "cli" / "__init__.py").write_text(FAKE + body + "\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    inputs, seed = (20, 0) if what == "wrong status" else (1, 6)
    outcomes = run(["toml"], inputs, seed, start=2.0 if what == "hang" else 50.0, memory=2 << 30)
    found = {problem for one in outcomes for problem, _ in one.problems}
    assert found - {"wrong status"} | ({"wrong status"} & {seen}) == {seen} - {None}, outcomes


def test_a_seed_always_gives_the_same_input() -> None:
    def made(seed: int) -> list[bytes]:
        change = Mutator(Random(seed))
        return [change.lines(GOLD.encode()), change.flat(BENCHMARK_TOML.encode()),
                change.document(PRICES)]  # fmt: skip

    assert [made(seed) for seed in range(50)] == [made(seed) for seed in range(50)]
    assert len({b"".join(made(seed)) for seed in range(50)}) > 45
