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


def test_package_is_not_loaded_and_can_be_imported_afterwards() -> None:
    subprocess.run([sys.executable, "-c", _ALONE], check=True)
