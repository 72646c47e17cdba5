"""Commands and options that were taken away, with what to do instead; kept for one release."""

from __future__ import annotations

OPTIONS: dict[tuple[str, str], str] = {
    ("data fetch", "--url"): "set GECJURY_DATA_URL to the address of the mirror",
}
"""What to do instead of an option, by command and flag; `*` stands for every command."""

COMMANDS: dict[str, str] = {}
"""What to do instead of a command."""

SETTINGS: dict[tuple[str, str], str] = {
    ("i-measure", "aspect"): "i-measure compares corrections; errant:mode=span compares detection",
    ("gotoscorer", "measure"): "gotoscorer is F0.5; leave the option out",
    ("gotoscorer", "weights"): "score the systems that give the weights together",
    **{(metric, "weights"): "edits are weighted by BERTScore" for metric in ("pt-errant", "pt-m2")},
    ("gleu", "choices"): "references are drawn by `seed`",
    ("gleu-official", "choices"): "references are drawn by `seed`",
    ("cleme2", "weights"): "chunks are weighted by length",
    **{
        ("cleme2", option): "chunks are weighted by length, without a model"
        for option in ("model", "layer", "revision")
    },
    **{
        (metric, "pos"): "edits have spaCy 2's parts of speech, as the official files have"
        for metric in (
            "errant",
            "sent-errant",
            "pt-errant",
            "uot-errant",
            "cleme",
            "cleme2",
            "gotoscorer",
        )
    },
}
"""What to do instead of an option of a metric, by metric and option."""


def instead_of_option(command: str, flag: str) -> str | None:
    """Return what replaces an option of a command, or None if it was never there."""
    return OPTIONS.get((command, flag)) or OPTIONS.get(("*", flag))
