"""Arguments that commands share, and how they are read."""

from __future__ import annotations

import argparse
import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from gecjury.cli.options import add_options
from gecjury.core.settings import REQUIRED, option, options_of

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus, Version
    from gecjury.corpus.languages.language import Language
    from gecjury.scoring.scorer import Scorer
    from gecjury.scoring.scores import Plan


@dataclass(frozen=True, kw_only=True)
class Gold:
    """References and gold edits of commands that accept only files.

    Attributes:
        references: a reference: text, or M2 (one reference an annotator, and gold edits where --m2
            is not given); repeat for more.
        m2: gold edits in M2, and references if -r is not given.
        source_text: the text that grammar checkers read, if it is not the source: the same
            lines with other blanks.
        split: cut paragraphs and essays into sentences, and their corrections to match.
    """

    references: tuple[str, ...] = option((), "-r", "--reference", metavar="REF")
    m2: str | None = option(None, metavar="GOLD")
    source_text: str | None = option(None, metavar="FILE")
    split: bool = False


@dataclass(frozen=True, kw_only=True)
class Outputs(Gold):
    """A source and the outputs of systems.

    Attributes:
        source: sentences to correct: text, M2 or JSON; - reads standard input, here and below.
        hypotheses: system outputs, named after their files (-: stdin), or matches of grammar
            checkers.
        references: a reference: text, or M2 (one reference an annotator, and gold edits where --m2
            is not given); repeat for more. NAME=REF adds it to a set that members of a jury can
            name.
    """

    source: str = option(REQUIRED, "SOURCE")
    hypotheses: tuple[str, ...] = option(REQUIRED, "HYP")


@dataclass(frozen=True, kw_only=True)
class DatasetOptions:
    """Options that apply only to datasets.

    Attributes:
        columns: the columns of the data: id, source, hypothesis (repeat for several), references.
        keep: write the rows that satisfy a condition, e.g. 'green >= .8'.
        engine: engine that runs the workers; ray uses the cluster of $RAY_ADDRESS, or else starts
            one on this machine.
    """

    columns: tuple[str, ...] = option((), "--column", metavar="ROLE=NAME")
    keep: str | None = option(None, metavar="CONDITION")
    engine: Literal["local", "ray"] = "local"


@dataclass(frozen=True, kw_only=True)
class TwoOutputs(Gold):
    """The outputs of one system before and after a change, or of two.

    Attributes:
        source: sentences to correct: text, M2 or JSON; - reads standard input, here and below.
        old: output of the old system: text, M2, JSON.
        new: output of the new system.
    """

    source: str = option(REQUIRED, "SOURCE")
    old: str = option(REQUIRED, "OLD")
    new: str = option(REQUIRED, "NEW")


@dataclass(frozen=True, kw_only=True)
class Sentence:
    """One sentence, given directly or in files.

    Attributes:
        source: a sentence, or a file with --line; - reads standard input, here and below.
        hypothesis: its correction: a sentence or a file.
        references: like -r, without a flag.
        named_references: a reference: a sentence or a file; repeat for more.
        line: line number in files, from 1.
    """

    source: str = option(REQUIRED, "SOURCE")
    hypothesis: str = option(REQUIRED, "HYP")
    references: tuple[str, ...] = option((), "REF")
    named_references: tuple[str, ...] = option((), "-r", "--reference", metavar="REF")
    line: int = option(1, metavar="N")


@dataclass(frozen=True, kw_only=True)
class References:
    """References of commands that accept files or a benchmark.

    Attributes:
        m2: with files: gold edits in the M2 format.
        references: with a benchmark: a reference set, or files (default: official).
        systems: with a benchmark: base (default), fluency, input or all.
    """

    m2: str | None = option(None, metavar="GOLD")
    references: tuple[str, ...] | None = option(None, metavar="SET", several=True)
    systems: str | None = None


@dataclass(frozen=True, kw_only=True)
class Selection:
    """The part of a benchmark that is used.

    Attributes:
        systems: base, fluency, input or all.
        references: a reference set of the benchmark, or files (default: official).
    """

    systems: str = "base"
    references: tuple[str, ...] = option(("official",), metavar="SET", several=True)


