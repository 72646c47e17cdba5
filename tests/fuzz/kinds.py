"""The seventeen kinds of input: for each, sound files and a command line, then what spoils them."""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import os
import shutil
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import fixtures as fx
from tests.fuzz.mutate import HOSTILE, Mutator, dumps

__all__ = ["KINDS", "Box", "Case", "Shelf"]

FORMATS = ("table", "table", "json", "tsv", "markdown", "latex")
QUICK = (
    "gleu", "gleu", "green", "changes", "gleu-official", "errant", "cleme", "cleme2", "i-measure",
    "gotoscorer", "sent-errant", "green:unit=char",
)  # fmt: skip


@dataclass(frozen=True)
class Seed:
    """A sound file.

    Attributes:
        data: bytes, or the values that JSON forms are written from.
        form: `text`, `table` (cells apart by `separator`), `json`, `jsonl`, `flat` or `keep`.
        separator: between the cells of a table.
        paths: whether the texts of a JSON value name files.
    """

    data: Any
    form: str = "text"
    separator: str = ""
    paths: bool = False

    def plain(self) -> bytes:
        if self.form == "json":
            return dumps(self.data)
        if self.form == "jsonl":
            return b"".join(dumps(row) + b"\n" for row in self.data)
        return bytes(self.data)


@dataclass
class Case:
    """A command line with all that is needed to judge what it did.

    Attributes:
        argv: the words.
        stdin: what standard input holds.
        silent: whether it may print nothing although all is well.
        verbatim: whether standard output repeats texts as they are (M2, sentences).
        unusable: why an exit status of 0 would be wrong; empty where it would not.
        strays: whether the user's own words name places elsewhere.
    """

    argv: list[str]
    stdin: bytes = b""
    silent: bool = False
    verbatim: bool = False
    unusable: str = ""
    strays: bool = False


