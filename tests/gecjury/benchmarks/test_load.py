"""Benchmarks: counts and facts of the real data (if installed), and the rules of the loader."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gecjury.benchmarks.benchmark import Benchmark, ranked_groups
from gecjury.benchmarks.judgments import RankedItem
from gecjury.benchmarks.load import load_benchmark
from gecjury.core.errors import DataError, InputError, OptionError
from gecjury.core.textfiles import read_lines

SEEDA_SYSTEMS = [
    *("BART", "BERT-fuse", "GECToR-BERT", "GECToR-ens", "GPT-3.5", "INPUT", "LM-Critic", "PIE"),
    *("REF-F", "REF-M", "Riken-Tohoku", "T5", "TemplateGEC", "TransGEC", "UEDIN-MS"),
]


@pytest.fixture(scope="module")
def seeda(data_dir: Path) -> Benchmark:
    return load_benchmark("seeda", systems="all", data=data_dir)


def test_seeda_has_the_published_sizes(seeda: Benchmark) -> None:
    # Kobayashi et al. (2024), section 3: 391 sentences, 200 items by each of 3 annotators.
    corpus = seeda.corpus
    assert len(corpus) == len(seeda.sentence_ids) == 391
    assert list(corpus.names) == SEEDA_SYSTEMS == sorted(SEEDA_SYSTEMS)
    assert len(corpus.references) == 2
    assert corpus.gold is not None
    assert [block.source for block in corpus.gold] == list(corpus.sources)
    for items in seeda.rankings.values():
        assert len(items) == 600
        assert {item.annotator for item in items} == {"annotator1", "annotator2", "annotator3"}
        assert {item.sentence for item in items} == set(range(391))
    assert not seeda.sample


def test_seeda_rows_are_the_subset_files_exactly(seeda: Benchmark, data_dir: Path) -> None:
    folder = data_dir / "SEEDA" / "outputs" / "subset"
    assert list(seeda.corpus.sources) == read_lines(folder / "INPUT.txt")
    for name, version in seeda.corpus.systems.items():
        assert list(version.lines) == read_lines(folder / f"{name}.txt")


def test_seeda_groups_name_texts_that_are_equal(seeda: Benchmark) -> None:
    groups = seeda.corpus.groups
    assert groups is not None
    assert len(groups) == len({group.id for group in groups}) == 600
    assert max(len(group.systems) for group in groups) == 5
    for group in groups:
        texts = []
        for place in group.systems:
            (text,) = {seeda.corpus.systems[name].lines[group.sentence] for name in place}
            texts.append(text)
        assert len(set(texts)) == len(texts)


def test_the_view_selects_the_groups(data_dir: Path, seeda: Benchmark) -> None:
    sentence = load_benchmark("seeda", systems="all", view="sentence", data=data_dir)
    assert (seeda.view, sentence.view) == ("edit", "sentence")
    assert sentence.corpus.groups == ranked_groups(seeda.rankings["sentence"], SEEDA_SYSTEMS)
    assert sentence.rankings == seeda.rankings


def test_seeda_human_columns_are_as_published(seeda: Benchmark, data_dir: Path) -> None:
    # SEEDA, scores/human/TS_edit.txt and EW_sent.txt: the 15 systems in alphabetical order.
    assert seeda.human["edit"]["trueskill"]["GPT-3.5"] == 0.583
    assert seeda.human["edit"]["trueskill"]["INPUT"] == -0.797
    for view, part in (("edit", "edit"), ("sentence", "sent")):
        for kind, short in (("trueskill", "TS"), ("expected-wins", "EW")):
            lines = read_lines(data_dir / "SEEDA" / "scores" / "human" / f"{short}_{part}.txt")
            assert seeda.human_scores(kind, view).tolist() == [float(x) for x in lines]  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=r"no human scores 'mean'.*edit: trueskill"):
        seeda.human_scores("mean")


@pytest.mark.parametrize(
    ("count", "names"),
    [
        (1, ["e-minimal", "e-fluency"]),
        (2, ["official", "official-as-published", "official-um-deleted"]),
        (2, ["ne-minimal", "ne-fluency"]),
        (10, ["10refs", "10refs-um-deleted"]),
    ],
)
def test_seeda_reference_sets(data_dir: Path, count: int, names: list[str]) -> None:
    for name in names:
        corpus = load_benchmark("seeda", references=name, data=data_dir).corpus
        assert corpus.reference_name == name
        assert [reference.edits for reference in corpus.references] == [None] * count


def test_no_expert_reference_is_a_system_output(data_dir: Path) -> None:
    whole = load_benchmark(
        "seeda", systems="all", whole=True, references=["e-minimal", "e-fluency"], data=data_dir
    ).corpus
    minimal, fluent = whole.references
    assert minimal.lines != whole.systems["REF-M"].lines
    assert fluent.lines != whole.systems["REF-F"].lines


@pytest.mark.parametrize(("whole", "lines", "differing"), [(False, 391, 22), (True, 1312, 88)])
def test_the_agreement_rule_changes_the_lines_annotator_1_agreed_with(
    data_dir: Path, whole: bool, lines: int, differing: int
) -> None:
    true, published = (
        load_benchmark("seeda", whole=whole, references=name, data=data_dir).corpus
        for name in ("official-um-deleted", "official-as-published")
    )
    assert len(true) == lines
    assert true.references[0] == published.references[0]
    first, second = (reference.lines for reference in true.references)
    changed = [i for i in range(lines) if second[i] != published.references[1].lines[i]]
    assert len(changed) == differing
    for i in changed:
        assert second[i] == first[i]
        assert published.references[1].lines[i] == true.sources[i]


def test_words_marked_as_unclear_stay_in_the_references(data_dir: Path) -> None:
    kept, deleted = (
        load_benchmark("seeda", whole=True, references=name, data=data_dir).corpus.references
        for name in ("official", "official-um-deleted")
    )
    # 11 and 43 edits of the two annotators are typed `Um`; published tables lack their words.
    pairs = [zip(a.lines, b.lines, strict=True) for a, b in zip(kept, deleted, strict=True)]
    assert [sum(one != two for one, two in pair) for pair in pairs] == [11, 42]
    start = "Genetic testing is made possible and available"
    assert kept[0].lines[100] == f"{start} for one 's decision to undergo ."
    assert deleted[0].lines[100] == f"{start} ."


def test_the_whole_set_numbers_rankings_by_line(data_dir: Path, seeda: Benchmark) -> None:
    whole = load_benchmark("seeda", systems="all", whole=True, data=data_dir)
    assert whole.sentence_ids == tuple(range(1312))
    for part, full in zip(seeda.rankings["edit"], whole.rankings["edit"], strict=True):
        assert seeda.sentence_ids[part.sentence] == full.sentence
        assert seeda.corpus.sources[part.sentence] == whole.corpus.sources[full.sentence]


def test_contexts_are_as_shown_to_the_annotators(seeda: Benchmark) -> None:
    _, judged, _ = seeda.verdicts()
    rows = {source: row for row, source in enumerate(seeda.corpus.sources)}
    contexts = seeda.corpus.contexts
    assert contexts is not None
    matched = 0
    for item in judged:
        row = rows.get(item.sentence)
        if row is not None:
            matched += 1
            assert (item.before, item.after) == contexts[row]
    assert matched >= 590


def test_gjg15(data_dir: Path) -> None:
    benchmark = load_benchmark("gjg15", data=data_dir)
    corpus = benchmark.corpus
    assert (len(corpus), len(corpus.names), len(corpus.references)) == (1312, 13, 2)
    assert corpus.systems["INPUT"].lines == corpus.sources
    assert not any(
        line != line.rstrip() or "\r" in line
        for version in corpus.systems.values()
        for line in version.lines
    )
    assert benchmark.views == ("sentence",)
    assert len(benchmark.rankings["sentence"]) == 2306
    # Grundkiewicz et al. (2015), tables 3b and 3c.
    assert benchmark.human["sentence"]["expected-wins"]["AMU"] == 0.628
    assert benchmark.human["sentence"]["trueskill"]["IPN"] == -0.358


def test_gjg15_rankings_count_lines_from_0(data_dir: Path) -> None:
    # Systems that share a place have the same text, which is only true with the right line base.
    benchmark = load_benchmark("gjg15", data=data_dir)
    systems = benchmark.corpus.systems
    for item in benchmark.rankings["sentence"]:
        for place in item.groups:
            texts = {" ".join(systems[name].lines[item.sentence].split()) for name in place}
            assert len(texts) == 1


def test_gmeg(data_dir: Path) -> None:
    base = load_benchmark("gmeg-test-wiki", data=data_dir)
    assert len(base.corpus) == 992
    assert base.corpus.names == (
        *("amu", "lstm", "lstm-r", "marian", "nus", "source", "transformer"),
    )
    assert len(base.corpus.references) == 4
    assert base.corpus.systems["source"].lines == base.corpus.sources
    # From wiki-corpus-scores.csv of GMEG.
    assert base.human["sentence"]["mean"]["lstm-r"] == 78.33034135082603
    assert base.human["sentence"]["mean"]["ref0"] == 82.00431000971824
    segment = base.segment_scores
    assert segment is not None
    assert segment.shape == (7, 992)
    assert int(np.isnan(segment).sum()) == 7 * 12
    assert np.nanmean(segment, axis=1) == pytest.approx(base.human_scores("mean"), abs=1e-9)
    assert len(base.rankings["sentence"]) == 992 - 12


def test_gmeg_as_in_the_paper_uses_the_first_reference_as_a_system(data_dir: Path) -> None:
    paper = load_benchmark("gmeg-test-wiki", systems="paper", data=data_dir)
    # Goto et al. (2026), section 5: six systems, the first reference, the source.
    # TrueSkill depends on the order: GLEU reaches .785 with this one, .784 alphabetically.
    assert paper.corpus.names == (
        *("amu", "lstm", "lstm-r", "marian", "nus", "transformer"),
        *("ref0", "source"),
    )
    assert len(paper.corpus.references) == 3
    ref0 = paper.corpus.systems["ref0"].lines
    assert list(ref0) == read_lines(data_dir / "GMEG/data/test/wiki/ref0")
    assert all(reference.lines != ref0 for reference in paper.corpus.references)


@pytest.mark.parametrize("name", ["gmeg-dev-yahoo", "gmeg-test-yahoo", "gmeg-test-fce"])
def test_a_missing_domain_is_reported_with_its_location(tmp_path: Path, name: str) -> None:
    _, _, domain = name.split("-")
    with pytest.raises(DataError) as caught:
        load_benchmark(name, data=tmp_path)
    for fact in (name, "not supplied", str(tmp_path), f"{domain}/amu", f"{domain}/ref3"):
        assert fact in str(caught.value)


def test_given_files_count_as_references(data_dir: Path, tmp_path: Path) -> None:
    short, full, wrong = (tmp_path / name for name in ("short.txt", "full.txt", "wrong.txt"))
    short.write_text("x\n" * 391)
    full.write_text("".join(f"line {i}\n" for i in range(1312)))
    wrong.write_text("x\n" * 390)
    benchmark = load_benchmark("seeda", references=[short, str(full), "e-minimal"], data=data_dir)
    first, second, _ = benchmark.corpus.references
    assert first.lines == ("x",) * 391
    assert second.lines == tuple(f"line {i}" for i in benchmark.sentence_ids)
    assert benchmark.references == "e-minimal+2 given"
    with pytest.raises(InputError, match=r"wrong\.txt has 390 lines.* 391 .*or 1312"):
        load_benchmark("seeda", references=wrong, data=data_dir)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("seda", {}, "unknown benchmark 'seda': did you mean seeda"),
        ("seeda", {"systems": "bass"}, "unknown system set of seeda 'bass': did you mean base"),
        ("seeda", {"references": "10ref"}, "reference set of seeda .*did you mean 10refs"),
        ("seeda", {"view": "sentences"}, "unknown view of seeda .*did you mean sentence"),
        ("gjg15", {"view": "edit"}, "unknown view of gjg15 'edit': there are: sentence"),
        ("sample", {"whole": True}, "whole=True is for seeda"),
        ("seeda", {"references": []}, "no references given for seeda"),
    ],
)
def test_wrong_options_name_the_right_ones(
    name: str, options: dict[str, object], message: str, tmp_path: Path
) -> None:
    with pytest.raises(OptionError, match=message):
        load_benchmark(name, data=tmp_path, **options)  # type: ignore[arg-type]


def test_the_sample_needs_neither_data_nor_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GECJURY_DATA", raising=False)
    sample = load_benchmark("sample", systems="all")
    assert sample.sample
    assert "never evidence" in sample.citation
    assert len(sample.corpus) >= 60
    assert len(sample.corpus.references) == 3
    assert len(sample.corpus.names) == 7
    assert sample.corpus.systems["INPUT"].lines == sample.corpus.sources
    assert sample.corpus.contexts is not None
    assert sample.corpus.contexts[0][0] == ""
    assert sample.corpus.contexts[-1][1] == ""
    scores = sample.human["edit"]["expected-wins"]
    assert scores["careful"] > scores["hasty"] > scores["noisy"]
    with pytest.raises(DataError, match="no verdicts"):
        sample.verdicts()


def test_groups_leave_out_texts_of_systems_not_chosen() -> None:
    items = (
        RankedItem("1", 0, "anna", (("a", "b"), ("c",)), (1, 2)),
        RankedItem("2", 1, "anna", (("c",),), (1,)),
    )
    (group,) = ranked_groups(items, ["b", "d"])
    assert (group.id, group.sentence, group.systems) == ("anna.1", 0, (("b",),))
