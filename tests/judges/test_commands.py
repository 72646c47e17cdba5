"""Judges on the command line: score, compare, --dry-run, judgments export and import."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gecjury.cli import main
from gecjury.core.errors import install_hint
from gecjury.judges.asking.store import Identity, store_path
from gecjury.judges.judge import load_wording
from gecjury.prompts import prompt_text
from tests.judges.faultserver import FaultServer, Said, completion

Serve = Callable[..., FaultServer]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "source.txt").write_text("She go .\nHe go .\n")
    (tmp_path / "a.txt").write_text("She goes .\nHe goes .\n")
    (tmp_path / "b.txt").write_text("She go .\nHe went .\n")
    return [str(tmp_path / name) for name in ("source.txt", "a.txt", "b.txt")]


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> tuple[int, str, str]:
    status = main([*argv, "--quiet"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_a_dry_run_prints_the_contract_and_sends_nothing(
    capsys: pytest.CaptureFixture[str], serve: Serve, files: list[str], tmp_path: Path
) -> None:
    server = serve()
    metric = f"llm-s:model=gpt-4o,base_url={server.url}"
    for command in ("score", "rank"):
        status, out, err = call(
            capsys, command, *files, "-m", metric, "--dry-run", "--cache", str(tmp_path / "c")
        )
        assert (status, err) == (0, "")
        record = json.loads(out)
        assert record["requests"] == 2
        assert record["tokens"]["input"] > 300
        # 2.5 and 10 dollars per million tokens
        cost = 2.5e-6 * record["tokens"]["input"] + 1e-5 * record["tokens"]["output"]
        assert record["cost"]["amount"] == pytest.approx(cost)
        assert record["cost"]["currency"] == "USD"
        assert record["cost"]["prices"]
        assert "estimate" in record["metrics"][0]["counted"]
    assert not server.bodies
    assert not (tmp_path / "c").exists()


def test_a_dry_run_counts_what_is_still_to_be_asked(
    capsys: pytest.CaptureFixture[str], serve: Serve, files: list[str], tmp_path: Path
) -> None:
    server = serve()
    argv = [*files, "-m", f"llm-s:model=m,base_url={server.url}", "--cache", str(tmp_path / "c")]
    assert call(capsys, "score", *argv)[0] == 0
    record = json.loads(call(capsys, "score", *argv, "--dry-run")[1])
    assert (record["requests"], record["metrics"][0]["stored"]) == (0, 2)
    assert record["cost"]["amount"] is None  # no price is known for the user's own server
    status, out, _ = call(capsys, "compare", "sample", *argv[3:], "--dry-run")
    assert status == 0
    assert json.loads(out)["requests"] > 10


@pytest.mark.slow
def test_compare_prints_the_audit_with_humans_and_ceiling(
    capsys: pytest.CaptureFixture[str], serve: Serve, tmp_path: Path
) -> None:
    server = serve()
    metric = f"llm-s:model=m,base_url={server.url},orders=2,repeats=2"
    argv = ["sample", "-m", metric, "-m", "green", "--cache", str(tmp_path / "c")]
    argv += ["--resamples", "100"]
    status, out, err = call(capsys, "compare", *argv, "--format", "json")
    assert (status, err) == (0, "")
    record = json.loads(out)
    assert [row["family"] for row in record["rows"]] == ["judges", "refbased"]
    (audit,) = record["audits"].values()
    member = audit["members"][0]
    assert set(member) >= {
        "valid", "refused", "truncated", "unparsable", "flips", "repeat_agreement", "histogram",
        "positions", "tokens", "cost", "seconds",
    }  # fmt: skip
    assert member["repeat_agreement"]["equal"] == 1  # this model is constant
    assert audit["humans"]["edit"]["accuracy"] == record["rows"][0]["sentence"]["accuracy"]
    assert audit["humans"]["edit"]["ceiling"] == record["ceiling"]["edit"]["accuracy"]
    _, out, _ = call(capsys, "compare", *argv)
    for what in (
        "valid replies", "refused, truncated, unparsable", "flips when reordered",
        "equal when repeated", "mean score by position", "agreement with humans (edit)",
        "tokens read, written", "cost", "wall time",
    ):  # fmt: skip
        assert what in out


def test_missing_verdicts_make_the_exit_status_1(
    capsys: pytest.CaptureFixture[str], serve: Serve, files: list[str], tmp_path: Path
) -> None:
    server = serve(lambda n, body: completion(body, "no") if "He go" in str(body) else None)
    metric = f"llm-s:model=m,base_url={server.url}"
    argv = [*files, "-m", metric, "--cache", str(tmp_path / "c"), "--sentences"]
    status, out, _ = call(capsys, "score", *argv, "--format", "json")
    assert status == 1
    assert [row["sentences"][1] for row in json.loads(out)["rows"]] == [None, None]
    assert "1 verdicts are missing after all" in call(capsys, "score", *argv)[1]


def test_judgments_replay_offline_bit_for_bit(
    capsys: pytest.CaptureFixture[str],
    serve: Serve,
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    server = serve()
    metric = f"llm-s:model=m,base_url={server.url}"
    here, there = str(tmp_path / "here"), str(tmp_path / "there")
    score = ["score", *files, "-m", metric, "--format", "json", "--sentences"]
    status, first, _ = call(capsys, *score, "--cache", here)
    assert status == 0
    export = str(tmp_path / "export.jsonl")
    status, out, _ = call(
        capsys, "judgments", "export", export, "--cache", here, "--format", "json"
    )
    assert (status, json.loads(out)) == (0, [{"file": export, "replies": 2}])
    status, out, _ = call(
        capsys, "judgments", "import", export, "--cache", there, "--format", "json"
    )
    assert json.loads(out) == [{"file": export, "added": 2, "known": 0}]
    status, out, _ = call(capsys, "judgments", "list", "--cache", there, "--format", "json")
    assert [row["replies"] for row in json.loads(out)] == [2]
    # offline: there is no key, and opening a connection fails
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr("socket.socket.connect", _fail)
    status, second, _ = call(capsys, *score, "--cache", there)
    assert status == 0
    assert _timeless(first) == _timeless(second)
    assert len(server.bodies) == 2


def _fail(*arguments: Any) -> None:
    raise AssertionError("a connection was opened")


def _timeless(text: str) -> Any:
    """Return the document without wall times and request counts."""
    record = json.loads(text)
    for members in record["audits"].values():
        for member in members:
            del member["seconds"], member["requests"]
    return record


def test_clear_lines_for_bad_input(
    capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    pytest.importorskip("openai")
    cache = ["--cache", str(tmp_path / "c")]
    monkeypatch.delenv("OPENAI_API_KEY")
    status, out, err = call(capsys, "score", *files, "-m", "llm-s:model=gpt-6-luna", *cache)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    assert err.startswith("gecjury: no key for OpenAI: set $OPENAI_API_KEY")
    none = ["--cache", str(tmp_path / "none")]
    status, _, err = call(capsys, "judgments", "export", str(tmp_path / "x"), *none)
    assert (status, err.count("\n")) == (2, 1)
    assert "no stored judgments" in err
    # the failed run left no store without replies
    assert not list((tmp_path / "c" / "judgments").iterdir())
    prompt = load_wording("sentence").id
    identity = Identity("openai", "gpt-6-luna", "", prompt)
    store_path(tmp_path / "c" / "judgments", identity).write_text("{}\n")
    status, _, err = call(capsys, "score", *files, "-m", "llm-s:model=gpt-6-luna", *cache)
    assert status == 2
    assert "not a store of judgments" in err


def test_a_judge_without_a_model_is_refused_before_anything_else(
    capsys: pytest.CaptureFixture[str], files: list[str], tmp_path: Path
) -> None:
    cache = ["--cache", str(tmp_path / "c")]
    for command in (["score", *files], ["rank", *files], ["compare", "sample"]):
        for more in ([], ["--dry-run"]):
            status, out, err = call(capsys, *command, "-m", "llm-s", *more, *cache)
            assert (status, out, err.count("\n")) == (2, "", 1)
            assert "name the model to ask, e.g. -m llm-s:model=gpt-6-luna" in err
            assert "--dry-run" in err
    assert not (tmp_path / "c").exists()
    assert "needs model (model=…)" in " ".join(call(capsys, "metrics", "llm-s")[1].split())


def test_a_price_on_the_command_line(
    capsys: pytest.CaptureFixture[str], serve: Serve, files: list[str], tmp_path: Path
) -> None:
    server = serve()
    argv = ["score", *files, "-m", f"llm-s:model=m,base_url={server.url}"]
    argv += ["--cache", str(tmp_path / "c"), "--price", "2,8"]
    record = json.loads(call(capsys, *argv, "--dry-run")[1])
    cost = 2e-6 * record["tokens"]["input"] + 8e-6 * record["tokens"]["output"]
    assert record["cost"]["amount"] == pytest.approx(cost)
    status, _, err = call(capsys, *argv, "--max-cost", "0.0000001")
    assert status == 1
    assert "stopped before --max-cost" in err
    assert not server.bodies
    status, out, _ = call(capsys, *argv, "--max-cost", "1")
    assert status == 0
    assert "USD (prices: --price)" in out
    assert len(server.bodies) == 2
    for wrong in ("2", "2,8,1", "a,b", "-1,2", "nan,1", "", "2;8"):
        status, out, err = call(capsys, *argv[:-2], f"--price={wrong}")
        assert (status, out) == (2, "")
        assert err.startswith("gecjury: --price")


def test_a_missing_client_names_the_extra(
    capsys: pytest.CaptureFixture[str],
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "openai", None)
    argv = ["score", *files, "-m", "llm-s:model=gpt-6-luna", "--cache", str(tmp_path / "c")]
    status, _, err = call(capsys, *argv)
    assert status == 2
    assert install_hint("judges") in err
    assert err.count("\n") == 1


@pytest.mark.security
def test_server_messages_cannot_control_the_terminal(
    capsys: pytest.CaptureFixture[str], serve: Serve, files: list[str], tmp_path: Path
) -> None:
    said = "no \x1b]0;owned\x07 such\r\ngecjury: all is well \x9b31m \u202e model"
    server = serve(lambda number, body: Said(400, {"error": {"message": said}}))
    argv = [*files, "-m", f"llm-s:model=m\x1b[2J,base_url={server.url}", "--cache", str(tmp_path)]
    status, out, err = call(capsys, "score", *argv)
    assert status != 0
    assert "owned" in err
    assert not any(c in out + err for c in "\x1b\x07\x9b\u202e\r")
    assert not any(line.startswith("gecjury: all is well") for line in err.splitlines())
    server = serve(lambda number, body: completion(body, said))
    argv = [*files, "-m", f"llm-s:model=m,base_url={server.url},tries=1", "--cache"]
    status, out, err = call(capsys, "score", *argv, str(tmp_path / "second"))
    assert server.bodies
    assert not any(c in out + err for c in "\x1b\x07\x9b\u202e\r")


def longer(number: int, body: dict[str, Any]) -> Said:
    """Prefer the correction with more tokens, and give no verdict if there is a comma."""
    first, second = re.findall(r"# correction .\n.*\n(.*)\n", body["messages"][0]["content"])
    if "," in first + second:
        return completion(body, "no")
    sizes = len(first.split()), len(second.split())
    better = "tie" if sizes[0] == sizes[1] else "A" if sizes[0] > sizes[1] else "B"
    return completion(body, json.dumps({"better": better}))


@pytest.mark.slow
def test_a_planted_bias_and_invalid_replies_are_shown(
    capsys: pytest.CaptureFixture[str], serve: Serve, tmp_path: Path
) -> None:
    metric = f"llm-s:model=gpt-4o,protocol=pairwise,orders=2,tries=1,base_url={serve(longer).url}"
    argv = ["compare", "sample", "-m", metric, "--limit", "15", "--level", "sentence"]
    argv += ["--resample", "sentences", "--resamples", "200", "--cache", str(tmp_path / "c")]
    status, out, err = call(capsys, *argv, "--format", "json")
    assert (status, err) == (1, "")
    record = json.loads(out)
    (audit,) = record["audits"].values()
    biases = {row["side"]: row for row in record["biases"]}
    row = biases["longer text"]
    assert (row["preferred"], row["missing"] > 0) == (1.0, True)
    assert row["ci95"]["difference"][0] > 0
    assert biases["own family"]["pairs"] == 0
    # Some of the pairs that people decided lack a score because a reply was invalid.
    sentence, humans = record["rows"][0]["sentence"], audit["humans"]["edit"]
    assert humans["accuracy"] == sentence["accuracy"]
    whole = sentence["pairs"] + sentence["missing"]
    assert humans["with_invalid"] == pytest.approx(sentence["accuracy"] * sentence["pairs"] / whole)
    assert humans["with_invalid"] < humans["accuracy"]
    (said,) = record["audit_verdict"].values()
    assert "prefers longer text than people do by" in said
    assert "flips 0.0% of the preferences when reordered" in said
    assert "of the questions invalid" in said


def test_a_panel_says_how_far_its_models_agree(
    capsys: pytest.CaptureFixture[str], serve: Serve, files: list[str], tmp_path: Path
) -> None:
    def graded(number: int, body: dict[str, Any]) -> Said:
        # One model gives 4 for "goes" and 2 otherwise, the other always 1 more.
        target = re.findall(r"# correction\n.*\n(.*)\n", body["messages"][0]["content"])[0]
        score = (4 if "goes" in target else 2) + (body["model"] == "b")
        return completion(body, json.dumps({"score": score}))

    url = serve(graded).url
    metric = f"llm-s:model=a+b,protocol=pointwise,base_url={url}"
    # Units (4, 5), (2, 3), (4, 5) and (2, 3): observed 8 · 1 over 8 values; expected, over
    # 4 5 2 3 4 5 2 3, twice the squares of its 28 pairs, 2 · (64 · 1.25) = 160, over 8 · 7:
    # α = 1 − (8 / 8) / (160 / 56) = .65. Mid-ranks 5 7 1 3: the same, four times as large.
    argv = ["score", *files, "-m", metric, "--cache", str(tmp_path / "c")]
    status, out, err = call(capsys, *argv)
    assert (status, err) == (0, "")
    assert re.search(r"panel\s+Krippendorff's α\s+ordinal 0.650, interval 0.650 over 4", out)


def test_a_prompt_is_printed_as_a_starting_point(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["judgments", "prompt", "llm-s:protocol=pointwise"]) == 0
    assert capsys.readouterr().out == prompt_text("pointwise")
    assert main(["judgments", "prompt", "edit-verdict:criterion=Judge the grammar."]) == 0
    assert capsys.readouterr().out == prompt_text("edit-verdict", 3)
    assert main(["judgments", "prompt", "gleu"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "gleu does not ask a model; name a judge" in captured.err
