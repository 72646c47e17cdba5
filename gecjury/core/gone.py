"""Commands and options that were taken away, with what to do instead; kept for one release."""

from __future__ import annotations

OPTIONS: dict[tuple[str, str], str] = {
    (
        "pick",
        "--try",
    ): "score the file that `pick -o` writes beside the outputs with `gecjury rank`",
    ("pick", "--votes"): "every other file counts",
    ("pick", "--scores"): "`--format json` has the score of every output",
    ("power", "--difference"): "three differences are shown; for others the number falls with 1/d²",
    ("power", "-d"): "three differences are shown; for others the number falls with 1/d²",
    (
        "power",
        "--width",
    ): "a 95% interval of width w needs (3.92 · c / w)², with c as `deviation` in JSON",
    ("power", "--try"): "`power` on a part of your sentences shows what they forecast",
}
"""What to do instead of an option, by command and flag; `*` stands for every command."""

COMMANDS: dict[str, str] = {}
"""What to do instead of a command."""

SETTINGS: dict[tuple[str, str], str] = {}
"""What to do instead of an option of a metric, by metric and option."""


def instead_of_option(command: str, flag: str) -> str | None:
    """Return what replaces an option of a command, or None if it was never there."""
    return OPTIONS.get((command, flag)) or OPTIONS.get(("*", flag))
