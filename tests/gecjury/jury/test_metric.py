"""The jury: its file, scores, needs, refusals and warnings, and the training command."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gecjury.cli import main
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.reading import read_corpus
from gecjury.corpus.languages.language import language_of
from gecjury.corpus.leakage import sentence_key
from gecjury.corpus.tokens import in_language
from gecjury.jury.metric import Jury
from gecjury.jury.model import (
    JuryModel,
    Member,
    TrainedMember,
    identity,
    read_jury,
    write_jury,
)
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files


def trained(metric: str, references: str = "", *, weight: float = 1.0) -> TrainedMember:
    """Return a member whose scores are used unchanged: center 0, scale 1."""
    scorer = load(metric)
    recorded = identity(scorer, scorer.extra_signature(Runtime()))
    return TrainedMember(
        metric, references, center=0.0, scale=1.0, weight=weight, identity=recorded
    )


def model(*members: TrainedMember, sources: tuple[str, ...] = ()) -> JuryModel:
    return JuryModel(members=members, sources=sources, record={"accuracy": 0.75})


GLEU, GREEN = trained("gleu", weight=2.0), trained("green:n=1", "other", weight=0.5)
PAIR = model(GLEU, GREEN, sources=(sentence_key("a cat sit ."),))
HEAVIER = model(GLEU, replace(GREEN, weight=0.6), sources=PAIR.sources)


@pytest.fixture
def file(tmp_path: Path) -> str:
    """The path of a jury's file."""
    write_jury(tmp_path / "jury.json", PAIR)
    return str(tmp_path / "jury.json")


def corpus(*sources: str) -> Corpus:
    """Two systems, with one reference in the main set and one in the set `other`."""
    lines = tuple(sources)
    fixed = tuple(line.replace("sit", "sits") for line in lines)
    return Corpus(
        lines,
        {"copy": Version(lines), "fixed": Version(fixed)},
        (Version(fixed),),
        reference_name="1 given",
        reference_sets={"other": lambda: (Version(lines),)},
    )


def test_member_labels_round_trip() -> None:
    for text in ("gleu", "gleu@10refs", "green@10refs:n=3,unit=char", "some:model=a@b"):
        assert Member.parse(text).label == text
    assert Member.parse("green@10refs:n=3") == Member("green:n=3", "10refs")
    assert Member.parse("some:model=a@b") == Member("some:model=a@b")
    with pytest.raises(OptionError, match="name a set"):
        Member.parse("gleu@:n=3")
    with pytest.raises(OptionError, match="cannot be a member"):
        Member("jury").scorer()


def test_a_written_jury_is_read_back(file: str) -> None:
    assert read_jury(file) == PAIR
    assert read_jury(file).print == PAIR.print
    assert HEAVIER.print != PAIR.print


@pytest.mark.parametrize(
    "change",
    [
        {"format": "gecjury-jury/9"},
        {"members": []},
        {"sources": None},
        {"members": [{"metric": "gleu"}]},
    ],
)
def test_a_damaged_file_is_refused(file: str, change: dict[str, Any]) -> None:
    document = json.loads(Path(file).read_text()) | change
    Path(file).write_text(json.dumps(document))
    with pytest.raises(InputError, match="not the file of a jury"):
        read_jury(file)
    with pytest.raises(InputError, match="not the file of a jury"):
        load("jury", file=file)


def test_scores_by_hand() -> None:
    jury = model(replace(GLEU, center=0.5, scale=0.25), replace(GREEN, center=1.0, scale=2.0))
    # 2 · (0.75 − 0.5)/0.25 + 0.5 · (0 − 1)/2 = 1.75: σ(1.75) = 1/(1 + e^−1.75) = 0.851953.
    values = np.array([[[0.75, 0.0], [0.5, 1.0], [np.nan, 1.0]]])
    probabilities = jury.scores(values)
    assert probabilities[0, :2] == pytest.approx([0.8519528, 0.5])
    assert np.isnan(probabilities[0, 2])


