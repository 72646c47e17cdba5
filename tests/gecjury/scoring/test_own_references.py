"""References of single systems: each system is scored with its own."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import gecjury
from gecjury.core.errors import InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.remarks import remarks_on
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from tests.shell import Shell

SOURCES = ("She go home .", "I likes cats .")
OUTPUTS = {
    "a": ("She goes home .", "I likes cats ."),
    "b": ("She went home .", "I liked cats ."),
}
EDITED = {
    "a": ("She goes home .", "I like cats ."),
    "b": ("She went home .", "I like cats ."),
}
FILES = ("source.txt", ["a.txt", "b.txt"])
METRICS = ["errant", "green", "gleu", "i-measure", "cleme", "uot-errant:encoder=embedded"]


def write(path: Path, lines: tuple[str, ...]) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A source, two outputs and a folder of their post-edits, in the working folder."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "source.txt", SOURCES)
    for name in OUTPUTS:
        write(tmp_path / f"{name}.txt", OUTPUTS[name])
        write(tmp_path / "edited" / f"{name}.txt", EDITED[name])
    return tmp_path


@pytest.mark.usefixtures("here")
def test_each_system_is_compared_with_its_own_reference() -> None:
    corpus = read_corpus(*FILES, ["edited/"])
    table = load("errant").score_corpus(corpus)
    # a: go→goes is right, likes→like is missed: P = 1, R = 1/2, F0.5 = 1.25 · ½ / (¼ + ½) = 5/6.
    # b: go→went is right, likes→liked is wrong, likes→like is missed: P = R = F0.5 = 1/2.
    assert table.totals["a"] == pytest.approx(5 / 6)
    assert table.totals["b"] == pytest.approx(1 / 2)
    assert table.sentences == pytest.approx(np.array([[1, 0], [1, 0]]))
    # Types are counted by the same references, and the first draw is the corpus itself.
    assert table.statistics.details["by_type"]["b"]["R:VERB:TENSE"] == [1, 1, 0]
    draws = np.array([[0, 1], [0, 0]])
    drawn = load("errant").corpus_scores(table.statistics, draws).score
    assert drawn == pytest.approx(np.array([[5 / 6, 1 / 2], [1, 1]]))
    # With the post-edits of a for both, b has two wrong and two missed edits.
    shared = load("errant").score_corpus(read_corpus(*FILES, ["edited/a.txt"]))
    assert list(shared.totals) == pytest.approx([5 / 6, 0])


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("metric", [*METRICS, "jury:equal=gleu+green", "sent-errant"])
def test_scores_are_those_of_each_system_alone(metric: str) -> None:
    table = load(metric).score_corpus(read_corpus(*FILES, ["edited"]))
    for row, name in enumerate(OUTPUTS):
        alone = load(metric).score(SOURCES, {name: OUTPUTS[name]}, [EDITED[name]])
        assert table.totals[name] == alone.totals[name]
        assert table.sentences[row].tolist() == alone.sentences[0].tolist()


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("metric", METRICS)
def test_post_edits_of_files_are_such_references(metric: str) -> None:
    corpus = read_corpus(*FILES, ["edited"])
    name, _, options = metric.partition(":")
    by = f"{name}[{options}]" if options else name
    edited = load("post-edit", file="edited", by=by).score_corpus(read_corpus(*FILES))
    assert list(edited.totals) == list(load(metric).score_corpus(corpus).totals)


def test_stored_scores_are_not_mixed(here: Path) -> None:
    own, metric = read_corpus(*FILES, ["edited"]), load("green")
    shared = replace(own, reference_systems=())
    assert "refs=own:1" in str(metric.signature(own))
    assert metric.signature(own).key != metric.signature(shared).key
    other = replace(own, reference_systems=("b", "a"))
    assert metric.signature(own).key != metric.signature(other).key
    first = score_with_files(metric, own, here / "scores", Runtime())
    assert (here / "scores").is_dir()
    again = score_with_files(metric, own, here / "scores", Runtime())
    assert again.seconds == 0
    assert list(again.totals) == list(first.totals)
    changed = score_with_files(metric, shared, here / "scores", Runtime())
    assert changed.seconds > 0
    # The order of the outputs is no other data, and a part of the systems keeps its references.
    turned = read_corpus(FILES[0], ["b.txt", "a.txt"], ["edited"])
    assert metric.signature(turned).key == metric.signature(own).key
    assert metric.score_corpus(own.with_systems(["b"])).totals["b"] == first.totals["b"]


def test_parts_of_a_corpus_keep_their_references(here: Path) -> None:
    corpus = read_corpus(*FILES, ["edited"])
    part = load("errant").score_corpus(corpus.take([1, 0, 0]))
    assert part.sentences.tolist() == [[0, 1, 1], [0, 1, 1]]
    assert corpus.alone("b").references[0].lines == EDITED["b"]
    assert corpus.alone("b").label("reference 0") == str(Path("edited", "b.txt"))
    renamed = replace(corpus, systems={"c": corpus.systems["a"]})
    with pytest.raises(InputError, match=r"no reference is of c, but each is of .*\(a and b\)"):
        load("errant").score_corpus(renamed)
    (here / "set.txt").write_text((here / "edited" / "a.txt").read_text())
    named = read_corpus(*FILES, ["edited", "mine=set.txt"])
    one, two = (load(f"jury:equal=green{at}") for at in ("", "@mine"))
    assert one.score_corpus(named).totals["a"] == two.score_corpus(named).totals["a"]
    assert one.score_corpus(named).totals["b"] != two.score_corpus(named).totals["b"]


def test_raw_and_split_references_are_read_like_other_texts(here: Path) -> None:
    raw = read_corpus(*FILES, ["edited"])
    write(here / "edited" / "a.txt", ("She goes home.", "I like cats."))
    write(here / "edited" / "b.txt", ("She went home.", "I like cats."))
    assert [v.lines for v in read_corpus(*FILES, ["edited"]).references] == [
        v.lines for v in raw.references
    ]
    write(here / "source.txt", ("She go home. I likes cats.",))
    for folder in (here, here / "edited"):
        write(folder / "a.txt", ("She goes home. I like cats.",))
        write(folder / "b.txt", ("She went home. I like cats.",))
    cut = read_corpus(*FILES, ["edited"], split=True)
    assert len(cut) == 2
    assert list(load("errant").score_corpus(cut).totals) == [1, 1]


def test_an_m2_file_of_one_annotator_keeps_its_edits(here: Path) -> None:
    (here / "edited" / "a.txt").unlink()
    m2 = "S She go home .\nA 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0\n\n"
    m2 += "S I likes cats .\nA 1 2|||R:VERB:SVA|||like|||REQUIRED|||-NONE-|||0\n\n"
    (here / "edited" / "a.m2").write_text(m2)
    corpus = read_corpus(*FILES, ["edited"])
    assert corpus.gold is None
    assert list(load("errant").score_corpus(corpus).totals) == pytest.approx([5 / 6, 1 / 2])
    second = m2.replace("|||0\n\nS", "|||0\nA 1 2|||R:VERB|||went|||REQUIRED|||-NONE-|||1\n\nS")
    (here / "edited" / "a.m2").write_text(second)
    with pytest.raises(InputError, match=r"a.m2: 2 references of a text; expected one in a file"):
        read_corpus(*FILES, ["edited"])


def test_other_folders_are_refused(here: Path) -> None:
    def refused(match: str, *references: str) -> None:
        with pytest.raises(InputError, match=match):
            read_corpus(*FILES, references)

    alone = r"edited: a folder has one reference for each system; expected it alone and without"
    refused(alone, "edited", "edited")
    refused(alone, "edited", "source.txt")
    refused(alone, "mine=edited")
    write(here / "edited" / "c.txt", SOURCES)
    (note,) = remarks_on(read_corpus(*FILES, ["edited"]), ("references",))
    assert note.endswith("a.txt: beside it, files of no output here are left out: c")
    write(here / "edited" / "b.txt", ("She went home .", "-NONE-"))
    refused(r"b.txt, line 2: no file has a reference of this text; expected", "edited")
    write(here / "edited" / "b.txt", EDITED["b"][:1])
    refused(r"b.txt has 1 line.*, but source.txt has 2", "edited")
    shutil.copy(here / "edited" / "a.txt", here / "edited" / "a")
    refused(r"edited: a and a.txt are both of a; expected one file for each system", "edited")
    (here / "edited" / "a").unlink()
    (here / "edited" / "b.txt").unlink()
    refused(r"edited: no file of b; expected b.txt beside a and c", "edited")
    (here / "empty").mkdir()
    refused(r"empty: no file of a; expected a.txt, and the folder is empty", "empty")


@dataclass(frozen=True)
class Rivals(type(load("green"))):  # type: ignore[misc]  # the class of a registered metric
    """A metric that weighs systems against each other."""

    needs = frozenset({"references", "rivals"})


@pytest.mark.usefixtures("here")
def test_a_metric_of_rivals_needs_the_same_references_for_all() -> None:
    with pytest.raises(InputError, match=r"each with references of its own; expected references"):
        Rivals().score_corpus(read_corpus(*FILES, ["edited"]))


@pytest.mark.usefixtures("here")
def test_a_metric_of_your_own_sees_one_reference() -> None:
    Path("mine.py").write_text(
        "def mine(source, hypothesis, references):\n"
        "    return float([hypothesis] == list(references))\n"
    )
    table = load("mine.py:mine").score_corpus(read_corpus(*FILES, ["edited"]))
    assert table.sentences.tolist() == [[1, 0], [1, 0]]


def test_commands_and_python_agree(shell: Shell, here: Path) -> None:
    metrics = ["errant", "green"]
    options = [word for metric in metrics for word in ("-m", metric)]
    files = [FILES[0], *FILES[1]]
    for command in ("score", "rank"):
        out, _ = shell.ended(command, *files, "-r", "edited/", *options, "--format", "json")
        printed = {(row["metric"], row["system"]): row["score"] for row in json.loads(out)["rows"]}
        function = getattr(gecjury, command)
        rows = function(read_corpus(*FILES, ["edited/"]), metrics).rows()
        assert printed == {(row["metric"], row["system"]): row["score"] for row in rows}
        assert printed["errant", "a"] == pytest.approx(5 / 6)
    for name in ("diff", "pick", "alarms"):
        # Here every reference shows what is right.
        more = () if name == "alarms" else ("-m", "errant")
        write(here / "source.txt", ("She goes home .", SOURCES[1]))
        write(here / "edited" / "b.txt", EDITED["a"])
        out, _ = shell.ended(name, *files, "-r", "edited", *more, "--format", "json")
        assert "errant" in out or name != "diff"


def test_corpora_are_built_in_python_too() -> None:
    corpus = Corpus(
        SOURCES,
        {name: Version(lines) for name, lines in OUTPUTS.items()},
        tuple(Version(lines) for lines in EDITED.values()),
        reference_systems=tuple(EDITED),
    )
    assert list(load("errant").score_corpus(corpus).totals) == pytest.approx([5 / 6, 1 / 2])
    first, second = corpus.references
    for references, systems in (((first,), ("a", "b")), ((first, second, first), ("a", "b", "a"))):
        with pytest.raises(InputError, match="as many references for every system"):
            replace(corpus, references=references, reference_systems=systems)
