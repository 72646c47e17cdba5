"""--lang, --tokens and --fold on commands that read texts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gecjury.cli import main


@pytest.fixture
def swedish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("Hon bor i Lund, tror jag.\n", encoding="utf-8")
    Path("a.txt").write_text("Hon bor i Lund tror jag.\n", encoding="utf-8")
    Path("b.txt").write_text("Hon bor, i Lund, tror jag.\n", encoding="utf-8")
    Path("r.txt").write_text("Hon bor i Lund tror jag .\n", encoding="utf-8")
    return tmp_path


def rows(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert main([*words, "--format", "json"]) == 0
    result: list[dict[str, object]] = json.loads(capsys.readouterr().out)["rows"]
    return result


def test_tokens_decide_what_an_n_gram_is(swedish: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = rows(
        capsys, "score", "s.txt", "a.txt", "-r", "r.txt", "-m", "green", "--tokens", "space"
    )
    tokenised = rows(
        capsys, "score", "s.txt", "a.txt", "-r", "r.txt", "-m", "green", "--lang", "sv"
    )
    # Tokenised, `jag.` and `jag .` are the same two tokens, so the output equals the reference.
    assert plain[0]["score"] != 1.0
    assert tokenised[0]["score"] == 1.0
    assert "lang=sv|tokens=intl 1|fold=nfc" in str(tokenised[0]["signature"])
    assert "lang=" not in str(plain[0]["signature"])


def test_a_user_benchmark_declares_its_language(
    swedish: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = Path("mine")
    (folder / "outputs").mkdir(parents=True)
    (folder / "references").mkdir()
    for name in ("a", "b"):
        Path(f"{name}.txt").rename(folder / "outputs" / f"{name}.txt")
    Path("s.txt").rename(folder / "source.txt")
    Path("r.txt").rename(folder / "references" / "r.txt")
    (folder / "judgments.csv").write_text(
        "annotator,item,sentence,system,rank\nx,1,1,a,1\nx,1,1,b,2\n", encoding="utf-8"
    )
    (folder / "benchmark.toml").write_text('language = "sv"\n', encoding="utf-8")
    assert main(["compare", "mine", "-m", "green", "--format", "json"]) == 0
    assert "lang=sv|tokens=intl 1" in capsys.readouterr().out
    (folder / "benchmark.toml").write_text('language = "sv"\ntokens = "char"\n', encoding="utf-8")
    assert main(["compare", "mine", "-m", "green", "--format", "json"]) == 0
    assert "lang=sv|tokens=char 1" in capsys.readouterr().out
    (folder / "benchmark.toml").write_text('language = "swx"\n', encoding="utf-8")
    assert main(["compare", "mine", "-m", "green"]) == 2
    assert "benchmark.toml: unknown language 'swx'" in capsys.readouterr().err


def test_rows_of_a_dataset_are_tokenised_like_texts(
    swedish: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = {
        "source": Path("s.txt").read_text(encoding="utf-8").strip(),
        "hypothesis": Path("a.txt").read_text(encoding="utf-8").strip(),
        "references": [Path("r.txt").read_text(encoding="utf-8").strip()],
    }
    Path("d.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")
    scored = rows(capsys, "score", "d.jsonl", "-o", "out", "-m", "green", "--lang", "sv")
    assert scored[0]["score"] == 1.0
    # A run with another language is a different run.
    assert main(["score", "d.jsonl", "-o", "out", "-m", "green"]) == 2
    assert "lang: sv then, en now" in capsys.readouterr().err


def test_m2_and_text_of_the_same_sentence_match(
    swedish: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("g.m2").write_text(
        "S Hon bor i Lund , tror jag .\nA 4 5|||U:PUNCT||||||REQUIRED|||-NONE-|||0\n\n",
        encoding="utf-8",
    )
    scored = rows(capsys, "score", "s.txt", "a.txt", "-r", "g.m2", "-m", "gleu", "--lang", "sv")
    assert scored[0]["score"] == 1.0


JAPANESE = "s.txt: looks like Japanese and is read as English: --lang ja"


@pytest.fixture
def japanese(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("s.txt").write_text("私は昨日学校を行きました。\n", encoding="utf-8")
    Path("h.txt").write_text("私は昨日学校に行きました。\n", encoding="utf-8")
    Path("r.txt").write_text("私は昨日学校へ行きました。\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        ["score", "s.txt", "h.txt"],
        ["rank", "s.txt", "h.txt", "r.txt"],
        ["diff", "s.txt", "h.txt", "r.txt"],
    ],
    ids=lambda words: words[0],
)
def test_japanese_without_its_language_is_noted_below_the_scores(
    japanese: Path, capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    command = [*words, "-r", "r.txt", "-m", "green", "-m", "gleu"]
    assert main(command) == 0
    table = " ".join(capsys.readouterr().out.split())
    assert table.count(JAPANESE) == 1
    assert main([*command, "--format", "json"]) == 0
    notes = json.loads(capsys.readouterr().out)["notes"]
    assert notes.count(JAPANESE) == 1
    assert main([*command, "--lang", "ja", "--tokens", "char", "--format", "json"]) == 0
    assert JAPANESE not in capsys.readouterr().out
