"""Train the embedded English tagger on the English Web Treebank, reproducibly by seed.

    python tools/train_tagger.py ../shared/data/ud/en_ewt --output gecjury/extraction/tagger/model

The treebank's dependencies are rewritten as ClearNLP's (`clearnlp.py`), each sentence is shown as
it is or with the noise of learner text (lower case, missing final stop, typos), and the tagger and
the parser share one convolutional encoder. 4,000 steps take about 15 minutes on one core.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import shutil
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from clearnlp import Tree, convert, read_conllu  # noqa: E402
from lexicon import lookup_table, unambiguous_words  # noqa: E402
from tagger_schemes import attribute_patterns  # noqa: E402

VERSION = "1.0.0"
# Forms that learners write and that are not in the treebank.
_SLASHED = {"his": "his/her", "he": "he/she", "him": "him/her", "himself": "himself/herself"}
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
# Tables kept for the rule lemmatizer: spaCy 2 did not change adverbs, so "better" stays "better".
_LEMMA_PARTS = ("noun", "verb", "adj", "punct")


@dataclass(frozen=True)
class Settings:
    """Everything that determines the result, apart from the data and the versions."""

    seed: int = 0
    steps: int = 4000
    batch_words: int = 1000
    dropout: float = 0.1
    learn_rate: float = 0.001
    warmup: int = 250
    width: int = 96
    depth: int = 4
    embed_size: int = 3000
    hidden: int = 64
    rough: float = 0.2


def main() -> int:
    """Train, evaluate on the treebank's test part, and write the pipeline."""
    arguments = _arguments()
    import spacy

    settings = Settings(
        **{field: getattr(arguments, field) for field in Settings.__dataclass_fields__}
    )
    spacy.util.fix_random_seed(settings.seed)
    begun = time.monotonic()
    parts = arguments.train.split(",")
    trees = [t for part in parts for t in _trees(arguments.treebank, part)]
    nlp = build(settings)
    train(nlp, trees, settings)
    minutes = (time.monotonic() - begun) / 60
    figures = evaluate(nlp, _trees(arguments.treebank, "test"))
    print(json.dumps(figures), f"{minutes:.1f} minutes", file=sys.stderr)
    fingerprint = {
        "data": {part: _sha256(_file(arguments.treebank, part)) for part in parts},
        "settings": asdict(settings),
        "spacy": spacy.__version__,
        "test": figures,
    }
    write(nlp, arguments.output, fingerprint, unambiguous_words(trees))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("treebank", type=Path, help="folder with en_ewt-ud-{train,dev,test}.conllu")
    parser.add_argument("--output", type=Path, default=Path("gecjury/extraction/tagger/model"))
    parser.add_argument("--train", default="train,dev", help="parts of the treebank to learn from")
    for name, field in Settings.__dataclass_fields__.items():
        kind = type(field.default)
        parser.add_argument("--" + name.replace("_", "-"), type=kind, default=field.default)
    return parser.parse_args()


def _file(treebank: Path, part: str) -> Path:
    return treebank / f"en_ewt-ud-{part}.conllu"


def _trees(treebank: Path, part: str) -> list[Tree]:
    return [convert(tree) for tree in read_conllu(_file(treebank, part))]


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def build(settings: Settings) -> Any:
    """Return an untrained pipeline: shared encoder, tagger, parser, attribute ruler, lemmatizer."""
    import spacy

    nlp = spacy.blank("en")
    listener = {
        "@architectures": "spacy.Tok2VecListener.v1", "width": settings.width, "upstream": "*",
    }  # fmt: skip
    encoder = {
        "@architectures": "spacy.HashEmbedCNN.v2", "width": settings.width,
        "depth": settings.depth, "embed_size": settings.embed_size, "window_size": 1,
        "maxout_pieces": 3, "subword_features": True, "pretrained_vectors": None,
    }  # fmt: skip
    nlp.add_pipe("tok2vec", config={"model": encoder})
    tagger = {"@architectures": "spacy.Tagger.v2", "tok2vec": listener}
    nlp.add_pipe("tagger", config={"model": tagger})
    transitions = {
        "@architectures": "spacy.TransitionBasedParser.v2", "state_type": "parser",
        "extra_state_tokens": False, "hidden_width": settings.hidden, "maxout_pieces": 2,
        "use_upper": True, "tok2vec": listener,
    }  # fmt: skip
    nlp.add_pipe("parser", config={"model": transitions})
    nlp.add_pipe("attribute_ruler").add_patterns(attribute_patterns())
    nlp.add_pipe("lemmatizer", config={"mode": "rule", "overwrite": False})
    return nlp


def lemma_tables() -> Any:
    """Return the used parts of the lemma tables of spacy-lookups-data (built from WordNet)."""
    from spacy.lookups import Lookups

    lookups = Lookups()
    for name in ("lemma_rules", "lemma_exc", "lemma_index"):
        table = lookup_table(name)
        if name == "lemma_rules":
            # spaCy 3 prefers the last rule that leads to a known word ("hoping" -> "hop"), spaCy 2
            # the first ("hope"); appending the rules in reverse gives spaCy 2's choice.
            table = {part: rules + rules[::-1] for part, rules in table.items()}
        lookups.add_table(name, {k: v for k, v in table.items() if k in _LEMMA_PARTS})
    return lookups


def _doc(nlp: Any, tree: Tree, words: list[str]) -> Any:
    from spacy.tokens import Doc

    n = len(words)
    return Doc(nlp.vocab, words=words, tags=tree.tags[:n], heads=tree.heads[:n],
               deps=tree.labels[:n])  # fmt: skip