class Shelf:
    """What is made once a process: models, servers."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._servers: dict[str, Any] = {}

    def models(self) -> Path:
        """A folder with `some`, `impara` and `encoder`."""
        made = self.folder / "models"
        if not made.is_dir():
            import torch

            torch.set_num_threads(1)
            begun = self.folder / "begun"
            shutil.rmtree(begun, ignore_errors=True)
            fx.make_models(begun)
            begun.rename(made)
        return made

    def hasten(self) -> None:
        """Let waits between tries, which a judge takes by itself, be a hundredth of what they are."""
        from gecjury.judges.backends import openai

        if "backoff" not in self._servers:
            plain = self._servers["backoff"] = openai.backoff

            def backoff(attempt: int, asked: float | None, source: Random) -> float:
                return plain(attempt, asked, source) / (100 if asked is None else 1)

            openai.backoff = backoff

    def server(self, name: str) -> Any:
        """A hostile server by name, `judge` or `files`."""
        if name not in self._servers:
            from tests.fuzz import servers

            self._servers[name] = servers.SERVERS[name]()
        return self._servers[name]


@dataclass
class Box:
    """An input's folder with the generator that decides what goes into it."""

    folder: Path
    rng: Random
    shelf: Shelf
    spoiled: list[str] = field(default_factory=list)
    broken: str = ""

    @property
    def mutate(self) -> Mutator:
        return Mutator(self.rng)

    def put(self, name: str, data: bytes) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)

    def lay(self, seeds: Mapping[str, Seed], likely: tuple[str, ...] = (), most: int = 2) -> None:
        """Write files, some of them spoiled; of 20 inputs one is left sound."""
        names = list(seeds)
        roll = self.rng.random()
        count = 0 if roll < 0.05 else 1 if roll < 0.85 else min(most, len(names))
        chosen = set(self.rng.sample(names, count))
        if count and likely and self.rng.random() < 0.8:
            chosen = {self.rng.choice(likely)}
        for name, seed in seeds.items():
            data = seed.plain()
            if name not in chosen:
                self.put(name, data)
                continue
            self.spoiled.append(name)
            if self.rng.random() < 0.02:
                self._special(name, data)
                continue
            data = self.spoil(seed)
            self.put(name, data)
            self._note(name, seed, data)

    def spoil(self, seed: Seed) -> bytes:
        change, roll = self.mutate, self.rng.random()
        if seed.form == "json":
            return change.document(seed.data, seed.paths)
        if seed.form == "jsonl":
            if roll < 0.6:
                rows = list(seed.data)
                at = self.rng.randrange(len(rows))
                lines = [dumps(row) for row in rows]
                lines[at] = change.document(rows[at], seed.paths)
                return b"\n".join(lines) + b"\n"
            return change.lines(seed.plain()) if roll < 0.8 else change.flat(seed.plain())
        if seed.form == "flat":
            return change.flat(seed.data)
        return change.lines(seed.data, seed.separator) if roll < 0.65 else change.flat(seed.data)

    def _note(self, name: str, seed: Seed, data: bytes) -> None:
        """Why a file cannot be used, where that is plain without the program that is tried."""
        if data[:2] == b"\x1f\x8b":
            return
        try:
            body = data.decode("utf-8").removeprefix("\ufeff")
        except UnicodeDecodeError:
            if seed.form not in ("flat", "keep"):
                self.broken = f"{name} is not UTF-8"
            return
        if seed.form == "json":
            try:
                json.loads(body)
            except (ValueError, RecursionError):
                self.broken = f"{name} is not JSON"
        elif name.endswith(".toml"):
            try:
                tomllib.loads(body.replace("\r\n", "\n"))
            except (ValueError, RecursionError):
                self.broken = f"{name} is not TOML"
        elif not body:
            self.broken = f"{name} is empty"

    def _special(self, name: str, data: bytes) -> None:
        """Something that is no file."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        kind = self.rng.randrange(7)
        self.broken = f"{name} is no file"
        if kind == 0:
            path.mkdir()
        elif kind == 1:
            os.mkfifo(path)
        elif kind == 2:
            path.symlink_to(path.name)
        elif kind == 3:
            path.symlink_to("/proc/self/mem")
        elif kind == 4 and self.rng.random() < 0.2:
            path.symlink_to("/dev/zero")
        elif kind == 5:
            path.symlink_to("nowhere")
        else:
            self.broken = f"{name} is absent"

    def tail(self, *more: str) -> list[str]:
        """Options that commands share."""
        return [*more, "--format", self.rng.choice(FORMATS), "--cache", "cache", "--quiet"]

    def metric(self, count: int = 1) -> list[str]:
        return [word for name in self.rng.sample(QUICK, count) for word in ("-m", name)]


def _texts(box: Box) -> dict[str, Seed]:
    return {
        "source.txt": Seed(fx.text(fx.SOURCE)),
        "a.txt": Seed(fx.text(fx.A)),
        "b.txt": Seed(fx.text(fx.B)),
        "ref.txt": Seed(fx.text(fx.REF)),
    }


def _scoring(box: Box, files: list[str], *more: str) -> list[str]:
    """score, rank, check, attack or analyse over files."""
    choice = box.rng.randrange(8)
    if choice < 3:
        extra = [[], ["--sentences"], ["-o", "out"]][box.rng.randrange(3)]
        return ["score", *files, *box.metric(box.rng.choice((1, 1, 2))), *extra, *more]
    if choice < 5:
        ways = ["corpus", "mean", "trueskill", "expected-wins"]
        extra = ["--resamples", "20", "--permutations", "20", "--aggregate", box.rng.choice(ways)]
        return ["rank", *files, *box.metric(), *extra, *more]
    if choice == 5:
        return ["check", *files, *more]
    if choice == 6:
        return ["attack", *files, "-m", "gleu", "--resamples", "20", *more]
    return ["analyse", "edits", *files, *more]


def text_files(box: Box) -> Case:
    """1: sources, hypotheses, references as text."""
    box.lay(_texts(box))
    roll = box.rng.random()
    if roll < 0.15:
        argv = ["edits", "source.txt", "a.txt", "b.txt", *(["-o", "x.m2"] * (roll < 0.05))]
        return Case(box.tail(*argv), verbatim=True, silent=True, unusable=_used(box, "ref.txt"))
    if roll < 0.3:
        line = str(box.rng.choice((1, 2, 4, 5, 0, 10**20)))
        name = box.rng.choice(("errant", "cleme", "gotoscorer", "i-measure", "m2"))
        argv = ["explain", "source.txt", "a.txt", "ref.txt", "-m", name, "--line", line]
        argv += ["--attribution", "shapley"] * (roll < 0.2)
        return Case(box.tail(*argv))
    argv = _scoring(box, ["source.txt", "a.txt", "b.txt"], "-r", "ref.txt")
    return Case(box.tail(*argv), unusable=box.broken)


def _used(box: Box, *unused: str) -> str:
    return "" if any(box.broken.startswith(name) for name in unused) else box.broken


def m2_gold(box: Box) -> Case:
    """2: M2."""
    from tests.fuzz.mutate import HOSTILE as words

    seeds = {**_texts(box), "gold.m2": Seed(fx.GOLD.encode(), separator="|||"),
             "more.m2": Seed(fx.GOLD.replace("is|||", "was|||").encode())}  # fmt: skip
    box.lay(seeds, likely=("gold.m2", "gold.m2", "more.m2"))
    roll = box.rng.randrange(8)
    if roll < 3:
        action = box.rng.choice(("apply", "text", "check", "convert"))
        who = box.rng.choice(([], ["--annotator", "1"], ["--annotator", box.rng.choice(words)]))
        over = ["--overlaps", "keep"] * box.rng.randrange(2)
        files = ["gold.m2", "more.m2"][: box.rng.choice((1, 2))]
        argv = ["m2", action, *files, *who, *over, *(["-o", "x.out"] * (roll == 0))]
        return Case(box.tail(*argv), verbatim=True, silent=True,
                    unusable=box.broken if box.broken.startswith("gold") else "")  # fmt: skip
    if roll < 5:
        name = box.rng.choice(("m2", "sentm2", "errant", "gleu"))
        how = ["--m2", "gold.m2"] + (["-r", "gold.m2"] if name in ("errant", "gleu") else [])
        argv = ["score", "source.txt", "a.txt", "b.txt", "-m", name, *how]
        return Case(box.tail(*argv), unusable=_used(box, "ref.txt", "more.m2"))
    if roll < 6:
        argv = ["score", "gold.m2", "a.txt", "b.txt", "-m", "gleu", "-r", "more.m2"]
        return Case(box.tail(*argv), unusable=_used(box, "ref.txt", "source.txt"))
    argv = ["maege", "gold.m2", "-m", box.rng.choice(("gleu", "green", "changes")),
            "--seeds", "1", "--resamples", "20", "--means", "0", "1", *["--by-type"] * (roll == 6),
            *["-o", "out"] * box.rng.randrange(2)]  # fmt: skip
    return Case(box.tail(*argv), unusable=box.broken if box.broken.startswith("gold") else "")


def json_corpora(box: Box) -> Case:
    """3: JSON-lines corpora."""
    seeds = {
        "source.jsonl": Seed(fx.rows_json("source", fx.SOURCE), "jsonl"),
        "a.jsonl": Seed(fx.rows_json("text", fx.A), "jsonl"),
        "b.jsonl": Seed(fx.rows_json("hypothesis", fx.B), "jsonl"),
        "ref.jsonl": Seed(list(fx.REF), "jsonl"),
    }
    box.lay(seeds)
    argv = _scoring(box, ["source.jsonl", "a.jsonl", "b.jsonl"], "-r", "ref.jsonl")
    return Case(box.tail(*argv), unusable=box.broken)


def _own(box: Box, **more: Seed) -> dict[str, Seed]:
    return {
        "own/source.txt": Seed(fx.text(fx.SOURCE)),
        "own/outputs/a.txt": Seed(fx.text(fx.A)),
        "own/outputs/b.txt": Seed(fx.text(fx.B)),
        "own/outputs/c.txt": Seed(fx.text(fx.C)),
        "own/references/ref.txt": Seed(fx.text(fx.REF)),
        **more,
    }


def _comparing(box: Box, what: str) -> list[str]:
    roll = box.rng.randrange(10)
    if roll == 0:
        return ["analyse", "scatter", what, "-m", "gleu"]
    if roll == 1:
        return ["attack", what, "-m", "gleu", "--resamples", "20"]
    if roll == 2:
        return ["tune", "green:beta=0:2:1", what, "--folds", "2"]
    argv = ["compare", what, *box.metric(), "--resamples", "20"]
    argv += box.rng.choice((
        [], [], ["--windows", "--pairwise"], ["--ties", "calibrated"], ["--level", "sentence"],
        ["--aggregate", "mean", "--html", "page.html"], ["--unknown-systems", "skip"],
        ["--resample", "systems", "--statistic", "spa"], ["-o", "out"],
    ))  # fmt: skip
    return argv


def own_judgments(box: Box) -> Case:
    """4: judgments as CSV and TSV."""
    name, body, cut = box.rng.choice((
        ("judgments.csv", fx.RATINGS, ","), ("judgments.csv", fx.PREFERENCES, ";"),
        ("judgments.tsv", fx.RANKINGS, "\t"),
    ))  # fmt: skip
    key = f"own/{name}"
    box.lay(_own(box, **{key: Seed(body.encode(), separator=cut)}), likely=(key,))
    return Case(box.tail(*_comparing(box, "./own")), unusable=box.broken)


def own_toml(box: Box) -> Case:
    """5: the TOML file of an own benchmark."""
    body = fx.BENCHMARK_TOML
    if box.rng.random() < 0.5:
        body = _toml(box, body)
    seeds = {
        "own/source.txt": Seed(fx.text(fx.SOURCE)),
        "own/outputs/a.txt": Seed(fx.text(fx.A)),
        "own/outputs/b.txt": Seed(fx.text(fx.B)),
        "own/outputs/c.txt": Seed(fx.text(fx.C)),
        "own/ref.txt": Seed(fx.text(fx.REF)),
        "own/gold.m2": Seed(fx.GOLD.encode()),
        "own/judgments.csv": Seed(fx.RATINGS.encode(), separator=","),
        "own/benchmark.toml": Seed(body.encode(), separator=" = "),
    }
    box.lay(seeds, likely=("own/benchmark.toml",) * 4)
    what = box.rng.choice(("./own", "own/benchmark.toml"))
    return Case(box.tail(*_comparing(box, what)), unusable=box.broken)


def _toml(box: Box, body: str) -> str:
    """A table whose values have other types, or name other places."""
    values = (
        "1", "-1", "1e999", "nan", "true", "[]", "[1]", "[[]]", "{}", "{edit = 1}", '"/*"', '"**"',
        '["/*"]', '"../../*"', '["**/*"]', '"a\\u0000b"', '"\\u001b[31m"', '""', "1979-05-27",
        "[" * 150 + "]" * 150, "9" * 5000, '"/"', '"."', '[""]', '"[a"', '"' + "a" * 300 + '"',
        '{edit = "judgments.csv", sentence = "judgments.csv"}', '{"" = "a"}', "07:32:00",
        '["a", "b", "a"]', '["a"]', '["\\u001b]0;x\\u0007"]', '"a\\nb"', '"~"', "0x10", "0",
    )  # fmt: skip
    rows = body.split("\n")
    at = box.rng.choice([i for i, row in enumerate(rows) if " = " in row])
    rows[at] = rows[at].split(" = ")[0] + " = " + box.rng.choice(values)
    box.spoiled.append("value")
    return "\n".join(rows)


def score_files(box: Box) -> Case:
    """6: score files that `-o` wrote, read again."""
    texts = {name: Seed(seed.data, "keep") for name, seed in _texts(box).items()}
    for name, seed in texts.items():
        box.put(name, seed.plain())
    name = box.rng.choice(("gleu", "green", "changes", "gleu-official"))
    here = os.getcwd()
    os.chdir(box.folder)
    files = ["source.txt", "a.txt", "b.txt"]
    with contextlib.redirect_stdout(io.StringIO()):
        _gecjury(["score", *files, "-r", "ref.txt", "-m", name, "-o", "out", "--quiet"])
    os.chdir(here)
    (path,) = (box.folder / "out").glob("*.json")
    where = f"out/{path.name}"
    box.lay({where: Seed(json.loads(path.read_bytes()), "json")})
    if box.rng.random() < 0.3:
        shutil.copy(path, box.folder / "given.json") if path.is_file() else None
        argv = ["score", *files, "-m", "scores:file=given.json"]
        return Case(box.tail(*argv))
    command = box.rng.choice((["score", "--sentences"], ["rank", "--resamples", "20"], ["score"]))
    argv = [command[0], *files, "-r", "ref.txt", "-m", name, "-o", "out", *command[1:]]
    return Case(box.tail(*argv), unusable=box.broken if "absent" not in box.broken else "")


def _gecjury(argv: list[str]) -> int:
    from gecjury.cli import main

    return main(argv)


def given_scores(box: Box) -> Case:
    """7: scores made elsewhere."""
    name, seed = box.rng.choice((
        ("given.tsv", Seed(fx.SCORES_LONG.encode(), separator="\t")),
        ("given.csv", Seed(fx.SCORES_WIDE.encode(), separator=",")),
        ("given.json", Seed(fx.numbers(), "json")),
        ("given.json", Seed([["a", 1, 0.5], ["a", 2, None], {"system": "b", "line": 1, "score": 1},
                             ["a", 4, 1], ["b", 4, 0]], "json")),
        ("given/a.txt", Seed(b"0.1\n0.2\nnan\n0.4\n")),
        ("given.json", Seed({"rows": [
            {"system": n, "metric": "x", "sentences": row, "score": 0.5, "signature": "x|data=0"}
            for n, row in fx.numbers().items()]}, "json")),
    ))  # fmt: skip
    texts = {n: Seed(s.data, "keep") for n, s in _texts(box).items()}
    texts["c.txt"] = Seed(fx.text(fx.C), "keep")
    for other, sound in texts.items():
        box.put(other, sound.plain())
    box.lay({name: seed})
    files = ["source.txt", "a.txt", "b.txt", "c.txt"]
    where = "given" if name.startswith("given/") else name
    more = box.rng.choice(("", "", ",label=mine", ",metric=x", ",label=\x1b[31m"))
    what = f"scores:file={where}{more}"
    if box.rng.random() < 0.7:
        argv = ["score", *files, "-m", what, *["--sentences"] * box.rng.randrange(2)]
    else:
        argv = ["rank", *files, "-m", what, "--aggregate", "mean", "--resamples", "20"]
    return Case(box.tail(*argv), unusable=box.broken)


def juries(box: Box) -> Case:
    """8: jury files, some with members that ask a server, read files or load models."""
    document = json.loads(json.dumps(fx.JURY))
    if box.rng.random() < 0.4:
        url = box.shelf.server("judge").url
        document["members"][0]["metric"] = box.rng.choice((
            f"llm-s:base_url={url},context=secret.tsv,model=m", "llm-s:model=gpt-4o", "jury:file=jury.json",
            "scores:file=secret.tsv", "some:model=/tmp/x", "impara:model=../x", "uot-errant",
            "scribendi", "errant:tagger=/tmp/x", "gleu@nowhere", "gleu:", "green:n=99999999",
            "green:n=-1", "pt-errant:model=owner/name", "edit-verdict", "gleu:draws=100000000000",
            f"llm-e:base_url={url}", "x" * 300, "\x1b[31m", "green:beta=nan", "green:beta=1e400",
        ))  # fmt: skip
        box.spoiled.append("member")
    box.put("secret.tsv", b"source\tcontext\nSECRET-CONTEXT\tSECRET\n")
    files = {**_texts(box), "jury.json": Seed(document, "json")}
    box.lay(files, likely=("jury.json",) * 5)
    argv = ["score", "source.txt", "a.txt", "b.txt", "-r", "ref.txt", "-m", "jury:file=jury.json"]
    argv += ["--allow-judges"] * (box.rng.random() < 0.15)
    return Case(box.tail(*argv), unusable=box.broken)


def model_folders(box: Box) -> Case:
    """9: folders of trained SOME and IMPARA models."""
    name = box.rng.choice(("some", "some", "impara"))
    shelf = box.shelf.models()
    shutil.copytree(shelf / name, box.folder / "model")
    manifest = json.loads((box.folder / "model/gecjury.json").read_bytes())
    if name == "some" and box.rng.random() < 0.4:
        manifest["features"] = {"meaning": {k: [1.0] * 9 for k in ("mean", "deviation", "weights")}}
        if box.rng.random() < 0.5:
            manifest["kernel"] = {"encoder": "embedded", "base": "embedded", "models": {},
                                  "file": "kernel.safetensors", "layers": [1]}  # fmt: skip
        box.spoiled.append("features")
    seeds = {"model/gecjury.json": Seed(manifest, "json", paths=True)}
    for path in sorted((box.folder / "model").rglob("*")):
        inner = str(path.relative_to(box.folder))
        if path.suffix == ".json" and path.name != "gecjury.json":
            seeds[inner] = Seed(json.loads(path.read_bytes()), "json", paths=True)
        elif path.suffix == ".safetensors":
            seeds[inner] = Seed(path.read_bytes(), "tensors")
        elif path.is_file() and path.name != "gecjury.json":
            seeds[inner] = Seed(path.read_bytes(), "text")
    plain = {key: seed for key, seed in seeds.items() if seed.form != "tensors"}
    for path in list(seeds):
        (box.folder / path).unlink()
    if box.rng.random() < 0.25:
        for key, seed in seeds.items():
            data = seed.data if seed.form == "tensors" else seed.plain()
            box.put(key, tensors(box, data) if seed.form == "tensors" else data)
    else:
        for key in seeds.keys() - plain.keys():
            box.put(key, seeds[key].data)
        box.lay(plain, likely=("model/gecjury.json",) * 2)
    for key, seed in _texts(box).items():
        box.put(key, seed.plain())
    # Only these are sure to be wanted: a tokenizer's files stand in for each other.
    sure = box.broken if "gecjury.json" in box.broken and "absent" not in box.broken else ""
    argv = ["score", "source.txt", "a.txt", "-m", f"{name}:model=model", "--device", "cpu"]
    return Case(box.tail(*argv), unusable=sure)


def tensors(box: Box, data: bytes) -> bytes:
    """A safetensors file with another head, or other bytes."""
    box.spoiled.append("tensors")
    size = int.from_bytes(data[:8], "little")
    if box.rng.random() < 0.4:
        return box.mutate.flat(data)
    head = json.loads(data[8 : 8 + size])
    changed = box.mutate.document(head)
    told = len(changed) if box.rng.random() < 0.9 else box.rng.choice((0, 2**40, 2**63))
    return told.to_bytes(8, "little") + changed + data[8 + size :]


def training_rows(box: Box) -> Case:
    """10: rated sentences to train on."""
    rows = [dict(row) for row in fx.RATED]
    flat = [{k: v if not isinstance(v, list) else f"{v[0]},{v[1]}" for k, v in r.items()}
            for r in rows]  # fmt: skip
    name = box.rng.choice(("rows.jsonl", "rows.jsonl", "rows.tsv", "rows.csv"))
    if name == "rows.jsonl":
        seed = Seed(rows, "jsonl")
    else:
        cut = "\t" if name.endswith("tsv") else ","
        made = io.StringIO()
        table = csv.DictWriter(made, list(flat[0]), delimiter=cut, lineterminator="\n")
        table.writeheader()
        table.writerows(flat)
        seed = Seed(made.getvalue().encode(), separator=cut)
    box.lay({name: seed})
    encoder = str(box.shelf.models() / "encoder") if box.rng.random() < 0.25 else "nowhere/model"
    argv = ["train", "some", name, "-o", "trained", "--encoder", encoder, "--epochs", "1",
            "--max-length", "16", "--check"]  # fmt: skip
    argv += box.rng.choice((
        [], ["--column", "split=split"], ["--aspects", "meaning"], ["--scale", "0:5"], ["--shared"],
        ["--column", "grammaticality=grammaticality,fluency"], ["--features"], ["--dev", name],
    ))  # fmt: skip
    return Case(box.tail(*argv), unusable=box.broken)


def loaders(box: Box) -> Case:
    """11: judgments as XML, a benchmark that its owner hands out, and folders of data."""
    roll = box.rng.random()
    if roll < 0.5:
        key = "own/judgments.xml"
        body = fx.JUDGMENTS_XML
        if box.rng.random() < 0.15:
            body = body.replace("<appraise", box.rng.choice((
                '<!DOCTYPE a [<!ENTITY b "bbb">]><appraise',
                '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><appraise',
                "<!DOCTYPE a><appraise", '<?xml-stylesheet href="x"?><appraise',
                "<a>" * 20_000 + "<appraise",
            )), 1)  # fmt: skip
            box.spoiled.append("head")
        box.lay(_own(box, **{key: Seed(body.encode(), separator='"')}), likely=(key,) * 4)
        return Case(box.tail(*_comparing(box, "./own")), unusable=box.broken)
    if roll < 0.85:
        seeds = {
            f"data/{name}": Seed(fx.text(lines), separator="," if name.endswith("csv") else "")
            for name, lines in fx.GMEG.items()
        }
        box.lay(seeds, likely=tuple(n for n in seeds if n.endswith("csv")))
        argv = ["compare", "gmeg-dev-yahoo", "-m", "gleu", "--resamples", "20", "--data", "data"]
        argv += ["--systems", "all"] * box.rng.randrange(2)
        return Case(box.tail(*argv))
    box.lay({
        "data/SEEDA/outputs/all/INPUT.txt": Seed(fx.text(fx.SOURCE)),
        "data/GJG15/data/judgments.xml": Seed(fx.JUDGMENTS_XML.encode()),
        "data/TMU-GFM-Dataset/tmu-gfm-dataset.csv": Seed(b"source,output,grammer\na,b,1\n"),
    })  # fmt: skip
    name = box.rng.choice(("seeda", "gjg15", "tmu-gfm", "jfleg", "all"))
    action = box.rng.choice(("verify", "list", "path"))
    argv = ["data", action, *([] if action == "list" else [name]), "--data", "data"]
    if name != "all" and box.rng.random() < 0.3:
        argv = ["compare", name, "-m", "gleu", "--data", "data"]
    return Case(box.tail(*argv))


def stores(box: Box) -> Case:
    """12: stored replies, exported and imported."""
    url = "http://127.0.0.1:9/v1"
    rows = fx.make_store(url)
    if box.rng.random() < 0.8:
        at = box.rng.choice((0, 0, 1, 2))
        rows[at] = box.mutate.tree(rows[at], paths=True)
        if at == 0 and isinstance(rows[0], dict) and box.rng.random() < 0.5:
            # The replies say what the head says, so that more than the head is read.
            for key in ("backend", "model", "base_url", "prompt"):
                value = (rows[0].get("identity") or {})
                if isinstance(value, dict) and key in value:
                    for row in rows[1:]:
                        row["parts"][key] = value[key]
                        row["key"] = _key(row["parts"])
        elif isinstance(rows[at], dict) and isinstance(rows[at].get("parts"), dict):
            rows[at]["key"] = _key(rows[at]["parts"])
        box.spoiled.append(f"line {at + 1}")
    data = b"".join(fx.sealed(row) for row in rows)
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


def _key(parts: Any) -> str:
    from gecjury.judges.asking.exchange import key_of

    try:
        return key_of(parts)
    except (TypeError, ValueError, RecursionError):
        return "0" * 32


def prices(box: Box) -> Case:
    """13: price tables."""
    files = {**_texts(box), "prices.json": Seed(fx.PRICES, "json")}
    box.lay(files, likely=("prices.json",) * 5)
    url = box.shelf.server("judge").url
    model = box.rng.choice(("m", "m", "gpt-4o", "gpt-4o-2024-08-06", "unknown"))
    argv = ["score", "source.txt", "a.txt", "b.txt", "-m", f"llm-s:model={model},base_url={url}",
            "--dry-run", "--prices", "prices.json"]  # fmt: skip
    argv += box.rng.choice(([], ["--batch"], ["--max-cost", "1"], ["--max-cost", "nan"]))
    return Case(box.tail(*argv), unusable=_used(box, "ref.txt"))


def replies(box: Box) -> Case:
    """14: a judge's server that answers as it likes."""
    server = box.shelf.server("judge")
    box.shelf.hasten()
    server.behave_as(box.rng)
    box.spoiled.append(server.script)
    for key, seed in _texts(box).items():
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
    argv += box.rng.choice(([], [], ["--sentences"], ["--max-cost", "0.001", "--prices", "p.json"]))
    box.put("p.json", dumps(fx.PRICES))
    return Case(box.tail(*argv))


