"""Damage texts as language models do, and measure how well `gecjury check` repairs them.

    python tools/make_damaged_texts.py DATA --evaluate dev    # found, repaired, wrongly repaired
    python tools/make_damaged_texts.py DATA --alarms          # findings in undamaged texts
    python tools/make_damaged_texts.py DATA --scores test     # clean, damaged and repaired scores
    python tools/make_damaged_texts.py DATA --tokens          # lines that tokenisers give back
    python tools/make_damaged_texts.py DATA --languages       # languages that are named rightly

DATA is the folder of the benchmarks. The texts are JFLEG's references and the outputs on
CoNLL-2014 (SEEDA, GJG15): `dev` has JFLEG's dev part and every second system, on which the
thresholds of `gecjury/corpus/lines.py` were chosen; `test` has the others. Each damage is drawn
with a seed from the text's name, so the files are the same on every machine.
"""

from __future__ import annotations

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gecjury.core.textfiles import read_lines
from gecjury.corpus.languages.detection import detected_language
from gecjury.corpus.lines import LineLayout, layout
from gecjury.corpus.mending import repaired

SHARE = 0.05  # of the lines are damaged
_ATTACHED = re.compile(r" (?=(?:[.,;:!?%)\]}]+|n't|'(?:s|re|ve|ll|d|m|S)?)(?: |$))")
_OPENING = re.compile(r"([(\[{$#]) ")
_QUOTES = (
    (re.compile(r"(?:``|\"|'') ([^\"]*?) (?:''|\")(?= |[.,;:!?]|$)"), r'"\1"'),
    (re.compile(r" '(s|re|ve|ll|d|m)\b"), r"'\1"),
)
_REMARKS = ("Sure! Here are the corrected sentences:", "I hope this helps! Let me know.")


@dataclass(frozen=True)
class Text:
    """A source and a correction of it, both one sentence a line."""

    name: str
    part: str
    sources: Sequence[str]
    lines: Sequence[str]


@dataclass(frozen=True)
class Damaged:
    """A damaged text.

    Attributes:
        lines: the damaged lines.
        right: the lines that a repair should give, with sources where a line is lost.
        truth: the places of the damage, each a kind, source rows and rows of `lines`.
        mark: what was put around every line, or empty.
    """

    lines: Sequence[str]
    right: Sequence[str]
    truth: frozenset[tuple[str, tuple[int, ...], tuple[int, ...]]]
    mark: str = ""


def detokenised(line: str) -> str:
    """Return a tokenised English line as it is usually written, with straight quotation marks."""
    for form, text in _QUOTES:
        line = form.sub(text, line)
    return _OPENING.sub(r"\1", _ATTACHED.sub("", line))


def typographic(line: str) -> str:
    """Return a line with typographic quotation marks and apostrophes."""
    line = re.sub(r'(^|[\s(\[])"', r"\1“", line).replace('"', "”")
    return re.sub(r"(^|[\s(\[])'(?=\w)", r"\1‘", line).replace("'", "’")


def texts_of(data: Path) -> Iterator[Text]:
    """Yield the texts of JFLEG and CoNLL-2014."""
    for part in ("dev", "test"):
        sources = read_lines(data / "jfleg" / part / f"{part}.src")
        for number in range(4):
            lines = read_lines(data / "jfleg" / part / f"{part}.ref{number}")
            yield Text(f"jfleg-{part}-ref{number}", part, sources, lines)
    for name, folder in (
        ("seeda", data / "SEEDA/outputs/all"),
        ("gjg15", data / "GJG15/data/original/official_submissions"),
    ):
        files = {path.stem: read_lines(path) for path in sorted(folder.iterdir())}
        sources = files.pop("INPUT")
        for number, (system, lines) in enumerate(files.items()):
            yield Text(f"{name}-{system}", ("dev", "test")[number % 2], sources, lines)


def undamaged(data: Path) -> Iterator[Text]:
    """Yield texts without damage, in which every finding is a false alarm."""
    for text in texts_of(data):
        yield Text(text.name, text.name.split("-")[0], text.sources, text.lines)
    for source in sorted((data / "GMEG").glob("data/*/*/source")):
        for path in sorted(source.parent.iterdir()):
            if path.stem not in ("source", "source+error"):
                name = f"gmeg-{path.parent.name}-{path.name}"
                yield Text(name, "gmeg", read_lines(source), read_lines(path))
    pillars = data / "pillars-of-gec/data"
    sources = read_lines(pillars / "evaluation_sets/nucle14-2a.txt")
    for path in sorted(pillars.glob("system_preds/*/*nucle14*")):
        yield Text(f"pillars-{path.name}", "pillars", sources, read_lines(path))


