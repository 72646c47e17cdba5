"""The installed package occupies one top-level name and works next to packages of other names."""

from __future__ import annotations

import csv
import json
import os
import shutil
import site
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import pytest

from gecjury.scoring.registry import METRICS
from tests.shell import FIXED, REPOSITORY, SOURCE, python

LINKED = ("refbased", "refless", "judges", "prompts")
"""Top-level folders of the repository, which an installation has inside gecjury."""
STRANGERS = ("judges", "prompts")
"""Third-party packages with names of our folders, on PyPI or in a user's folder."""
DATA = (
    "gecjury/benchmarks/manifest.tsv",
    "gecjury/benchmarks/sample/outputs/careful.txt",
    "gecjury/extraction/tagger/model/tok2vec/model",
    "gecjury/judges/models.json",
    "gecjury/prompts/pairwise.v1.txt",
    "gecjury/py.typed",
    "gecjury/report/citations.bib",
    "gecjury/report/page/report.css",
    "gecjury/report/page/report.js",
)


@pytest.fixture
def strange_folder(tmp_path: Path) -> Path:
    """A user's folder with files to score and packages named like our folders."""
    for name in STRANGERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('the user\\'s own')\n")
    (tmp_path / "source.txt").write_text("\n".join(SOURCE) + "\n")
    (tmp_path / "mine.txt").write_text("\n".join(FIXED) + "\n")
    return tmp_path


@pytest.mark.slow
def test_user_packages_named_like_our_folders_are_not_shadowed(strange_folder: Path) -> None:
    done = python("-m", "gecjury", "metrics", "--format", "json", cwd=strange_folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert [row["name"] for row in json.loads(done.stdout)] == list(METRICS)


def of_the_tree() -> set[str]:
    """Return all files of the package in the repository, with links followed."""
    return {
        (Path(folder) / name).relative_to(REPOSITORY).as_posix()
        for folder, _, names in os.walk(REPOSITORY / "gecjury", followlinks=True)
        for name in names
        if "__pycache__" not in folder
    }


@dataclass(frozen=True)
class Built:
    """A wheel and an sdist of the repository, and a wheel built from that sdist."""

    wheel: Path
    sdist: Path
    again: Path


def build(tree: Path, out: Path, *kinds: str) -> None:
    """Build without an isolated environment, since setuptools is installed."""
    words = [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", str(out)]
    done = subprocess.run(words, cwd=tree, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    pytest.importorskip("build")
    place = tmp_path_factory.mktemp("built")
    tree = place / "tree"
    tree.mkdir()
    skipped = shutil.ignore_patterns("__pycache__", "*.egg-info")
    # Building leaves folders behind, which must not be in the repository.
    for name in ("gecjury", *LINKED):
        shutil.copytree(REPOSITORY / name, tree / name, symlinks=True, ignore=skipped)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(REPOSITORY / name, tree / name)
    build(tree, place, "--wheel")
    shutil.rmtree(tree / "build", ignore_errors=True)
    build(tree, place, "--sdist")
    (wheel,), (sdist,) = place.glob("*.whl"), place.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(place, filter="data")
    unpacked = place / sdist.name.removesuffix(".tar.gz")
    build(unpacked, place / "again", "--wheel")
    (again,) = (place / "again").glob("*.whl")
    return Built(wheel, sdist, again)


def in_wheel(path: Path) -> dict[str, bytes]:
    """Return the files of a wheel without its metadata."""
    with zipfile.ZipFile(path) as archive:
        return {
            name: archive.read(name)
            for name in archive.namelist()
            if ".dist-info/" not in name and not name.endswith("/")
        }


@pytest.mark.slow
def test_wheel_and_sdist_contain_every_module_and_all_data(built: Built) -> None:
    tree = of_the_tree()
    assert {PurePosixPath(name).parts[1] for name in tree} >= {*LINKED}
    assert tree >= {*DATA}
    wheel = in_wheel(built.wheel)
    assert tree - set(wheel) == set()
    assert set(wheel) - tree == set()
    with tarfile.open(built.sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
        assert not any(member.issym() for member in archive.getmembers())
    assert tree - held == set()


@pytest.mark.slow
def test_a_wheel_of_the_sdist_is_the_same(built: Built) -> None:
    assert in_wheel(built.again) == in_wheel(built.wheel)


@dataclass(frozen=True)
class Installed:
    """An environment in which the wheel is installed.

    Attributes:
        folder: the environment.
        record: the installed files as listed in the RECORD of the wheel.
        unreached: why the package index could not be reached; empty if it could.
        strangers: packages from the index, installed next to ours.
        left: the remains of these packages after they were uninstalled.
    """

    folder: Path
    record: tuple[str, ...]
    unreached: str
    strangers: frozenset[str]
    left: frozenset[str]

    def __call__(self, *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.folder / "bin" / "python"), *words],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=300,
            env={"PATH": "", "LC_ALL": "C.UTF-8"},
        )


@pytest.fixture(scope="module")
def installed(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("installed") / "venv"
    venv.create(folder, with_pip=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder)}))

    def pip(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(folder / "bin" / "python"), "-m", "pip", "--disable-pip-version-check"]
        return subprocess.run([*command, *words], capture_output=True, text=True, timeout=300)

    def theirs() -> frozenset[str]:
        """Return the installed third-party packages, including the folders that they have."""
        return frozenset(
            path.name.partition("-")[0]
            for path in packages.iterdir()
            if path.name.partition("-")[0] in STRANGERS
        )

    done = pip("install", "--no-deps", "--no-index", str(built.wheel))
    assert done.returncode == 0, done.stderr
    (record,) = packages.glob("gecjury-*.dist-info/RECORD")
    with record.open(newline="") as file:
        listed = tuple(row[0] for row in csv.reader(file))
    done = pip("install", "--no-deps", "--retries", "0", "--timeout", "20", *STRANGERS)
    unreached = done.stderr.strip().splitlines()[-1] if done.returncode else ""
    strangers = theirs()
    if not unreached:
        done = pip("uninstall", "--yes", *STRANGERS)
        assert done.returncode == 0, done.stderr
    # Dependencies come from the environment of the tests, added after pip has finished.
    here = [path for path in site.getsitepackages() if Path(path).is_dir()]
    (packages / "needed.pth").write_text("\n".join(here) + "\n")
    return Installed(folder, listed, unreached, strangers, theirs())


@pytest.mark.slow
def test_an_installation_adds_one_name(installed: Installed) -> None:
    names = {PurePosixPath(entry).parts[0] for entry in installed.record}
    assert {n for n in names if not n.endswith(".dist-info")} - {".."} == {"gecjury"}
    outside = [entry for entry in installed.record if entry.startswith("..")]
    assert [PurePosixPath(entry).name for entry in outside] == ["gecjury"]


@pytest.mark.slow
def test_packages_named_like_our_folders_can_be_installed_and_removed(
    installed: Installed, tmp_path: Path
) -> None:
    if installed.unreached:
        pytest.skip(f"the package index was not reached: {installed.unreached}")
    assert installed.strangers == {*STRANGERS}
    assert installed.left == set()
    packages = next((installed.folder / "lib").glob("python*")) / "site-packages"
    gone = [entry for entry in installed.record if not (packages / entry).exists()]
    assert gone == []
    done = installed("-c", "import gecjury.judges.llm as m; print(m.__file__)", cwd=tmp_path)
    assert Path(done.stdout.strip()).is_relative_to(packages), done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["metrics"],
        ["demo"],
        ["score", "source.txt", "mine.txt", "-r", "mine.txt", "-m", "green", "-m", "gleu"],
        ["score", "source.txt", "mine.txt", "-m", "llm-s:model=gpt-6-luna", "--dry-run"],
    ],
    ids=" ".join,
)
def test_the_installed_program_works_next_to_them(
    installed: Installed, strange_folder: Path, words: list[str]
) -> None:
    where = installed("-c", "import gecjury; print(gecjury.__file__)", cwd=strange_folder)
    assert Path(where.stdout.strip()).is_relative_to(installed.folder)
    cache = [] if words == ["metrics"] else ["--cache", "cache"]
    words = [*words, *cache, "--format", "json"]
    done = installed("-m", "gecjury", *words, cwd=strange_folder)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)
