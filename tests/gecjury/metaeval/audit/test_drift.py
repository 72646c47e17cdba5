"""Drift between two runs: by hand, and through the public interface."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gecjury.cli import main
from gecjury.core.errors import InputError, OptionError
from gecjury.metaeval.audit.drift import Change, EarlierRun, measure_drift
from gecjury.metaeval.chance import sentence_table
from gecjury.metaeval.comparison import compare
from gecjury.metaeval.settings import Settings
from gecjury.metaeval.study import Study
from gecjury.stats.resampling import Resampling
from tests.gecjury.metaeval.audit.test_biases import NAN, SCORES, TOY

OCTOBER = 1_790_899_200  # 2026-10-02, 00:00 UTC


def test_drift_by_hand() -> None:
    # Then: first source A 2, B 1, C 1; second A 3, B 2, no score of C.
    then = np.array([[2.0, 3.0], [1.0, 2.0], [1.0, NAN]])
    study = Study(TOY, Settings(resampling=Resampling(over="sentences", resamples=20)))
    old, new = (sentence_table("m", TOY.corpus.names, scores) for scores in (then, SCORES))
    (row,) = measure_drift(study, ("edit",), [new], [EarlierRun(old, "2026-10-02")])
    # Now: 1 1, 2 2, 1 3. Equal: B on the second and C on the first, of 5. Change: −1 −2 +1 +0 +0.
    # Pairs scored in both runs: on the first A-B (> then <), A-C (> then =), B-C (= then >); on the
    # second A-B (> then <). Decided by people: A-C (C is better: 0, then ½), B-C (C: ½, then 0) and
    # the second A-B (A: 1, then 0).
    assert row.agreement == Change(
        earlier="2026-10-02", scores=5, equal=0.4, mean=pytest.approx(-0.4), pairs=4, flipped=0.5,
        changed=1.0, before=0.5, accuracy=pytest.approx(1 / 6), difference=pytest.approx(-1 / 3),
    )  # fmt: skip
    # First source drawn twice: ½ of 2 pairs, then ½ of 2; second source twice: 1, then 0.
    counts = study.drawn_counts
    assert counts is not None
    expected = {(2.0, 0.0): 0.0, (0.0, 2.0): -1.0, (1.0, 1.0): -1 / 3}
    wanted = [expected[one, two] for one, two in counts.tolist()]
    np.testing.assert_allclose(row.drawn["difference"], wanted)


def test_the_same_scores_have_no_drift() -> None:
    table = sentence_table("m", TOY.corpus.names, SCORES)
    study = Study(TOY, Settings(resampling=Resampling(over="none")))
    (row,) = measure_drift(study, ("edit",), [table], [EarlierRun(table, "2026-10-02")])
    one = row.agreement
    assert (one.equal, one.mean, one.flipped, one.changed, one.difference) == (1, 0, 0, 0, 0)
    missing = sentence_table("m", TOY.corpus.names, np.full((3, 2), NAN))
    (row,) = measure_drift(study, ("edit",), [table], [EarlierRun(missing, "2026-10-02")])
    assert (row.agreement.scores, row.agreement.pairs) == (0, 0)
    assert np.isnan(row.agreement.flipped)


def test_an_earlier_run_is_only_read(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    argv = ["compare", "sample", "-m", "green", "-m", "changes", "--resample", "none"]
    assert main([*argv, "-o", str(tmp_path / "then")]) == 0
    (green,) = (tmp_path / "then").glob("green*")
    os.utime(green, (OCTOBER, OCTOBER))
    for other in (tmp_path / "then").glob("changes*"):
        other.unlink()
    capsys.readouterr()
    drift = ["--drift-from", str(tmp_path / "then")]
    assert main([*argv, *drift, "--format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    # The other metric has no scores in the earlier run, and none are added.
    (row,) = document["drift"]
    assert (row["metric"], row["human"], row["earlier"]) == ("green", "edit", "2026-10-02")
    assert (row["equal"], row["flipped"], row["difference"]) == (1.0, 0.0, 0.0)
    assert row["accuracy"] == document["rows"][0]["sentence"]["accuracy"]
    assert [path.name for path in (tmp_path / "then").iterdir()] == [green.name]
    assert main([*argv, *drift]) == 0
    assert "Drift since the earlier run" in capsys.readouterr().out


def test_a_missing_earlier_run_is_reported_before_anything_is_scored(tmp_path: Path) -> None:
    settings = Settings(drift_from=str(tmp_path / "nowhere"))
    with pytest.raises(InputError, match="nowhere: is not a folder with score files of green with"):
        compare("sample", ["green"], settings)
    with pytest.raises(InputError, match="has no score file of green with these options and texts"):
        compare("sample", ["green"], replace(settings, drift_from=str(tmp_path)))
    finished = sentence_table("m", TOY.corpus.names, SCORES)
    with pytest.raises(InputError, match="has no score file of finished scores"):
        compare(TOY, [finished], replace(settings, drift_from=str(tmp_path)))
    with pytest.raises(OptionError, match="--drift-from DIR with --level edit"):
        Settings(drift_from="DIR", level="edit")
    compare("sample", ["green"], score_files=tmp_path)
    (file,) = tmp_path.iterdir()
    record = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**record, "rows": record["rows"][:2]}), encoding="utf-8")
    with pytest.raises(InputError, match="no scores of fluent, hasty, noisy, spelling for these"):
        compare("sample", ["green"], replace(settings, drift_from=str(tmp_path)))