def damaged(text: Text, kind: str, others: Sequence[str]) -> Damaged:
    """Return a text with one kind of damage; `raw-` before it also detokenises the lines.

    Args:
        text: the text.
        kind: a name of `KINDS`, or `mixed`, perhaps with `raw-` before it.
        others: sentences of another text, for lines that are added.
    """
    rng = random.Random(f"{text.name} {kind}")
    form: Callable[[str], str] = str
    if kind.startswith("raw-"):
        form, kind = (lambda line: typographic(detokenised(line))), kind.removeprefix("raw-")
    right = [form(line) for line in text.lines]
    rows = [
        row
        for row in range(1, len(right) - 2)
        if all(
            len(re.findall(r"\w+", t[r])) > 1 for t in (text.sources, right) for r in (row, row + 1)
        )
    ]
    share = SHARE if kind in PLACED else SHARE / 5
    kinds = PLACED if kind == "mixed" else ("dropped", "added") if kind == "shifted" else (kind,)
    at: dict[int, str] = {}
    for one in kinds:
        wanted = round(share * len(right)) if one in PLACED else 0
        for row in rng.sample(rows, len(rows)):
            if wanted and not any(row + k in at for k in (-2, -1, 0, 1, 2)):
                at[row], wanted = one, wanted - 1
    lines: list[str] = []
    truth: list[tuple[str, tuple[int, ...], tuple[int, ...]]] = []
    extra = iter(rng.sample(list(others), len(at)))
    row = 0
    while row < len(right):
        here, line, n = at.get(row), right[row], len(lines)
        row += 1
        if here == "merged":
            lines.append(f"{line} {right[row]}")
            truth.append((here, (row - 1, row), (n,)))
            row += 1
        elif here == "split" and (words := line.split()) and len(words) > 3:
            cut = rng.randrange(2, len(words) - 1)
            lines += [" ".join(words[:cut]), " ".join(words[cut:])]
            truth.append((here, (row - 1,), (n, n + 1)))
            right[row - 1] = " ".join(words)
        elif here == "dropped":
            truth.append((here, (row - 1,), ()))
            right[row - 1] = text.sources[row - 1]
        elif here == "added":
            lines += [form(next(extra)), line]
            truth.append((here, (), (n,)))
        else:
            lines.append(line)
    if kind in ("remarks", "mixed"):
        lines = [_REMARKS[0], *lines, _REMARKS[1]]
        truth = [(k, s, tuple(j + 1 for j in at)) for k, s, at in truth]
        truth += [("added", (), (0,)), ("added", (), (len(lines) - 1,))]
    elif kind == "fences":
        lines = ["```text", *lines, "```"]
        truth = [("fence", (), (0,)), ("fence", (), (len(lines) - 1,))]
    elif kind == "empty":
        lines += [""] * 3
        truth = [("empty", (), (n,)) for n in range(len(right), len(lines))]
    around = {
        "list numbers": "{n}. {line}",
        "bullets": "- {line}",
        "quotation marks": "“{line}”",
        "mixed": "{n}) {line}",
    }.get(kind, "{line}")
    lines = [around.format(n=n, line=line) for n, line in enumerate(lines, 1)]
    mark = "list numbers" if kind == "mixed" else kind if kind in MARKS else ""
    return Damaged(lines, right, frozenset(truth), mark)


FORMS: Mapping[str, Callable[[str], str]] = {
    "raw": detokenised,
    "typographic": typographic,
    "raw and typographic": lambda line: typographic(detokenised(line)),
}
PLACED = ("merged", "split", "dropped", "added")
MARKS = ("list numbers", "bullets", "quotation marks")
KINDS = (*PLACED, "shifted", "remarks", "fences", "empty", *MARKS, "mixed")


