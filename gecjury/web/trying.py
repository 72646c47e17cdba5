"""The page to try out metrics: score and explain pasted texts."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import GecjuryError, InputError, MissingExtraError, OptionError
from gecjury.core.runtime import Bar, Progress, Runtime
from gecjury.core.wording import number
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.groups import distinct
from gecjury.corpus.languages.language import AUTO, Language
from gecjury.corpus.texts import corpus_of_texts
from gecjury.models.checkpoints import embedded_installed
from gecjury.report.page.browser import mark_edits
from gecjury.report.page.markup import lang_attribute
from gecjury.scoring.abilities import Explains, ReadsEdits, asks
from gecjury.scoring.registry import METRICS, load, load_all, scorer_class
from gecjury.scoring.scorer import Scorer, check_new_texts, required_options
from gecjury.scoring.scores import ScoreTable
from gecjury.studies.explain import Explain, explained
from gecjury.studies.study import Work
from gecjury.studies.systems.costly import one_line
from gecjury.web.guards import PageGuard, RequestRefused, SentForm, new_token, read_form
from gecjury.web.pages import application, page

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

MOST_LINES = 200
MOST_WORDS = 200
MOST_LETTERS = 2_000
MOST_SYSTEMS = 8
MOST_REFERENCES = 8
MOST_TOGETHER = 20_000  # tokens of all texts; a parser reads about 5,000 a second
_MOST_TEXT = 500_000  # characters of one field
_MOST_EXPLAINED = 40  # corrections of a page
_MOST_EXPLAINING = 15.0  # seconds for explanations, which may parse and score each correction again
_MOST_SCORING = 60.0  # seconds for a whole request
_LOOK = 0.5  # seconds between checks whether the browser is still connected
_PRESET = ("errant", "gleu", "green")
_EXAMPLE = ("careful", "hasty"), (7, 10, 14, 22, 29)
"""Systems and lines of the sample used as the example; all of these lines contain errors."""


@dataclass
class Desk:
    """The metrics that the page offers.

    Attributes:
        metrics: names with options, as on the command line.
        runtime: for scoring; its disk caches are not used, so that pasted texts are not stored.
    """

    metrics: Sequence[str]
    runtime: Runtime = field(default_factory=Runtime)
    language: Language = AUTO

    def __post_init__(self) -> None:
        self.token = new_token()
        # Pasted texts are private and must not be stored on disk.
        self.runtime = replace(self.runtime, use_cache=False)


def offered_metrics() -> list[str]:
    """Return the built-in metrics that run here without network, own models and gold edits."""
    names = []
    tagging = find_spec("errant") and find_spec("spacy")
    for name in METRICS:
        # Metrics whose packages are missing cannot be loaded.
        with suppress(MissingExtraError, OptionError):
            kind = scorer_class(name)
            if (
                kind.family in ("refbased", "refless")
                and "torch" not in kind.packages
                and "gold" not in kind.needs
                and not required_options(kind)
                and (tagging or not isinstance(load(name), ReadsEdits))
            ):
                names.append(load(name).name)
    return [*names, "some:model=embedded"] if embedded_installed() else names


def open_desk(metrics: Sequence[str], runtime: Runtime, language: Language = AUTO) -> Desk:
    """Check metrics before the page is served.

    Args:
        metrics: further metrics, including models in folders.
        runtime: for scoring.
        language: language of pasted texts.

    Raises:
        OptionError: a metric is unknown, or asks a server.
    """
    for scorer in load_all(list(metrics)) if metrics else ():
        if asks(scorer):
            raise OptionError(
                f"-m {scorer.name}: asks a server about every text; use `gecjury score` instead, "
                "which can count the cost first (--dry-run)"
            )
        check_new_texts(scorer, "the page")
    every = list(dict.fromkeys([*offered_metrics(), *metrics]))
    return Desk(every, runtime, language)


def trying_app(desk: Desk) -> PageGuard:
    """Return the application: the page and the handler of its form, behind the guard."""
    pages = _TrialPages(desk)
    return application({"": pages.start}, {"score": pages.score})


@dataclass(frozen=True)
class _Pasted:
    """The texts of the form by field, so that it can be filled again."""

    source: str
    outputs: Sequence[tuple[str, str]]
    references: Sequence[str]
    metrics: Sequence[str]


class _Interruptible(Progress, Bar):
    """A progress report that can end the work that reports to it.

    Scoring runs in a thread, which cannot be stopped from outside. Instead it stops itself at the
    next step that it reports; metrics report a step at least every few sentences.

    Attributes:
        left: True if the browser has disconnected, so that nobody waits for the result.
    """

    def __init__(self) -> None:
        self.left = False
        self._ends = time.monotonic() + _MOST_SCORING

    def check(self) -> None:
        """End the work if nobody waits for it, or if it takes too long.

        Raises:
            Refused: the work must end.
        """
        if self.left:
            raise RequestRefused("the browser has disconnected")
        if time.monotonic() > self._ends:
            raise RequestRefused(
                f"scoring took more than {_MOST_SCORING:.0f} seconds and was stopped; use fewer "
                "texts or metrics, or score files with `gecjury score`",
                422,
            )

    @contextmanager
    def task(self, description: str, total: float | None = None) -> Iterator[_Interruptible]:
        """Check at the beginning of a task; this object also serves as its progress bar."""
        self.check()
        yield self

    def advance(self, steps: float = 1) -> None:
        """Check after a step."""
        self.check()


class _TrialPages:
    """The handlers of all addresses."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        # Models and parsers are loaded once and used by one request at a time.
        self._lock = asyncio.Lock()

    def _page(
        self, form: _Pasted, status: int = 200, error: str = "", result: object = None
    ) -> Response:
        outputs = [*form.outputs, *[("", "")] * (2 - len(form.outputs))]
        references = [*form.references, *[""] * (2 - len(form.references))]
        return page(
            "try",
            status,
            title="Score texts",
            desk=self.desk,
            form=form,
            outputs=outputs,
            references=references,
            most_lines=MOST_LINES,
            lang=lang_attribute(self.desk.language.code),
            error=error,
            result=result,
        )

    async def start(self, request: Request) -> Response:
        """Show an empty form, or one filled with the example."""
        chosen = [name for name in _PRESET if name in self.desk.metrics] or self.desk.metrics[:2]
        if "example" in request.query_params and self.desk.language.code == "en":
            return self._page(_example(chosen))
        return self._page(_Pasted("", (), (), chosen))

    async def score(self, request: Request) -> Response:
        """Score and explain pasted texts; an error is shown above the form with these texts."""
        form = _pasted(read_form(await request.body(), self.desk.token))
        try:
            corpus = pasted(form.source, form.outputs, form.references, self.desk.language)
            unknown = [name for name in form.metrics if name not in self.desk.metrics]
            if unknown or not form.metrics:
                raise RequestRefused(
                    f"unknown metric {unknown[0]!r:.60}"
                    if unknown
                    else "choose at least one metric"
                )
            async with self._lock:
                result = await self._scored(request, corpus, form.metrics)
        except GecjuryError as error:
            return self._page(form, 422, error=str(error))
        return self._page(form, result=result)

    async def _scored(
        self, request: Request, corpus: Corpus, metrics: Sequence[str]
    ) -> dict[str, object]:
        """Score in a thread, as long as the browser waits for the result."""
        patience = _Interruptible()
        runtime = replace(self.desk.runtime, progress=patience)
        # A browser that disconnected while others were served is not served at all.
        patience.left = await request.is_disconnected()
        # Without a thread, scoring would keep the server from answering other requests.
        work = asyncio.create_task(asyncio.to_thread(_result, corpus, metrics, runtime, patience))
        try:
            while not (await asyncio.wait([work], timeout=_LOOK))[0]:
                patience.left = patience.left or await request.is_disconnected()
        finally:
            patience.left = True  # also when the server stops, which waits for its threads
        return work.result()


