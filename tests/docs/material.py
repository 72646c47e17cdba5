"""Small synthetic files with the names used in the documentation, to run its commands on."""

from __future__ import annotations

import importlib.resources
import random
import shutil
from pathlib import Path

from gecjury.benchmarks.load import load_benchmark
from gecjury.cli import main
from gecjury.datasets.run import score_dataset
from gecjury.prompts import prompt_text
from tests import datasets, tiny
from tests.judges.tinymodel import make_tiny_model
from tests.shell import REPOSITORY

LINES = 20
"""Number of sentences in every text; the documentation uses line 17 of one."""
OUTPUTS = {
    "mine": "careful", "theirs": "fluent", "other": "cautious", "system": "careful",
    "old": "hasty", "new": "careful", "main/out": "hasty", "pr/out": "careful",
    "a": "careful", "b": "fluent", "c": "hasty", "BART": "spelling", "T5": "careful",
    "baseline": "hasty",
    "system_preds/one/out1": "careful", "system_preds/two/out2": "fluent",
}  # fmt: skip
JUDGED = ["source,correction,score,reason", "My uncle drive .,My uncle drives .,5,Right."]
REFERENCES = {"ref": 0, "ref0": 0, "ref1": 1, "reference": 0, "clean": 0}


def sample(name: str, lines: int = LINES) -> list[str]:
    """Return the first lines of a text of the packaged sample."""
    file = importlib.resources.files("gecjury.benchmarks") / "sample" / name
    return file.read_text(encoding="utf-8").splitlines()[:lines]


def lay(folder: Path) -> None:
    """Write every file that needs neither real data nor a model."""
    assert main(["data", "sample", str(folder / "texts")]) == 0
    shutil.copytree(REPOSITORY / "docs/examples", folder / "docs/examples")
    sources = sample("source.txt")
    texts = {name: sample(f"outputs/{output}.txt") for name, output in OUTPUTS.items()}
    texts |= {name: sample(f"reference{number}.txt") for name, number in REFERENCES.items()}
    for name, lines in {"source": sources, **texts}.items():
        write(folder / f"{name}.txt", lines)
    for name in ("a", "b"):
        write(folder / "post-edits" / f"{name}.txt", texts["ref"])
    _lay_edits(folder)
    _lay_answers(folder)
    _lay_dataset(folder, sources, texts)
    _lay_benchmark(folder / "mine", sources, texts)
    _lay_tables(folder, sources, texts)
    _lay_essays(folder, sources, texts)
    columns = {"source": "source", "hypothesis": "outputs/careful", "references": "reference0"}
    lines = zip(*(sample(f"{name}.txt", 68) for name in columns.values()), strict=True)
    datasets.write(folder / "pairs.jsonl", [dict(zip(columns, row, strict=True)) for row in lines])
    page = (REPOSITORY / "docs/guides/data.md").read_text(encoding="utf-8")
    write(folder / "spanish.csv", page.partition("```csv\n")[2].partition("\n```")[0].split("\n"))
    study = ['benchmarks = ["sample", "mine"]', 'metrics = ["green", "changes"]']
    write(folder / "study.toml", [*study, "[settings]", "resamples = 50"])
    write(folder / "free.txt", ["changes", "gleu"])
    write(folder / "two.txt", ["changes", "green"])
    write(folder / "judged.csv", JUDGED)
    write(folder / "teacher.txt", prompt_text("pointwise").splitlines())
    score_dataset(
        folder / "pairs",
        folder / "stored-scores",
        metrics=["green"],
        columns={"source": "source", "hypothesis": ["mine", "other"]},
    )


def write(path: Path, lines: list[str]) -> None:
    """Write one sentence per line; create missing folders."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _lay_edits(folder: Path) -> None:
    """Write edits from the aligner as M2 files with the names used in the documentation."""
    for text, name in (("ref", "gold"), ("mine", "mine"), ("ref", "a"), ("ref1", "b")):
        words = ["edits", str(folder / "source.txt"), str(folder / f"{text}.txt")]
        assert main([*words, "-o", str(folder / f"{name}.m2")]) == 0


def _lay_answers(folder: Path) -> None:
    """Write rankings and verdicts on edits as `gecjury annotate` does."""
    texts = [
        'source = "source.txt"',
        'outputs = ["mine.txt", "old.txt"]',
        'references = ["ref.txt"]',
    ]
    ranks = [f"{n},{name},{n % 2 + 1},anna" for n in range(1, LINES) for name in ("mine", "old")]
    write(folder / "judgments.csv", ["sentence,system,rank,annotator", *ranks])
    write(folder / "judgments.toml", [*texts, 'judgments = "judgments.csv"'])
    verdicts, sentence = [], 0
    for line in (folder / "mine.m2").read_text(encoding="utf-8").splitlines():
        sentence += line.startswith("S ")
        if line.startswith("A ") and "noop" not in line:
            span, _, correction, *_ = line[2:].split("|||")
            valid = ("right", "wrong")[len(verdicts) % 2]
            verdicts.append(f'{sentence},mine,{span.replace(" ", ",")},"{correction}",{valid},anna')
    write(folder / "edits.csv", ["sentence,system,start,end,correction,valid,annotator", *verdicts])
    write(folder / "edits.toml", [*texts, 'verdicts = "edits.csv"'])


def _lay_essays(folder: Path, sources: list[str], texts: dict[str, list[str]]) -> None:
    """Write essays of five sentences each, in MultiGEC's layout."""
    names = {"mine": "mine", "theirs": "theirs"}
    for corpus in ("sv-swell_gold", "uk-ua_gec"):
        names |= {
            f"{corpus}-orig-dev": "",
            f"{corpus}-ref1-dev": "ref",
            f"{corpus}-ref2-dev": "ref1",
        }
    for name, text in names.items():
        lines = texts.get(text, sources)
        write(
            folder / f"{name}.md",
            [
                line
                for number, start in enumerate(range(0, LINES, 5))
                for line in (f"### essay_id = {number}", *lines[start : start + 5], "")
            ],
        )


