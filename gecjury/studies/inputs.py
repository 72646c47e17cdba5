"""Inputs of studies: the arguments that name them, and how they are read.

The inputs of a study are an object that describes its arguments; the command line declares them.
Its `read` returns the data that a user names with them.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from gecjury.core.settings import REQUIRED, option

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.table import View
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus, Version
    from gecjury.corpus.languages.language import Language
    from gecjury.scoring.scorer import Scorer

InputData: TypeAlias = Any
"""The data that inputs read for their study: a corpus, benchmarks, or files to train on."""

Need = Literal["language", "texts", "data", "cache", "edits", "models", "judges", "plans"]
"""Things that a command works with; it accepts the shared options of each of them."""

_TEXTS = "language of the texts (default: that of the benchmark, or English)"
_GLOBAL = "global options (none of them changes a score)"


@dataclass(frozen=True, kw_only=True)
class Shared:
    """Options that several commands read; `reader` says which commands.

    Attributes:
        lang: ISO code: sv, ja, uk, cs, ...; `und` is any other language.
        tokens: auto (default), space, en, char, intl, ja, jieba, zh or spacy:NAME; auto
            is the language's own; in English it tokenises all texts if some have raw lines.
        fold: auto (default), quotes, none, nfc or nfkc; quotes counts all forms of a quotation
            mark, apostrophe, dash, ellipsis or full-width sign as equal, nfkc also widths of
            letters; auto is quotes for your own texts.
        format: how results are printed.
        data: folder with benchmark data.
        device: auto, cpu, cuda, cuda:N or mps.
        batch_size: the most texts that a model reads at once (default: what memory holds).
        workers: number of processes.
        concurrency: simultaneous requests.
        cache: cache folder (default: $GECJURY_CACHE, else the user's).
        no_cache: do not read or write disk caches.
        dry_run: judges: count requests and cost, send nothing.
        max_cost: judges: stop before this cost is exceeded.
        batch: judges: send batches of requests (half the price, up to a day).
        api_key_env: judges: environment variable with the key for servers that are not OpenAI's; by
            default they get no key.
        base_url: judges: server for judges that name none, also in a sum.
        allow_judges: allow what metrics named in a file (a study, a list of members) need your
            consent for: code, servers, files elsewhere, fetched models, judges.
        quiet: show no progress bars.
    """

    lang: str | None = option(None, metavar="CODE", reader="language", heading=_TEXTS)
    tokens: str | None = option(None, metavar="HOW", reader="texts")
    fold: Literal["auto", "quotes", "none", "nfc", "nfkc"] | None = option(None, reader="language")
    format: Literal["table", "json", "tsv", "markdown", "latex"] = option("table", heading=_GLOBAL)
    data: str | None = option(None, metavar="DIR", reader="data")
    device: str = option("auto", reader="models")
    batch_size: int | None = option(None, metavar="N", least=1, most=1_000_000, reader="models")
    workers: int = option(1, metavar="N", least=1, most=1_024, reader="edits")
    concurrency: int = option(32, metavar="N", least=1, most=10_000, reader="judges")
    cache: str | None = option(None, metavar="DIR", reader="cache")
    no_cache: bool = option(False, reader="edits")
    dry_run: bool = option(False, reader="plans")
    max_cost: float | None = option(None, metavar="X", reader="judges")
    batch: bool = option(False, reader="judges")
    api_key_env: str | None = option(None, metavar="VAR", reader="judges")
    base_url: str | None = option(None, metavar="URL", reader="judges")
    allow_judges: bool = option(False, reader="judges")
    quiet: bool = option(False, "-q", "--quiet")


@dataclass(frozen=True, kw_only=True)
class Gold:
    """References and gold edits of commands that accept only files.

    Attributes:
        references: a reference: text, or M2 (one reference an annotator, and gold edits where --m2
            is not given); repeat for more. Or a folder with SYSTEM.txt for each system's own.
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
            name. Or a folder with SYSTEM.txt for each system's own.
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


@dataclass(frozen=True, kw_only=True)
class Arguments:
    """The arguments of a command besides the settings of its study.

    Attributes:
        names: files or benchmarks, if the inputs have a positional argument for them.
        options: the options of the inputs, an instance of their `options`.
        metrics: names, with options.
        shared: options that commands share.
        output: where the study writes.
        page: file of the page.
    """

    names: tuple[str, ...] = ()
    options: Any = None
    metrics: tuple[str, ...] = ()
    shared: Shared = field(default_factory=Shared)
    output: str | None = None
    page: str | None = None


class ReadingStudy(Protocol):
    """A study, as far as the inputs that it reads need it."""

    @property
    def view(self) -> View | None:
        """The view of human judgments that benchmarks are loaded with."""


@dataclass(frozen=True)
class Inputs(ABC):
    """The inputs of a study.

    Attributes:
        meaning: help of the positional argument that names them.
        metavar: its name in the help; empty if there is none, so that no benchmark can be named.
        options: a settings class of other arguments.
        count: number of names; `+` for one or more.
        metric: help of the metric, if the command has it before the names instead of `-m`.
        described: whether a file describes the whole study, so that the command has no other
            options.
    """

    meaning: str = ""
    metavar: str = ""
    options: type | None = None
    count: int | str = field(default="+", kw_only=True)
    metric: str = field(default="", kw_only=True)
    described: bool = field(default=False, kw_only=True)

    @abstractmethod
    def read(self, given: Arguments, study: ReadingStudy, runtime: Runtime) -> InputData:
        """Return the data that a user names.

        Args:
            study: the study that reads them, whose `view` benchmarks are loaded with.
            runtime: folders of data and caches, progress.
        """

    def note(self, given: Arguments, data: InputData, scorers: Sequence[Scorer]) -> str:
        """Return a message about data that metrics read differently; usually empty."""
        return ""


@dataclass(frozen=True)
class Files(Inputs):
    """A source, and the outputs of systems."""

    options: type | None = Outputs

    def read(self, given: Arguments, study: ReadingStudy, runtime: Runtime) -> Corpus:
        """Read the files."""
        return self._corpus(given, given.options.hypotheses)

    def _corpus(
        self, given: Arguments, outputs: Sequence[str] | Mapping[str, str], *, on_disk: bool = False
    ) -> Corpus:
        from gecjury.corpus.files.reading import read_corpus

        files: Outputs | OldAndNew = given.options
        return read_corpus(
            files.source,
            outputs,
            files.references,
            files.m2,
            files.source_text,
            lang=language_from(given.shared),
            on_disk=on_disk,
            split=files.split,
        )

    def note(self, given: Arguments, data: InputData, scorers: Sequence[Scorer]) -> str:
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
        where = visible(given.options.m2) if given.options.m2 else "the M2 files among -r"
        return (
            f"note: {listed(list(dict.fromkeys(by_edits)))} by the gold edits of {where} "
            f"({len(annotators)}), {listed(list(dict.fromkeys(by_text)))} by the references of -r "
            f"({len(corpus.references)}), which contain other corrections"
        )


@dataclass(frozen=True)
class TwoOutputs(Files):
    """The outputs of two systems, or of one before and after a change."""

    options: type | None = OldAndNew

    def read(self, given: Arguments, study: ReadingStudy, runtime: Runtime) -> Corpus:
        """Read the files; OLD and NEW may have the same name in two folders.

        Raises:
            InputError: both are the same file, or NEW contains the edits of several annotators.
        """
        from pathlib import Path

        from gecjury.core.errors import InputError
        from gecjury.corpus.files.reading import system_name

        files: OldAndNew = given.options
        old, new = Path(files.old), Path(files.new)
        # A file compared with itself has no gains or losses and would pass a gate.
        if files.old == files.new or (old.is_file() and new.is_file() and old.samefile(new)):
            raise InputError(
                f"OLD and NEW are the same file ({files.old}); name the outputs of two systems"
            )
        # Outputs with the same name are identified by their paths.
        same = system_name(old) == system_name(new)
        outputs = {path if same else system_name(path): path for path in (files.old, files.new)}
        return self._corpus(given, outputs)


@dataclass(frozen=True)
class Sentence(Inputs):
    """One sentence, or with --worst every line of files."""

    options: type | None = OneSentence

    def read(self, given: Arguments, study: ReadingStudy, runtime: Runtime) -> Corpus:
        """Read the sentence.

        Raises:
            InputError: a file is missing, or does not have the line.
        """
        return read_sentence(
            given.options, language_from(given.shared), every=bool(getattr(study, "worst", 0))
        )


@dataclass(frozen=True)
class Benchmarks(Inputs):
    """Benchmarks with human judgments."""

    metavar: str = "benchmark"
    options: type | None = Selection

    def read(
        self, given: Arguments, study: ReadingStudy, runtime: Runtime
    ) -> Benchmark | tuple[Benchmark, ...]:
        """Load the benchmarks."""
        loaded = tuple(named_benchmark(given, name, study.view) for name in given.names)
        return loaded if len(loaded) > 1 else loaded[0]


@dataclass(frozen=True)
class Sample(Inputs):
    """The benchmark that comes with the package."""

    def read(self, given: Arguments, study: ReadingStudy, runtime: Runtime) -> Benchmark:
        """Load the sample."""
        return named_benchmark(given, "sample", study.view)


@dataclass(frozen=True)
class FilesOrBenchmark(Inputs):
    """A benchmark, or a source and the outputs of systems."""

    metavar: str = "BENCHMARK|SOURCE HYP"
    options: type | None = ReferenceOptions

    def read(self, given: Arguments, study: ReadingStudy, runtime: Runtime) -> Corpus | Benchmark:
        """Return a benchmark (one input), or the corpus of a source file and system outputs.

        Raises:
            OptionError: there is only one file, or options do not match the kind of input.
        """
        from pathlib import Path

        from gecjury.core.errors import OptionError
        from gecjury.corpus.files.reading import read_corpus
        from gecjury.corpus.files.rows import is_table

        source, *outputs = given.names
        options: ReferenceOptions = given.options
        if outputs:
            if options.systems or options.references:
                raise OptionError(
                    "--systems and --references are for a benchmark; with files use -r REF, and "
                    "name only the outputs that you want"
                )
            files = (options.reference_files, options.m2)
            return read_corpus(source, outputs, *files, lang=language_from(given.shared))
        # A table or a TOML file may be a benchmark; any other single file cannot be one.
        if Path(source).is_file() and not (Path(source).suffix == ".toml" or is_table(source)):
            raise OptionError(
                f"{source} is the only input: give a source file and at least one system output, "
                "or a benchmark: its name, its folder, a .toml file or a table"
            )
        if options.reference_files or options.m2:
            raise OptionError(
                f"-r and --m2 are for files; for the references of {source} use --references "
                "SET|FILE"
            )
        return named_benchmark(given, source, study.view)


def named_benchmark(given: Arguments, name: str, view: str | None = None) -> Benchmark:
    """Return a benchmark as the options describe it.

    Args:
        given: the shared options, and those of a selection.
        name: a benchmark's name, folder or file.
        view: which human judgments; None for the benchmark's default ones.

    Raises:
        OptionError: an unknown benchmark, set or view.
        DataError: files are missing.
    """
    from gecjury.benchmarks.load import load_benchmark

    part: Selection | ReferenceOptions = given.options or Selection()
    shared = given.shared
    return load_benchmark(
        name,
        systems=part.systems or "base",
        references=part.references or "official",
        view=view,
        data=shared.data,
        cache=shared.cache,
        lang=shared.lang,
        tokens=shared.tokens,
        fold=shared.fold,
        quiet=shared.quiet,
    )


def read_sentence(given: OneSentence, language: Language, *, every: bool) -> Corpus:
    """Read one sentence.

    Args:
        every: read all lines, of which those that cost most are explained; only from files.

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

    references = [*given.references, *given.named_references]
    texts = [given.source, given.hypothesis, *references]
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
        if every and text not in files:
            raise InputError(f"{text:.60}: no such file; --worst is for files")
        if files and text not in files and not any(character.isspace() for character in text):
            raise InputError(
                f"{text}: no such file; check the path (since {shown_path(files[0])} is a file, a "
                "word without blanks is not taken as a sentence)"
            )
    if given.line is not None and (every or not files):
        raise InputError("--line is for files, and does nothing with --worst: leave it out")
    number = 1 if given.line is None else given.line
    if every:
        return read_corpus(given.source, [given.hypothesis], references, lang=language)

    source = read_source(given.source) if given.source in files else Version((given.source,))
    where = shown_path(given.source)

    def at_line(text: str, read: Callable[[str], Sequence[Version]]) -> Sequence[Version]:
        if text not in files:
            return [Version((text,))]
        versions = read(text)
        lines = len(versions[0].lines)
        if not 1 <= number <= lines:
            raise InputError(
                f"{shown_path(text)} has {lines} lines; --line {number} is not among them"
            )
        if len(source.lines) == lines:
            versions = [v.with_note(misfit(source.lines, v.lines)) for v in versions]
        return [version.take([number - 1]) for version in versions]

    def output(path: str) -> Sequence[Version]:
        version = read_version(path)
        # Without a file of sources, there are no ids to match.
        return [aligned(source, where, path, version) if given.source in files else version]

    def annotators(path: str) -> Sequence[Version]:
        versions = read_versions(path)
        return align_reference(source, where, path, versions) if given.source in files else versions

    (hypothesis,) = at_line(given.hypothesis, output)
    (one,) = at_line(given.source, lambda _: [source])
    # M2 gives one version per annotator.
    named = [(text, version) for text in references for version in at_line(text, annotators)]
    others = filled_references([text for text, _ in named], [version for _, version in named])
    labels = {}
    if given.line is None and len(source.lines) > 1:
        labels["system hypothesis"] = where
        hypothesis = hypothesis.with_note(
            f"line 1 of {len(source.lines)} is explained; --line N names another, --worst N those "
            "that cost most"
        )
    corpus = Corpus(one.lines, {"hypothesis": hypothesis}, tuple(others), _labels=labels)
    return in_language(corpus, language)


def language_from(shared: Shared, tagger: str | None = None) -> Language:
    """Return the language of files, according to --lang, --tokens and --fold.

    Whatever is not named is `auto`, which is decided by the texts.
    """
    from gecjury.corpus.languages.language import language_of

    return language_of(shared.lang or "en", shared.tokens or "auto", shared.fold or "auto", tagger)


def with_servers(names: Sequence[str], base_url: str | None, allow_judges: bool) -> list[str]:
    """Return metrics as given, with `--base-url` and `--allow-judges` applied.

    They apply to metrics that options name in brackets as well.
    """
    from gecjury.scoring.options import metric_options, nested, parse, typed_metric
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
            text = typed_metric(name, options)
        if plain == "jury" and allow_judges and "allow_judges" not in options:
            more.append("allow_judges=true")
        # Only metrics that query a server have an option for its address.
        asks = METRICS.get(plain, "").startswith(("gecjury.judges.", "gecjury.jury."))
        known = metric_options(scorer_class(plain)) if asks else {}
        if base_url and "base_url" in known and "base_url" not in options:
            more.append("base_url=" + base_url.replace(",", "\\,"))
        completed.append(text + (("," if options else ":") + ",".join(more) if more else ""))
    return completed
