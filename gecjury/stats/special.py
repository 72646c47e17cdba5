"""Special functions of scipy, without the import of the package around them.

`scipy.special` imports numpy's parts for Fortran and for tests: a fifth of a second of processor
time, more than many a command takes for all else. The functions are those of the package itself.
"""

from typing import Any

from gecjury.runtime import import_alone

(_UFUNCS,) = import_alone("scipy.special._ufuncs")
erfcx: Any = _UFUNCS.erfcx
ndtr: Any = _UFUNCS.ndtr
ndtri: Any = _UFUNCS.ndtri
stdtrit: Any = _UFUNCS.stdtrit
