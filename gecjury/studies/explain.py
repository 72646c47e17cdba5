"""Which edits of a correction earned or lost its score: `gecjury explain`.

Example:
    >>> from gecjury import corpus_of_texts, explain
    >>> corpus = corpus_of_texts(["He go ."], {"a": ["He goes ."]}, [["He goes ."]])
    >>> result = explain(corpus, "errant")
    >>> [(row["edit"], row["type"], row["verdict"]) for row in result.rows()]
    [('[1,2] → goes', 'R:VERB:SVA', 'hit')]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan, nan
from typing import TYPE_CHECKING, ClassVar

from gecjury.core.errors import InputError, OptionError
from gecjury.core.settings import option
from gecjury.core.wording import listed, number
from gecjury.corpus.edits import (
    MISSED,
    RIGHT,
    WRONG,
    counted_edits,
    marked_edits,
    nearest_reference,
)
from gecjury.report.result import Column, Result, Table
from gecjury.stats.catalogue import Statistic, register
from gecjury.stats.choices import AttributionMethod
from gecjury.stats.figure import Figure, figures_about, figures_by, values_of
from gecjury.studies.inputs import Inputs, Need, Sentence
from gecjury.studies.study import Study, Work, function_of

if TYPE_CHECKING:
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus
    from gecjury.corpus.edits import Edits
    from gecjury.corpus.languages.language import Language
    from gecjury.metaeval.edits.attribution import Attribution
    from gecjury.scoring.abilities import Explanation, HeatMap
    from gecjury.scoring.scorer import Scorer
    from gecjury.studies.systems.costly import CostlySentence

register(Statistic("attribution", words="share of the score", digits=4))


@dataclass(frozen=True, kw_only=True)
class Explain(Study):
    """Why a hypothesis got its score, edit by edit.

    Attributes:
        worst: explain the N lines of the files that cost most.
        attribution: divide the score among the edits; works with any metric that scores
            sentences.
        seed: seed of the orders of edits that are drawn if there are more than 10 edits.
    """

    inputs: ClassVar[Inputs] = Sentence()
    needs: ClassVar[tuple[Need, ...]] = ("texts", "judges")
    metrics: ClassVar[str | None] = "default: errant"
    page: ClassVar[bool | str] = True
    new_texts: ClassVar[str] = "explain"
    worst: int | None = option(None, metavar="N", least=1, most=1_000)
    attribution: AttributionMethod | None = None
    seed: int = option(0, least=0)

    @classmethod
    def usual_metrics(cls) -> tuple[tuple[str, ...], str]:
        """Return errant, which judges single edits without a model."""
        return ("errant",), ""

    def check(self, work: Work) -> None:
        """Refuse a metric that cannot be explained, and more than one sentence."""
        scorer, corpus = work.scorer, work.corpus
        # Checked first: a metric that cannot be explained should not demand references.
        check_explained(scorer, self.attribution)
        super().check(work)
        if len(corpus.systems) != 1 or (not self.worst and len(corpus) != 1):
            raise InputError(
                f"{len(corpus)} sentences of {len(corpus.systems)} systems; expected one sentence "
                "of one system, or `worst=N` to choose them"
            )

    def run(self, work: Work) -> Result:
        """Explain one sentence, or those that cost most.

        For one sentence, the facts have `explanations`, one per reference, the index of the one
        that counts (`chosen`), and `attribution`. Table `worst` has all of this for each sentence.
        """
        return self._costly(work, self.worst) if self.worst else self._single(work)

    def _single(self, work: Work) -> Explanations:
        """Explain the sentence of the corpus."""
        from gecjury.corpus.remarks import remarks_on

        scorer, corpus = work.scorer, work.corpus
        one = explained(scorer, corpus, work.runtime, self)
        notes = remarks_on(corpus, scorer.needs)
        shown_text = _sentence_table(one, corpus.language)
        return Explanations(
            tuple(self._tables(one)),
            {"metric": next(iter(work.typed), scorer.name), **_facts(one)},
            notes,
            status=int(one.missing),
            language=corpus.language.code,
            title=f"Explanation by {scorer.name}",
            above=(replace(shown_text, notes=[*shown_text.notes, *notes]),),
            verdict=_verdict(scorer.name, one),
            work=work,
            parts=((None, one),),
        )

    def _costly(self, work: Work, count: int) -> Explanations:
        """Explain the sentences of the corpus that cost most."""
        from gecjury.studies.systems.costly import costly_sentences, costly_table, one_line

        scorer, corpus = work.scorer, work.corpus
        (table,) = work.scores()
        shown, records, missing = list[Table](), list[dict[str, object]](), False
        parts: list[tuple[CostlySentence | None, Explained]] = []
        for sentence in costly_sentences([table], [scorer], corpus, count):
            # Each line is explained as if it had been given alone.
            line = one_line(corpus, sentence.line - 1)
            one = explained(scorer, line, work.runtime, self)
            missing = missing or one.missing
            where = f"line {sentence.line}"
            shown.append(replace(_sentence_table(one, corpus.language), title=where))
            shown += [replace(t, title=f"{where}, {t.title}") for t in self._tables(one)]
            records.append({**sentence.row(), **_facts(one)})
            parts.append((sentence, one))
        worst, notes = costly_table(records), table.statistics.notes
        return Explanations(
            (replace(worst, notes=[*worst.notes, *notes]), *shown),
            notes=notes,
            status=int(missing or table.unanswered > 0),
            language=corpus.language.code,
            title=f"Sentences that cost {corpus.names[0]} most by {scorer.name}",
            work=work,
            parts=tuple(parts),
        )

    def html(self, result: Result) -> str:
        """Return the explanation as one page: the verdict, a plot, marked texts, matched edits."""
        from gecjury.report.page.listed import Details, result_html
        from gecjury.studies.systems.costly import COST

        assert isinstance(result, Explanations)
        tables, sentences = list[Table](), list[tuple[str, list[tuple[str, str]]]]()
        for sentence, one in result.parts:
            where = f"line {sentence.line}, " if sentence else ""
            tables += [replace(t, title=where + t.title) for t in self._tables(one)]
            lines, remarks = _marked_lines(one, result.work.corpus.language)
            about = [sentence.about] if sentence else []
            sentences.append((" · ".join([*about, *remarks]), lines))
        return result_html(
            replace(result, tables=tuple(tables), above=(), verdict=result.opening()),
            Details(
                kicker="explanation",
                figures=result.drawn(),
                sentences={"": sentences},
                about_sentences=COST if self.worst else "",
                tables=("Edits", "How edits were matched"),
            ),
        )

    def _tables(self, one: Explained) -> Iterator[Table]:
        """Yield tables of how edits were matched, by reference, and of what each edit is worth.

        References with the same edits share a table. A table without rows has no columns and is not
        shown; the table of the sentence says why.
        """
        groups = one.alike() if one.explanations else []
        for numbers in groups:
            explanation = one.explanations[numbers[0]]
            best = len(groups) > 1 and one.chosen in numbers
            which = f"{_references(numbers)}{' (the best, which counts)' if best else ''}"
            columns = [Column(key) for key in explanation.columns] if explanation.rows else []
            title = f"{which}: {_scores(explanation)}"
            yield Table(columns, explanation.rows, title, explanation.notes)
            if explanation.heat_map is not None and explanation.heat_map.values.size:
                yield plan_table(explanation.heat_map)
        if one.attribution is not None:
            yield self._attribution_table(one.attribution, one.attribution_rows())

    def _attribution_table(self, shares: Attribution, rows: list[dict[str, object]]) -> Table:
        drawn = f", sampled with seed {self.seed}: errors are standard errors"
        notes = [
            f"score of the source {shares.empty:.4f}, of the hypothesis {shares.full:.4f}; "
            f"attributions sum to {float(shares.values.sum()):.4f} of {shares.difference:.4f} "
            f"({'faithful' if shares.faithful else f'gap {shares.gap:.4f}'})",
            f"{shares.scored} sets of edits scored{'' if shares.exact else drawn}",
        ]
        columns = [Column("edit"), Column("type")]
        columns += [Column("value", digits=4), Column("error", digits=4)]
        return Table(columns, rows, f"Attribution by {shares.method}", notes, asked=True)


@dataclass(frozen=True, repr=False)
class Explanations(Result):
    """Explained sentences, as tables and as a page.

    Attributes:
        work: the texts and the metric.
        parts: the sentences; those that were chosen by their cost come with it.
    """

    work: Work = field(kw_only=True)
    parts: tuple[tuple[CostlySentence | None, Explained], ...] = field(kw_only=True)

    def opening(self) -> tuple[str, ...]:
        """Return what the page says first: what the score is, or which sentence costs most."""
        if not self.parts:
            return ("No sentence lowers the score.",)
        first, one = self.parts[0]
        if first is None:
            said, shares = self.verdict, one.attribution
            if not said and shares is not None:
                score, source = number(shares.full, 4), number(shares.empty, 4)
                name = self.work.scorer.name
                said = (f"{name} scores the hypothesis {score}, the source {source}.",)
            return tuple(filter(None, (*said, one.counts())))
        return (
            f"Without line {first.line} the score of {first.system} would be "
            f"{number(first.cost, 5)} higher; no other sentence costs more.",
        )

    def drawn(self) -> list[Figure]:
        """Return the costs of sentences, or the shares of edits in the score of the only one."""
        family, figures = self.work.scorer.family, list[Figure]()
        for sentence, one in self.parts:
            if sentence is not None:
                place = f"line {sentence.line}"
                figures += figures_about({"cost": sentence.cost}, family=family, system=place)
                continue
            for edit, _, value, error in one.shares():
                # Without sampling there is no error.
                bounds = (value - (error or nan), value + (error or nan))
                values, intervals = {"attribution": value}, {"attribution": bounds}
                figures += figures_about(values, intervals, family=family, system=edit)
        return figures

    def figures(self) -> list[Figure]:
        """Return the scores by each reference, then the costs or the shares."""
        scorer = self.work.scorer
        about, scores = {"metric": scorer.name, "family": scorer.family}, list[Figure]()
        for sentence, one in self.parts:
            by_reference = {f"reference {n}": e.scores for n, e in enumerate(one.explanations, 1)}
            place = "" if sentence is None else f"line {sentence.line}"
            scores += figures_by("part", by_reference, level="explain", system=place, **about)
        return [*scores, *self.drawn()]


@dataclass(frozen=True)
class Explained:
    """How a metric judged one hypothesis.

    Attributes:
        references: the texts that it was compared with.
        explanations: one per reference; empty if the metric shows no alignment.
        chosen: the index of the reference that counts; None without explanations.
        attribution: the score divided among the edits; None if it was not requested.
        edits: the hypothesis' edits.
        reference_edits: the edits of each reference.
    """

    source: str
    hypothesis: str
    references: tuple[str, ...]
    explanations: tuple[Explanation, ...]
    chosen: int | None
    attribution: Attribution | None
    edits: Edits
    reference_edits: tuple[Edits, ...]

    def alike(self) -> list[list[int]]:
        """Return the indices of the references, grouped by equal edits."""
        groups: dict[Edits, list[int]] = {}
        for place, edits in enumerate(self.reference_edits):
            groups.setdefault(edits, []).append(place)
        return list(groups.values())

    @property
    def missing(self) -> bool:
        """Return True if some reference gave no score."""
        return any(isnan(one.scores.get("score", nan)) for one in self.explanations)

    def counts(self) -> str:
        """Return how many edits are right and how many are missing; empty without a reference."""
        compared = self.compared()
        if compared is None:
            return ""
        own, theirs = (
            {(e.start, e.end, e.correction) for e in counted_edits(edits)}
            for edits in (self.edits, compared)
        )
        right, missing = len(own & theirs), len(theirs - own)
        return f"Right edits: {right} of {len(own)}; missing edits: {missing}."

    def compared(self) -> Edits | None:
        """Return the edits of the reference that counts, otherwise of the most similar one."""
        if not self.reference_edits:
            return None
        nearest = nearest_reference(self.edits, self.reference_edits)
        return self.reference_edits[nearest if self.chosen is None else self.chosen]

    def shares(self) -> list[tuple[str, str, float, float]]:
        """Return each edit, its type, its share of the score and the error; empty without shares.

        Edits are in the order of the sentence, from left to right.
        """
        from gecjury.corpus.edits import edit_label

        shares = self.attribution
        if shares is None:
            return []
        numbers = zip(shares.edits, shares.values.tolist(), shares.errors.tolist(), strict=True)
        return [(edit_label(edit), edit.type, value, error) for edit, value, error in numbers]

    def attribution_rows(self) -> list[dict[str, object]]:
        """Return the shares as records."""
        keys = ("edit", "type", "value", "error")
        return [dict(zip(keys, share, strict=True)) for share in self.shares()]


def check_explained(scorer: Scorer, attribution: AttributionMethod | None = None) -> None:
    """Refuse a metric that shows no alignment, unless an attribution is requested.

    Raises:
        OptionError: names the metrics that show one.
    """
    from gecjury.scoring.abilities import Explains
    from gecjury.scoring.registry import able

    if attribution is None and not isinstance(scorer, Explains):
        raise OptionError(
            f"{scorer.name} shows no alignment; {', '.join(able(Explains))} do. Any metric can be "
            "explained with `attribution=remove`, add or shapley"
        )


def explained(scorer: Scorer, corpus: Corpus, runtime: Runtime, settings: Explain) -> Explained:
    """Explain the score of one sentence.

    Args:
        scorer: a metric that shows how edits were matched, or any that scores single sentences.
        corpus: one sentence of one system, whose version may have its own edits.
        settings: whether and how the score is divided among the edits.

    Raises:
        OptionError: the metric shows no alignment, or its scores cannot be divided.
        InputError: a reference is needed, but there is none.
    """
    from gecjury.metaeval.edits.attribution import attribute
    from gecjury.scoring.abilities import Explains
    from gecjury.studies.systems.costly import edits_as_read

    check_explained(scorer, settings.attribution)
    scorer.check(corpus)
    (hypothesis,) = corpus.systems.values()
    (source,) = corpus.sources
    typed = edits_as_read(scorer, corpus, runtime)
    ((edits,),) = typed.systems.values()
    explanations: list[Explanation] = []
    chosen = shares = None
    if isinstance(scorer, Explains):
        explanations = [
            scorer.explain(source, edits, theirs, runtime) for (theirs,) in typed.references
        ]
        # The reference with the best score is the one that the metric itself would use.
        scores = [explanation.scores.get("score", nan) for explanation in explanations]
        chosen = max(range(len(scores)), key=lambda i: -inf if isnan(scores[i]) else scores[i])
    if settings.attribution is not None:
        shares = attribute(
            scorer,
            source,
            edits,
            corpus.references,
            method=settings.attribution,
            seed=settings.seed,
            runtime=runtime,
            language=corpus.language,
        )
    references = tuple(version.lines[0] for version in corpus.references)
    return Explained(
        source,
        hypothesis.lines[0],
        references,
        tuple(explanations),
        chosen,
        shares,
        tuple(edits),
        tuple(tuple(theirs) for (theirs,) in typed.references),
    )


_SIGNS = {
    RIGHT: "in both the hypothesis and the reference",
    WRONG: "not in the reference",
    MISSED: "missing in the hypothesis",
}


def _sentence_table(one: Explained, language: Language) -> Table:
    """Return source, hypothesis and references with their edits marked."""
    lines, notes = _marked_lines(one, language)
    marked = " ".join(text for _, text in lines[1:])
    signs = [f"{sign} {meaning}" for sign, meaning in _SIGNS.items() if f" {sign}]" in marked]
    rows = [{"text": name, "sentence": text} for name, text in lines]
    notes = [", ".join(signs), *notes] if signs else notes
    return Table([Column("text"), Column("sentence")], rows, notes=notes)


def _marked_lines(one: Explained, language: Language) -> tuple[list[tuple[str, str]], list[str]]:
    """Return source, hypothesis and references with their edits marked, and remarks.

    The hypothesis is compared with the reference that counts, otherwise with the one that shares
    most of its edits; references with the same edits share a line.
    """
    tokens, groups = one.source.split(), one.alike()
    lines = [("source", " ".join(tokens))]
    lines.append(("hypothesis", marked_edits(tokens, one.edits, one.compared())))
    notes = []
    for numbers in groups:
        edits = one.reference_edits[numbers[0]]
        lines.append((_references(numbers), marked_edits(tokens, edits, one.edits, MISSED)))
        if not edits:
            change = "the hypothesis changes the source" if one.edits else "nothing was changed"
            # Without rows there is no table whose title shows the scores.
            rated = one.explanations and not one.edits
            scores = f" ({_scores(one.explanations[numbers[0]])})" if rated else ""
            notes.append(
                f"{_references(numbers)}: there was nothing to correct, and {change}{scores}"
            )
    return [(name, language.shown(text)) for name, text in lines], notes


def _verdict(metric: str, one: Explained) -> tuple[str, ...]:
    """Return the scores by the reference that counts; nothing without an alignment."""
    if one.chosen is None:
        return ()
    (numbers,) = (numbers for numbers in one.alike() if one.chosen in numbers)
    best = ", the best" if len(one.references) > len(numbers) else ""
    scores = _scores(one.explanations[one.chosen])
    return (f"{metric}: {scores} by {_references(numbers)}{best}.",)


def _references(numbers: Sequence[int]) -> str:
    names = [str(number + 1) for number in numbers]
    return f"reference{'s' * (len(names) > 1)} {listed(names)}"


def _scores(explanation: Explanation) -> str:
    return ", ".join(f"{key} {value:.4f}" for key, value in explanation.scores.items())


def _facts(one: Explained) -> dict[str, object]:
    """Return the facts of an explained sentence for JSON."""
    facts = {**values_of(one, "source", "hypothesis"), "references": list(one.references)}
    if one.chosen is not None:
        explanations = []
        for explanation in one.explanations:
            plan = explanation.heat_map
            of_plan = {} if plan is None else {"plan": values_of(plan, "rows", "columns", "values")}
            explanations.append({**values_of(explanation, "scores", "rows"), **of_plan})
        facts |= {"explanations": explanations, "chosen": one.chosen}
    if (shares := one.attribution) is not None:
        attribution = {
            **values_of(shares, "method", "exact", "empty=source_score", "full=hypothesis_score"),
            **values_of(shares, "difference", "gap", "faithful", "scored"),
            "edits": one.attribution_rows(),
        }
        facts |= {"attribution": attribution}
    return facts


def plan_table(plan: HeatMap) -> Table:
    """Return the table of a transport plan, whose cells a page shades."""
    corner = "hypothesis ↓ reference →"
    rows: list[Mapping[str, object]] = [
        {corner: label, **dict(zip(plan.columns, line, strict=True))}
        for label, line in zip(plan.rows, plan.values.tolist(), strict=True)
    ]
    shaded = [Column(label, shaded=True) for label in plan.columns]
    return Table([Column(corner), *shaded], rows, plan.title)


explain = function_of(Explain)