def test_members_use_their_own_references(file: str) -> None:
    jury = load("jury", file=file)
    assert jury.needs == {"references"}
    table = jury.score_corpus(corpus("she sit .", "he sit down"))
    gleu = load("gleu").score_corpus(corpus("she sit .", "he sit down")).sentences
    # The set `other` contains the sources, so only the copy matches it.
    other = replace(corpus("she sit .", "he sit down"), references=(
        Version(("she sit .", "he sit down")),))  # fmt: skip
    green = load("green:n=1").score_corpus(other).sentences
    wanted = 1 / (1 + np.exp(-(2 * gleu + 0.5 * green)))
    assert table.sentences == pytest.approx(wanted)
    assert list(table.totals) == pytest.approx(wanted.mean(axis=1).tolist())
    assert table.totals["fixed"] > table.totals["copy"]
    assert table.statistics.notes == ()


def test_a_source_that_was_trained_on_is_reported(file: str) -> None:
    table = load("jury", file=file).score_corpus(corpus("she sit .", "A  cat sit."))
    (note,) = table.statistics.notes
    assert "trained on 1 of the sources here, e.g. 'A  cat sit.'" in note
    assert "--exclude" in note


def test_a_language_other_than_the_training_language_is_reported(tmp_path: Path) -> None:
    def notes(record: dict[str, Any], language: str) -> list[str]:
        changed = replace(PAIR, record={"benchmarks": [record]})
        return changed.language_notes(
            in_language(corpus("a dog sit ."), language_of(language)), "j"
        )

    assert notes({"benchmark": "seeda"}, "en") == []
    assert notes({"benchmark": "x", "language": "sv"}, "sv") == []
    (note,) = notes({"benchmark": "seeda"}, "sv")
    assert note.startswith("j was trained on English, and these texts are Swedish")
    assert PAIR.language_notes(corpus("a dog sit .")) == []  # an old file does not record it
    for odd in (None, 3, "seeda", [None, 3, "seeda"], {"benchmark": "x"}):
        assert replace(PAIR, record={"benchmarks": odd}).language_notes(corpus("a dog .")) == []


def test_missing_inputs_are_reported_with_the_member(file: str) -> None:
    jury = load("jury", file=file)
    whole = corpus("she sit .")
    with pytest.raises(InputError, match=r"jury member gleu: gleu needs references"):
        jury.score_corpus(replace(whole, references=()))
    with pytest.raises(InputError, match=r"green@other:n=1: no references are called 'other'"):
        jury.score_corpus(replace(whole, reference_sets={}))
    with pytest.raises(OptionError, match="gecjury train jury"):
        load("jury").score_corpus(whole)
    alone = model(trained("gleu", "other"))
    write_jury(file, alone)
    assert load("jury", file=file).needs == frozenset()


def test_another_metric_of_the_same_name_is_refused(file: str) -> None:
    write_jury(file, model(replace(GLEU, identity={**GLEU.identity, "version": 99}), GREEN))
    with pytest.raises(OptionError, match=r"jury member gleu: .*version changed.*train"):
        load("jury", file=file).score_corpus(corpus("she sit ."))
    other = {**GLEU.identity, "extra": {"weights": "abc"}}
    write_jury(file, model(replace(GLEU, identity=other), GREEN))
    with pytest.raises(OptionError, match=r"another model of it \(extra weights changed\)"):
        load("jury", file=file).score_corpus(corpus("she sit ."))


def test_the_signature_follows_weights_and_references(file: str, tmp_path: Path) -> None:
    texts = corpus("she sit .")
    first = load("jury", file=file).signature(texts)
    other = replace(texts, reference_sets={"other": lambda: (Version(("she sits",)),)})
    assert load("jury", file=file).signature(other).key != first.key
    write_jury(file, HEAVIER)
    assert load("jury", file=file).signature(texts).key != first.key
    assert load("jury", file=file).signature(texts).label == f"jury:file={file}"


