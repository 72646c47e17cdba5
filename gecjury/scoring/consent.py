"""Consent to what the metrics of a file do.

A study or a list of members may come from somebody else, and a metric can run code, send
sentences and read any file. Whatever a file's metrics do beyond scoring with what lies beside the
file is listed once, and refused unless the user allows it. The command line and Python need no
consent: there, the user names the metrics.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gecjury.core.addresses import default_server, public_address
from gecjury.core.errors import OptionError
from gecjury.core.textfiles import lies_in, user_path
from gecjury.core.wording import listed
from gecjury.scoring.abilities import NamesMetrics
from gecjury.scoring.options import is_own_file, metric_options, nested, parse, split_name
from gecjury.scoring.registry import load, metric_names, scorer_class

_PACKAGED = ("embedded", "embedded-some")
_OWN_TAGGERS = ("embedded", "cherrant", "none")
# Options of judges whose files are not sent.
_KEPT = frozenset(("model", "engine"))
_SHOWN = 200  # characters of a metric in the list


@dataclass(frozen=True)
class Consent:
    """Something that needs the user's consent. Two are equal if they do the same.

    Attributes:
        does: what is done, after the metric's name: "runs the code of FILE".
        server: the address that the file itself names for it; empty if it names none.
        who: the metric, or what else the file names.
        sends: files of the file's own folder that a judge reads, and sends to its server.
    """

    does: str
    server: str = ""
    who: str = field(default="", compare=False)
    sends: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        sent = f" together with {listed(self.sends)}" if self.sends else ""
        return f"{self.who[:_SHOWN]} {self.does}{sent}"


def powers_of(text: str, home: Path, base_url: str | None = None) -> list[Consent]:
    """Return what a metric that a file names does beyond scoring with what lies beside the file.

    No code of the metric is run, and nothing outside the folder is read.

    Args:
        text: the metric, as on the command line.
        base_url: the user's server for judges that name none.

    Raises:
        OptionError: the metric or an option is unknown.
        MissingExtraError: a package that the metric needs is not installed.
    """
    return [*_powers(text, home, base_url)]


def _powers(text: str, home: Path, base_url: str | None) -> Iterator[Consent]:
    name, typed = parse(text)
    options = {key.replace("-", "_"): value for key, value in typed.items()}
    for key, value in list(options.items()):
        inner = nested(value)
        if inner is not None and _is_metric(split_name(inner)[0]):
            del options[key]
            yield from _powers(inner, home, base_url)
    if is_own_file(name):
        yield Consent(f"runs the code of {name.rpartition(':')[0]}", who=text)
        return
    kind = scorer_class(name)
    # A judge's replies may be in files, which are read and not sent.
    judge = "backend" in metric_options(kind) and "file" not in options
    backends = options.get("backend", "openai").split("+")
    # On a server, a model's name is no file.
    paths = {k for k in options if k != "model" or "vllm" in backends or not judge}
    models = options.get("model", "that is not named").split("+") if judge else []
    named = [(key, value) for key, value in options.items() if key in paths]
    # The models of a panel are separate folders.
    named += [("model", model) for model in models if "model" in paths]
    outside = dict.fromkeys(pair for pair in named if is_outside(pair[1], home))
    near = {key: value for key, value in options.items() if (key, value) not in outside}
    if judge:
        servers = (options.get("base_url") or base_url or default_server() or "").split("+")
        sent = tuple(v for k, v in near.items() if k in paths - _KEPT and _is_path(v))
        for number in range(max(map(len, (backends, models, servers)))):
            # A single backend or server is that of all models.
            backend, model, server = (
                part[min(number, len(part) - 1)] for part in (backends, models, servers)
            )
            where = public_address(server) or "OpenAI"
            does = f"sends the sentences to the language model {model} ({where})"
            if backend == "vllm":
                does = f"runs the language model {model}, fetched if it is not cached"
            yield Consent(does, options.get("base_url", ""), text, sent)
    for key, value in outside:
        verb = "sends" if judge and key not in _KEPT else "reads"
        unseen = ", and does what the members there need" if name == "jury" else ""
        yield Consent(f"{verb} {value}, outside {home}{unseen}", who=text)
    tagger = options.get("tagger", "none")
    if tagger not in _OWN_TAGGERS:
        yield Consent(f"runs the installed package {tagger.removeprefix('spacy:')}", who=text)
    for value in () if judge else near.values():
        if value.startswith(("http://", "https://")):
            yield Consent(f"names the server {public_address(value)}", value, text)
    if issubclass(kind, NamesMetrics):
        for member, folder in kind.named_metrics(near, home):
            yield from _powers(member, folder, options.get("base_url") or base_url)
    elif not judge:
        # Loaded with the defaults, which the file need not name; a folder elsewhere replaces one.
        replaced = [getattr(kind, key, "") for key, _ in outside]
        for model in load(name, **near).loaded_models:
            if model not in ("", *_PACKAGED, *replaced) and not _is_path(model):
                yield Consent(f"fetches {model} if it is not cached", who=text)


def _is_metric(name: str) -> bool:
    return is_own_file(name) or name in metric_names()


def _place(value: str) -> Path:
    return user_path(value.removeprefix("spacy:"))


def _is_path(value: str) -> bool:
    # Unlike `Path.exists`, this is False for texts that no file can have as its name.
    return os.path.lexists(_place(value)) if "\0" not in value else False


def is_outside(value: str, home: Path) -> bool:
    """Return whether a text is the path of a file or folder that is not in a folder.

    Links are followed, and relative paths begin in the working directory.
    """
    return _is_path(value) and not lies_in(_place(value), home)


def home_of(file: str | Path) -> Path:
    """Return the folder of a file; for standard input (`-`), the working directory."""
    return Path(file).resolve().parent


def require_consent(
    file: str,
    powers: Sequence[Consent],
    *,
    allowed: bool,
    key: str | None = None,
    servers: Collection[str | None] = (),
) -> None:
    """Refuse what a file's metrics would do without the user's consent.

    Args:
        file: the file, for messages.
        powers: what its metrics would do.
        allowed: whether the user has consented.
        key: the variable with the key for servers that are not OpenAI's, if the user names one.
        servers: the servers that the user named, which may get the key.

    Raises:
        OptionError: lists everything that needs consent; or the key would go to a server that only
            the file names.
    """
    if powers and not allowed:
        # A name with a line break must not look like an entry of its own.
        lines = "".join(f"\n  {' '.join(str(one).split())}" for one in dict.fromkeys(powers))
        raise OptionError(
            f"{file}: these need your consent:{lines}\nTo allow all of it, add `allow_judges=True`"
        )
    strange = [power.server for power in powers if power.server and power.server not in servers]
    if key and strange:
        raise OptionError(
            f"`api_key_env={key}`: {file} names the server {public_address(strange[0])}, and a key "
            "goes only to servers that you name yourself: remove base_url from the file and name "
            "the server with `base_url=`, or leave out `api_key_env=`"
        )
