"""Commands and options that were taken away, with what to do instead; kept for one release."""

from __future__ import annotations

OPTIONS: dict[tuple[str, str], str] = {
    ("attack", "--as-reward"): "the column `higher` of attack is how often damage raises a score",
}
"""What to do instead of an option, by command and flag; `*` stands for every command."""

COMMANDS: dict[str, str] = {}
"""What to do instead of a command."""

SETTINGS: dict[tuple[str, str], str] = {}
"""What to do instead of an option of a metric, by metric and option."""


def instead_of_option(command: str, flag: str) -> str | None:
    """Return what replaces an option of a command, or None if it was never there."""
    return OPTIONS.get((command, flag)) or OPTIONS.get(("*", flag))
