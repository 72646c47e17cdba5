"""post-edit: what is left to correct in an output, by what a model or a person made of it."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from gecjury.core.arrays import FloatArray, IntArray
from gecjury.core.durable import write_text
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.core.textfiles import file_name
from gecjury.core.wording import single_spaced
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.files.reading import own_file, read_own_references
from gecjury.corpus.languages.detection import script_of
from gecjury.corpus.languages.language import RAW_TOKENS, Language
from gecjury.corpus.references import NO_REFERENCE
from gecjury.corpus.tokens import looks_raw, tokenised
from gecjury.judges.judge import Judge
from gecjury.judges.posing import Sheet, render_fenced
from gecjury.judges.replies.forms import TEXT
from gecjury.judges.replies.reply import Failure, read_text
from gecjury.judges.showing import Context, nonce, one_line, read_contexts
from gecjury.prompts import Prompt
from gecjury.scoring.abilities import NamesMetrics, asks
from gecjury.scoring.registry import inner_metric, load
from gecjury.scoring.scorer import MeanScorer, Scorer, setting
from gecjury.scoring.scores import Plan, Scores, Statistics
from gecjury.scoring.signature import Signature, file_digest

_UNITS = ("words", "characters")
_FENCE = re.compile(r"=== [0-9a-f]{12} ===")
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,2}[.)])\s")
_REMARKS = "([{→"
_KANA = ("HIRAGANA", "KATAKANA")
_UNSPACED = ("CJK", "THAI", "LAO", "KHMER", "MYANMAR")
_ROOM = 20  # characters that any text may have more
_FEWEST_WORDS = 3  # a shorter text may be all new


class Draft(NamedTuple):
    """An output that is post-edited.

    Attributes:
        source: the source's tokens.
        output: its tokens.
        shown: source, output and reference as a model sees them; empty if it does not.
    """

    row: int
    source: str
    output: str
    shown: tuple[str, str, str]
    context: Context
    language: Language

    @property
    def key(self) -> tuple[int, str]:
        """The row, and the output without its blanks' kinds and numbers."""
        return self.row, single_spaced(self.output)

    def read(self, text: str, *, reasoned: bool = False) -> str | Failure:
        """Return the tokens of the post-edit in a reply, or why it is none."""
        written = read_text(text)
        if isinstance(written, Failure):
            return written
        fault = fault_of(written, [self.source, *self.shown])
        if fault:
            return Failure("other-text", fault)
        try:
            return _in_tokens([written], [self.output], self.language, "a post-edit")[0]
        except InputError:
            return Failure("other-text", "the tokeniser changes it")


def _in_tokens(
    lines: Sequence[str], outputs: Sequence[str], language: Language, where: str
) -> Sequence[str]:
    """Return post-edits in tokens, as their outputs are."""
    # Models, and people, join the tokens that they were given.
    if language.tokens == "space" and looks_raw(lines) and not looks_raw(outputs):
        language = replace(language, tokens=RAW_TOKENS.get(language.code, "intl"))
    return tokenised(lines, language, where)


def fault_of(text: str, texts: Iterable[str]) -> str:
    """Return why a text is no post-edit; empty if it may be one.

    Args:
        texts: the texts that it should resemble: source, output and reference.
    """
    near = [one for one in texts if one.strip()]
    lengths = list(map(len, near))
    if not any(map(str.isalnum, text)) and any(map(str.isalnum, "".join(near))):
        return "no words"
    if any(unicodedata.category(sign) in ("Cc", "Cs", "Zl", "Zp") for sign in text):
        return "several lines or control characters"
    if _FENCE.search(text):
        return "repeats the question"
    if len(text) > 2 * max(lengths) + _ROOM:
        return "much longer than source and output"
    if 3 * len(text) + _ROOM < min(lengths):
        return "much shorter than source and output"
    if _BULLET.match(text) and not any(map(_BULLET.match, near)):
        return "a list"
    if any(sign in text and sign not in "".join(near) for sign in _REMARKS):
        return "a remark in brackets"
    scripts = {_script(one) for one in near} - {""}
    if scripts and _script(text) not in scripts:
        return "another script"
    words, shared = _words(text), {word for one in near for word in _words(one)}
    # Translations, refusals and explanations hardly have words of the texts.
    if len(words) >= _FEWEST_WORDS and 5 * sum(word in shared for word in words) < len(words):
        return "other words than source and output"
    return ""


