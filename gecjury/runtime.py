"""How a run is carried out: device, batches, workers, caches, progress, keys.

Never what is computed. Everything that is printed or kept passes through `masked` or
`public_address` where a key may be among it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeVar

from gecjury.errors import OptionError

__version__ = "0.1.0"

_T = TypeVar("_T")


class Bar(Protocol):
    """One task's progress."""

    def advance(self, steps: float = 1) -> None:
        """Report steps done."""

    def note(self, text: str) -> None:
        """Show a short remark beside the bar, e.g. the cost so far."""


class Progress(Protocol):
    """Where long work reports how far it is."""

    def task(self, description: str, total: float | None = None) -> AbstractContextManager[Bar]:
        """Open a bar; it closes with the context."""


class SilentBar:
    """Shows nothing."""

    def advance(self, steps: float = 1) -> None:
        """Take note of nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""


class SilentProgress:
    """Reports nothing: the default of the Python interface."""

    def task(self, description: str, total: float | None = None) -> AbstractContextManager[Bar]:
        """Open a bar that shows nothing."""
        return nullcontext(SilentBar())


@dataclass
class Spending:
    """What a run has cost so far, over all its scorers; the one thing of a runtime that changes."""

    amount: float = 0.0


@dataclass(frozen=True)
class Runtime:
    """Everything that may change speed, cost or place of a run, but no score.

    Attributes:
        device: `auto`, `cpu`, `cuda`, `cuda:1` or `mps`.
        batch_size: texts encoded at once by neural scorers.
        workers: processes for work that can be split (1: none are started).
        concurrency: requests under way at once for scorers that ask a server.
        cache: folder of disk caches; None for the user's cache folder.
        use_cache: whether disk caches are read and written at all.
        dry_run: count what would be asked and its cost, and ask nothing.
        max_cost: stop before this cost (in the price table's currency) is crossed.
        prices: table of models to use instead of the package's.
        price: what a million tokens read and a million tokens written cost, of every model that
            is asked; None for the table's prices.
        api_key_env: the environment's variable with the key for servers that are not OpenAI's;
            None sends them none.
        batch: ask servers for batches, which cost less and may take a day.
        scores: folder of score files, which scorers made of other scorers read and write.
        progress: where long work reports.
        spending: counts towards `max_cost`.
    """

    device: str = "auto"
    batch_size: int = 64
    workers: int = 1
    concurrency: int = 32
    cache: Path | None = None
    use_cache: bool = True
    dry_run: bool = False
    max_cost: float | None = None
    prices: Path | None = None
    price: tuple[float, float] | None = None
    api_key_env: str | None = None
    batch: bool = False
    scores: Path | None = None
    progress: Progress = field(default_factory=SilentProgress)
    spending: Spending = field(default_factory=Spending, compare=False)

    def cache_folder(self, *parts: str) -> Path:
        """The folder for a disk cache (not created here)."""
        if self.cache is None:
            import platformdirs

            root = Path(platformdirs.user_cache_dir("gecjury", appauthor=False))
        else:
            root = self.cache
        return root.joinpath(*parts)

    def track(
        self, items: Iterable[_T], description: str, total: float | None = None
    ) -> Iterator[_T]:
        """Yield the items, reporting each as one step."""
        with self.progress.task(description, total) as bar:
            for item in items:
                yield item
                bar.advance()


KEY_VARIABLE = "OPENAI_API_KEY"
"""Of the key for OpenAI."""

SERVER_VARIABLE = "OPENAI_BASE_URL"
"""Of the server that is asked where none is named."""

OPENAI_ADDRESS = "https://api.openai.com/v1"
"""Of OpenAI itself, which signatures and stores write as no address."""

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
    """An address as it may be shown and kept: without user, password, query and fragment.

    Args:
        url: one address, or several joined by `+`.
    """
    parts = re.split(r"\+(?=https?://)", url)
    return "+".join(_QUERY.sub("", _without_user(part)) for part in parts)


def check_address(url: str) -> str:
    """What is wrong with an HTTP address; empty where nothing is.

    The answer quotes nothing of the address, in which keys may stand.
    """
    import urllib.parse

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
    """What in an address must not be shown: user, password and the values of its query."""
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
    found = [user, password, *values]
    if user:
        found.append(base64.b64encode(basic.encode()).decode())
    return tuple(filter(None, found))


def masked(text: str, secrets: Iterable[str] = (), *, addresses: bool = True) -> str:
    """A text without keys.

    Masked are the secrets given, the values of the environment's variables that are called a key
    (`*API_KEY`), each also as an address or a JSON text writes it, and what stands for a key in
    any address.

    Args:
        text: what is to be shown or kept.
        secrets: keys beside those of the environment; those of less than 8 characters are left.
        addresses: whether keys in addresses that are not known are masked as well: in messages,
            not in what somebody wrote.
    """
    import json
    import urllib.parse

    named = [value for name, value in os.environ.items() if name.endswith("API_KEY")]
    found: set[str] = set()
    for secret in (*secrets, *named):
        plain = secret.strip()
        forms = {plain, *plain.split(), urllib.parse.unquote(plain)}
        forms |= {urllib.parse.quote(plain, safe=""), json.dumps(plain)[1:-1], repr(plain)[1:-1]}
        found |= {form for form in forms if len(form) >= _SHORTEST}
    for secret in sorted(found, key=len, reverse=True):
        text = text.replace(secret, MASK)
    return _NAMED.sub(rf"\g<1>{MASK}", _without_user(text)) if addresses else text


def default_server() -> str:
    """The server that `$OPENAI_BASE_URL` says; empty where that is OpenAI or nothing."""
    url = os.environ.get(SERVER_VARIABLE, "").strip()
    return "" if url.rstrip("/") == OPENAI_ADDRESS else url


def key_variable(url: str, named: str | None) -> str | None:
    """The variable whose key an address may be sent; None where it gets none.

    Args:
        url: the address; empty for OpenAI. What `$OPENAI_BASE_URL` says gets OpenAI's key: who
            sets the one for this machine sets the other.
        named: the variable that the user named for other addresses.
    """
    if not url or _OPENAI.match(url) or url == default_server():
        return KEY_VARIABLE
    return named


def read_key(variable: str) -> str:
    """The key that a variable of the environment holds; empty if it is not set.

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


@contextmanager
def silenced(*handles: int) -> Iterator[None]:
    """Send to nowhere what parts in C++ and Rust write to the process's own outputs.

    Args:
        *handles: 1 for stdout, 2 for stderr.
    """
    with ExitStack() as stack:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        stack.callback(os.close, nowhere)
        for handle in handles:
            with suppress(OSError):  # there is none
                kept = os.dup(handle)
                stack.callback(os.close, kept)
                stack.callback(os.dup2, kept, handle)
                os.dup2(nowhere, handle)
        yield
