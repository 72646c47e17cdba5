"""Signatures: their content, what changes their key, and the round trip through JSON."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

import gecjury
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus, Version
from gecjury.scoring.signature import Signature, package_versions

CORPUS = Corpus(
    ("a b", "c"),
    {"x": Version(("a", "c"))},
    (Version(("a", "d")), Version(("b", "c"))),
    reference_name="official",
)


def green(corpus: Corpus = CORPUS, **settings: object) -> Signature:
    return gecjury.load("green", **settings).signature(corpus)


def test_one_line_contains_all_settings() -> None:
    text = str(green(beta=1.0))
    sources, references = CORPUS.source_print[:8], CORPUS.reference_print[:8]
    assert text == (
        f"green|n=4,unit=word,beta=1.0|v2|refs=official:2|data={sources}+{references}"
        f"|gecjury={gecjury.__version__}"
    )
    # the label is short: it names what is not the default
    assert green(beta=1.0).label == "green:beta=1.0"
    assert green().label == "green"


def test_the_label_loads_the_same_scorer() -> None:
    for name in ("green:unit=char,beta=0.5", "gleu:n=2,draws=7,seed=3", "gleu-official"):
        scorer = gecjury.load(name)
        assert gecjury.load(scorer.signature(CORPUS).label) == scorer


def test_round_trip_through_json() -> None:
    signature = replace(green(), extra={"tagger": "abc"}, packages={"gecjury": "1", "torch": "2"})
    again = Signature.from_json(json.loads(json.dumps(signature.to_json())))
    assert again == signature
    assert again.key == signature.key
    assert str(again) == str(signature)


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({}, "metric is missing"),
        ({"metric": "green"}, "family is missing"),
        (green().to_json() | {"version": "1"}, "version is '1'; expected a whole number"),
        (green().to_json() | {"data": ["x"]}, r"data is \['x'\]; expected an object"),
    ],
)
def test_a_record_that_is_not_a_signature_is_refused(
    record: dict[str, object], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        Signature.from_json(record)


def test_the_key_changes_with_everything_that_affects_a_score() -> None:
    plain = green()
    others = [
        green(n=3),
        green(beta=2.5),
        green(unit="char", n=4),
        green(replace(CORPUS, sources=("a b", "d"))),
        green(replace(CORPUS, references=CORPUS.references[:1])),
        green(replace(CORPUS, references=CORPUS.references[::-1])),
        gecjury.load("gleu").signature(CORPUS),
        replace(plain, version=99),
        replace(plain, packages={**plain.packages, "torch": "2.4"}),
        replace(plain, extra={"checkpoint": "abc"}),
    ]
    keys = {signature.key for signature in [plain, *others]}
    assert len(keys) == len(others) + 1


def test_the_key_ignores_everything_that_does_not_affect_a_score() -> None:
    plain = green()
    assert green(n=4, beta=2).key == plain.key
    assert replace(plain, packages={"gecjury": "99"}).key == plain.key
    assert replace(plain, changed={"n": 4}).key == plain.key
    other = Corpus(CORPUS.sources, {"y": Version(("z", "z"))}, CORPUS.references)
    assert green(replace(other, reference_name="official")).key == plain.key
    scorer = gecjury.load("green")
    slow = Runtime(device="cuda", batch_size=1, workers=7, concurrency=2, use_cache=False)
    assert scorer.signature(CORPUS, slow) == scorer.signature(CORPUS, Runtime())


def test_package_versions() -> None:
    versions = package_versions(("numpy", "no-such-distribution"))
    assert versions["gecjury"] == gecjury.__version__
    assert versions["numpy"][0].isdigit()
    assert versions["no-such-distribution"] == "missing"