def command_lines(box: Box) -> Case:
    """15: words, options and metrics' options."""
    for key, seed in {**_own(box), **_texts(box), "gold.m2": Seed(fx.GOLD.encode()),
                      "own/judgments.csv": Seed(fx.RATINGS.encode())}.items():  # fmt: skip
        box.put(key, seed.plain())
    argv = list(box.rng.choice(_LINES))
    for _ in range(box.rng.choice((1, 1, 1, 2, 3))):
        at = box.rng.randrange(len(argv) + 1)
        kind = box.rng.choice((0, 1, 2, 3, 4, 4, 5, 5, 5, 5, 5, 6))
        if kind == 0:
            argv.insert(at, box.rng.choice(_WORDS))
        elif kind == 1 and argv:
            del argv[min(at, len(argv) - 1)]
        elif kind == 2 and argv:
            argv.insert(at, box.rng.choice(argv))
        elif kind == 3:
            argv[at:at] = box.rng.choice(_OPTIONS)
        elif kind == 4:
            argv += ["-m", _argument(_metric(box))]
        elif kind == 5:
            argv += [box.rng.choice(_options(argv)), _argument(box.rng.choice(_VALUES))]
        else:
            place = box.rng.randrange(len(argv)) if argv else 0
            if argv and argv[place - 1] not in ("-o", "--html", "--figure", "--png", "--cache"):
                argv[place] = _argument(box.mutate.word())
                if argv[place].startswith("~"):
                    argv[place] = "x"
    argv = [_argument(word) for word in argv]
    return Case(argv, silent=True, verbatim=argv[:1] in (["edits"], ["m2"]), strays=True)