def add_references(parser: argparse.ArgumentParser, use: str) -> None:
    """Declare -r, --m2, --references and --systems of commands that accept files or a benchmark.

    Args:
        use: what references are for, if the command does not require them.
    """
    parser.add_argument(
        "-r",
        "--reference",
        dest="reference_files",
        metavar="REF",
        action="append",
        default=[],
        help=f"with files: a reference, text or M2{use}; repeat for more",
    )
    add_options(parser, References)


def check_page(path: str) -> None:
    """Check that a page can be written before any work is done; keep an existing file.

    Raises:
        OutputError: it is a folder, or its folder cannot be created or written to.
    """
    from contextlib import suppress
    from pathlib import Path

    from gecjury.report.figures import check_place

    with suppress(OSError):  # writing it later reports the reason
        Path(path).parent.mkdir(parents=True, exist_ok=True)
    check_place(path)


def may_be_dataset(args: argparse.Namespace) -> bool:
    """Return False for plain text files without options of datasets, which need no closer look."""
    given = any(
        getattr(args, one.name) not in (one.default, [], None) for one in options_of(DatasetOptions)
    )
    names = (args.source, *args.hypotheses)
    return given or any(_DATASET.search(name.lower()) or os.path.isdir(name) for name in names)  # noqa: PTH112


_DATASET = re.compile(r"^hf:|[*?\[]|/$|\.(parquet|pq|jsonl|ndjson|json)(\.gz)?$")
"""Names that may be those of a dataset."""


def add_metrics(parser: argparse.ArgumentParser, meaning: str = "") -> None:
    """Declare -m.

    Args:
        meaning: help text of an optional -m; empty if the command requires it.
    """
    parser.add_argument(
        "-m",
        "--metric",
        dest="metrics",
        metavar="METRIC",
        action="append",
        required=not meaning,
        default=[],
        help=meaning
        or "`name` or `name:option=value,...`; repeat for more (see `gecjury metrics`)",
    )


def with_servers(names: Sequence[str], base_url: str | None, allow_judges: bool) -> list[str]:
    """Return metrics as given, with `--base-url` and `--allow-judges` applied."""
    from gecjury.scoring.options import nested, parse
    from gecjury.scoring.registry import METRICS

    completed = []
    for text in names:
        name, options = parse(text)
        plain = name.partition("@")[0]
        more = []
        if inner := nested(options.get("valid", "")):
            # The judge in brackets is the one that sends requests.
            (judge,) = with_servers([inner], base_url, allow_judges)
            options["valid"] = judge.replace(":", "[", 1) + "]"
            escaped = (f"{key}={value}".replace(",", "\\,") for key, value in options.items())
            text = f"{name}:{','.join(escaped)}"
        if plain == "jury" and allow_judges and "allow_judges" not in options:
            more.append("allow_judges=true")
        # Only metrics that query a server have an option for its address.
        asks = METRICS.get(plain, "").startswith(("gecjury.judges.", "gecjury.jury."))
        if asks and base_url and "base_url" not in options:
            more.append("base_url=" + base_url.replace(",", "\\,"))
        completed.append(text + (("," if options else ":") + ",".join(more) if more else ""))
    return completed


def read_files(args: argparse.Namespace, *, on_disk: bool = False) -> Corpus:
    """Read the files that `Outputs` declares.

    Args:
        on_disk: leave large plain-text files on disk.
    """
    from gecjury.corpus.files.reading import read_corpus

    if not args.hypotheses:  # a dataset does not need them
        args.parser.error("the following arguments are required: HYP")
    files = (args.source, args.hypotheses, args.references, args.m2)
    more = (language_from(args), args.source_text)
    return read_corpus(*files, *more, on_disk=on_disk, split=args.split)


def read_two_outputs(args: argparse.Namespace) -> Corpus:
    """Read the files that `TwoOutputs` declares; OLD and NEW may have the same name in two folders.

    Raises:
        InputError: both are the same file, or NEW contains the edits of several annotators.
    """
    from pathlib import Path

    from gecjury.core.errors import InputError
    from gecjury.corpus.files.reading import read_corpus, system_name

    old, new = Path(args.old), Path(args.new)
    # A file compared with itself has no gains or losses and would pass a gate.
    if args.old == args.new or (old.is_file() and new.is_file() and old.samefile(new)):
        raise InputError(
            f"OLD and NEW are the same file ({args.old}); name the outputs of two systems"
        )
    # Outputs with the same name are identified by their paths.
    same = system_name(old) == system_name(new)
    outputs = {path if same else system_name(path): path for path in (args.old, args.new)}
    files = (args.source, outputs, args.references, args.m2)
    return read_corpus(*files, language_from(args), args.source_text, split=args.split)


