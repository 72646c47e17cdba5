"""The peer of the comparisons: gec-metrics from PyPI in its own virtual environment.

    python -m speed peer --peer-venv DIR   # create it in advance, and list its versions

The peer pins and installs packages that this project must not depend on, so it never shares our
environment: it gets a snippet of Python and returns JSON.
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import textwrap
import venv
from pathlib import Path
from typing import Any

from speed.harness import ONE_THREAD

# torch first: the peer only asks for "any torch", for which pip would fetch the newest with its
# accelerator libraries. No metric compared here runs torch, but importing the peer does.
_INSTALLS = ("torch==2.13.0", "gec-metrics")

_REPORTED = ("gec-metrics", "trueskill", "errant", "spacy", "numpy", "scipy", "torch")

_VERSIONS = """\
import json, platform, sys
from importlib.metadata import version
versions = {name: version(name) for name in sys.argv[1:]}
print(json.dumps({"Python": platform.python_version(), **versions}))
"""
_READ = """\
import json, sys
from pathlib import Path
data = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
"""
_WRITE = """
Path(sys.argv[2]).write_text(json.dumps(result), encoding="utf-8")
"""


def peer_python(folder: Path) -> Path:
    """Return the peer's interpreter; create the environment if it is missing or unfinished.

    Args:
        folder: the environment. A folder with other things in it is refused.

    Raises:
        SystemExit: the folder has other content, or an installation failed.
    """
    python = _interpreter(folder)
    if python.exists() and peer_versions(python):
        return python
    if folder.exists() and not (folder / "pyvenv.cfg").exists() and any(folder.iterdir()):
        raise SystemExit(
            f"{folder} is not a virtual environment and not empty: name another folder"
        )
    print(f"creating the peer's environment in {folder}", flush=True)
    if not python.exists():
        venv.create(folder, with_pip=True)
    for package in _INSTALLS:
        command = [str(python), "-m", "pip", "install", "--quiet", package]
        if subprocess.run(command, env=_environment(), check=False).returncode:
            raise SystemExit(f"failed: {' '.join(command)}")
    return python


def peer_versions(python: Path) -> dict[str, str]:
    """Return the versions that affect the peer's figures; empty if the peer is not installed."""
    command = [str(python), "-c", _VERSIONS, *_REPORTED]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    versions: dict[str, str] = json.loads(done.stdout) if done.returncode == 0 else {}
    return versions


def run_in_peer(folder: Path, snippet: str, data: Any) -> Any:
    """Run Python in the peer's environment.

    Args:
        folder: the environment, see `peer_python`.
        snippet: Python that reads the variable `data` and sets the variable `result`; may be
            indented as a whole.
        data: JSON value.

    Returns:
        The JSON value of `result`.

    Raises:
        SystemExit: the snippet failed; its own error is printed above.
    """
    python = peer_python(folder)
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        given, made, script = place / "data.json", place / "result.json", place / "snippet.py"
        given.write_text(json.dumps(data), encoding="utf-8")
        script.write_text(_READ + textwrap.dedent(snippet) + _WRITE, encoding="utf-8")
        command = [str(python), str(script), str(given), str(made)]
        if subprocess.run(command, env=_environment(), cwd=place, check=False).returncode:
            raise SystemExit("the peer's side failed; its error is printed above")
        return json.loads(made.read_text(encoding="utf-8"))


def _interpreter(folder: Path) -> Path:
    place = Path("Scripts", "python.exe") if os.name == "nt" else Path("bin", "python")
    return folder.absolute() / place


def _environment() -> dict[str, str]:
    """Return our environment without the paths by which the peer could import our packages."""
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    return {**kept, **ONE_THREAD}
