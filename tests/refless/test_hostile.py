"""Untrusted model folders: nothing outside them is read, and none of their code is run."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from gecjury import load
from gecjury.core.errors import GecjuryError, InputError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.models.checkpoints import inside, resolve
from gecjury.models.origin import KEYS_FILE, MANIFEST
from gecjury.refless.nets.bundle import open_bundle
from gecjury.refless.nets.features import SENTENCE_FEATURES
from gecjury.refless.nets.manifest import BUNDLE_FORMAT, IMPARA_FORMAT
from tests import tiny

pytestmark = pytest.mark.security

CORPUS = Corpus(("I likes cats .",), {"a": Version(("I like cats .",))})


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """A model outside the folders that the tests open."""
    return tiny.encoder(tmp_path / "outside", outputs=1)


def manifest(folder: Path, path: str, **more: object) -> Path:
    folder.mkdir(exist_ok=True)
    member = {"path": path, "aspects": ["fluency"]}
    record = {"format": BUNDLE_FORMAT, "max_length": 32, "scale": [1, 4], "members": [member]}
    (folder / MANIFEST).write_text(json.dumps(record | more))
    return folder


def test_a_member_inside_is_read(tmp_path: Path, outside: Path) -> None:
    folder = manifest(tmp_path / "some", "fluency")
    shutil.copytree(outside, folder / "fluency")
    assert open_bundle(str(folder)).aspects == ("fluency",)


@pytest.mark.parametrize("path", ["../outside", "fluency/../../outside", "ABSOLUTE", "a\0b"])
def test_a_member_outside_is_refused(tmp_path: Path, outside: Path, path: str) -> None:
    path = str(outside) if path == "ABSOLUTE" else path
    folder = manifest(tmp_path / "some", path)
    (folder / "fluency").mkdir()
    with pytest.raises(InputError, match=r"some: names .* as a part of itself, which is outside"):
        open_bundle(str(folder))


@pytest.mark.parametrize("linked", ["fluency", "fluency/model.safetensors", KEYS_FILE, MANIFEST])
def test_a_link_that_leads_outside_is_refused(tmp_path: Path, outside: Path, linked: str) -> None:
    folder = manifest(tmp_path / "some", "fluency")
    if linked == "fluency":
        (folder / linked).symlink_to(outside)
    else:
        shutil.copytree(outside, folder / "fluency")
        target = tmp_path / "other"
        if (folder / linked).exists():
            (folder / linked).rename(target)
        else:
            target.write_text("0\n")
        (folder / linked).symlink_to(target)
    with pytest.raises(InputError, match=rf"{linked}: is a link that leads out of"):
        open_bundle(str(folder))


@pytest.mark.parametrize("name", ["grammer", "fluency", "meaning"])
def test_links_outside_for_aspects_without_a_manifest_are_refused(
    tmp_path: Path, outside: Path, name: str
) -> None:
    (tmp_path / "some").mkdir()
    (tmp_path / "some" / name).symlink_to(outside)
    with pytest.raises(InputError, match=rf"{name}: is a link that leads out of"):
        open_bundle(str(tmp_path / "some"))


def test_links_inside_a_folder_and_in_the_hub_cache_are_followed(
    tmp_path: Path, outside: Path
) -> None:
    model = tmp_path / "models--a--b"
    (model / "snapshots" / "0123").mkdir(parents=True)
    (model / "blobs").mkdir()
    (model / "blobs" / "x").write_text("x")
    (model / "snapshots" / "0123" / "x").symlink_to("../../blobs/x")
    (model / "snapshots" / "0123" / "y").symlink_to("x")
    assert inside(model / "snapshots" / "0123", "x").read_text() == "x"
    assert inside(model / "snapshots" / "0123", ".").is_dir()
    (model / "snapshots" / "0123" / "z").symlink_to(outside)
    with pytest.raises(InputError, match="leads out of"):
        inside(model / "snapshots" / "0123", "z")


@pytest.mark.parametrize("place", ["encoder", "base"])
@pytest.mark.parametrize("name", ["../outside", "ABSOLUTE"])
def test_an_encoder_outside_is_refused(
    tmp_path: Path, outside: Path, place: str, name: str
) -> None:
    name = str(outside) if name == "ABSOLUTE" else name
    kernel = {"aspects": [], "encoder": "embedded", "base": "embedded", "paired": False}
    folder = manifest(tmp_path / "some", ".", kernel=kernel | {place: name}, members=[])
    with pytest.raises(InputError, match="which is outside"):
        load("some", model=str(folder)).extra_signature(Runtime())


@pytest.mark.parametrize("metric", ["some", "impara"])
def test_no_code_of_a_folder_is_run_and_the_user_is_not_asked(
    tmp_path: Path, outside: Path, metric: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    proof = tmp_path / "ran"
    folder = tmp_path / "some" / "fluency"
    shutil.copytree(outside, folder)
    (folder / "evil.py").write_text(f"open({str(proof)!r}, 'w')\n")
    for name in ("config.json", "tokenizer_config.json"):
        record = json.loads((folder / name).read_text())
        classes = ("AutoConfig", "AutoModel", "AutoModelForSequenceClassification", "AutoTokenizer")
        record |= {"model_type": "evil", "auto_map": dict.fromkeys(classes, "evil.Evil")}
        (folder / name).write_text(json.dumps(record))

    def ask(*words: object) -> str:
        raise AssertionError(f"asked on the terminal: {words}")

    monkeypatch.setattr("builtins.input", ask)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True, raising=False)
    where = folder if metric == "impara" else folder.parent
    with pytest.raises(GecjuryError):
        load(metric, model=str(where), **({"encoder": "embedded"} if metric == "impara" else {})
             ).score_corpus(CORPUS, Runtime(cache=tmp_path / "cache"))  # fmt: skip
    assert not proof.exists()


def linear(**changes: object) -> dict[str, object]:
    parts = dict.fromkeys(("mean", "deviation", "weights"), [1.0] * len(SENTENCE_FEATURES))
    return {"features": {"fluency": parts | changes}}


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"scale": [4, 1]}, r"scale is \(4.0, 1.0\)"),
        ({"scale": [1, float("nan")]}, "scale is"),
        ({"scale": 3}, "scale is 3; expected a list"),
        ({"max_length": 10**400}, "max_length is 1000"),
        ({"max_length": -3}, "max_length is -3"),
        ({"members": []}, "no member"),
        ({"members": 3}, "members is 3; expected a list"),
        ({"members": [{"path": 3, "aspects": []}]}, r"members\[0\]\.path is 3; expected a text"),
        ({"members": [{"path": ".", "aspects": ["style"]}]}, "aspects are style"),
        (
            {"members": [{"path": ".", "aspects": ["quality", "fluency"]}]},
            "aspects are fluency, quality",
        ),
        ({"features": [1]}, r"features is \[1\]; expected an object"),
        (linear(weights=[[1.0]]), "expected a number"),
        (linear(mean=[1.0], deviation=[1.0], weights=[1.0]), "1 feature weights for fluency"),
        (linear(mean=[1.0]), "features are not"),
        (linear(mean=[float("nan")] * len(SENTENCE_FEATURES)), "features are not"),
        (linear(deviation=[0.0] * len(SENTENCE_FEATURES)), "has no deviation"),
        ({"kernel": 3, "members": []}, "kernel is 3; expected an object or null"),
    ],
)
def test_a_changed_manifest_is_refused(tmp_path: Path, more: dict[str, object], said: str) -> None:
    folder = manifest(tmp_path / "some", "fluency", **more)
    with pytest.raises(InputError, match=said):
        open_bundle(str(folder))


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000 + "]" * 100_000, "[1]", "3", "", '"\\ud800"', '"gecjury-impara/1"'],
)
@pytest.mark.parametrize("metric", ["some", "impara"])
def test_an_invalid_manifest_is_refused(tmp_path: Path, metric: str, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text)
    with pytest.raises(InputError, match=MANIFEST):
        load(metric, model=str(tmp_path)).score_corpus(CORPUS, Runtime(device="cpu"))


def impara(folder: Path, encoder: object) -> Path:
    tiny.encoder(folder, outputs=1)
    (folder / MANIFEST).write_text(json.dumps({"format": IMPARA_FORMAT, "encoder": encoder}))
    return folder


def test_an_encoder_within_the_model_is_read(tmp_path: Path) -> None:
    folder = impara(tmp_path / "model", "encoder")
    tiny.encoder(folder / "encoder")
    runtime = Runtime(device="cpu", use_cache=False)
    table = load("impara", model=str(folder)).score_corpus(CORPUS, runtime)
    assert not table.statistics.notes


@pytest.mark.parametrize("encoder", ["ABSOLUTE", "../outside", "./x/../../outside", "outside"])
def test_an_encoder_elsewhere_must_be_named_by_the_user(
    tmp_path: Path, outside: Path, monkeypatch: pytest.MonkeyPatch, encoder: str
) -> None:
    # The last one could be a name on the hub, but a folder of that name exists here.
    monkeypatch.chdir(tmp_path)
    folder = impara(tmp_path / "model", str(outside) if encoder == "ABSOLUTE" else encoder)
    runtime = Runtime(device="cpu", use_cache=False)
    with pytest.raises(InputError, match="which is not in the folder; name the encoder yourself"):
        load("impara", model=str(folder)).score_corpus(CORPUS, runtime)
    chosen = load("impara", model=str(folder), encoder=str(outside))
    assert chosen.score_corpus(CORPUS, runtime).sentences.shape == (1, 1)


def test_an_encoder_from_the_hub_is_noted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = impara(tmp_path / "model", "someone/encoder")
    runtime = Runtime(device="cpu", use_cache=False)
    # Tests download nothing: the lookup of the name is replaced by a local encoder.
    encoder = resolve(str(tiny.encoder(tmp_path / "fetched")))
    monkeypatch.setattr("gecjury.models.checkpoints._from_hub", lambda *_: encoder)
    table = load("impara", model=str(folder)).score_corpus(CORPUS, runtime)
    assert "names its encoder: someone/encoder of the Hugging Face hub" in table.statistics.notes[0]


def test_nan_weights_are_refused(tmp_path: Path) -> None:
    from safetensors.numpy import load_file, save_file

    folder = manifest(tmp_path / "some", "fluency")
    path = tiny.encoder(folder / "fluency", outputs=1) / "model.safetensors"
    save_file({n: values * np.float32("nan") for n, values in load_file(path).items()}, path,
              metadata={"format": "pt"})  # fmt: skip
    bundle = open_bundle(str(folder))
    with pytest.raises(InputError, match="of fluency gives no finite number for 'I like cats"):
        bundle.predict(["I like cats ."], ([], []), Runtime(device="cpu"))
