"""The command line: unusual input is scored; bad input gives one line, status 2 and no file."""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from gecjury.cli import COMMANDS, _check, command_parser
from gecjury.cli.options import runtime_from
from gecjury.scoring import registry
from tests.gecjury.scoring import test_scorer
from tests.shell import FIXED, GOLD, METRICS, SCORE, SOURCE, Shell, command, instead

# --- valid input -----------------------------------------------------------------------------


def test_score(shell: Shell) -> None:
    green, gleu, official = shell.rows("score", "source.txt", "mine.txt", "-r", "ref.txt", *METRICS)
    # All draws have the same scores, so there are no intervals.
    assert green == {
        "system": "mine",
        "metric": "green",
        "family": "refbased",
        "signature": green["signature"],
        "score": 1.0,
        "precision": 1.0,
        "recall": 1.0,
    }
    assert str(green["signature"]).startswith("green|n=4,unit=word,beta=2.0|v2|refs=given:1|data=")
    assert (gleu["metric"], gleu["score"]) == ("gleu", 1.0)
    assert "precision" not in gleu
    assert official["metric"] == "gleu-official"


def test_score_every_sentence(shell: Shell) -> None:
    command = ["score", "source.txt", "mine.txt", "source.txt", "-r", "ref.txt", *METRICS[:4]]
    rows = shell.rows(*command, "--sentences")
    assert [row["system"] for row in rows] == ["mine", "source", "mine", "source"]
    assert rows[0]["sentences"] == [1.0, 1.0, 1.0]
    assert rows[1]["sentences"][2] == 1.0  # type: ignore[index]
    status, out, _ = shell(*command, "--sentences", "--format", "tsv")
    assert status == 0
    # One table, which programs read from its first line.
    header, *lines = csv.reader(out.splitlines(), delimiter="\t")
    assert header == ["line", "metric", "mine", "source"]
    assert len(lines) == 2 * len(SOURCE)
    out = shell.ended(*command, "--format", "tsv")[0]
    assert next(csv.reader(out.splitlines(), delimiter="\t")) == [
        "system",
        "metric",
        "score",
        "precision",
        "recall",
        "p_best",
        # Precision is the same in all draws of both systems.
        *(f"{key}_{end}" for key in ("ci95", "recall_ci95") for end in ("low", "high")),
    ]


def test_references_as_m2_and_sources_as_m2(shell: Shell) -> None:
    plain = shell.rows("score", "source.txt", "mine.txt", "-r", "ref.txt", *METRICS)
    m2 = shell.rows("score", "gold.m2", "gold.m2", "-r", "gold.m2", *METRICS)
    assert [row["score"] for row in plain] == [row["score"] for row in m2]


TEXTS = FIXED[0].split(), FIXED[1].split(), FIXED[2].split()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("crlf", "\r\n".join(FIXED) + "\r\n"),
        ("no last newline", "\n".join(FIXED)),
        ("crlf, no last newline", "\r\n".join(FIXED)),
        ("trailing blanks", "  \n".join(FIXED) + "  \t\n"),
        ("doubled blanks", "\n".join("  ".join(words) for words in TEXTS)),
        ("no-break spaces", "\n".join("\u00a0".join(words) for words in TEXTS)),
        ("ideographic spaces", "\n".join("\u3000".join(words) for words in TEXTS)),
        ("byte order mark", "\ufeff" + "\n".join(FIXED)),
        ("gzip", gzip.compress("\n".join(FIXED).encode(), mtime=0)),
        ("json lines", "\n".join(json.dumps({"text": line}) for line in FIXED)),
    ],
)
def test_odd_files_score_like_plain_ones(shell: Shell, name: str, data: str | bytes) -> None:
    shell.write("odd.txt", data)
    plain = shell.rows("score", "source.txt", "mine.txt", "-r", "ref.txt", *METRICS, "--sentences")
    for words in (["odd.txt", "-r", "ref.txt"], ["mine.txt", "-r", "odd.txt"]):
        odd = shell.rows("score", "source.txt", *words, *METRICS, "--sentences")
        for one, two in zip(plain, odd, strict=True):
            assert (one["score"], one["sentences"]) == (two["score"], two["sentences"]), name


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("empty lines", [FIXED[0], "", FIXED[2]]),
        ("only empty lines", ["", "", ""]),
        ("only blanks", ["  ", "\t", "\u00a0"]),
        ("repeated sentences", [FIXED[0]] * 3),
        ("emoji", [FIXED[0] + " 👩🏽‍🚀 🇯🇵", "👍", FIXED[2]]),
        ("one token", ["This", "He", "All"]),
        ("1,000 tokens", [FIXED[0], " ".join(["very"] * 1_000), FIXED[2]]),
        ("line separators", [FIXED[0] + " \u2028 \x0b \x85", FIXED[1], FIXED[2]]),
        ("other scripts", ["私 は 学生 です 。", "Ωμέγα", "שלום"]),
    ],
)
def test_odd_sentences_are_legal(shell: Shell, name: str, lines: list[str]) -> None:
    shell.write("odd.txt", "".join(line + "\n" for line in lines))
    for metrics in (METRICS, ["-m", "green:unit=char", "-m", "gleu:unit=char"]):
        rows = shell.rows("score", "source.txt", "odd.txt", "-r", "ref.txt", *metrics)
        rows += shell.rows("score", "source.txt", "mine.txt", "-r", "odd.txt", *metrics)
        rows += shell.rows("score", "odd.txt", "mine.txt", "-r", "odd.txt", *metrics)
        assert all(0 <= float(str(row["score"])) <= 1 for row in rows), name
    assert shell("check", "source.txt", "odd.txt", "-r", "odd.txt")[0] == 0


