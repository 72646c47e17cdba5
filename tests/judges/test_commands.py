"""Judges on the command line: score, compare, --dry-run, judgments export, import and prompt."""

from __future__ import annotations

import json
import re
import signal
import sys
import threading
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
from tests.shell import started

Serve = Callable[..., FaultServer]
Call = Callable[..., tuple[int, str, str]]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "source.txt").write_text("She go .\nHe go .\n")
    (tmp_path / "a.txt").write_text("She goes .\nHe goes .\n")
    (tmp_path / "b.txt").write_text("She go .\nHe went .\n")
    return [str(tmp_path / name) for name in ("source.txt", "a.txt", "b.txt")]


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Run a command with a cache for this test only."""

    def run(*argv: str, cache: str = "c") -> tuple[int, str, str]:
        status = main([*argv, "--cache", str(tmp_path / cache), "--quiet"])
        return status, *capsys.readouterr()

    return run


def test_a_dry_run_prints_the_contract_and_sends_nothing(
    call: Call, serve: Serve, files: list[str], tmp_path: Path
) -> None:
    server = serve()
    metric = f"llm-s:model=gpt-4o,base_url={server.url}"
    for command in ("score", "rank"):
        argv = [command, *files, "-m", metric, "--dry-run"]
        status, out, err = call(*argv, "--format", "json")
        assert (status, err) == (0, "")
        record = json.loads(out)
        assert record["requests"] == 2
        assert record["tokens"]["input"] > 300
        # 2.5 and 10 dollars per million tokens
        cost = 2.5e-6 * record["tokens"]["input"] + 1e-5 * record["tokens"]["output"]
        assert record["cost"]["amount"] == pytest.approx(cost)
        assert record["cost"]["currency"] == "USD"
        assert "estimate" in record["metrics"][0]["counted"]
        assert record["seconds"] is None  # no reply shows how fast the server is
        said = call(*argv)[1]
        assert said.startswith("This run would send 2 requests (")
        assert said.endswith(f" output tokens) for USD {cost:.2g}; nothing was sent.\n")
    assert not server.bodies
    assert not (tmp_path / "c").exists()


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other signals")
def test_ctrl_c_keeps_the_replies_and_says_so(
    call: Call, serve: Serve, files: list[str], tmp_path: Path
) -> None:
    asked, release = threading.Event(), threading.Event()

    def second_waits(number: int, body: dict[str, Any]) -> None:
        if "He go" in str(body):
            asked.set()
            release.wait(30)

    server = serve(second_waits)
    argv = ["score", *files, "-m", f"llm-s:model=m,base_url={server.url}", "--concurrency", "1"]
    with started(*argv, "--cache", tmp_path / "c", folder=tmp_path) as process:
        assert asked.wait(60)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    release.set()
    assert (process.returncode, err) == (
        130,
        "gecjury: interrupted; the judges' replies so far are stored: the same command continues "
        "from there\n",
    )
    record = json.loads(call(*argv, "--dry-run", "--format", "json")[1])
    assert (record["requests"], record["metrics"][0]["stored"]) == (1, 1)


def test_a_dry_run_counts_what_is_still_to_be_asked(
    call: Call, serve: Serve, files: list[str]
) -> None:
    metric = f"llm-s:model=m,base_url={serve().url}"
    assert call("score", *files, "-m", metric)[0] == 0
    score = ["score", *files, "-m", metric, "--dry-run"]
    record = json.loads(call(*score, "--format", "json")[1])
    assert (record["requests"], record["metrics"][0]["stored"]) == (0, 2)
    assert record["cost"]["amount"] is None  # no price is known for the user's own server
    assert "send no requests, since all replies are stored" in call(*score)[1]
    compare = ["compare", "sample", "-m", metric, "--dry-run"]
    status, out, _ = call(*compare, "--format", "json")
    assert (status, json.loads(out)["requests"] > 10) == (0, True)
    # The stored replies show how fast the server is, and simultaneous requests share the time.
    seconds = json.loads(out)["seconds"]
    alone = json.loads(call(*compare, "--format", "json", "--concurrency", "1")[1])["seconds"]
    assert alone == pytest.approx(32 * seconds)
    assert " at an unknown price, in about " in call(*compare)[1]


def test_missing_verdicts_make_the_exit_status_1(
    call: Call, serve: Serve, files: list[str]
) -> None:
    server = serve(lambda n, body: completion(body, "no") if "He go" in str(body) else None)
    argv = ["score", *files, "-m", f"llm-s:model=m,base_url={server.url}", "--sentences"]
    status, out, _ = call(*argv, "--format", "json")
    assert status == 1
    assert [row["sentences"][1] for row in json.loads(out)["rows"]] == [None, None]
    assert "1 verdicts are missing after all" in call(*argv)[1]


def test_judgments_replay_offline_bit_for_bit(
    call: Call, serve: Serve, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    metric = f"llm-s:model=m,base_url={server.url}"
    score = ["score", *files, "-m", metric, "--format", "json", "--sentences"]
    status, first, _ = call(*score, cache="here")
    assert status == 0
    export, as_json = str(tmp_path / "export.jsonl"), ("--format", "json")
    _, out, _ = call("judgments", "export", export, *as_json, cache="here")
    assert json.loads(out) == [{"file": export, "replies": 2}]
    _, out, _ = call("judgments", "import", export, *as_json, cache="there")
    assert json.loads(out) == [{"file": export, "added": 2, "known": 0}]
    _, out, _ = call("judgments", "list", *as_json, cache="there")
    assert [row["replies"] for row in json.loads(out)] == [2]
    # Offline: there is no key, and opening a connection fails.
    monkeypatch.delenv("OPENAI_API_KEY")
    monkeypatch.setattr("socket.socket.connect", None)
    status, second, _ = call(*score, cache="there")
    assert status == 0
    assert _timeless(first) == _timeless(second)
    assert len(server.bodies) == 2


def _timeless(text: str) -> Any:
    """Return the document without wall times and request counts."""
    record = json.loads(text)
    for members in record["audits"].values():
        for member in members:
            del member["seconds"], member["requests"]
    return record


def test_clear_lines_for_bad_input(
    call: Call, files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai")
    metric = ("-m", "llm-s:model=gpt-6-luna")
    with monkeypatch.context() as patch:
        patch.delenv("OPENAI_API_KEY")
        status, out, err = call("score", *files, *metric)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("gecjury: no key for OpenAI: set $OPENAI_API_KEY")
    # The failed run left no store without replies.
    assert not list((tmp_path / "c" / "judgments").iterdir())
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, "openai", None)
        status, _, err = call("score", *files, *metric)
    assert (status, err.count("\n"), install_hint("judges") in err) == (2, 1, True)
    status, _, err = call("judgments", "export", str(tmp_path / "x"), cache="none")
    assert (status, err.count("\n"), "no stored judgments" in err) == (2, 1, True)
    identity = Identity("openai", "gpt-6-luna", "", load_wording("sentence").id)
    store_path(tmp_path / "c" / "judgments", identity).write_text("{}\n")
    status, _, err = call("score", *files, *metric)
    assert (status, "not a store of judgments" in err) == (2, True)


@pytest.mark.security
def test_server_messages_cannot_control_the_terminal(
    call: Call, serve: Serve, files: list[str]
) -> None:
    said = "no \x1b]0;owned\x07 such\r\ngecjury: all is well \x9b31m \u202e model"
    server = serve(lambda number, body: Said(400, {"error": {"message": said}}))
    status, out, err = call("score", *files, "-m", f"llm-s:model=m\x1b[2J,base_url={server.url}")
    assert status != 0
    assert "owned" in err
    assert not any(c in out + err for c in "\x1b\x07\x9b\u202e\r")
    assert not any(line.startswith("gecjury: all is well") for line in err.splitlines())
    server = serve(lambda number, body: completion(body, said))
    _, out, err = call("score", *files, "-m", f"llm-s:model=m,base_url={server.url},tries=1")
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
def test_a_planted_bias_and_invalid_replies_are_shown(call: Call, serve: Serve) -> None:
    metric = f"llm-s:model=gpt-4o,protocol=pairwise,orders=2,tries=1,base_url={serve(longer).url}"
    argv = ["compare", "sample", "-m", metric, "--limit", "15", "--level", "sentence"]
    argv += ["--resample", "sentences", "--resamples", "200"]
    status, out, err = call(*argv, "--format", "json")
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


def test_another_model_is_named_without_verbose(call: Call, serve: Serve, files: list[str]) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        said = completion(body, json.dumps({"score": 3}))
        said.body["model"] = "gemma-3-1b-it"
        return said

    metric = f"llm-s:model=a+b,protocol=pointwise,base_url={serve(behave).url}"
    status, out, err = call("score", *files, "-m", metric)
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    assert "llm-s: answered by gemma-3-1b-it (4); valid replies 4 of 4" in said
    assert "agreement is not measured: gemma-3-1b-it answered for several of its models" in said
    assert "a: according to the server, gemma-3-1b-it wrote 4 of 4 replies" in said
    assert "α" not in out


def test_score_prints_an_audit_when_asked(call: Call, serve: Serve, files: list[str]) -> None:
    metric = f"llm-s:model=m,orders=2,base_url={serve().url}"
    status, out, err = call("score", *files, "-m", metric, "--audit")
    assert (status, err) == (0, "")
    assert re.search(r"flips when reordered +0\.0% of 2 \(by chance \d+\.\d%\)", out)
    assert "flips when reordered" not in call("score", *files, "-m", metric)[1]
    status, _, err = call("score", *files, "-m", "changes", "--audit")
    assert (status, "--audit: none of the metrics named asks a model" in err) == (2, True)


def test_a_panel_says_how_far_its_models_agree(call: Call, serve: Serve, files: list[str]) -> None:
    def graded(number: int, body: dict[str, Any]) -> Said:
        # One model gives 4 for "goes" and 2 otherwise, the other always 1 more.
        target = re.findall(r"# correction\n.*\n(.*)\n", body["messages"][0]["content"])[0]
        score = (4 if "goes" in target else 2) + (body["model"] == "b")
        return completion(body, json.dumps({"score": score}))

    metric = f"llm-s:model=a+b,protocol=pointwise,base_url={serve(graded).url}"
    # Units (4, 5), (2, 3), (4, 5) and (2, 3): observed 8 · 1 over 8 values; expected, over
    # 4 5 2 3 4 5 2 3, twice the squares of its 28 pairs, 2 · (64 · 1.25) = 160, over 8 · 7:
    # α = 1 − (8 / 8) / (160 / 56) = .65. Mid-ranks 5 7 1 3: the same, four times as large.
    status, out, err = call("score", *files, "-m", metric, "--verbose")
    assert (status, err) == (0, "")
    assert re.search(r"panel\s+Krippendorff's α\s+ordinal 0.650, interval 0.650 over 4", out)


def test_a_prompt_is_printed_as_a_starting_point(capsys: pytest.CaptureFixture[str]) -> None:
    for metric, prompt in (
        ("llm-s:protocol=pointwise", prompt_text("pointwise")),
        ("edit-verdict:criterion=Judge the grammar.", prompt_text("edit-verdict", 3)),
    ):
        assert main(["judgments", "prompt", metric]) == 0
        assert capsys.readouterr().out == prompt
    assert main(["judgments", "prompt", "gleu"]) == 2
    assert "gleu does not ask a model; name a judge" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("protocol", "prompt", "more"),
    [
        ("listwise", "sentence", ""),
        ("pairwise", "pairwise", ""),
        ("pointwise", "pointwise", ",reason=true,criterion=fluency"),
    ],
)
def test_replies_to_a_prompt_of_ones_own_are_shown_as_cards(
    call: Call,
    serve: Serve,
    files: list[str],
    tmp_path: Path,
    protocol: str,
    prompt: str,
    more: str,
) -> None:
    own, page = tmp_path / "own.txt", tmp_path / "page.html"
    usual = prompt_text(prompt).replace("name: ", "name: my-", 1)
    own.write_text(usual.replace("\n---\n", "\n---\nPlease.\n"))
    judge = f"llm-s:protocol={protocol},model=tiny,base_url={serve().url},prompt={own}{more}"
    assert call("rank", *files, "-m", judge)[0] == 0
    own.write_text("This file may be changed later.")
    assert call("judgments", "show", "--html", str(page))[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "<ins>goes</ins>" in text
    assert "Please." not in text
    assert "cannot be extracted" not in text
    # A copy that is not the prompt is not used.
    [copy] = (tmp_path / "c" / "judgments" / "prompts").iterdir()
    copy.write_text(copy.read_text().replace("Please.", ""))
    assert call("judgments", "show", "--html", str(page))[0] == 0
    text = page.read_text(encoding="utf-8")
    assert "Please." in text
    assert "and not kept with the replies" in text
