"""One reading: the same forty sentences have one score, whatever way they arrive."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import gecjury
from gecjury.core.wording import READING
from gecjury.corpus.groups import distinct
from gecjury.corpus.remarks import remarks_on
from gecjury.corpus.tokens import is_raw, tokeniser
from gecjury.web.trying import pasted

# Sources, outputs and references in ten forms: raw and tokenised, with plain, typographic, German
# and TeX's marks, dashes of every kind, invisible characters, and lines of one form in texts of
# another. Row by row the same corrections are made in four wordings.
SOURCES = (
    "{0} said “it don’t matter”, and left – at last…",
    '{0} said "it don\'t matter", and left - at last...',
    "{0} said ``it do n't matter '' , and left -- at last ...",
    "{0} has a well-known dog, which bark.",
    "{0} has a well‑known dog, which bark.",
    "{0} has a well-known dog , which bark .",
    "From 3–4 {0} go home; it’s late!",
    "From 3-4 {0} go home ; it 's late !",
    "{0} wrote „no“ in\u00adside the books.",
    "{0} (a old friend) can’t swim—or so I heared.",
)
OUTPUTS = (
    '{0} said "it doesn\'t matter", and left - at last...',
    "{0} said “it doesn’t matter”, and left — at last…",
    "{0} said “it doesn’t matter”, and left – at last…",
    "{0} has a well-known dog , which barks .",
    "{0} has a well-known dog, which barks.",
    "{0} has a well‑known dog, which bark.",
    "From 3-4 {0} goes home; it's late!",
    "From 3—4 {0} goes home; itʼs late!",
    "{0} wrote »no« inside the book.",
    "{0} (an old friend) ca n't swim -- or so I heard .",
)
REFERENCES = (
    "{0} said „it doesn’t matter“, and left — at last…",
    '{0} said " it does n\'t matter " , and left - at last ...',
    '{0} said "it doesn\'t matter", and left -- at last...',
    "{0} has a well‑known dog, which barks.",
    "{0} has a well-known dog, which barks.",
    "{0} has a well-known dog , which barks .",
    "From 3–4 {0} goes home; it’s late!",
    "From 3-4 {0} goes home ; it 's late !",
    '{0} wrote "no" inside the book.',
    "{0} (an old friend) can't swim--or so I have heard.",
)
NAMES = ("He", "She", "Ann", "Mr. Ito")
TEXTS = [
    [line.format(name) for name in NAMES for line in side]
    for side in (SOURCES, OUTPUTS, REFERENCES)
]
METRICS = ("errant", "sent-errant", "green", "green:unit=char", "gleu", "gleu-official", "cleme",
           "cleme2", "i-measure", "changes")  # fmt: skip
ONLY_WITH_GOLD = ("m2", "sentm2")


def of_files(write: Callable[[str, str, Sequence[str]], object], ending: str) -> list[str]:
    """Write the three texts and return the arguments of `score`."""
    for role, name, lines in zip(
        ("source", "text", "text"), ("s", "mine", "r"), TEXTS, strict=True
    ):
        write(f"{name}{ending}", role, lines)
    return [f"s{ending}", f"mine{ending}", "-r", f"r{ending}"]


def as_text(name: str, role: str, lines: Sequence[str]) -> None:
    Path(name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def as_csv(name: str, role: str, lines: Sequence[str]) -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, delimiter="\t" if name.endswith(".tsv") else ",")
        rows.writerows([[role], *([line] for line in lines)])


def as_json_lines(name: str, role: str, lines: Sequence[str]) -> None:
    as_text(name, role, [json.dumps({role: line}) for line in lines])


def as_workbook(name: str, role: str, lines: Sequence[str]) -> None:
    book = pytest.importorskip("openpyxl").Workbook()
    for row in ([role], *([line] for line in lines)):
        book.active.append(row)
    book.save(name)


def rows_of_dataset() -> list[dict[str, object]]:
    return [
        {"source": source, "hypothesis": output, "references": [reference]}
        for source, output, reference in zip(*TEXTS, strict=True)
    ]


Table = dict[str, list[float]]


def by_command(shell: object, arguments: Sequence[str], metrics: Sequence[str] = METRICS) -> Table:
    named = [word for metric in metrics for word in ("-m", metric)]
    out, _ = shell.ended(
        "score", *arguments, *named, "--sentences", "--format", "json", "--no-cache"
    )  # type: ignore[attr-defined]
    return {
        metric: row["sentences"]
        for metric, row in zip(metrics, json.loads(out)["rows"], strict=True)
    }


@pytest.fixture
def expected(shell: object) -> Table:
    return by_command(shell, of_files(as_text, ".txt"))


def test_corrections_that_differ_in_signs_are_right(expected: Table) -> None:
    # Of ten wordings, one output leaves an error, and one changes a word less than its reference.
    for metric in ("errant", "green", "cleme"):
        right = [row for row, score in enumerate(expected[metric][:10]) if score == 1.0]
        assert right == [0, 1, 2, 3, 4, 6, 7, 8], metric


@pytest.mark.parametrize(
    ("write", "ending"),
    [
        (as_csv, ".csv"),
        (as_csv, ".tsv"),
        (as_json_lines, ".jsonl"),
        (as_workbook, ".xlsx"),
        (as_text, ".parquet"),
    ],
)
def test_tables(shell: object, expected: Table, write: Callable[..., None], ending: str) -> None:
    if ending == ".parquet":
        # A Parquet file is a data set, with all texts in its columns.
        columns = {
            "source": TEXTS[0],
            "hypothesis": TEXTS[1],
            "references": [[r] for r in TEXTS[2]],
        }
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table(columns), "rows.parquet")
        assert of_dataset("rows.parquet") == {metric: expected[metric] for metric in ROW_METRICS}
        return
    assert by_command(shell, of_files(write, ending)) == expected


ROW_METRICS = tuple(metric for metric in METRICS if metric != "gleu-official")


def of_dataset(name: str) -> Table:
    from tests.datasets import read

    folder = Path(name.removeprefix("hf:") + ".out")
    result = gecjury.score_dataset(name, folder, metrics=ROW_METRICS)
    assert any(note.startswith(READING) for note in result.results.notes)
    rows = read(folder)
    labels = [row["metric"] for row in result.rows()]
    return {m: [row[label] for row in rows] for m, label in zip(ROW_METRICS, labels, strict=True)}


def test_data_sets(shell: object, expected: Table) -> None:
    lines = [json.dumps(row) for row in rows_of_dataset()]
    as_text("rows.jsonl", "", lines)
    wanted = {metric: expected[metric] for metric in ROW_METRICS}
    assert of_dataset("rows.jsonl") == wanted
    datasets = pytest.importorskip("datasets")
    datasets.Dataset.from_list(rows_of_dataset()).save_to_disk("hub")
    assert of_dataset("hf:hub") == wanted


def test_m2_files(shell: object, expected: Table) -> None:
    as_text("s.txt", "", TEXTS[0])
    as_text("mine.txt", "", TEXTS[1])
    as_text("r.txt", "", TEXTS[2])
    shell.ended("edits", "s.txt", "r.txt", "-o", "gold.m2")  # type: ignore[attr-defined]
    made = Path("gold.m2").read_text(encoding="utf-8")
    # Whoever made the file may have kept the signs of the text.
    Path("gold.m2").write_text(
        re.sub(r"^S .*", lambda s: s[0].replace("'", "’"), made, flags=re.M), encoding="utf-8"
    )
    by_m2 = by_command(shell, ["s.txt", "mine.txt", "-r", "gold.m2"])
    # The file has tokens, and no metric can know which blanks its authors wrote.
    without = {metric: scores for metric, scores in expected.items() if "char" not in metric}
    assert {metric: by_m2[metric] for metric in without} == without
    gold = by_command(shell, ["s.txt", "mine.txt", "-r", "gold.m2"], ONLY_WITH_GOLD)
    assert gold["sentm2"][:8] == expected["errant"][:8]


def test_python(expected: Table, shell: object) -> None:
    of_files(as_text, ".txt")
    sources, outputs, references = TEXTS
    ways = [
        gecjury.read_corpus("s.txt", ["mine.txt"], ["r.txt"]),
        gecjury.corpus_of_texts(sources, {"mine": outputs}, [references]),
        pasted("\n".join(sources), [("mine", "\n".join(outputs))], ["\n".join(references)]),
    ]
    # Encoders, language models and judges get the same texts, too.
    texts = [corpus.as_text() for corpus in ways]
    assert len({(t.sources, t.systems["mine"].lines, t.references[0].lines) for t in texts}) == 1
    for metric in METRICS:
        scorer = gecjury.load(metric)
        for corpus in ways:
            assert scorer.score_corpus(corpus).sentences[0].tolist() == expected[metric]
        assert scorer.score(sources, outputs, references).sentences[0].tolist() == expected[metric]
        assert gecjury.reward(metric)(sources, outputs, references) == expected[metric]


def test_readers_of_text_get_one_text_for_outputs_that_differ_in_signs() -> None:
    sources = ["It don't matter."]
    corpus = gecjury.corpus_of_texts(
        sources, {"a": ["It doesn’t matter."], "b": ["It doesn't matter."]}
    )
    assert distinct(corpus.as_text(), 0) == {"It doesn't matter.": ["a", "b"]}
    assert distinct(corpus, 0) == {"It does n't matter .": ["a", "b"]}


def test_what_the_note_says_is_true_of_what_metrics_get() -> None:
    sources, outputs, references = TEXTS
    corpus = gecjury.corpus_of_texts(sources, {"mine": outputs}, [references])
    note = remarks_on(corpus, ["references"])[-1]
    raw = "raw text in the source, system mine and reference 1"
    assert note.startswith(f"{READING}{raw}: every text is cut into tokens by the rules `en`")
    cut = tokeniser("en")
    seen = [corpus.sources, corpus.systems["mine"].lines, corpus.references[0].lines]
    for lines in seen:
        assert not any(map(is_raw, lines))
        assert all(" ".join(cut(line)) == line for line in lines)
    # The named classes have one form each, in tokens and in the text that other metrics get.
    assert "apostrophes, dashes, ellipses and quotation marks in other forms" in note
    text = corpus.as_text()
    for lines in (*seen, text.sources, text.systems["mine"].lines, text.references[0].lines):
        assert not re.search("[^\x00-\x7f]", " ".join(lines))


def test_nothing_is_said_where_nothing_was_done() -> None:
    corpus = gecjury.corpus_of_texts(["He go ."], {"a": ["He goes ."]}, [["He went ."]])
    assert remarks_on(corpus, ["references"]) == ()
    assert corpus.language.plain


def test_space_and_none_read_texts_as_they_are(shell: object) -> None:
    arguments = [*of_files(as_text, ".txt"), "--tokens", "space", "--fold", "none"]
    scores = by_command(shell, arguments, ["changes"])["changes"]
    sources, outputs, _ = TEXTS
    assert [score > 0 for score in scores] == [
        a.split() != b.split() for a, b in zip(sources, outputs, strict=True)
    ]
