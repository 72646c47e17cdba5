"""The user decides where keys and sentences are sent; a file never does."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gecjury.core.addresses import key_variable
from gecjury.core.errors import InputError, OptionError
from gecjury.core.runtime import Runtime
from gecjury.corpus.corpus import Corpus
from gecjury.judges.asking.store import Identity, store_path
from gecjury.judges.backends.openai import make_client
from gecjury.scoring.consent import Consent, powers_of, require_consent
from gecjury.scoring.registry import load
from tests.judges.faultserver import FaultServer, Said

pytestmark = pytest.mark.security

Serve = Callable[..., FaultServer]


def members(path: Path, *metrics: str) -> str:
    """Write a list of members, and return its name."""
    path.write_text("".join(f"{metric}\n" for metric in metrics))
    return str(path)


@pytest.mark.parametrize(
    ("url", "named", "variable"),
    [
        ("", None, "OPENAI_API_KEY"),
        ("", "OTHER", "OPENAI_API_KEY"),
        ("https://api.openai.com/v1", None, "OPENAI_API_KEY"),
        ("https://eu.api.openai.com/v1", None, "OPENAI_API_KEY"),
        ("https://own.example/v1", None, "OPENAI_API_KEY"),
        ("https://own.example.net/v1", None, None),
        ("https://api.openai.com.example.net/v1", None, None),
        ("https://api.openai.com@example.net/v1", None, None),
        ("http://api.openai.com/v1", None, None),
        ("http://127.0.0.1:8000/v1", None, None),
        ("http://127.0.0.1:8000/v1", "OTHER", "OTHER"),
    ],
)
def test_which_key_an_address_gets(
    monkeypatch: pytest.MonkeyPatch, url: str, named: str | None, variable: str | None
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "https://own.example/v1")
    assert key_variable(url, named) == variable


def test_the_server_in_the_variable_is_asked_and_named_and_has_its_own_store(
    serve: Serve, corpus: Corpus, runtime: Runtime, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve()
    address = server.url.replace("http://", "http://user:a-key-in-an-address@")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key-for-the-server")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    scorer = load("llm-s:model=tiny")
    plan = scorer.plan(corpus, runtime)
    assert plan is not None
    table = scorer.score_corpus(corpus, runtime)
    assert server.bodies
    assert f"base_url={server.url}" in str(table.signature)
    notes = [note for note in table.statistics.notes if "$OPENAI_BASE_URL" in note]
    assert notes == plan.details["notes"]
    assert len(notes) == 1
    assert server.url in notes[0]
    (store,) = runtime.cache_folder("judgments").glob("*.jsonl")
    head = json.loads(store.read_text().partition("\n")[0])
    assert head["identity"]["base_url"] == server.url
    assert "a-key-in-an-address" not in store.read_text() + str(table.signature) + notes[0]
    # With its address given, it is the same server, whose answers are stored.
    request_count = len(server.bodies)
    monkeypatch.delenv("OPENAI_BASE_URL")
    named = load(f"llm-s:model=tiny,base_url={server.url}").score_corpus(corpus, runtime)
    assert len(server.bodies) == request_count
    assert str(named.signature) == str(table.signature)
    assert not [note for note in named.statistics.notes if "$OPENAI_BASE_URL" in note]


def test_the_variable_fills_gaps_of_a_panel_and_affects_no_other_backend(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://own.example/v1")
    panel = load("llm-s:backend=openai+vllm,model=a+b")
    assert [model.base_url for model in panel.models()] == ["http://own.example/v1", ""]  # type: ignore[attr-defined]
    panel = load("llm-s:model=a+b,base_url=http://x/v1+")
    urls = [model.base_url for model in panel.models()]  # type: ignore[attr-defined]
    assert urls == ["http://x/v1", "http://own.example/v1"]
    assert load("llm-s:backend=vllm").settings()["base_url"] is None


@pytest.mark.parametrize(
    "address", [None, "", "https://api.openai.com/v1", "https://api.openai.com/v1/"]
)
def test_stores_made_for_openai_are_found(
    monkeypatch: pytest.MonkeyPatch, corpus: Corpus, runtime: Runtime, address: str | None
) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    if address is not None:
        monkeypatch.setenv("OPENAI_BASE_URL", address)
    scorer = load("llm-s:model=gpt-4o")
    assert scorer.settings()["base_url"] is None
    (model,) = scorer.models()  # type: ignore[attr-defined]
    question = scorer.questions(corpus, model, runtime)[0]  # type: ignore[attr-defined]
    path = store_path(Path(), Identity.of(question.request))
    assert question.request.base_url == ""
    assert path.name == "sentence.v1-gpt-4o-23d29ddcc28e.jsonl"
    # An empty address is always OpenAI's, whatever the client's own variable says.
    pytest.importorskip("openai")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-key-of-somebody")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://own.example/v1")
    assert str(make_client("", None).base_url) == "https://api.openai.com/v1/"


@pytest.mark.parametrize("named", [None, "MY_KEY"])
def test_a_server_gets_the_key_that_was_named_for_it_and_no_other(
    serve: Serve,
    corpus: Corpus,
    runtime: Runtime,
    named: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", "sk-key-of-this-server")
    server = serve()
    seen = replace(runtime, api_key_env=named)
    load(f"llm-s:model=tiny,base_url={server.url}").score_corpus(corpus, seen)
    wanted = "sk-key-of-this-server" if named else "none"
    assert server.authorizations == {f"Bearer {wanted}"}


def test_a_server_that_wants_a_key(serve: Serve, corpus: Corpus, runtime: Runtime) -> None:
    server = serve(lambda number, body: Said(401, {"error": {"message": "no"}}))
    with pytest.raises(OptionError, match=r"requires a key \(401\).*`api_key_env="):
        load(f"llm-s:model=tiny,base_url={server.url}").score_corpus(corpus, runtime)
    refused = replace(runtime, api_key_env="OPENAI_API_KEY")
    with pytest.raises(OptionError, match=r"refuses the key in \$OPENAI_API_KEY \(401\)"):
        load(f"llm-s:model=tiny,base_url={server.url}").score_corpus(corpus, refused)
    named = replace(runtime, api_key_env="NOT_SET_AT_ALL")
    with pytest.raises(OptionError, match="`api_key_env=NOT_SET_AT_ALL`: the variable is not set"):
        load(f"llm-s:model=tiny,base_url={server.url}").score_corpus(corpus, named)


def test_a_list_of_members_does_not_choose_the_server(serve: Serve, tmp_path: Path) -> None:
    server = serve()
    file = members(tmp_path / "x.txt", f"llm-s:model=tiny,base_url={server.url}")
    for allow in (False, True):
        with pytest.raises(OptionError, match=r"names a server .*`base_url=URL`"):
            load("jury", equal=file, allow_judges=allow)
    private = tmp_path / "private.tsv"
    private.write_text("a\tsecret\tb\n")
    for metric, words in (
        (f"llm-s:model=tiny,context={private}", "names a file whose lines would be sent"),
        ("valid:judge=edit-verdict[model=tiny]", "names a metric inside another"),
    ):
        file = members(tmp_path / "y.txt", metric)
        with pytest.raises(OptionError, match=words):
            load("jury", equal=file, allow_judges=True, base_url=server.url)
    assert not server.bodies


def test_no_signature_of_a_sum_has_the_key_of_an_address(corpus: Corpus) -> None:
    judge = "llm-s:base_url=http://user:SECRET@127.0.0.1:9/v1,model=m"
    signature = str(load("jury", equal=judge).signature(corpus))
    assert "127.0.0.1:9/v1" in signature
    assert "SECRET" not in signature


def test_a_judge_needs_consent_and_then_asks_the_named_server(
    serve: Serve, corpus: Corpus, runtime: Runtime, tmp_path: Path
) -> None:
    named, hostile = serve(), serve()
    for number, metric in enumerate(
        ("llm-s:model=tiny", f"llm-s:model=tiny,base_url={hostile.url}")
    ):
        file = members(tmp_path / f"{number}.txt", metric)
        with pytest.raises(
            OptionError, match=r"need your consent:\n  llm-s.*\n.*`allow_judges=True`"
        ):
            load("jury", equal=file, base_url=named.url)
        scorer = load("jury", equal=file, allow_judges=True, base_url=named.url)
        scorer.score_corpus(corpus, runtime)
    assert len(named.bodies) == 3  # the answers to the second sum are stored
    assert not hostile.bodies


def test_scores_outside_the_folder_need_consent_and_no_error_quotes_them(
    tmp_path: Path, corpus: Corpus
) -> None:
    private = tmp_path / "private.txt"
    private.write_text("root:x:0:0:a secret\nanother\n")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "near.txt").write_text(private.read_text())
    file = members(tmp_path / "shared" / "x.txt", f"scores:file={private}")
    with pytest.raises(OptionError, match=r"need your consent:\n.*reads .*private\.txt, outside"):
        load("jury", equal=file)
    near = members(tmp_path / "shared" / "y.txt", f"scores:file={tmp_path}/shared/near.txt")
    for scorer in (load("jury", equal=near), load("jury", equal=file, allow_judges=True)):
        with pytest.raises(InputError, match="these scores cannot be used here") as refused:
            scorer.score_corpus(corpus)
        assert "x:0:0" not in str(refused.value)
        assert "another" not in str(refused.value)


def test_consent_lists_every_member_of_a_panel_on_a_line_of_its_own(tmp_path: Path) -> None:
    panel = "llm-s:model=a+../b,backend=openai+vllm,base_url=https://x.example+"
    for folder in ("b", "own"):
        (tmp_path / folder).mkdir()
    with pytest.raises(OptionError) as refused, contextlib.chdir(tmp_path / "own"):
        require_consent("j.json", powers_of(panel, tmp_path / "own"), allowed=False)
    assert str(refused.value).split("\n") == [
        "j.json: these need your consent:",
        f"  {panel} sends the sentences to the language model a (https://x.example)",
        f"  {panel} runs the language model ../b, fetched if it is not cached",
        f"  {panel} reads ../b, outside {tmp_path / 'own'}",
        "To allow all of it, add `allow_judges=True`",
    ]
    # A line break in a name makes no entry.
    power = Consent("runs the code of a.py", who="a.py:f\n  green")
    with pytest.raises(OptionError, match=r"consent:\n  a\.py:f green runs the code of a\.py\nTo"):
        require_consent("j.json", [power], allowed=False)
