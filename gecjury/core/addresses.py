"""Addresses of servers and their API keys: which key an address may get, and what may be shown.

Everything that is printed or stored and may contain a key passes through `masked` or
`public_address`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress

from gecjury.core.errors import OptionError

KEY_VARIABLE = "OPENAI_API_KEY"
"""The variable with the key for OpenAI."""

SERVER_VARIABLE = "OPENAI_BASE_URL"
"""The variable with the server that is used when none is named."""

OPENAI_ADDRESS = "https://api.openai.com/v1"
"""The address of OpenAI itself, which signatures and stores write as an empty address."""

MASK = "[key]"
_OPENAI = re.compile(r"https://([a-z]+\.)?api\.openai\.com(:443)?(/|$)")

# Shorter values are not secrets (`EMPTY`, `none`, `1`), and masking them would damage the text.
_SHORTEST = 8
_USER = re.compile(r"(?<=://)[^/?#\s]*@")
# A key with a slash, which should have been written as %2F: the part before it is then not a host.
_BROKEN_USER = re.compile(r"(?<=://)[^/?#\s]*:(?!\d*/)[^\s]*@")
_QUERY = re.compile(r"[?#].*")
# In running text, the end of a query cannot be distinguished from the end of the sentence, so
# values are matched by their names.
_NAMED = re.compile(r"(?i)([?&](?:[\w-]*(?:key|token|secret|sig|password))=)[^&\s'\",;)]+")


def public_address(url: str) -> str:
    """Return an address that may be shown and stored: without user, password, query and fragment.

    Args:
        url: one address, or several joined by `+`.
    """
    parts = re.split(r"\+(?=https?://)", url)
    return "+".join(_QUERY.sub("", _without_user(part)) for part in parts)


def check_address(url: str) -> str:
    """Return what is wrong with an HTTP address; empty if nothing is.

    The answer quotes nothing of the address, since it may contain keys.
    """
    import urllib.parse

    # `urlsplit` drops some of these silently.
    if any(letter <= " " or letter == "\x7f" for letter in url):
        return "it has blanks or control characters"
    try:
        parts = urllib.parse.urlsplit(url)
        scheme, host = parts.scheme, parts.hostname
    except ValueError:
        return "its host cannot be read"
    if scheme not in ("http", "https"):
        return "it does not begin with http:// or https://"
    if not host:
        return "it names no host"
    try:
        port = parts.port
        if port == 0:
            raise ValueError
    except ValueError:
        return "its port is not a number from 1 to 65535"
    try:
        host.encode("idna")
    except UnicodeError:
        return "its host is not a valid name"
    return ""


def _without_user(text: str) -> str:
    return _BROKEN_USER.sub("", _USER.sub("", text))


def secrets_of(url: str) -> tuple[str, ...]:
    """Return the secrets in an address: user, password and the values of its query."""
    # Imported here and below because the command line does not need them at start.
    import base64
    import urllib.parse

    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return (url,)  # not an address, so any part of it may be a key
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    values = [value for _, value in urllib.parse.parse_qsl(parts.query)]
    basic = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}"
    secrets = [user, password, *values]
    if user:
        secrets.append(base64.b64encode(basic.encode()).decode())
    return tuple(filter(None, secrets))


def masked(text: str, secrets: Iterable[str] = (), *, addresses: bool = True) -> str:
    """Return a text without keys.

    The secrets given and the values of environment variables named `*API_KEY` are masked, also in
    the forms in which an address or a JSON text writes them. So are keys in any address.

    Args:
        text: text to be shown or stored.
        secrets: keys in addition to those of the environment; keys of less than 8 characters are
            left.
        addresses: True if unknown keys in addresses are masked as well: for messages, not for text
            that somebody wrote.
    """
    import json
    import urllib.parse

    named = [value for name, value in os.environ.items() if name.endswith("API_KEY")]
    forms: set[str] = set()
    for secret in (*secrets, *named):
        plain = secret.strip()
        written = {plain, *plain.split(), urllib.parse.unquote(plain)}
        written |= {urllib.parse.quote(plain, safe=""), json.dumps(plain)[1:-1], repr(plain)[1:-1]}
        forms |= {form for form in written if len(form) >= _SHORTEST}
    # The longest first, as a key may contain another one.
    for secret in sorted(forms, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _NAMED.sub(rf"\g<1>{MASK}", _without_user(text)) if addresses else text


def default_server() -> str:
    """Return the server of `$OPENAI_BASE_URL`; empty if that is OpenAI or not set."""
    url = os.environ.get(SERVER_VARIABLE, "").strip()
    return "" if url.rstrip("/") == OPENAI_ADDRESS else url


def is_openai(url: str) -> bool:
    """Return whether an address is OpenAI's own; an empty one means OpenAI."""
    return not url or _OPENAI.match(url) is not None


def is_loopback(url: str) -> bool:
    """Return whether an address is on this machine."""
    import ipaddress
    import urllib.parse

    with suppress(ValueError):
        host = urllib.parse.urlsplit(url).hostname or ""
        if host == "localhost" or host.endswith(".localhost"):
            return True
        address = ipaddress.ip_address(host)
        return address.is_loopback or address.is_unspecified
    return False


def proxy_for(url: str) -> str:
    """Return the proxy that requests to an address go through; empty if there is none.

    Proxies are those of the environment; none is used for an address on this machine.
    """
    import urllib.parse
    import urllib.request

    with suppress(ValueError):
        parts, proxies = urllib.parse.urlsplit(url), urllib.request.getproxies()
        if not is_loopback(url) and not urllib.request.proxy_bypass(
            parts.netloc.rpartition("@")[2]
        ):
            return proxies.get(parts.scheme) or proxies.get("all", "")
    return ""


def key_variable(url: str, named: str | None) -> str | None:
    """Return the variable whose key may be sent to an address; None if it gets no key.

    Args:
        url: the address; empty for OpenAI. The server of `$OPENAI_BASE_URL` gets OpenAI's key,
            since both variables are set by the same user.
        named: the variable that the user named for other addresses.
    """
    return KEY_VARIABLE if is_openai(url) or url == default_server() else named


def read_key(variable: str) -> str:
    """Return the key in a variable of the environment; empty if it is not set.

    Raises:
        OptionError: it contains a character that no key has (a line break, a curly quotation mark);
            the key itself is not shown.
    """
    key = os.environ.get(variable, "").strip()
    for place, letter in enumerate(key, 1):
        if not "!" <= letter <= "~":
            what = "a line break" if letter in "\r\n" else f"the character U+{ord(letter):04X}"
            raise OptionError(
                f"the key in ${variable} contains {what} (character {place} of {len(key)}), which "
                "no key has: set it again, without quotation marks around it"
            )
    return key
