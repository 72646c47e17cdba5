"""Kinds of input that involve servers: stores of replies, prices, replies, downloads."""

from __future__ import annotations

import json
import os
from typing import Any

from tests.fuzz import fixtures
from tests.fuzz.box import Box, Case, Seed, texts
from tests.fuzz.mutate import dumps


def stores(box: Box) -> Case:
    """12: stored replies: exported, imported, and used again."""
    if box.rng.random() < 0.25:
        return _used_again(box)
    url = "http://127.0.0.1:9/v1"
    rows = fixtures.make_store(url)
    if box.rng.random() < 0.8:
        at = box.rng.choice((0, 0, 1, 2))
        rows[at] = box.mutate.tree(rows[at], paths=True)
        if isinstance(rows[at], dict) and isinstance(rows[at].get("parts"), dict):
            rows[at]["key"] = _key(rows[at]["parts"])
        box.spoiled.append(f"line {at + 1}")
    data = b"".join(fixtures.sealed(row) for row in rows)
    if box.rng.random() < 0.3:
        data = box.mutate.lines(data) if box.rng.random() < 0.5 else box.mutate.flat(data)
        box.spoiled.append("bytes")
    box.put("replies.jsonl", data)
    if box.rng.random() < 0.5:
        return Case(["judgments", "import", "replies.jsonl", "--cache", "cache", "--quiet"])
    from gecjury.judges.asking import transfer

    folder = getattr(transfer, "FOLDER", "judgments")
    name = box.rng.choice(("llm-s-v1-m-0123456789ab.jsonl", "x.jsonl", "..jsonl"))
    box.put(f"cache/{folder}/{name}", data)
    if box.rng.random() < 0.5:
        return Case(["judgments", "list", "--cache", "cache", "--format", "json"], silent=True)
    argv = ["judgments", "export", "all.jsonl", "--cache", "cache"]
    return Case(argv + [name.removesuffix(".jsonl")] * box.rng.randrange(2))


def _used_again(box: Box) -> Case:
    """A store written by a judge and changed before the judge is called again."""
    server = box.shelf.server("judge")
    server.script = "sound"
    box.shelf.hasten()
    for key, seed in texts().items():
        box.put(key, seed.plain())
    metric = f"llm-s:model=m,base_url={server.url},tries=1"
    argv = ["score", "source.txt", "a.txt", "b.txt", "-m", metric, "--cache", "cache", "--quiet"]
    box.gecjury(argv)
    (path,) = (box.folder / "cache").rglob("*.jsonl")
    rows = [json.loads(line) for line in path.read_bytes().splitlines()]
    for row in rows:
        row.pop("sum", None)
    at = box.rng.randrange(len(rows))
    roll = box.rng.random()
    if roll < 0.6 and isinstance(rows[at].get("reply"), dict):
        rows[at]["reply"] = box.mutate.tree(rows[at]["reply"])
    elif roll < 0.9:
        rows[at] = box.mutate.tree(rows[at])
    data = b"".join(fixtures.sealed(row) for row in rows)
    if roll > 0.8:
        data = box.mutate.flat(data)
    path.write_bytes(data)
    box.spoiled.append(f"line {at + 1}")
    return Case([*argv, "--format", box.rng.choice(("table", "json"))])


def _key(parts: Any) -> str:
    from gecjury.judges.exchange import key_of

    try:
        return key_of(parts)
    except (TypeError, ValueError, RecursionError):
        return "0" * 32


def prices(box: Box) -> Case:
    """13: price tables."""
    files = {**texts(), "cache/prices.json": Seed(fixtures.PRICES, "json")}
    box.lay(files, likely=("cache/prices.json",) * 5)
    url = box.shelf.server("judge").url
    model = box.rng.choice(("m", "m", "gpt-4o", "gpt-4o-2024-08-06", "unknown"))
    argv = ["score", "source.txt", "a.txt", "b.txt", "-m", f"llm-s:model={model},base_url={url}",
            "--dry-run"]  # fmt: skip
    argv += box.rng.choice(([], ["--batch"], ["--max-cost", "1"], ["--max-cost", "nan"]))
    asked = box.shelf.server("judge")
    return Case(box.tail(*argv), unusable=box.unless("ref.txt"), unasked=asked)


def replies(box: Box) -> Case:
    """14: a server for judges that gives arbitrary answers."""
    server = box.shelf.server("judge")
    box.shelf.hasten()
    server.behave_as(box.rng)
    box.spoiled.append(server.script)
    for key, seed in texts().items():
        box.put(key, seed.plain())
    name = box.rng.choice(("llm-s", "llm-s", "llm-s", "llm-e", "edit-verdict"))
    options = box.rng.choice(("", "", ",structured=text", ",structured=schema", ",repeats=2", *(
        () if name == "edit-verdict" else
        (",protocol=pointwise", ",protocol=pairwise", ",scoring=expected", ",orders=2",
         ",criterion=impact" if name == "llm-e" else ",criterion=fluency")
    )))  # fmt: skip
    metric = f"{name}:model=m,base_url={server.url},tries=1{options}"
    argv = ["score", "source.txt", "a.txt", "b.txt", "-m", metric, "--concurrency", "2",
            "--api-key-env", "OPENAI_API_KEY"]  # fmt: skip
    argv += box.rng.choice(([], [], ["--sentences"], ["--max-cost", "0.001"]))
    box.put("cache/prices.json", dumps(fixtures.PRICES))
    return Case(box.tail(*argv))


def downloads(box: Box) -> Case:
    """16: data fetched from a server that gives arbitrary answers."""
    server = box.shelf.server("files")
    server.behave_as(box.rng)
    box.spoiled.append(server.script)
    name = box.rng.choice(("gug", "tmu-gfm", "conll14-errant"))
    os.environ["GECJURY_DATA_URL"] = server.url
    argv = ["data", "fetch", name, *box.rng.choice(([], ["--data", "mine"]))]
    return Case(box.tail(*argv), unusable="a hostile server has no file of the right checksum")
