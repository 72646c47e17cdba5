"""Kinds of input that are arguments: command lines, options, and single sentences."""

from __future__ import annotations

import functools

from tests.fuzz import fixtures
from tests.fuzz.box import Box, Case, Seed, as_argument, own_benchmark, texts
from tests.fuzz.mutate import HOSTILE


def command_lines(box: Box) -> Case:
    """15: arguments, options and options of metrics."""
    for key, seed in {**own_benchmark(), **texts(), "gold.m2": Seed(fixtures.GOLD.encode()),
                      "own/judgments.csv": Seed(fixtures.RATINGS.encode())}.items():  # fmt: skip
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
            argv += ["-m", as_argument(_metric(box))]
        elif kind == 5:
            argv += [box.rng.choice(_options(argv)), as_argument(box.rng.choice(_VALUES))]
        else:
            place = box.rng.randrange(len(argv)) if argv else 0
            if argv and argv[place - 1] not in ("-o", "--html", "--cache"):
                argv[place] = as_argument(box.mutate.word())
                if argv[place].startswith("~"):
                    argv[place] = "x"
    argv = [as_argument(word) for word in argv]
    out = box.rng.choice(("full", "closed", *[""] * 18))
    stdin = box.rng.choice((b"", fixtures.text(fixtures.A), fixtures.GOLD.encode(), b"\xff\0"))
    verbatim = argv[:1] in (["edits"], ["m2"])
    return Case(argv, stdin=stdin, silent=True, verbatim=verbatim, strays=True, out=out)


def _metric(box: Box) -> str:
    """Return a metric with valid or unknown options."""
    from gecjury.scoring.registry import METRICS

    local = [n for n in METRICS if not METRICS[n].startswith("gecjury.judges.")]
    name = box.rng.choice(local) if box.rng.random() < 0.9 else box.mutate.word()
    keys = ("n", "beta", "unit", "draws", "tagger", "model", "file", "alpha", "encoder", "seed",
            "max_length", "weights", "compat", "variant", "epsilon", "lambda1", "threshold",
            "merge", "clip", "revision", "")  # fmt: skip
    options = [
        f"{box.rng.choice(keys)}={box.mutate.word()}" for _ in range(box.rng.choice((0, 1, 2)))
    ]
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
    ("maege", "gold.m2", "-m", "gleu", "--seeds", "1", "--resamples", "20"),
    ("attack", *_FILES, "-m", "gleu", "-r", "ref.txt", "--resamples", "20"),
    ("analyse", "norms", *_FILES),
    ("tune", "green:beta=0:2:1", "./own"),
    ("train", "impara", "source.txt,ref.txt", "-o", "x", "--encoder", "no/x", "--leakage", "none"),
    ("judgments", "list", "--cache", "cache"), ("judgments", "export", "x.jsonl"),
    ("demo", "--help"),
)  # fmt: skip
_WORDS = (*HOSTILE, "-m", "-r", "--", "-h", "--version", "score", "--format", "@x", "-o")
_OPTIONS = (
    ["--format", "json"], ["--format", "latex"], ["--format", "xml"], ["--dry-run"], ["--quiet"],
    ["--no-cache"], ["--max-cost", "nan"], ["--max-cost", "-1"], ["--device", "tpu"],
    ["-o", "out"],
    ["--device", "cuda:99"], ["--batch-size", "0"], ["--workers", "0"], ["--concurrency", "-1"],
    ["--data", "nowhere"], ["--data", ""], ["--cache", ""], ["--cache", "a.txt"], ["-o", ""],
    ["-o", "a.txt"], ["-o", "/dev/full"], ["--html", "/dev/full"], ["--html", ""],
    ["--base-url", "http://["], ["--base-url", "x:99999"],
    ["--tagger", ""], ["--tagger", "../x"], ["--tagger", "x" * 300], ["--m2", "-"], ["-r", "-"],
    ["-r", ""], ["-r", "own"], ["-r", "x=ref.txt"], ["-r", "=ref.txt"], ["-r", "x="], ["--m2", ""],
    ["--api-key-env", ""], ["--api-key-env", "NO SUCH\nVAR"], ["--base-url", "http://127.0.0.1:99999/v1"],
    ["--references", ""], ["--references", "-"], ["--systems", ""], ["--attack", ""],
    ["--scale", "1:1"], ["--scale", "nan:nan"], ["--column", "="],
)  # fmt: skip


