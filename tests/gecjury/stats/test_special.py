"""Special functions: those of `scipy.special`, loaded without the package."""

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
_WITH_THREAD = """
import sys, threading
wait = threading.Event()
threading.Thread(target=wait.wait).start()
try:
    from gecjury.stats import special
    assert sys.modules["scipy.special"].ndtr is special.ndtr
finally:
    wait.set()
"""


def test_package_is_not_loaded_and_can_be_imported_afterwards() -> None:
    subprocess.run([sys.executable, "-c", _ALONE], check=True)


def test_package_is_imported_if_other_threads_are_running() -> None:
    subprocess.run([sys.executable, "-c", _WITH_THREAD], check=True)