def _script(text: str) -> str:
    script = script_of(text)
    return "CJK" if script in _KANA else script


def _words(text: str) -> list[str]:
    words = re.findall(r"[^\W\d_]+", text.casefold())
    return list("".join(words)) if _script(text) in _UNSPACED else words


@dataclass(frozen=True)
class PostEdit(Judge[str, Draft], MeanScorer, NamesMetrics):
    """How close an output is to its post-edit: the text that needs the fewest changes to be right.

    A model writes a post-edit of every different output of a source (Östling, Kurfalı and Caines
    2025), or people did (`file`). Higher is better; 1 for an output that is left as it is. The
    score of a system is the mean of its sentences, except with a metric and `file`: then it is the
    metric's own, with each output's closest reference (Rozovskaya and Roth 2021). A model is not
    asked about an output without words, which scores 0, or 1 if the source has none either.

    Attributes:
        by: a metric with references, such as green or errant[option=value,...]; or `words` or
            `characters`: 1 − Levenshtein distance / length of the longer text.
        source: whether the model sees the source and its context.
        reference: whether it sees the first reference.
        file: a folder of post-edits that exist, instead of a model: `SYSTEM.txt` for every system,
            with a line for every source.
    """

    name: ClassVar[str] = "post-edit"
    summary: ClassVar[str] = "similarity of an output to its post-edit, by a model or people"
    paper: ClassVar[str] = "Östling et al. 2025"
    wording_name: ClassVar[str] = "post-edit"

    by: str = "green"
    source: bool = True
    reference: bool = False
    file: str | None = setting(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        _metric(self.by)
        if self.file is not None and self.model:
            raise OptionError(f"{self.name}: file= and model= cannot be combined; leave one out")

    @classmethod
    def named_metrics(cls, options: Mapping[str, str], home: Path) -> Iterable[tuple[str, Path]]:
        """Return the metric that `by` names, with the folder of the file that names it."""
        metric = inner_metric(options.get("by", ""))
        return [(metric, home)] if metric else []

    @property
    def usual_wording(self) -> str:
        """The name of the prompt, which differs without the source."""
        return "post-edit" if self.source else "post-edit-alone"

    @property
    def fixed(self) -> bool:
        """True with post-edits that exist, which are of certain texts."""
        return self.file is not None

    @property
    def loaded_models(self) -> tuple[str, ...]:
        """The models that the metric loads."""
        metric = _metric(self.by)
        return metric.loaded_models if metric else ()

    def signature(self, corpus: Corpus, runtime: Runtime | None = None) -> Signature:
        """Return the signature, with that of the metric, and with the texts that are compared."""
        made = super().signature(corpus, runtime)
        data, extra, packages = dict(made.data), dict(made.extra), made.packages
        if (metric := _metric(self.by)) is not None:
            inner = metric.signature(corpus, runtime)
            own = hashlib.sha256(inner.own.encode()).hexdigest()[:12]
            packages, extra = inner.packages, {**inner.extra, **extra, "by": own}
        if self.reference:
            data["references"] = corpus.reference_print
        if self.file is not None:
            del extra["prompt"]
            extra["post-edits"] = _digest(self.file)
        return replace(made, data=data, extra=extra, packages=packages)

    def check(self, corpus: Corpus) -> None:
        """Refuse a corpus without what the model is to see, or without post-edits."""
        if self.file is not None:
            Scorer.check(self, corpus)
            self._edited(corpus)
            return
        super().check(corpus)
        if self.reference and (not corpus.references or corpus.reference_systems):
            raise InputError(
                f"{self.name}:reference=true needs references of all outputs: give one with -r FILE"
            )

    def plan(self, corpus: Corpus, runtime: Runtime) -> Plan | None:
        """Return requests, tokens and cost of what no stored reply answers yet."""
        return None if self.fixed else super().plan(corpus, runtime)

    def items(self, corpus: Corpus, runtime: Runtime) -> list[Draft]:
        """Return every output with words, those of a source that differ in blanks only once."""
        written = corpus.as_text()
        contexts = read_contexts(self.context if self.source else "none", written)
        nothing = [""] * len(corpus)
        references = written.references[0].lines if self.reference else nothing
        sources = written.sources if self.source else nothing
        rows = range(len(corpus))
        seen = list(zip(rows, corpus.sources, sources, references, contexts, strict=True))
        drafts: dict[tuple[int, str], Draft] = {}
        for name, version in corpus.systems.items():
            lines = zip(seen, version.lines, written.systems[name].lines, strict=True)
            for (row, source, shown, reference, context), output, text in lines:
                texts = shown, single_spaced(text), reference
                draft = Draft(row, source, output, texts, context, corpus.language)
                if output.strip():
                    drafts.setdefault(draft.key, draft)
        return [*drafts.values()]

    def sheets(self, item: Draft, wording: Prompt) -> list[Sheet[str]]:
        """Return the prompt about an output."""
        source, output, reference = map(one_line, item.shown)
        form = replace(TEXT, typical={"text": output}, read=item.read, room=len(output) + _ROOM)
        texts = {"output": output, "reference": reference}
        if self.source:
            return [Sheet(form, partial(render_fenced, wording, source, item.context, texts))]
        return [Sheet(form, partial(_render_alone, wording, texts))]

    def scores_of(
        self, answers: Sequence[str], items: Sequence[Draft], runtime: Runtime
    ) -> list[list[float]]:
        """Return how close each output is to its post-edit."""
        if not answers:
            return []
        corpus = Corpus(
            tuple(item.source for item in items),
            {"output": Version(tuple(item.output for item in items))},
            (Version(tuple(answers)),),
            language=items[0].language,
        )
        return [[score] for score in self._similar(corpus, runtime).tolist()]

    def _similar(self, corpus: Corpus, runtime: Runtime) -> FloatArray:
        """Return how close the only system is to the only reference, line by line."""
        from rapidfuzz.distance import Levenshtein

        if (metric := _metric(self.by)) is not None:
            scores: FloatArray = metric.score_corpus(corpus, runtime).sentences[0]
            return scores
        cut = str.split if self.by == "words" else single_spaced
        (version,), (edited,) = corpus.systems.values(), corpus.references
        pairs = zip(map(cut, version.lines), map(cut, edited.lines), strict=True)
        return np.array([Levenshtein.normalized_similarity(*pair) for pair in pairs])

    def statistics(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return similarities, systems × sentences; with `file`, the metric's own statistics."""
        if self.file is not None:
            return self._of_files(corpus, runtime)
        texts: dict[tuple[int, str], str] = {}
        drafts = self.items(corpus, runtime)

        def keep(draft: Draft, text: str) -> None:
            texts.setdefault(draft.key, text)

        scores, report = self.verdicts(drafts, corpus.language, runtime, keep)
        similarity = {draft.key: score for draft, (score,) in zip(drafts, scores, strict=True)}
        sources = list(map(str.strip, corpus.sources))
        values = [
            [
                similarity.get((row, single_spaced(line)), float(not sources[row]))
                for row, line in enumerate(version.lines)
            ]
            for version in corpus.systems.values()
        ]
        if runtime.scores is not None:
            key = self.signature(corpus, runtime).key
            folder = runtime.scores / file_name(self.name, key, ending="")
            for name, version in corpus.systems.items():
                keys = ((row, single_spaced(line)) for row, line in enumerate(version.lines))
                lines = [texts.get(k, NO_REFERENCE if k[1] else sources[k[0]]) for k in keys]
                write_text(folder / f"{own_file(name)}.txt", "".join(f"{line}\n" for line in lines))
        return Statistics(np.array(values), None, report.details, report.notes)

    def _of_files(self, corpus: Corpus, runtime: Runtime) -> Statistics:
        """Return the statistics of each system with its post-edits as the only reference."""
        edited = self._edited(corpus)
        if (metric := _metric(self.by)) is not None:
            return metric.score_corpus(edited, runtime).statistics
        parts = [edited.alone(name) for name in edited.names]
        values = np.array([self._similar(one, runtime) for one in parts])
        for row, version in enumerate(edited.references):
            values[row, [*version.borrowed]] = np.nan
        return Statistics(values)

    def _edited(self, corpus: Corpus) -> Corpus:
        """Return the corpus with each system's post-edits as its reference.

        Raises:
            InputError: a file is missing, or is not one reference of every source; names it.
        """
        source = corpus.source_read or Version(corpus.sources)
        _files(self.file or "")
        read = read_own_references(self.file or "", corpus.systems, source, corpus.label("source"))
        versions, labels = [], {}
        for row, (name, (file, version)) in enumerate(read.items()):
            if version.borrowed and _metric(self.by) is not None:
                raise InputError(
                    f"{file}, line {version.borrowed[0] + 1}: {NO_REFERENCE} (no post-edit), but "
                    f"by={self.by} needs one of every output; leave the line out of all files, or "
                    "use by=words"
                )
            outputs = corpus.systems[name].lines
            lines = _in_tokens(version.lines, outputs, corpus.language, file)
            versions.append(Version(lines, note=version.note, borrowed=version.borrowed))
            labels[f"reference {row}"] = file
        return replace(
            corpus,
            references=tuple(versions),
            reference_systems=tuple(read),
            gold=None,
            _labels=labels,
        )

    @property
    def _counts(self) -> Scorer | None:
        """The metric whose statistics the values are; None if they are similarities."""
        return _metric(self.by) if self.fixed else None

    def sentence_scores(self, statistics: Statistics) -> Scores:
        """Return the similarities, systems × sentences."""
        metric = self._counts
        return metric.sentence_scores(statistics) if metric else super().sentence_scores(statistics)

    def corpus_scores(self, statistics: Statistics, draws: IntArray | None = None) -> Scores:
        """Return the means of the sentences, or the metric's scores of the corpus."""
        if (metric := self._counts) is not None:
            return metric.corpus_scores(statistics, draws)
        return super().corpus_scores(statistics, draws)

    def adds_up(self, references: int) -> bool:
        """Return True unless the scores of the corpus are a metric's."""
        return self._counts is None


def _render_alone(wording: Prompt, texts: Mapping[str, str]) -> str:
    return wording.render(fence=nonce(texts.values()), **texts)


@lru_cache(maxsize=32)
def _metric(by: str) -> Scorer | None:
    """Return the metric that `by` names; None for similarities.

    Raises:
        OptionError: the metric is unknown, or does not compare outputs with references alone.
    """
    if by in _UNITS:
        return None
    metric = load(inner_metric(by) or by)
    if metric.needs != {"references"} or metric.fixed or asks(metric):
        raise OptionError(
            f"post-edit: by={metric.name}: expected words, characters, or a metric that needs "
            "references and nothing else, such as green"
        )
    return metric


def _files(folder: str) -> list[Path]:
    """Return the files of a folder of post-edits.

    Raises:
        InputError: there is no such folder.
    """
    if not folder or not Path(folder).is_dir():
        raise InputError(
            f"post-edit: file={folder}: no such folder; expected one with a file SYSTEM.txt for "
            "every system"
        )
    return [path for path in sorted(Path(folder).iterdir()) if path.is_file()]


def _digest(folder: str) -> str:
    """Return a digest of the names and contents of the files of a folder."""
    parts = [f"{path.name} {file_digest(path)}" for path in _files(folder)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]
