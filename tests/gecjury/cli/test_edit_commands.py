"""`gecjury edits` and `gecjury m2` from the command line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gecjury.cli import main

SOURCE = "This are a sentence .\nHe go home .\n"
FIXED = "This is a sentence .\nHe go home .\n"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "source.txt").write_text(SOURCE)
    (tmp_path / "fixed.txt").write_text(FIXED)
    return tmp_path


def run(capsys: pytest.CaptureFixture[str], *argv: str, status: int = 0) -> tuple[str, str]:
    assert main(list(argv)) == status
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return captured.out, captured.err


def test_edits_writes_typed_m2(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    source, fixed = str(files / "source.txt"), str(files / "fixed.txt")
    out, _ = run(capsys, "edits", source, fixed, "--cache", str(files / "cache"))
    assert out == (
        "S This are a sentence .\n"
        "A 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0\n\n"
        "S He go home .\n"
        "A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n\n"
    )
    target = files / "out.m2"
    out, _ = run(
        capsys, "edits", source, fixed, fixed, "-o", str(target), "--format", "json",
        "--cache", str(files / "cache"),
    )  # fmt: skip
    assert json.loads(out)[0] == {"system": "fixed", "type": "R:VERB:SVA", "edits": 1}
    assert target.read_text().count("|||1\n") == 2


@pytest.mark.parametrize("word", ["a||b", "-NONE-", "x|"])
def test_corrections_that_m2_cannot_express_are_not_written(
    capsys: pytest.CaptureFixture[str], files: Path, word: str
) -> None:
    (files / "fixed.txt").write_text(f"This {word} a sentence .\nHe go home .\n")
    texts = (str(files / name) for name in ("source.txt", "fixed.txt"))
    out, err = run(capsys, "edits", *texts, "--tagger", "none", "-o", str(files / "x.m2"), status=2)
    assert (out, (files / "x.m2").exists()) == ("", False)
    assert word in err
    assert "cannot be written as M2" in err


def test_m2_apply_text_and_round_trip(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    target = str(files / "x.m2")
    run(
        capsys, "edits", str(files / "source.txt"), str(files / "fixed.txt"), "-o", target,
        "--cache", str(files / "cache"),
    )  # fmt: skip
    assert run(capsys, "m2", "apply", target)[0] == FIXED
    assert run(capsys, "m2", "text", target)[0] == SOURCE
    assert run(capsys, "m2", "convert", target)[0] == Path(target).read_text()
    merged = run(capsys, "m2", "convert", target, target)[0]
    assert merged.count("|||1\n") == 2
    # A text and its M2 file get the same score.
    scores = []
    for hypothesis in ("fixed.txt", "x.m2"):
        out, _ = run(
            capsys, "score", str(files / "source.txt"), str(files / hypothesis), "-r",
            str(files / "fixed.txt"), "-m", "errant", "--format", "json", "--cache",
            str(files / "cache"),
        )  # fmt: skip
        scores.append(json.loads(out)["rows"][0]["score"])
    assert scores == [1.0, 1.0]


BAD = {
    "outside": ("S a b\nA 1 3|||X|||c|||REQUIRED|||-NONE-|||0\n\n", ["line 2", "outside", "2"]),
    "backwards": ("S a b\nA 2 1|||X|||c|||REQUIRED|||-NONE-|||0\n\n", ["line 2", "ends before"]),
    "no annotator": ("S a b\nA 0 1|||X|||c|||REQUIRED|||-NONE-|||\n\n", ["line 2", "annotator"]),
    "overlap": (
        "S a b\nA 0 2|||X|||c|||REQUIRED|||-NONE-|||0\nA 1 2|||X|||d|||REQUIRED|||-NONE-|||0\n\n",
        ["line 3", "overlaps"],
    ),
    "unordered": (
        "S a b\nA 1 2|||X|||c|||REQUIRED|||-NONE-|||0\nA 0 1|||X|||d|||REQUIRED|||-NONE-|||0\n\n",
        ["line 3", "order"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_malformed_m2_is_refused_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, case: str
) -> None:
    text, words = BAD[case]
    path = tmp_path / "bad.m2"
    path.write_text(text)
    out, err = run(capsys, "m2", "apply", str(path), "-o", str(tmp_path / "out.m2"), status=2)
    assert out == ""
    assert not (tmp_path / "out.m2").exists()
    assert all(word in err for word in ["bad.m2", *words])
    level = "warning" if case in ("overlap", "unordered") else "error"
    out, _ = run(
        capsys, "m2", "check", str(path), "--format", "json", status=0 if level == "warning" else 2
    )
    assert json.loads(out)["findings"][0]["level"] == level


def test_unknown_annotator_and_tagger(capsys: pytest.CaptureFixture[str], files: Path) -> None:
    path = files / "x.m2"
    path.write_text("S a b\nA 0 1|||X|||c|||REQUIRED|||-NONE-|||0\n\n")
    _, err = run(capsys, "m2", "apply", str(path), "--annotator", "3", status=2)
    assert "no annotator 3; the file has 0" in err
    source = str(files / "source.txt")
    _, err = run(capsys, "edits", source, source, "--tagger", "en_nothing_sm", status=2)
    assert "en_nothing_sm" in err
    assert "embedded" in err


def test_counts_by_type_at_every_level(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    block = "S a b c d\n{}\n"
    one = "A 0 1|||R:NOUN|||x|||REQUIRED|||-NONE-|||0\n"
    two = "A 2 2|||M:NOUN|||y|||REQUIRED|||-NONE-|||0\n"
    (tmp_path / "mine.m2").write_text(block.format(one))
    (tmp_path / "gold.m2").write_text(block.format(one + two))
    (tmp_path / "source.txt").write_text("a b c d\n")
    argv = [
        "score", str(tmp_path / "source.txt"), str(tmp_path / "mine.m2"), "-r",
        str(tmp_path / "gold.m2"), "-m", "errant",
    ]  # fmt: skip
    expected = {
        "1": {"R": (1, 0, 0), "M": (0, 0, 1)},
        "2": {"NOUN": (1, 0, 1)},
        "3": {"R:NOUN": (1, 0, 0), "M:NOUN": (0, 0, 1)},
    }
    for level, counts in expected.items():
        out, _ = run(capsys, *argv, "--by-type", level, "--format", "json")
        by_type = json.loads(out)["rows"][0]["by_type"]
        assert {k: (v["tp"], v["fp"], v["fn"]) for k, v in by_type.items()} == counts
        assert "NOUN" in run(capsys, *argv, "--by-type", "2")[0]


NUCLE = """\
S This are a sentence .
A 0 2|||SVA|||This is|||REQUIRED|||-NONE-|||0
A 2 3|||ArtOrDet|||the|||REQUIRED|||-NONE-|||0
A 1 2|||SVA|||was|||REQUIRED|||-NONE-|||1

