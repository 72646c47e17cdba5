"""Run the notebooks of the site, and the command that draws its figures.

    python -m tools.site_parts build/parts

Exits with status 1 if a cell of a notebook or a command fails.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from contextlib import redirect_stdout
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[1]

FIGURE = "comparison.html"
"""The file with the figures of the site, which a command writes."""

COMMAND = "compare sample -m gleu -m green -m errant -m changes --html"
"""The command, without the names of the program and the file."""


def run_notebooks(out: Path) -> None:
    """Execute every notebook in a kernel of this Python, and write it with its output to `out`."""
    import nbformat
    from nbclient import NotebookClient

    out.mkdir(parents=True, exist_ok=True)
    for path in sorted((_REPOSITORY / "docs" / "notebooks").glob("*.ipynb")):
        begun = time.perf_counter()
        notebook = nbformat.read(path, as_version=4)
        # Communicate with the kernel through files of this user, not through ports of the machine.
        with tempfile.TemporaryDirectory(prefix="gecjury-kernel-") as folder:
            sockets = str(Path(folder) / "socket")
            client = NotebookClient(notebook, timeout=600, kernel_name="python3")
            kernel = client.create_kernel_manager()
            kernel.transport, kernel.ip = "ipc", sockets
            client.execute()
        nbformat.write(notebook, out / path.name)
        print(f"{path.name}: {time.perf_counter() - begun:.1f} s", flush=True)


def draw(out: Path) -> None:
    """Draw the figures."""
    from gecjury.cli import main

    out.mkdir(parents=True, exist_ok=True)
    begun = time.perf_counter()
    with Path(os.devnull).open("w") as nowhere, redirect_stdout(nowhere):
        status = main([*COMMAND.split(), str(out / FIGURE)])
    if status:
        raise SystemExit(f"gecjury {COMMAND} ended with status {status}")
    print(f"{FIGURE}: {time.perf_counter() - begun:.1f} s", flush=True)


if __name__ == "__main__":
    place = Path(sys.argv[1])
    # The kernel finds gecjury where this process found it.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_REPOSITORY), os.environ.get("PYTHONPATH", "")])
    draw(place / "figures")
    run_notebooks(place / "notebooks")
