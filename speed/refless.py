"""SOME, IMPARA and Scribendi compared with gec-metrics on one random checkpoint: scores and time.

    python -m speed refless --data DIR --peer-venv DIR

The peer's SOME calls `.cuda()` on machines without CUDA, so the call is replaced by one that does
nothing. Both use one thread, batches of 32, and the CPU. The texts are the 15 systems of SEEDA.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from speed.harness import Claim, Options, faster, needs, peak_memory
from speed.peer import run_in_peer

HIDDEN, LAYERS = 64, 2


_PEER = """
    import time
    from pathlib import Path
    import torch
    from gec_metrics.metrics import IMPARA, SOME, Scribendi

    torch.set_num_threads(1)
    torch.nn.Module.cuda = lambda self, device=None: self  # the peer calls .cuda() regardless
    folder = Path(data["folder"])
    some, ranker = str(folder / "some"), str(folder / "ranker")
    metrics = {
        "some": lambda: SOME(SOME.Config(
            model_g=f"{some}/grammer", model_f=f"{some}/fluency", model_m=f"{some}/meaning",
            no_cuda=True)),
        "impara": lambda: IMPARA(IMPARA.Config(
            model_qe=ranker, model_se=str(folder / "encoder"), no_cuda=True)),
        "scribendi": lambda: Scribendi(Scribendi.Config(
            model=str(folder / "language"), no_cuda=True)),
    }
    result = {}
    for name, build in metrics.items():
        start = time.process_time()
        metric = build()
        scores = [metric.score_sentence(data["sources"], h) for h in data["systems"].values()]
        result[name] = {"seconds": time.process_time() - start, "scores": scores}
"""


def measure(options: Options) -> list[Claim]:
    """Run both sides on the same random models."""
    needs("torch", "transformers", "tokenizers")
    data, venv = str(options.need_data()), options.need_peer()
    import numpy as np
    import torch

    from gecjury import load
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.core.runtime import Runtime
    from gecjury.corpus.corpus import Corpus

    torch.set_num_threads(1)
    corpus = load_benchmark("seeda", systems="all", data=data).corpus
    if options.quick:
        names = corpus.names[:2]
        rows = range(10)
        corpus = Corpus(corpus.sources[:10], {n: corpus.systems[n].take(rows) for n in names})
    claims = []
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        make_models(folder, corpus.sources, HIDDEN, LAYERS)
        texts = {
            "folder": made,
            "sources": corpus.sources,
            "systems": {name: version.lines for name, version in corpus.systems.items()},
        }
        scorers = {
            "some": load("some", model=str(folder / "some")),
            "impara": load("impara", model=str(folder / "ranker"), encoder=str(folder / "encoder")),
            "scribendi": load("scribendi", model=str(folder / "language")),
        }
        runtime = Runtime(device="cpu", batch_size=32, use_cache=False)
        theirs = run_in_peer(venv, _PEER, texts)
        for name, scorer in scorers.items():
            start = time.process_time()
            table = scorer.score_corpus(corpus, runtime)
            seconds = time.process_time() - start
            gap = np.abs(table.sentences - np.array(theirs[name]["scores"])).max()
            claims.append(
                faster(
                    f"{name}, {table.sentences.size} scores, processor seconds",
                    seconds,
                    theirs[name]["seconds"],
                    peak=peak_memory(),
                    lines=(f"largest difference {gap:.1e}",),
                )
            )
    return claims


def make_models(folder: Path, sentences: tuple[str, ...], hidden: int, layers: int) -> None:
    """Create random models with a word-piece vocabulary learnt from the sentences."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
    from transformers import (
        BertConfig,
        BertForSequenceClassification,
        BertModel,
        GPT2Config,
        GPT2LMHeadModel,
        PreTrainedTokenizerFast,
    )

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "<|endoftext|>"]
    inner = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.train_from_iterator(
        sentences, trainers.WordPieceTrainer(vocab_size=4000, special_tokens=special)
    )
    names = ["input_ids", "token_type_ids", "attention_mask"]
    # Like GPT-2's, the language model's word pieces keep blanks and case.
    whole = Tokenizer(models.BPE())
    whole.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    whole.train_from_iterator(
        sentences,
        trainers.BpeTrainer(
            vocab_size=4000,
            special_tokens=special,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )
    causal = PreTrainedTokenizerFast(
        tokenizer_object=whole, bos_token=special[4], eos_token=special[4], pad_token=special[4]
    )
    shape = {"hidden_size": hidden, "num_hidden_layers": layers, "num_attention_heads": 4}
    torch.manual_seed(0)
    places = GPT2Config(
        vocab_size=len(causal), n_embd=hidden, n_layer=layers, n_head=4, n_positions=512,
        bos_token_id=4, eos_token_id=4,
    )  # fmt: skip
    GPT2LMHeadModel(places).save_pretrained(folder / "language")
    causal.save_pretrained(folder / "language")
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    words = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", model_input_names=names,
    )  # fmt: skip
    config = BertConfig(
        vocab_size=len(words), intermediate_size=4 * hidden, num_labels=1, **shape
    )  # fmt: skip
    for place in ("some/grammer", "some/fluency", "some/meaning", "ranker"):
        BertForSequenceClassification(config).save_pretrained(folder / place)
        words.save_pretrained(folder / place)
    BertModel(config).save_pretrained(folder / "encoder")
    words.save_pretrained(folder / "encoder")
