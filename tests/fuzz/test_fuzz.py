"""Mutated inputs end in an exit status and a message, and the fuzzer detects every problem."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from random import Random

import pytest

from tests.fuzz.fixtures import BENCHMARK_TOML, GOLD, JURY
from tests.fuzz.kinds import KINDS
from tests.fuzz.mutate import Mutator
from tests.fuzz.run import run, tell

# Kinds that need a package of an extra are left out if it is not installed.
_NEEDS = {
    "models": "transformers", "rows": "transformers", "replies": "openai", "prices": "openai",
    "encoders": "transformers", "detectors": "transformers", "results": "pyarrow",
    "text": "errant", "json": "errant", "judgments": "errant", "sentences": "errant",
    "groups": "errant", "journals": "starlette",
}  # fmt: skip
INSTALLED = [
    kind for kind in KINDS
    if kind not in _NEEDS or importlib.util.find_spec(_NEEDS[kind]) is not None
]  # fmt: skip
# These import torch or wait for servers.
_SLOW = ("models", "rows", "replies", "downloads", "encoders", "detectors")
QUICK = [kind for kind in INSTALLED if kind not in _SLOW]


@pytest.mark.security
def test_some_inputs_of_every_quick_kind() -> None:
    result = run(QUICK, 2 * len(QUICK), seed=1, confirm=False)
    assert not result.failures, tell(result)
    assert len(result.outcomes) == 2 * len(QUICK)
    # Some inputs are accepted.
    assert {0, 2} <= {one.status for one in result.outcomes}


@pytest.mark.slow
def test_two_thousand_inputs() -> None:
    result = run(INSTALLED, 2000, seed=0)
    assert not result.failures, tell(result)


FAKE = """
import os, sys, time
def main(argv):
    what = os.environ.get("HOME") and WHAT
    if what == "hang":
        time.sleep(60)
    if what == "memory":
        held = bytearray(b"x") * (1 << 30)
        time.sleep(60)
    if what == "escaped":
        raise LookupError("no")
    if what == "stray":
        print("fine")
        try:
            open("../../../beside", "w")
        except OSError:
            pass
        return 0
    if what == "network":
        import socket
        try:
            socket.create_connection(("192.0.2.1", 80), timeout=0.1)
        except OSError:
            pass
        print("fine")
        return 0
    if what == "crash":
        os._exit(5)
    if what == "traceback":
        print("Traceback (most recent call last):\\nLookupError: no", file=sys.stderr)
        return 2
    if what == "status":
        print("fine")
        return 9
    if what == "control":
        print("gecjury: \\x1b[31mno", file=sys.stderr)
        return 2
    if what == "printed":
        print("\\x1b[31mno")
        return 0
    if what == "key":
        print(os.environ["OPENAI_API_KEY"])
        return 0
    if what == "long":
        print("x" * 10_000, file=sys.stderr)
        return 2
    if what == "warning":
        import warnings
        warnings.warn("odd", RuntimeWarning)
        print("fine")
        return 0
    if what == "wrong status":
        print("fine")
        return 0
    if what == "sound":
        print("gecjury: no", file=sys.stderr)
        return 2
    return 0
"""


@pytest.mark.parametrize(
    ("what", "seen"),
    [
        ("sound", None), ("hang", "hang"), ("memory", "memory"), ("escaped", "escaped"),
        ("stray", "stray"), ("network", "stray"), ("crash", "crash"), ("traceback", "traceback"),
        ("status", "status"), ("control", "control"), ("printed", "control"), ("key", "key"),
        ("long", "long"), ("warning", "warning"), ("silent", "silent"),
    ],
)  # fmt: skip
def test_problems_are_detected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, seen: str | None
) -> None:
    package = tmp_path / "fake" / "gecjury"
    (package / "cli").mkdir(parents=True)
    real = Path(importlib.util.find_spec("gecjury").submodule_search_locations[0])  # type: ignore[union-attr,index]
    (package / "__init__.py").write_text(f"__path__.append({str(real)!r})\n")
    (package / "cli" / "__init__.py").write_text(FAKE.replace("WHAT", repr(what)))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "fake"))
    patience = 2.0 if what == "hang" else 50.0
    result = run(["toml"], 1, seed=6, confirm=False, start=patience, memory=1 << 29)
    (one,) = result.outcomes
    assert {problem["what"] for problem in one.problems} - {"wrong status"} == (
        set() if seen is None else {seen}
    ), one


def test_success_with_invalid_toml_is_a_wrong_status(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "gecjury"
    (package / "cli").mkdir(parents=True)
    real = Path(importlib.util.find_spec("gecjury").submodule_search_locations[0])  # type: ignore[union-attr,index]
    (package / "__init__.py").write_text(f"__path__.append({str(real)!r})\n")
    (package / "cli" / "__init__.py").write_text(FAKE.replace("WHAT", "'wrong status'"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    result = run(["toml"], 20, seed=0, confirm=False)
    reasons = [p["where"] for one in result.failures for p in one.problems]
    assert any("is not TOML" in reason for reason in reasons), reasons


def test_a_seed_always_gives_the_same_input() -> None:
    def made(seed: int) -> list[bytes]:
        change = Mutator(Random(seed))
        return [change.lines(GOLD.encode()), change.flat(BENCHMARK_TOML.encode()),
                change.document(JURY)]  # fmt: skip

    assert [made(seed) for seed in range(50)] == [made(seed) for seed in range(50)]
    assert len({b"".join(made(seed)) for seed in range(50)}) > 45
