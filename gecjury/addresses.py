"""Addresses of servers and the keys for them: which key an address may have, and what is shown.

Everything that is printed or kept passes through `masked` or `public_address` where a key may be
among it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from gecjury.errors import OptionError

KEY_VARIABLE = "OPENAI_API_KEY"
"""The variable with the key for OpenAI."""

SERVER_VARIABLE = "OPENAI_BASE_URL"
"""The variable with the server that is asked where none is named."""

OPENAI_ADDRESS = "https://api.openai.com/v1"
"""The address of OpenAI itself, which signatures and stores write as no address."""

MASK = "[key]"
_OPENAI = re.compile(r"https://([a-z]+\.)?api\.openai\.com(:443)?(/|$)")

# Shorter ones are no secrets (`EMPTY`, `none`, `1`), and masking them would damage what is read.
_SHORTEST = 8
_USER = re.compile(r"(?<=://)[^/?#\s]*@")
# A key with a slash, which belongs written as %2F: what stands before it is then no host.
_BROKEN_USER = re.compile(r"(?<=://)[^/?#\s]*:(?!\d*/)[^\s]*@")
_QUERY = re.compile(r"[?#].*")
# In running text a query's end cannot be told from the sentence's, so that values go by name.
_NAMED = re.compile(r"(?i)([?&](?:[\w-]*(?:key|token|secret|sig|password))=)[^&\s'\",;)]+")


def public_address(url: str) -> str:
    """Return an address as it may be shown and kept: without user, password, query and fragment.

    Args:
        url: one address, or several joined by `+`.
    """
    parts = re.split(r"\+(?=https?://)", url)
    return "+".join(_QUERY.sub("", _without_user(part)) for part in parts)


def check_address(url: str) -> str:
    """Return what is wrong with an HTTP address; empty where nothing is.

    The answer quotes nothing of the address, in which keys may stand.
    """
    import urllib.parse

    # `urlsplit` drops some of these without a word.
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
        return "its port is no number from 1 to 65535"
    try:
        host.encode("idna")
    except UnicodeError:
        return "its host is no name"
    return ""


def _without_user(text: str) -> str:
    return _BROKEN_USER.sub("", _USER.sub("", text))


def secrets_of(url: str) -> tuple[str, ...]:
    """Return what in an address must not be shown: user, password and the values of its query."""
    # Here and below: what the command line need not import before anything is asked.
    import base64
    import urllib.parse

    try:
        parts = urllib.parse.urlsplit(url)
    except ValueError:
        return (url,)  # not an address, so that nothing in it can be told from a key
    user, _, password = parts.netloc.rpartition("@")[0].partition(":")
    values = [value for _, value in urllib.parse.parse_qsl(parts.query)]
    basic = f"{urllib.parse.unquote(user)}:{urllib.parse.unquote(password)}"
    secrets = [user, password, *values]
    if user:
        secrets.append(base64.b64encode(basic.encode()).decode())
    return tuple(filter(None, secrets))


def masked(text: str, secrets: Iterable[str] = (), *, addresses: bool = True) -> str:
    """Return a text without keys.

    Masked are the secrets given, the values of the environment's variables that are called a key
    (`*API_KEY`), each also as an address or a JSON text writes it, and what stands for a key in
    any address.

    Args:
        text: text to be shown or kept.
        secrets: keys beside those of the environment; those of less than 8 characters are left.
        addresses: True if keys in addresses that are not known are masked as well: in messages,
            not in what somebody wrote.
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
    # The longest first, as a key may hold another one.
    for secret in sorted(forms, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _NAMED.sub(rf"\g<1>{MASK}", _without_user(text)) if addresses else text


def default_server() -> str:
    """Return the server of `$OPENAI_BASE_URL`; empty where that is OpenAI or nothing."""
    url = os.environ.get(SERVER_VARIABLE, "").strip()
    return "" if url.rstrip("/") == OPENAI_ADDRESS else url


def is_openai(url: str) -> bool:
    """Return whether an address is OpenAI's own; an empty one stands for it."""
    return not url or _OPENAI.match(url) is not None


def key_variable(url: str, named: str | None) -> str | None:
    """Return the variable whose key an address may be sent; None where it gets none.

    Args:
        url: the address; empty for OpenAI. What `$OPENAI_BASE_URL` says gets OpenAI's key: who
            sets the one for this machine sets the other.
        named: the variable that the user named for other addresses.
    """
    return KEY_VARIABLE if is_openai(url) or url == default_server() else named


def read_key(variable: str) -> str:
    """Return the key in a variable of the environment; empty if it is not set.

    Raises:
        OptionError: it holds what no key can (a line break, a curly quotation mark); the key
            itself is not shown.
    """
    key = os.environ.get(variable, "").strip()
    for place, letter in enumerate(key, 1):
        if not "!" <= letter <= "~":
            what = "a line break" if letter in "\r\n" else f"the character U+{ord(letter):04X}"
            raise OptionError(
                f"the key in ${variable} holds {what} (character {place} of {len(key)}), which no "
                "key has: set it anew, without quotation marks around it"
            )
    return key
