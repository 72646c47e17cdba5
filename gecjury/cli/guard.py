"""Reports of unexpected errors: one line, and a file."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback

from gecjury.core.runtime import __version__, version_of

UNFORESEEN = 70
"""Exit status: a fault of the program itself."""

_PACKAGES = ("numpy", "scipy", "torch", "transformers", "spacy", "errant", "openai")


def tell_unforeseen(error: BaseException) -> str:
    """Write the report of an error, and return the line that announces it.

    The report has types of errors and places in the code, but no messages, since messages quote
    texts. It is in the system's folder for temporary files.
    """
    lines = [f"gecjury {__version__}, Python {platform.python_version()}, {sys.platform}"]
    lines += [f"{name} {version}" for name in _PACKAGES if (version := version_of(name))]
    # Causes may form a cycle.
    seen: set[int] = set()
    raised: BaseException | None = error
    while raised is not None and id(raised) not in seen:
        seen.add(id(raised))
        lines += ["", type(raised).__name__]
        # For infinite recursion, only the first and the last calls.
        frames = traceback.extract_tb(raised.__traceback__)
        for frame in [*frames[:50], *frames[50:][-50:]]:
            lines.append(f"  {frame.filename}, line {frame.lineno}, in {frame.name}")
        raised = raised.__cause__ or raised.__context__
    line = f"an unexpected error ({type(error).__name__}), which is a fault of gecjury"
    try:
        handle, path = tempfile.mkstemp(prefix="gecjury-error-", suffix=".txt")
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(lines) + "\n")
    except OSError:
        return f"{line}; its report could not be written"
    return f"{line}: please report it with {path}, which contains no texts and no keys"
