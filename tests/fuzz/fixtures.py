"""Valid inputs, small enough for thousands of runs in minutes."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from tests.fuzz.mutate import dumps

SOURCE = ["This are a sentence .", "He go home now .", "All is well here .", "She like cat ."]
A = ["This is a sentence .", "He goes home now .", "All is well here .", "She likes cats ."]
B = ["This are a sentence .", "He went home now .", "All well here .", "She like a cat ."]
C = ["These are sentences .", "He goes home .", "All is well here !", "She likes cat ."]
REF = ["This is a sentence .", "He goes home now .", "All is well here .", "She likes cats ."]
GOLD = """\
S This are a sentence .
A 1 2|||R:VERB:SVA|||is|||REQUIRED|||-NONE-|||0
A 0 2|||R:OTHER|||These are|||REQUIRED|||-NONE-|||1
A 2 3|||U:DET||||||REQUIRED|||-NONE-|||1

S He go home now .
A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||0
A 1 2|||R:VERB|||went|||REQUIRED|||-NONE-|||1

S All is well here .
A -1 -1|||noop|||-NONE-|||REQUIRED|||-NONE-|||0

S She like cat .
A 1 2|||R:VERB:SVA|||likes|||REQUIRED|||-NONE-|||0
A 2 3|||R:NOUN:NUM|||cats|||REQUIRED|||-NONE-|||0
A 2 2|||M:DET|||a|||REQUIRED|||-NONE-|||1

"""
RATINGS = "sentence,system,score,annotator,aspect\n" + "".join(
    f"{line},{name},{(line * 7 + place * 3) % 5 + 1},{who},{aspect}\n"
    for aspect in ("fluency", "meaning")
    for who in ("anna", "ben")
    for line in range(1, 5)
    for place, name in enumerate("abc")
)
PREFERENCES = "sentence;system_a;system_b;preference;annotator\n" + "".join(
    f"{line};{x};{y};{'ab=<>'[(line + n) % 5]};anna\n"
    for line in range(1, 5)
    for n, (x, y) in enumerate(("ab", "bc", "ac"))
)
RANKINGS = "sentence\tsystem\trank\tannotator\titem\n" + "".join(
    f"{line}\t{name}\t{(line + place) % 3 + 1}\t{who}\tone\n"
    for who in ("anna", "ben")
    for line in range(1, 5)
    for place, name in enumerate("abc")
)
JUDGMENTS_XML = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<appraise-results>\n'
    '<error-correction-ranking-result source-language="err" id="own" target-language="cor">\n'
    + "".join(
        f'<ranking-item src-id="{line}" doc-id="d" id="{line}" user="{who}">\n'
        f'<translation system="a" rank="{line % 3 + 1}" />\n'
        f'<translation system="b c" rank="{(line + 1) % 3 + 1}" />\n</ranking-item>\n'
        for who in ("anna", "ben")
        for line in range(1, 5)
    )
    + "</error-correction-ranking-result>\n</appraise-results>\n"
)
BENCHMARK_TOML = """\
name = "study"
citation = "Whom to cite."
source = "source.txt"
outputs = ["outputs/*.txt"]
references = ["ref.txt"]
gold = "gold.m2"
judgments = {sentence = "judgments.csv"}
first_sentence = 1
unknown_systems = "skip"

