"""Compare edits made with a tagger with official ERRANT output: spans, types, F0.5, ranks.

    python tools/evaluate_tagger.py ../shared/data/conll14-errant [--tagger NAME|DIR] [--confusions]

The folder contains M2 files written by the official ERRANT for systems and (``conll14.errant``) for
both references. Corrected texts are built by applying the edits to the source; the edits are then
extracted again with the installed errant package and compared one by one.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent)]

from gecjury.corpus.m2 import M2Sentence, read_m2  # noqa: E402

REFERENCE = "conll14.errant"

Span = tuple[int, int, str]
Edits = dict[Span, str]  # span and correction -> error type


def official_edits(blocks: Iterable[M2Sentence], annotator: int) -> list[Edits | None]:
    """Return an annotator's edits of each sentence; None where there is no line."""
    return [
        {(e.start, e.end, e.correction): e.type for e in block.edits(annotator)}
        if annotator in block.annotators
        else None
        for block in blocks
    ]


def corrected(source: str, edits: Iterable[Span]) -> str:
    """Return the source with the edits applied."""
    tokens = source.split()
    for start, end, correction in sorted(edits, reverse=True):
        tokens[start:end] = correction.split()
    return " ".join(tokens)


class Extractor:
    """ERRANT's own alignment, merging and classification over sentences parsed in bulk."""

    def __init__(self, nlp: Any) -> None:
        import errant

        self.nlp = nlp
        self.annotator = errant.load("en", nlp)
        self.parsed: dict[str, Any] = {}

    def parse(self, texts: Iterable[str]) -> None:
        """Parse the texts that have not been parsed yet."""
        from spacy.tokens import Doc

        new = sorted(set(texts) - self.parsed.keys())
        docs = self.nlp.pipe(Doc(self.nlp.vocab, words=text.split()) for text in new)
        self.parsed.update(zip(new, docs, strict=True))

    def edits(self, source: str, target: str) -> Edits:
        """Return the typed edits from source to target."""
        if source == target:
            return {}
        found = self.annotator.annotate(self.parsed[source], self.parsed[target])
        return {(e.o_start, e.o_end, e.c_str): e.type for e in found if e.type != "noop"}


def extract(
    extractor: Extractor, blocks: Iterable[M2Sentence], official: Iterable[Edits | None]
) -> list[Edits | None]:
    """Extract the edits of one annotator again; None if there is nothing to compare."""
    pairs = [
        None if edits is None else (block.source, corrected(block.source, edits))
        for block, edits in zip(blocks, official, strict=True)
    ]
    extractor.parse(text for pair in pairs if pair for text in pair)
    return [None if pair is None else extractor.edits(*pair) for pair in pairs]


def agreement(official: list[Edits | None], ours: list[Edits | None]) -> dict[str, float]:
    """Return span precision, recall and F1, and the share of matches with the official type."""
    both = official_total = our_total = same = 0
    for theirs, mine in zip(official, ours, strict=True):
        if theirs is None or mine is None:
            continue
        matched = theirs.keys() & mine.keys()
        both += len(matched)
        official_total += len(theirs)
        our_total += len(mine)
        same += sum(theirs[span] == mine[span] for span in matched)
    precision, recall = both / max(1, our_total), both / max(1, official_total)
    return {
        "edits": official_total,
        "precision": precision,
        "recall": recall,
        "f1": 2 * precision * recall / max(1e-12, precision + recall),
        "types": same / max(1, both),
    }


def corpus_f05(hypothesis: list[Edits | None], references: list[list[Edits | None]]) -> float:
    """Return corpus F0.5 on (start, end, correction), with references chosen by the running F."""
    total = (0, 0, 0)
    for i, edits in enumerate(hypothesis):
        proposed = _counted(edits)
        options = []
        for reference in references:
            if reference[i] is None:
                continue
            gold = _counted(reference[i])
            hit = len(proposed & gold)
            options.append((hit, len(proposed) - hit, len(gold) - hit))
        best = max(options, key=lambda o: (f05(*_plus(total, o)), o[0], -o[1], -o[2]))
        total = _plus(total, best)
    return f05(*total)


def _counted(edits: Edits | None) -> set[Span]:
    return {span for span, kind in (edits or {}).items() if kind != "UNK"}


def _plus(a: tuple[int, int, int], b: tuple[int, int, int]) -> tuple[int, int, int]:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def f05(tp: int, fp: int, fn: int) -> float:
    """Return F0.5; precision is 1 without false positives, recall 1 without false negatives."""
    precision = tp / (tp + fp) if fp else 1.0
    recall = tp / (tp + fn) if fn else 1.0
    return 1.25 * precision * recall / (0.25 * precision + recall) if precision + recall else 0.0


def main() -> int:
    """Print a row per file and annotator, the F0.5 comparison, and a verdict on the ranking."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tagger", default="embedded", help="a name, or a folder to load")
    parser.add_argument("--confusions", type=int, default=0, help="how many confusions to list")
    arguments = parser.parse_args()
    from gecjury.extraction.tagger import load_tagger

    extractor = Extractor(load_tagger(arguments.tagger))
    report = compare(extractor, arguments.folder, arguments.confusions)
    print(json.dumps(report, indent=1))
    return 0


def compare(extractor: Extractor, folder: Path, confusions: int = 0) -> dict[str, Any]:
    """Return the agreement of every file, and corpus F0.5 with official and with our edits."""
    rows: dict[str, Any] = {}
    official: dict[str, list[Edits | None]] = {}
    ours: dict[str, list[Edits | None]] = {}
    mixed: Counter[str] = Counter()
    for path in sorted(folder.glob("*.errant")):
        blocks = read_m2(path, overlaps="keep")
        for annotator in sorted({n for block in blocks for n in block.annotators}):
            name = f"{path.name}:{annotator}"
            official[name] = official_edits(blocks, annotator)
            ours[name] = extract(extractor, blocks, official[name])
            rows[name] = agreement(official[name], ours[name])
            mixed.update(_confusions(official[name], ours[name]))
    references = [name for name in official if name.startswith(REFERENCE)]
    rows["all"] = agreement(
        [edits for column in official.values() for edits in column],
        [edits for column in ours.values() for edits in column],
    )
    systems = [name for name in official if name not in references]
    scores = {
        name: {
            "official": corpus_f05(official[name], [official[r] for r in references]),
            "ours": corpus_f05(ours[name], [ours[r] for r in references]),
        }
        for name in systems
    }
    ranks = [sorted(systems, key=lambda n: -scores[n][side]) for side in ("official", "ours")]
    return {
        "agreement": rows,
        "f05": scores,
        "same_ranking": ranks[0] == ranks[1],
        "confusions": mixed.most_common(confusions),
    }


def _confusions(official: list[Edits | None], ours: list[Edits | None]) -> Counter[str]:
    mixed: Counter[str] = Counter()
    for theirs, mine in zip(official, ours, strict=True):
        for span in (theirs or {}).keys() & (mine or {}).keys():
            if theirs[span] != mine[span]:
                mixed[f"{theirs[span]} -> {mine[span]}"] += 1
    return mixed


if __name__ == "__main__":
    sys.exit(main())
