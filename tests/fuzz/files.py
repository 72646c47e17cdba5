"""Kinds of input that are files: texts, M2, JSON, judgments, scores, members, models, ratings."""

from __future__ import annotations

import csv
import io
import json
import shutil

from tests.fuzz import fixtures
from tests.fuzz.box import Box, Case, Seed, own_benchmark, texts
from tests.fuzz.mutate import HOSTILE


def _scoring(box: Box, files: list[str], *more: str) -> list[str]:
    """Return a command line of score, rank, check or attack over files."""
    command = box.rng.choice((
        ["score", *files, *box.metric(2), "--sentences"], ["score", *files, *box.metric()],
        ["score", *files, *box.metric(), "-o", "out"], ["check", *files],
        ["rank", *files, *box.metric(), "--resamples", "20", "--permutations", "20",
         "--aggregate", box.rng.choice(("corpus", "trueskill", "expected-wins"))],
        ["attack", *files, "-m", "gleu", "--resamples", "20"],
    ))  # fmt: skip
    return [*command, *more]


def _comparing(box: Box, what: str) -> list[str]:
    """Return a command line over a benchmark."""
    return box.rng.choice((
        ["attack", what, "-m", "gleu", "--resamples", "20"],
        *([["compare", what, *box.metric(), "--resamples", "20", *more] for more in (
            [], ["--windows"], ["--ties", "calibrated"], ["--level", "sentence"], ["-o", "out"],
            ["--aggregate", "mean", "--html", "page.html"],
            ["--resample", "systems", "--statistic", "spa"],
        )]),
    ))  # fmt: skip


def _table(rows: list[dict[str, object]], cut: str) -> Seed:
    made = io.StringIO()
    table = csv.DictWriter(made, list(rows[0]), delimiter=cut, lineterminator="\n")
    table.writeheader()
    table.writerows(rows)
    return Seed(made.getvalue().encode(), separator=cut)


def _put_texts(box: Box) -> list[str]:
    """Write sound texts, and return the arguments that name them."""
    for name, seed in texts().items():
        box.put(name, seed.plain())
    return ["source.txt", "a.txt", "b.txt"]


def text_files(box: Box) -> Case:
    """1: sources, hypotheses, references as text."""
    box.lay(texts())
    roll = box.rng.random()
    if roll < 0.15:
        argv = ["edits", "source.txt", "a.txt", "b.txt", *(["-o", "x.m2"] * (roll < 0.05))]
        return Case(box.tail(*argv), verbatim=True, silent=True, unusable=box.unless("ref.txt"))
    if roll < 0.3:
        line = str(box.rng.choice((1, 2, 4, 5, 0, 10**20)))
        name = box.rng.choice(("errant", "cleme", "gotoscorer", "i-measure", "m2"))
        argv = ["explain", "source.txt", "a.txt", "ref.txt", "-m", name, "--line", line]
        return Case(box.tail(*argv))
    argv = _scoring(box, ["source.txt", "a.txt", "b.txt"], "-r", "ref.txt")
    return Case(box.tail(*argv), unusable=box.broken)


def m2_gold(box: Box) -> Case:
    """2: M2."""
    gold = fixtures.GOLD.encode()
    seeds = {**texts(), "gold.m2": Seed(gold, separator="|||"), "more.m2": Seed(gold)}
    box.lay(seeds, likely=("gold.m2", "gold.m2", "more.m2"))
    roll = box.rng.randrange(4)
    if roll < 2:
        action = box.rng.choice(("apply", "text", "check", "convert"))
        who = box.rng.choice(([], ["--annotator", "1"], ["--annotator", box.rng.choice(HOSTILE)]))
        files = ["gold.m2", "more.m2"][: box.rng.choice((1, 2))]
        argv = ["m2", action, *files, *who, *(["-o", "x.out"] * (roll == 0))]
    elif roll == 2:
        how = box.rng.choice((["-r", "gold.m2"], ["--m2", "gold.m2"]))
        name = box.rng.choice(("m2", "sentm2", "errant", "gleu"))
        argv = ["score", "source.txt", "a.txt", "b.txt", "-m", name, *how]
    else:
        argv = ["maege", "gold.m2", "-m", box.rng.choice(("gleu", "green", "changes")),
                "--seeds", "1", "--resamples", "20"]  # fmt: skip
    broken = box.broken if box.broken.startswith("gold") else ""
    return Case(box.tail(*argv), verbatim=argv[0] == "m2", silent=True, unusable=broken)


