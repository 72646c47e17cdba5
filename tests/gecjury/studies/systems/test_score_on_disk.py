"""`gecjury score` on text files that stay on disk: the output is that of texts in memory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import gecjury
from gecjury import Rank, Resampling, load
from gecjury.benchmarks.load import load_benchmark
from gecjury.core import textfiles
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import FileLines
from gecjury.corpus.corpus import ReferenceMark
from gecjury.corpus.files.reading import read_corpus
from gecjury.report.tables import to_json
from gecjury.scoring import abilities
from tests.shell import Shell

ODD = ["", "Ein „Zitat“ .", 'He said " no \\ "', "\u2028 tabs\tin it", "👍🏽 ok\r", "S it is ."]


def close(name: str) -> list[str]:
    """Return lines whose better reference depends on the score of the lines before.

    One reference has all changes of the outputs and many others; the other has only some of them.
    """
    changed = {"source": (), "ref0": (0,), "ref1": range(19)}.get(name, (0, 1))
    lines = []
    for own in range(24):
        words = [f"w{n}" for n in range(60)]
        for n in changed:
            if n <= own:
                words[3 * n] = "x" * (1 + n % 3)
        lines.append(" ".join(words))
    return lines


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A source, two outputs and two references from the sample, with 98 lines each."""
    corpus = load_benchmark("sample").corpus
    texts = {
        "source": corpus.sources,
        **{name: version.lines for name, version in list(corpus.systems.items())[:2]},
        **{f"ref{n}": version.lines for n, version in enumerate(corpus.references)},
    }
    paths = {}
    for number, (name, lines) in enumerate(texts.items()):
        # Unusual lines in a different order in every file; some files lack the last newline.
        odd = ODD[number % 6 :] + ODD[: number % 6]
        text = "\n".join([*lines, *odd, *close(name)]) + "\n" * (number % 2)
        paths[name] = tmp_path / f"{name}-98.txt"
        paths[name].write_bytes(text.encode())
    return paths


@pytest.fixture
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(textfiles, "MOST_HELD", 100)
    monkeypatch.setattr(textfiles, "_PIECE", 300)
    monkeypatch.setattr(abilities, "_PART", 7)


OPTIONS = [
    ["-m", "green", "-m", "gleu", "-m", "gleu-official", "-m", "changes", "--sentences"],
    ["-m", "green:unit=char", "-m", "gleu:unit=line", "-m", "green:beta=0.5,n=2"],
    [
        *("-m", "errant:tagger=none", "-m", "sent-errant:tagger=none", "-m", "green"),
        *("--by-type", "3", "--worst", "3"),
    ],
    [
        *("-m", "errant:tagger=none,compat=official", "-m", "errant:tagger=none,mode=token"),
        *("--sentences", "--by-type", "3", "--worst", "3"),
    ],
    [
        *("-m", "cleme:tagger=none", "-m", "cleme:tagger=none,assumption=dependent"),
        *("-m", "cleme:tagger=none,assumption=dependent,compat=official"),
        *("--sentences", "--worst", "3", "--verbose"),
    ],
    [
        *("-m", "cleme2:tagger=none", "-m", "cleme2:tagger=none,assumption=dependent"),
        *("--sentences", "--worst", "3", "--verbose"),
    ],
    [
        *("-m", "i-measure", "-m", "gotoscorer:tagger=none"),
        *("--sentences", "--worst", "3", "--verbose"),
    ],
]


# With one reference there is nothing to choose, so it is tried once.
CASES = [(options, 2) for options in OPTIONS] + [(OPTIONS[0], 1)]