def _example(nlp: Any, tree: Tree, words: list[str]) -> Any:
    from spacy.tokens import Doc
    from spacy.training import Example

    return Example(Doc(nlp.vocab, words=words), _doc(nlp, tree, words))


def roughen(tree: Tree, rng: random.Random, rate: float) -> list[str]:
    """Return the sentence's words, sometimes lower-cased, unfinished or mistyped."""
    words = list(tree.words)
    for at, word in enumerate(words):
        if word in _SLASHED and tree.tags[at] in {"PRP", "PRP$"} and rng.random() < 0.05:
            words[at] = _SLASHED[word]
    if rng.random() >= rate:
        return words
    kind = rng.random()
    last = len(words) - 1
    if kind < 0.25:
        return [word.lower() for word in words]
    if kind < 0.5 and last > 3 and tree.labels[last] == "punct" and last not in tree.heads:
        return words[:-1]
    if kind < 0.6:
        return [words[0][:1].lower() + words[0][1:], *words[1:]]
    return [_mistype(w, rng) if len(w) > 4 and rng.random() < 0.08 else w for w in words]


def _mistype(word: str, rng: random.Random) -> str:
    at = rng.randrange(1, len(word) - 1)
    kind = rng.randrange(4)
    if kind == 0:
        return word[:at] + word[at + 1 :]
    if kind == 1:
        return word[:at] + word[at] + word[at:]
    if kind == 2:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + rng.choice(_LETTERS) + word[at + 1 :]


def train(nlp: Any, trees: list[Tree], settings: Settings) -> None:
    """Run the optimiser for ``settings.steps`` steps and keep the averaged weights."""
    from thinc.api import Adam

    rng = random.Random(settings.seed)
    nlp.get_pipe("lemmatizer").initialize(lookups=lemma_tables())
    trained = [name for name in nlp.pipe_names if name in {"tok2vec", "tagger", "parser"}]
    with nlp.select_pipes(enable=trained):
        nlp.initialize(lambda: [_example(nlp, tree, tree.words) for tree in trees])
        optimizer = Adam(
            settings.learn_rate, beta1=0.9, beta2=0.999, eps=1e-8, L2=0.01, grad_clip=1.0,
            L2_is_weight_decay=True, use_averages=True,
        )  # fmt: skip
        losses: dict[str, float] = {}
        batches = _batches(trees, settings.batch_words, rng)
        for step in range(settings.steps):
            optimizer.learn_rate = _rate(step, settings)
            batch = [
                _example(nlp, tree, roughen(tree, rng, settings.rough)) for tree in next(batches)
            ]
            nlp.update(batch, drop=settings.dropout, sgd=optimizer, losses=losses)
            if step % 200 == 199:
                print(step + 1, {k: round(v) for k, v in losses.items()}, file=sys.stderr)
                losses = {}
        with nlp.use_params(optimizer.averages):
            frozen = {name: nlp.get_pipe(name).model.to_bytes() for name in trained}
        for name, weights in frozen.items():
            nlp.get_pipe(name).model.from_bytes(weights)


def _rate(step: int, settings: Settings) -> float:
    """Return the learning rate: linear warm-up, then linear decay to a tenth."""
    if step < settings.warmup:
        return settings.learn_rate * (step + 1) / settings.warmup
    left = (settings.steps - step) / max(1, settings.steps - settings.warmup)
    return settings.learn_rate * (0.1 + 0.9 * left)


def _batches(trees: list[Tree], words: int, rng: random.Random) -> Any:
    order = list(trees)
    batch: list[Tree] = []
    size = 0
    while True:
        rng.shuffle(order)
        for tree in order:
            batch.append(tree)
            size += len(tree.words)
            if size >= words:
                yield batch
                batch, size = [], 0


def evaluate(nlp: Any, trees: list[Tree]) -> dict[str, float]:
    """Return tag accuracy and labelled and unlabelled attachment without punctuation, 0 to 1."""
    from spacy.tokens import Doc

    docs = list(nlp.pipe(Doc(nlp.vocab, words=tree.words) for tree in trees))
    tags = heads = labels = words = scored = 0
    for doc, tree in zip(docs, trees, strict=True):
        for token, tag, head, label in zip(doc, tree.tags, tree.heads, tree.labels, strict=True):
            words += 1
            tags += token.tag_ == tag
            if label != "punct":
                scored += 1
                heads += token.head.i == head
                labels += token.head.i == head and token.dep_ == label
    return {
        "tag": round(tags / words, 4),
        "uas": round(heads / scored, 4),
        "las": round(labels / scored, 4),
    }


def write(nlp: Any, output: Path, fingerprint: dict[str, Any], words: dict[str, list[str]]) -> None:
    """Write the pipeline without strings and tables that parsing does not need."""
    ruler = nlp.get_pipe("attribute_ruler")
    ruler.clear()
    ruler.add_patterns(attribute_patterns(words))
    nlp.meta.update(
        name="embedded",
        version=VERSION,
        description="Tags, parts of speech, lemmas and ClearNLP dependencies for ERRANT edits",
        license="CC BY-SA 4.0",
        spacy_version=">=3.8.0,<3.9.0",
        sources=[{"name": "English Web Treebank"}, {"name": "WordNet 3.0"}],
    )
    nlp.meta["training"] = fingerprint
    if output.exists():
        shutil.rmtree(output)
    nlp.to_disk(output, exclude=["vocab"])
    text = json.dumps(words, separators=(",", ":"))
    (output / "words.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