def json_corpora(box: Box) -> Case:
    """3: JSON-lines corpora."""
    box.lay({
        "source.jsonl": Seed(fixtures.rows_json("source", fixtures.SOURCE), "jsonl"),
        "a.jsonl": Seed(fixtures.rows_json("text", fixtures.A), "jsonl"),
        "b.jsonl": Seed(fixtures.rows_json("hypothesis", fixtures.B), "jsonl"),
        "ref.jsonl": Seed(list(fixtures.REF), "jsonl"),
    })  # fmt: skip
    argv = _scoring(box, ["source.jsonl", "a.jsonl", "b.jsonl"], "-r", "ref.jsonl")
    return Case(box.tail(*argv), unusable=box.broken)


def checker_matches(box: Box) -> Case:
    """Matches of grammar checkers."""
    match = {"offset": 5, "length": 3, "replacements": [{"value": "is"}, {"value": "was"}],
             "context": {"text": "This are a", "offset": 5, "length": 3},
             "rule": {"id": "SVA", "category": {"id": "GRAMMAR"}}}  # fmt: skip
    span = {"start": 5, "end": 8}
    inner = [{"ReplaceWith": ["i", "s"]}, {"InsertAfter": ["!"]}, "Remove"]
    lint = {"span": span, "problem_text": "are", "rule": "SVA",
            "inner": {"lint_kind": "Agreement", "suggestions": inner}}  # fmt: skip
    shown = {"rule": "SVA", "kind": "Agreement", "span": span, "matched_text": "are",
             "suggestions": ["Replace with: “is”", "Insert “!”", "Remove error"]}  # fmt: skip
    name, seed = box.rng.choice((
        ("m.jsonl", Seed([{"matches": [match]}, *[{"matches": []}] * 3], "jsonl")),
        ("m.json", Seed({"matches": [match]}, "json")),
        ("m.jsonl", Seed([{"lints": [lint]}, *[{"lints": []}] * 3], "jsonl")),
        ("m.json", Seed([{"file": "s", "lint_count": 1, "lints": [shown]}], "json")),
    ))  # fmt: skip
    _put_texts(box)
    box.lay({name: seed})
    argv = box.rng.choice((
        ["edits", "source.txt", name, "--tagger", "none"],
        ["score", "source.txt", name, "a.txt", "-r", "ref.txt", "-m", "gleu"],
    ))  # fmt: skip
    return Case(box.tail(*argv), verbatim=True, silent=True)


def own_tables(box: Box) -> Case:
    """Texts and judgments in one table."""
    rows: list[dict[str, object]] = [
        {"source": source, "output": output, "score": score, "annotator": "anna"}
        for outputs, score in ((fixtures.A, 5), (fixtures.B, 2.5))
        for source, output in zip(fixtures.SOURCE, outputs, strict=True)
    ]
    name = box.rng.choice(("t.csv", "t.tsv", "t.json", "t.jsonl"))
    ending = name.removeprefix("t.")
    seed = Seed(rows, ending) if "json" in name else _table(rows, ",\t"[ending == "tsv"])
    box.lay({name: seed})
    return Case(box.tail("compare", f"./{name}", "-m", "changes", "--resamples", "20"))


def own_judgments(box: Box) -> Case:
    """4: judgments as CSV and TSV."""
    name, body, cut = box.rng.choice((
        ("judgments.csv", fixtures.RATINGS, ","), ("judgments.csv", fixtures.PREFERENCES, ";"),
        ("judgments.tsv", fixtures.RANKINGS, "\t"),
    ))  # fmt: skip
    key = f"own/{name}"
    box.lay(own_benchmark(**{key: Seed(body.encode(), separator=cut)}), likely=(key,))
    return Case(box.tail(*_comparing(box, "./own")), unusable=box.broken)


_VALUES = (
    "1", "-1", "1e999", "nan", "true", "[]", "[1]", "[[]]", "{}", "{edit = 1}", '"/*"', '"**"',
    '["/*"]', '"../../*"', '["**/*"]', '"a\\u0000b"', '"\\u001b[31m"', '""', "1979-05-27",
    "[" * 150 + "]" * 150, "9" * 5000, '"/"', '[""]', '"' + "a" * 300 + '"', '{"" = "a"}', '"~"',
    '["a", "b", "a"]', '"a\\nb"', "0x10", '"../../../../../../*/*/*"',
)  # fmt: skip