def _lay_dataset(folder: Path, sources: list[str], texts: dict[str, list[str]]) -> None:
    rows = [
        {
            "id": f"r{row}", "source": source, "original": source, "hypothesis": texts["mine"][row],
            "mine": texts["mine"][row], "other": texts["other"][row],
            "references": [texts["ref0"][row], texts["ref1"][row]],
        }
        for row, source in enumerate(sources)
    ]  # fmt: skip
    for number in range(2):
        datasets.write(folder / "pairs" / f"{number}.jsonl", rows[number::2])


def _lay_benchmark(folder: Path, sources: list[str], texts: dict[str, list[str]]) -> None:
    """Write a folder with ratings, in the layout of docs/guides/data.md."""
    systems = {"baseline": texts["old"], "new-model": texts["mine"], "old-model": texts["theirs"]}
    write(folder / "source.txt", sources)
    for name, lines in systems.items():
        write(folder / "outputs" / f"{name}.txt", lines)
    write(folder / "references" / "expert.txt", texts["ref"])
    draw = random.Random(1)
    rows = ["sentence,system,score,annotator"]
    for line in range(1, len(sources) + 1):
        for annotator in ("anna", "ben"):
            rows += [f"{line},{name},{draw.randint(1, 5)},{annotator}" for name in systems]
    write(folder / "judgments.csv", rows)


def _lay_tables(folder: Path, sources: list[str], texts: dict[str, list[str]]) -> None:
    draw = random.Random(2)
    names = ("a", "b")
    rows = [f"{name}\t{line}\t{draw.random():.3f}" for name in names for line in range(1, 21)]
    write(folder / "mine.tsv", ["system\tline\tscore", *rows])
    for name, between, columns in (
        ("ratings.csv", ",", ("grammaticality", "fluency", "meaning")),
        ("ratings.tsv", "\t", ("rater1", "rater2", "rater3", "flu")),
    ):
        lines = [between.join(("src", "hyp", *columns))]
        for text in ("mine", "theirs", "old"):
            for pair in zip(sources, texts[text], strict=True):
                quoted = [f'"{sentence}"' for sentence in pair]
                lines.append(between.join([*quoted, *(str(draw.randint(1, 5)) for _ in columns)]))
        write(folder / name, lines)
    pairs = list(zip(tiny.sentences(80), tiny.sentences(80, 1), strict=True))
    rows = [{"id": n, "source": source, "output": text} for n, (source, text) in enumerate(pairs)]
    datasets.write(folder / "rows.jsonl", rows)
    scores = (f"{draw.random():.3f}" for _ in pairs)
    lines = ["\t".join((*pair, score, score)) for pair, score in zip(pairs, scores, strict=True)]
    write(folder / "scored.tsv", ["source\toutput\tsome\tsum", *lines])
    labelled = []
    for sentence in tiny.sentences(40):
        labelled += [f"{word}\t{draw.choice('cci')}" for word in sentence.split()] + [""]
    write(folder / "mine_train.tsv", labelled)


def lay_seeda(folder: Path, data: Path) -> None:
    """Write random scores of SEEDA's systems, like those of another metric, and link its files."""
    (folder / "SEEDA").symlink_to(data / "SEEDA")
    gold = (data / "conll14" / "official-2014.combined.m2").read_text(encoding="utf-8")
    write(folder / "official-2014.combined.m2", gold.splitlines())
    sources = [line[2:] for line in gold.splitlines() if line.startswith("S ")]
    write(folder / "conll14.txt", sources)
    corpus = load_benchmark("seeda").corpus
    draw = random.Random(3)
    rows = ["system\tline\tscore"]
    for name in corpus.names:
        rows += [f"{name}\t{line}\t{draw.random():.3f}" for line in range(1, len(corpus) + 1)]
    write(folder / "seeda.tsv", rows)


def lay_models(folder: Path) -> None:
    """Train models of two layers with the names used in the documentation.

    Training takes seconds, and the models are useless.
    """
    encoder = tiny.encoder(folder / "tiny-encoder")
    tiny.language_model(folder / "tiny-lm")
    make_tiny_model(folder / "tiny-judge", context=2048)
    write(folder / "texts.src", tiny.sentences(80))
    write(folder / "texts.trg", tiny.sentences(80, 1))
    few = ["--encoder", str(encoder), "--epochs", "1", "--device", "cpu", "--leakage", "none"]
    for name in ("my-some", "DIR"):
        ratings = tiny.ratings(folder / "tiny-ratings.tsv")
        words = ["train", "some", str(ratings), *tiny.COLUMNS, "--scale", "1:4"]
        assert main([*words, "-o", str(folder / name), *few]) == 0
    pairs = f"{folder / 'texts.src'},{folder / 'texts.trg'}"
    words = ["train", "impara", pairs, "--pairs", "64"]
    assert main([*words, "-o", str(folder / "my-impara"), *few]) == 0