@pytest.mark.parametrize(("options", "references"), CASES)
def test_the_same_output(
    options: list[str],
    references: int,
    files: dict[str, Path],
    shell: Shell,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source, *outputs = [path for name, path in files.items() if not name.startswith("ref")]
    named = [word for n in range(references) for word in ("-r", str(files[f"ref{n}"]))]
    command = ("score", source, *outputs, *named, *options, "--format", "json", "--no-cache")
    whole = shell.ended(*command)
    request.getfixturevalue("small_pieces")
    assert read_corpus(source, outputs, on_disk=True).on_disk
    monkeypatch.delattr(FileLines, "held")
    assert shell.ended(*command) == whole


def test_a_metric_that_reads_the_whole_corpus(
    files: dict[str, Path], shell: Shell, request: pytest.FixtureRequest
) -> None:
    mine = shell.write("mine.py", "def mine(source, hypothesis):\n    return len(hypothesis)\n")
    command = ("score", files["source"], files["ref0"], "-m", f"{mine}:mine", "--sentences")
    whole = shell.ended(*command)
    request.getfixturevalue("small_pieces")
    assert shell.ended(*command) == whole


def test_notes_are_those_of_the_whole_corpus(
    files: dict[str, Path],
    shell: Shell,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gecjury.refbased.imeasure.metric._MOST_CELLS", 500)
    lines = files["source"].read_bytes().decode().split("\n")
    # Only one of several parts has types of another scheme.
    edit = "A 0 1|||ArtOrDet|||An|||REQUIRED|||-NONE-|||0\n"
    blocks = [f"S {line}\n{edit * (20 < n < 25)}\n" for n, line in enumerate(lines[:98])]
    gold = shell.write("gold.m2", "".join(blocks))
    command = [
        *(
            "score",
            files["source"],
            files["ref0"],
            "-r",
            gold,
            "--format",
            "json",
            "--cache",
            "none",
        ),
        *("-m", "i-measure", "-m", "errant:tagger=none", "--by-type", "3"),
    ]
    whole = shell.ended(*command, status=1)
    assert "left out: lines 75, 76, 77, 78, 79 and 19 more" in whole[0]
    assert "4 gold edits had types of another scheme" in whole[0]
    request.getfixturevalue("small_pieces")
    assert shell.ended(*command, status=1) == whole


@pytest.mark.usefixtures("small_pieces")
def test_counts_by_rule_of_a_checker(files: dict[str, Path]) -> None:
    references = [files["ref0"], files["ref1"]]
    corpus = read_corpus(files["source"], [files["careful"]], references, on_disk=True)
    marks = [
        (ReferenceMark(0, 1, f"A:{row % 3}", True), ReferenceMark(9, 9, "B:0", True))
        for row in range(98)
    ]
    version = replace(corpus.systems["careful-98"], marks=tuple(marks))
    corpus = replace(corpus, systems={"careful-98": version})
    parts, whole = (
        load("errant:tagger=none").score_corpus(one, Runtime(use_cache=False)).statistics.details
        for one in (corpus, corpus.held())
    )
    assert set(parts["by_rule"]["careful-98"]) == {"A:0", "A:1", "A:2", "B:0"}
    assert parts == whole


def test_score_files_and_intervals(
    files: dict[str, Path], shell: Shell, request: pytest.FixtureRequest
) -> None:
    source, *outputs = [path for name, path in files.items() if not name.startswith("ref")]
    named = [files["ref0"], files["ref1"]]
    settings = Rank(resampling=Resampling(over="sentences", resamples=20, permutations=20))
    metrics = [
        *("errant:tagger=none", "gleu", "i-measure", "cleme:tagger=none,assumption=dependent"),
        "gotoscorer:tagger=none",
    ]
    made = []
    for folder in (shell.folder / "whole", shell.folder / "parts"):
        if folder.name == "parts":
            request.getfixturevalue("small_pieces")
        corpus = read_corpus(source, outputs, named, on_disk=True)
        ranking = gecjury.rank(corpus, metrics, settings, folder=folder)
        scores = [(path.name, path.read_text()) for path in sorted(folder.iterdir())]
        made.append((corpus.on_disk, to_json(ranking.rows()), scores))
    assert [one[0] for one in made] == [False, True]
    assert made[0][1:] == made[1][1:]
    assert len(made[0][2]) == len(metrics)


@pytest.mark.usefixtures("small_pieces")
def test_which_texts_stay_on_disk(files: dict[str, Path], shell: Shell) -> None:
    source, one = files["source"], files["ref0"]
    assert not read_corpus(source, [one]).on_disk
    corpus = read_corpus(source, [one], on_disk=True)
    assert corpus.on_disk
    assert corpus.held() == read_corpus(source, [one])
    assert corpus.held().held().system_prints == corpus.system_prints
    # M2 files, JSON lines and essays are read into memory.
    m2 = "".join(f"S {line}\nA 0 1|||R:X|||It|||REQUIRED|||-NONE-|||0\n\n" for line in "ab" * 20)
    for text in (m2, '{"text": "a b"}\n' * 40, "### essay_id = 1\na b\n" + "c d\n" * 40):
        path = shell.write("other.txt", text)
        assert not read_corpus(path, [path], on_disk=True).on_disk


@pytest.mark.usefixtures("small_pieces")
def test_a_file_that_changes_while_it_is_read_is_refused(files: dict[str, Path]) -> None:
    corpus = read_corpus(files["source"], [files["ref0"]], on_disk=True)
    with files["ref0"].open("a") as file:
        file.write("One more .\n")
    with pytest.raises(InputError, match=r"ref0-98\.txt: changed while it was read"):
        corpus.held()
    with pytest.raises(InputError, match=r"ref0-98\.txt: changed while it was read"):
        _ = corpus.system_prints
