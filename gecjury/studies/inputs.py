"""Inputs of studies: the arguments that name them, and how they are read.

The inputs of a study are an object. Its `declare` adds the arguments to a command's parser, and its
`read` returns the data that the parsed arguments name.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from gecjury.core.settings import REQUIRED, option

if TYPE_CHECKING:
    from argparse import Namespace

    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus, Version
    from gecjury.corpus.languages.language import Language
    from gecjury.scoring.scorer import Scorer

Need = Literal["language", "texts", "data", "cache", "edits", "models", "judges", "plans"]
"""Things that a command works with; it accepts the shared options of each of them."""


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
            is not given); repeat for more. NAME=REF adds it to a set that members of a sum can
            name.
    """

    source: str = option(REQUIRED, "SOURCE")
    hypotheses: tuple[str, ...] = option(REQUIRED, "HYP")


@dataclass(frozen=True, kw_only=True)
class OldAndNew(Gold):
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
class OneSentence:
    """One sentence, given directly or in files.

    Attributes:
        source: a sentence, or a file with --line; - reads standard input, here and below.
        hypothesis: its correction: a sentence or a file.
        references: like -r, without a flag.
        named_references: a reference: a sentence or a file; repeat for more.
        line: line number in files, from 1 (default: the first line).
    """

    source: str = option(REQUIRED, "SOURCE")
    hypothesis: str = option(REQUIRED, "HYP")
    references: tuple[str, ...] = option((), "REF")
    named_references: tuple[str, ...] = option((), "-r", "--reference", metavar="REF")
    line: int | None = option(None, metavar="N")


@dataclass(frozen=True, kw_only=True)
class ReferenceOptions:
    """References of commands that accept files or a benchmark.

    Attributes:
        reference_files: with files: a reference, text or M2; repeat for more.
        m2: with files: gold edits in the M2 format.
        references: with a benchmark: a reference set, or files (default: official).
        systems: with a benchmark: base (default), fluency, input or all.
    """

    reference_files: tuple[str, ...] = option((), "-r", "--reference", metavar="REF")
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


class OptionParser(Protocol):
    """The part of a command's parser that inputs use."""

    def add_argument(self, *names: str, **how: Any) -> Any:
        """Declare an argument as in argparse."""

    def add_options(self, *settings: type, group: tuple[str, str] | None = None) -> None:
        """Declare the fields of settings classes as arguments."""

    def declared_arguments(self) -> Mapping[str, Any]:
        """Return the arguments that are declared so far, by name."""


class Inputs(ABC):
    """The inputs of a study.

    Attributes:
        needs: shared options that they read, in addition to those of the study.
        names: what they name as well, so that the command has no `-m`, or no other options.
    """

    needs: ClassVar[tuple[Need, ...]] = ()
    names: tuple[Literal["metrics", "settings"], ...] = ()

    @abstractmethod
    def declare(self, parser: OptionParser) -> None:
        """Declare the arguments."""

    @abstractmethod
    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Any:
        """Return the data that parsed arguments name.

        Args:
            args: the arguments, and the shared options.
            view: the human judgments that a benchmark is loaded with; None for its default.
            runtime: folders of data and caches, progress.
        """

    def note(self, args: Namespace, data: Any, scorers: Sequence[Scorer]) -> str:
        """Return a message about data that metrics read differently; usually empty."""
        return ""


class Files(Inputs):
    """A source, and the outputs of systems."""

    settings: ClassVar[type] = Outputs

    def declare(self, parser: OptionParser) -> None:
        """Declare the files."""
        parser.add_options(self.settings)

    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Corpus:
        """Read the files."""
        return self._corpus(args, args.hypotheses)

    def _corpus(self, args: Namespace, outputs: Any, *, on_disk: bool = False) -> Corpus:
        from gecjury.corpus.files.reading import read_corpus

        return read_corpus(
            args.source,
            outputs,
            args.references,
            args.m2,
            args.source_text,
            lang=language_from(args),
            on_disk=on_disk,
            split=args.split,
        )

    def note(self, args: Namespace, data: Any, scorers: Sequence[Scorer]) -> str:
        """Return a message if gold edits and references are different corrections.

        They are used by different metrics, whose scores then do not say the same.
        """
        from gecjury.core.wording import listed, visible
        from gecjury.corpus.references import gold_versions

        # Metrics of only one kind cannot disagree.
        by_edits = [scorer.name for scorer in scorers if "gold" in scorer.needs]
        by_text = [scorer.name for scorer in scorers if "references" in scorer.needs]
        corpus: Corpus = data
        if corpus.gold is None or not by_edits or not by_text:
            return ""
        annotators = gold_versions(corpus.gold)
        # Compared as sets of texts, since the order of annotators does not matter.
        one, two = (
            {tuple(" ".join(line.split()) for line in version.lines) for version in versions}
            for versions in (annotators, corpus.references)
        )
        if one == two:
            return ""
        where = visible(args.m2) if args.m2 else "the M2 files among -r"
        return (
            f"note: {listed(list(dict.fromkeys(by_edits)))} by the gold edits of {where} "
            f"({len(annotators)}), {listed(list(dict.fromkeys(by_text)))} by the references of -r "
            f"({len(corpus.references)}), which contain other corrections"
        )