[system_sets]
base = ["a", "b", "c"]
two = ["a", "b"]
"""
SCORES_LONG = "system\tline\tscore\n" + "".join(
    f"{name}\t{line}\t{(line * 3 + place) % 7 / 7}\n"
    for place, name in enumerate("abc")
    for line in range(1, 5)
)
PRICES = {
    "date": "2026-01-01",
    "currency": "EUR",
    "note": "of nobody",
    "batch_factor": 0.5,
    "families": {"gpt-4o": {"reasoning": "never", "schema": True}, "m": {"reasoning": "optional"}},
    "models": {
        "m": {"input": 1.0, "output": 2.0, "ends": "2027-01-14"},
        "gpt-4o": {"input": 2.5, "output": 10},
    },
}
MEMBERS = "# a sum\ngleu\ngreen:n=2,unit=char\n\nchanges\n"
RATED = [
    {"output": text, "source": source, "grammaticality": [n % 3 + 1, 4 - n % 2],
     "fluency": n % 3 + 1, "meaning": 4 - n % 4,
     "split": ("train", "train", "train", "dev", "test")[n % 5]}
    for n, (text, source) in enumerate([*zip(A, SOURCE, strict=True), *zip(B, SOURCE, strict=True),
                                        *zip(C, SOURCE, strict=True)])
]  # fmt: skip
_SYSTEMS = ("amu", "lstm", "lstm-r", "marian", "nus", "source", "transformer")
GMEG = {
    **{f"GMEG/data/dev/yahoo/{name}": (A, B, C)[n % 3] for n, name in enumerate(_SYSTEMS)},
    **{f"GMEG/data/dev/yahoo/ref{n}": (REF, A, C, B)[n] for n in range(4)},
    "GMEG/data/dev/yahoo/source": SOURCE,
    "GMEG/data/dev/yahoo-corpus-scores.csv": ["system,score"] + [
        f"{name},{40 + n}" for n, name in enumerate((*_SYSTEMS, "ref"))],
    "GMEG/data/dev/yahoo-segment-scores.csv": [",".join((*_SYSTEMS, "ref"))] + [
        ",".join(str((n * 13 + line * 7) % 100) for n in range(8)) for line in range(4)],
}  # fmt: skip


DATASET = [
    {"id": f"r{n}", "source": source, "a": a, "b": b, "references": [ref]}
    for n, (source, a, b, ref) in enumerate(zip(SOURCE, A, B, REF, strict=True))
]


def dataset_words(path: Path) -> list[str]:
    """Return the command line that scores `DATASET` in a file, without the results folder."""
    roles = ("id=id", "source=source", "hypothesis=a", "hypothesis=b", "references=references")
    columns = [word for role in roles for word in ("--column", role)]
    return ["score", str(path), *columns, "-m", "gleu", "-m", "changes"]


def make_answers(task: Any) -> None:
    """Write judgments of two annotators to the current folder, one undone and one skipped."""
    from gecjury.web import Annotation
    from gecjury.web.answers import ItemAnswer
    from gecjury.web.study import open_study

    settings = Annotation(
        source="source.txt", outputs=("a.txt", "b.txt"), output="j.csv", references=("ref.txt",),
        task=task,
    )  # fmt: skip
    study = open_study(settings)
    try:
        for name in ("anna", "ben"):
            for number, item in enumerate(study.items):
                time = f"2026-01-01T00:00:{number:02}"
                values = tuple(1 + (number + place) % 2 for place in range(item.values))
                study.journal.save(
                    ItemAnswer(f"key{number}", name, item.id, item.row + 1, item.systems, values,
                           comment="so" * (number % 2), seconds=2.5, time=time)
                )  # fmt: skip
        study.journal.undo("ben", time)
        study.journal.skip("ben", study.items[-1].id, time)
    finally:
        study.journal.close()


def text(lines: list[str]) -> bytes:
    """Return the contents of a text file."""
    return ("\n".join(lines) + "\n").encode()


def rows_json(key: str, lines: list[str]) -> list[Any]:
    """Return the objects of a JSON-lines file."""
    return [{key: line} for line in lines]


def numbers() -> dict[str, list[float | None]]:
    """Return scores by system."""
    return {"a": [0.1, 0.2, None, 0.4], "b": [1, 0, 0.5, 0.25], "c": [0.3, 0.3, 0.3, 0.3]}


def make_models(folder: Path) -> None:
    """Write a tiny SOME, IMPARA, encoder, language model and error detector."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from tests import tiny

    tiny.encoder(folder / "encoder")
    tiny.language_model(folder / "language")
    tiny.encoder(folder / "detector", outputs=2)
    words = tiny.tokenizer()

    def head(path: Path, labels: tuple[str, ...]) -> None:
        torch.manual_seed(1)
        config = BertConfig(
            vocab_size=len(words), hidden_size=8, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=8, max_position_embeddings=64, num_labels=len(labels),
            id2label=dict(enumerate(labels)), label2id={b: a for a, b in enumerate(labels)},
        )  # fmt: skip
        BertForSequenceClassification(config).save_pretrained(path)
        words.save_pretrained(path)

    some = folder / "some"
    record: dict[str, Any] = {
        "format": "gecjury-some/1", "max_length": 32, "scale": [1, 4],
        "members": [
            {"path": "both", "aspects": ["grammaticality", "fluency"]},
            {"path": "meaning", "aspects": ["meaning"]},
        ],
    }  # fmt: skip
    head(some / "both", ("grammaticality", "fluency"))
    head(some / "meaning", ("meaning",))
    (some / "gecjury.json").write_text(json.dumps(record))
    (some / "training-sentences.txt").write_text("0123456789abcdef\n")
    impara = folder / "impara"
    head(impara, ("rank",))
    record = {"format": "gecjury-impara/1", "encoder": "embedded", "max_length": 32}
    (impara / "gecjury.json").write_text(json.dumps(record))
    (impara / "training-sentences.txt").write_text("0123456789abcdef\n")


def make_store(url: str) -> list[dict[str, Any]]:
    """Return the lines of a store of two replies, without their checksums."""
    from gecjury.judges.exchange import Reply, Request

    identity = {"backend": "openai", "model": "m", "base_url": url, "prompt": "llm-s-v1:0123abcd"}
    lines: list[dict[str, Any]] = [{"format": "gecjury-judgments/1", "identity": identity}]
    for number in range(2):
        request = Request(
            backend="openai", model="m", base_url=url, prompt=identity["prompt"],
            messages=({"role": "user", "content": f"Which? {number}"},), schema=None,
            sampling={"temperature": 0, "max_tokens": 10},
        )  # fmt: skip
        reply = Reply('{"target1_score": 3}', input_tokens=10, output_tokens=4, cost=0.1)
        lines.append({"key": request.key, "parts": request.parts, "reply": asdict(reply)})
    return lines


def sealed(record: Any) -> bytes:
    """Return a record as a line of a store, with its correct checksum."""
    from gecjury.judges.asking import store

    if not isinstance(record, dict):
        return dumps(record) + b"\n"
    try:
        return store._line(record)
    except (ValueError, TypeError, UnicodeError):
        return dumps(record) + b"\n"