def _example(metrics: Sequence[str]) -> _Pasted:
    """Return a form with some lines of the embedded sample."""
    systems, lines = _EXAMPLE
    corpus = load_benchmark("sample").corpus.take([line - 1 for line in lines])
    outputs = [(name, "\n".join(corpus.systems[name].lines)) for name in systems]
    references = ["\n".join(version.lines) for version in corpus.references]
    return _Pasted("\n".join(corpus.sources), outputs, references, metrics)


def _pasted(form: SentForm) -> _Pasted:
    texts = form.all("output")
    names = form.all("system")
    references = [text for text in form.all("reference") if text.strip()]
    if any(len(text) > _MOST_TEXT for text in (*form.all("source"), *texts, *references)):
        raise RequestRefused(
            f"a text of more than {_MOST_TEXT:,} characters; score files instead", 413
        )
    outputs = [
        (" ".join(name.split())[:60], text)
        for name, text in zip([*names, *[""] * len(texts)], texts, strict=False)
        if text.strip()
    ]
    source = (form.all("source") or [""])[0]
    return _Pasted(source, outputs, references, list(dict.fromkeys(form.all("metric"))))


def pasted(
    source: str,
    outputs: Sequence[tuple[str, str]],
    references: Sequence[str],
    language: Language = AUTO,
) -> Corpus:
    """Return pasted texts as a corpus.

    Args:
        source: one sentence per line, with tokens separated by spaces.
        outputs: names ("" for none) with texts of the same number of lines.
        references: texts of the same number of lines.
        language: language of the texts; it determines how they are tokenized.

    Raises:
        InputError: a text does not fit; the message names it and what is expected.
    """
    sources = _lines(source, "the source")
    if not outputs:
        raise InputError("no output: paste a corrected text with as many lines as the source")
    _limited("the form", len(outputs), MOST_SYSTEMS, "outputs")
    _limited("the form", len(references), MOST_REFERENCES, "references")
    systems: dict[str, list[str]] = {}
    for place, (name, text) in enumerate(outputs, 1):
        called = name or f"output {place}"
        if called in systems:
            raise InputError(f"two outputs are called {called!r}; give each a different name")
        systems[called] = _lines(text, called, sources)
    others = [_lines(text, f"reference {n}", sources) for n, text in enumerate(references, 1)]
    corpus = corpus_of_texts(sources, systems, others, lang=language)
    # Limited over all texts together, since a parser reads all of them.
    texts = (corpus.sources, *(version.lines for version in corpus.versions().values()))
    words = sum(line.count(" ") + 1 for lines in texts for line in lines)
    _limited("the form", words, MOST_TOGETHER, "tokens together")
    for place, line in enumerate(corpus.sources, 1):
        # In a language without spaces between words, one word of the line may be many tokens.
        _limited(f"the source, line {place}:", line.count(" ") + 1, MOST_WORDS, "tokens")
    return corpus