def test_a_missing_score_gives_status_1(shell: Shell, registered: Callable[..., Path]) -> None:
    registered({"length": f"{test_scorer.__name__}:Length"})
    shell.write("mine.txt", "a b\n\na\n")
    status, out, _ = shell(
        "score", "source.txt", "mine.txt", "-m", "length", "--sentences", "--format", "json"
    )
    assert status == 1
    assert json.loads(out)["rows"][0]["sentences"] == [2.0, None, 1.0]
    assert json.loads(out)["rows"][0]["score"] == 1.5


# --- invalid input ---------------------------------------------------------------------------


def write_bad_files(shell: Shell) -> None:
    shell.write("short.txt", "one\n")
    shell.write("latin.txt", b"one\ntwo\ncaf\xe9\n")
    shell.write("empty.txt", b"")
    shell.write("folder/mine.txt", "\n".join(FIXED))
    shell.write("fields.m2", GOLD.replace("|||REQUIRED", ""))
    shell.write("span.m2", GOLD.replace("A 1 2|||R|||goes", "A 1 9|||R|||goes"))
    shell.write("rubbish.m2", GOLD.replace("S All", "All"))
    shell.write("two.m2", GOLD.rpartition("S All")[0])
    shell.write("lines.jsonl", '{"text": "a"}\n{"text": 7}\n{"text": "c"}\n')
    shell.write("in-the-way", "kept")