def own_toml(box: Box) -> Case:
    """5: the TOML file of an own benchmark, with values of other types and other paths."""
    rows = fixtures.BENCHMARK_TOML.split("\n")
    if box.rng.random() < 0.5:
        at = box.rng.choice([i for i, row in enumerate(rows) if " = " in row])
        rows[at] = rows[at].split(" = ")[0] + " = " + box.rng.choice(_VALUES)
        box.spoiled.append("value")
    seeds = own_benchmark()
    seeds["own/ref.txt"] = seeds.pop("own/references/ref.txt")
    seeds |= {
        "own/gold.m2": Seed(fixtures.GOLD.encode()),
        "own/judgments.csv": Seed(fixtures.RATINGS.encode(), separator=","),
        "own/benchmark.toml": Seed("\n".join(rows).encode(), separator=" = "),
    }
    box.lay(seeds, likely=("own/benchmark.toml",) * 4)
    what = box.rng.choice(("./own", "own/benchmark.toml"))
    # A folder may have no table.
    unused = ("own/benchmark.toml is absent",) if what == "./own" else ()
    return Case(box.tail(*_comparing(box, what)), unusable=box.unless(*unused))


def score_files(box: Box) -> Case:
    """6: score files written by `-o` and read again."""
    files = _put_texts(box)
    name = box.rng.choice(("gleu", "green", "changes", "gleu-official"))
    argv = [*files, "-r", "ref.txt", "-m", name, "-o", "out"]
    box.gecjury(["score", *argv, "--quiet"])
    (path,) = (box.folder / "out").glob("*.json")
    box.lay({f"out/{path.name}": Seed(json.loads(path.read_bytes()), "json")})
    if box.rng.random() < 0.3:
        if path.is_file() and not path.is_symlink():
            shutil.copy(path, box.folder / "given.json")
        return Case(box.tail("score", *files, "-m", "scores:file=given.json"))
    command = box.rng.choice((["score", "--sentences"], ["rank", "--resamples", "20"]))
    # Anything that is not a file is written again.
    return Case(
        box.tail(command[0], *argv, *command[1:]),
        unusable=box.broken if "JSON" in box.broken else "",
    )


def given_scores(box: Box) -> Case:
    """7: scores from other programs."""
    rows = [{"system": n, "metric": "x", "sentences": row, "score": 0.5, "signature": "x|data=0"}
            for n, row in fixtures.numbers().items()]  # fmt: skip
    name, seed = box.rng.choice((
        ("given.tsv", Seed(fixtures.SCORES_LONG.encode(), separator="\t")),
        ("given.json", Seed({"rows": rows}, "json")),
    ))  # fmt: skip
    files = [*_put_texts(box), "c.txt"]
    box.put("c.txt", fixtures.text(fixtures.C))
    box.lay({name: seed})
    more = box.rng.choice(("", "", ",label=mine", ",metric=x", ",label=\x1b[31m"))
    command = box.rng.choice((["score", "--sentences"], ["rank", "--resamples", "20"]))
    argv = [command[0], *files, "-m", f"scores:file={name}{more}", *command[1:]]
    return Case(box.tail(*argv), unusable=box.broken)


def members(box: Box) -> Case:
    """8: lists of members, some that call a server, read files or load models."""
    text = fixtures.MEMBERS
    if box.rng.random() < 0.4:
        url = box.shelf.server("judge").url
        text += box.rng.choice((
            f"llm-s:base_url={url},context=secret.tsv,model=m", "llm-s:model=gpt-4o", "uot-errant",
            "jury:equal=members.txt", "scores:file=secret.tsv", "some:model=/tmp/x", "gleu@nowhere",
            "scribendi", "errant:tagger=/tmp/x", "gleu:", "green:n=99999999", "green:beta=nan",
            "pt-errant:model=owner/name", "gleu:draws=100000000000", "x" * 300, "\x1b[31m",
        ))  # fmt: skip
        box.spoiled.append("member")
    box.put("secret.tsv", b"source\tcontext\nSECRET-CONTEXT\tSECRET\n")
    box.lay({**texts(), "members.txt": Seed(text.encode())}, likely=("members.txt",) * 5)
    argv = ["score", "source.txt", "a.txt", "b.txt", "-r", "ref.txt"]
    argv += ["-m", "jury:equal=members.txt"]
    allowed = box.rng.random() < 0.15
    argv += ["--allow-judges"] * allowed
    asked = None if allowed else box.shelf.server("judge")
    # Allowing judges also allows OpenAI.
    return Case(box.tail(*argv), unusable=box.broken, unasked=asked, strays=allowed)


