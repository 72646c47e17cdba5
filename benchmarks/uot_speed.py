"""UOT-ERRANT against the published procedure on SEEDA: seconds, and how far scores agree.

The baseline does what Goto et al. (2026) publish: systems one after another, edits by the errant
package (parses and edits of equal sentences are remembered), every text of every system and again
of every reference padded to 128 word pieces in batches of 32, vectors in 32-bit floats, one call
of POT for each pair of edit sets. Both sides use the same encoder, tagger and threads.

    python benchmarks/uot_speed.py --data DIR --sentences 60
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gecjury.benchmarks import load_benchmark
from gecjury.checkpoints import quiet_transformers, resolve
from gecjury.corpus import Corpus, Version
from gecjury.edits import Edit, apply_edits
from gecjury.ranking import trueskill
from gecjury.runtime import Runtime
from refbased.uot_errant import UOTERRANT

Edits = list[Edit]


class Published:
    """The published procedure; `score` gives one system's sentence scores."""

    def __init__(self, encoder: str) -> None:
        import errant
        from transformers import AutoModel, AutoTokenizer

        from gecjury.tagger import load_tagger, parse_tokenised

        quiet_transformers()
        folder = resolve(encoder).folder
        self.model = AutoModel.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.nlp = load_tagger("embedded")
        self.annotator = errant.load("en", self.nlp)
        self.parse = lambda text: next(iter(parse_tokenised(self.nlp, [text])))
        self.parses: dict[str, Any] = {}
        self.known: dict[tuple[str, str], Edits] = {}
        self.warned = 0
        self.seconds = {"edits": 0.0, "encoding": 0.0, "transport": 0.0}

    def edits(self, source: str, target: str) -> Edits:
        """A pair's edits, remembered."""
        for text in (source, target):
            if text not in self.parses:
                self.parses[text] = self.parse(text)
        if (source, target) not in self.known:
            found = self.annotator.annotate(self.parses[source], self.parses[target])
            self.known[source, target] = [
                Edit(e.o_start, e.o_end, e.c_str, e.type)
                for e in found
                if e.type not in ("noop", "UNK")
            ]
        return self.known[source, target]

    def encode(self, texts: Sequence[str]) -> np.ndarray:
        """Mean-pooled states, padded to 128."""
        import torch

        parts = []
        for start in range(0, len(texts), 32):
            batch = self.tokenizer(
                list(texts[start : start + 32]),
                max_length=128,
                truncation=True,
                padding="max_length",
                return_tensors="pt",
            )
            with torch.no_grad():
                states = self.model(**batch).last_hidden_state
            mask = batch["attention_mask"][..., None].to(states.dtype)
            parts.append(((states * mask).sum(1) / mask.sum(1)).numpy())
        return np.concatenate(parts)

    def vectors(self, sources: Sequence[str], edits: Sequence[Edits]) -> list[np.ndarray]:
        """Edit vectors of one version of all sources."""
        texts, sizes = [], []
        for source, some in zip(sources, edits, strict=True):
            tokens = source.split()
            texts.append(" ".join(apply_edits(tokens, some)))
            texts += [" ".join(apply_edits(tokens, [f for f in some if f is not e])) for e in some]
            sizes.append(len(some))
        table = self.encode(texts)
        result, at = [], 0
        for size in sizes:
            result.append(table[at] - table[at + 1 : at + 1 + size])
            at += 1 + size
        return result

    def counts(self, x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
        """TP, FP, FN of one pair of edit sets."""
        import ot

        a, b = np.linalg.norm(x, axis=-1), np.linalg.norm(y, axis=-1)
        moved = 0.0
        if len(a) and len(b):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                cost = ot.dist(x, y, metric="euclidean")
                plan = ot.unbalanced.sinkhorn_stabilized_unbalanced(a, b, cost, 0.1, 0.1)
            self.warned += any(
                "onverge" in str(w.message) or "Num" in str(w.message) for w in caught
            )
            moved = float(plan.sum())
        return moved, float(sum(a)) - moved, float(sum(b)) - moved

    def score(
        self, sources: Sequence[str], lines: Sequence[str], references: Sequence[Sequence[str]]
    ) -> list[float]:
        """Sentence scores of one system."""
        start = time.perf_counter()
        mine = [self.edits(s, t) for s, t in zip(sources, lines, strict=True)]
        theirs = [[self.edits(s, t) for s, t in zip(sources, r, strict=True)] for r in references]
        encoding = time.perf_counter()
        x = self.vectors(sources, mine)
        ys = [self.vectors(sources, some) for some in theirs]
        transport = time.perf_counter()
        scores = []
        for row, vectors in enumerate(x):
            keys = []
            for y in ys:
                tp, fp, fn = self.counts(vectors, y[row])
                p = tp / (tp + fp) if tp + fp else 1.0
                r = tp / (tp + fn) if tp + fn else 1.0
                keys.append((1.25 * p * r / (0.25 * p + r) if p + r else 0.0, tp, -fp, -fn))
            scores.append(max(keys)[0])
        self.seconds["edits"] += encoding - start
        self.seconds["encoding"] += transport - encoding
        self.seconds["transport"] += time.perf_counter() - transport
        return scores


def small_corpus(data: str | None, systems: str, references: str, sentences: int) -> Corpus:
    whole = load_benchmark("seeda", systems=systems, references=[references], data=data).corpus
    rows = np.linspace(0, len(whole) - 1, min(sentences, len(whole))).astype(int).tolist()
    return Corpus(
        tuple(whole.sources[row] for row in rows),
        {name: version.take(rows) for name, version in whole.systems.items()},
        tuple(Version(version.lines).take(rows) for version in whole.references),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data")
    parser.add_argument("--systems", default="base")
    parser.add_argument("--references", default="official")
    parser.add_argument("--sentences", type=int, default=391, help="evenly spaced over the 391")
    parser.add_argument("--encoder", default="embedded")
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    import torch

    torch.set_num_threads(args.threads)
    corpus = small_corpus(args.data, args.systems, args.references, args.sentences)
    references = [version.lines for version in corpus.references]
    runtime = Runtime(device="cpu", use_cache=False)
    scorer = UOTERRANT(encoder=args.encoder)
    # Models are loaded before the clock starts, on both sides.
    published = Published(args.encoder)
    warm = Corpus(("He go .",), {"a": Version(("He goes .",))}, (Version(("He went .",)),))
    scorer.statistics(warm, runtime)
    published.score(("He go .",), ("He goes .",), (("He went .",),))
    published.seconds = dict.fromkeys(published.seconds, 0.0)
    start = time.perf_counter()
    statistics = scorer.statistics(corpus, runtime)
    ours = scorer.sentence_scores(statistics).score
    seconds = time.perf_counter() - start
    start = time.perf_counter()
    theirs = np.array(
        [published.score(corpus.sources, v.lines, references) for v in corpus.systems.values()]
    )
    baseline = time.perf_counter() - start
    gap = np.abs(ours - theirs)
    system_gap = np.abs(trueskill(ours).scores - trueskill(theirs).scores)
    report = {
        "systems": len(corpus.systems),
        "sentences": len(corpus),
        "references": len(references),
        "threads": args.threads,
        "gecjury_seconds": round(seconds, 2),
        "published_seconds": round(baseline, 2),
        "published_parts": {key: round(value, 2) for key, value in published.seconds.items()},
        "times_faster": round(baseline / seconds, 1),
        "scores": int(gap.size),
        "share_within_1e-4": round(float((gap <= 1e-4).mean()), 5),
        "share_within_1e-2": round(float((gap <= 1e-2).mean()), 5),
        "largest_gap": float(gap.max()),
        "largest_trueskill_gap": float(system_gap.max()),
        "pot_warnings": published.warned,
        "solver": statistics.details["solver"],
    }
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
