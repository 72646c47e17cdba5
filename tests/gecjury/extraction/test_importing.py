"""spaCy imported without torch and its command line, which still work when used later."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest

pytest.importorskip("spacy")

from gecjury.extraction import tagger
from gecjury.extraction.tagger import importing, load_tagger
from gecjury.extraction.tagger.importing import needs_torch, no_entry_points

REPOSITORY = Path(__file__).resolve().parents[3]
MODEL = Path(tagger.__file__).parent / "model"
T = TypeVar("T")

# The parts of torch that thinc uses.
TORCH = {
    "__init__.py": """\
from types import SimpleNamespace
__version__ = "2.9"
class Tensor:
    pass
is_tensor = lambda value: isinstance(value, Tensor)
from . import utils
common = SimpleNamespace(amp_definitely_not_available=lambda: False)
cuda = SimpleNamespace(device_count=lambda: 0, amp=SimpleNamespace(common=common))
backends = SimpleNamespace()
""",
    "utils/__init__.py": "",
    "utils/dlpack.py": "",
}
# Code for a new process, in which nothing is imported yet.
EXTRACTION = """
import sys
from gecjury.extraction.tagger import load_tagger
from gecjury.extraction.pipeline import errant_extractor

{first}
edits = list(errant_extractor(load_tagger()).extract([("He go home .", "He goes home .")]))
assert edits[0][1].edits[0].type == "R:VERB:SVA", edits
heavy = {{"torch", "transformers", "scipy", "pandas", "rich", "typer", "requests", "weasel"}}
found = heavy & set(sys.modules)
assert found == set([{loaded}]), found
{then}
"""
LATER = """
import importlib.util
# Looked for and not imported, as transformers does it.
assert importlib.util.find_spec("torch") is not None
import torch
import thinc.api, thinc.compat, thinc.util, thinc.shims.pytorch
assert torch.is_tensor(torch.Tensor()) and torch.__spec__.loader is torch.__loader__
for module in (thinc.compat, thinc.util, thinc.shims.pytorch, thinc.layers.pytorchwrapper):
    assert module.torch is torch, module
assert thinc.compat.has_torch and thinc.util.has_torch and thinc.compat.has_torch_amp
assert thinc.util.is_torch_array(torch.Tensor())
assert not any(type(each).__module__.startswith("gecjury") for each in sys.meta_path)

import spacy
from spacy import info
assert callable(spacy.cli.download) and "weasel" in sys.modules
assert info(silent=True)["spacy_version"] == spacy.__version__
try:
    spacy.nothing_like_it
except AttributeError as error:
    assert "nothing_like_it" in str(error)
else:
    raise AssertionError
"""


def run(code: str, *paths: Path) -> None:
    """Run code in a new process, with additional import paths."""
    path = os.pathsep.join(map(str, (*paths, REPOSITORY)))
    done = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", code],
        env=os.environ | {"PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def elsewhere(call: Callable[[], T]) -> T:
    """Return the result of a call made in another thread."""
    results: list[T] = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    return results[0]


def write_torch(folder: Path) -> Path:
    for name, text in TORCH.items():
        path = folder / "torch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


@pytest.mark.slow
def test_edits_load_nothing_heavy_and_torch_may_come_later(tmp_path: Path) -> None:
    pytest.importorskip("errant")
    run(EXTRACTION.format(first="", loaded="", then=LATER), write_torch(tmp_path))


def test_torch_imported_first_is_known_to_thinc(tmp_path: Path) -> None:
    pytest.importorskip("errant")
    then = "import thinc.util\nassert thinc.util.torch is torch and thinc.util.has_torch"
    run(EXTRACTION.format(first="import torch", loaded='"torch"', then=then), write_torch(tmp_path))


@pytest.mark.slow
def test_thinc_runs_torch_networks_after_extraction() -> None:
    pytest.importorskip("torch")
    then = """
