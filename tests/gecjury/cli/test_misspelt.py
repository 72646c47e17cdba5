"""A misspelt name is reported before a missing package: nobody should install one for nothing."""

from __future__ import annotations

import sys

import pytest

from gecjury.models.checkpoints import check_name
from tests.shell import Shell

HEAVY = ("torch", "transformers", "huggingface_hub", "vllm", "bert_score", "ot")
SCORE = ("score", "source.txt", "mine.txt", "-r", "ref.txt", "-m")
NEAR = "no such folder, and not a name on the Hugging Face hub (owner/name); did you mean "


@pytest.fixture
def barred(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A command line without packages that run models, in a folder with three models."""
    for package in HEAVY:
        monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.chdir(shell.folder)
    for folder in ("my-some", "lm-base", "models/my-rank", "people"):
        (shell.folder / folder).mkdir(parents=True)
    return shell


@pytest.mark.parametrize(
    ("metric", "message"),
    [
        ("some:model=my-sme", f"model 'my-sme': {NEAR}my-some?"),
        ("some:model=./my-sme", f"model './my-sme': {NEAR}my-some?"),
        ("impara:model=models/my-rnk", "no such folder; did you mean my-rank in models?"),
        ("impara:model=models/my-rnk,threshold=none", "did you mean my-rank in models?"),
        ("impara:model=models/my-rank,encoder=lm-bse", f"{NEAR}lm-base?"),
        ("scribendi:model=lm-bse", f"{NEAR}lm-base?"),
        ("asano:model=my-sme", f"{NEAR}my-some?"),
        ("asano:model=my-some,language_model=lm-bse", f"{NEAR}lm-base?"),
        ("uot-errant:encoder=lm-bse", f"{NEAR}lm-base?"),
        ("pt-errant:model=lm-bse", f"{NEAR}lm-base?"),
        ("pt-m2:model=lm-bse", f"{NEAR}lm-base?"),
        ("llm-s:backend=vllm,model=lm-bse", f"{NEAR}lm-base?"),
        ("some:modle=my-some", "some has no option 'modle': did you mean model?"),
        ("llm-s:backend=vllm,modle=lm-base", "llm-s has no option 'modle': did you mean model?"),
    ],
)
def test_a_misspelt_model_or_option_of_a_metric(barred: Shell, metric: str, message: str) -> None:
    _, err = barred.ended(*SCORE, metric, status=2)
    assert message in err
    assert "not installed" not in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("compare", "smple", "-m", "some:model=my-some"), "did you mean sample?"),
        (("compare", "pepole", "-m", "some:model=my-some"), "did you mean people?"),
        (("compare", "./pepole", "-m", "green"), "did you mean people?"),
        (("tune", "some:model=my-sme", "sample"), f"{NEAR}my-some?"),
        (("train", "some", "r.tsv", "-o", "x", "--encoder", "lm-bse"), f"{NEAR}lm-base?"),
        (("train", "judge", "r.tsv", "-o", "x", "--model", "lm-bse"), f"{NEAR}lm-base?"),
    ],
)
def test_a_misspelt_name_of_a_command(barred: Shell, words: tuple[str, ...], message: str) -> None:
    barred.write("r.tsv", "source\toutput\tquality\na\tb\t1\n")
    _, err = barred.ended(*words, status=2)
    assert message in err
    assert "not installed" not in err


def test_names_of_the_hub_are_left_to_the_hub(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(shell.folder)
    (shell.folder / "owner" / "a-model").mkdir(parents=True)
    for name in ("owner/b-model", "owner/c", "bert-base-cased", "gpt2", "embedded"):
        check_name(name)
    # Without packages the error says that there is no such folder.
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    _, err = shell.ended(*SCORE, "some:model=somebody/some", status=2)
    assert "model somebody/some: no such folder; a model of the Hugging Face hub needs" in err
