"""Costs of scoring a thousand corrections: seconds of a core and of a GPU, dollars of judges.

    python -m speed costs --data DIR --smollm2 DIR

The corrections are a system's first 1,000 of SEEDA, with the two official references. Every metric
scores them with its default model; networks score every fourth, and their seconds are multiplied by
four. If the default model is not packaged and was not named, a random one of the same size takes
its place, with the word pieces of BERT-base uncased (which the packaged encoder has) or of SmolLM2.
Loading is not measured: other sentences are scored before. If torch sees a GPU, metrics of models
run on it, too, in 32 and in 16 bits, by the clock.

Judges' tokens are counted as by `--dry-run`, for corrections judged alone and for five systems.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from gecjury import corpus_of_texts, load
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.corpus.m2 import read_m2
from gecjury.models.precision import multiplies_bfloat16
from speed.gpu import QUICK
from speed.harness import Claim, Options, checked, needs, timed
from speed.seeda import read_seeda

SYSTEM = "T5"
FIVE = (SYSTEM, "BART", "GECToR-BERT", "PIE", "UEDIN-MS")
SENTENCES, QUICK_SENTENCES = 1_000, 20
BEFORE, BEFORE_TAGGED = 2, 300  # other sentences that are scored before
EVERY = 4  # Networks score every fourth sentence, once,
ROUNDS = 3  # and other metrics all of them, three times.
JUDGES, MODEL = ("llm-s", "llm-e", "edit-verdict", "dsgram", "post-edit"), "gpt-6-luna"

_BASE = {
    "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072,
}  # fmt: skip
_QUICK = {key: value for key, value in QUICK.items() if key != "vocab_size"}
_QUICK_GPT2 = {"n_embd": 64, "n_layer": 2, "n_head": 4}
# Folder of a random model: kind of network, architecture, shape.
_RANDOM: Mapping[str, tuple[str, str, dict[str, Any]]] = {
    "bert": ("", "bert", _BASE),
    "electra": ("", "electra", {**_BASE, "embedding_size": 768}),
    "some/meaning": ("ForSequenceClassification", "bert", {**_BASE, "num_labels": 1}),
    "gpt2": ("ForCausalLM", "gpt2", {}),
}


class _Priced(NamedTuple):
    """A metric to be measured.

    Attributes:
        label: how it is called in the table.
        name: name of the metric.
        settings: its options.
        network: whether it has a model that a GPU can run.
    """

    label: str
    name: str
    settings: Mapping[str, Any]
    network: bool = True


def measure(options: Options) -> list[Claim]:
    """Measure every metric, and count what judges cost."""
    needs("torch", "transformers")
    import torch

    torch.set_num_threads(1)
    corpus = _corpus(options)
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _save_models(folder, options)
        measured = [_measured(priced, corpus, options) for priced in _metrics(folder, options)]
    return [*measured, *_judges(corpus, options)]


def _metrics(folder: Path, options: Options) -> Iterator[_Priced]:
    """Yield every metric that computes something itself; others cost what these cost."""
    for name in (
        "changes", "green", "gleu", "gleu-official", "i-measure", "m2", "sentm2", "errant",
        "sent-errant", "cleme", "cleme2", "gotoscorer",
    ):  # fmt: skip
        yield _Priced(name, name, {}, network=False)
    bert, electra, ranker, gpt2 = (str(folder / name) for name in _RANDOM)
    scored = {"encoder": bert, "layer": 2 if options.quick else 9}
    yield _Priced("pt-errant, BERT-base", "pt-errant", scored)
    yield _Priced("pt-m2, BERT-base", "pt-m2", scored)
    yield _Priced("uot-errant, ELECTRA-base", "uot-errant", {"encoder": electra})
    yield _Priced("uot-errant:encoder=embedded", "uot-errant", {"encoder": "embedded"})
    yield _Priced("some, packaged", "some", {})
    yield _Priced("some, three BERT-base", "some", {"model": str(folder / "some")})
    yield _Priced("impara, two BERT-base", "impara", {"model": ranker, "encoder": bert})
    if options.smollm2 is not None:
        yield _Priced("fluency, SmolLM2-135M", "fluency", {"model": str(options.smollm2)})
        yield _Priced("scribendi, GPT-2", "scribendi", {"model": gpt2})
        both = {"model": str(folder / "some"), "language_model": gpt2}
        yield _Priced("asano, BERT-base and GPT-2", "asano", both)


def _save_models(folder: Path, options: Options) -> None:
    """Save models with random weights, and a SOME of three of them."""
    import torch
    import transformers

    from gecjury.models.checkpoints import resolve

    torch.manual_seed(0)
    pieces = transformers.AutoTokenizer.from_pretrained(resolve("embedded").folder)
    for name, (kind, architecture, shape) in _RANDOM.items():
        causal = architecture == "gpt2"
        if causal and options.smollm2 is None:
            continue
        read = transformers.AutoTokenizer.from_pretrained(options.smollm2) if causal else pieces
        small = {**_QUICK_GPT2, "vocab_size": len(read)} if causal else _QUICK
        smaller = small if options.quick else {}
        config = transformers.AutoConfig.for_model(architecture, **{**shape, **smaller})
        network = getattr(transformers, f"AutoModel{kind}").from_config(config)
        network.save_pretrained(folder / name)
        read.save_pretrained(folder / name)
    for aspect in ("grammaticality", "fluency"):
        (folder / "some" / aspect).symlink_to(folder / "some" / "meaning")


def _corpus(options: Options) -> Corpus:
    """Return SEEDA's sentences with five systems, both references and their gold edits."""
    texts = read_seeda(options, "all")
    path = options.need_data() / "conll14" / "official-2014.combined.m2"
    blocks = {block.source: block for block in read_m2(path)}
    systems = {name: texts.systems[name] for name in FIVE}
    gold = [blocks[source] for source in texts.sources]
    return corpus_of_texts(
        texts.sources, systems, texts.references, gold, tokens="space", fold="none"
    )