def model_folders(box: Box) -> Case:
    """9: folders of trained SOME and IMPARA models."""
    name = box.rng.choice(("some", "some", "impara"))
    shelf = box.shelf.models()
    # Always a new name, since a process caches models by name.
    folder = f"model{box.rng.randrange(10**9)}"
    shutil.copytree(shelf / name, box.folder / folder)
    manifest = json.loads((box.folder / folder / "gecjury.json").read_bytes())
    if name == "some" and box.rng.random() < 0.4:
        manifest["features"] = {"meaning": {k: [1.0] * 9 for k in ("mean", "deviation", "weights")}}
        if box.rng.random() < 0.5:
            manifest["kernel"] = {"encoder": "embedded", "base": "embedded", "models": {},
                                  "file": "kernel.safetensors", "layers": [1]}  # fmt: skip
        box.spoiled.append("features")
    seeds = {f"{folder}/gecjury.json": Seed(manifest, "json", paths=True)}
    for path in sorted((box.folder / folder).rglob("*")):
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
        box.lay(plain, likely=(f"{folder}/gecjury.json",) * 2)
    for key, seed in texts().items():
        box.put(key, seed.plain())
    # Only these are certainly required: tokenizer files can replace each other.
    sure = box.broken if "gecjury.json" in box.broken and "absent" not in box.broken else ""
    argv = ["score", "source.txt", "a.txt", "-m", f"{name}:model={folder}", "--device", "cpu"]
    return Case(box.tail(*argv), unusable=sure)


def tensors(box: Box, data: bytes) -> bytes:
    """Return a safetensors file with another header or other bytes."""
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
    rows = [dict(row) for row in fixtures.RATED]
    flat = [{k: v if not isinstance(v, list) else f"{v[0]},{v[1]}" for k, v in r.items()}
            for r in rows]  # fmt: skip
    name, seed = box.rng.choice((
        ("rows.jsonl", Seed(rows, "jsonl")), ("rows.tsv", _table(flat, "\t")),
        ("rows.csv", _table(flat, ",")),
    ))  # fmt: skip
    box.lay({name: seed})
    encoder = str(box.shelf.models() / "encoder") if box.rng.random() < 0.25 else "nowhere/model"
    argv = ["train", "some", name, "-o", "trained", "--encoder", encoder, "--epochs", "1",
            "--max-length", "16", "--leakage", "none"]  # fmt: skip
    argv += box.rng.choice((
        [], ["--column", "split=split"], ["--scale", "0:5"], ["--shared"],
        ["--column", "grammaticality=grammaticality,fluency"], ["--features"],
    ))  # fmt: skip
    return Case(box.tail(*argv), unusable=box.broken)


def loaders(box: Box) -> Case:
    """11: judgments as XML, a benchmark that its owner supplies, and data folders."""
    roll = box.rng.random()
    if roll < 0.5:
        key, body = "own/judgments.xml", fixtures.JUDGMENTS_XML
        if box.rng.random() < 0.15:
            body = body.replace("<appraise", box.rng.choice((
                '<!DOCTYPE a [<!ENTITY b "bbb">]><appraise', "<a>" * 20_000 + "<appraise",
                '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><appraise',
            )), 1)  # fmt: skip
            box.spoiled.append("head")
        box.lay(own_benchmark(**{key: Seed(body.encode(), separator='"')}), likely=(key,) * 4)
        return Case(box.tail(*_comparing(box, "./own")), unusable=box.broken)
    if roll < 0.85:
        seeds = {
            f"data/{name}": Seed(fixtures.text(lines), separator="," * name.endswith("csv"))
            for name, lines in fixtures.GMEG.items()
        }
        box.lay(seeds, likely=tuple(n for n in seeds if n.endswith("csv")))
        argv = ["compare", "gmeg-dev-yahoo", "-m", "gleu", "--resamples", "20", "--data", "data"]
        return Case(box.tail(*argv, *["--systems", "all"] * box.rng.randrange(2)))
    box.lay({
        "data/SEEDA/outputs/all/INPUT.txt": Seed(fixtures.text(fixtures.SOURCE)),
        "data/GJG15/data/judgments.xml": Seed(fixtures.JUDGMENTS_XML.encode()),
        "data/TMU-GFM-Dataset/tmu-gfm-dataset.csv": Seed(b"source,output,grammer\na,b,1\n"),
    })  # fmt: skip
    name = box.rng.choice(("seeda", "gjg15", "tmu-gfm", "jfleg"))
    argv = box.rng.choice((["data", "verify", name], ["data", "list"], ["data", "path", name],
                           ["compare", name, "-m", "gleu"]))  # fmt: skip
    return Case(box.tail(*argv, "--data", "data"))
