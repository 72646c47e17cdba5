"""All checks before an upload: `make release-check`.

Builds wheel and sdist from the files that git tracks, looks for files that should not be in them,
renders the README, installs both in an empty environment of every available Python, runs the steps
of the Containerfile, and asks the index for the packages of every extra. Exits with status 1 if
anything is wrong; checks that could not be tried are reported and are not faults. Needs `build` and
`twine`.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

_REPOSITORY = Path(__file__).resolve().parents[1]
_PYTHONS = ("3.11", "3.12", "3.13", "3.14")
_MOST_BYTES = 50_000_000
_OF_A_FILE = 20_000_000
_SDIST_TOP = {
    "CHANGELOG.md", "CITATION.cff", "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "gecjury",
    "gecjury.egg-info", "pyproject.toml", "setup.cfg",
}  # fmt: skip
_FORBIDDEN = re.compile(
    r"(^|/)(tests?|__pycache__|\.[^/]+|node_modules|shared|site|build|dist)(/|$)"
    r"|\.(pyc|pyo|ipynb|log|swp|orig|rej|sqlite|pkl|pickle|pt|tmp)$|~$"
)
_HOME = re.compile(rb"(?<![\w.])/(home|root|Users|work)/\w[\w./-]*")
"""Folders of one machine; paths such as `/home/you` in an explanation would also match."""


@dataclass
class Report:
    """The faults found, and the checks that could not be tried."""

    wrong: list[str] = field(default_factory=list)
    untried: list[str] = field(default_factory=list)
    begun: float = field(default_factory=time.perf_counter)

    def tell(self, text: str) -> None:
        """Print a line with the seconds since the start."""
        print(f"[{time.perf_counter() - self.begun:5.0f} s] {text}", flush=True)

    def fault(self, text: str) -> None:
        """Record and print a fault."""
        self.wrong.append(text)
        self.tell(f"WRONG: {text}")

    def skip(self, text: str) -> None:
        """Record and print a check that could not be tried."""
        self.untried.append(text)
        self.tell(f"not tried: {text}")


# --- contents ------------------------------------------------------------------------------------


def check_files(files: Mapping[str, bytes], top: Iterable[str]) -> list[str]:
    """Return what is wrong with the files of a wheel or an sdist.

    Args:
        files: content by path, without the top folder of an sdist.
        top: names that are allowed at the top.
    """
    wrong = []
    allowed = set(top)
    for name, data in files.items():
        if PurePosixPath(name).parts[0] not in allowed:
            wrong.append(f"{name}: a file of this name should not be included")
        elif found := _FORBIDDEN.search(name):
            wrong.append(f"{name}: {found[0].strip('/')} should not be included")
        if len(data) > _OF_A_FILE:
            wrong.append(f"{name}: {len(data):,} bytes")
        if b"\0" not in data[:4096] and (path := _HOME.search(data)):
            wrong.append(f"{name}: a path of one machine: {path[0].decode()}")
    if "gecjury/__init__.py" not in files:
        wrong.append("gecjury/__init__.py is missing")
    return wrong


def files_of(path: Path) -> dict[str, bytes]:
    """Return the files of a wheel or an sdist by path."""
    if path.suffix == ".whl":
        with zipfile.ZipFile(path) as wheel:
            return {n: wheel.read(n) for n in wheel.namelist() if not n.endswith("/")}
    found: dict[str, bytes] = {}
    with tarfile.open(path) as archive:
        for member in archive.getmembers():
            if not member.isdir():
                name = member.name.partition("/")[2]
                content = archive.extractfile(member) if member.isfile() else None
                # A link has no content, so its target is checked instead.
                found[name] = content.read() if content else member.linkname.encode()
    return found


def build(report: Report, scratch: Path) -> list[Path]:
    """Build wheel and sdist in dist/, only from the files that git tracks."""
    tree = scratch / "tree"
    listed = _run(["git", "ls-files", "-z"], cwd=_REPOSITORY).stdout.split("\0")
    for name in filter(None, listed):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        if (_REPOSITORY / name).exists():
            shutil.copy2(_REPOSITORY / name, tree / name, follow_symlinks=False)
    changed = _run(["git", "status", "--porcelain"], cwd=_REPOSITORY).stdout
    if changed:
        report.tell(f"note: {len(changed.splitlines())} files have uncommitted changes")
    out = _REPOSITORY / "dist"
    shutil.rmtree(out, ignore_errors=True)
    done = _run([sys.executable, "-m", "build", "--outdir", str(out), str(tree)])
    if done.returncode:
        report.fault(f"the build: {_last(done)}")
    built = sorted(out.glob("gecjury-*"))
    for path in built:
        files = files_of(path)
        report.tell(f"{path.name}: {path.stat().st_size:,} bytes, {len(files)} files")
        if path.stat().st_size > _MOST_BYTES:
            report.fault(f"{path.name} is larger than {_MOST_BYTES:,} bytes")
        info = path.name.split("-py3")[0] + ".dist-info"
        for fault in check_files(files, ["gecjury", info] if path.suffix == ".whl" else _SDIST_TOP):
            report.fault(f"{path.name}: {fault}")
    return built


def check_readme(report: Report, built: Sequence[Path]) -> None:
    """Render the README as the index does; report links that lead nowhere there."""
    done = _run([sys.executable, "-m", "twine", "check", "--strict", *map(str, built)])
    if done.returncode:
        report.fault(f"twine check: {done.stdout.strip()}")
    else:
        report.tell("README renders (twine check --strict)")
    links = re.findall(r"\]\((?!https?:|#)([^)]+)\)", (_REPOSITORY / "README.md").read_text())
    if links:
        report.tell(
            f"note: {len(links)} links of the README are relative, and lead nowhere on "
            "the index' page until `make docs`' site has an address"
        )


# --- installation --------------------------------------------------------------------------------


def interpreters(wanted: Sequence[str] = _PYTHONS) -> dict[str, Path | None]:
    """Return the Pythons of this machine by version; None if there is none that runs."""
    found: dict[str, Path | None] = {}
    for version in wanted:
        places = [shutil.which(f"python{version}")]
        places += sorted(map(str, Path.home().glob(f".pyenv/versions/{version}*/bin/python3")))
        if shutil.which("uv"):
            places.append(_run(["uv", "python", "find", version]).stdout.strip())
        found[version] = None
        for place in filter(None, places):
            asked = _run([place, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"])
            if asked.stdout.strip() == version:
                found[version] = Path(place)
                break
    return found


@dataclass(frozen=True)
class Empty:
    """An empty environment of one Python, used without the user's variables."""

    folder: Path
    python: Path

    def create(self) -> subprocess.CompletedProcess[str]:
        """Create the environment."""
        return _run([str(self.python), "-m", "venv", str(self.folder)], bare=True)

    def __call__(self, *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run one of its programs in a given folder, without network for models."""
        program = self.folder / "bin" / words[0]
        return _run([str(program), *words[1:]], cwd=cwd or self.folder, bare=True)

    def install(self, *what: str) -> subprocess.CompletedProcess[str]:
        """Install with the package versions that the project itself uses."""
        pinned = str(_REPOSITORY / "constraints.txt")
        pip = ["python", "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        return self(*pip, "-c", pinned, *what)


def smoke(run: Empty, folder: Path, *, edits: bool) -> tuple[str, str]:
    """Return the output of an installation for the sample, and the fault; either may be empty.

    Args:
        run: environment in which it is installed.
        folder: working folder.
        edits: whether the extra of this name is also installed.
    """
    folder.mkdir(parents=True)
    (folder / "source.txt").write_text("I has a dog .\nHe go home .\n")
    (folder / "mine.txt").write_text("I have a dog .\nHe goes to home .\n")
    (folder / "ref.txt").write_text("I have a dog .\nHe goes home .\n")
    metrics = ["green", "gleu", "i-measure", *(["errant"] if edits else [])]
    asked = [word for metric in metrics for word in ("-m", metric)]
    lines = [
        ["--version"],
        ["score", "source.txt", "mine.txt", "-r", "ref.txt", *asked, "--format", "json"],
        ["compare", "sample", *asked, "--resample", "none", "--format", "json"],
    ]
    if edits:
        lines.append(["demo", "--html", "report.html", "--format", "json"])
    printed = []
    for words in lines:
        done = run("gecjury", *words, cwd=folder)
        if done.returncode:
            return "", f"gecjury {shlex.join(words)}: status {done.returncode}: {_last(done)}"
        printed.append(re.sub(r'"seconds": [\d.e-]+', "", done.stdout))
    return "\n".join(printed), ""


def check_installed(report: Report, built: Sequence[Path], scratch: Path) -> None:
    """Install wheel and sdist for each Python; all must print the same scores."""
    scores: dict[str, dict[str, str]] = {}
    for version, python in interpreters().items():
        if python is None:
            report.skip(f"Python {version}: not on this machine")
            continue
        for path in built:
            kind = "wheel" if path.suffix == ".whl" else "sdist"
            name = f"{kind} on Python {version}"
            run = Empty(scratch / f"{kind}-{version}", python)
            run.create()
            done = run.install(f"{path}[edits]" if kind == "wheel" else str(path))
            if done.returncode:
                report.fault(f"{name}: {_last(done)}")
                continue
            printed, fault = smoke(run, run.folder / "work", edits=kind == "wheel")
            if fault:
                report.fault(f"{name}: {fault}")
                continue
            scores.setdefault(kind, {})[version] = printed
            report.tell(f"{name}: installed in an empty environment, sample scored")
            shutil.rmtree(run.folder)
    for kind, printed_by in scores.items():
        if len(set(printed_by.values())) > 1:
            report.tell(
                f"note: {kind}: {', '.join(printed_by)} do not print exactly the same scores"
            )
        elif len(printed_by) > 1:
            report.tell(f"{kind}: {', '.join(printed_by)} print the same, byte for byte")


# --- the container -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Instruction:
    """One instruction of a Containerfile: its word in capitals, and the rest of its line."""

    word: str
    rest: str


def container_steps(text: str) -> list[Instruction]:
    """Return the instructions of a Containerfile, in order."""
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("#"))
    joined = re.sub(r"\\\n\s*", " ", lines).splitlines()
    return [Instruction(*line.split(maxsplit=1)) for line in joined if line.strip()]


def check_container(report: Report, scratch: Path) -> None:
    """Run the Containerfile's steps with an empty environment instead of the image."""
    steps = container_steps((_REPOSITORY / "Containerfile").read_text())
    base = next(step.rest for step in steps if step.word == "FROM")
    version = base.removeprefix("python:").removesuffix("-slim")
    python = interpreters([version])[version]
    if python is None:
        report.skip(f"Containerfile: Python {version} is not on this machine")
        return
    run = Empty(scratch / "image", python)
    run.create()
    put = scratch / "image-files"
    values = dict(step.rest.split("=", 1) for step in steps if step.word == "ARG")
    for step in steps:
        if step.word == "COPY":
            *sources, _ = step.rest.split()
            found = [path for source in sources for path in _REPOSITORY.glob(source)]
            if len(found) < len(sources):
                report.fault(f"Containerfile: COPY {step.rest}: some of it is missing")
            put.mkdir(exist_ok=True)
            for path in found:
                shutil.copy2(path, put)
        # Users and folders of the image are not created on this machine.
        if step.word == "RUN" and "pip install" in step.rest:
            command = step.rest.replace("/tmp/gecjury", str(put))
            for key, value in values.items():
                command = command.replace(f"${key}", value)
            line = f"PATH={run.folder}/bin:/usr/bin:/bin; {command}"
            done = _run(["/bin/sh", "-euc", line], cwd=scratch, bare=True)
            if done.returncode:
                report.fault(f"Containerfile: RUN {step.rest}: {_last(done)}")
                return
    entry = json.loads(next(step.rest for step in steps if step.word == "ENTRYPOINT"))
    usual = json.loads(next(step.rest for step in steps if step.word == "CMD"))
    for words in (usual, ["demo", "--format", "json"]):
        done = run(*entry, *words)
        if done.returncode:
            report.fault(f"Containerfile: {shlex.join([*entry, *words])}: {_last(done)}")
            return
    report.tell(f"Containerfile: its steps run on Python {version}, including the demo")


# --- extras --------------------------------------------------------------------------------------


def check_extras(report: Report, built: Sequence[Path], scratch: Path) -> None:
    """Ask the index for the packages of each extra, in the project's versions; install nothing."""
    project = tomllib.loads((_REPOSITORY / "pyproject.toml").read_text())["project"]
    wheel = next(path for path in built if path.suffix == ".whl")
    run = Empty(scratch / "extras", Path(sys.executable))
    run.create()
    more = str(_REPOSITORY / "constraints-docs.txt")
    for extra in project["optional-dependencies"]:
        found = scratch / f"{extra}.json"
        words = ["--dry-run", "--report", str(found), f"{wheel}[{extra}]"]
        if extra == "vllm":  # requires its own PyTorch, which is not that of constraints.txt
            done = run("python", "-m", "pip", "install", "--quiet", *words)
        else:
            done = run.install("-c", more, *words)
        if done.returncode == 0:
            count = len(json.loads(found.read_text())["install"])
            report.tell(f"extra {extra}: {count} packages")
        else:
            report.fault(f"extra {extra}: {_last(done)}")


def _run(
    words: Sequence[str], cwd: Path | None = None, *, bare: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program; with `bare`, with almost no variables, like `env -i`."""
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "HOME": "/nonexistent"} if bare else None
    return subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True)


def _last(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return lines[-1].strip() if lines else "nothing was printed"


def main() -> int:
    """Check everything, or only the named parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parts = ("readme", "installed", "container", "extras")
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(parts)}")
    asked = parser.parse_args().parts or parts
    report = Report()
    with tempfile.TemporaryDirectory(prefix="gecjury-release-") as name:
        scratch = Path(name)
        built = build(report, scratch)
        if report.wrong and len(built) < 2:
            return 1
        if "readme" in asked:
            check_readme(report, built)
        if "installed" in asked:
            check_installed(report, built, scratch)
        if "container" in asked:
            check_container(report, scratch)
        if "extras" in asked:
            check_extras(report, built, scratch)
    report.tell(f"{len(report.wrong)} wrong, {len(report.untried)} not tried")
    return int(bool(report.wrong))


if __name__ == "__main__":
    sys.exit(main())
