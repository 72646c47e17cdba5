"""SOME, IMPARA and Scribendi beside gec-metrics on one random checkpoint: scores and time.

    python benchmarks/refless_speed.py ours FOLDER [--data DIR] [--layers 2]   # makes and scores
    PEER/python benchmarks/refless_speed.py peer FOLDER                        # gec-metrics 0.1.1
    python benchmarks/refless_speed.py report FOLDER

The peer needs gec-metrics in its own environment; its SOME calls `.cuda()` on a machine without
one, so the call is made to do nothing. Both use one thread, batches of 32, and the CPU. The texts
are the 15 systems of SEEDA.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

METRICS = ("some", "impara", "scribendi")


def ours(folder: Path, data: str | None, hidden: int, layers: int) -> None:
    import torch

    from gecjury import load
    from gecjury.benchmarks.load import load_benchmark
    from gecjury.runtime import Runtime

    torch.set_num_threads(1)
    corpus = load_benchmark("seeda", systems="all", data=data).corpus
    make_models(folder, corpus.sources, hidden, layers)
    texts = {
        "sources": corpus.sources,
        "systems": {name: version.lines for name, version in corpus.systems.items()},
    }
    (folder / "texts.json").write_text(json.dumps(texts))
    scorers = {
        "some": load("some", model=str(folder / "some")),
        "impara": load("impara", model=str(folder / "ranker"), encoder=str(folder / "encoder")),
        "scribendi": load("scribendi", model=str(folder / "language")),
    }
    runtime = Runtime(device="cpu", batch_size=32)
    found: dict[str, Any] = {}
    for name, scorer in scorers.items():
        start = time.process_time()
        table = scorer.score_corpus(corpus, runtime)
        found[name] = {
            "seconds": time.process_time() - start,
            "scores": table.sentences.tolist(),
        }
    (folder / "ours.json").write_text(json.dumps(found))


def make_models(folder: Path, sentences: tuple[str, ...], hidden: int, layers: int) -> None:
    """Random models with a word-piece vocabulary learnt from the sentences."""
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
    # Like GPT-2's, the language model's pieces keep blanks and case.
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


def peer(folder: Path) -> None:
    import torch
    from gec_metrics.metrics import IMPARA, SOME, Scribendi

    torch.set_num_threads(1)
    torch.nn.Module.cuda = lambda self, device=None: self  # type: ignore[method-assign]  # the peer calls .cuda() regardless
    texts = json.loads((folder / "texts.json").read_text())
    some, ranker = str(folder / "some"), str(folder / "ranker")
    metrics = {
        "some": lambda: SOME(SOME.Config(
            model_g=f"{some}/grammer", model_f=f"{some}/fluency", model_m=f"{some}/meaning",
            no_cuda=True)),
        "impara": lambda: IMPARA(IMPARA.Config(
            model_qe=ranker, model_se=str(folder / "encoder"), no_cuda=True)),
        "scribendi": lambda: Scribendi(Scribendi.Config(
            model=str(folder / "language"), no_cuda=True)),
    }  # fmt: skip
    found: dict[str, Any] = {}
    for name, build in metrics.items():
        start = time.process_time()
        metric = build()
        scores = [metric.score_sentence(texts["sources"], h) for h in texts["systems"].values()]
        found[name] = {"seconds": time.process_time() - start, "scores": scores}
    (folder / "peer.json").write_text(json.dumps(found))


def report(folder: Path) -> None:
    import numpy as np

    first, second = (json.loads((folder / f"{n}.json").read_text()) for n in ("ours", "peer"))
    for name in METRICS:
        a, b = np.array(first[name]["scores"]), np.array(second[name]["scores"])
        quick, slow = first[name]["seconds"], second[name]["seconds"]
        print(
            f"{name}: {a.size} scores, largest difference {np.abs(a - b).max():.1e}; "
            f"{quick:.1f} s and {slow:.1f} s of processor time, {slow / quick:.1f} times as fast"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("step", choices=("ours", "peer", "report"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--data")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--layers", type=int, default=2)
    args = parser.parse_args()
    if args.step == "ours":
        ours(args.folder, args.data, args.hidden, args.layers)
    elif args.step == "peer":
        peer(args.folder)
    else:
        report(args.folder)


if __name__ == "__main__":
    main()