S He go home .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

"""


@pytest.fixture
def gold(files: Path) -> Path:
    (files / "gold.m2").write_text(NUCLE)
    return files / "gold.m2"


def test_m2_retyped_and_reextracted(
    capsys: pytest.CaptureFixture[str], gold: Path, tmp_path: Path
) -> None:
    cache = ("--cache", str(tmp_path / "cache"))
    noop = "\nS He go home .\nA -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0\n\n"
    second = "A 1 2|||R:VERB:TENSE|||was|||REQUIRED|||-NONE-|||1\n"
    retyped = (
        "S This are a sentence .\nA 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0\n"
        "A 2 3|||R:DET|||the|||REQUIRED|||-NONE-|||0\n" + second + noop
    )
    assert run(capsys, "m2", "retype", str(gold), *cache)[0] == retyped
    target = tmp_path / "out.m2"
    assert run(capsys, "m2", "retype", str(gold), "-o", str(target), *cache)[0] == ""
    assert target.read_text() == retyped
    assert run(capsys, "m2", "reextract", str(gold), *cache)[0] == retyped
    gold.write_text(NUCLE.replace("A 2 3|||ArtOrDet|||the", "A 2 4|||Others|||the phrase ,"))
    lines = run(capsys, "m2", "reextract", str(gold), *cache)[0].splitlines()
    assert lines[2:4] == [
        "A 2 3|||R:DET|||the|||REQUIRED|||-NONE-|||0",
        "A 3 4|||R:OTHER|||phrase ,|||REQUIRED|||-NONE-|||0",
    ]
    for action in ("retype", "reextract"):
        with pytest.raises(SystemExit, match="2"):
            run(capsys, "m2", action, str(gold), str(gold))
        assert f"gecjury m2 {action}: {str(gold)!r} is one word too many" in capsys.readouterr().err
        _, err = run(capsys, "m2", action, "gone.m2", "--tagger", "en_nothing_sm", status=2)
        assert "en_nothing_sm" in err


def _applied(capsys: pytest.CaptureFixture[str], gold: Path, annotator: int) -> Path:
    path = gold.parent / f"by{annotator}.txt"
    run(capsys, "m2", "apply", str(gold), "--annotator", str(annotator), "-o", str(path))
    return path


def test_one_gold_file_named_once_serves_every_metric(
    capsys: pytest.CaptureFixture[str], files: Path, gold: Path
) -> None:
    names = [str(files / "source.txt"), str(files / "fixed.txt")]
    metrics = ["-m", "errant", "-m", "m2", "-m", "gleu", "--format", "json"]
    metrics += ["--cache", str(files / "cache")]
    rows = []
    for how in ("-r", "--m2"):
        out, err = run(capsys, "score", *names, how, str(gold), *metrics)
        assert err == ""
        rows.append(json.loads(out)["rows"])
    assert rows[0] == rows[1]
    # Annotator 0 made two edits and the hypothesis the first of them: p 1, r 1/2 for both metrics.
    errant, m2, gleu = rows[0]
    assert errant["score"] == pytest.approx(1.25 * 0.5 / (0.25 + 0.5))
    assert m2["score"] == pytest.approx(1.25 * 0.5 / (0.25 + 0.5))
    assert 0 < gleu["score"] < 1
    assert "gold=retyped" in errant["signature"]
    # A note says which corrections each metric reads if they differ.
    out, err = run(
        capsys, "score", *names, "-r", names[1], "--m2", str(gold), "-m", "m2", "-m", "gleu",
        "--format", "json",
    )  # fmt: skip
    assert err == (
        f"note: m2 by the gold edits of {gold} (2), gleu by the references of -r (1), which "
        "contain other corrections\n"
    )
    assert json.loads(out)["rows"][1]["score"] == 1
    texts = [arg for n in (0, 1) for arg in ("-r", str(_applied(capsys, gold, n)))]
    _, err = run(capsys, "score", *names, *texts, "--m2", str(gold), "-m", "m2", "-m", "gleu")
    assert err == ""


def test_types_of_another_scheme_are_reported(
    capsys: pytest.CaptureFixture[str], files: Path, gold: Path
) -> None:
    names = [str(files / "source.txt"), str(files / "fixed.txt")]
    for how in ("-r", "--m2"):
        out, _ = run(capsys, "check", *names, how, str(gold), "--format", "json")
        (finding,) = [f for f in json.loads(out)["findings"] if "scheme" in f["message"]]
        assert finding["level"] == "note"
        assert (
            "3 of 3 gold edits have types of another scheme than ERRANT's (SVA, ArtOrDet)"
            in (finding["message"])
        )
    argv = ["score", *names, "-r", str(gold), "--by-type", "3", "--cache", str(files / "cache")]
    out, _ = run(capsys, *argv, "-m", "errant", "--format", "json")
    document = json.loads(out)
    assert set(document["rows"][0]["by_type"]) == {"R:VERB:SVA", "R:DET"}
    assert "retyped by ERRANT's rules" in document["notes"][0]
    out, _ = run(capsys, *argv, "-m", "errant:types=gold", "--format", "json")
    document = json.loads(out)
    assert set(document["rows"][0]["by_type"]) == {"R:VERB:SVA", "SVA"}
    assert "false alarms under ERRANT's" in document["notes"][0]
    assert "retyped" in run(capsys, *argv, "-m", "errant")[0].replace("\n", " ")
