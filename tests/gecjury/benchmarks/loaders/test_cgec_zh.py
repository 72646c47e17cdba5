"""The Chinese benchmark: made-up files in the same format, and the released ones."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections import Counter
from itertools import permutations
from pathlib import Path

import pytest

from gecjury.benchmarks.benchmark import Benchmark
from gecjury.benchmarks.judgments import expand_pairs
from gecjury.benchmarks.load import load_benchmark
from gecjury.benchmarks.loaders.cgec_zh import load_cgec_zh
from tests.made_up import data_folder, request

SIX = ("bart", "char", "s2e", "spm", "t5", "word")
MUCGEC = "MuCGEC/data/MuCGEC/MuCGEC_dev.txt"
MINIMAL, FLUENCY = (
    f"CCL2022-CLTC/datasets/track3/dev/yaclc-{kind}_dev.para" for kind in ("minimal", "fluency")
)
IDS = {part: f"RevisitCGEC/sentence ids/{part}_ids.txt" for part in ("mucgec", "yaclc")}
XML = "RevisitCGEC/judgments.xml"
# A src-id counts lines from 0: id 2 of MuCGEC is line 1, and so is id 1 of YACLC.
ITEM = """<ranking-item doc-id="{0}" user="{1}" src-id="{2}" id="{3}">
<translation system="bart char s2e" rank="1" />
<translation system="spm t5" rank="{4}" />
<translation system="word" rank="3" />
</ranking-item>
"""


def files() -> dict[str, str]:
    """Three sentences, each ranked by two annotators; the second one has no reference."""
    places = (("mucgec", 1), ("mucgec", 0), ("yaclc", 1))
    items = [
        ITEM.format(part, user, line, number, rank)
        for number, (part, line) in enumerate(places, 1)
        for user, rank in (("A1", 2), ("A2", 4))
    ]
    outputs = {
        f"RevisitCGEC/system corrections/{name}.{part}.txt": "".join(
            f"{number}{'spm t5' if name in ('spm', 't5') else name}\n" for number in numbers
        )
        for name in SIX
        for part, numbers in (("mucgec", (1, 2)), ("yaclc", (3,)))
    }
    return {
        MUCGEC: "1\t没用\t无法标注\n2\t你好。\t没有错误\t您好。\n",
        MINIMAL: "0\tx\ty\n1\t再 见\t再见。\t再会。\t拜拜。\n",
        FLUENCY: "0\tx\ty\n1\t再 见\t回头见。\n",
        IDS["mucgec"]: "2\n1\n",
        IDS["yaclc"]: "1\n",
        XML: f"<result>\n{''.join(items)}</result>\n",
        **outputs,
    }


def test_sentences_are_found_by_id_and_judgments_by_line(tmp_path: Path) -> None:
    folder = data_folder(tmp_path, files())
    made = load_cgec_zh(request("cgec-zh", folder, references=("official",)))
    assert made.corpus.names == SIX
    # The first sentence of MuCGEC has no reference; id 1 of YACLC contains a blank.
    assert made.corpus.source_text == ("你好。", "再 见")
    assert made.corpus.sources == ("你 好 。", "再 见")
    assert made.sentence_ids == (0, 2)
    assert made.corpus.systems["word"].text == ("1word", "3word")
    # "没有错误" (no error) means the source; with only two references the first is repeated as the
    # third.
    assert [(v.text or v.lines) for v in made.corpus.references] == [
        ("你好。", "再见。"), ("您好。", "再会。"), ("你好。", "拜拜。"),
    ]  # fmt: skip
    items = made.rankings["sentence"]
    assert [(i.sentence, i.annotator) for i in items] == [
        (0, "A1"), (0, "A2"), (1, "A1"), (1, "A2"),
    ]  # fmt: skip
    assert items[0].groups == (("bart", "char", "s2e"), ("spm", "t5"), ("word",))
    assert made.notes[0].startswith("2 of 3 sentences are scored, with 4 of 6 rankings")
    # bart, char and s2e beat all others and have the same text. spm and t5 lose to those three
    # and win half against word (ranks 2 and 4 against 3): (0 + 0 + 0 + .5) / 4. word loses to the
    # three and wins half against the two: (0 + 0 + 0 + .5 + .5) / 5.
    assert made.human_scores("expected-wins").tolist() == pytest.approx(
        [1, 1, 1, 0.125, 0.125, 0.2]
    )
    fluent = load_cgec_zh(request("cgec-zh", folder, references=("fluency",)))
    assert [(v.text or v.lines) for v in fluent.corpus.references] == [
        ("你好。", "回头见。"), ("您好。", "回头见。"),
    ]  # fmt: skip
    assert fluent.corpus.with_references("official").references[2].text == ("你好。", "拜拜。")


@pytest.fixture(scope="module")
def released(data_dir: Path) -> Benchmark:
    return load_benchmark("cgec-zh", data=data_dir)


@pytest.mark.slow
def test_the_released_rankings(data_dir: Path, released: Benchmark) -> None:
    """Compare counts with a separate pass over the files, not with the paper of the benchmark."""
    corpus, items = released.corpus, released.rankings["sentence"]
    # Only id 1077 of MuCGEC has "无法标注" instead of a reference.
    assert (len(corpus), len(items), len(corpus.references)) == (199, 995, 11)
    assert Counter(item.annotator for item in items) == dict.fromkeys(
        ("A1", "A2", "A3", "A4", "A5"), 199
    )
    assert set(range(200)) - set(released.sentence_ids) == {
        (data_dir / IDS["mucgec"]).read_text().split().index("1077")
    }
    # Three of 100 MuCGEC sentences have "没有错误": their only reference is the source.
    same = [all(v.lines[n] == s for v in corpus.references) for n, s in enumerate(corpus.sources)]
    assert sum(same) == 3
    # Systems share a place if and only if they have the same text.
    for item in items:
        texts = [{corpus.systems[name].lines[item.sentence] for name in g} for g in item.groups]
        assert all(len(text) == 1 for text in texts)
        assert len(set.union(*texts)) == len(item.groups)
        assert sorted(name for group in item.groups for name in group) == list(SIX)
    # Five annotators, 199 sentences, 15 pairs of systems.
    assert len(expand_pairs(items, SIX)) == 5 * 199 * 15


@pytest.mark.slow
def test_the_released_rankings_of_systems(data_dir: Path, released: Benchmark) -> None:
    # Expected Wins directly from the XML: mean over opponents of wins / (wins + losses).
    wins: Counter[tuple[str, str]] = Counter()
    for item in ET.parse(data_dir / XML).getroot():
        ranks = {name: int(t.attrib["rank"]) for t in item for name in t.attrib["system"].split()}
        wins.update((a, b) for a, b in permutations(SIX, 2) if ranks[a] < ranks[b])
    wanted = [sum(wins[a, b] / (wins[a, b] + wins[b, a]) for b in SIX if a != b) / 5 for a in SIX]
    assert released.human_scores("expected-wins") == pytest.approx(wanted, abs=1e-12)
    # All 5 · 200 · 15 comparisons, of which 5,501 are ties.
    assert sum(wins.values()) == 15_000 - 5_501
    orders = {
        kind: [SIX[i] for i in (-released.human_scores(kind)).argsort()]
        for kind in ("trueskill", "expected-wins")
    }
    assert orders["trueskill"] == ["bart", "s2e", "char", "word", "spm", "t5"]
    assert orders["expected-wins"] == orders["trueskill"]