def test_score_files_contain_the_members_too(file: str, tmp_path: Path) -> None:
    jury = load("jury", file=file)
    folder = tmp_path / "scores"
    first = score_with_files(jury, corpus("she sit ."), folder, Runtime())
    names = sorted(path.name.partition("-")[0] for path in folder.iterdir())
    assert names == ["gleu", "green", "jury"]
    again = score_with_files(jury, corpus("she sit ."), folder, Runtime())
    assert again.sentences.tolist() == first.sentences.tolist()
    assert again.seconds == 0.0
    # Stored scores of members are read again, so a damaged file is reported.
    next(folder.glob("jury-*")).unlink()
    next(folder.glob("gleu-*")).write_text("{}")
    with pytest.raises(InputError, match=r"jury member gleu: .*damaged"):
        score_with_files(jury, corpus("she sit ."), folder, Runtime())


def test_a_jury_with_a_judge_of_several_systems_is_joint(file: str) -> None:
    write_jury(file, model(trained("gotoscorer")))
    jury = load("jury", file=file)
    assert jury.joint
    assert jury.needs == {"references", "rivals"}
    assert not Jury().joint


def test_named_references_from_files(file: str, tmp_path: Path) -> None:
    for name, text in {"src": "she sit .\n", "hyp": "she sits .\n", "ref": "she sat .\n"}.items():
        (tmp_path / name).write_text(text)
    src, hyp, ref = (str(tmp_path / name) for name in ("src", "hyp", "ref"))
    read = read_corpus(src, [hyp], [ref, f"other={hyp}", f"other={src}"])
    assert [version.lines for version in read.references] == [("she sat .",)]
    named = read.with_references("other")
    assert [v.lines[0] for v in named.references] == ["she sits .", "she sit ."]
    assert named.reference_name == "other"
    assert named.reference_print != read.reference_print
    with pytest.raises(InputError, match="-r nobody=FILE"):
        read.with_references("nobody")
    (tmp_path / "long").write_text("a\nb\n")
    with pytest.raises(InputError, match="long has 2 lines"):
        read_corpus(src, [hyp], [f"other={tmp_path / 'long'}"])
    files = [src, hyp, "-r", ref, "-r", f"other={hyp}"]
    assert main(["score", *files, "-m", f"jury:file={file}"]) == 0


def test_train_then_compare(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, scores = str(tmp_path / "jury.json"), str(tmp_path / "scores")
    command = ["train", "jury", "sample", "-m", "green", "-m", "gleu@official",
               "-o", out, "--scores", scores, "--format", "json"]  # fmt: skip
    assert main(command) == 0
    captured = capsys.readouterr()
    training = json.loads(captured.out)
    assert [row["member"] for row in training["members"]] == ["green", "gleu@official"]
    assert all(row["weight"] >= 0 for row in training["members"])
    assert training["benchmarks"][0]["benchmark"] == "sample"
    assert training["file"] == out
    assert len(list(Path(scores).iterdir())) == 2
    document = json.loads(Path(out).read_text())
    assert document["record"]["accuracy"] == training["accuracy"]
    # The same command gives the same file, byte for byte.
    before = Path(out).read_bytes()
    assert main(command) == 0
    assert Path(out).read_bytes() == before
    capsys.readouterr()
    assert main(["compare", "sample", "-m", f"jury:file={out}", "-m", "green", "--format", "json",
                 "-o", scores]) == 0  # fmt: skip
    compared = json.loads(capsys.readouterr().out)
    rows = compared["rows"]
    assert [row["family"] for row in rows] == ["jury", "refbased"]
    assert any("leakage" in caveat for caveat in compared["caveats"])
    assert rows[0]["sentence"]["pairs"] == rows[1]["sentence"]["pairs"]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["sample", "-o", "j.json"], ["-m"]),
        (["sample", "-m", "jury", "-o", "j.json"], ["cannot be a member"]),
        (["sample", "-m", "green", "-o", "."], ["folder"]),
        (["sample", "-m", "green", "-o", "j.json", "--exclude", "sample"], ["excluded"]),
        (["sample", "-m", "green", "-o", "j.json", "--exclude", "sampel"], ["sampel", "sample"]),
        (["sample", "-m", "green@10refs", "-o", "j.json"], ["10refs", "none of the benchmarks"]),
    ],
)
def test_wrong_use(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    argv: list[str],
    words: list[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["train", "jury", *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "Traceback" not in captured.err
    for word in words:
        assert word in captured.err
    assert not (tmp_path / "j.json").exists()