class TwoOutputs(Files):
    """The outputs of two systems, or of one before and after a change."""

    settings: ClassVar[type] = OldAndNew

    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Corpus:
        """Read the files; OLD and NEW may have the same name in two folders.

        Raises:
            InputError: both are the same file, or NEW contains the edits of several annotators.
        """
        from pathlib import Path

        from gecjury.core.errors import InputError
        from gecjury.corpus.files.reading import system_name

        old, new = Path(args.old), Path(args.new)
        # A file compared with itself has no gains or losses and would pass a gate.
        if args.old == args.new or (old.is_file() and new.is_file() and old.samefile(new)):
            raise InputError(
                f"OLD and NEW are the same file ({args.old}); name the outputs of two systems"
            )
        # Outputs with the same name are identified by their paths.
        same = system_name(old) == system_name(new)
        outputs = {path if same else system_name(path): path for path in (args.old, args.new)}
        return self._corpus(args, outputs)


class Sentence(Inputs):
    """One sentence, or with --worst every line of files."""

    def declare(self, parser: OptionParser) -> None:
        """Declare the sentence and its correction."""
        parser.add_options(OneSentence)

    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Corpus:
        """Read the sentence.

        Raises:
            InputError: a file is missing, or does not have the line.
        """
        return read_sentence(args)


class OneBenchmark(Inputs):
    """A benchmark with human judgments.

    Args:
        meaning: help of the argument.
        metric: help of the metric, if the command has it before the benchmark instead of `-m`.
    """

    needs: ClassVar[tuple[Need, ...]] = ("data",)
    count: ClassVar[int | str] = 1

    def __init__(self, meaning: str, metric: str = "") -> None:
        self.meaning = meaning
        self.metric = metric
        self.names = ("metrics",) if metric else self.names

    def declare(self, parser: OptionParser) -> None:
        """Declare the benchmark and the part of it that is used."""
        if self.metric:
            parser.add_argument("metrics", metavar="METRIC", nargs=1, help=self.metric)
        parser.add_argument("inputs", metavar="benchmark", nargs=self.count, help=self.meaning)
        parser.add_options(Selection)

    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Any:
        """Load the benchmark."""
        return named_benchmark(args, args.inputs[0], view)


class Benchmarks(OneBenchmark):
    """One benchmark or several."""

    count: ClassVar[int | str] = "+"

    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Any:
        """Load the benchmarks."""
        loaded = tuple(named_benchmark(args, name, view) for name in args.inputs)
        return loaded if len(loaded) > 1 else loaded[0]


class Sample(Inputs):
    """The benchmark that comes with the package."""

    def declare(self, parser: OptionParser) -> None:
        """Declare nothing."""

    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Benchmark:
        """Load the sample."""
        return named_benchmark(args, "sample", view)


