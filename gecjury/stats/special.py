"""Special functions of scipy, imported without the rest of `scipy.special`.

`scipy.special` imports numpy's parts for Fortran and for tests. That takes a fifth of a second of
processor time, more than many commands need for everything else. The functions are the same.
"""

import numpy as np

from gecjury.core.runtime import import_alone

(_UFUNCS,) = import_alone("scipy.special._ufuncs")
erfcx: np.ufunc = _UFUNCS.erfcx
ndtr: np.ufunc = _UFUNCS.ndtr
ndtri: np.ufunc = _UFUNCS.ndtri
stdtrit: np.ufunc = _UFUNCS.stdtrit
