"""A statistic that is added where CONTRIBUTING says has its figure in every result."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.shell import python

ADDED = """
import sys
from gecjury.stats import correlation
from gecjury.stats import preferences

# What a change of the two tables would do, before another module reads them.
correlation.MEASURES["halved"] = lambda human, metric: correlation.pearsons(human, metric) / 2
preferences.PreferenceAgreement.doubled = property(lambda agreement: 2 * agreement.accuracy)
preferences.SENTENCE_STATISTICS = (*preferences.SENTENCE_STATISTICS, "doubled")

from gecjury.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_new_statistics_have_figures_intervals_and_differences(tmp_path: Path) -> None:
    words = ["compare", "sample", "-m", "green", "-m", "changes", "--no-cache"]
    words += ["--resamples", "10", "--html", str(tmp_path / "page.html"), "--format", "json"]
    done = python("-c", ADDED, *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "halved" in page
    document = json.loads(done.stdout)
    for row in document["rows"]:
        system, sentence = row["system"], row["sentence"]
        assert system["halved"] == pytest.approx(system["pearson"] / 2)
        low, high = system["ci95"]["halved"]
        assert low <= high
        assert sentence["doubled"] == 2 * sentence["accuracy"]
    for row in document["people"]:
        if row["pearson"] is not None:
            assert row["halved"] == pytest.approx(row["pearson"] / 2)
    ends = {row["statistic"]: row["ci95"] for row in document["differences"]}
    assert ends["halved"]
    assert ends["doubled"] == {}
