"""`gecjury train` from the command line, on tiny models."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import pytest

from gecjury.cli.options import settings_of
from gecjury.studies import study_of
from gecjury.studies.making.some import TrainSome
from tests import tiny
from tests.shell import Shell
from tests.tiny import COLUMNS, ratings

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

FINE_TUNED = "would do nothing with --kernel without --fine-tune"
UNTRAINED = f"{FINE_TUNED} or --detection"

QUICK = [
    "--device", "cpu", "--quiet", "--leakage", "none", "--epochs", "1", "--learning-rate", "1e-3",
]  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    # Tiny models gain nothing from threads, which compete for cores when tests run in parallel.
    torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep cached outputs of models out of the user's cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own-cache"))


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tiny.encoder(tmp_path_factory.mktemp("models") / "encoder"))


def test_some_from_ratings_to_scores(shell: Shell, tmp_path: Path, encoder: str) -> None:
    data = ratings(tmp_path / "r.tsv", 60)
    out, err = shell.ended(
        "train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder,
        "--format", "json", *QUICK, "--shared", *COLUMNS,
    )  # fmt: skip
    result: dict[str, Any] = json.loads(out)
    assert set(result["figures"]["test"]) == {"grammaticality", "fluency", "meaning"}
    assert "split by source: 48 train, 6 dev, 6 test" in err
    for name, seed in (("s", 1), ("h", 2)):
        (tmp_path / name).write_text("\n".join(tiny.sentences(5, seed)) + "\n")
    out, _ = shell.ended(
        "score", str(tmp_path / "s"), str(tmp_path / "h"), "--device", "cpu",
        "-m", f"some:model={tmp_path / 'some'}", "--format", "json",
    )  # fmt: skip
    (row,) = json.loads(out)["rows"]
    assert row["family"] == "refless"
    assert "weights=" in row["signature"]


def test_an_interrupted_training_reports_what_it_keeps(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stops = [KeyboardInterrupt("the model keeps step 4 of 9"), KeyboardInterrupt()]

    def stop(*args: object) -> None:
        raise stops.pop(0)

    monkeypatch.setattr(TrainSome, "job", stop)
    command = ["train", "some", "r.tsv", "-o", "some", "--encoder", "embedded"]
    message = "gecjury: interrupted; the model keeps step 4 of 9\n"
    assert shell(*command) == (130, "", message)
    (tmp_path / "some" / "checkpoints").mkdir(parents=True)
    status, _, err = shell(*command)
    assert status == 130
    assert err.startswith("gecjury: interrupted; some keeps the finished models and steps.")


def test_the_metric_recommended_for_one_aspect_works(
    shell: Shell, tmp_path: Path, encoder: str
) -> None:
    data = ratings(tmp_path / "r.tsv", 40)
    folder = tmp_path / "some"
    out, _ = shell.ended(
        "train", "some", str(data), "-o", str(folder), "--encoder", encoder, *QUICK,
        "--column", "output=hyp", "--column", "grammaticality=g",
    )  # fmt: skip
    metric = " ".join(out.split()).rpartition("-m ")[2]
    assert metric == f"some:model={folder},alpha=1,beta=0,gamma=0"
    (tmp_path / "s").write_text("the cat .\n")
    texts = [str(tmp_path / "s"), str(tmp_path / "s"), "--device", "cpu"]
    _, err = shell.ended("score", *texts, "-m", f"some:model={folder}", status=2)
    assert f"use -m {metric}" in err
    shell.ended("score", *texts, "-m", metric)
    card = (folder / "README.md").read_text()
    assert "-m some:model=some,alpha=1,beta=0,gamma=0" in card


@pytest.mark.slow
def test_kernel_and_fine_tuning_in_one_run_with_their_curves(
    shell: Shell, tmp_path: Path, encoder: str
) -> None:
    data = ratings(tmp_path / "r.tsv", 40)
    argv = [
        "train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder, *QUICK,
        "--kernel", "--fine-tune", "--shared", "--freeze-layers", "1", "--gradient-checkpointing",
        *COLUMNS,
    ]  # fmt: skip
    out, _ = shell.ended(*argv)
    rows = [line.split() for line in out.splitlines()]
    assert ["what", "part", "aspect", "r", "ρ", "rmse", "rows"] in rows
    assert sum(row[:3] == ["kernel", "alone", "test"] for row in rows) == 3
    out, _ = shell.ended(*argv, "--format", "json")
    assert set(json.loads(out)["shares"]) == {"grammaticality", "fluency", "meaning"}


SOME = ["some", "r.tsv", "-o", "out"]


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["some", "r.tsv", "x.tsv", "-o", "out"], "accepts one set of ratings"),
        ([*SOME, "--column", "colour=x"], "'colour=x' is not ROLE=COLUMN"),
        # Options that would do nothing are refused before anything is read.
        ([*SOME, "--fine-tune"], "--fine-tune would do nothing without --kernel"),
        (
            [*SOME, "--recipe", "paper", "--read-source"],
            "--read-source would do nothing without --kernel",
        ),
        ([*SOME, "--detection", "x", "--detector", "y"], "--detector would do nothing"),
        ([*SOME, "--kernel", "--epochs", "2"], f"--epochs {FINE_TUNED}"),
        ([*SOME, "--kernel", "--bf16"], f"--bf16 {UNTRAINED}"),
        (["impara", "x", "-o", "o", "--detection", "x", "--detector", "y"], "--detector would do"),
        ([*SOME, "--freeze-layers", "-1"], "--freeze-layers -1"),
        (["some", "nowhere.tsv", "-o", "out"], "no such file"),
        (["some", "tmuu", "-o", "out"], "ratings 'tmuu': neither a set (did you mean tmu-gfm?)"),
        ([*SOME, "--epochs", "0", *COLUMNS], "expected 1 to 1000000"),
        (["impara", "nowhere", "-o", "out"], "neither a set"),
        ([*SOME, "--leakage"], "--leakage: expected at least one argument"),
        ([*SOME, "--leakage", "sedaa"], "unknown benchmark 'sedaa': did you mean seeda"),
        ([*SOME, "--leakage", "none", "seeda"], "--leakage none seeda: name benchmarks, or none"),
        (["some", "autojqe", "-o", "out", "--lang", "sv"], "autojqe is Japanese (ja)"),
        (["impara", "geccc-dev", "-o", "out", "--lang", "uk"], "geccc-dev is Czech (cs)"),
        (["impara", "geccc-dev", "ua-gec", "-o", "out"], "ua-gec is Ukrainian: a model"),
        (["detector", "multiged-sv", "-o", "out", "--lang", "de"], "is Swedish (sv)"),
        ([*SOME, "--lang", "xx"], "unknown language 'xx'"),
    ],
)
def test_wrong_use_ends_with_status_2(
    shell: Shell,
    tmp_path: Path,
    argv: list[str],
    message: str,
) -> None:
    ratings(tmp_path / "r.tsv", 20)
    more = () if "--leakage" in argv else ("--leakage", "none")
    out, err = shell.ended("train", *argv, *more, "--device", "cpu", status=2)
    assert out == ""
    assert message in err


def test_training_warns_of_leakage(shell: Shell, tmp_path: Path, encoder: str) -> None:
    from gecjury.benchmarks.load import load_benchmark

    data = ratings(tmp_path / "r.tsv", 40)
    source = load_benchmark("sample").corpus.sources[0]
    lines = data.read_text().splitlines()
    lines[1] = "\t".join([source.upper(), *lines[1].split("\t")[1:]])
    data.write_text("\n".join(lines) + "\n")
    _, err = shell.ended(
        "train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder,
        *QUICK, "--leakage", "sample", *COLUMNS, "--shared",
    )  # fmt: skip
    assert "warning: leakage: 1 sentences of" in err
    assert "are in sample" in err
    assert "leakage" in (tmp_path / "some" / "README.md").read_text()
    _, err = shell.ended(
        "train", "some", str(data), "-o", str(tmp_path / "another"), "--encoder", encoder,
        *QUICK, *COLUMNS, "--shared",
    )  # fmt: skip
    assert "warning: leakage is not checked (--leakage none)" in err


def test_refusals_name_the_file(shell: Shell, tmp_path: Path) -> None:
    taken = tmp_path / "taken"
    taken.write_text("text\n")
    data = ratings(tmp_path / "r.tsv", 8)
    _, err = shell.ended("train", "some", str(data), "-o", str(taken), *COLUMNS, status=2)
    assert "taken is a file; -o names a folder" in err
    few = tmp_path / "few.csv"
    few.write_text("output,fluency\na,1\nb,2\nc,3\n")
    _, err = shell.ended("train", "some", str(few), "-o", str(tmp_path / "out"), status=2)
    assert "few.csv: too few rows for a split" in " ".join(err.split())


def labelled(folder: Path, *more: str) -> Path:
    """Write a train and a dev part in two columns, with `goes` labelled as an error."""
    for name, count in (("xx_train.tsv", 30), ("xx_dev.tsv", 10)):
        texts = [f"{text} goes" for text in tiny.sentences(count, count)]
        texts += more if "train" in name else ()
        blocks = ["\n".join(f"{t}\t{'i' if t == 'goes' else 'c'}" for t in s.split())
                  for s in texts]  # fmt: skip
        (folder / name).write_text("\n\n".join(blocks) + "\n")
    return folder / "xx_train.tsv"


def test_detection_from_labelled_tokens(shell: Shell, tmp_path: Path, encoder: str) -> None:
    from gecjury.benchmarks.load import load_benchmark

    corpus = load_benchmark("sample").corpus
    # Two sentences of the benchmark named by --leakage, one of them in upper case.
    train = labelled(tmp_path, corpus.sources[0].upper(), corpus.references[0].lines[1])
    data = ratings(tmp_path / "r.tsv", 40)
    out, err = shell.ended(
        "train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder,
        "--device", "cpu", "--quiet", "--leakage", "sample", "--kernel", "--detection", str(train),
        "--format", "json", *COLUMNS,
    )  # fmt: skip
    assert "excluded from the labelled text: 2 sentences that are in sample" in err
    assert f"learns from 30 sentences; dev part: {tmp_path / 'xx_dev.tsv'} (10 sentences)" in err
    names = ["detection", "detection precision", "detection recall", "detection ap"]
    assert list(json.loads(out)["detection"]) == names
    curves = json.loads((tmp_path / "some" / "history.json").read_text())["models"]
    assert len(curves["detection"]["dev"]) == 2
    card = (tmp_path / "some" / "README.md").read_text()
    assert "Preceding error detection, on the dev part of its data: F0.5" in card
    assert "- error detection: xx_train.tsv\n" in card
    assert str(tmp_path) not in card
    config = json.loads((tmp_path / "some" / "encoder" / "config.json").read_text())
    assert config["id2label"] == {"0": "c", "1": "i"}
    # Scoring a corpus that contains a labelled sentence gives a warning.
    (tmp_path / "s").write_text(f"{tiny.sentences(30, 30)[4]} goes\nthe cat .\n")
    texts = [str(tmp_path / "s"), str(tmp_path / "s"), "--device", "cpu"]
    out, _ = shell.ended("score", *texts, "-m", f"some:model={tmp_path / 'some'}")
    assert "was trained on 1 of the 2 sources and references" in " ".join(out.split())
    # The base model is stored next to the encoder: both are read.
    assert (tmp_path / "some" / "base" / "config.json").exists()


@pytest.mark.slow
def test_a_detector_serves_some_and_impara(shell: Shell, tmp_path: Path, encoder: str) -> None:
    detector = str(tmp_path / "detector")
    labelled(tmp_path)
    out, err = shell.ended(
        "train", "detector", str(tmp_path / "xx_train.tsv"), "-o", detector, "--encoder",
        encoder, *QUICK, "--format", "json", "--freeze-layers", "1",
    )  # fmt: skip
    history = json.loads((tmp_path / "detector" / "history.json").read_text())
    assert all(curves["best"] for curves in history["models"].values())
    (row,) = json.loads(out)["rows"]
    assert set(row) == {"part", "f0.5", "precision", "recall", "ap", "tokens"}
    assert "left out" not in err  # --leakage none
    data = ratings(tmp_path / "r.tsv", 40)
    common = ["--encoder", encoder, "--detector", detector, *QUICK[:5]]
    shell.ended("train", "some", str(data), "-o", str(tmp_path / "some"), "--kernel", *common,
        *COLUMNS)  # fmt: skip
    weights = "model.safetensors"
    kept = (tmp_path / "some" / "encoder" / weights).read_bytes()
    assert kept == (tmp_path / "detector" / weights).read_bytes()
    keys = "training-sentences.txt"
    learnt = set((tmp_path / "detector" / keys).read_text().split())
    assert len(learnt) == 40
    assert learnt < set((tmp_path / "some" / keys).read_text().split())
    sources = [*tiny.sentences(80, 9), f"{tiny.sentences(30, 30)[4]} goes"]
    lines = [*(f"{s} {n}" for n, s in enumerate(sources[:-1])), sources[-1]]
    (tmp_path / "s").write_text("\n".join(lines) + "\n")
    (tmp_path / "t").write_text("\n".join(f"the {s} ." for s in sources) + "\n")
    out, err = shell.ended(
        "train", "impara", f"{tmp_path / 's'},{tmp_path / 't'}", "-o",
        str(tmp_path / "impara"), "--pooling", "mean", "--pairs", "64", "--epochs", "1", *common,
        "--gradient-checkpointing",
    )  # fmt: skip
    assert set(json.loads((tmp_path / "impara" / "history.json").read_text())["models"]) == {
        "ranker"
    }
    assert "warning: the detector has learnt from 1 of the 81 sources of the parallel text" in err
    words = out.split()
    metric = words[words.index("-m") + 1]
    assert metric == f"impara:model={tmp_path / 'impara'}"
    texts = [str(tmp_path / "s"), str(tmp_path / "t"), "--device", "cpu"]
    out, _ = shell.ended("score", *texts, "-m", metric, "--format", "json")
    assert 0 < json.loads(out)["rows"][0]["score"] < 1


def test_columns_of_a_named_set_are_refused(shell: Shell, tmp_path: Path) -> None:
    for option, value in (("--column", "output=x"), ("--scale", "1:5")):
        _, err = shell.ended("train", "some", "tmu-gfm", "-o", str(tmp_path / "o"), option, value,
                     status=2)  # fmt: skip
        assert f"{option} would do nothing: tmu-gfm has known columns and ratings" in err


def test_quality_in_japanese_from_a_table_to_scores(shell: Shell, tmp_path: Path) -> None:
    encoder = str(tiny.character_encoder(tmp_path / "encoder", tiny.KANA))
    data, folder = tiny.qualities(tmp_path / "human.csv"), tmp_path / "some"
    train = ["train", "some", str(data), "-o", str(folder), "--encoder", encoder, *QUICK[:5]]
    train += ["--lang", "ja", "--column", "output=訂正", "--column", "source=原文"]
    out, err = shell.ended(*train, "--column", "quality=個別評価", "--kernel")
    assert err.count("warning") == 1  # that leakage is not checked
    assert f"score with -m some:model={folder}" in " ".join(out.split())
    for name, lines in (("s", tiny.japanese(4, 5)), ("h", tiny.japanese(4, 6))):
        (tmp_path / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
    score = ["score", str(tmp_path / "s"), str(tmp_path / "h"), "--device", "cpu"]
    metric = ["-m", f"some:model={folder}", "--format", "json"]
    out, err = shell.ended(*score, *metric, "--lang", "ja", "--tokens", "char")
    (row,) = json.loads(out)["rows"]
    assert "lang=ja" in row["signature"]
    assert "was trained on Japanese" not in out + err
    out, err = shell.ended(*score, *metric)
    assert "was trained on Japanese, but the texts are English" in out + err
    _, err = shell.ended("tune", f"some:model={folder}", "sample", status=2)
    assert "there are no weights" in err


def test_an_encoder_that_lacks_the_characters_is_reported(
    shell: Shell, tmp_path: Path, encoder: str
) -> None:
    data = tiny.qualities(tmp_path / "human.csv", 40)
    train = ["train", "some", str(data), "-o", str(tmp_path / "some"), "--encoder", encoder]
    _, err = shell.ended(*train, *QUICK[:5], "--kernel", "--lang", "ja")
    assert "does not know 100% of the word pieces" in err
    assert "100% of the word pieces" in (tmp_path / "some" / "README.md").read_text()


def parts_of(path: Path, sizes: dict[str, int]) -> Path:
    """Write ratings of two corrections per source, with the part that each row belongs to."""
    rows = ["src\thyp\tg\tf\tm\tsplit"]
    for part, count in sizes.items():
        for number, source in enumerate(tiny.sentences(count, seed=count)):
            for place in range(2):
                rating = 1 + (number + 3 * place) % 4
                output = f"{source} {number} {'the ' * place}"
                rows.append(f"{source} {number}\t{output}\t{rating}\t{rating}\t3.{place}\t{part}")
    path.write_text("\n".join(rows) + "\n")
    return path


def test_training_reports_how_good_the_metric_is(
    shell: Shell, tmp_path: Path, encoder: str
) -> None:
    folder = tmp_path / "some"
    data = parts_of(tmp_path / "r.tsv", {"train": 12, "dev": 4, "test": 20})
    command = ["train", "some", str(data), "-o", str(folder), "--encoder", encoder, *QUICK[:5]]
    command += ["--kernel", *COLUMNS]
    out = " ".join(shell.ended(*command, "--verbose")[0].split())
    assert "Held-out pairs of corrections of one source, by people's ratings" in out
    assert "counting changes, " in out
    record = json.loads((folder / "gecjury.json").read_text())
    worth = record["worth"]
    assert (worth["pairs"], worth["sources"]) == (20, 20)
    assert worth["verdict"] in out
    assert f"**{worth['verdict']}.**" in (folder / "README.md").read_text()
    # A second run reads the same result from the finished folder.
    again = json.loads(shell.ended(*command, "--format", "json")[0])
    assert again["worth"] == worth


def test_a_ranker_records_its_language_and_its_worth(
    shell: Shell, tmp_path: Path, encoder: str
) -> None:
    sources = tiny.sentences(80, 9)
    (tmp_path / "s").write_text("".join(f"{s} {n}\n" for n, s in enumerate(sources)))
    (tmp_path / "t").write_text("".join(f"the {s} {n} .\n" for n, s in enumerate(sources)))
    folder, text = tmp_path / "impara", f"{tmp_path / 's'},{tmp_path / 't'}"
    out, _ = shell.ended(
        "train", "impara", text, "-o", str(folder), "--encoder", encoder, "--pairs", "64",
        "--lang", "sv", *QUICK, "--format", "json",
    )  # fmt: skip
    result = json.loads(out)
    model, changes, _ = result["worth"]["rows"]
    test = result["rows"][1]
    assert (test["part"], test["accuracy"]) == ("test", pytest.approx(model["accuracy"]))
    assert changes["what"].startswith("counting changes")
    card = (folder / "README.md").read_text()
    assert "language: sv" in card
    assert result["worth"]["verdict"] in card
    score = ["score", str(tmp_path / "s"), str(tmp_path / "t"), "--device", "cpu"]
    score += ["-m", f"impara:model={folder},threshold=none", "--format", "json"]
    warning = "was trained on Swedish, but the texts are English"
    assert warning in "".join(shell.ended(*score))
    assert warning not in "".join(shell.ended(*score, "--lang", "sv"))


def parsed(*words: str) -> argparse.Namespace:
    from gecjury.cli import command_parser

    args: argparse.Namespace = command_parser().parse_args(["train", *words])
    return args


def test_a_recipe_sets_options_that_the_command_line_can_override() -> None:
    for target in ("some", "impara", "detector", "judge"):
        study = study_of(f"train {target}")
        for name, values in study.presets.items():
            args = parsed(target, "x", "-o", "y", "--recipe", name)
            assert {key: getattr(args, key) for key in values} == values
            assert settings_of(study, args).chosen_recipe() == name
    # This holds before and after --recipe, and also if the value is the option's default.
    typed = ["--within", "0", "--recipe", "small", "--encoder", "bert-base-cased"]
    args = parsed("some", "x", "-o", "y", *typed)
    assert (args.within, args.encoder, args.kernel) == (0, "bert-base-cased", True)
    assert settings_of(TrainSome, args).chosen_recipe() == "small, but for --encoder, --within"
    # `small` is used unless an option chooses another model.
    assert parsed("some", "x", "-o", "y").recipe == "small"
    for words in (["--encoder", "features"], ["--kernel"], ["--shared"]):
        args = parsed("some", "x", "-o", "y", *words)
        assert (args.recipe, args.detector) == (None, "")


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["some", "r.tsv", "--recipe", "base"], "train detector multiged-en -o my-detector --rec"),
    ],
)
def test_a_recipe_with_missing_requirements_is_refused_with_the_remedy(
    shell: Shell,
    tmp_path: Path,
    argv: list[str],
    message: str,
) -> None:
    ratings(tmp_path / "r.tsv", 40)
    _, err = shell.ended(
        "train", *argv, "-o", "out", "--leakage", "none", "--device", "cpu", status=2
    )
    assert message in " ".join(err.split())


def test_a_recipe_is_named_in_the_help_the_card_and_the_manifest(
    shell: Shell, tmp_path: Path, encoder: str
) -> None:
    shown = " ".join(shell.ended("train", "some", "--help")[0].split())
    assert "--encoder embedded --kernel --read-source --within 2.0 --detector" in shown
    folder = tmp_path / "some"
    shell.ended(
        "train", "some", str(ratings(tmp_path / "r.tsv", 40)), "-o", str(folder),
        "--recipe", "small", "--encoder", encoder, "--detector", encoder, *COLUMNS,
        "--leakage", "none", "--device", "cpu",
    )  # fmt: skip
    name = "small, but for --encoder, --detector"
    assert json.loads((folder / "gecjury.json").read_text())["recipe"] == name
    assert f'"recipe": "{name}"' in (folder / "README.md").read_text()
    _, err = shell.ended(
        "train", "some", "r.tsv", "-o", "other", "--recipe", "small", "--encoder", encoder,
        *COLUMNS, status=2,
    )  # fmt: skip
    assert "the packaged detector belongs to --encoder embedded" in " ".join(err.split())


def test_a_dry_run_counts_the_parts_and_estimates_the_time(
    shell: Shell, tmp_path: Path, encoder: str
) -> None:
    data = parts_of(tmp_path / "r.tsv", {"train": 12, "dev": 4, "test": 20})
    folder = tmp_path / "some"
    command = ["train", "some", str(data), "-o", str(folder), *QUICK[:5], *COLUMNS, "--dry-run"]
    out = json.loads(shell.ended(*command, "--encoder", encoder, "--format", "json")[0])
    # Two corrections of a source are a pair.
    assert [(row["part"], row["rows"], row["pairs"]) for row in out["parts"]] == [
        ("train", 24, 12), ("dev", 8, 4), ("test", 40, 20),
    ]  # fmt: skip
    assert out["seconds"] > 0
    out, _ = shell.ended(*command, "--recipe", "features")
    assert out == (
        "The training takes seconds, since it has no encoder, on train (24 rows, 12 pairs), dev (8 "
        "rows, 4 pairs) and test (40 rows, 20 pairs); nothing was written.\n"
    )
    assert not folder.exists()


def test_a_dry_run_measures_learning_only_where_something_learns(
    shell: Shell, tmp_path: Path, encoder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The states of an optimiser need several times the memory of reading."""
    torch = pytest.importorskip("torch")
    monkeypatch.delattr(torch.optim, "AdamW")
    data = parts_of(tmp_path / "r.tsv", {"train": 12, "dev": 4, "test": 20})
    command = ["train", "some", str(data), "-o", str(tmp_path / "some"), *COLUMNS, "--dry-run"]
    command += ["--kernel", "--encoder", encoder, "--leakage", "none", "--format", "json"]
    assert json.loads(shell.ended(*command)[0])["seconds"] > 0
