"""No key is printed or stored: keys in replies, errors and addresses are masked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gecjury.cli import main
from gecjury.core.errors import GecjuryError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.scoring.registry import load
from gecjury.scoring.score_files import score_with_files
from tests.judges.faultserver import FaultServer, Said, completion, sound_reply

pytestmark = pytest.mark.security

Serve = Callable[..., FaultServer]
KEY = "sk-test-key-of-nobody"


def written(folder: Path) -> str:
    """Return everything that was written, including the names of files."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return "\n".join(map(str, files)) + "".join(path.read_text("latin-1") for path in files)


def test_a_key_that_a_reply_quotes_is_masked_in_the_store(
    serve: Serve, corpus: Corpus, runtime: Runtime, tmp_path: Path
) -> None:
    def behave(number: int, body: dict[str, Any]) -> Said:
        return completion(body, f"You sent Bearer {KEY}. {sound_reply(body)}")

    server = serve(behave)
    table = load(f"llm-s:model=tiny,base_url={server.url}").score_corpus(corpus, runtime)
    assert not any(score != score for score in table.sentences.ravel())
    assert KEY not in written(tmp_path)
    assert "Bearer [key]" in written(tmp_path)


@pytest.mark.parametrize("status", [200, 400, 404])
def test_a_key_that_an_error_quotes_is_masked(
    serve: Serve,
    corpus: Corpus,
    runtime: Runtime,
    status: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gecjury.judges.backends.openai.backoff", lambda *arguments: 0.001)
    # The longer text is cut in the middle of the key.
    for before in ("", "x" * 285):
        text = f"{before} {KEY}"
        server = serve(lambda n, b, text=text: Said(status, {"error": {"message": text}}, raw=(
            text.encode() if status == 200 else None)))  # fmt: skip
        with pytest.raises(GecjuryError) as error:
            load(f"llm-s:model=tiny,base_url={server.url},tries=1").score_corpus(corpus, runtime)
        assert "sk-test" not in str(error.value)


@pytest.mark.parametrize("form", ["http://user:{}@{}", "http://{}@{}", "http://{1}?api_key={0}"])
def test_a_key_in_an_address_is_used_and_never_shown(
    serve: Serve,
    corpus: Corpus,
    runtime: Runtime,
    tmp_path: Path,
    form: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    server = serve()
    key = "a-key-in-an-address"
    address = form.format(key, server.url.removeprefix("http://"))
    scorer = load(f"llm-s:model=tiny,base_url={address}")
    table = score_with_files(scorer, corpus, tmp_path / "scores", runtime)
    assert len(server.bodies) == 3
    assert key not in str(table.signature) + table.signature.label + repr(scorer)
    assert key not in written(tmp_path)
    assert table.signature.settings["base_url"] == server.url

    source = tmp_path / "source.txt"
    source.write_text("I likes cats .\n")
    for words, status in (("model=tiny", 0), ("model=tiny,bogus", 2), ("temperature=9", 2)):
        argv = ["score", str(source), str(source), "--cache", str(tmp_path / "cache")]
        assert main([*argv, "-m", f"llm-s:base_url={address},{words}"]) == status
    said = capsys.readouterr()
    assert key not in said.out + said.err
    assert key not in written(tmp_path)


@pytest.mark.parametrize("key", ["sk-secret\nkey", "“sk-secret”"])
def test_a_header_error_shows_no_key(
    serve: Serve,
    corpus: Corpus,
    runtime: Runtime,
    monkeypatch: pytest.MonkeyPatch,
    key: str,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    with pytest.raises(GecjuryError, match=r"the key in \$OPENAI_API_KEY contains") as error:
        load("llm-s:model=gpt-4o").score_corpus(corpus, runtime)
    assert "secret" not in str(error.value)


def test_an_invalid_address_is_reported_without_its_key(corpus: Corpus, runtime: Runtime) -> None:
    scorer = load("llm-s:model=tiny,base_url=http://user:a-long-key@host:no/v1")
    with pytest.raises(GecjuryError, match="is not an address") as error:
        scorer.score_corpus(corpus, runtime)
    assert "a-long-key" not in str(error.value)
