"""Models of two layers for tests, built on demand: no download, no packaged weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

WORDS = (
    "the a an cat dog child book school house teacher apple old big red good he she they it we",
    "is are was were goes go went eat eats has have like likes to in on of . , ? not very",
    "yesterday",
)
WORDS = tuple(word for line in WORDS for word in line.split())


def tokenizer() -> Any:
    """A word-level tokenizer that spells unknown words in letters."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *letters]
    vocabulary += [f"##{letter}" for letter in letters]
    table = {word: number for number, word in enumerate(dict.fromkeys(vocabulary))}
    inner = Tokenizer(models.WordPiece(table, unk_token="[UNK]"))
    inner.normalizer = normalizers.Lowercase()
    inner.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", table["[CLS]"]), ("[SEP]", table["[SEP]"])],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip


def encoder(folder: Path, seed: int = 0, outputs: int = 0, dropout: float = 0.1) -> Path:
    """A random BERT of 2 layers × 32; with `outputs`, one with a classification head."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification, BertModel

    torch.manual_seed(seed)
    words = tokenizer()
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=64, num_labels=outputs or 2,
        hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout,
    )  # fmt: skip
    model = BertForSequenceClassification(config) if outputs else BertModel(config)
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def encoder_of(kind: str, folder: Path, seed: int = 0) -> Path:
    """A random encoder of 2 layers × 32 of another architecture: `bert`, `mpnet`, `roberta`, ..."""
    import torch
    from transformers import AutoConfig, AutoModel

    torch.manual_seed(seed)
    words = tokenizer()
    words.model_input_names = ["input_ids", "attention_mask"]
    sizes = {
        "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 64,
    }  # fmt: skip
    if kind == "distilbert":
        sizes = {"dim": 32, "n_layers": 2, "n_heads": 4, "hidden_dim": 64}
    config = AutoConfig.for_model(
        kind, vocab_size=len(words), max_position_embeddings=64, pad_token_id=0, **sizes
    )
    AutoModel.from_config(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def language_model(folder: Path, seed: int = 0) -> Path:
    """A random GPT-2 of 2 layers × 32."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(seed)
    words = tokenizer()
    words.bos_token = words.eos_token = "[CLS]"
    words.backend_tokenizer.post_processor = None
    config = GPT2Config(
        vocab_size=len(words), n_positions=64, n_embd=32, n_layer=2, n_head=4,
        bos_token_id=2, eos_token_id=2,
    )  # fmt: skip
    GPT2LMHeadModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def sentences(count: int, seed: int = 0) -> list[str]:
    """Random sentences of 3 to 9 words."""
    rng = np.random.default_rng(seed)
    return [" ".join(rng.choice(WORDS, rng.integers(3, 10))) for _ in range(count)]


COLUMNS = [
    word
    for pair in ("source=src", "output=hyp", "grammaticality=g", "fluency=f", "meaning=m")
    for word in ("--column", pair)
]


def ratings(path: Path, count: int = 120) -> Path:
    """Write random ratings as a table with the columns of `COLUMNS`."""
    rng = np.random.default_rng(0)
    sources, outputs = sentences(count), sentences(count, 1)
    rows = ["src\thyp\tg\tf\tm"]
    rows += [
        "\t".join([s, h, *map(str, rng.integers(1, 5, 3))])
        for s, h in zip(sources, outputs, strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


def character_encoder(folder: Path, letters: str, seed: int = 0) -> Path:
    """A random BERT of 2 layers × 32 that reads single letters unchanged, such as Japanese."""
    import torch
    from tokenizers import Regex, Tokenizer, models, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    torch.manual_seed(seed)
    table = {
        t: n for n, t in enumerate(dict.fromkeys(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters]))
    }
    inner = Tokenizer(models.WordLevel(table, unk_token="[UNK]"))
    inner.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    inner.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    words = PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]",
        sep_token="[SEP]", model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    )  # fmt: skip
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
        intermediate_size=64, max_position_embeddings=64,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


KANA = "かきくけこがぎぐげごさしすせそのはをに日本語私先生。、"


def japanese(count: int, seed: int = 0) -> list[str]:
    """Random lines of 4 to 12 Japanese letters, without blanks."""
    rng = np.random.default_rng(seed)
    return ["".join(rng.choice(list(KANA), rng.integers(4, 13))) for _ in range(count)]


def qualities(path: Path, count: int = 60) -> Path:
    """Write corrections with quality ratings by three raters, in the format of autoJQE."""
    rng = np.random.default_rng(0)
    rows = ["原文\t訂正\t個別評価\t評価"]
    for number, source in enumerate(japanese(count // 2)):
        for output in (source, japanese(1, 1000 + number)[0]):
            ratings = rng.integers(1, 5, 3)
            cell = ",".join(map(str, ratings))
            rows.append(f'{source}\t{output}\t"{cell}"\t{ratings.mean()}')
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path