@functools.cache
def _takes(command: str) -> tuple[str, ...]:
    """Return the options of a command and of its actions that take a value."""
    from gecjury.cli import command_parser

    found = command_parser().declared().actions[command].declared()
    parsers = [each.declared() for each in found.actions.values()] or [found]
    options = [
        option
        for parser in parsers
        for action in parser._actions
        for option in action.option_strings[-1:]
        if action.nargs != 0
    ]
    return tuple(dict.fromkeys(options))


def _options(argv: list[str]) -> tuple[str, ...]:
    from gecjury.cli import COMMANDS

    command = next((word for word in argv if word in COMMANDS), "score")
    return _takes(command) or ("--format",)


_VALUES = (
    "0", "1", "-1", "2", "nan", "inf", "-inf", "1e400", "99999999999", "1000000000000000000000",
    "9" * 5000, "1.5", "", " ", "²", "١", "½", "0x1", "1_0", "1e3", "true", "None", "0.5", "1.0",
    "\x1b[31m", "all", "mean", "spa", "1:4", "a.txt", "ref.txt", "own", "./own", "gold.m2", "-",
    "out", "x/y/z", "a" * 300, "/dev/full", "/dev/null", "nowhere", "base", "official", "corpus",
    "sentence", "gleu", "changes", "remove", "shapley", "counts", "0:1", "none", "x=a.txt",
    "output=x", "\ud800", "http://127.0.0.1:9/", "3 4", "0,1", "1:2:3", "édit", "\u202e",
)  # fmt: skip


def sentences(box: Box) -> Case:
    """17: single sentences and edits: explain, maege, attack, the level of edits."""
    word = box.mutate.word
    roll = box.rng.randrange(7)

    def sentence(lines: list[str]) -> str:
        words = box.rng.choice(lines).split()
        for _ in range(box.rng.choice((0, 1, 1, 3))):
            words.insert(box.rng.randrange(len(words) + 1), word())
        box.spoiled.append("words")
        return as_argument(" ".join(words) + box.rng.choice(("", "", "\n", "\x1b[0m")))

    if roll < 3:
        name = box.rng.choice(("errant", "cleme", "gotoscorer", "i-measure", "gleu", "green"))
        argv = ["explain", *map(sentence, (fixtures.SOURCE, fixtures.A, fixtures.REF)), "-m", name]
        argv += box.rng.choice(([], [], ["--attribution", "remove"],
                                ["--attribution", "shapley"]))  # fmt: skip
        return Case(box.tail(*argv), strays=True)
    seeds = {**texts(), "gold.m2": Seed(fixtures.GOLD.encode(), separator="|||")}
    if roll == 3:
        box.lay(seeds, likely=("gold.m2",))
        where = box.rng.choice(("original", "random"))
        argv = ["maege", "gold.m2", "-m", "gleu", "--source", where, "--seeds", "1",
                "--resamples", "20", "--by-type"]  # fmt: skip
        return Case(box.tail(*argv))
    if roll == 4:
        box.lay(seeds)
        argv = ["attack", "source.txt", "a.txt", "-m", "gleu", "-r", "ref.txt", "--resamples", "20"]
        return Case(box.tail(*argv))
    if roll == 5:
        box.lay(seeds, likely=("ref.txt", "gold.m2"))
        argv = ["score", "source.txt", "a.txt", "b.txt", "-m", "errant", "-r", "gold.m2", "-r",
                "ref.txt", "--by-type", "3", "--sentences"]  # fmt: skip
        return Case(box.tail(*argv))
    box.lay({"credits/x.json": Seed({"format": "gecjury-credits/1", "rows": []}, "json"),
             "ref.txt": Seed(fixtures.text(fixtures.REF * 17))})  # fmt: skip
    argv = ["compare", "sample", "-m", "gleu", "--references", "ref.txt", "--level",
            box.rng.choice(("edit", "sentence", "system")), "--resamples", "5"]  # fmt: skip
    return Case(box.tail(*argv))
