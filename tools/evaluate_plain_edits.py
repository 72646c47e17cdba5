"""Compare edits made without a tagger with those of ERRANT's rules, of GECCC and of MultiGED.

    python tools/evaluate_plain_edits.py DATA [english] [geccc-dev] [geccc-test] [multiged] [speed]

The folder contains SEEDA, conll14, GECCC and multiged-2023. One JSON object is printed:

- `english`: `tagger=none` against the embedded tagger on SEEDA's outputs and on CoNLL-2014's two
  official references as text; and ERRANT's corpus F0.5 of each output under both.
- `geccc-dev`, `geccc-test`: extracted edits against the M2 file's own, by annotator.
- `multiged`: the tokens that edits of GECCC's dev touch against MultiGED's labels (Czech dev), for
  sentences that are in both. The labels follow annotator 0: no token that this annotator leaves
  unchanged is labelled i. A token is touched if it is replaced, removed, or follows something
  missing (convention `all`). In MultiGED, removed tokens, and those where only punctuation changes,
  are mostly labelled c; convention `multiged` excludes them: only replaced tokens and the token
  after a missing word count, without edits of punctuation.
- `speed`: SEEDA's outputs extracted by one process, nothing cached; the best of five.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent.parent)]

from gecjury.core.runtime import Runtime  # noqa: E402
from gecjury.core.textfiles import read_lines  # noqa: E402
from gecjury.corpus.corpus import Corpus, Version  # noqa: E402
from gecjury.corpus.edits import Edit  # noqa: E402
from gecjury.corpus.m2 import read_m2  # noqa: E402
from gecjury.extraction.extract import extract  # noqa: E402
from gecjury.scoring.registry import load  # noqa: E402

FRESH = Runtime(use_cache=False)
PARTS = ("english", "geccc-dev", "geccc-test", "multiged", "speed")
Lines = Sequence[Iterable[Edit]]
Span = tuple[int, int, str]


def main() -> int:
    """Print the requested parts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--tagger", default="none", help="none, or spacy:NAME")
    arguments = parser.parse_args()
    if unknown := set(arguments.parts) - set(PARTS):
        parser.error(f"unknown: {', '.join(sorted(unknown))}; expected {', '.join(PARTS)}")
    made: dict[str, Any] = {}
    for part in arguments.parts or PARTS:
        if part == "english":
            made[part] = english(arguments.folder, arguments.tagger)
        elif part == "speed":
            made[part] = speed(arguments.folder, arguments.tagger)
        elif part == "multiged":
            made[part] = multiged(arguments.folder, arguments.tagger)
        else:
            name = part.removeprefix("geccc-")
            made[part] = geccc(arguments.folder / "GECCC" / "data" / name, arguments.tagger)
    print(json.dumps(made, indent=1, ensure_ascii=False))
    return 0


def agreement(theirs: Lines, mine: Lines) -> dict[str, Any]:
    """Return span precision, recall and F1 in percent, and operations (M, R, U) on both sides."""
    both = other = own = 0
    operations: list[Counter[str]] = [Counter(), Counter()]
    same = 0
    for one, two in zip(theirs, mine, strict=True):
        gold, found = (_typed(edits) for edits in (one, two))
        matched = gold.keys() & found.keys()
        both, other, own = both + len(matched), other + len(gold), own + len(found)
        same += sum(gold[span][0] == found[span][0] for span in matched)
        for counter, edits in zip(operations, (gold, found), strict=True):
            counter.update(kind[0] for kind in edits.values())
    return {
        "edits": other,
        "ours": own,
        "precision": round(100 * both / max(1, own), 2),
        "recall": round(100 * both / max(1, other), 2),
        "f1": round(200 * both / max(1, own + other), 2),
        "same M/R/U of matched": round(100 * same / max(1, both), 2),
        "M/R/U": {kind: [side[kind] for side in operations] for kind in "MRU"},
    }


def _typed(edits: Iterable[Edit]) -> dict[Span, str]:
    return {(e.start, e.end, " ".join(e.tokens)): e.type or "?" for e in edits}


def seeda(folder: Path) -> tuple[list[str], dict[str, list[str]]]:
    """Return SEEDA's sources, and its outputs by system."""
    outputs = folder / "SEEDA" / "outputs" / "all"
    paths = [path for path in sorted(outputs.glob("*.txt")) if path.stem != "INPUT"]
    return list(read_lines(outputs / "INPUT.txt")), {p.stem: list(read_lines(p)) for p in paths}


def speed(folder: Path, tagger: str) -> dict[str, float]:
    """Return clock and processor seconds for all outputs, and pairs per second by both."""
    sources, systems = seeda(folder)
    pairs = len(sources) * len(systems)
    taken = []
    for _ in range(5):
        clock, processor = time.perf_counter(), time.process_time()
        changed = extract(sources, systems, tagger, runtime=FRESH).pairs
        taken.append((time.perf_counter() - clock, time.process_time() - processor))
    wall, used = (min(column) for column in zip(*taken, strict=True))
    return {
        "pairs": pairs,
        "distinct and changed": changed,
        "seconds": round(wall, 3),
        "processor seconds": round(used, 3),
        "processor seconds, first time": round(taken[0][1], 3),
        "pairs a second": round(pairs / wall),
        "pairs a processor second": round(pairs / used),
    }