def _argument(word: str) -> str:
    """A word that a process can be given: no NUL, and bytes that are not UTF-8 as Python has them."""
    word = word.replace("\0", "")
    return word.encode("utf-8", "surrogatepass").decode("utf-8", "surrogateescape")


def _metric(box: Box) -> str:
    """A metric with options of its own or of nobody's."""
    from gecjury.scoring.registry import METRICS

    local = [n for n in METRICS if not METRICS[n].startswith("gecjury.judges.")]
    name = box.rng.choice(local) if box.rng.random() < 0.9 else box.mutate.word()
    keys = ("n", "beta", "unit", "draws", "tagger", "model", "file", "alpha", "encoder", "seed",
            "max_length", "weights", "compat", "variant", "epsilon", "lambda1", "threshold",
            "merge", "clip", "revision", "")  # fmt: skip
    options = [f"{box.rng.choice(keys)}={box.mutate.word()}" for _ in range(box.rng.choice((0, 1, 2)))]
    return name + ":" * bool(options) + ",".join(options)


_FILES = ("source.txt", "a.txt", "b.txt")
_LINES = (
    ("score", *_FILES, "-r", "ref.txt", "-m", "gleu"),
    ("score", *_FILES, "-r", "ref.txt", "-m", "errant", "--by-type", "2"),
    ("score", *_FILES, "--m2", "gold.m2", "-m", "m2", "--sentences"),
    ("rank", *_FILES, "-r", "ref.txt", "-m", "green", "--resamples", "20", "--permutations", "20"),
    ("rank", *_FILES, "-m", "changes", "--aggregate", "trueskill", "--resamples", "20"),
    ("compare", "./own", "-m", "gleu", "--resamples", "20"),
    ("compare", "./own", "-m", "changes", "--resample", "none", "--windows"),
    ("check", *_FILES, "-r", "ref.txt", "--m2", "gold.m2"),
    ("metrics",), ("metrics", "gleu", "errant"), ("data", "list"), ("data", "verify", "seeda"),
    ("edits", "source.txt", "a.txt"), ("m2", "check", "gold.m2"), ("m2", "apply", "gold.m2"),
    ("m2", "convert", "gold.m2", "--annotator", "1"),
    ("explain", "He go home .", "He goes home .", "He goes home .", "-m", "errant"),
    ("explain", "source.txt", "a.txt", "ref.txt", "-m", "cleme", "--line", "2"),
    ("maege", "gold.m2", "-m", "gleu", "--seeds", "1", "--resamples", "20", "--means", "0", "1"),
    ("attack", *_FILES, "-m", "gleu", "-r", "ref.txt", "--resamples", "20"),
    ("analyse", "edits", *_FILES), ("analyse", "cost", *_FILES, "-m", "gleu", "-r", "ref.txt"),
    ("tune", "green:beta=0:2:1", "./own", "--folds", "2"),
    ("train", "weights", "./own", "--model", "nowhere", "-o", "x"),
    ("train", "jury", "./own", "-m", "gleu", "-m", "green", "-o", "jury.json", "--folds", "2"),
    ("train", "impara", "source.txt,ref.txt", "-o", "x", "--encoder", "nowhere/x", "--check"),
    ("judgments", "list", "--cache", "cache"), ("judgments", "export", "x.jsonl"), ("demo", "--help"),
)  # fmt: skip
_WORDS = (*HOSTILE, "-m", "-r", "--", "-h", "--version", "score", "--format", "@x", "-o")
_OPTIONS = (
    ["--format", "json"], ["--format", "latex"], ["--format", "xml"], ["--dry-run"], ["--quiet"],
    ["--no-cache"], ["--max-cost", "nan"], ["--max-cost", "-1"], ["--device", "tpu"], ["-o", "out"],
    ["--device", "cuda:99"], ["--batch-size", "0"], ["--workers", "0"], ["--concurrency", "-1"],
    ["--data", "nowhere"], ["--data", ""], ["--cache", ""], ["--cache", "a.txt"], ["-o", ""],
    ["-o", "a.txt"], ["-o", "/dev/full"], ["--html", "/dev/full"], ["--html", ""], ["--url", "http://["],
    ["--url", "ftp://x"], ["--url", ""], ["--base-url", "http://["], ["--base-url", "x:99999"],
    ["--tagger", ""], ["--tagger", "../x"], ["--tagger", "x" * 300], ["--m2", "-"], ["-r", "-"],
    ["-r", ""], ["-r", "own"], ["-r", "x=ref.txt"], ["-r", "=ref.txt"], ["-r", "x="], ["--m2", ""],
    ["--figure", "x.svg"], ["--figure", "x.exe"], ["--prices", ""], ["--api-key-env", ""],
    ["--api-key-env", "NO SUCH\nVAR"], ["--base-url", "http://127.0.0.1:99999/v1"],
    ["--references", ""], ["--references", "-"], ["--systems", ""], ["--attack", ""],
    ["--perturbed", "x"], ["--perturbed", "=x"], ["--means", "nan"], ["--strength", "0"],
    ["--scale", "1:1"], ["--scale", "nan:nan"], ["--column", "="], ["--like", ""],
)  # fmt: skip


