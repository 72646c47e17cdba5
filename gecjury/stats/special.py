"""Special functions of scipy, imported without the rest of `scipy.special`.

`scipy.special` imports numpy's parts for Fortran and for tests. That takes a fifth of a second of
processor time, more than many commands need for everything else. The functions are the same.
"""

from typing import Any

from gecjury.core.runtime import import_alone

(_UFUNCS,) = import_alone("scipy.special._ufuncs")
erfcx: Any = _UFUNCS.erfcx
ndtr: Any = _UFUNCS.ndtr
ndtri: Any = _UFUNCS.ndtri
stdtrit: Any = _UFUNCS.stdtrit