def english(folder: Path, tagger: str) -> dict[str, Any]:
    """Compare `tagger` with the embedded tagger; corpus F0.5 of the outputs under both."""
    sources, systems = seeda(folder)
    blocks = read_m2(folder / "conll14" / "official-2014.combined.m2", overlaps="keep")
    references = {f"official {a}": [block.text(a) for block in blocks] for a in (0, 1)}
    texts = systems | references
    found = {
        name: dict(zip(texts, extract(sources, texts, name, runtime=FRESH).edits, strict=True))
        for name in ("embedded", tagger)
    }
    corpus = Corpus(
        tuple(sources),
        {name: Version(tuple(lines)) for name, lines in systems.items()},
        tuple(Version(tuple(lines)) for lines in references.values()),
    )
    scores = {
        name: load("errant", tagger=name).score_corpus(corpus, FRESH).totals for name in found
    }
    orders = [sorted(systems, key=lambda system: -totals[system]) for totals in scores.values()]
    everything = [[e for lines in of.values() for e in lines] for of in found.values()]
    return {
        "all": agreement(*everything),
        "by text": {
            name: agreement(found["embedded"][name], found[tagger][name])["f1"] for name in texts
        },
        "F0.5": {
            name: [round(100 * float(totals[name]), 2) for totals in scores.values()]
            for name in orders[0]
        },
        "orders": orders if orders[0] != orders[1] else "the same",
    }


def geccc(folder: Path, tagger: str) -> dict[str, Any]:
    """Compare extracted edits with the M2 file's own, by annotator and together."""
    blocks = read_m2(folder / "sentence.m2", overlaps="keep")
    rows: dict[str, Any] = {}
    gold: list[tuple[Edit, ...]] = []
    mine: list[tuple[Edit, ...]] = []
    for annotator in sorted({a for block in blocks for a in block.annotators}):
        own = [block for block in blocks if annotator in block.annotators]
        theirs = [tuple(block.edits(annotator)) for block in own]
        texts = [block.text(annotator) for block in own]
        (found,) = extract([block.source for block in own], [texts], tagger, runtime=FRESH).edits
        rows[f"annotator {annotator}"] = {"sentences": len(own), **agreement(theirs, found)}
        gold += theirs
        mine += found
    return rows | {"all": agreement(gold, mine), "categories": categories(gold, mine)}


_NAMES = {"DIACR": "SPELL", "SPELL": "SPELL", "ORTH:CASING": "ORTH", "ORTH:WSPACE": "SPACE"}


def categories(gold: Lines, mine: Lines) -> dict[str, Any]:
    """Return how many matched edits typed PUNCT, ORTH, WO, or SPELL and DIACR get our same type."""
    seen: Counter[tuple[str, str]] = Counter()
    for one, two in zip(gold, mine, strict=True):
        theirs, found = _typed(one), _typed(two)
        for span in theirs.keys() & found.keys():
            kind = theirs[span][2:]
            seen[_NAMES.get(kind, kind), found[span][2:]] += 1
    table = {}
    for kind in ("PUNCT", "ORTH", "SPACE", "WO", "SPELL"):
        both = seen[kind, kind]
        table[kind] = {
            "GECCC": sum(count for (name, _), count in seen.items() if name == kind),
            "ours": sum(count for (_, name), count in seen.items() if name == kind),
            "both": both,
        }
    return table


def labelled(path: Path) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Yield tokens and labels of each sentence of a MultiGED file."""
    for block in path.read_text(encoding="utf-8").split("\n\n"):
        pairs = [line.split("\t") for line in block.splitlines() if line]
        if pairs:
            tokens, labels = zip(*pairs, strict=True)
            yield tuple(token.replace('\\"', '"') for token in tokens), labels


def multiged(folder: Path, tagger: str) -> dict[str, Any]:
    """Compare touched tokens with labels, for GECCC's own edits and for extracted ones."""
    known: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    for tokens, labels in labelled(folder / "multiged-2023" / "czech" / "cs_geccc_dev.tsv"):
        known.setdefault(tokens, set()).add(labels)
    blocks = {
        tuple(block.source.split()): block
        for block in read_m2(folder / "GECCC" / "data" / "dev" / "sentence.m2", overlaps="keep")
    }
    # A sentence that occurs twice with different labels is unusable.
    shared = [t for t, labels in known.items() if len(labels) == 1 and t in blocks]
    found: dict[str, Any] = {"sentences": len(shared), "in MultiGED": len(known)}
    answers = [next(iter(known[tokens])) for tokens in shared]
    own = [blocks[tokens] for tokens in shared]
    sources = [block.source for block in own]
    texts = [block.text(0) for block in own]
    (made,) = extract(sources, [texts], tagger, runtime=FRESH).edits
    for name, lines in (("GECCC's", [block.edits(0) for block in own]), (tagger, made)):
        for convention in ("all", "multiged"):
            row = [touched(edits, convention) for edits in lines]
            found[f"{name}, {convention}"] = f05(row, answers)
    return found


def touched(edits: Iterable[Edit], convention: str) -> set[int]:
    """Return the numbers of touched tokens, possibly including one beyond the last token."""
    places: set[int] = set()
    for edit in edits:
        narrow = convention == "multiged"
        if narrow and ("PUNCT" in edit.type or not edit.correction):
            continue
        places |= set(range(edit.start, max(edit.end, edit.start + 1)))
    return places


def f05(places: Sequence[set[int]], answers: Sequence[tuple[str, ...]]) -> dict[str, float]:
    """Return precision, recall and F0.5 in percent of tokens labelled i."""
    hits = wrong = missed = 0
    for mine, labels in zip(places, answers, strict=True):
        theirs = {n for n, label in enumerate(labels) if label == "i"}
        mine = {n for n in mine if n < len(labels)}
        hits, wrong = hits + len(mine & theirs), wrong + len(mine - theirs)
        missed += len(theirs - mine)
    precision, recall = hits / max(1, hits + wrong), hits / max(1, hits + missed)
    score = 1.25 * precision * recall / max(1e-12, 0.25 * precision + recall)
    return {k: round(100 * v, 2) for k, v in zip("PRF", (precision, recall, score), strict=True)}


if __name__ == "__main__":
    sys.exit(main())