@functools.cache
def _takes(command: str) -> tuple[str, ...]:
    """The options of a command that take a value."""
    from gecjury.cli import _parser

    found = _parser([command])._actions[-1].choices[command]  # type: ignore[index]
    return tuple(
        option
        for action in found._actions
        for option in action.option_strings[-1:]
        if action.nargs != 0
    )


def _options(argv: list[str]) -> tuple[str, ...]:
    from gecjury.cli import COMMANDS

    command = next((word for word in argv if word in COMMANDS), "score")
    return _takes(command) or ("--format",)


_VALUES = (
    "0", "1", "-1", "2", "nan", "inf", "-inf", "1e400", "99999999999", "1000000000000000000000",
    "9" * 5000, "1.5", "", " ", "²", "١", "½", "0x1", "1_0", "1e3", "true", "None", "0.5", "1.0",
    "\x1b[31m", "all", "mean", "spa", "1:4", "a.txt", "ref.txt", "own", "./own", "gold.m2", "-", "out",
    "x/y/z", "a" * 300, "/dev/full", "/dev/null", "nowhere", "base", "official", "corpus", "sentence",
    "gleu", "changes", "remove", "shapley", "counts", "0:1", "none", "x=a.txt", "output=x", "\ud800",
    "http://127.0.0.1:9/", "3 4", "0,1", "1:2:3", "édit", "\u202e",
)  # fmt: skip


