"""Run what the site shows: its notebooks, and the commands that draw its figures.

    python -m tools.site_parts build/docs

A notebook whose cell fails, or a command that does not end well, ends it with status 1.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path

_REPOSITORY = Path(__file__).resolve().parents[1]

# title, file, command line without the program's name
_UOT = ["-m", "uot-errant:encoder=embedded"]
_FIGURES = (
    (
        "The page of a comparison",
        "comparison.html",
        ["compare", "sample", "-m", "green", "-m", "gleu", "-m", "errant", "-m", "changes",
         "--html"],
    ),
    (
        "Which types of edits are valid",
        "edits.svg",
        ["analyse", "edits", "sample", "--figure"],
    ),
    ("Lengths of edit vectors", "norms.svg", ["analyse", "norms", "sample", *_UOT, "--figure"]),
    ("Edit vectors on a plane", "map.svg", ["analyse", "map", "sample", *_UOT, "--figure"]),
    (
        "What was moved where in one sentence",
        "plan.png",
        ["explain", "He go home .", "He goes to home .", "He went home .", *_UOT, "--png"],
    ),
)  # fmt: skip


def run_notebooks(out: Path) -> None:
    """Execute every notebook in a kernel of this Python; written with its output to `out`."""
    import nbformat
    from nbclient import NotebookClient

    out.mkdir(parents=True, exist_ok=True)
    for path in sorted((_REPOSITORY / "docs" / "notebooks").glob("*.ipynb")):
        begun = time.perf_counter()
        notebook = nbformat.read(path, as_version=4)
        # A kernel is spoken to through files of this user, not through ports of the machine.
        with tempfile.TemporaryDirectory(prefix="gecjury-kernel-") as folder:
            sockets = str(Path(folder) / "socket")
            client = NotebookClient(notebook, timeout=600, kernel_name="python3")
            kernel = client.create_kernel_manager()
            kernel.transport, kernel.ip = "ipc", sockets
            client.execute()
        nbformat.write(notebook, out / path.name)
        print(f"{path.name}: {time.perf_counter() - begun:.1f} s", flush=True)


def draw(out: Path) -> None:
    """Draw every figure; `commands.json` beside them says by which command."""
    import shlex

    from gecjury.cli import main

    out.mkdir(parents=True, exist_ok=True)
    listed = []
    for title, file, words in _FIGURES:
        begun = time.perf_counter()
        with Path(os.devnull).open("w") as nowhere:
            kept, sys.stdout = sys.stdout, nowhere
            try:
                status = main([*words, str(out / file)])
            finally:
                sys.stdout = kept
        if status:
            raise SystemExit(f"gecjury {shlex.join(words)} ended with status {status}")
        print(f"{file}: {time.perf_counter() - begun:.1f} s", flush=True)
        listed.append(
            {"title": title, "file": file, "command": f"gecjury {shlex.join([*words, file])}"}
        )
    (out / "commands.json").write_text(json.dumps(listed))


if __name__ == "__main__":
    place = Path(sys.argv[1])
    # A kernel finds gecjury wherever this process found it.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(_REPOSITORY), os.environ.get("PYTHONPATH", "")])
    draw(place / "figures")
    run_notebooks(place / "notebooks")
