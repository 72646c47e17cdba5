"""Run the notebooks of the site, and the command that draws its figures.

    python -m tools.site_parts build/parts

Exits with status 1 if a cell of a notebook or a command fails.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[1]

_COMPARED = ["-m", "gleu", "-m", "green", "-m", "errant", "-m", "changes", "--html"]


@dataclass(frozen=True)
class Drawn:
    """A figure of the site.

    Attributes:
        title: its heading.
        about: what it shows.
        file: file that the command writes.
        words: the command line without the program's name and the file.
    """

    title: str
    about: str
    file: str
    words: Sequence[str]


_FIGURES = (
    Drawn(
        "Agreement of metrics with people",
        "Correlation over systems, and the share of pairs of corrections that a metric orders as "
        "people do, both with 95% intervals: the plots of the page that the command writes.",
        "comparison.html",
        ["compare", "sample", *_COMPARED],
    ),
)  # fmt: skip


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
    """Draw every figure, and write the commands to `commands.json`."""
    import shlex

    from gecjury.cli import main

    out.mkdir(parents=True, exist_ok=True)
    listed = []
    for each in _FIGURES:
        begun = time.perf_counter()
        with Path(os.devnull).open("w") as nowhere:
            kept, sys.stdout = sys.stdout, nowhere
            try:
                status = main([*each.words, str(out / each.file)])
            finally:
                sys.stdout = kept
        command = f"gecjury {shlex.join([*each.words, each.file])}"
        if status:
            raise SystemExit(f"{command} ended with status {status}")
        print(f"{each.file}: {time.perf_counter() - begun:.1f} s", flush=True)
        about = {"title": each.title, "about": each.about, "file": each.file}
        listed.append(about | {"command": command})
    (out / "commands.json").write_text(json.dumps(listed))


if __name__ == "__main__":
    place = Path(sys.argv[1])
    # The kernel finds gecjury where this process found it.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_REPOSITORY), os.environ.get("PYTHONPATH", "")])
    draw(place / "figures")
    run_notebooks(place / "notebooks")