def downloads(box: Box) -> Case:
    """16: data fetched from a server that answers as it likes."""
    server = box.shelf.server("files")
    server.behave_as(box.rng)
    box.spoiled.append(server.script)
    name = box.rng.choice(("gug", "tmu-gfm", "conll14-errant"))
    argv = ["data", "fetch", name, "--url", server.url]
    argv += box.rng.choice(([], ["--data", "mine"]))
    if box.rng.random() < 0.3:
        from gecjury.benchmarks.data_folder import dataset_files

        for file in dataset_files(name):
            part = box.rng.choice((b"", b"x", b"x" * 100, b"x" * (file.size + 1)))
            box.put(f"{'mine' if '--data' in argv else 'cache/data'}/{file.path}.part", part)
    return Case(box.tail(*argv), unusable="a hostile server has no file of the right checksum")


def sentences(box: Box) -> Case:
    """17: single sentences and edits: explain, maege, attack, analyse, the level of edits."""
    word = box.mutate.word
    roll = box.rng.randrange(8)

    def sentence(lines: list[str]) -> str:
        words = box.rng.choice(lines).split()
        for _ in range(box.rng.choice((0, 1, 1, 3))):
            words.insert(box.rng.randrange(len(words) + 1), word())
        box.spoiled.append("words")
        return _argument(" ".join(words) + box.rng.choice(("", "", "\n", "\x1b[0m")))

    if roll < 3:
        name = box.rng.choice(("errant", "cleme", "gotoscorer", "i-measure", "gleu", "green"))
        argv = ["explain", sentence(fx.SOURCE), sentence(fx.A), sentence(fx.REF), "-m", name]
        argv += box.rng.choice(([], [], ["--attribution", "remove"],
                                ["--attribution", "shapley", "--samples", "3"]))  # fmt: skip
        return Case(box.tail(*argv), strays=True)
    seeds = {**_texts(box), "gold.m2": Seed(fx.GOLD.encode(), separator="|||"),
             "mine.txt": Seed(fx.text(fx.C))}  # fmt: skip
    if roll == 3:
        box.lay(seeds, likely=("gold.m2",))
        where = box.rng.choice(("original", "random", "released"))
        argv = ["maege", "gold.m2", "-m", "gleu", "--source", where, "--seeds", "1", "--means", "0",
                "1", "--resamples", "20", "--chains", "2", "--by-type"]  # fmt: skip
        return Case(box.tail(*argv))
    if roll == 4:
        box.lay(seeds, likely=("mine.txt",))
        argv = ["attack", "source.txt", "a.txt", "-m", "gleu", "-r", "ref.txt", "--perturbed",
                f"{_argument(word()) or 'x'}=mine.txt", "--resamples", "20"]  # fmt: skip
        return Case(box.tail(*argv), strays=True)
    if roll == 5:
        box.lay(seeds)
        kind = box.rng.choice(("edits", "cost"))
        argv = ["analyse", kind, "source.txt", "a.txt", "b.txt", "-r", "ref.txt", "-m", "gleu"]
        return Case(box.tail(*argv))
    if roll == 6:
        box.lay(seeds, likely=("ref.txt", "gold.m2"))
        argv = ["score", "source.txt", "a.txt", "b.txt", "-m", "errant", "-r", "gold.m2", "-r",
                "ref.txt", "--by-type", "3", "--sentences"]  # fmt: skip
        return Case(box.tail(*argv))
    box.lay({"credits/x.json": Seed({"format": "gecjury-credits/1", "rows": []}, "json"),
             "ref.txt": Seed(fx.text(fx.REF * 17))})  # fmt: skip
    argv = ["compare", "sample", "-m", "gleu", "--references", "ref.txt", "--level",
            box.rng.choice(("edit", "sentence", "system")), "--resamples", "5"]  # fmt: skip
    return Case(box.tail(*argv))


KINDS: Mapping[str, Callable[[Box], Case]] = {
    "text": text_files,
    "m2": m2_gold,
    "json": json_corpora,
    "judgments": own_judgments,
    "toml": own_toml,
    "scores": score_files,
    "given": given_scores,
    "jury": juries,
    "models": model_folders,
    "rows": training_rows,
    "loaders": loaders,
    "stores": stores,
    "prices": prices,
    "replies": replies,
    "arguments": command_lines,
    "downloads": downloads,
    "sentences": sentences,
}
"""By the name that `--kind` takes."""
