"""Special functions of scipy, without the import of the package around them.

`scipy.special` imports numpy's parts for Fortran and for tests: a fifth of a second of processor
time, more than many a command takes for all else. The functions are those of the package itself.
"""

from __future__ import annotations

import sys
import threading
from importlib import import_module
from types import ModuleType
from typing import Any


def _functions() -> Any:
    """Return the module of the functions, or the whole package where it cannot be had alone."""
    # The package must look imported while its part is, which no other thread may see.
    if "scipy.special" in sys.modules or threading.active_count() > 1:
        return import_module("scipy.special")
    package = ModuleType("scipy.special")
    package.__path__ = [f"{folder}/special" for folder in import_module("scipy").__path__]
    sys.modules[package.__name__] = package
    try:
        return import_module("scipy.special._ufuncs")
    except ImportError:
        pass
    finally:
        del sys.modules[package.__name__]
    return import_module("scipy.special")


_UFUNCS = _functions()
erfcx: Any = _UFUNCS.erfcx
ndtr: Any = _UFUNCS.ndtr
ndtri: Any = _UFUNCS.ndtri
stdtrit: Any = _UFUNCS.stdtrit