import torch, numpy
from thinc.api import PyTorchWrapper
layer = torch.nn.Linear(3, 2)
made = PyTorchWrapper(layer).predict(numpy.ones((4, 3), dtype="float32"))
assert made.shape == (4, 2)
"""
    run(EXTRACTION.format(first="", loaded="", then=then))


def test_torch_is_hidden_only_temporarily_and_from_one_thread() -> None:
    finder = importing._Torch()
    spec = elsewhere(lambda: finder.find_spec("torch", None))
    with finder.here():
        assert finder in sys.meta_path
        with pytest.raises(ModuleNotFoundError, match="torch"):
            finder.find_spec("torch", None)
        assert finder.find_spec("json", None) is None
        assert (elsewhere(lambda: finder.find_spec("torch", None)) is None) == (spec is None)
    assert (finder.find_spec("torch", None) is None) == (spec is None)
    sys.meta_path.remove(finder)
    with pytest.raises(KeyError), finder.here():
        raise KeyError
    assert finder not in sys.meta_path


@pytest.mark.parametrize("present", ["thinc", "torch"])
def test_nothing_is_hidden_if_thinc_or_torch_was_imported_first(
    present: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("thinc", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert importing._may_be_hidden()
    monkeypatch.setitem(sys.modules, present, sys)
    assert not importing._may_be_hidden()


def test_nothing_is_hidden_where_spacy_may_run_on_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("thinc", "torch"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: sys if name == "cupy" else None)
    assert not importing._may_be_hidden()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr(sys, "platform", "darwin")
    assert not importing._may_be_hidden()


PLAIN = """\
[nlp]
lang = "en"
tokenizer = {"@tokenizers":"spacy.Tokenizer.v1"}

[components.tagger]
factory = "tagger"

[components.tagger.model]
@architectures = "spacy.Tagger.v2"

[training.optimizer]
@optimizers = "Adam.v1"
"""


@pytest.mark.parametrize(
    ("old", "new", "needed"),
    [
        ("", "", False),
        ("spacy.Tagger.v2", "spacy-transformers.Tagger.v1", True),
        ("spacy.Tagger.v2", "spacy.TorchBiLSTMEncoder.v1", True),
        ("spacy.Tokenizer.v1", "theirs.Tokenizer.v1", True),
        ('"tagger"', '"curated_transformer"', True),
        ('"tagger"', "tagger", True),
    ],
)
def test_a_named_pipeline_says_whether_it_needs_torch(
    old: str, new: str, needed: bool, tmp_path: Path
) -> None:
    (tmp_path / "config.cfg").write_text(PLAIN.replace(old, new) if old else PLAIN, "utf-8")
    assert needs_torch(str(tmp_path)) == needed


def test_a_pipeline_that_is_not_understood_may_need_torch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not needs_torch(str(MODEL))
    for name in (str(tmp_path), "no_such_package_at_all", "no.such.package", "", "json"):
        assert needs_torch(name), name
    package = tmp_path / "en_test_only"
    (package / "en_test_only-1.0").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "en_test_only-1.0" / "config.cfg").write_text(PLAIN, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    assert not needs_torch("en_test_only")


@pytest.mark.security
def test_entry_points_are_hidden_only_temporarily_and_from_one_thread() -> None:
    import catalogue

    def found() -> int:
        return len(catalogue.AVAILABLE_ENTRY_POINTS.select(group="console_scripts"))

    count = found()
    assert count
    with no_entry_points():
        assert found() == 0
        assert elsewhere(found) == count
    assert found() == count


@pytest.mark.slow
def test_text_is_tokenised_by_the_rules_of_the_model(tmp_path: Path) -> None:
    import spacy

    def words(nlp: Any) -> list[str]:
        return [token.text for token in nlp("I don't know (e.g. Mr. Smith's).")]

    plain = words(spacy.load(MODEL))
    nlp = load_tagger()
    assert type(nlp.tokenizer).__module__.startswith("gecjury")
    assert words(nlp) == plain == words(nlp)
    assert type(nlp.tokenizer).__module__.startswith("spacy")
    # A saved pipeline has spaCy's tokenizer, whether or not it was created before saving.
    load_tagger().to_disk(tmp_path)
    assert "gecjury" not in (tmp_path / "config.cfg").read_text("utf-8")
    assert words(spacy.load(tmp_path)) == plain
