"""Fixtures shared by all tests."""

from __future__ import annotations

import gc
import os
import re
import sys
from functools import cache
from pathlib import Path

import hypothesis
import pytest

# Otherwise each of two processes starts a thread for every core, and threads that wait for one
# another keep the cores busy, for half of the suite's time. Commands that tests start inherit this.
for _library in ("OMP", "OPENBLAS", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# Keep argparse from searching the disk for translations for each of thousands of parsers.
os.environ.setdefault("LANGUAGE", "C")

# What tests write need not survive a loss of power, for which each file would wait for the disk.
os.fsync = lambda file: None

# No deadline, since a slow example on a busy machine is not a failure of the tested code.
hypothesis.settings.register_profile("quick", deadline=None, max_examples=25)
hypothesis.settings.register_profile("thorough", deadline=None, max_examples=400)
hypothesis.settings.load_profile("quick")  # `make test-slow` selects the other one

_REPOSITORY = Path(__file__).resolve().parent.parent


@pytest.fixture(autouse=True)
def _no_width(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the width of the terminal, which would change the layout of tables."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Return the folder with the real benchmarks, or skip the test if it is absent."""
    named = os.environ.get("GECJURY_DATA")
    folder = Path(named) if named else _REPOSITORY.parent / "shared" / "data"
    if not (folder / "SEEDA").is_dir():
        pytest.skip("the real benchmark data is not installed: set GECJURY_DATA to run this test")
    return folder


_WORDS = (
    "the a cat cats dog dogs sit sits sat on mat mats in house . , she he they go goes went home "
    "yesterday big very is are was were it this that"
)


def _make_bert(folder: Path, seed: int, layers: int = 3) -> Path:
    """Save a BERT of `layers` layers with random weights and a vocabulary of a few words."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    folder.mkdir(parents=True)
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *_WORDS.split()]
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    config = transformers.BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=16,
        num_hidden_layers=layers,
        num_attention_heads=2,
        intermediate_size=24,
        max_position_embeddings=40,
        initializer_range=0.3,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.BertModel(config).save_pretrained(folder)
    # Loaded by the model type, since the arguments of tokenizer classes differ between releases.
    tokenizer = transformers.AutoTokenizer.from_pretrained(
        folder, model_max_length=32, do_lower_case=True
    )
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny random BERT."""
    return _make_bert(tmp_path_factory.mktemp("models") / "tiny-bert", seed=1)


def _make_bart(folder: Path, seed: int) -> Path:
    """A BART with two encoder and two decoder layers, random weights and a word-level tokenizer."""
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    tokenizers = pytest.importorskip("tokenizers")
    vocabulary = {w: n for n, w in enumerate(["<s>", "<pad>", "</s>", "<unk>", *_WORDS.split()])}
    core = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="<unk>"))
    core.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    core.post_processor = tokenizers.processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    transformers.PreTrainedTokenizerFast(
        tokenizer_object=core,
        bos_token="<s>",
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=24,
    ).save_pretrained(folder)
    config = transformers.BartConfig(
        vocab_size=len(vocabulary),
        d_model=16,
        encoder_layers=2,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=24,
        decoder_ffn_dim=24,
        max_position_embeddings=32,
        init_std=0.4,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        transformers.BartForConditionalGeneration(config).save_pretrained(folder)
    return folder


def pytest_collection() -> None:
    """Disable garbage collection while thousands of tests are collected."""
    gc.disable()


_NETWORKS = re.compile(
    r"(import|importorskip).*\b(torch|transformers|tiny|tinymodel)\b|tiny_bert|=embedded"
)


@cache
def _needs_networks(path: Path) -> bool:
    return bool(_NETWORKS.search(path.read_text(encoding="utf-8")))


@pytest.hookimpl(trylast=True)  # after deselection
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests with networks where the second of two processes begins.

    It then loads torch and transformers alone: it gives tests to the first one from its end.
    """
    networks = [item for item in items if _needs_networks(item.path)]
    others = [item for item in items if not _needs_networks(item.path)]
    half = len(items) // 2
    items[:] = [*others[:half], *networks, *others[half:]]


def _freeze() -> None:
    """Exclude from garbage collection what has been made so far."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_collection_finish() -> None:
    """Exclude the collected tests from garbage collection while tests run."""
    _freeze()


_imported = len(sys.modules)


def pytest_runtest_logfinish() -> None:
    """Exclude what a test imported, since accelerate collects garbage at every training."""
    global _imported
    if len(sys.modules) > _imported + 100:
        _freeze()
        _imported = len(sys.modules)