BAD: list[tuple[list[str], str]] = [
    (instead("mine.txt", "short.txt"), r"short\.txt has 1 lines, but source\.txt has 3"),
    (command("-r", "ref.txt", "-r", "short.txt"), r"short\.txt has 1 lines, but source\.txt has 3"),
    (instead("source.txt", "gone.txt"), r"gone\.txt: no such file"),
    (instead("mine.txt", "folder"), r"folder: is a folder; expected a text file"),
    (instead("mine.txt", "mine.txt/x"), r"mine\.txt/x: cannot be read"),
    (instead("ref.txt", "latin.txt"), r"latin\.txt, line 3: byte 0xe9 at offset 11"),
    (instead("source.txt", "empty.txt"), r"empty\.txt: the file is empty"),
    (instead("mine.txt", "lines.jsonl"), r"lines\.jsonl, line 2: expected a string"),
    (instead("green", "gren"), r"unknown metric 'gren': did you mean green"),
    (instead("green", "green:betta=1"), r"green has no option 'betta': did you mean beta\?"),
    (instead("green", "green:beta=big"), r"green: beta='big': expected a number"),
    (instead("green", "green:n=0"), r"n=0: expected 1 to 100"),
    (instead("green", "green:unit=wrd"), r"expected one of word, char, line; did you mean word\?"),
    (
        ["score", "source.txt", "mine.txt", "folder/mine.txt", *command()[3:]],
        r"system mine is named twice \(mine\.txt and folder/mine\.txt\)",
    ),
    (instead("ref.txt", "fields.m2"), r"fields\.m2, line 2: 5 fields separated by `\|\|\|`"),
    (command("--m2", "span.m2"), r"span\.m2, line 5: the edit 1 9 lies outside the sentence"),
    (instead("mine.txt", "rubbish.m2"), r"rubbish\.m2, line 7: 'All is well here \.' is neither"),
    (command("--m2", "two.m2"), r"two\.m2 has 2 blocks, but source\.txt has 3 lines"),
    (command("--m2", "ref.txt"), r"ref\.txt: not an M2 file .* gold edits must be M2"),
    (instead("out", "in-the-way/below"), r"in-the-way/below.*: cannot be written"),
    (SCORE, r"green needs references: give at least one \(-r FILE\)"),
]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize(("argv", "message"), BAD, ids=[" ".join(argv[1:]) for argv, _ in BAD])
def test_bad_input(shell: Shell, argv: list[str], message: str) -> None:
    write_bad_files(shell)
    before = tree(shell.folder)
    for form in ("table", "json"):
        status, out, err = shell(*argv, "--format", form)
        assert (status, out) == (2, "")
        assert err.startswith("gecjury: ")
        assert err.count("\n") == 1
        assert err.endswith("\n")
        assert re.search(message, err), err
    assert tree(shell.folder) == before
    assert not (shell.folder / "out").exists()


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["scor"], "unknown command 'scor': did you mean score"),
        (["score", "source.txt", "mine.txt"], "required: -m/--metric (for example -m errant);"),
        (
            ["train", "some", "a.csv", "-o", "x", "--scale", "-5:5"],
            "--scale: expected one argument (write --scale=VALUE if it begins with -);",
        ),
        (
            [*SCORE, "--referense", "ref.txt"],
            "gecjury score: unknown option --referense: did you mean --reference",
        ),
        (
            ["compare", "sample", "-m", "green", "gleu"],
            "gecjury compare: 'gleu' is one word too many (repeat an option to give several values",
        ),
        (["compare", "sample", "-m", "green", "-r", "ref.txt"], "compare: unknown option -r"),
    ],
)
def test_wrong_use(shell: Shell, argv: list[str], message: str) -> None:
    status, out, err = shell(*argv)
    assert (status, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert err.endswith("--help`\n")
    assert not (shell.folder / "out").exists()


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (["refs/anna.txt", "refs/ben.txt"], ["-r", *"12", "source.txt", "mine.txt"]),
        (["refs/anna.txt", "refs/ben.txt"], ["source.txt", "-r", *"12", "mine.txt", "ref.txt"]),
        (["refs/anna.txt", "refs/ben.txt"], ["source.txt", "mine.txt", "-r", *"12"]),
        # Written out, beside others.
        (["refs/r2.txt", "refs/r10.txt"], ["-r", *"12", "source.txt", "mine.txt"]),
        (["resources/a.txt", "resources/b.txt"], ["-r", *"12", "source.txt", "mine.txt"]),
        # A later file is called source: of `ref[ab].txt` beside `ref.txt`.
        (["refa.txt", "refb.txt"], ["-r", *"12", "-m", "gleu", "source.txt", "mine.txt"]),
    ],
)
def test_references_of_a_pattern_are_not_taken_for_the_source(
    shell: Shell, names: list[str], words: list[str]
) -> None:
    for file in names if "r2" not in names[0] else [*names, "refs/r1.txt"]:
        Path(file).parent.mkdir(exist_ok=True)
        Path(file).write_bytes(Path("ref.txt").read_bytes())
    files = dict(zip("12", names, strict=True))
    _, err = shell.ended("score", "-m", "green", *(files.get(w, w) for w in words), status=2)
    assert f"give each its own -r (-r {names[0]} -r {names[1]})" in " ".join(err.split())


def test_a_source_may_follow_a_reference(shell: Shell) -> None:
    """Also where a pattern could give both."""
    for file in ("data/ref.txt", "data/src.txt"):
        Path("data").mkdir(exist_ok=True)
        Path(file).write_bytes(Path("ref.txt").read_bytes())
    files = ["data/src.txt", "mine.txt", "source.txt"]
    shell.ended("score", "-m", "green", "-r", "data/ref.txt", *files)
    shell.ended("score", "-m", "green", "-r", "ref.txt", "source.txt", "mine.txt")


