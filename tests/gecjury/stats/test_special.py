"""Special functions: those of scipy's package, had without it."""

from __future__ import annotations

import subprocess
import sys

_ALONE = """
import sys
from gecjury.stats import special
assert not {"scipy.special", "numpy.f2py", "unittest"} & sys.modules.keys()
import scipy.special, scipy.stats
assert scipy.special.ndtr is special.ndtr and scipy.special.erfcx is special.erfcx
assert scipy.special.__file__ and scipy.stats.norm.cdf(0.0) == 0.5
"""
_BESIDE = """
import sys, threading
wait = threading.Event()
threading.Thread(target=wait.wait).start()
try:
    from gecjury.stats import special
    assert sys.modules["scipy.special"].ndtr is special.ndtr
finally:
    wait.set()
"""


def test_package_is_left_out_and_can_be_imported_afterwards() -> None:
    subprocess.run([sys.executable, "-c", _ALONE], check=True)


def test_beside_other_threads_the_package_is_imported() -> None:
    subprocess.run([sys.executable, "-c", _BESIDE], check=True)
