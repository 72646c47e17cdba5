"""Kinds of input that are folders or accompany files: results, journals, encoders."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

from tests.fuzz import fixtures
from tests.fuzz.box import Box, Case, Seed, texts


def results(box: Box) -> Case:
    """18: results folders of a dataset, resumed or read as scores."""
    made = box.shelf.results()
    shutil.copytree(made, box.folder / "out")
    if box.rng.random() < 0.5:
        (box.folder / "out/results.json").unlink()  # as if the run had been killed
    seeds = {}
    for path in sorted((box.folder / "out").rglob("*")):
        name = str(path.relative_to(box.folder))
        if path.suffix == ".json":
            seeds[name] = Seed(json.loads(path.read_bytes()), "json", paths=True)
        elif path.suffix in (".parquet", ".npy"):
            seeds[name] = Seed(path.read_bytes(), "flat")
    for name in seeds:
        (box.folder / name).unlink()
    box.lay(seeds, likely=(*["out/dataset.json"] * 3, *seeds))
    part = box.folder / "out/part-000000.parquet"
    if box.rng.random() < 0.3 and part.is_file() and not box.spoiled:
        _summary(box, part)
    if box.rng.random() < 0.4:
        for key, seed in texts().items():
            box.put(key, seed.plain())
        more = box.rng.choice((",metric=gleu", ",metric=changes", ""))
        argv = ["score", "source.txt", "a.txt", "b.txt", "-m", f"scores:file=out{more}"]
        return Case(box.tail(*argv))
    argv = fixtures.dataset_words(made.parent / "rows.jsonl")
    return Case(box.tail(*argv, "-o", "out"))


def _summary(box: Box, part: Path) -> None:
    """Corrupt the summary in the metadata of a Parquet part."""
    import pyarrow.parquet as parquet

    table = parquet.read_table(part)
    head = dict(table.schema.metadata)
    head[b"_summary"] = box.mutate.document(json.loads(head[b"_summary"]))
    parquet.write_table(table.replace_schema_metadata(head), part)
    box.spoiled.append("summary")


def journals(box: Box) -> Case:
    """19: answers of annotators, with the page that resumes from them."""
    task = box.rng.choice(("rank", "rate"))
    beside = box.shelf.answers(task)
    seeds = {
        "j.answers.jsonl": Seed(
            [json.loads(row) for row in beside["j.answers.jsonl"].splitlines()], "jsonl"
        ),
        "j.csv": Seed(beside["j.csv"], separator=","),
        "j.toml": Seed(beside["j.toml"], separator=" = "),
    }
    if box.rng.random() < 0.5:
        del seeds["j.csv"]  # written again
    for key, seed in texts().items():
        box.put(key, seed.plain())
    box.lay(seeds, likely=("j.answers.jsonl",) * 4)
    argv = ["annotate", "source.txt", "a.txt", "b.txt", "-r", "ref.txt", "-o", "j.csv", "--task",
            task, "--no-browser", "--cache", "cache", "--quiet"]  # fmt: skip
    return Case(argv, silent=True)


def visit(app: Any, listening: Any, ready: Any, browser: bool) -> None:
    """Replace the server of `annotate`: open each page once and report unexpected errors."""
    from starlette.testclient import TestClient

    ready("http://127.0.0.1/")
    client = TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False)
    client.get("/", params={"secret": app.secret})
    for address in ("/", "/overview", "/judge?as=anna&window=w", "/judge?as=eve&window=w"):
        found = client.get(address)
        if found.status_code >= 500:
            place = re.search(r"\((\w+, [\w.]+ line \d+)\)", found.text)
            where = place[1] if place else found.text[:80]
            print(f"Traceback (most recent call last): {where}", file=sys.stderr)


def _encoder(box: Box, name: str) -> str:
    """Copy a model of the shelf into a folder, corrupt some files and return the folder's name.

    The name is always new, since the process caches loaded models by name.
    """
    shelf = box.shelf.models() / name
    folder = f"{name}{box.rng.randrange(10**9)}"
    seeds = {}
    for path in sorted(shelf.rglob("*")):
        inner = f"{folder}/{path.relative_to(shelf)}"
        if path.suffix == ".json":
            seeds[inner] = Seed(_with_template(box, path), "json", paths=True)
        elif path.is_file():
            box.put(inner, path.read_bytes())
    likely = (f"{folder}/tokenizer.json", f"{folder}/tokenizer_config.json",
              f"{folder}/config.json")  # fmt: skip
    box.lay(seeds, likely=tuple(name for name in likely if name in seeds))
    return folder


_TEMPLATES = (
    "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
    "{% for i in range(9999) %}{{ messages[i].content }}{% endfor %}",
    "{{ ''.__class__.__mro__[1].__subclasses__() }}", "{{ raise_exception('no') }}", "{{ 1 / 0 }}",
    "{% include 'x' %}", "{{ messages | tojson(indent=9) }}", "{{ 'a' * 99999999 }}", "{% for %}",
    "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "{{ namespace(a=1).b.c }}",
)  # fmt: skip


def _with_template(box: Box, path: Path) -> Any:
    """Return the value of a JSON file; tokenizer settings sometimes get a chat template."""
    value = json.loads(path.read_bytes())
    if path.name == "tokenizer_config.json" and box.rng.random() < 0.5:
        value["chat_template"] = box.rng.choice(_TEMPLATES)
    return value


def encoders(box: Box) -> Case:
    """21: tokenizers and configurations of encoders, language models and judges."""
    for key, seed in texts().items():
        box.put(key, seed.plain())
    roll = box.rng.random()
    folder = _encoder(box, "encoder" if roll < 0.5 else "language")
    argv = ["score", "source.txt", "a.txt", "b.txt", "-r", "ref.txt", "-m"]
    if roll < 0.5:
        metric = box.rng.choice(("uot-errant:encoder=", "pt-errant:encoder="))
        argv += [metric + folder, "--device", "cpu"]
    elif roll < 0.7:
        argv += [f"scribendi:model={folder}", "--device", "cpu"]
    else:
        url = box.shelf.server("judge").url
        argv += [f"llm-s:model=./{folder}", "--dry-run", "--base-url", url]
    return Case(box.tail(*argv), unasked=box.shelf.server("judge"))


def detectors(box: Box) -> Case:
    """22: an encoder or an error detector that training starts from."""
    start = _encoder(box, "detector")
    rows = "".join(json.dumps(row) + "\n" for row in fixtures.RATED)
    box.put("rows.jsonl", rows.encode())
    argv = ["train", "some", "rows.jsonl", "-o", "trained", "--epochs", "1", "--max-length", "16",
            "--column", "split=split", "--device", "cpu", "--encoder"]  # fmt: skip
    if box.rng.random() < 0.6:
        argv += [str(box.shelf.models() / "encoder"), "--detector", start]
    else:
        argv += [start]
    return Case(box.tail(*argv, "--leakage", "none"))
