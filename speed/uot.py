"""UOT-ERRANT compared with the published procedure on SEEDA: seconds, and agreement of scores.

The baseline does what the authors' code does (Goto et al. 2026; github.com/gotutiyan/uot-errant at
bb99484, the class of src/uot_errant/uot_errant.py and the timing of experiments/efficiency.py):

- Systems one after another. Parses and edits of equal sentences are cached within a system, but not
  between systems (efficiency.py empties these two caches before each).
- For the hypotheses, and again for each reference, one text for every sentence (all edits applied)
  and one for every edit (that one left out). A cache of vectors is queried, but the line that would
  fill it is commented out, so every text is encoded, even equal ones.
- Texts in the given order, in batches of 32, each padded to 128 word pieces; mean pooling over the
  word pieces, in 32-bit floats; batches joined one by one.
- One distance matrix and one call of POT's stabilised solver for each pair of edit sets if both
  have edits; precision, recall and F as in ERRANT, the best reference by F, then TP, FP, FN.

Its edits are extracted by the errant package. Both sides use the same encoder, tagger and threads,
and models are loaded before the clock starts. The baseline would take a quarter of an hour for all
of SEEDA: it is timed on some systems and sentences and scaled by the number of texts to encode,
which is where its time goes; ours is timed on the whole. CPU seconds are the fairer measure on a
machine that is busy with other things.

Then the effect of `dtype`, see `speed.uot_numbers`; also for MPNet if `--mpnet` names its folder.

    python -m speed uot --data DIR [--mpnet DIR]
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from gecjury.benchmarks.load import load_benchmark
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit, apply_edits
from gecjury.models.checkpoints import quiet_transformers, resolve
from gecjury.refbased.uot_errant.metric import UOTERRANT
from speed.harness import Claim, Options, faster, needs, peak_memory, timed
from speed.uot_numbers import measure_numbers

ENCODER, THREADS = "embedded", 2
SYSTEMS, SENTENCES = 2, 100  # of the baseline

Edits = list[Edit]


class Published:
    """The published procedure; `score` returns one system's sentence scores."""

    def __init__(self, encoder: str) -> None:
        import errant
        from spacy.tokens import Doc
        from transformers import AutoModel, AutoTokenizer

        from gecjury.extraction.tagger import load_tagger

        quiet_transformers()
        folder = resolve(encoder).folder
        self.model = AutoModel.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.nlp = load_tagger("embedded")
        self.annotator = errant.load("en", self.nlp)
        self.parse = lambda text: self.nlp(Doc(self.nlp.vocab, words=text.split()))
        self.parses: dict[str, Any] = {}
        self.known: dict[tuple[str, str], Edits] = {}
        self.warned = 0
        self.texts = 0
        self.seconds = {"edits": 0.0, "encoding": 0.0, "transport": 0.0}

    def edits(self, source: str, target: str) -> Edits:
        """Return a pair's edits, from a cache if possible."""
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
        """Return mean-pooled states of texts padded to 128 word pieces."""
        import torch

        self.texts += len(texts)
        table: np.ndarray | None = None
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
            mask = batch["attention_mask"]
            states[mask == 0] = 0
            part = (states.sum(dim=1) / mask.sum(dim=1, keepdim=True)).numpy()
            table = part if table is None else np.vstack([table, part])
        assert table is not None
        return table

    def vectors(self, sources: Sequence[str], edits: Sequence[Edits]) -> list[np.ndarray]:
        """Return edit vectors of one version of all sources."""
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
        """Return TP, FP, FN of one pair of edit sets."""
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
        """Return sentence scores of one system."""
        self.parses.clear()
        self.known.clear()
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


def evenly(count: int, of: int) -> list[int]:
    return np.unique(np.linspace(0, of - 1, min(count, of)).astype(int)).tolist()


def texts_of_all(scorer: UOTERRANT, corpus: Corpus, runtime: Runtime) -> int:
    """Return the number of texts that the baseline would encode for the whole corpus."""
    edits = scorer.edits(corpus, runtime)

    def texts(lines: Sequence[Sequence[Edit]]) -> int:
        return sum(1 + sum(e.type not in ("noop", "UNK") for e in line) for line in lines)

    references = sum(texts(lines) for lines in edits.references)
    return sum(texts(lines) + references for lines in edits.systems.values())


def measure(options: Options) -> list[Claim]:
    """Time our side on the whole corpus, the baseline on a sample."""
    data = str(options.need_data())
    needs("torch", "transformers", "ot", "errant")
    import torch

    torch.set_num_threads(THREADS)
    seeda = load_benchmark("seeda", systems="base", references=["official"], data=data)
    corpus = seeda.corpus
    some_systems, some_sentences = SYSTEMS, SENTENCES
    if options.quick:
        few = range(5)
        corpus = Corpus(
            corpus.sources[:5],
            {name: corpus.systems[name].take(few) for name in corpus.names[:2]},
            tuple(version.take(few) for version in corpus.references),
        )
        some_systems, some_sentences = 1, 5
    runtime = Runtime(device="cpu", use_cache=False)
    scorer = UOTERRANT(encoder=ENCODER)
    # Models are loaded before the clock starts, on both sides.
    published = Published(ENCODER)
    warm = Corpus(("He go .",), {"a": Version(("He goes .",))}, (Version(("He went .",)),))
    scorer.statistics(warm, runtime)
    published.score(("He go .",), ("He goes .",), (("He went .",),))
    published.seconds = dict.fromkeys(published.seconds, 0.0)
    published.texts = 0
    statistics, seconds, cpu = timed(lambda: scorer.statistics(corpus, runtime))
    rows = evenly(some_sentences, len(corpus))
    systems = evenly(some_systems, len(corpus.systems))
    ours = scorer.sentence_scores(statistics).score[np.ix_(systems, rows)]
    sources = [corpus.sources[row] for row in rows]
    references = [[version.lines[row] for row in rows] for version in corpus.references]

    def baseline() -> np.ndarray:
        versions = [corpus.systems[corpus.names[system]] for system in systems]
        lines = [[version.lines[row] for row in rows] for version in versions]
        return np.array([published.score(sources, some, references) for some in lines])

    theirs, their_seconds, their_cpu = timed(baseline)
    whole = texts_of_all(scorer, corpus, runtime)
    scale = whole / published.texts
    gap = np.abs(ours - theirs)
    parts = ", ".join(f"{key} {value:.1f} s" for key, value in published.seconds.items())
    lines = (
        f"CPU seconds {their_cpu * scale:.0f} and {cpu:.1f}, {their_cpu * scale / cpu:.1f}×",
        f"published procedure: {len(systems)} systems × {len(rows)} sentences in "
        f"{their_seconds:.1f} s ({parts}), {published.texts} of {whole} texts; "
        f"{their_seconds * scale / len(corpus.systems):.1f} s a system",
        f"of {gap.size} scores {(gap <= 1e-4).mean():.3%} within 1e-4, {(gap <= 1e-2).mean():.3%} "
        f"within 1e-2, largest gap {gap.max():.2e}; {published.warned} warnings of POT",
        f"solver: {statistics.details['solver']}",
    )
    size = f"{len(corpus.systems)} × {len(corpus)} × {len(references)}"
    return [
        faster(
            f"UOT-ERRANT, {size}, {THREADS} threads",
            seconds,
            their_seconds * scale,
            peak=peak_memory(),
            lines=lines,
        ),
        *measure_numbers("MiniLM", ENCODER, corpus, seeda),
        *(measure_numbers("MPNet", str(options.mpnet), corpus, seeda) if options.mpnet else ()),
    ]