def _measured(priced: _Priced, whole: Corpus, options: Options) -> Claim:
    """Return the seconds of a core, and those of a GPU if there is one."""
    import torch

    from gecjury.models.encoder import forget

    # Weights of chunks depend on other systems: those of two are computed, and the time halved.
    systems = FIVE[:2] if priced.name == "gotoscorer" else FIVE[:1]
    count = QUICK_SENTENCES if options.quick else SENTENCES
    whole = replace(whole, systems={name: whole.systems[name] for name in systems})
    step, times = (EVERY if priced.network else 1), (1 if priced.network else ROUNDS)
    if options.quick:
        step, times = 1, 1
    corpus = whole.take(range(0, count, step))
    # Taggers remember words: after so many other sentences, few words are new.
    others = BEFORE if priced.network else BEFORE_TAGGED
    before = whole.take(range(max(count, len(whole) - others), len(whole)))

    def seconds(device: str, dtype: str) -> tuple[float, float]:
        forget()
        scorer = load(
            priced.name, **priced.settings, **({"dtype": dtype} if priced.network else {})
        )
        runtime = Runtime(device=device, use_cache=False)
        scorer.score_corpus(before, runtime)
        # What a network's every call takes, such as the hash of its weights, is no matter of texts.
        start = (
            timed(partial(scorer.score_corpus, before, runtime))[1:] if priced.network else (0, 0)
        )
        rounds = [timed(partial(scorer.score_corpus, corpus, runtime))[1:] for _ in range(times)]
        clock, processor = (
            max(0.0, min(side) - fixed) * step / len(systems)
            for side, fixed in zip(zip(*rounds, strict=True), start, strict=True)
        )
        return clock, processor

    core = seconds("cpu", "float32")[1]
    lines = []
    if priced.network and multiplies_bfloat16():
        lines.append(f"in bfloat16 {seconds('cpu', 'bfloat16')[1]:.3g} s of a core")
    if priced.network and torch.cuda.is_available():
        plain, half = (seconds("cuda", dtype)[0] for dtype in ("float32", "bfloat16"))
        name = torch.cuda.get_device_name()
        lines.append(f"{plain:.3g} s of one {name}, {half:.3g} s in bfloat16")
    return checked(f"{priced.label}: seconds of a core", f"{core:.3g} s", ours=core, lines=lines)


def _judges(whole: Corpus, options: Options) -> Iterator[Claim]:
    """Yield the price of a thousand corrections by the prompts of every judge."""
    whole = whole.take(range(QUICK_SENTENCES if options.quick else SENTENCES))
    for name in JUDGES:
        scorer: Any = load(name, model=MODEL)
        for systems in (FIVE[:1], FIVE):
            corpus = replace(whole, systems={name: whole.systems[name] for name in systems})
            plan = scorer.plan(corpus, Runtime(use_cache=False))
            thousands = len(corpus) * len(systems) / 1_000
            tokens = {key: value / thousands for key, value in plan.tokens.items()}
            least, most = (plan.cost[key] / thousands for key in ("least", "most"))
            yield checked(
                f"{name}, {'alone' if len(systems) == 1 else 'five side by side'}: {MODEL}",
                f"{plan.cost['currency']} {least:.2g} to {most:.2g}",
                lines=(
                    f"{plan.requests / thousands:,.0f} questions, {tokens['input']:,.0f} tokens "
                    f"read, {tokens['output']:,.0f} written, at most "
                    f"{tokens['reasoning_most']:,.0f} of reasoning; prices of "
                    f"{plan.cost['prices']}",
                ),
            )