def read_sentence(args: argparse.Namespace) -> Corpus:
    """Read the inputs of `Sentence`: one sentence, or with --worst every line of the files.

    Raises:
        InputError: a file is missing, or does not have the line.
    """
    from gecjury.core.errors import InputError
    from gecjury.core.textfiles import shown_path
    from gecjury.corpus.corpus import Corpus, Version, filled_references
    from gecjury.corpus.files.aligned import aligned
    from gecjury.corpus.files.reading import (
        align_reference,
        read_corpus,
        read_source,
        read_version,
        read_versions,
    )
    from gecjury.corpus.tokens import in_language

    references = [*args.references, *args.named_references]
    texts = [args.source, args.hypothesis, *references]
    # Any text may be a sentence, even one that is too long for a path.
    files = [text for text in texts if text == "-" or os.path.isfile(text)]  # noqa: PTH113
    # A word that is neither a file nor likely a sentence is refused before any file is read.
    for text in texts:
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError(
                f"{text!r:.60}: is not UTF-8, which a sentence must be; set the terminal to UTF-8, "
                "or give files and --line"
            ) from None
        if args.worst and text not in files:
            raise InputError(f"{text:.60}: no such file; --worst is for files")
        if files and text not in files and not any(character.isspace() for character in text):
            raise InputError(
                f"{text}: no such file; check the path (since {shown_path(files[0])} is a file, a "
                "word without blanks is not taken as a sentence)"
            )
    language, number = language_from(args), int(args.line)
    if args.worst:
        return read_corpus(args.source, [args.hypothesis], references, language=language)

    source = read_source(args.source) if args.source in files else Version((args.source,))
    where = shown_path(args.source)

    def at_line(text: str, read: Callable[[str], Sequence[Version]]) -> Sequence[Version]:
        if text not in files:
            return [Version((text,))]
        versions = read(text)
        if not 1 <= number <= (lines := len(versions[0].lines)):
            raise InputError(
                f"{shown_path(text)} has {lines} lines; --line {number} is not among them"
            )
        return [version.take([number - 1]) for version in versions]

    def output(path: str) -> Sequence[Version]:
        version = read_version(path)
        # Without a file of sources, there are no ids to match.
        return [aligned(source, where, path, version) if args.source in files else version]

    def annotators(path: str) -> Sequence[Version]:
        versions = read_versions(path)
        return align_reference(source, where, path, versions) if args.source in files else versions

    (hypothesis,) = at_line(args.hypothesis, output)
    (one,) = at_line(args.source, lambda _: [source])
    # M2 gives one version per annotator.
    named = [(text, version) for text in references for version in at_line(text, annotators)]
    others = filled_references([text for text, _ in named], [version for _, version in named])
    corpus = Corpus(one.lines, {"hypothesis": hypothesis}, tuple(others))
    return in_language(corpus, language)


def language_from(args: argparse.Namespace, tagger: str | None = None) -> Language:
    """Return the language of files, according to --lang, --tokens and --fold.

    Whatever is not named is `auto`, which is decided by the texts.
    """
    from gecjury.corpus.languages.language import language_of

    return language_of(args.lang or "en", args.tokens or "auto", args.fold or "auto", tagger)


def named_benchmark(
    args: argparse.Namespace,
    name: str,
    view: str | None = None,
    *,
    references: Sequence[str] | None = None,
) -> Benchmark:
    """Return a benchmark as a command's options describe it.

    Args:
        args: parsed options: `References` or `Selection`, and the shared ones.
        name: a benchmark's name, folder or file.
        view: which human judgments; None for the benchmark's default ones.
        references: sets or files instead of those of --references.

    Raises:
        OptionError: an unknown benchmark, set or view.
        DataError: files are missing.
    """
    from gecjury.benchmarks.load import load_benchmark

    return load_benchmark(
        name,
        systems=args.systems or "base",
        references=references or args.references or "official",
        view=view,
        data=args.data,
        cache=args.cache,
        lang=args.lang,
        tokens=args.tokens,
        fold=args.fold,
        quiet=args.quiet,
    )


