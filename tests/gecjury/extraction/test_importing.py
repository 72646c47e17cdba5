"""spaCy imported without torch, which it can still use later, and without foreign extensions."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("spacy")

from gecjury.extraction.tagger.importing import no_entry_points

REPOSITORY = Path(__file__).resolve().parents[3]


def run(code: str) -> None:
    """Run code in a new process, in which nothing is imported yet."""
    done = subprocess.run(
        [sys.executable, "-W", "error::ImportWarning", "-c", code],
        env=os.environ | {"PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_edits_load_no_torch_and_a_pipeline_may_use_it_later() -> None:
    pytest.importorskip("errant")
    pytest.importorskip("torch")
    run("""
import sys
from gecjury.extraction.pipeline import errant_extractor
from gecjury.extraction.tagger import checked_spacy, load_tagger

pair = ("He go home .", "He goes home .")
((_, found),) = errant_extractor(load_tagger()).extract([pair])
assert found.edits[0].type == "R:VERB:SVA", found
assert not {"torch", "transformers", "scipy", "pandas"} & set(sys.modules)
checked_spacy(torch=True)
import numpy, torch
from thinc.api import PyTorchWrapper
layer = torch.nn.Linear(3, 2)
assert PyTorchWrapper(layer).predict(numpy.ones((4, 3), dtype="float32")).shape == (4, 2)
""")


@pytest.mark.security
def test_entry_points_are_hidden_only_temporarily() -> None:
    import catalogue

    def found() -> int:
        return len(catalogue.AVAILABLE_ENTRY_POINTS.select(group="console_scripts"))

    count = found()
    assert count
    with no_entry_points():
        assert found() == 0
    assert found() == count