def _limited(what: str, count: int, most: int, unit: str) -> None:
    """Refuse more of something than the page accepts."""
    if count > most:
        raise InputError(
            f"{what} has {count:,} {unit}; expected at most {most:,}: score files instead"
        )


def _lines(text: str, what: str, sources: Sequence[str] | None = None) -> list[str]:
    lines = [" ".join(line.split()) for line in text.replace("\r\n", "\n").split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise InputError(f"{what} is empty; expected one sentence per line")
    _limited(what, len(lines), MOST_LINES, "lines")
    for place, line in enumerate(lines, 1):
        _limited(f"{what}, line {place}:", line.count(" ") + 1, MOST_WORDS, "words")
        _limited(f"{what}, line {place}:", len(line), MOST_LETTERS, "letters")
    if sources is not None and len(lines) != len(sources):
        raise InputError(
            f"{what} has {len(lines)} lines, but the source has {len(sources)}: every text must "
            "have one line for each source line"
        )
    return lines


def _result(
    corpus: Corpus, metrics: Sequence[str], runtime: Runtime, patience: _Interruptible
) -> dict[str, object]:
    """Return the scores of all metrics by sentence, with explanations of edits."""
    scorers = load_all(list(metrics))
    tables: list[ScoreTable] = []
    for scorer in scorers:
        patience.check()
        tables += Work(corpus, (scorer,), runtime).scores()
    # A table is scored once; explanations, which may score again, have separate limits.
    explained = left_out = 0
    last = time.monotonic() + _MOST_EXPLAINING
    blocks = []
    written = corpus.as_text()
    for row, source in enumerate(corpus.sources):
        corrections = []
        # Systems that agree are shown as one, and explained once.
        for text, systems in distinct(corpus, row).items():
            about: list[dict[str, object]] = []
            changed = text.split() != source.split()
            if changed and explained < _MOST_EXPLAINED and time.monotonic() < last:
                explained += 1
                patience.check()
                about = _explanations(corpus, row, systems[0], scorers, runtime)
            elif changed:
                left_out += 1
            at = corpus.names.index(systems[0])
            corrections.append(
                {
                    "systems": systems,
                    "parts": mark_edits(source, text, corpus.language),
                    "changed": changed,
                    "scores": [number(float(t.sentences[at, row]), 4) for t in tables],
                    "explanations": about,
                }
            )
        # The source is shown as it was written, not tokenized.
        blocks.append({"row": row + 1, "source": written.sources[row], "corrections": corrections})
    notes = list(dict.fromkeys(note for table in tables for note in table.statistics.notes))
    if left_out:
        notes.append(f"only the first {explained} corrections with changes are explained")
    return {
        "metrics": [table.signature.label for table in tables],
        "systems": _totals(tables),
        "sentences": blocks,
        "notes": notes,
        "signatures": [str(table.signature) for table in tables],
    }


def _totals(tables: Sequence[ScoreTable]) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Return the corpus scores of each system with precision and recall, and which are best."""
    rows = []
    for at, name in enumerate(tables[0].systems):
        cells = []
        for table in tables:
            scores = table.by_system
            value = float(scores.score[at])
            parts = ""
            if scores.precision is not None and scores.recall is not None:
                parts = f"P {number(float(scores.precision[at]))}"
                parts += f"  R {number(float(scores.recall[at]))}"
            scored = [float(other) for other in scores.score if not math.isnan(other)]
            # If all scores are equal, none is best.
            best = len(scored) > 1 and value == max(scored) and min(scored) < value
            cells.append((number(value, 4), parts, best))
        rows.append((name, cells))
    return rows


def _explanations(
    corpus: Corpus, row: int, system: str, scorers: Sequence[Scorer], runtime: Runtime
) -> list[dict[str, object]]:
    """Return each metric's explanation of the edits of a correction, if it has one."""
    shown = list[dict[str, object]]()
    line = one_line(corpus.with_systems([system]), row)
    for scorer in scorers:
        settings = Explain(attribution=None if isinstance(scorer, Explains) else "remove")
        try:
            explanation = explained(scorer, line, runtime, settings)
        except (InputError, OptionError):
            continue  # metrics that weigh systems or score groups cannot explain a single one
        rows: Sequence[Mapping[str, object]] = explanation.attribution_rows()
        columns: Sequence[str] = ["edit", "type", "value"]
        what = "change of the score without the edit"
        if explanation.chosen is not None:
            best = explanation.explanations[explanation.chosen]
            rows, columns, what = best.rows, best.columns, ""
            if len(explanation.references) > 1:
                what = f"against reference {explanation.chosen + 1}"
        cells = [[row.get(column) for column in columns] for row in rows]
        if cells:
            shown.append(
                {"metric": scorer.name, "what": what, "columns": list(columns), "rows": cells}
            )
    return shown
