"""Guards of the pages: foreign host names and origins, large bodies, forged forms."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from typing import Any

import pytest
from starlette.testclient import TestClient

from gecjury.web import guards
from gecjury.web.annotate import annotate_app
from gecjury.web.guards import PageGuard, RequestRefused, read_form
from tests.gecjury.web.conftest import Browser

pytestmark = pytest.mark.security


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 200),
        ({"Host": "localhost:9999"}, 200),
        ({"Host": "127.0.0.1"}, 200),
        ({"Host": "evil.example"}, 403),
        ({"Host": "localhost.evil.example:8765"}, 403),
        ({"Host": "127.0.0.1:8765@evil.example"}, 403),
        ({"Host": "127.0.0.2"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://127.0.0.1:8765"}, 200),
        ({"Origin": "http://127.0.0.1:8766"}, 403),
        ({"Origin": "https://127.0.0.1:8765"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
    ],
)
def test_only_requests_from_pages_of_this_machine_are_answered(
    browser: Callable[..., Browser], headers: dict[str, str], status: int
) -> None:
    page = browser()
    port = headers.get("Host", "127.0.0.1:8765").partition(":")[2] or "80"
    headers = {**headers, "Cookie": f"gecjury-{port}={page.app.secret}"}
    assert page.client.get("/", headers=headers).status_code == status


@pytest.fixture
def stranger(browser: Callable[..., Browser]) -> TestClient:
    """A browser that has not opened the printed address; `stranger.app` is the guard."""
    app = annotate_app(browser().study)
    return TestClient(app, base_url="http://127.0.0.1:8765", follow_redirects=False)


def test_requests_without_the_secret_are_refused(stranger: TestClient) -> None:
    secret = stranger.app.secret  # type: ignore[attr-defined]
    refused = [
        stranger.get("/"),
        stranger.get("/overview"),
        stranger.get("/static/web.css"),
        stranger.get("/", params={"secret": secret[:-1]}),
        stranger.get("/", params={"secret": ""}),
        stranger.get("/", params={"secret": "é"}),
        stranger.get("/judge", params={"secret": secret, "as": "eve"}),
        stranger.post("/begin", data={"secret": secret, "as": "eve"}),
        stranger.get("/", headers={"Cookie": "gecjury-8765="}),
        stranger.get("/", headers={"Cookie": f"gecjury-8765={secret}x"}),
        stranger.get("/", headers={"Cookie": f"gecjury-8766={secret}"}),
    ]
    for response in refused:
        assert response.status_code == 403
        assert "open the address that the program printed" in response.text
        assert "set-cookie" not in response.headers
    response = stranger.get("/overview", headers={"Accept": "application/json"})
    assert (response.status_code, response.json()["kind"]) == (403, "secret")


def test_the_secret_becomes_a_cookie_and_leaves_the_address_bar(stranger: TestClient) -> None:
    secret = stranger.app.secret  # type: ignore[attr-defined]
    for _ in range(2):  # it lets in any number of browsers
        stranger.cookies.clear()
        response = stranger.get("/", params={"secret": secret})
        assert (response.status_code, response.headers["location"]) == (303, "/")
        name, *rest = response.headers["set-cookie"].split("; ")
        assert name == f"gecjury-8765={secret}"
        assert set(rest) == {"Path=/", "HttpOnly", "SameSite=Strict"}
        page = stranger.get("/")
        assert page.status_code == 200
        assert secret not in page.text
    # The address of an earlier run also leads to the page.
    response = stranger.get("/", params={"secret": "of an earlier run"})
    assert (response.status_code, response.headers["location"]) == (303, "/")


def test_a_link_on_another_site_opens_the_page_through_a_refresh(stranger: TestClient) -> None:
    headers = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Dest": "document"}
    secret = stranger.app.secret  # type: ignore[attr-defined]
    response = stranger.get("/", params={"secret": secret}, headers=headers)
    assert (response.status_code, response.headers["refresh"]) == (200, "0; url=/")
    assert secret not in response.text
    assert stranger.get("/").status_code == 200


def test_the_one_time_secret_works_once(stranger: TestClient) -> None:
    once = stranger.app.one_time_secret  # type: ignore[attr-defined]
    assert stranger.get("/", params={"secret": once}).status_code == 303
    assert once not in stranger.cookies.values()
    assert stranger.get("/").status_code == 200
    stranger.cookies.clear()
    assert stranger.get("/", params={"secret": once}).status_code == 403
    assert stranger.get("/", params={"secret": ""}).status_code == 403


def test_secrets_are_compared_in_constant_time(
    stranger: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    compared: list[bytes] = []
    real = secrets.compare_digest

    def compare(one: bytes, other: bytes) -> bool:
        compared.append(one)
        return real(one, other)

    monkeypatch.setattr(secrets, "compare_digest", compare)
    stranger.get("/", params={"secret": "guess"})
    stranger.get("/", headers={"Cookie": "gecjury-8765=another"})
    assert {b"guess", b"another"} <= set(compared)


@pytest.mark.parametrize("address", ["/", "/judge?as=anna", "/nothing", "/static/web.css"])
def test_every_response_has_the_security_headers(
    browser: Callable[..., Browser], address: str
) -> None:
    for headers in ({}, {"Host": "evil.example"}):
        sent = browser().client.get(address, headers=headers).headers
        assert sent["content-security-policy"] == guards.POLICY
        assert "unsafe" not in guards.POLICY
        assert sent["x-content-type-options"] == "nosniff"
        assert sent["x-frame-options"] == "DENY"
        assert not [name for name in sent if name.startswith("access-control")]


def test_forms_need_the_token_of_this_run(browser: Callable[..., Browser]) -> None:
    page = browser()
    for token in ("", "wrong", "é"):
        response = page.send("answer", token=token, item="1.1", value0="1")
        assert (response.status_code, response.json()["kind"]) == (403, "token")
    assert page.study.journal.answers() == []


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none"])
def test_forms_from_other_sites_are_refused_even_with_the_token(
    browser: Callable[..., Browser], site: str
) -> None:
    page = browser()
    data = {"token": page.study.token, "as": "anna"}
    response = page.client.post("/undo", data=data, headers={"Sec-Fetch-Site": site})
    assert response.status_code == 403


def test_pages_of_other_sites_get_no_page(browser: Callable[..., Browser]) -> None:
    page = browser()
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    for address in ("/judge?as=anna", "/overview"):
        for into in ("empty", "image", "iframe", "document"):
            response = page.client.get(address, headers={**foreign, "Sec-Fetch-Dest": into})
            assert response.status_code == 403
    assert page.client.get("/", headers={**foreign, "Sec-Fetch-Dest": "iframe"}).status_code == 403
    linked = {**foreign, "Sec-Fetch-Dest": "document"}
    assert page.client.get("/", headers=linked).status_code == 200
    typed = {"Sec-Fetch-Site": "none", "Sec-Fetch-Dest": "document"}
    assert page.client.get("/judge?as=anna", headers=typed).status_code == 200
    assert page.answer().status_code == 200


def test_large_bodies_are_refused_before_they_are_read(browser: Callable[..., Browser]) -> None:
    page = browser()
    response = page.client.post("/answer", content=b"x" * (guards.MOST_BODY + 1))
    assert response.status_code == 413
    # A chunked body without a length.
    response = page.client.post("/answer", content=(b"x" * 100_000 for _ in range(30)))
    assert response.status_code == 413
    assert page.client.put("/answer", content=b"").status_code == 405


def test_a_body_that_does_not_arrive_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guards, "_PATIENCE", 0.01)
    sent: list[Any] = []

    async def never() -> dict[str, Any]:
        await asyncio.sleep(10)
        raise AssertionError

    async def send(message: Any) -> None:
        sent.append(message)

    async def app(scope: Any, receive: Any, send: Any) -> None:
        raise AssertionError("the request was passed on")

    guard = PageGuard(app)
    headers = [(b"host", b"localhost"), (b"cookie", f"gecjury-80={guard.secret}".encode())]
    scope = {"type": "http", "method": "POST", "path": "/", "headers": headers}
    asyncio.run(guard(scope, never, send))
    assert sent[0]["status"] == 408


@pytest.mark.parametrize("body", [b"\xff", b"a=%ff", b"&".join([b"a=1"] * 3000)])
def test_invalid_forms_are_refused(body: bytes) -> None:
    with pytest.raises(RequestRefused):
        read_form(body, "t")


def test_fields_have_a_maximum_length() -> None:
    form = read_form(b"token=t&a=" + b"x" * 300, "t")
    assert len(form("a", 300)) == 300
    with pytest.raises(RequestRefused, match="expected at most 200"):
        form("a")


def test_typed_text_is_escaped(browser: Callable[..., Browser]) -> None:
    page = browser(name="<script>alert(1)</script>")
    assert page.answer(comment='"><img src=x onerror=alert(1)>').status_code == 200
    for address in ("/", "/overview", f"/judge?as={page.name}"):
        text = page.client.get(address).text
        assert "<script>alert" not in text
        assert "<img" not in text
    assert "&lt;script&gt;alert(1)" in page.client.get("/overview").text
