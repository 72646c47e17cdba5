"""Texts that models are trained on: language, leakage checks, and labelled tokens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gecjury.core.runtime import Runtime

if TYPE_CHECKING:
    from gecjury.benchmarks.benchmark import Benchmark
    from gecjury.benchmarks.data_folder import DataFolder
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.languages.language import Language
    from gecjury.refless.data.labelled import LabelledSentence, LabelledText


@dataclass(frozen=True)
class Material:
    """Training data by name, and how its texts are read.

    Attributes:
        names: named sets, or files.
        checked: benchmarks in which training sentences are looked for.
        runtime: folders of data and caches, and what gets messages.
        lang: code of the language, if it does not follow from the names.
        fold: see `gecjury.corpus.languages.language.language_of`.
        quiet: show no progress of downloads.
    """

    names: tuple[str, ...]
    checked: tuple[str, ...]
    runtime: Runtime
    lang: str | None
    fold: str | None
    quiet: bool

    def folder(self) -> DataFolder:
        """Return the folder that data is read from."""
        from gecjury.benchmarks.data_folder import open_data

        return open_data(self.runtime.data, cache=self.runtime.cache, quiet=self.quiet)

    def benchmark(self, name: str) -> Benchmark:
        """Load a benchmark with all its systems."""
        from gecjury.benchmarks.load import load_benchmark

        return load_benchmark(name, systems="all", data=self.runtime.data, cache=self.runtime.cache)

    def language(self, languages: Mapping[str, str | None]) -> Language:
        """Return the language of the training data.

        It is that of --lang, that of the named sets, or English.

        Args:
            languages: language code by name of the input; None for files.

        Raises:
            OptionError: inputs have several languages, or another one than --lang.
        """
        from gecjury.core.errors import OptionError
        from gecjury.corpus.languages.language import language_of

        named = {name: code for name, code in languages.items() if code is not None}
        chosen = language_of(self.lang, fold=self.fold).code if self.lang else None
        for name, code in named.items():
            if chosen is not None and code != chosen:
                raise OptionError(
                    f"`lang={self.lang}`: {name} is {language_of(code).name} ({code}); omit `lang=`"
                )
        if len(set(named.values())) > 1:
            inputs = ", ".join(
                f"{name} is {language_of(code).name}" for name, code in named.items()
            )
            raise OptionError(f"{inputs}: a model is trained on one language")
        code = chosen or next(iter(named.values()), "en")
        return language_of(code, fold=self.fold)

    def warn_of_leaks(self, texts: list[str], what: str) -> list[str]:
        """Return warnings about sentences shared with benchmarks whose data is on this machine.

        The user is told as well.
        """
        from gecjury.corpus.leakage import corpus_texts, find_leaks, warning

        warnings = []
        absent = dict.fromkeys(self.checked)
        for name, corpus in self._tested_corpora(self.checked):
            del absent[name]
            line = warning(find_leaks(texts, corpus_texts(corpus)), what, name)
            if line:
                warnings.append(line)
                self.runtime.tell(f"warning: {line}")
        unchecked = [
            f"Leakage into {name} was not checked, since its data is missing" for name in absent
        ]
        return warnings + unchecked

    def labelled_code(self, names: Sequence[str]) -> str:
        """Return the language code of labelled text; `mul` if sets of several languages are joined.

        Raises:
            OptionError: a set has another language than --lang.
        """
        from gecjury.refless.data.labelled import labelled_language

        languages = {name: labelled_language(name) for name in names}
        if not self.lang and len({code for code in languages.values() if code is not None}) > 1:
            return "mul"
        return self.language(languages).code

    def labelled_text(self, names: Sequence[str], code: str) -> LabelledText:
        """Return labelled sentences without those of the benchmarks of --leakage.

        The user is told how many are excluded, and where the dev part comes from.

        Args:
            names: see `gecjury.refless.data.labelled.read_labelled`.
            code: language code of the training, assumed for files; sets in other languages are
                reported.
        """
        from gecjury.refless.data.labelled import (
            LabelledText,
            dev_beside,
            labelled_language,
            read_labelled,
            refuse_one_class,
        )

        for name in names:
            language = labelled_language(name)
            if code != "mul" and language not in (None, code):
                self.runtime.tell(
                    f"warning: {name} is in another language ({language}) than the training "
                    f"({code})"
                )
        train = read_labelled(names, self.folder, language=code)
        # A detector learns nothing from tokens that are all correct or all wrong.
        refuse_one_class(train, ", ".join(names))
        # A dev part may be next to the training part, as in MultiGED.
        places = [place for place in map(dev_beside, names) if place is not None]
        dev = read_labelled(places, self.folder, part="dev", language=code)
        shown = ", ".join(places) or "a held-out tenth"
        # A model must not learn from sentences that it is later tested on.
        train, dev = self._without_tested(train, dev)
        count = f"{len(dev)} sentences" if dev else "drawn by sentence"
        self.runtime.tell(
            f"detection learns from {len(train)} sentences; dev part: {shown} ({count})"
        )
        return LabelledText(train, dev)

    def told_of_reading(self, encoder: str, texts: Sequence[str], language: Language) -> list[str]:
        """Return and tell warnings if an encoder cannot read texts of another language.

        English texts are not checked.
        """
        from gecjury.refless.nets.coverage import reading_notes
        from gecjury.refless.nets.regressor import load_tokenizer

        if language.code == "en":
            return []
        notes = reading_notes(load_tokenizer(encoder), texts, encoder)
        for note in notes:
            self.runtime.tell(f"warning: {note}")
        return notes

    def _tested_corpora(self, names: Iterable[str]) -> Iterator[tuple[str, Corpus]]:
        """Yield benchmarks by name with their texts; tell which have no local data."""
        from gecjury.core.errors import DataError

        for name in names:
            try:
                corpus = self.benchmark(name).corpus
            except DataError as error:
                self.runtime.tell(f"leakage into {name} was not checked: {error}")
                continue
            yield name, corpus

    def _without_tested(
        self, *parts: tuple[LabelledSentence, ...]
    ) -> list[tuple[LabelledSentence, ...]]:
        """Return the parts without sentences of the benchmarks that models are tested on."""
        from gecjury.corpus.leakage import corpus_texts, normalise

        # SEEDA has a third of CoNLL-14's sentences; GJG15 has them all.
        names = [*self.checked, *(["gjg15"] if "seeda" in self.checked else [])]
        tested: set[str] = set()
        for _, corpus in self._tested_corpora(dict.fromkeys(names)):
            tested |= {normalise(text) for lines in corpus_texts(corpus).values() for text in lines}
        kept = [tuple(s for s in part if normalise(s.text) not in tested) for part in parts]
        left_out = sum(map(len, parts)) - sum(map(len, kept))
        if names:
            shown = " or ".join(dict.fromkeys(names))
            self.runtime.tell(
                f"excluded from the labelled text: {left_out} sentences that are in {shown}"
            )
        return kept