def places_of(view: LineLayout) -> set[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    """Return the places of a layout in the form of `Damaged.truth`."""
    places: set[tuple[str, tuple[int, ...], tuple[int, ...]]] = set()
    for place in view.places:
        ours, theirs = tuple(place.step.sources), tuple(place.step.lines)
        if place.kind == "dropped":
            places |= {("dropped", (row,), ()) for row in ours}
        elif place.kind in ("added", "empty"):
            places |= {(place.kind, (), (row,)) for row in theirs}
        else:
            places.add((place.kind, ours, theirs))
    return places | {("fence", (), (row,)) for row in view.fences}


def evaluate(texts: Sequence[Text], others: Mapping[str, Sequence[str]], *, verbose: bool) -> None:
    """Print for each kind of damage how often it is found and repaired, as Markdown."""
    print(
        "| damage | places | found | recall | precision | files | repaired | refused "
        "| lines repaired | wrong lines |"
    )
    print("|---|" + "--:|" * 9)
    for kind in [f"{form}{kind}" for kind in KINDS for form in ("", "raw-")]:
        count: Counter[str] = Counter()
        for text in texts:
            case = damaged(text, kind, others[text.name.split("-")[0]])
            view = layout(text.sources, case.lines)
            places = places_of(view)
            truth = set(case.truth)
            if case.mark:
                truth.add((case.mark, (), ()))
            places |= {(what, (), ()) for what, _ in view.marks}
            count["truth"] += len(truth)
            count["places"] += len(places)
            count["found"] += len(truth & places)
            if verbose:
                for place in sorted(truth ^ places):
                    print("  ", text.name, "-" if place in truth else "+", *place)
            mended = repaired(view, fill=True)
            count["files"] += 1
            if mended.refusal:
                count["refused"] += 1
                if verbose:
                    print("  ", text.name, mended.refusal)
                continue
            pairs = zip(mended.lines, case.right, strict=True)
            wrong = [n for n, (a, b) in enumerate(pairs) if a.split() != b.split()]
            count["repaired"] += not wrong
            count["lines"] += sum(len(change.after) for change in mended.changes)
            count["wrong"] += len(wrong)
            if verbose:
                for n in wrong[:5]:
                    print("   wrong", text.name, n, repr(mended.lines[n]), repr(case.right[n]))
        print(
            f"| {kind} | {count['truth']} | {count['found']} "
            f"| {count['found'] / count['truth']:.4f} "
            f"| {count['found'] / max(count['places'], 1):.4f} | {count['files']} "
            f"| {count['repaired']} | {count['refused']} | {count['lines']} | {count['wrong']} |"
        )


def false_alarms(texts: Sequence[Text], *, verbose: bool) -> None:
    """Print how many undamaged files have findings, as Markdown."""
    counts: dict[str, Counter[str]] = {}
    for text in texts:
        view = layout(text.sources, text.lines)
        places = [
            *places_of(view),
            *view.marks,
            *view.flaws,
            *([view.refusal] * bool(view.refusal)),
        ]
        count = counts.setdefault(text.part, Counter())
        count.update(files=1, lines=len(text.lines), alarms=len(places), wrong=bool(places))
        if verbose:
            for place in view.places:
                print("  ", text.name, place.message)
    print("| texts | files | lines | files with a finding | findings |\n|---|--:|--:|--:|--:|")
    for name, count in counts.items():
        numbers = (count[key] for key in ("files", "lines", "wrong", "alarms"))
        print(f"| {name} | {' | '.join(map(str, numbers))} |")


def scores(texts: Sequence[Text], data: Path, others: Mapping[str, Sequence[str]]) -> None:
    """Print mean scores of clean, damaged and repaired texts, as Markdown."""
    import gecjury
    from gecjury.corpus.files.reading import read_gold
    from gecjury.corpus.references import gold_versions
    from gecjury.corpus.texts import corpus_of_texts

    official = gold_versions(read_gold(data / "conll14/official-2014.combined.m2"))
    metrics = ("errant", "green", "gleu")
    print(f"| damage | version | {' | '.join(metrics)} |\n|---|---|" + "--:|" * len(metrics))
    totals: dict[tuple[str, str, str], list[float]] = {}
    for text in texts:
        references = [version.lines for version in official]
        if text.name.startswith("jfleg"):
            alike = [one for one in texts_of(data) if one.name[:-1] == text.name[:-1]]
            references = [one.lines for one in alike if one.name != text.name]
        versions = {"clean:clean": text.lines}
        for kind in ("merged", "split", "dropped", "added", "shifted", *MARKS):
            case = damaged(text, kind, others[text.name.split("-")[0]])
            if len(case.lines) == len(text.sources):
                versions[f"{kind}:damaged"] = case.lines
            mended = repaired(layout(text.sources, case.lines), fill=True)
            versions[f"{kind}:repaired"] = mended.lines or case.lines
        sources = [line.strip() for line in text.sources]
        result = gecjury.score(corpus_of_texts(sources, versions, references), list(metrics))
        rows = result.rows()
        for kind, form in FORMS.items():
            lines = [form(line) for line in text.lines]
            for where, others_too in (("output", False), ("every file", True)):
                of_all = form if others_too else str
                for version in ("damaged", "repaired"):
                    how = {"tokens": "space", "fold": "none"} if version == "damaged" else {}
                    corpus = corpus_of_texts(
                        [*map(of_all, sources)],
                        {f"{kind}, {where}:{version}": lines},
                        [[*map(of_all, reference)] for reference in references],
                        **how,
                    )
                    rows += gecjury.score(corpus, list(metrics)).rows()
        for row in rows:
            kind, _, version = row["system"].partition(":")
            totals.setdefault((kind, version, row["metric"]), []).append(row["score"])
    for kind, version in dict.fromkeys(key[:2] for key in totals):
        cells = (sum(totals[kind, version, m]) / len(totals[kind, version, m]) for m in metrics)
        print(f"| {kind} | {version} | {' | '.join(f'{cell:.4f}' for cell in cells)} |")


def tokens(data: Path) -> None:
    """Print the share of detokenised lines that tokenisers give back as they were, as Markdown."""
    from nltk.tokenize import NLTKWordTokenizer

    from gecjury.corpus.tokens import tokeniser

    rules = {"en": tokeniser("en"), "spaCy": tokeniser("spacy:en")}
    rules["NLTK"] = NLTKWordTokenizer().tokenize
    print(f"| source | {' | '.join(rules)} |\n|---|{'--:|' * len(rules)}")
    for name in ("jfleg/dev/dev.src", "jfleg/test/test.src", "SEEDA/outputs/all/INPUT.txt",
                 "GMEG/data/dev/wiki/source", "GMEG/data/dev/fce/source"):  # fmt: skip
        lines = read_lines(data / name)
        raw = [detokenised(line) for line in lines]
        shares = [
            sum([*rule(text)] == line.split() for text, line in zip(raw, lines, strict=True))
            / len(lines)
            for rule in rules.values()
        ]
        print(f"| {name} | {' | '.join(f'{share:.1%}' for share in shares)} |")


def languages(data: Path) -> None:
    """Print how many blocks of 20 source lines have their language named rightly, as Markdown."""
    files = {
        data / "jfleg/dev/dev.src": "en",
        data / "SEEDA/outputs/all/INPUT.txt": "en",
        data / "GMEG/data/dev/fce/source": "en",
        data / "GECCC/data/test/sentence.input": "cs",
        data / "MuCGEC/data/MuCGEC/MuCGEC_dev.txt": "zh",
        **{path: path.name[:2] for path in sorted(data.glob("multiged-2023/*/*_dev.tsv"))},
    }
    print("| source | language | blocks | right |\n|---|---|--:|--:|")
    for path, code in files.items():
        lines = read_lines(path)
        if path.suffix == ".tsv":  # a word and its label on each line
            lines = " ".join(line.partition("\t")[0] or "\n" for line in lines).splitlines()
        elif code == "zh":
            lines = [line.split("\t")[1] for line in lines]
        blocks = [lines[row : row + 20] for row in range(0, min(len(lines), 2_000) - 19, 20)]
        right = sum(detected_language(block) == code for block in blocks)
        print(f"| {path.name} | {code} | {len(blocks)} | {right} |")


def main() -> None:
    """Read the arguments and do what they ask."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("--evaluate", choices=("dev", "test"))
    parser.add_argument("--scores", choices=("dev", "test"))
    parser.add_argument("--tokens", action="store_true", help="compare tokenisers of raw English")
    parser.add_argument("--languages", action="store_true", help="detect the sources' languages")
    parser.add_argument("--alarms", action="store_true", help="count findings in undamaged texts")
    parser.add_argument("--verbose", action="store_true", help="print every wrong place")
    args = parser.parse_args()
    texts = list(texts_of(args.data))
    jfleg, conll = (
        read_lines(args.data / name)
        for name in ("jfleg/test/test.src", "SEEDA/outputs/all/INPUT.txt")
    )
    others = {"jfleg": conll, "seeda": jfleg, "gjg15": jfleg}
    if args.evaluate:
        # Lines of these two published files are themselves shifted or merged, as --alarms shows.
        unfit = ("gjg15-NTHU", "seeda-REF-F")
        chosen = [t for t in texts if t.part == args.evaluate and t.name not in unfit]
        evaluate(chosen, others, verbose=args.verbose)
    if args.scores:
        chosen = [text for text in texts if text.part == args.scores]
        scores(chosen[::3], args.data, others)
    if args.languages:
        languages(args.data)
    if args.tokens:
        tokens(args.data)
    if args.alarms:
        false_alarms(list(undamaged(args.data)), verbose=args.verbose)


if __name__ == "__main__":
    main()
