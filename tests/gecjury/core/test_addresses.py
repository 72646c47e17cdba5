"""Keys are masked in all shown text, and possible keys are removed from addresses."""

from __future__ import annotations

import pytest

from gecjury.core.addresses import (
    is_loopback,
    masked,
    proxy_for,
    public_address,
    read_key,
    secrets_of,
)
from gecjury.core.errors import OptionError

pytestmark = pytest.mark.security

KEY = "sk-secret/of+nobody"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("", ""),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("http://a/v1+http://b/v1", "http://a/v1+http://b/v1"),
        ("x+y", "x+y"),
        ("http://user:KEY@host/v1", "http://host/v1"),
        ("http://KEY@host:80/v1", "http://host:80/v1"),
        ("http://user:KE/Y@host/v1", "http://host/v1"),
        ("http://user:KE+Y@host/v1+https://KEY@b/v1?k=KEY", "http://host/v1+https://b/v1"),
        ("http://host/v1?api_key=KEY#KEY", "http://host/v1"),
        ("http://host/v1?api_key=KEY+http://b?KEY", "http://host/v1+http://b"),
    ],
)
def test_an_address_is_shown_without_its_key(url: str, shown: str) -> None:
    assert public_address(url) == shown
    assert public_address(shown) == shown


def test_secrets_of_an_address() -> None:
    assert secrets_of("http://host/v1") == ()
    secrets = secrets_of("http://user:pass%2Fword@host/v1?a=first&b=second")
    assert set(secrets) >= {"user", "pass%2Fword", "first", "second", "dXNlcjpwYXNzL3dvcmQ="}


@pytest.mark.parametrize(
    "text", ["{}", "Bearer {}", '{{"error": "key {} is wrong"}}', "a{}b", "{}\n{}"]
)
def test_keys_are_masked(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("OTHER_API_KEY", KEY)
    for form in (KEY, "sk-secret%2Fof%2Bnobody"):
        assert masked(text.format(form, form)) == text.format("[key]", "[key]")
    assert masked(text.format("sk-given-key", ""), ["sk-given-key"]) == text.format("[key]", "")


def test_text_without_secrets_is_unchanged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    text = 'none of {"score": 1} a@b http://host/v1?page=2 http://host/@me'
    assert masked(text, ["", "1"]) == text


def test_unknown_keys_in_addresses() -> None:
    text = "no answer from http://user:KEY@host/v1?api_key=KEY&x=1, http://b"
    assert masked(text) == "no answer from http://host/v1?api_key=[key]&x=1, http://b"
    assert masked(text, addresses=False) == text


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("sk-secret\nkey", "a line break"),
        ("“sk-secret”", r"U\+201C"),
        ("sk secret", r"U\+0020"),
        ("sk-é", r"U\+00E9"),
    ],
)
def test_malformed_keys_are_refused(monkeypatch: pytest.MonkeyPatch, key: str, said: str) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", key)
    text = rf"the key in \$OPENAI_API_KEY contains (the character )?{said}"
    with pytest.raises(OptionError, match=text) as error:
        read_key("OPENAI_API_KEY")
    assert "sk" not in str(error.value)


def test_white_space_around_a_key_is_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", " sk-key\n")
    assert read_key("OPENAI_API_KEY") == "sk-key"
    assert read_key("OPENAI_NO_KEY") == ""


@pytest.mark.parametrize(
    ("url", "own", "proxy"),
    [
        ("http://127.0.0.1:8000/v1", True, ""),
        ("http://127.1.2.3/v1", True, ""),
        ("http://localhost:1/v1", True, ""),
        ("http://a.localhost/v1", True, ""),
        ("http://[::1]:8000/v1", True, ""),
        ("http://0.0.0.0:8000/v1", True, ""),
        ("http://localhost.example/v1", False, "http://p:1"),
        ("http://10.0.0.1/v1", False, "http://p:1"),
        ("https://10.0.0.1/v1", False, "http://q:1"),
        ("http://inside.example:8000/v1", False, ""),
        ("http://[", False, ""),
    ],
)
def test_no_proxy_stands_before_an_address_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, url: str, own: bool, proxy: str
) -> None:
    for name, value in (
        ("http_proxy", "http://p:1"), ("all_proxy", "http://q:1"), ("no_proxy", "inside.example"),
    ):  # fmt: skip
        monkeypatch.setenv(name, value)
    for name in ("HTTP_PROXY", "ALL_PROXY", "NO_PROXY", "https_proxy", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    assert is_loopback(url) is own
    assert proxy_for(url) == proxy
