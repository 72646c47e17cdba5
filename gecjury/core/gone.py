"""Commands and options that were taken away, with what to do instead; kept for one release."""

from __future__ import annotations

OPTIONS: dict[tuple[str, str], str] = {
    ("attack", "--as-reward"): "the column `higher` of attack is how often damage raises a score",
    ("data fetch", "--url"): "set GECJURY_DATA_URL to the address of a mirror",
    ("edits", "--pos"): "parts of speech are named as in spaCy 2, as in the published scores",
    ("m2 retype", "--pos"): "parts of speech are named as in spaCy 2, as in the published scores",
    (
        "m2 reextract",
        "--pos",
    ): "parts of speech are named as in spaCy 2, as in the published scores",
    ("m2 apply", "--overlaps"): "remove one of two overlapping edits; the error names their line",
    ("m2 text", "--overlaps"): "overlapping edits are kept",
    ("m2 convert", "--overlaps"): "overlapping edits are kept",
    ("*", "--no-cache"): "use --cache none",
    ("score", "--address"): "set RAY_ADDRESS to auto or HOST:PORT",
    ("score", "--num-gpus"): "in Python, score_dataset(..., engine=RayEngine(num_gpus=N))",
    ("score", "--output-format"): "scores are written as Parquet",
    ("score", "--strict"): "bad rows get no score and are listed in bad-rows.jsonl",
}
"""What to do instead of an option, by command and flag; `*` stands for every command."""

COMMANDS: dict[str, str] = {
    "analyse cost": "the column `seconds` of compare is how long a metric takes",
    "analyse solver": "uot-errant:solver=pot scores by POT's plans",
    "completion": 'use argcomplete: eval "$(register-python-argcomplete gecjury)"',
}
"""What to do instead of a command."""

SETTINGS: dict[tuple[str, str], str] = {}
"""What to do instead of an option of a metric, by metric and option."""


def instead_of_option(command: str, flag: str) -> str | None:
    """Return what replaces an option of a command, or None if it was never there."""
    return OPTIONS.get((command, flag)) or OPTIONS.get(("*", flag))