def benchmark_or_files(args: argparse.Namespace) -> Corpus | Benchmark:
    """Return a benchmark (one input), or the corpus of a source file and system outputs.

    Args:
        args: `inputs` and the options that `add_references` declares.

    Raises:
        OptionError: there is only one file, or options do not match the kind of input.
    """
    from pathlib import Path

    from gecjury.core.errors import OptionError
    from gecjury.corpus.files.reading import read_corpus
    from gecjury.corpus.files.rows import is_table

    source, *outputs = args.inputs
    if outputs:
        if args.systems or args.references:
            raise OptionError(
                "--systems and --references are for a benchmark; with files use -r REF, and name "
                "only the outputs that you want"
            )
        files = (args.reference_files, args.m2)
        return read_corpus(source, outputs, *files, language_from(args))
    # A table or a TOML file may be a benchmark; any other single file cannot be one.
    if Path(source).is_file() and not (Path(source).suffix == ".toml" or is_table(source)):
        raise OptionError(
            f"{source} is the only input: give a source file and at least one system output, or a "
            "benchmark: its name, its folder, a .toml file or a table"
        )
    if args.reference_files or args.m2:
        raise OptionError(
            f"-r and --m2 are for files; for the references of {source} use --references SET|FILE"
        )
    return named_benchmark(args, source)


def print_plans(plans: Sequence[Plan]) -> None:
    """Print the requests that would be sent to paid services, and their cost."""
    from gecjury.report.tables import print_json
    from gecjury.scoring.scores import Plan

    total = Plan.total(plans)
    print_json(
        {
            "requests": total.requests,
            "tokens": total.tokens,
            "cost": total.cost,
            "metrics": [
                {
                    **plan.details,
                    "requests": plan.requests,
                    "tokens": dict(plan.tokens),
                    "cost": dict(plan.cost),
                }
                for plan in plans
            ],
        }
    )


def tell_two_golds(args: argparse.Namespace, scorers: Sequence[Scorer], corpus: Corpus) -> None:
    """Report if gold edits and references, used by different metrics, are different corrections."""
    import sys

    from gecjury.core.wording import listed, visible
    from gecjury.corpus.corpus import gold_versions

    # Metrics of only one kind cannot disagree.
    by_edits = [scorer.name for scorer in scorers if "gold" in scorer.needs]
    by_text = [scorer.name for scorer in scorers if "references" in scorer.needs]
    if corpus.gold is None or not by_edits or not by_text:
        return
    annotators = gold_versions(corpus.gold)
    # Compared as sets of texts, since the order of annotators does not matter.
    one, two = (
        {tuple(" ".join(line.split()) for line in version.lines) for version in versions}
        for versions in (annotators, corpus.references)
    )
    if one == two:
        return
    m2 = getattr(args, "m2", None)
    where = visible(m2) if m2 else "the M2 files among -r"
    print(
        f"note: {listed(list(dict.fromkeys(by_edits)))} by the gold edits of {where} "
        f"({len(annotators)}), {listed(list(dict.fromkeys(by_text)))} by the references of -r "
        f"({len(corpus.references)}), which contain other corrections",
        file=sys.stderr,
    )


def runtime_from(args: argparse.Namespace, *, log: bool = False) -> Runtime:
    """Return the `Runtime` that the shared options describe.

    Args:
        log: whether to show progress as a line per minute if stderr is not a terminal.
    """
    from pathlib import Path

    from gecjury.cli.progress import TerminalProgress
    from gecjury.core.runtime import Progress, Runtime

    names = ("device", "batch_size", "workers", "concurrency", "dry_run", "max_cost", "api_key_env")
    values: dict[str, Any] = {name: getattr(args, name) for name in (*names, "batch")}
    for name in ("data", "cache"):
        path = getattr(args, name)
        values[name] = None if path is None else Path(path)
    return Runtime(
        **values,
        use_cache=not args.no_cache,
        progress=Progress() if args.quiet else TerminalProgress(log=log),
    )