@dataclass(frozen=True)
class FilesOrBenchmark(Inputs):
    """A benchmark, or a source and the outputs of systems.

    Attributes:
        meaning: help of the argument.
        metavar: its name in the help.
        references: the settings class of references.
    """

    needs: ClassVar[tuple[Need, ...]] = ("data",)
    meaning: str
    metavar: str = "BENCHMARK|SOURCE HYP"
    references: type = ReferenceOptions

    def declare(self, parser: OptionParser) -> None:
        """Declare the files or the benchmark, and references."""
        parser.add_argument("inputs", metavar=self.metavar, nargs="+", help=self.meaning)
        parser.add_options(self.references)

    def read(self, args: Namespace, view: str | None, runtime: Runtime) -> Corpus | Benchmark:
        """Return a benchmark (one input), or the corpus of a source file and system outputs.

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
                    "--systems and --references are for a benchmark; with files use -r REF, and "
                    "name only the outputs that you want"
                )
            files = (args.reference_files, args.m2)
            return read_corpus(source, outputs, *files, lang=language_from(args))
        # A table or a TOML file may be a benchmark; any other single file cannot be one.
        if Path(source).is_file() and not (Path(source).suffix == ".toml" or is_table(source)):
            raise OptionError(
                f"{source} is the only input: give a source file and at least one system output, "
                "or a benchmark: its name, its folder, a .toml file or a table"
            )
        if args.reference_files or args.m2:
            raise OptionError(
                f"-r and --m2 are for files; for the references of {source} use --references "
                "SET|FILE"
            )
        return named_benchmark(args, source, view)


def named_benchmark(args: Namespace, name: str, view: str | None = None) -> Benchmark:
    """Return a benchmark as a command's options describe it.

    Args:
        args: parsed options: the shared ones, and those of a selection if the command has them.
        name: a benchmark's name, folder or file.
        view: which human judgments; None for the benchmark's default ones.

    Raises:
        OptionError: an unknown benchmark, set or view.
        DataError: files are missing.
    """
    from gecjury.benchmarks.load import load_benchmark

    return load_benchmark(
        name,
        systems=getattr(args, "systems", None) or "base",
        references=getattr(args, "references", None) or "official",
        view=view,
        data=args.data,
        cache=args.cache,
        lang=args.lang,
        tokens=args.tokens,
        fold=args.fold,
        quiet=args.quiet,
    )


def read_sentence(args: Namespace) -> Corpus:
    """Read what `OneSentence` declares: one sentence, or with --worst every line of the files.

    Raises:
        InputError: a file is missing, or does not have the line.
    """
    from gecjury.core.errors import InputError
    from gecjury.core.textfiles import shown_path
    from gecjury.corpus.corpus import Corpus, Version
    from gecjury.corpus.files.aligned import aligned
    from gecjury.corpus.files.reading import (
        align_reference,
        read_corpus,
        read_source,
        read_version,
        read_versions,
    )
    from gecjury.corpus.lines import misfit
    from gecjury.corpus.references import filled_references
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
    language, number = language_from(args), 1 if args.line is None else int(args.line)
    if args.worst:
        return read_corpus(args.source, [args.hypothesis], references, lang=language)

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
        if len(source.lines) == lines:
            versions = [v.with_note(misfit(source.lines, v.lines)) for v in versions]
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
    labels = {}
    if args.line is None and len(source.lines) > 1:
        labels["system hypothesis"] = where
        hypothesis = hypothesis.with_note(
            f"line 1 of {len(source.lines)} is explained; --line N names another, --worst N those "
            "that cost most"
        )
    corpus = Corpus(one.lines, {"hypothesis": hypothesis}, tuple(others), _labels=labels)
    return in_language(corpus, language)


def language_from(args: Namespace, tagger: str | None = None) -> Language:
    """Return the language of files, according to --lang, --tokens and --fold.

    Whatever is not named is `auto`, which is decided by the texts.
    """
    from gecjury.corpus.languages.language import language_of

    return language_of(args.lang or "en", args.tokens or "auto", args.fold or "auto", tagger)


def with_servers(names: Sequence[str], base_url: str | None, allow_judges: bool) -> list[str]:
    """Return metrics as given, with `--base-url` and `--allow-judges` applied.

    They apply to metrics that options name in brackets as well.
    """
    from gecjury.scoring.options import metric_options, nested, parse
    from gecjury.scoring.registry import METRICS, scorer_class

    completed = []
    for text in names:
        name, options = parse(text)
        plain = name.partition("@")[0]
        more = []
        inside = {key: inner for key, value in options.items() if (inner := nested(value))}
        for key, inner in inside.items():
            named = options[key].partition("[")[0]
            (done,) = with_servers([inner], base_url, allow_judges)
            options[key] = f"{named}[{done[len(named) + 1 :]}]"
        if inside:
            escaped = (f"{key}={value}".replace(",", "\\,") for key, value in options.items())
            text = f"{name}:{','.join(escaped)}"
        if plain == "jury" and allow_judges and "allow_judges" not in options:
            more.append("allow_judges=true")
        # Only metrics that query a server have an option for its address.
        asks = METRICS.get(plain, "").startswith(("gecjury.judges.", "gecjury.jury."))
        known = metric_options(scorer_class(plain)) if asks else {}
        if base_url and "base_url" in known and "base_url" not in options:
            more.append("base_url=" + base_url.replace(",", "\\,"))
        completed.append(text + (("," if options else ":") + ",".join(more) if more else ""))
    return completed