def test_without_a_command_three_examples_are_printed(shell: Shell) -> None:
    status, out, err = shell()
    assert (status, err) == (0, "")
    lines = [line.strip() for line in out.splitlines() if line.startswith("  gecjury ")]
    assert [line.split()[1] for line in lines] == ["score", "compare", "train"]
    for line in lines:
        command_parser().parse_args(line.split()[1:])
    assert "`gecjury --help`" in out


def test_a_file_may_have_the_name_of_a_command(shell: Shell) -> None:
    for name in COMMANDS:
        shell.write(name, "\n".join(FIXED))
    (row,) = shell.rows("score", "source.txt", "metrics", "-r", "check", "-m", "green")
    assert (row["system"], row["score"]) == ("metrics", 1.0)


def test_running_out_of_memory_is_reported(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **named: object) -> None:
        raise MemoryError

    monkeypatch.setattr("gecjury.corpus.files.reading.read_corpus", full)
    status, out, err = shell(*command())
    assert (status, out) == (2, "")
    assert err == "gecjury: out of memory; score fewer files at once\n"


# --- the other commands ----------------------------------------------------------------------


def test_metrics(shell: Shell) -> None:
    status, out, _ = shell("metrics", "--format", "json")
    assert status == 0
    rows = {row["name"]: row for row in json.loads(out)}
    assert list(rows) == list(registry.METRICS)
    assert rows["green"]["family"] == "refbased"
    assert rows["green"]["from"] == "gecjury"
    assert rows["green"]["needs"] == "references"
    assert rows["green"]["options"] == "n=4,unit=word,beta=2.0"
    assert rows["green"]["signature"] == "green|n=4,unit=word,beta=2.0|v2"
    needs = {name: rows[name]["needs"] for name in ("asano", "jury", "scores")}
    assert needs == {
        "asano": "model (model=…)",
        "jury": "metrics (equal=…)",
        "scores": "scores (file=…)",
    }
    assert all(row["summary"] for row in rows.values())
    assert len(json.loads(shell("metrics", "gleu", "--format", "json")[1])) == 1
    # The example of a metric with a required option has it.
    assert "use: -m valid:judge=...;" in shell("metrics", "valid")[1]
    # As users type them.
    assert "thinking=false" in rows["llm-s"]["options"]
    out = shell.ended("metrics", "llm-s", "--format", "tsv")[0]
    assert "thinking\tfalse\t" in out
    assert "True" not in out


def test_the_table_of_metrics_is_grouped_by_family(shell: Shell) -> None:
    _, out, _ = shell("metrics")
    words = [line.split() for line in out.splitlines()]
    names = [line[0] for line in words if line and line[0] in registry.METRICS]
    families = [registry.scorer_class(name).family for name in names]
    assert set(names) == set(registry.METRICS)
    assert families == sorted(families, key=families.index)  # each family is one block
    # Signatures are listed below the metrics only with --verbose.
    assert "|v1" not in out
    signatures = shell("metrics", "--verbose")[1].removeprefix(out)
    assert "\ngreen|n=4,unit=word,beta=2.0|v2\n" in signatures


def test_check_reports_all_faults_at_once(shell: Shell) -> None:
    write_bad_files(shell)
    names = ["short.txt", "latin.txt", "empty.txt", "gone.txt", "rubbish.m2"]
    status, out, err = shell("check", "source.txt", *names, "--m2", "two.m2", "--format", "json")
    assert (status, err) == (2, "")
    findings = json.loads(out)["findings"]
    errors = {finding["file"] for finding in findings if finding["level"] == "error"}
    assert errors == {*names, "two.m2"}
    status, out, _ = shell("check", "source.txt", *names)
    assert status == 2
    assert "Findings" in out


def test_global_options_reach_the_run() -> None:
    argv = ["score", "s", "h", "-m", "green", "--device", "cpu", "--batch-size", "3"]
    argv += ["--workers", "2", "--cache", "c", "--concurrency", "4", "--max-cost", "1.5"]
    argv += ["--dry-run", "--quiet"]
    args = command_parser().parse_args(argv)
    _check(args)
    runtime = runtime_from(args)
    assert (runtime.device, runtime.batch_size, runtime.workers) == ("cpu", 3, 2)
    assert (runtime.concurrency, runtime.max_cost, runtime.dry_run) == (4, 1.5, True)
    assert (runtime.cache, runtime.use_cache) == (Path("c"), True)
    args.no_cache = True
    assert not runtime_from(args).use_cache
