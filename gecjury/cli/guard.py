"""Reports of unforeseen errors: one line, and a file."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
import traceback
from importlib import metadata

from gecjury.runtime import __version__

UNFORESEEN = 70
"""Exit status: a fault of the program itself."""

_PACKAGES = ("numpy", "scipy", "torch", "transformers", "spacy", "errant", "openai")


def tell_unforeseen(error: BaseException, folder: str | None = None) -> str:
    """Write the report of an error, and give the line that tells of it.

    The report has kinds of errors and places in programs, no message: messages quote texts.

    Args:
        error: as it was caught.
        folder: where the report is written; by default the system's for temporary files.
    """
    lines = [f"gecjury {__version__}, Python {platform.python_version()}, {sys.platform}"]
    for name in _PACKAGES:
        try:
            lines.append(f"{name} {metadata.version(name)}")
        except metadata.PackageNotFoundError:
            continue
    # Causes may refer to each other in a circle.
    seen: set[int] = set()
    raised: BaseException | None = error
    while raised is not None and id(raised) not in seen:
        seen.add(id(raised))
        lines += ["", type(raised).__name__]
        # Of endless recursion the first and the last calls.
        frames = traceback.extract_tb(raised.__traceback__)
        for frame in [*frames[:50], *frames[50:][-50:]]:
            lines.append(f"  {frame.filename}, line {frame.lineno}, in {frame.name}")
        raised = raised.__cause__ or raised.__context__
    line = f"an unforeseen error ({type(error).__name__}), which is a fault of gecjury's"
    try:
        handle, path = tempfile.mkstemp(prefix="gecjury-error-", suffix=".txt", dir=folder)
        with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write("\n".join(lines) + "\n")
    except OSError:
        return f"{line}; no report of it could be written"
    return f"{line}: please report it with {path}, which has no texts and no keys in it"
